// Two attempts of one task, as clones and speculation make them: driven through Core with a draft
// of the test's own, so that the rules hold before the policies that need them exist.
#include "tests/master/sched/small_job.h"

namespace mr::sched {
namespace {

class CloneTest : public CoreTest {
 protected:
  CloneTest() : CoreTest(2) {
    Ask([](Plan& plan) {
      EXPECT_TRUE(plan.WantAttempts(kMap, 2));
      EXPECT_TRUE(plan.Launch(kMap, {1}, Cause::kFirst, {}));
      EXPECT_FALSE(plan.Launch(kMap, {1}, Cause::kClone, {})) << "the slot is taken";
    });
    EXPECT_EQ(state_.ready(SlotKind::kMap).size(), 1u) << "the second clone is schedulable";
    Ask([](Plan& plan) { EXPECT_TRUE(plan.Launch(kMap, {2}, Cause::kClone, {})); });
    EXPECT_TRUE(state_.ready(SlotKind::kMap).empty());
  }
  ReasonCode Refused() const { return Find<Refuse>() == nullptr ? ReasonCode::kNone : Find<Refuse>()->reason.code; }

  const AttemptId first_{kMap, 1}, second_{kMap, 2};
};

TEST_F(CloneTest, TheFirstReportWinsAndTheOtherIsKilled) {
  Finish(2, 7);
  ASSERT_EQ(out_.size(), 2u);
  EXPECT_EQ(std::get<Accept>(out_[0]).attempt, second_);
  EXPECT_EQ(std::get<Kill>(out_[1]).attempt, first_);
  EXPECT_EQ(std::get<Kill>(out_[1]).reason.code, ReasonCode::kTaskCommitted);
  Send(AttemptKilled{first_, {1}, 1});
  EXPECT_TRUE(state_.FindWorker({1})->attempts.empty());
  EXPECT_EQ(state_.FindTask(kMap)->failures, 0u);
}

TEST_F(CloneTest, ClonesRunOnUntilTheOutputHasTheCopiesThatAreWanted) {
  Ask([](Plan& plan) { EXPECT_TRUE(plan.WantCopies(kMap, 2)); });
  Finish(1, 7);
  EXPECT_TRUE(Find<Accept>()->winner);
  EXPECT_EQ(Find<Kill>(), nullptr);
  Finish(2, 7);
  EXPECT_FALSE(Find<Accept>()->winner);
  EXPECT_EQ(state_.FindTask(kMap)->copies.size(), 2u);
  EXPECT_EQ(state_.FindTask(kMap)->live, 0u);
}

TEST_F(CloneTest, ACloneThatRunsOnAndGivesOtherContentMarksTheOperator) {
  Ask([](Plan& plan) { EXPECT_TRUE(plan.WantCopies(kMap, 2)); });
  Finish(1, 7);
  Finish(2, 8);
  EXPECT_EQ(Refused(), ReasonCode::kDifferentDigest);
  EXPECT_TRUE(state_.FindStage(kMap.stage_id())->indeterminate);
  EXPECT_EQ(state_.FindTask(kMap)->copies.size(), 1u);
}

TEST_F(CloneTest, ALaterReportOfEqualContentIsDroppedNotAnError) {
  Finish(1, 7);
  Finish(2, 7);
  EXPECT_EQ(Refused(), ReasonCode::kEqualDigest);
  EXPECT_EQ(state_.FindTask(kMap)->winner, 1u);
}

TEST_F(CloneTest, ALaterReportOfOtherContentMarksTheOperator) {
  Finish(1, 7);
  Finish(2, 8);
  EXPECT_EQ(Refused(), ReasonCode::kDifferentDigest);
  EXPECT_TRUE(std::holds_alternative<MarkIndeterminate>(out_[0]));
  EXPECT_EQ(state_.FindTask(kMap)->manifest.content.low, 7u);
}

TEST_F(CloneTest, AFailureOfOneLeavesTheOtherRunning) {
  Send(AttemptFailed{first_, {1}, 1, FailureKind::kUser, "exit 1"});
  EXPECT_EQ(state_.FindTask(kMap)->state, TaskState::kRunning);
  Finish(2, 7);
  EXPECT_EQ(state_.FindTask(kMap)->state, TaskState::kCommitted);
}

TEST_F(CloneTest, NoPolicyTriesATaskWhereItFailedWhileAnotherWorkerHasRoom) {
  Send(AttemptFailed{first_, {1}, 1, FailureKind::kUser, "exit 1"});
  state_.ReleaseTask(kMap);
  const auto may_launch = [this](WorkerId worker) {
    const View view(state_, {});
    Plan plan(view);
    return plan.Launch(kMap, worker, Cause::kRetry, {});
  };
  EXPECT_TRUE(may_launch({1})) << "the other one is taken";
  Send(OneSlotWorker(3));
  EXPECT_FALSE(may_launch({1}));
  EXPECT_TRUE(may_launch({3}));
  Send(WorkerDraining{{3}, 3, true});
  EXPECT_TRUE(may_launch({1}));
  Send(WorkerDraining{{3}, 3, false});
  Send(OneSlotWorker(1, 7));
  EXPECT_TRUE(may_launch({1})) << "another life of it has not failed";
}

// The loser's kill is under way when the winner's output is lost: its bytes belong to the
// generation before.
TEST_F(CloneTest, ALoserOfALostGenerationDoesNotCommit) {
  Finish(1, 7);
  Send(CopyLost{{{kMap, 1}, 1, {1}, 1}, "probe"});
  EXPECT_EQ(state_.FindTask(kMap)->generation, 2u);
  Finish(2, 7);
  EXPECT_EQ(Refused(), ReasonCode::kStale);
  EXPECT_EQ(state_.FindTask(kMap)->state, TaskState::kPending);
}

}  // namespace
}  // namespace mr::sched
