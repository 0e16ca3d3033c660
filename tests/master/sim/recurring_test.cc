// Jobs with deadlines: predictions from earlier runs, and users' changes.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "master/sched/state/state.h"
#include "master/sim/engine/predict.h"
#include "master/sim/engine/simulation.h"
#include "master/sim/studies/compare.h"

namespace mr::sim {
namespace {

// Ten slots, no chance. "others" wants all slots all the time. "report" has 20 maps and a reduce of 10 s each and comes
// three times, with a deadline of 120 s. Four slots are enough (60 s), and with two queues fair gives it five.
Experiment Recurring(uint32_t queues) {
  Experiment e;
  e.cluster.racks.push_back({});
  WorkerSpec w;
  w.slots.total = 1;
  e.cluster.workers.assign(10, w);
  e.tasks = Exact();
  e.learn = true;
  e.policies = "fair(guarantee_timeout=1),jockey";
  for (const double at : {0., 600., 1200.}) {
    JobModel job = MapReduce(at, "report", 20, 20'000, 1, 1'000, 1'000);
    job.stages[0].durations.assign(20, 10);
    job.stages[1].durations.assign(1, 10);
    job.queue = "ours";
    job.deadline = 120;
    e.jobs.push_back(std::move(job));
  }
  for (uint32_t q = 0; q < queues; ++q) {
    const uint32_t tasks = 1'400 / queues;  // for all slots until the third run ends
    JobModel other = MapReduce(0, "others", tasks, uint64_t{1000} * tasks, 0, 0, 0);
    other.stages[0].durations.assign(tasks, 10);
    other.queue = "q" + std::to_string(q);
    e.jobs.push_back(std::move(other));
  }
  std::stable_sort(e.jobs.begin(), e.jobs.end(), [](const auto& a, const auto& b) { return a.submit < b.submit; });
  e.last = static_cast<uint32_t>(e.jobs.size() - 1);
  return e;
}

TEST(RecurringTest, TheFirstRunTeachesAndLaterOnesAreGuaranteedWhatTheyNeed) {
  Experiment e = Recurring(9);
  std::map<uint32_t, double> scales;
  std::map<uint32_t, uint32_t> shares;
  e.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions) {
    if (const auto* p = std::get_if<sched::ProfileLoaded>(&event.event)) scales[p->job.seq] = p->prediction.scale;
    for (const sched::Decision& d : decisions) {
      if (const auto* set = std::get_if<sched::SetShare>(&d))
        shares[set->job.seq] = std::max(shares[set->job.seq], set->slots);
    }
  };
  Simulation run(std::move(e));
  ASSERT_EQ(run.Run(nullptr), "");
  ASSERT_EQ(scales.size(), 2u) << "of the first run nothing is known";
  EXPECT_NEAR(scales.begin()->second, 1, 1e-9);
  for (const auto& [job, slots] : shares) {
    EXPECT_GE(slots, 3u) << job;
    EXPECT_LE(slots, 4u) << "1.2 * 60 s with four slots are within 114 s";
  }
  std::vector<bool> late;
  for (const JobResult& job : run.jobs()) {
    if (job.deadline > 0) late.push_back(job.late());
  }
  EXPECT_EQ(late, (std::vector<bool>{true, false, false})) << "a tenth of the cluster is too little";
}

TEST(RecurringTest, WithoutJockeyNothingIsPredicted) {
  Experiment e = Recurring(9);
  e.policies = "fair";
  e.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>&) {
    EXPECT_FALSE(std::holds_alternative<sched::ProfileLoaded>(event.event));
  };
  Simulation run(std::move(e));
  ASSERT_EQ(run.Run(nullptr), "");
  const Summary s = SummaryOf("fair", 10, run);
  EXPECT_EQ(s.deadlines, 3);
  EXPECT_EQ(s.missed, 3);
  EXPECT_THAT(Table({}, s), testing::HasSubstr("deadlines     0 met, 3 missed\n"));
  EXPECT_THAT(Json({}, s), testing::HasSubstr("\"deadlines\":3,\"missed_deadlines\":3,"));
}

TEST(RecurringTest, MoreInputIsMoreWork) {
  Experiment e = Recurring(1);
  for (JobModel& job : e.jobs) {
    if (job.name != "report" || job.submit != 600) continue;
    job.stages[0].tasks = 40;
    job.stages[0].bytes = 40'000;
    job.stages[0].durations.assign(40, 10);
  }
  std::vector<double> scales, work;
  e.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>&) {
    if (const auto* p = std::get_if<sched::ProfileLoaded>(&event.event)) {
      scales.push_back(p->prediction.scale);
      work.push_back(p->prediction.At(0, 0)[p->prediction.quantiles / 2]);
    }
  };
  Simulation run(std::move(e));
  ASSERT_EQ(run.Run(nullptr), "");
  ASSERT_EQ(scales.size(), 2u);
  EXPECT_NEAR(scales[0], 2, 1e-9);
  EXPECT_NEAR(work[0], 40 * 10 + 20, 60) << "one reduce reads twice as much, on one slot; on the median of days";
}

TEST(RecurringTest, AUserChangesTheDeadlineInFlight) {
  Experiment e = Recurring(9);
  const auto third = static_cast<uint32_t>(e.jobs.size() - 1);
  e.wishes = {{1210, third, 0, 60}};
  uint32_t most = 0;
  e.watch = [&](const sched::StampedEvent&, const std::vector<sched::Decision>& decisions) {
    for (const sched::Decision& d : decisions) {
      if (const auto* set = std::get_if<sched::SetShare>(&d); set != nullptr && set->job.seq == third + 1)
        most = std::max(most, set->slots);
    }
  };
  Simulation run(std::move(e));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_EQ(run.jobs()[third].deadline, 60);
  EXPECT_FALSE(run.jobs()[third].late()) << run.jobs()[third].ended;
  EXPECT_GE(most, 7u);
}

// Attempts fail at a random instant of their time: the job takes longer, and ends.
TEST(RecurringTest, AttemptsThatFailRunAgain) {
  Experiment e = Recurring(0);
  e.jobs.resize(1);
  e.last = {};
  const auto run = [&](double fails) {
    Experiment with = e;
    with.tasks.fails = fails;
    Simulation s(std::move(with));
    EXPECT_EQ(s.Run(nullptr), "");
    EXPECT_TRUE(s.jobs()[0].succeeded) << s.jobs()[0].message;
    return s.totals();
  };
  const Totals good = run(0), bad = run(.3);
  EXPECT_EQ(good.retries, 0u);
  EXPECT_GT(bad.retries, 2u);
  EXPECT_GT(bad.end, good.end);
  EXPECT_GT(bad.wasted, 1);
}

TEST(RecurringTest, TheGeneratorsRecurringJobsHaveDeadlines) {
  const auto jobs = Generate("generate:recurring,jobs=100", 1);
  ASSERT_TRUE(jobs.ok());
  std::map<std::string, int> names;
  for (const JobModel& job : *jobs) {
    if (job.deadline > 0) ++names[job.name];
  }
  ASSERT_EQ(names.size(), 4u);
  for (const auto& [name, runs] : names) EXPECT_GE(runs, 2) << name;
}

}  // namespace
}  // namespace mr::sim
