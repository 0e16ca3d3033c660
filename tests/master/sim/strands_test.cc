// Jobs that run as several strands, in cases whose end can be worked by hand.
#include <gtest/gtest.h>

#include "master/sim/engine/simulation.h"

namespace mr::sim {
namespace {

// A job of one task has three strands: .1^3 is the first power below .002.
Strands Three() {
  Strands s;
  s.epsilon = .002;
  s.p = .1;
  s.budget.beta = s.budget.tau = 1;
  return s;
}

// Workers of one slot, without chance. The last one is ten times as fast as the others.
Experiment Slow(uint32_t workers) {
  Experiment e;
  e.cluster.racks.push_back({});
  WorkerSpec w;
  w.slots.total = 1;
  w.speed = .1;
  e.cluster.workers.assign(workers, w);
  e.cluster.workers.back().speed = 1;
  e.tasks = Exact();
  e.check = true;
  e.strands = Three();
  return e;
}

JobModel TenSeconds(double submit) {
  JobModel job = MapReduce(submit, "ten", 1, 1000, 0, 0, 1000);
  job.stages[0].durations = {10};
  return job;
}

struct Seen {
  uint32_t submitted = 0, killed = 0;
};
std::string Watched(Experiment e, Seen* seen, std::vector<JobResult>* jobs, Totals* totals = nullptr) {
  e.watch = [seen](const sched::StampedEvent& event, const auto&) {
    seen->submitted += std::holds_alternative<sched::JobSubmitted>(event.event);
    seen->killed += std::holds_alternative<sched::JobKillAsked>(event.event);
  };
  Simulation run(std::move(e));
  const std::string wrong = run.Run(nullptr);
  *jobs = run.jobs();
  if (totals != nullptr) *totals = run.totals();
  return wrong;
}

// The strand on the fast worker is the first, and the others end with it.
TEST(StrandsTest, TheFirstStrandEndsTheJobAndTheOthersAreKilled) {
  Experiment e = Slow(3);
  e.jobs = {TenSeconds(0)};
  Seen seen;
  std::vector<JobResult> jobs;
  Totals totals;
  ASSERT_EQ(Watched(std::move(e), &seen, &jobs, &totals), "");
  ASSERT_EQ(jobs.size(), 1u);  // strands do not count as jobs of the workload
  EXPECT_TRUE(jobs[0].succeeded);
  EXPECT_NEAR(jobs[0].ended, 10, 1e-6);
  EXPECT_EQ(seen.submitted, 3u);
  EXPECT_EQ(seen.killed, 2u);
  EXPECT_NEAR(totals.useful, 10, 1e-6);
  EXPECT_NEAR(totals.wasted, 20, .1);
}

// The budget is three of six slots. The second job comes while they are taken, the third when they are free again.
TEST(StrandsTest, TheBudgetIsTakenAndGivenBack) {
  Experiment e = Slow(6);
  e.strands->budget.beta = .5;
  e.jobs = {TenSeconds(0), TenSeconds(1), TenSeconds(500)};
  Seen seen;
  std::vector<JobResult> jobs;
  ASSERT_EQ(Watched(std::move(e), &seen, &jobs), "");
  EXPECT_EQ(seen.submitted, 3u + 1 + 3);
}

// Up to four of six slots may be held. With one held, there is no room for three strands.
TEST(StrandsTest, TheCeilingIsOfAllSlots) {
  for (const double tau : {.5, .6, .7}) {
    Experiment e = Slow(6);
    e.strands->budget.tau = tau;
    JobModel wide = MapReduce(0, "wide", 1, 1000, 0, 0, 1000);
    wide.stages[0].durations = {50};
    wide.stages[0].side_effects = true;
    e.jobs = {std::move(wide), TenSeconds(1)};
    Seen seen;
    std::vector<JobResult> jobs;
    ASSERT_EQ(Watched(std::move(e), &seen, &jobs), "");
    EXPECT_EQ(seen.submitted, tau < .65 ? 2u : 4u) << tau;
  }
}

TEST(StrandsTest, TheSameRunTwiceIsTheSame) {
  uint64_t digests[2];
  for (uint64_t& digest : digests) {
    Experiment e = Slow(6);
    e.tasks = TaskModel();
    for (int j = 0; j < 8; ++j) e.jobs.push_back(MapReduce(j, "j", 2, 100'000'000, 1, 50'000'000, 1000));
    Simulation run(std::move(e));
    ASSERT_EQ(run.Run(nullptr), "");
    for (const JobResult& job : run.jobs()) EXPECT_TRUE(job.succeeded);
    digest = run.Digest();
  }
  EXPECT_EQ(digests[0], digests[1]);
}

}  // namespace
}  // namespace mr::sim
