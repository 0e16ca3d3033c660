// The runs of Jockey's study: jobs as the paper describes them, and days with deadlines that can be met.
#include "master/sim/studies/jockey_days.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "master/sched/policies/jockey/jockey.h"
#include "master/sim/studies/jockey_setups.h"

namespace mr::sim {
namespace {

constexpr auto kIndicator = sched::Indicator::kTotalWorkWithQueueing;

const std::vector<JockeyShape> kShapes = {{"A", 23, 6, 681, 16.3, 61.5},
                                          {"B", 14, 0, 1605, 4, 54.1},
                                          {"E", 11, 1, 2033, 8, 130},
                                          {"F", 26, 1, 6139, 3.6, 17.4}};

// Returns the time that this share of the tasks does not exceed.
double QuantileOf(const RunProfile& job, double share) {
  std::vector<std::pair<double, double>> times;
  double all = 0, seen = 0;
  for (const StageRuns& stage : job.stages) {
    for (const float seconds : stage.run) {
      times.emplace_back(seconds, static_cast<double>(stage.tasks) / static_cast<double>(stage.run.size()));
    }
    all += stage.tasks;
  }
  std::sort(times.begin(), times.end());
  for (const auto& [seconds, tasks] : times) {
    if ((seen += tasks) >= share * all) return seconds;
  }
  return times.back().first;
}

TEST(JockeySetupsTest, TasksOfAJobTakeWhatThePaperSays) {
  for (const uint64_t seed : {1, 2}) {
    const RunProfile a = JockeyJob(kShapes[0], seed), e = JockeyJob(kShapes[2], seed);
    EXPECT_NEAR(QuantileOf(a, .5), 16.3, .2);
    EXPECT_NEAR(QuantileOf(a, .9), 61.5, .7);
    EXPECT_NEAR(QuantileOf(e, .5), 8, .1);
    EXPECT_NEAR(QuantileOf(e, .9), 130, 1.5);
    EXPECT_LE(QuantileOf(e, 1), 3 * 130 + 1e-3);
  }
}

TEST(JockeySetupsTest, AJobIsATreeWhoseStagesAreEachReadOnce) {
  for (const JockeyShape& job : kShapes) {
    const RunProfile profile = JockeyJob(job, 1);
    std::vector<uint32_t> readers(profile.stages.size(), 0);
    size_t files = 0;
    for (size_t s = 0; s < profile.stages.size(); ++s) {
      files += profile.stages[s].inputs.empty();
      for (const sched::StageInput& input : profile.stages[s].inputs) {
        ASSERT_LT(input.upstream, s);
        ++readers[input.upstream];
      }
    }
    EXPECT_EQ(readers.back(), 0u);
    readers.pop_back();
    EXPECT_EQ(readers, std::vector<uint32_t>(readers.size(), 1)) << job.name;
    EXPECT_GT(files, 1u) << job.name;
  }
}

TEST(JockeyDaysTest, NoDeadlineIsBelowTheDaysLongestPath) {
  const auto jobs = RecurringJobs(kShapes, 1, kIndicator);
  ASSERT_TRUE(jobs.ok()) << jobs.status().ToString();
  for (const Recurring& job : *jobs) {
    const Day tight = DayOf(job, 1, 3, .01), loose = DayOf(job, 1, 3, 10);
    EXPECT_DOUBLE_EQ(tight.deadline, sched::kJockeySlack * CriticalPath(tight.job));
    EXPECT_DOUBLE_EQ(loose.deadline, 10 * job.fastest);
  }
}

TEST(JockeyDaysTest, EachOfThePapersJobsMeetsItsDeadlineWithLessThanHalfOfWhatAllSlotsHaveAboveTheOracle) {
  const auto jobs = RecurringJobs(kShapes, 1, kIndicator);
  ASSERT_TRUE(jobs.ok()) << jobs.status().ToString();
  double above = 0, above_all = 0;
  for (uint32_t r = 0; r < jobs->size(); ++r) {
    const Recurring& job = (*jobs)[r];
    const Day day = DayOf(job, 1, r, 3.3);
    for (const bool all : {false, true}) {
      const char* list = all ? "fair(spare=last,guarantee_timeout=1),jockey(most=on),dryad_speculation"
                             : "fair(spare=last,guarantee_timeout=1),jockey,dryad_speculation";
      const auto run = RunOne(NoisyCluster(day.job, list, r, day.minute), {day.deadline, 0, 0, job.prediction});
      ASSERT_TRUE(run.ok()) << run.status().ToString();
      EXPECT_TRUE(run->met()) << r << ": " << run->seconds << " s of " << day.deadline;
      (all ? above_all : above) += run->above / run->guaranteed;
    }
  }
  EXPECT_LT(above, above_all / 2);
}

TEST(JockeyDaysTest, QueriesOfTpchRunWithOtherSizesThanTheyWereLearnedWith) {
  const char* data = std::getenv("MR_DATA");
  if (data == nullptr) GTEST_SKIP() << "MR_DATA does not say where traces are";
  const auto jobs = TpchJobs(data, {}, 1, kIndicator);
  ASSERT_TRUE(jobs.ok()) << jobs.status().ToString();
  ASSERT_EQ(jobs->size(), 38u) << "19 queries, two sizes";
  size_t larger = 0;
  for (size_t q = 0; q < 19; ++q) {
    const Recurring &small = (*jobs)[q], &large = (*jobs)[19 + q];
    ASSERT_TRUE(small.prediction->Valid(small.shape.stages.size()));
    for (const Recurring* job : {&small, &large}) {
      for (size_t s = 0; s < job->shape.stages.size(); ++s)
        EXPECT_EQ(job->prediction->stages[s].tasks, job->shape.stages[s].tasks);
    }
    larger += large.fastest > small.fastest;
  }
  EXPECT_GE(larger, 17u);
  EXPECT_EQ(TpchJobs("/no/such/place", {}, 1, kIndicator).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace mr::sim
