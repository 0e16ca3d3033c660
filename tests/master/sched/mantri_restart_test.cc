// mantri_restart by the numbers of its paper: each rule at its threshold, and whole clusters.
#include <gmock/gmock.h>

#include <limits>

#include "common/base/rng.h"
#include "master/sched/policies/mantri/mantri_rules.h"
#include "master/sched/policies/mantri/mantri_stage.h"
#include "master/sched/policies/mantri/mantri_why.h"
#include "master/sched/policies/mantri/reasons.h"
#include "tests/master/sched/nodes.h"

namespace mr::sched {
namespace {

constexpr double kNoRestarts = 0;

// A stage with finished tasks 10 to 13: they took 10 s for 100 bytes each, on workers 10 to 13, unless Begin gets other
// times. So t_new is 10 s for 100 bytes, and Delta 1 s.
class MantriRestartTest : public testing::Test {
 protected:
  MantriRestartTest() { Begin({10, 10, 10, 10}); }

  void Begin(const std::vector<double>& finished) {
    ConfigChanged config;
    config.policies = "fifo";
    state_.SetConfig(config, {});
    for (uint32_t w = 1; w <= 20; ++w) {
      WorkerRegistered e;
      e.worker = {w};
      e.incarnation = 1;
      e.slots.total = 2;
      state_.PutWorker(e);
    }
    JobSubmitted job;
    job.job = {1, ++jobs_};
    job.graph.stages.resize(1);
    job.graph.stages[0].inputs = {StageInput{}};
    job.graph.stages[0].is_final = true;
    state_.AddJob(job, {});
    state_.KeepStatistics(*state_.FindJob(job.job)->list, {.any = true, .costs = true});
    state_.AskPlan(stage());
    StagePlanned plan{job.job, 0, 1, std::vector<TaskPlan>(20), ""};
    for (TaskPlan& t : plan.tasks) t.input_bytes = 100;
    plan.tasks[5].input_bytes = 500;
    state_.SetPlan(plan, {});
    for (uint32_t i = 0; i < finished.size(); ++i) {
      const AttemptId id = Start(10 + i, 10 + i, 0);
      Read(id, finished[i], 100);
      state_.Commit(id, {1, 1, {i, 1}}, Seconds2(finished[i]));
    }
  }

  static Instant Seconds2(double at) { return {std::llround(at * 1e9)}; }
  StageId stage() const { return {{1, jobs_}, 0}; }
  TaskId TaskOf(uint32_t task) const { return {{1, jobs_}, 0, task}; }

  AttemptId Start(uint32_t task, uint32_t worker, double at, Cause cause = Cause::kFirst) {
    const AttemptId id{TaskOf(task), state_.AddAttempt(TaskOf(task), {worker}, cause, Seconds2(at))};
    state_.EditAttempt(id, [&](Attempt& a) {
      a.state = AttemptState::kRunning;
      a.started_at = Seconds2(at);
    });
    return id;
  }
  // It reads a byte each `pace` s, and has reported twice when it has read a tenth.
  AttemptId Tell(uint32_t task, double pace, uint64_t total = 100) {
    const AttemptId id = Start(task, 1 + task, 0);
    for (const uint64_t read : {total / 20, total / 10}) Read(id, static_cast<double>(read) * pace, read, total);
    return id;
  }
  void Read(const AttemptId& id, double at, uint64_t taken, uint64_t total = 100) {
    state_.AddSample(id, {Seconds2(at), 0, taken, total, 0}, false);
  }
  void End(const AttemptId& id, double at) { state_.MoveAttempt(id, AttemptState::kKilled, Seconds2(at)); }

  std::optional<MantriAct> Judge(uint32_t task, double now, bool waiting, double gamma = kNoRestarts,
                                 uint32_t worker = 20) const {
    EXPECT_EQ(state_.CheckStatistics(), "");
    MantriRules rules;
    rules.gamma = gamma;
    const NewAttempt fresh(state_.Counted(stage()), running_);
    if (!fresh.known()) return std::nullopt;
    const View view(state_, Seconds2(now));
    return JudgeTask(rules, view, TaskOf(task), state_.FindWorker({worker}), fresh,
                     LocationFactor(state_, stage(), {worker}, 0), waiting, true);
  }
  // An attempt with so many seconds left at that instant, when it has read half.
  double HalfRead(uint32_t task, double left, uint32_t worker = 1, Cause cause = Cause::kFirst, double begin = 20) {
    Read(Start(task, worker, begin, cause), begin + left, 50);
    return begin + left;
  }

  State state_;
  uint32_t jobs_ = 0;
  bool running_ = false;  // samples of those that run, too
};

TEST_F(MantriRestartTest, WhileTasksWaitASecondAttemptMustTakeUnderHalfOfWhatIsLeft) {
  EXPECT_FALSE(Judge(0, HalfRead(0, 19.9), true));
  const auto act = Judge(1, HalfRead(1, 20.1), true);
  ASSERT_TRUE(act);
  EXPECT_FALSE(act->anew);
  EXPECT_EQ(act->reason.code, MantriReason::kSpeculativeSaves);
  EXPECT_NEAR(act->saves, 10.1, 1e-6);
}

TEST_F(MantriRestartTest, WhileTasksWaitAThirdAttemptMustTakeUnderTwoThirdsOfWhatIsLeft) {
  for (const double left : {14.9, 15.1}) {
    const uint32_t task = left < 15 ? 0 : 1;
    Start(task, 1, 0);
    Read({TaskOf(task), 1}, 20 + left, 20);  // the slower of the two
    const double now = HalfRead(task, left, 2, Cause::kSpeculative);
    EXPECT_EQ(Judge(task, now, true).has_value(), left > 15) << left;
  }
}

TEST_F(MantriRestartTest, OnceAllHaveBegunASpeculativeAttemptMustSaveRhoReportPeriods) {
  EXPECT_FALSE(Judge(0, HalfRead(0, 12.9), false));
  EXPECT_TRUE(Judge(1, HalfRead(1, 13.1), false));
  // The paper prints E(t_new - t_rem) > rho Delta, a misprint: by it this one would get a speculative attempt.
  Read(Start(2, 3, 20), 29, 90);
  EXPECT_FALSE(Judge(2, 29, false));
}

TEST_F(MantriRestartTest, IsBegunAnewWhereThatIsSoonerByMoreThanAReport) {
  EXPECT_FALSE(Judge(0, HalfRead(0, 10.9), true, 3));
  const auto act = Judge(1, HalfRead(1, 11.1), true, 3);
  ASSERT_TRUE(act);
  EXPECT_TRUE(act->anew);
  EXPECT_EQ(act->attempt, (AttemptId{TaskOf(1), 1}));
  EXPECT_EQ(act->reason.code, MantriReason::kRestartSooner);
  EXPECT_FALSE(Judge(1, HalfRead(2, 11.1), false, 3)) << "only while tasks wait";
}

TEST_F(MantriRestartTest, AfterGammaRestartsItGetsASpeculativeAttempt) {
  for (int i = 0; i < 2; ++i) End(Start(0, 1 + i, 0, i == 0 ? Cause::kFirst : Cause::kRestart), 5);
  const double now = HalfRead(0, 30, 3, Cause::kRestart);
  EXPECT_TRUE(Judge(0, now, true, 3)->anew);
  EXPECT_FALSE(Judge(0, now, true, 2)->anew);
}

// Its output was made and lost since: what was done for that one is no reason to leave this one alone.
TEST_F(MantriRestartTest, AttemptsOfAnEarlierGenerationCountAgainstNoLimit) {
  for (int i = 0; i < 3; ++i) End(Start(0, 1 + i, 0, i == 0 ? Cause::kFirst : Cause::kRestart), 5);
  for (int i = 0; i < 2; ++i) End(Start(0, 4 + i, 0, Cause::kSpeculative), 5);
  state_.EditTask(TaskOf(0), [](Task& task) { ++task.generation; });
  const double now = HalfRead(0, 30, 6);
  ASSERT_TRUE(Judge(0, now, true, 2));
  EXPECT_TRUE(Judge(0, now, true, 2)->anew) << "restarted twice, for an earlier output";
  ASSERT_TRUE(Judge(0, now, false)) << "as many speculative attempts as may be, for an earlier output";
  EXPECT_FALSE(Judge(0, now, false)->anew);
}

TEST_F(MantriRestartTest, FiveTimesTheDataIsNotDuplicated) {
  const AttemptId skewed = Start(5, 1, 20), slow = Start(0, 2, 20);
  Read(skewed, 40, 200, 500);  // 30 s left, and a new one takes 50
  Read(slow, 40, 40);          // 30 s left, and a new one takes 10
  for (const bool waiting : {false, true}) {
    EXPECT_FALSE(Judge(5, 40, waiting, 3));
    EXPECT_TRUE(Judge(0, 40, waiting, 3));
  }
}

TEST_F(MantriRestartTest, NoMoreThanThreeRunAndNoneWithinAReportOfTheLast) {
  HalfRead(0, 40, 1);
  HalfRead(0, 40, 2, Cause::kSpeculative);
  const AttemptId third = Start(0, 3, 59.5, Cause::kSpeculative);
  Read(third, 60, 1);
  EXPECT_FALSE(Judge(0, 60, true)) << "three run";
  End(third, 60);
  EXPECT_FALSE(Judge(0, 60, true)) << "as many were launched as may run, and none may be replaced";
  EXPECT_TRUE(Judge(0, 60, true, 1));
  HalfRead(1, 40, 4);
  Read(Start(1, 5, 59.5, Cause::kSpeculative), 60, 1);
  EXPECT_FALSE(Judge(1, 60, true)) << "the last began half a second ago";
  EXPECT_TRUE(Judge(1, 61, true));
}

TEST_F(MantriRestartTest, NothingIsEstimatedWithoutReadBytesOrThreeThatFinished) {
  Start(0, 1, 20);
  EXPECT_FALSE(Judge(0, 29.9, true)) << "no report";
  Read({TaskOf(0), 1}, 29.9, 0);
  EXPECT_FALSE(Judge(0, 29.9, true)) << "d_read = 0, though at 10 s nothing is left";
  Read({TaskOf(0), 1}, 100, 10);
  EXPECT_TRUE(Judge(0, 100, true));
  EXPECT_FALSE(Judge(0, 100, true, 0, 1)) << "it runs there";
  Begin({10, 10});
  EXPECT_FALSE(Judge(0, HalfRead(0, 90), true)) << "two have finished";
}

// Others read for 10 s and were done at once, or a second later: wrap-ups of 0, 0, 0 and 1 s.
TEST_F(MantriRestartTest, WhatHasReadAllIsJudgedByTheWrapUpsThatLastedLonger) {
  Begin({10, 10, 10});
  const AttemptId last = Start(13, 13, 0);
  Read(last, 10, 100);
  state_.Commit(last, {1, 1, {9, 1}}, Seconds2(11));
  const AttemptId id = Start(0, 1, 20);
  Read(id, 22, 90);
  Read(id, 23, 100);
  Read(id, 24, 100);  // nothing new
  const NewAttempt fresh(state_.Counted(stage()), false);
  const Standing standing = StandingOf(*state_.FindTask(TaskOf(0)), *state_.FindAttempt(id));
  EXPECT_NEAR(*fresh.Left(standing, Seconds2(23.4)), .6, 1e-6) << "of the four the one that took longer than .4 s";
  EXPECT_NEAR(*fresh.Left(standing, Seconds2(24.5)), 1.5, 1e-6) << "longer than all: as much again";
  // A new one takes 10.25 s, and three reports of it 3.075.
  EXPECT_FALSE(Judge(0, 36.3, false));
  EXPECT_TRUE(Judge(0, 36.4, false));
  EXPECT_FALSE(Judge(0, 34.2, true, 3)) << "10.25 s and a report";
  EXPECT_TRUE(Judge(0, 34.3, true, 3)->anew);
  const AttemptId skewed = Start(5, 2, 20);
  Read(skewed, 21, 500, 500);
  EXPECT_FALSE(Judge(5, 60, false)) << "39 s for what takes a new one 51";
}

TEST_F(MantriRestartTest, WhatHasReadNothingForLongerThanAnyTookIsJudgedByItsAge) {
  Begin({10, 10, 10, 12});
  const AttemptId id = Start(0, 1, 20);
  const NewAttempt fresh(state_.Counted(stage()), false);
  const auto left = [&](double now) {
    return fresh.Left(StandingOf(*state_.FindTask(TaskOf(0)), *state_.FindAttempt(id)), Seconds2(now));
  };
  EXPECT_FALSE(left(31.9)) << "d_read = 0, no estimate";
  EXPECT_NEAR(left(33).value_or(0), 13, 1e-6);
  EXPECT_FALSE(Judge(0, 33, false)) << "10.5 s and three reports";
  EXPECT_TRUE(Judge(0, 34, false));
  Read(id, 34, 0);
  EXPECT_TRUE(Judge(0, 34, false));
}

// Four quick ones are done, and two run: whatever takes longer than the quick ones may be what the stage takes.
TEST_F(MantriRestartTest, OnlyTheFewThatOutlastMostOthersAreJudgedByTheirAge) {
  const AttemptId first = Start(0, 1, 20), second = Start(1, 2, 21);
  for (const AttemptId& id : {first, second}) Read(id, 22, 100);
  EXPECT_TRUE(Judge(0, 40, false)) << "four of five took less";
  EXPECT_FALSE(Judge(1, 40, false)) << "and four of six";
  End(first, 40);
  EXPECT_TRUE(Judge(1, 40, false));
}

TEST_F(MantriRestartTest, SaysWhyAnAttemptIsLeftAlone) {
  const auto why = [&](uint32_t task, double now, bool with_running = false) {
    MantriRules rules;
    rules.running = with_running;
    return WhyLeftAlone(rules, View(state_, Seconds2(now)), {TaskOf(task), 1});
  };
  Start(0, 1, 20);
  EXPECT_EQ(why(0, 25).code, MantriReason::kNoEstimate);
  // Tasks wait: 5 s are left, and a new one takes 10.
  Read(Start(1, 2, 20), 25, 50);
  const Reason now = why(1, 25);
  EXPECT_EQ(now.code, MantriReason::kSavesLittleNow);
  EXPECT_THAT(now.numbers, testing::ElementsAre(testing::DoubleNear(5, 1e-6), testing::DoubleNear(10, 1e-6),
                                                testing::DoubleNear(1, 1e-6), 0, 25));
  EXPECT_THAT(Explain(now), testing::HasSubstr("5.00 s are left, and a new attempt takes 10.00 s; while tasks wait, "));
  Read(Start(2, 3, 20), 70, 50);
  EXPECT_EQ(why(2, 70).code, MantriReason::kPays);
  Read(Start(3, 4, 20), 20.5, 5);
  EXPECT_EQ(why(3, 20.6).code, ReasonCode::kTooYoung);
  // All have begun.
  for (uint32_t t = 4; t < 20; ++t) {
    if (t < 10 || t > 13) Start(t, t, 20);
  }
  const Reason begun = why(1, 25);
  EXPECT_EQ(begun.code, MantriReason::kSavesLittle);
  EXPECT_THAT(begun.numbers, testing::ElementsAre(testing::DoubleNear(5, 1e-6), testing::DoubleNear(10, 1e-6),
                                                  testing::DoubleNear(3, 1e-6)));
  for (const uint32_t w : {5u, 6u}) Start(1, w, 20, Cause::kSpeculative);
  EXPECT_EQ(why(1, 25).code, MantriReason::kEnoughAttempts);
  Begin({10});
  Start(0, 1, 20);
  EXPECT_EQ(why(0, 25, true).code, MantriReason::kFewTold);
}

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
  EXPECT_TRUE(Judge(0, 50, true, 0, 12));
  EXPECT_FALSE(Judge(0, 50, true, 0, 13)) << "20 s on average, 50 there";
}

TEST_F(MantriRestartTest, OfTwoAttemptsTheOneThatCannotWinIsEnded) {
  const NewAttempt fresh(state_.Counted(stage()), false);
  const auto killed = [&](uint32_t task, double now, MantriRules rules) {
    const View view(state_, Seconds2(now));
    Plan plan(view);
    KeepFastest(rules, view, TaskOf(task), fresh, &plan);
    return plan.edits().empty() ? 0 : std::get<Kill>(plan.edits()[0]).attempt.number;
  };
  const auto speculated = [&](uint32_t task, uint64_t taken) {
    const AttemptId slow = Start(task, 1, 20), second = Start(task, 2, 50, Cause::kSpeculative);
    Read(second, 59, 80);
    for (const double at : {55, 60}) Read(slow, at, at < 60 ? taken - 5 : taken);
    return second;
  };
  AttemptId second = speculated(0, 90);
  EXPECT_EQ(killed(0, 60, {}), 0u) << "one report of the second";
  Read(second, 60, 90);  // a second left, and 10 of the other
  EXPECT_EQ(killed(0, 60, {}), 1u);
  MantriRules rules;
  rules.outpaced = false;
  EXPECT_EQ(killed(0, 60, rules), 0u);
  rules = {};
  rules.gamma = 0;
  EXPECT_EQ(killed(0, 60, rules), 0u) << "a task that lost so many to others keeps both";
  second = speculated(1, 97);
  Read(second, 60, 90);
  EXPECT_EQ(killed(1, 60, {}), 0u) << "2 s later, and it must be more than three report periods";
}

// A clone on a lent slot may be gone in a moment, and its end says nothing about its speed: others needed the slot.
TEST_F(MantriRestartTest, ClonesOnIdleSlotsAreNoSpeculativeAttempts) {
  const AttemptId slow = Start(0, 1, 20), lent = Start(0, 2, 50, Cause::kOpportunistic);
  for (const double at : {55, 60}) Read(slow, at, at < 60 ? 5 : 6);
  EXPECT_TRUE(Judge(0, 60, true)) << "though nothing is known of the clone";
  for (const double at : {55, 60}) Read(lent, at, at < 60 ? 60 : 90);
  const NewAttempt fresh(state_.Counted(stage()), false);
  MantriRules rules;
  rules.gamma = 1;
  const auto killed = [&] {
    const View view(state_, Seconds2(60));
    Plan plan(view);
    KeepFastest(rules, view, TaskOf(0), fresh, &plan);
    return plan.edits().empty() ? 0 : std::get<Kill>(plan.edits()[0]).attempt.number;
  };
  EXPECT_EQ(killed(), 0u) << "the only attempt beside a clone is not ended for it";
  const AttemptId third = Start(0, 3, 50, Cause::kSpeculative);
  for (const double at : {55, 60}) Read(third, at, at < 60 ? 60 : 90);
  state_.MoveAttempt(lent, AttemptState::kKilled, Seconds2(60));
  EXPECT_EQ(killed(), slow.number) << "the clone that had to go is not one of gamma";
}

TEST_F(MantriRestartTest, AnAttemptIsNotEndedBeforeItHasReportedTwice) {
  HalfRead(0, 20, 1);
  HalfRead(0, 20, 2, Cause::kSpeculative);
  Start(0, 3, 59.5, Cause::kSpeculative);
  const NewAttempt fresh(state_.Counted(stage()), false);
  for (const double age : {1.5, 2.5, 3.5}) {
    const View view(state_, Seconds2(59.5 + age));
    Plan plan(view);
    const double wait = KeepFastest({}, view, TaskOf(0), fresh, &plan);
    EXPECT_EQ(plan.edits().size(), age > 3 ? 1u : 0u) << "three report periods without a word";
    EXPECT_NEAR(wait, std::max(0.0, 3 - age), 1e-6);
  }
}

TEST_F(MantriRestartTest, KeepsTheFastestAttemptsOnceTheLastHasRunForAReport) {
  const AttemptId slowest = Start(0, 1, 20);
  Read(slowest, 60, 10);
  HalfRead(0, 20, 2, Cause::kSpeculative);
  const AttemptId young = Start(0, 3, 59.5, Cause::kSpeculative);
  Read(young, 60, 5);
  Read(young, 60.5, 6);
  const NewAttempt fresh(state_.Counted(stage()), false);
  const auto killed = [&](double now, MantriRules rules) {
    const View view(state_, Seconds2(now));
    Plan plan(view);
    const double wait = KeepFastest(rules, view, TaskOf(0), fresh, &plan);
    EXPECT_EQ(wait > 0, plan.edits().empty());
    std::vector<uint32_t> numbers;
    for (const Edit& e : plan.edits()) numbers.push_back(std::get<Kill>(e).attempt.number);
    return numbers;
  };
  EXPECT_THAT(killed(60, {}), testing::IsEmpty()) << "Delta is a second";
  EXPECT_THAT(killed(60.6, {}), testing::ElementsAre(slowest.number));
  MantriRules one;
  one.alpha = 1;
  EXPECT_THAT(killed(60.6, one), testing::ElementsAre(young.number, slowest.number));
}

// Seven tasks on three slots, the long one last: 2 - 1/s of the best in the order of their numbers.
TEST(MantriOrderTest, LargestInputFirst) {
  const std::vector<double> sizes = {1, 1, 1, 1, 1, 1, 3}, nodes(3, 10);
  EXPECT_NEAR(Nodes("fifo", nodes).Run(sizes), 50, 1);
  EXPECT_NEAR(Nodes("fifo,mantri_restart", nodes).Run(sizes), 30, 1);
}

TEST(MantriOrderTest, WithinGrahamsBoundOfTheBest) {
  Rng rng(7);
  for (int round = 0; round < 20; ++round) {
    const size_t slots = 2 + rng.Below(4);
    std::vector<double> sizes;
    double sum = 0, longest = 0;
    for (size_t i = 0; i < 3 * slots; ++i) {
      sizes.push_back(1 + static_cast<double>(rng.Below(9)));
      sum += sizes.back();
      longest = std::max(longest, sizes.back());
    }
    const double s = static_cast<double>(slots), best = std::max(sum / s, longest);  // or more
    const double end = Nodes("fifo,mantri_restart(min_age=1h)", std::vector<double>(slots, 10)).Run(sizes) / 10;
    EXPECT_LE(end, (4.0 / 3 - 1 / (3 * s)) * best * 1.1) << round;
  }
}

std::vector<double> ThousandNodes() {
  Rng rng(11);
  std::vector<double> nodes;
  for (int i = 0; i < 1000; ++i) {
    double normal = -6;
    for (int k = 0; k < 12; ++k) normal += rng.Uniform();
    nodes.push_back(15 * std::exp(0.1 * normal) * (i % 50 == 7 ? 10 : 1));
  }
  return nodes;
}

// Compares with the simulation of the public note "Deep dive: stragglers and speculation": none 185.5 s; LATE with the
// benefit check 30.0 s, with exactly 20 speculative attempts and less slot time than none. This policy does not wait
// for the minimal age of LATE, so that it ends sooner.
TEST(MantriClusterTest, GivesTheTwentySlowOnesOfAThousandASpeculativeAttemptAndNoOther) {
  const std::vector<double> nodes = ThousandNodes();
  Nodes none("fifo", nodes, false), late("fifo,late(min_age=15s)", nodes, false),
      mantri("fifo,mantri_restart", nodes, false);
  const double end = none.Run(1000);
  EXPECT_NEAR(end, 185.5, 15);
  const double late_end = late.Run(1000);
  const double mantri_end = mantri.Run(1000);
  EXPECT_NEAR(late_end, 30, 3);
  EXPECT_LE(mantri_end, late_end);
  EXPECT_GT(mantri_end, 20);
  EXPECT_EQ(mantri.speculative(), 20);
  EXPECT_EQ(mantri.restarts(), 0) << "nothing waits";
  EXPECT_GE(late.speculative(), 100);
  EXPECT_LT(mantri.slot_seconds(), .92 * none.slot_seconds()) << "the note: 15 850 against 18 088";
}

// With one task of ten times the input every policy ends when that task does, and only the benefit check refuses it a
// speculative attempt.
TEST(MantriClusterTest, OneTaskWithTenTimesTheInputIsLeftAlone) {
  std::vector<double> nodes, sizes(1000, 1);
  for (int i = 0; i < 1000; ++i) nodes.push_back(15 + .1 * (i % 3));
  sizes[500] = 10;
  Nodes mantri("fifo,mantri_restart", nodes, false), late("fifo,late(min_age=15s)", nodes, false),
      backups("fifo,dryad_speculation", nodes, false);
  for (Nodes* run : {&mantri, &late, &backups}) {
    EXPECT_NEAR(run->Run(sizes), 151, 1.5) << "ten times what its node takes";
  }
  EXPECT_EQ(mantri.launches(500), 1);
  EXPECT_EQ(mantri.spared(), 1);
  EXPECT_EQ(late.launches(500), 2);
  EXPECT_EQ(backups.launches(500), 2);
}

// MayAct agrees with JudgeTask for tasks that read at any pace, on workers of any speed. The cached view of a stage
// equals a new one.
TEST_F(MantriRestartTest, NothingThatIsToBeDoneIsPassedOver) {
  Begin({5, 8, 9, 12, 30});
  MantriRules rules;
  rules.min_age = 1;
  constexpr double kAny = -std::numeric_limits<double>::infinity();
  struct Mode {
    bool waiting, speculate;
    int acts = 0;
  };
  Mode modes[] = {{false, true}, {true, true}, {true, false}};
  MantriStages kept(rules);
  Rng rng(5);
  double now = 30;
  std::vector<double> taken(10);
  for (uint32_t t = 0; t < 10; ++t) Start(t, 1 + t, now);
  for (int step = 0; step < 200; ++step) {
    now += rng.Uniform();
    const auto task = static_cast<uint32_t>(rng.Below(10));
    taken[task] += rng.Uniform() * (task + 1) * .5;
    if (taken[task] < 100) Read({TaskOf(task), 1}, now, static_cast<uint64_t>(taken[task]));
    MantriStages anew(rules);
    const MantriStage& seen = kept.Look(state_, stage(), 256);
    const MantriStage& now_seen = anew.Look(state_, stage(), 256);
    ASSERT_EQ(seen.dearest.size(), now_seen.dearest.size());
    for (size_t i = 0; i < seen.dearest.size(); ++i) {
      const MantriCandidate& c = seen.dearest[i];
      ASSERT_EQ(c.task, now_seen.dearest[i].task);
      ASSERT_EQ(c.standing.pace->at, now_seen.dearest[i].standing.pace->at);
      const uint32_t worker = 11 + static_cast<uint32_t>(rng.Below(10));
      const double location = LocationFactor(state_, stage(), {worker}, seen.fresh.mean());
      for (Mode& mode : modes) {
        const View view(state_, Seconds2(now));
        const auto act = JudgeTask(rules, view, TaskOf(c.task), state_.FindWorker({worker}), seen.fresh, location,
                                   mode.waiting, mode.speculate);
        const auto may = [&](double least) {
          return MayAct(rules, seen.fresh, c, view.now(), least, mode.waiting, mode.speculate,
                        [&] { return location; });
        };
        ASSERT_EQ(may(kAny), act.has_value()) << "these have run nowhere else, and were not restarted";
        if (!act) continue;
        ++mode.acts;
        EXPECT_TRUE(may(act->saves - 1));
        EXPECT_FALSE(may(act->saves));
      }
    }
  }
  for (const Mode& mode : modes) EXPECT_GT(mode.acts, 10);
}

}  // namespace
}  // namespace mr::sched
