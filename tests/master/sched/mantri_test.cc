// Mantri's placement and replication by the numbers of the paper, and the core's part in making an output a
// second time.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "common/base/rng.h"
#include "master/sched/policies/mantri/mantri_replication.h"
#include "master/sched/policies/mantri/rack_shares.h"
#include "tests/master/sched/small_job.h"

namespace mr::sched {
namespace {

// A vector computed from Mantri (OSDI'10), network-aware placement.
TEST(RackSharesTest, ThePapersVector) {
  const std::vector<RackLoad> racks = {{80}, {10}, {10}};
  const std::vector<double> best = BestShares(racks);
  EXPECT_NEAR(best[0], .8, 1e-9);
  EXPECT_NEAR(best[1], .1, 1e-9);
  EXPECT_NEAR(best[2], .1, 1e-9);
  EXPECT_NEAR(ShuffleCost(racks, best), 16, 1e-9);
  EXPECT_NEAR(ShuffleCost(racks, {1.0 / 3, 1.0 / 3, 1.0 / 3}), 160.0 / 3, 1e-9);
  EXPECT_EQ(WholeTasks(racks, best, 10), (std::vector<uint32_t>{8, 1, 1}));
  EXPECT_EQ(WholeTasks(racks, best, 3), (std::vector<uint32_t>{3, 0, 0})) << "2, 1, 0 takes 26.7, this 20";
}

TEST(RackSharesTest, ARackWithoutDataTakesNoneAndOneWithAllTakesAll) {
  EXPECT_EQ(WholeTasks({{100}, {0}}, BestShares({{100}, {0}}), 7), (std::vector<uint32_t>{7, 0}));
  EXPECT_NEAR(ShuffleCost({{100}, {0}}, BestShares({{100}, {0}})), 0, 1e-9);
}

TEST(RackSharesTest, SlotsAreALimit) {
  const std::vector<RackLoad> racks = {{80, 1, 1, .5}, {10, 1, 1, .3}, {10, 1, 1, 1}};
  const std::vector<double> best = BestShares(racks);
  EXPECT_NEAR(best[0], .5, 1e-9);
  EXPECT_NEAR(std::accumulate(best.begin(), best.end(), 0.0), 1, 1e-9);
  EXPECT_EQ(WholeTasks(racks, best, 10)[0], 5u);
  const std::vector<RackLoad> full = {{50, 1, 1, .1}, {50, 1, 1, .1}};
  EXPECT_EQ(WholeTasks(full, BestShares(full), 10), (std::vector<uint32_t>{5, 5})) << "nobody has room: all the same";
}

// Against all placements in steps of a 24th: none is better, and the best of them is hardly worse. Whole tasks
// against all whole placements: what rounding one by one gives is within what one task more on a link costs.
TEST(RackSharesTest, NoPlacementIsBetter) {
  Rng rng(11);
  constexpr int kSteps = 24;
  for (int round = 0; round < 300; ++round) {
    std::vector<RackLoad> racks(3);
    for (RackLoad& r : racks) {
      r = {100 * rng.Uniform(), .5 + rng.Uniform(), .5 + rng.Uniform(), rng.Uniform() < .3 ? .5 : 1};
    }
    const std::vector<double> best = BestShares(racks);
    const double cost = ShuffleCost(racks, best);
    double all = 0, slack = 0;
    for (const RackLoad& r : racks) all += r.data;
    for (const RackLoad& r : racks) slack = std::max({slack, r.data / r.up, (all - r.data) / r.down});
    double least = 1e300;
    for (int i = 0; i <= kSteps; ++i) {
      for (int j = 0; i + j <= kSteps; ++j) {
        const std::vector<double> a = {i / 24.0, j / 24.0, (kSteps - i - j) / 24.0};
        bool fits = true;
        for (size_t r = 0; r < 3; ++r) fits = fits && a[r] <= racks[r].most + 1e-9;
        if (fits) least = std::min(least, ShuffleCost(racks, a));
      }
    }
    ASSERT_LE(cost, least * (1 + 1e-9)) << "round " << round;
    ASSERT_NEAR(std::accumulate(best.begin(), best.end(), 0.0), 1, 1e-9);
    for (size_t r = 0; r < 3; ++r) ASSERT_LE(best[r], racks[r].most + 1e-9);
    const std::vector<uint32_t> tasks = WholeTasks(racks, best, kSteps);
    ASSERT_EQ(tasks[0] + tasks[1] + tasks[2], static_cast<uint32_t>(kSteps));
    const double whole = ShuffleCost(racks, {tasks[0] / 24.0, tasks[1] / 24.0, tasks[2] / 24.0});
    ASSERT_LE(whole, least + slack / kSteps) << "round " << round;
    ASSERT_GE(whole, least * (1 - 1e-9));
  }
}

// Mantri (OSDI'10) 5.4, a vector computed from its formulas: M1 -> M2 with r = .1, t = (100, 10).
TEST(MantriReplicationTest, ThePapersVector) {
  const double first = RedoSeconds(.1, 100, 0);
  EXPECT_NEAR(first, 10, 1e-12);
  EXPECT_NEAR(RedoSeconds(.1, 10, first), 2, 1e-12);
}

// Three workers of one slot, a map and a reduce; the map has run on the first.
class RemakeTest : public CoreTest {
 protected:
  static constexpr uint64_t kContent = 7;
  static constexpr TaskId kReduce{{1, 1}, 1, 0};

  RemakeTest() : CoreTest(3) {
    Send(StagePlanned{{1, 1}, 1, 1, {TaskPlan{0, {}, {Slice{0, 0, 1, 0, 1}}}}, ""});
    Ask([](Plan& plan) {
      EXPECT_FALSE(plan.Remake(kMap, {1}, {})) << "nothing is committed";
      EXPECT_TRUE(plan.Launch(kMap, {1}, Cause::kFirst, {}));
    });
    Finish(1, kContent);
    Ask([](Plan& plan) {
      EXPECT_FALSE(plan.Remake(kReduce, {2}, {}));
      EXPECT_TRUE(plan.Remake(kMap, {2}, {}));
      EXPECT_FALSE(plan.Remake(kMap, {3}, {})) << "once is enough";
    });
    EXPECT_EQ(task().state, TaskState::kCommitted);
    EXPECT_EQ(task().live, 1u);
  }

  const Task& task() const { return *state_.FindTask(kMap); }
};

TEST_F(RemakeTest, AnEqualReportAddsAReplicaAndItsRepeatIsAnsweredAlike) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    Finish(2, kContent);
    ASSERT_NE(Find<Accept>(), nullptr);
    EXPECT_FALSE(Find<Accept>()->winner);
    EXPECT_EQ(Find<Accept>()->replica.worker, WorkerId{2});
    EXPECT_EQ(task().replicas.size(), 2u);
  }
  EXPECT_EQ(task().winner, 1u);
  Send(WorkerLost{{1}, 1, "lease"});
  EXPECT_EQ(task().state, TaskState::kCommitted);
  EXPECT_EQ(task().generation, 1u);
  Send(WorkerLost{{2}, 2, "lease"});
  EXPECT_EQ(task().state, TaskState::kPending);
  EXPECT_EQ(task().generation, 2u);
}

TEST_F(RemakeTest, ItIsTheRerunIfTheOutputIsLostMeanwhile) {
  Send(ReplicaLost{{{kMap, 1}, 1, {1}, 1}, "probe"});
  EXPECT_EQ(task().state, TaskState::kRunning);
  EXPECT_EQ(task().generation, 2u);
  EXPECT_TRUE(state_.ready(SlotKind::kMap).empty()) << "nothing else is to be launched";
  Finish(2, kContent);
  ASSERT_NE(Find<Accept>(), nullptr);
  EXPECT_TRUE(Find<Accept>()->winner);
  EXPECT_EQ(task().state, TaskState::kCommitted);
  // Its worker knows the output by the generation for which it was launched, and keeps it all the same.
  WorkerRegistered again = OneSlotWorker(2);
  again.inventory = {{{kMap, 1}, 2, {2}, 2}};
  Send(again);
  EXPECT_EQ(Find<DropReplica>(), nullptr);
  EXPECT_EQ(task().replicas.size(), 1u);
}

TEST_F(RemakeTest, OtherContentIsDroppedAndMarksTheOperator) {
  Finish(2, kContent + 1);
  EXPECT_NE(Find<MarkIndeterminate>(), nullptr);
  ASSERT_NE(Find<Refuse>(), nullptr);
  EXPECT_EQ(Find<Refuse>()->reason.code, ReasonCode::kDifferentDigest);
  EXPECT_EQ(task().replicas.size(), 1u);
}

TEST_F(RemakeTest, ItsFailuresAreNobodysFault) {
  Send(AttemptFailed{{kMap, 2}, {2}, 2, FailureKind::kUser, "exit 1"});
  EXPECT_EQ(task().state, TaskState::kCommitted);
  EXPECT_EQ(task().failures, 0u);
  Ask([&](Plan& plan) {
    EXPECT_FALSE(plan.Remake(kMap, {2}, {})) << "it failed here";
    EXPECT_TRUE(plan.Remake(kMap, {3}, {}));
  });
}

TEST_F(RemakeTest, TheEndOfTheJobEndsIt) {
  Ask([&](Plan& plan) { EXPECT_TRUE(plan.Launch(kReduce, {3}, Cause::kFirst, {})); });
  Send(AttemptFinished{{kReduce, 1}, {3}, 3, {1, 1, {1, 1}}, {{0, 0, 1, {kContent, kContent}}}, {}, {}});
  ASSERT_NE(Find<CommitJob>(), nullptr);
  ASSERT_NE(Find<Kill>(), nullptr);
  EXPECT_EQ(Find<Kill>()->attempt, (AttemptId{kMap, 2}));
  EXPECT_EQ(Find<DropReplica>(), nullptr) << "the end of the job drops all replicas";
  EXPECT_TRUE(state_.FindWorker({1})->replicas.empty());
}

// A worker's loss rate is that of its own outputs, drawn towards the cluster's rate.
TEST_F(RemakeTest, LossRatesAreLongTerm) {
  EXPECT_EQ(LossRate(state_, *state_.FindWorker({1})), 0) << "nothing has been lost anywhere";
  Finish(2, kContent);
  Send(ReplicaLost{{{kMap, 1}, 1, {1}, 1}, "probe"});
  EXPECT_EQ(state_.outputs_made(), 2u);
  EXPECT_EQ(state_.outputs_lost(), 1u);
  EXPECT_NEAR(LossRate(state_, *state_.FindWorker({1})), (1 + 20 * .5) / (1 + 20), 1e-12);
  EXPECT_NEAR(LossRate(state_, *state_.FindWorker({3})), .5, 1e-12);
  Send(WorkerLost{{2}, 2, "lease"});
  EXPECT_EQ(state_.outputs_lost(), 2u);
}

}  // namespace
}  // namespace mr::sched
