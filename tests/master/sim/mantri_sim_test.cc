// Placement, replication and early recomputation: where they must pay, and where they must cost little.
#include <gtest/gtest.h>

#include "master/sim/studies/study.h"
#include "master/sim/swarm/swarm.h"

namespace mr::sim {
namespace {

struct Outcome {
  double mean = 0;  // mean seconds of jobs
  Totals totals;
};

Outcome RunOf(Experiment experiment) {
  Simulation run(std::move(experiment));
  EXPECT_EQ(run.Run(nullptr), "");
  Outcome out{0, run.totals()};
  for (const JobResult& job : run.jobs()) {
    EXPECT_TRUE(job.succeeded) << job.message;
    out.mean += (job.ended - job.submitted) / static_cast<double>(run.jobs().size());
  }
  return out;
}

// Returns parts of the study of Mantri.
Experiment Mantri(const char* cluster, const char* tasks, const char* jobs, const std::string& list, uint64_t seed) {
  std::string used, skipped;
  auto e = ExperimentOf("mantri", cluster, tasks, jobs, list, {seed, "", &used, &skipped, nullptr});
  EXPECT_TRUE(e.ok()) << e.status().message();
  return e.ok() ? std::move(*e) : Experiment();
}

// The study's workers lose 2 % of their outputs on average.
Experiment LossyOutputs(const std::string& list, double loss, uint64_t seed) {
  Experiment e = Mantri("losses", "no_tail", "waves", list, seed);
  for (WorkerSpec& worker : e.cluster.workers) worker.loss *= loss / .02;
  return e;
}

Experiment UnevenRacks(const std::string& list, uint64_t seed) {
  return Mantri("uneven_racks", "exact", "shuffle", list, seed);
}

constexpr char kReplicate[] = "fifo,mantri_replication";

// At a loss of 2 %, a replica of a few MiB in 70 ms is worth more than a fiftieth of a map of 13 s. Replicas stay
// within the budget. Each loss that they bridge saves its readers the wait for another map.
TEST(MantriSimTest, ReplicationPaysWhereOutputsAreLost) {
  for (const uint64_t seed : {1, 2, 3}) {
    const Outcome none = RunOf(LossyOutputs("fifo", .02, seed)),
                  replicated = RunOf(LossyOutputs(kReplicate, .02, seed));
    EXPECT_GT(none.totals.lost_replicas, 20u);
    EXPECT_GT(replicated.totals.lost_replicas, 20u);
    EXPECT_GT(replicated.totals.replicas, 500u);
    EXPECT_LT(replicated.totals.retries, none.totals.retries / 3);
    EXPECT_LT(replicated.mean, .85 * none.mean) << "28 % were measured";
    EXPECT_LT(replicated.totals.replica_bytes, .1 * replicated.totals.read_bytes);
  }
}

TEST(MantriSimTest, ReplicationCostsLittleWhereFewOutputsAreLost) {
  const Outcome none = RunOf(LossyOutputs("fifo", .001, 1)), replicated = RunOf(LossyOutputs(kReplicate, .001, 1));
  EXPECT_LT(replicated.totals.replica_bytes, .01 * replicated.totals.read_bytes);
  EXPECT_LT(replicated.mean, 1.01 * none.mean);
  const Outcome sound = RunOf(LossyOutputs("fifo", 0, 1)), idle = RunOf(LossyOutputs(kReplicate, 0, 1));
  EXPECT_EQ(idle.totals.replicas, 0u);
  EXPECT_EQ(idle.mean, sound.mean);
}

// Early recomputation makes outputs a second time, most of them in vain. It costs at most 2 % of the slots' time.
TEST(MantriSimTest, OutputsOfASuspectedWorkerAreMadeAgain) {
  const Outcome none = RunOf(LossyOutputs("fifo", .02, 1)),
                early = RunOf(LossyOutputs("fifo,mantri_recompute", .02, 1));
  EXPECT_EQ(none.totals.kept_replicas, 0u);
  EXPECT_GT(early.totals.kept_replicas, 10u);
  EXPECT_LT(early.totals.wasted, .02 * early.totals.useful);
  EXPECT_LT(early.mean, 1.03 * none.mean);
}

// Reduces spread evenly take 3.3 times as long for the shuffle (the example of Mantri 5.3 in mantri.toml).
TEST(MantriSimTest, ReducesFollowTheDataOverNarrowLinks) {
  for (const std::string first : {"fifo", "fair"}) {
    const Outcome even = RunOf(UnevenRacks(first, 1)), placed = RunOf(UnevenRacks(first + ",mantri_placement", 1));
    EXPECT_LT(placed.mean, .55 * even.mean);
    EXPECT_LT(placed.totals.cross_rack_bytes, .45 * even.totals.cross_rack_bytes);
  }
}

// One worker loses half of its outputs, and has the map's input. A map of 100 MB takes 10 s. The waiting reduce finds
// the loss at once, the master knows a second later, and the map runs again.
TEST(MantriSimTest, AReadThatFailsIsToldAndTheOutputMadeAgain) {
  uint64_t all = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Experiment e;
    e.cluster.racks.push_back({});
    WorkerSpec w;
    w.slots.total = 1;
    w.disk = 1e9;
    e.cluster.workers.assign(2, w);
    e.cluster.workers[0].loss = .5;
    e.tasks = Exact();
    e.check = true;
    e.seed = seed;
    e.jobs = {MapReduce(0, "j", 1, 100'000'000, 1, 1000, 0)};
    e.jobs[0].stages[0].preferred = {{0}};
    Simulation run(e);
    ASSERT_EQ(run.Run(nullptr), "");
    const uint64_t lost = run.totals().lost_replicas;
    EXPECT_EQ(run.totals().commits, 2 + lost);
    EXPECT_NEAR(run.jobs()[0].ended, 10 + 11.0 * static_cast<double>(lost), .1);
    EXPECT_NEAR(run.totals().useful + run.totals().wasted, run.totals().busy, 1e-6);
    all += lost;
  }
  EXPECT_GT(all, 0u);
}

// With a replica on the other worker, nothing is made again and no reader waits.
TEST(MantriSimTest, AReplicaIsRead) {
  Experiment e;
  e.cluster.racks.push_back({});
  WorkerSpec w;
  w.slots.total = 1;
  w.disk = 1e9;
  e.cluster.workers.assign(2, w);
  e.cluster.workers[0].loss = 1;
  e.tasks = Exact();
  e.check = true;
  e.jobs = {MapReduce(0, "j", 2, 200'000'000, 1, 1000, 0)};
  e.jobs[0].stages[0].durations = {10, 20};
  e.jobs[0].stages[0].preferred = {{0}, {1}};
  e.policies = "fifo,mantri_replication(always=on)";
  Simulation run(e);
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_EQ(run.totals().lost_replicas, 2u) << "the first map's output, and the replica of the second's";
  EXPECT_EQ(run.totals().commits, 3u);
  EXPECT_NEAR(run.jobs()[0].ended, 20, .1);
}

}  // namespace
}  // namespace mr::sim
