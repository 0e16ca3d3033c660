// The estimates of mantri_restart: the time that an attempt has left, and that of a new one.
#include <gmock/gmock.h>

#include "tests/master/sched/mantri_fixture.h"

namespace mr::sched {
namespace {

TEST_F(MantriRestartTest, RunningOnesTellWhenHalfOfThemHaveReadATenth) {
  Begin({});
  running_ = true;
  for (uint32_t t = 6; t < 9; ++t) Tell(t, .1);
  Tell(0, .3);  // 30 s for what takes others 10
  for (uint32_t t = 15; t < 20; ++t) Start(t, t, 0);
  EXPECT_FALSE(Judge(0, 5, false)) << "four of nine";
  Tell(5, .1, 500);
  const NewAttempt fresh(state_.Counted(stage()), true);
  ASSERT_TRUE(fresh.known());
  EXPECT_TRUE(fresh.early());
  EXPECT_NEAR(fresh.Expected(100, 1), 14, 1e-6) << "its own time is one of five";
  EXPECT_TRUE(Judge(0, 5, false));
  EXPECT_FALSE(Judge(5, 5, false)) << "45 s left for five times the data; a new attempt takes 70";
  running_ = false;
  EXPECT_FALSE(Judge(0, 5, false)) << "none has finished";
}

TEST_F(MantriRestartTest, WhatGoesBeforeTheFirstByteIsNoSlowness) {
  Begin({});
  running_ = true;
  for (uint32_t t = 6; t < 10; ++t) Tell(t, .1);
  const AttemptId id = Start(0, 2, 0);
  Read(id, 6, 1);
  EXPECT_FALSE(Judge(0, 6, false)) << "a byte in 6 s, as far as it is known";
  Read(id, 6.1, 2);
  EXPECT_FALSE(Judge(0, 6.1, false)) << "it took a tenth of a second";
  Read(id, 16, 3);
  EXPECT_TRUE(Judge(0, 16, false));
}

TEST_F(MantriRestartTest, ReducesTellInTheirThirdPhaseWithoutTheWaitForMaps) {
  Begin({});
  for (uint32_t t = 6; t < 9; ++t) {
    const AttemptId id = Start(t, t, 0);
    const auto read = [&](double at, uint8_t phase, uint64_t taken, bool inputs_done) {
      state_.AddSample(id, {Seconds2(at), phase, taken, 100, 0}, inputs_done);
    };
    read(50, 1, 50, false);
    read(90, 1, 90, false);
    read(100, 1, 100, true);
    read(101, 2, 100, true);
    (void)state_.Counted(stage());
    EXPECT_EQ(state_.FindAttempt(id)->rating.told, 0);
    read(102, 3, 10, true);
    read(103, 3, 20, true);
  }
  const NewAttempt fresh(state_.Counted(stage()), true);
  EXPECT_NEAR(fresh.Expected(100, 1), 11, 1e-6);
}

TEST_F(MantriRestartTest, ChancesAndMeansAreThoseOfTheSamples) {
  Begin({5, 5, 10, 40});
  const NewAttempt fresh(state_.Counted(stage()), false);
  EXPECT_NEAR(fresh.Expected(100, 1), 15, 1e-6);
  EXPECT_NEAR(fresh.Expected(200, 2), 60, 1e-6);
  EXPECT_NEAR(fresh.ChanceBelow(9, 100, 1), .5, 1e-9);
  EXPECT_NEAR(fresh.ChanceBelow(10.1, 100, 1), .75, 1e-9);
  EXPECT_NEAR(fresh.ChanceBelow(10.1, 100, 3), 0, 1e-9);
  // Under twice 5 s, with probability one half: more than a quarter. The mean says no: 15 s.
  EXPECT_TRUE(Judge(0, HalfRead(0, 10.1), true));
  EXPECT_FALSE(Judge(1, HalfRead(1, 9.9), true));
}

TEST_F(MantriRestartTest, TheLastReportsCountNotTheWholeLife) {
  const AttemptId id = Start(0, 1, 20);
  for (int i = 1; i <= 10; ++i) Read(id, 20 + i, static_cast<uint64_t>(i) * 5);   // 5 % a second
  for (int i = 1; i <= 10; ++i) Read(id, 30 + i, 50 + static_cast<uint64_t>(i));  // then 1 %
  const Attempt& a = *state_.FindAttempt(id);
  EXPECT_NEAR(*TimeLeft(a, Seconds2(40), 0), 40, 1e-6);
  EXPECT_NEAR(*TimeLeft(a, Seconds2(41), 0), 39, 1e-6);
  EXPECT_GT(*TimeLeft(a, Seconds2(80), 0), 200) << "silent for 40 s, after a report each second";
  EXPECT_NEAR(*TimeLeft(a, Seconds2(40), 7), 47, 1e-6) << "t_wrapup";
}

TEST_F(MantriRestartTest, AHopefulPaceCountsTheWholeLifeToo) {
  MantriRules rules;
  rules.hopeful = true;
  const NewAttempt fresh(state_.Counted(stage()), false);
  const auto left = [&](const AttemptId& id, double now) {
    return SecondsLeft(rules, fresh, StandingOf(*state_.FindTask(id.task), *state_.FindAttempt(id)), Seconds2(now));
  };
  const AttemptId slowed = Start(0, 1, 20);
  Read(slowed, 30, 50);
  Read(slowed, 31, 51);  // by the last reports 49 s are left
  EXPECT_NEAR(*left(slowed, 31), 11.0 * 49 / 51, 1e-6);
  const AttemptId quickened = Start(1, 2, 20);
  Read(quickened, 30, 10);
  Read(quickened, 31, 20);  // by its whole life 44 s are left
  EXPECT_NEAR(*left(quickened, 31), 8, 1e-6);
  const AttemptId begun = Start(2, 3, 20);
  Read(begun, 21, 2);
  Read(begun, 29, 24);
  EXPECT_FALSE(left(begun, 29.9)) << "it has read less than a quarter";
  Read(begun, 29.5, 25);
  EXPECT_TRUE(left(begun, 29.6));
  EXPECT_TRUE(left(begun, 30.1)) << "a new one takes 10 s";
  // Its plan foresaw 100 bytes, and it found 50.
  const AttemptId less = Start(3, 4, 20);
  Read(less, 30, 25, 50);
  Read(less, 31, 26, 50);
  EXPECT_NEAR(*left(less, 31), 11.0 * 24 / 26, 1e-6);
}

TEST_F(MantriRestartTest, AHopefulPaceSeesWhatHangs) {
  rules_.hopeful = true;
  const AttemptId id = Start(0, 1, 20);
  Read(id, 28, 80);
  Read(id, 29, 90);
  const NewAttempt fresh(state_.Counted(stage()), false);
  const auto left = [&](double now) {
    return SecondsLeft(rules_, fresh, StandingOf(*state_.FindTask(TaskOf(0)), *state_.FindAttempt(id)), Seconds2(now));
  };
  EXPECT_NEAR(*left(29), 1, 1e-6);
  EXPECT_GT(*left(69), 20) << "it has said nothing for 40 s; its whole life would say 5 s";
}

TEST_F(MantriRestartTest, TheTimeLeftExceedsNoLimitBeforeTheInstantReturned) {
  Begin({5, 5, 10, 10, 10, 40});
  const NewAttempt fresh(state_.Counted(stage()), false);
  ASSERT_TRUE(fresh.known());
  Start(0, 1, 20);  // never reports
  Read(Start(1, 2, 20), 22, 0);
  const AttemptId paced = Start(2, 3, 20), whole = Start(3, 4, 20), early = Start(4, 5, 20);
  for (int i = 1; i <= 4; ++i) Read(paced, 20 + i, static_cast<uint64_t>(i));
  for (int i = 1; i <= 4; ++i) Read(whole, 20 + i, static_cast<uint64_t>(i) * 25);
  Read(early, 21, 30);
  uint32_t late = 0;
  for (uint32_t t = 0; t < 5; ++t) {
    const Task& task = *state_.FindTask(TaskOf(t));
    const Standing standing = StandingOf(task, task.attempts.back());
    for (const double seconds : {0.5, 2.0, 3.0, 10.0, 39.0, 40.0, 41.0, 96.0, 300.0}) {
      for (const NewAttempt& estimate : {fresh, NewAttempt(state_.Counted(stage()), false)}) {
        for (double now = 24; now < 200; now += 3.5) {
          const Instant until = estimate.NoLongerUntil(standing, seconds, Seconds2(now));
          for (double at = now; Seconds2(at) < until && at < 300; at += .125) {
            const auto left = estimate.Left(standing, Seconds2(at));
            ASSERT_TRUE(!left || *left <= seconds) << "task " << t << ": " << *left << " > " << seconds << " at " << at;
          }
          late += until > Seconds2(now + 1) && until.ns != INT64_MAX;
        }
      }
    }
  }
  EXPECT_GT(late, 100u) << "else nothing was checked";
}

TEST_F(MantriRestartTest, StatisticsKeptAnewAreNotTakenForTheOldOnes) {
  const uint64_t before = state_.Counted(stage()).changes;
  const JobList& list = *state_.FindJob(stage().job)->list;
  state_.KeepStatistics(list, {.any = true, .scores = true, .costs = true});
  EXPECT_GT(state_.Counted(stage()).changes, before) << "caches are valid for a number of changes";
}

TEST_F(MantriRestartTest, TasksWithoutBytesCountAmongThoseThatFinished) {
  Begin({10, 10, 10}, 5);
  for (uint32_t t = 0; t < 5; ++t) state_.Commit(Start(t, 1 + t, 0), {1, 1, {t, 1}}, Seconds2(1));
  for (uint32_t t = 5; t < 10; ++t) Start(t, 1 + t, 0);
  EXPECT_TRUE(NewAttempt(state_.Counted(stage()), false).known()) << "eight finished, three of them with bytes";
}

TEST_F(MantriRestartTest, TheFirstToFinishShowNothingBeforeHalfHave) {
  for (uint32_t t = 0; t < 4; ++t) Start(t, 1 + t, 0);
  EXPECT_TRUE(NewAttempt(state_.Counted(stage()), false).known()) << "four of eight";
  Start(4, 5, 0);
  EXPECT_FALSE(NewAttempt(state_.Counted(stage()), false).known()) << "four of nine";
  EXPECT_FALSE(Judge(0, 100, true));
  Read({TaskOf(4), 1}, 20, 100);
  state_.Commit({TaskOf(4), 1}, {1, 1, {4, 1}}, Seconds2(20));
  EXPECT_TRUE(NewAttempt(state_.Counted(stage()), false).known());
}

TEST_F(MantriRestartTest, WrapUpAndLaunchesAreMeansOfFinishedOnes) {
  Begin({});
  for (uint32_t i = 0; i < 4; ++i) {
    const AttemptId id = Start(10 + i, 10 + i, 0);
    state_.EditAttempt(id, [](Attempt& a) { a.started_at = Seconds2(2); });
    Read(id, 6, 50);  // the other half takes until 10
    state_.Commit(id, {1, 1, {i, 1}}, Seconds2(10 + i));
  }
  const NewAttempt fresh(state_.Counted(stage()), false);
  EXPECT_NEAR(fresh.wrapup(), 1.5, 1e-6);
  EXPECT_NEAR(fresh.Expected(100, 1), 9.5 + 2, 1e-6) << "schedLag is 2 s";
}

TEST_F(MantriRestartTest, SlowWorkersAreExpectedToBeSlow) {
  Begin({10, 10, 10, 50});
  EXPECT_NEAR(LocationFactor(state_, stage(), {13}, 0), 2.5, 1e-6);
  EXPECT_NEAR(LocationFactor(state_, stage(), {12}, 0), .5, 1e-6);
  EXPECT_EQ(LocationFactor(state_, stage(), {20}, 0), 1);
  HalfRead(0, 30, 14);  // predicted to take 60 s, as seen so far
  EXPECT_NEAR(LocationFactor(state_, stage(), {14}, 0), 3, 1e-6);
  const AttemptId own{TaskOf(0), 1};
  EXPECT_EQ(LocationFactor(state_, stage(), {14}, 0, &own), 1) << "nothing else ran there";
  EXPECT_TRUE(Judge(0, 50, true, 0, 12));
  EXPECT_FALSE(Judge(0, 50, true, 0, 13)) << "20 s on average, 50 there";
}

}  // namespace
}  // namespace mr::sched
