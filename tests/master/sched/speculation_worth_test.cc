// Time that speculative attempts saved and took, in phases built by hand.
#include "master/sched/policies/late/speculation_worth.h"

#include <gtest/gtest.h>

#include "tests/master/sched/ended_phase.h"

namespace mr::sched {
namespace {

// A phase whose last task had an attempt that was stopped after 12 s, 11 s after its last report, if silent, or just
// after it. The speculative attempt ran from 2 to 12 s.
Stage Overtaken(uint64_t percent, bool silent = false) {
  Stage stage = Phase({10, 10, 10});
  Attempt slow = Ran(1, Cause::kFirst, AttemptState::kKilled, 0, 12);
  slow.samples = {{At(silent ? 1 : 12), 0, percent, 100, 0}};
  stage.tasks[2].attempts = {slow, Ran(2, Cause::kSpeculative, AttemptState::kCommitted, 2, 12)};
  return stage;
}

// 40 % after 12 s: it would have ended after 30. The speculative attempt took ten.
TEST(SpeculationWorthTest, AWinSavesWhatTheOtherAttemptHadLeft) {
  const SpeculationTime time = SpeculationTimeOf(Overtaken(40), At(12));
  EXPECT_NEAR(time.saved, 1.8, 1e-6);
  EXPECT_DOUBLE_EQ(time.spent, 1);
}

TEST(SpeculationWorthTest, OneTaskSavesAtMostThreeTimesItsTime) {
  EXPECT_DOUBLE_EQ(SpeculationTimeOf(Overtaken(5), At(12)).saved, 3);
}

TEST(SpeculationWorthTest, AnAttemptThatFellSilentCountsNeitherWay) {
  const SpeculationTime time = SpeculationTimeOf(Overtaken(40, true), At(12));
  EXPECT_EQ(time.saved, 0);
  EXPECT_EQ(time.spent, 0);
}

TEST(SpeculationWorthTest, ALoserOnlyTakesTime) {
  Stage stage = Phase({10, 10, 20});
  stage.tasks[2].attempts.push_back(Ran(2, Cause::kSpeculative, AttemptState::kKilled, 5, 20));
  stage.tasks[1].attempts.push_back(Ran(2, Cause::kSpeculative, AttemptState::kEnding, 5, -1));  // still ending
  const SpeculationTime time = SpeculationTimeOf(stage, At(25));
  EXPECT_EQ(time.saved, 0);
  EXPECT_DOUBLE_EQ(time.spent, 15. / 20 + 20. / 10);
}

TEST(SpeculationWorthTest, ClonesAndTasksThatFailedCountNothing) {
  Stage stage = Phase({10, 10, 20});
  stage.tasks[0].attempts.push_back(Ran(2, Cause::kClone, AttemptState::kKilled, 5, 10));
  stage.tasks[2].attempts = {Ran(1, Cause::kFirst, AttemptState::kFailed, 0, 20),
                             Ran(2, Cause::kSpeculative, AttemptState::kKilled, 5, 20)};
  EXPECT_EQ(SpeculationTimeOf(stage, At(20)).spent, 0);
}

}  // namespace
}  // namespace mr::sched
