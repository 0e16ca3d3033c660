// Time that speculative attempts saved and took, in phases built by hand.
#include "master/sched/policies/late/speculation_worth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "master/sched/policies/late/reasons.h"
#include "tests/master/sched/ended_phase.h"

namespace mr::sched {
namespace {

// A phase whose last task had an attempt that was stopped after 12 s, with this much done at its last report. The
// speculative attempt ran from 2 to 12 s.
Stage Overtaken(uint64_t percent, double reported = 12) {
  Stage stage = Phase({10, 10, 10});
  Attempt slow = Ran(1, Cause::kFirst, AttemptState::kKilled, 0, 12);
  slow.samples = {{At(reported), 0, percent, 100, 0}};
  stage.tasks[2].attempts = {slow, Ran(2, Cause::kSpeculative, AttemptState::kCommitted, 2, 12)};
  stage.tasks[2].winner = 2;
  return stage;
}

void ExpectNothing(const Stage& stage) {
  const SpeculationTime time = SpeculationTimeOf(stage, At(30));
  EXPECT_EQ(time.saved, 0);
  EXPECT_EQ(time.spent, 0);
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

TEST(SpeculationWorthTest, WhatHasNotReportedOrHasReadAllCountsNeitherWay) {
  ExpectNothing(Overtaken(40, 1));
  ExpectNothing(Overtaken(100));
  Stage recovered = Phase({10, 10, 20});  // no report from the launch at 5 s on
  recovered.tasks[2].attempts[0].samples = {{At(4), 0, 30, 100, 0}};
  recovered.tasks[2].attempts.push_back(Ran(2, Cause::kSpeculative, AttemptState::kKilled, 5, 20));
  ExpectNothing(recovered);
}

TEST(SpeculationWorthTest, ALoserOnlyTakesTime) {
  Stage stage = Phase({10, 10, 20});
  stage.tasks[1].attempts[0].samples = {{At(9), 0, 90, 100, 0}};
  stage.tasks[1].attempts.push_back(Ran(2, Cause::kSpeculative, AttemptState::kEnding, 5, -1));  // not ended at 25 s
  stage.tasks[2].attempts[0].samples = {{At(19), 0, 95, 100, 0}};
  stage.tasks[2].attempts.push_back(Ran(2, Cause::kSpeculative, AttemptState::kKilled, 5, 20));
  const SpeculationTime time = SpeculationTimeOf(stage, At(25));
  EXPECT_EQ(time.saved, 0);
  EXPECT_DOUBLE_EQ(time.spent, 20. / 20 + 15. / 20);
}

// It copies until 9 s, and ends at once. The speculative attempt copies, too.
TEST(SpeculationWorthTest, AReduceThatMostlyCopiesWeighsAsMuchAsAMap) {
  Stage stage = Phase({9.02});
  Attempt& reduce = stage.tasks[0].attempts[0];
  reduce.inputs_done_at = At(9);
  reduce.samples = {{At(9.01), 3, 50, 100, 0}};
  stage.tasks[0].attempts.push_back(Ran(2, Cause::kSpeculative, AttemptState::kKilled, 3, 9.02));
  EXPECT_DOUBLE_EQ(SpeculationTimeOf(stage, At(10)).spent, 1);
}

TEST(SpeculationWorthTest, AWinOverAnAttemptThatFailedCountsNothing) {
  Stage stage = Overtaken(40);
  stage.tasks[2].attempts[0].state = AttemptState::kFailed;
  stage.tasks[2].attempts[0].ended_at = At(11);
  ExpectNothing(stage);
}

// An output is lost and made again. The second time has no speculative attempt.
TEST(SpeculationWorthTest, OnlyTheGenerationThatCommittedCounts) {
  Stage stage = Overtaken(40);
  Attempt again = Ran(3, Cause::kFirst, AttemptState::kCommitted, 15, 25);
  again.generation = 2;
  stage.tasks[2].attempts.push_back(again);
  stage.tasks[2].winner = 3;
  ExpectNothing(stage);
}

// A clone on an idle slot commits, and the speculative attempt makes a replica.
TEST(SpeculationWorthTest, AReplicaIsNoWin) {
  Stage stage = Overtaken(40);
  Attempt clone = Ran(3, Cause::kOpportunistic, AttemptState::kCommitted, 1, 10);
  clone.samples = {{At(9), 0, 90, 100, 0}};
  stage.tasks[2].attempts.push_back(clone);
  stage.tasks[2].winner = 3;
  const SpeculationTime time = SpeculationTimeOf(stage, At(12));
  EXPECT_EQ(time.saved, 0);
  EXPECT_DOUBLE_EQ(time.spent, 1);
}

TEST(SpeculationWorthTest, ClonesAndTasksThatFailedCountNothing) {
  Stage stage = Phase({10, 10, 20});
  stage.tasks[0].attempts.push_back(Ran(2, Cause::kClone, AttemptState::kKilled, 5, 10));
  stage.tasks[2].attempts = {Ran(1, Cause::kFirst, AttemptState::kFailed, 0, 20),
                             Ran(2, Cause::kSpeculative, AttemptState::kKilled, 5, 20)};
  ExpectNothing(stage);
}

TEST(SpeculationWorthTest, WhyGivesTheGainThatIsAskedAndItsCause) {
  using testing::AllOf, testing::HasSubstr, testing::Not;
  const auto text = [](double asked, double gain) { return Explain({LateReason::kNoGain, "", {9, 8, asked, gain}}); };
  EXPECT_THAT(text(2, 1), AllOf(HasSubstr("more than 2.00 times as long is asked"), HasSubstr("saved little")));
  EXPECT_THAT(text(1.5, 1.5), AllOf(HasSubstr("more than 1.50 times"), Not(HasSubstr("saved little"))));
  EXPECT_THAT(text(1, 1), Not(HasSubstr("asked")));
  EXPECT_THAT(Explain({LateReason::kNoGainByCopying, "", {9, 8, 4}}),
              AllOf(HasSubstr("it copies its input"), HasSubstr("more than 4.00 times as long is asked")));
}

}  // namespace
}  // namespace mr::sched
