// How much clones on idle slots saved, and could have saved, and which attempts straggled, in phases built by hand.
#include <gmock/gmock.h>

#include "master/sched/policies/common/work_seconds.h"
#include "master/sched/policies/dolly/clone_credit.h"
#include "master/sched/policies/dolly/idle_worth.h"
#include "master/sched/policies/dolly/straggler_chance.h"
#include "tests/master/sched/ended_phase.h"

namespace mr::sched {
namespace {

TEST(IdleWorthTest, AStragglerIsAPotential) {
  const PhaseWorth worth = WorthOf(Phase({10, 10, 10, 40}), At(40));
  EXPECT_DOUBLE_EQ(worth.potential, 30);
  EXPECT_DOUBLE_EQ(worth.cost, 40) << "a clone of ten seconds for each";
  EXPECT_DOUBLE_EQ(worth.held, 70);
  EXPECT_DOUBLE_EQ(worth.saved, 0);
  EXPECT_DOUBLE_EQ(worth.spent, 0);
}

TEST(IdleWorthTest, EqualTasksAndFewOnesHaveNone) {
  EXPECT_NEAR(WorthOf(Phase({10, 11, 12, 14}), At(14)).potential, 0, 1e-9);
  EXPECT_DOUBLE_EQ(WorthOf(Phase({10, 90}), At(90)).potential, 0) << "two tasks have no usual time";
  EXPECT_DOUBLE_EQ(WorthOf(Phase({90}), At(90)).cost, 0);
}

TEST(IdleWorthTest, AWinSavesWhatTheLoserHadLeft) {
  Stage stage = Phase({10, 10, 10});
  Attempt slow = Ran(1, Cause::kFirst, AttemptState::kKilled, 0, 12);
  slow.samples = {{At(12), 0, 30, 100, 0}};  // 30 % after 12 s: it would have ended after 40
  ASSERT_GT(ScoreOf(slow), 0);
  stage.tasks[2].attempts = {slow, Ran(2, Cause::kOpportunistic, AttemptState::kCommitted, 2, 12)};
  stage.tasks[2].winner = 2;
  PhaseWorth worth = WorthOf(stage, At(12));
  EXPECT_NEAR(worth.saved, 28, 1e-6);
  EXPECT_DOUBLE_EQ(worth.spent, 10);
  EXPECT_NEAR(worth.potential, 30, 1e-6);

  // A loser that is still being stopped counts as stopped now; one that never reported shows no gain.
  stage.tasks[2].attempts[0].state = AttemptState::kEnding;
  stage.tasks[2].attempts[0].ended_at = {};
  EXPECT_NEAR(WorthOf(stage, At(12)).saved, 28, 1e-6);
  stage.tasks[2].attempts[0].samples.clear();
  EXPECT_DOUBLE_EQ(WorthOf(stage, At(12)).saved, 0);
}

// A billionth after an hour: in nanoseconds, its end is more than 64 bits hold.
TEST(IdleWorthTest, AReportOfAlmostNothingIsNoOverflow) {
  Stage stage = Phase({10, 10, 10});
  Attempt slow = Ran(1, Cause::kFirst, AttemptState::kKilled, 0, 3600);
  slow.samples = {{At(3600), 0, 1, 1'000'000'000, 0}};
  stage.tasks[2].attempts = {slow, Ran(2, Cause::kOpportunistic, AttemptState::kCommitted, 2, 3600)};
  stage.tasks[2].winner = 2;
  EXPECT_NEAR(WorthOf(stage, At(3600)).saved, 1e9 - 3600, 1);
}

TEST(IdleWorthTest, AClonesWinByLuckSavesNothing) {
  Stage stage = Phase({10, 10, 10});
  Attempt equal = Ran(1, Cause::kFirst, AttemptState::kKilled, 0, 10);
  equal.samples = {{At(9), 0, 90, 100, 0}};
  stage.tasks[2].attempts = {equal, Ran(2, Cause::kOpportunistic, AttemptState::kCommitted, 0, 10)};
  stage.tasks[2].winner = 2;
  EXPECT_NEAR(WorthOf(stage, At(10)).saved, 0, 1e-6);
}

// A reduce that copied for 20 s and is half through its sort after 4 more: a sixth of the work that follows the copy is
// a quarter of what is left.
Attempt StoppedReduce() {
  Attempt a = Ran(1, Cause::kFirst, AttemptState::kKilled, 0, 26);
  a.inputs_done_at = At(20);
  a.samples = {{At(24), 0, 50, 100, 0}};
  a.samples[0].phase = 2;
  return a;
}

TEST(WorkSecondsTest, TheWaitForInputsIsNotWork) {
  Attempt a = StoppedReduce();
  EXPECT_NEAR(*WorkSeconds(a), 16, 1e-6);
  EXPECT_EQ(WorkBegan(a), At(20));
  a.inputs_done = false;
  a.samples[0].phase = 1;
  EXPECT_EQ(WorkSeconds(a), std::nullopt) << "its pace is that of the maps";
}

// A map's report says that it needs no copying, whenever that comes.
TEST(WorkSecondsTest, AMapWorksFromItsStart) {
  Attempt a = Ran(1, Cause::kFirst, AttemptState::kKilled, 0, 10);
  a.inputs_done_at = At(3);
  a.samples = {{At(3), 0, 15, 100, 0}};
  EXPECT_NEAR(*WorkSeconds(a), 20, 1e-6);
  EXPECT_EQ(WorkBegan(a), At(0));
}

// A sort of a second, then a tenth in ten seconds: not half of the work in eleven.
TEST(WorkSecondsTest, TheLastPhaseHasItsOwnPace) {
  Attempt a = StoppedReduce();
  a.reduce_at = At(21);
  a.samples = {{At(31), 0, 10, 100, 0}};
  a.samples[0].phase = 3;
  EXPECT_NEAR(*WorkSeconds(a), 101, 1e-6);
}

TEST(StragglerChanceTest, AReduceThatWaitedForMapsIsNotSlow) {
  Stage stage = Phase({20, 20, 20, 20});
  stage.tasks[3].attempts.push_back(StoppedReduce());
  EXPECT_EQ(CountStragglers(stage).slow, 0);
  EXPECT_EQ(CountStragglers(stage).all, 5);
  stage.tasks[3].attempts.back().inputs_done = false;
  EXPECT_EQ(CountStragglers(stage).all, 4) << "it has not begun to work";
}

TEST(StragglerChanceTest, AStoppedAttemptIsJudgedByItsLastReport) {
  Stage stage = Phase({10, 10, 10});
  Attempt slow = Ran(2, Cause::kClone, AttemptState::kKilled, 0, 10);
  slow.samples = {{At(6), 0, 40, 100, 0}};  // 15 s for the whole
  stage.tasks[0].attempts.push_back(slow);
  EXPECT_EQ(CountStragglers(stage).slow, 0);
  stage.tasks[0].attempts.back().samples[0].taken_bytes = 20;  // 30 s
  EXPECT_EQ(CountStragglers(stage).slow, 1);
}

TEST(IdleWorthTest, APhaseThatDidNotEndSaysNothing) {
  Stage stage = Phase({10, 10, 40});
  stage.tasks[2].attempts[0].state = AttemptState::kKilled;
  const PhaseWorth worth = WorthOf(stage, At(40));
  EXPECT_DOUBLE_EQ(worth.potential + worth.saved + worth.cost, 0);
}

TEST(CloneCreditTest, SlotTimeIsCountedByCause) {
  Stage stage = Phase({10, 10});
  stage.tasks[1].attempts.push_back(Ran(2, Cause::kClone, AttemptState::kKilled, 4, 10));
  stage.tasks[1].attempts.push_back(Ran(3, Cause::kClone, AttemptState::kEnding, 8, 0));
  stage.tasks[1].attempts.back().ended_at = {};
  const SlotTime time = SlotTimeOf(stage, Cause::kClone, At(11));
  EXPECT_DOUBLE_EQ(time.all, 29);
  EXPECT_DOUBLE_EQ(time.of_cause, 9);
}

}  // namespace
}  // namespace mr::sched
