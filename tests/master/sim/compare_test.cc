// Lists of policies with the same luck, in cases worked by hand.
#include "master/sim/studies/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::sim {
namespace {

using testing::HasSubstr;

std::vector<std::string> ListsIn(const Result<std::vector<PolicyList>>& lists) {
  std::vector<std::string> out;
  for (const PolicyList& l : *lists) out.push_back(l.list + "|" + l.without);
  return out;
}

Experiment TwoSlots() {
  Experiment e;
  e.cluster.racks.push_back({});
  e.cluster.workers.resize(2);
  for (WorkerSpec& w : e.cluster.workers) w.slots.total = 1;
  e.tasks = Exact();
  e.check = true;
  return e;
}

JobModel Maps(std::vector<float> durations) {
  JobModel job = MapReduce(0, "j", static_cast<uint32_t>(durations.size()), 1'000'000, 0, 0, 0);
  job.stages[0].durations = std::move(durations);
  return job;
}

CompareOptions Of(const std::vector<std::string>& lists, Experiment experiment) {
  CompareOptions o;
  o.lists = *ListsToCompare(lists);
  o.make = [experiment = std::move(experiment)](uint64_t seed) -> Result<Experiment> {
    Experiment e = experiment;
    e.seed = seed;
    return e;
  };
  return o;
}

TEST(CompareTest, EachListStandsForItself) {
  EXPECT_EQ(ListsToCompare({"fifo"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ListsToCompare({"fifo", "nosuch"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ListsToCompare({"fair,late", " fair , late"}).status().code(), Code::kInvalidArgument);
  EXPECT_THAT(ListsIn(ListsToCompare({"fifo", "fair,late(cap=0.2,gain=1.5)"})),
              testing::ElementsAre("fifo|", "fair,late(cap=0.2,gain=1.5)|"));
}

TEST(CompareTest, EachPolicyIsDroppedOnce) {
  EXPECT_THAT(ListsIn(ListsToAblate("fair,late(cap=0.2,gain=1.5),blacklist")),
              testing::ElementsAre("fair,late(cap=0.2,gain=1.5),blacklist|", "late(cap=0.2,gain=1.5),blacklist|fair",
                                   "fair,blacklist|late(cap=0.2,gain=1.5)", "fair,late(cap=0.2,gain=1.5)|blacklist"));
  // fifo would be added again; mantri has several parts.
  EXPECT_THAT(ListsIn(ListsToAblate("fifo,late")), testing::ElementsAre("fifo,late|", "fifo|late"));
  EXPECT_EQ(ListsToAblate("fair,mantri")->size(), 6u);
  // jockey needs fair.
  EXPECT_THAT(ListsIn(ListsToAblate("fair,jockey,late")),
              testing::ElementsAre("fair,jockey,late|", "late|fair,jockey", "fair,late|jockey", "fair,jockey|late"));
  EXPECT_EQ(ListsToAblate("fifo").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ListsToAblate("nosuch,late").status().code(), Code::kInvalidArgument);
}

// Two slots, and jobs of six maps and of one map, 10 s each. fifo: 30 s and 40 s. fair: the small job's queue has a
// slot from 10 s on, so the jobs end at 40 s and 20 s. The means are 35 and 30, the medians 30 and 20.
TEST(CompareTest, RatiosAreThoseWorkedByHand) {
  Experiment e = TwoSlots();
  e.jobs = {Maps({10, 10, 10, 10, 10, 10}), Maps({10})};
  const auto results = RunLists(Of({"fifo", "fair"}, e));
  ASSERT_TRUE(results.ok()) << results.status().message();
  const Bin &fifo = results->at(0).summary.bins[0], &fair = results->at(1).summary.bins[0];
  EXPECT_NEAR(fifo.mean, 35, 1e-6);
  EXPECT_NEAR(fair.mean, 30, 1e-6);
  EXPECT_NEAR(fair.p50, 20, 1e-6);
  const Header header{"w", "2x1", 1, 1, 2};
  const std::string json = ComparisonJson(header, *results), table = ComparisonTable(header, *results);
  EXPECT_THAT(json, HasSubstr("\"mean_ratio\":0.857143,"));
  EXPECT_THAT(json, HasSubstr("\"p50_ratio\":0.666667,"));
  EXPECT_THAT(json, HasSubstr("\"p95_ratio\":1,"));
  EXPECT_THAT(json, HasSubstr("\"p50_ratio\":null"));  // bins without jobs
  EXPECT_THAT(table, HasSubstr("0.857   0.667   1.000   1.000\n"));
  EXPECT_THAT(table, testing::Not(HasSubstr("501-")));
}

TEST(CompareTest, LuckIsTheSameAndMediansAreBySeed) {
  Experiment e;
  e.cluster = *ParseCluster("10x4");
  e.jobs = *Generate("generate:facebook,jobs=30", 3);
  CompareOptions o = Of({"fifo", "fair", "fifo,late"}, e);
  o.seed = 3;
  const auto together = RunLists(o);
  ASSERT_TRUE(together.ok());
  std::vector<double> makespans;
  for (uint64_t seed = 3; seed < 6; ++seed) {
    e.seed = seed;
    e.policies = "fifo";
    Simulation alone(e);
    ASSERT_EQ(alone.Run(nullptr), "");
    makespans.push_back(alone.totals().end);
    if (seed > 3) continue;
    EXPECT_EQ(together->at(0).summary.digest, alone.Digest());
    EXPECT_NE(together->at(1).summary.digest, alone.Digest());
  }
  o.lists = {{"fifo", ""}};
  o.seeds = 3;
  const auto medians = RunLists(o);
  std::sort(makespans.begin(), makespans.end());
  EXPECT_EQ(medians->at(0).summary.makespan, makespans[1]);
  EXPECT_LT(makespans[0], makespans[2]);
}

// A bin that is empty under one seed has the median of the other seeds.
TEST(CompareTest, MediansAreOfRunsThatHaveSuchJobs) {
  std::vector<Summary> runs(3);
  const double times[] = {40, 0, 20}, extra[] = {1, 7, 3};
  for (size_t i = 0; i < 3; ++i) {
    runs[i].bins[0].jobs = times[i] > 0;
    runs[i].bins[0].mean = times[i];
    runs[i].bins[0].name = "1-10";
    runs[i].extra = extra[i];
  }
  runs[0].bins[0].jobs = 5;
  const Summary median = MedianOf(runs);
  EXPECT_EQ(median.bins[0].mean, 30);
  EXPECT_EQ(median.bins[0].jobs, 3) << "where there are any";
  EXPECT_EQ(median.bins[0].seeds, 2);
  EXPECT_EQ(median.bins[1].seeds, 0);
  const Header header{"w", "2x1", 1, 3, 2};
  const std::string table = Table(header, median), json = Json(header, median);
  EXPECT_THAT(table, HasSubstr("JOBS SEEDS"));
  EXPECT_THAT(table, HasSubstr("1-10              3     2      30.00"));
  EXPECT_THAT(table, HasSubstr("          -          -          -          -\n")) << "of no job there is no time";
  EXPECT_THAT(json, HasSubstr(R"("id":"1-10","jobs":3,"seeds":2,"mean_s":30,)"));
  EXPECT_THAT(json, HasSubstr(R"("jobs":0,"seeds":0,"mean_s":null,)"));
  EXPECT_THAT(ComparisonTable(header, std::vector<ListResult>(1)), HasSubstr("JOBS SEEDS"));
  EXPECT_EQ(MedianOf(runs).extra, 3);
}

// The last map would take 200 s; a speculative attempt on the other slot takes 10.
TEST(CompareTest, TimelineShowsWhoRanWhatWhere) {
  Experiment e = TwoSlots();
  e.tasks.report_period = Seconds(1);
  e.jobs = {Maps({1, 1}), Maps({10, 10, 10, 10, 10, 200})};
  CompareOptions o = Of({"fifo", "fifo,hadoop_speculation(min_age=5s)"}, e);
  o.seed = 2;  // the speculative attempt draws a short one of its stage's times
  o.plot_job = 2;
  o.keep_completions = true;
  const auto results = RunLists(o);
  ASSERT_TRUE(results.ok()) << results.status().message();
  const std::vector<AttemptBar>& plain = results->at(0).timeline->bars();
  ASSERT_EQ(plain.size(), 6u);
  double busy = 0;
  for (const AttemptBar& bar : plain) {
    EXPECT_EQ(bar.end, AttemptEnd::kCommitted);
    EXPECT_EQ(bar.id.task.job.seq, 2u);
    EXPECT_EQ(bar.slot, 1u);
    busy += (bar.to - bar.from).seconds();
  }
  EXPECT_NEAR(busy, 250, 1e-6);
  const std::vector<AttemptBar>& speculated = results->at(1).timeline->bars();
  ASSERT_EQ(speculated.size(), 7u);
  EXPECT_EQ(results->at(1).summary.extra, 1);
  EXPECT_EQ(results->at(1).summary.extra_won, 1);
  EXPECT_EQ(speculated[5].cause, Cause::kSpeculative);
  EXPECT_EQ(speculated[5].end, AttemptEnd::kCommitted);
  EXPECT_EQ(speculated[6].end, AttemptEnd::kKilled);
  EXPECT_NE(speculated[5].worker, speculated[6].worker);
  const std::string svg = Plot({"w", "2x1", 1, 1, 2}, *results, 2);
  for (const char* part : {"Slots of job 2: fifo<", "extra attempt that committed", "1 / 1<", "2 / 1<",
                           "(speculative), worker ", "completion, s"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  o.plot_job = 3;
  EXPECT_EQ(RunLists(o).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace mr::sim
