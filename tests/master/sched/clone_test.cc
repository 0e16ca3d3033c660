// Two attempts of one task, as clones and speculation make them: driven through Core with a draft
// of the test's own, so that the rules hold before the policies that need them exist.
#include <gmock/gmock.h>

#include "tests/master/sched/small_job.h"

namespace mr::sched {
namespace {

class CoreTestOfFour : public CoreTest {
 protected:
  CoreTestOfFour() : CoreTest(4) {}
};

class CoreTestOfNine : public CoreTest {
 protected:
  CoreTestOfNine() : CoreTest(9) {}
};

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

TEST_F(CloneTest, ClonesRunOnUntilTheOutputHasTheReplicasThatAreWanted) {
  Ask([](Plan& plan) { EXPECT_TRUE(plan.WantReplicas(kMap, 2)); });
  Finish(1, 7);
  EXPECT_TRUE(Find<Accept>()->winner);
  EXPECT_EQ(Find<Kill>(), nullptr);
  Finish(2, 7);
  EXPECT_FALSE(Find<Accept>()->winner);
  EXPECT_EQ(state_.FindTask(kMap)->replicas.size(), 2u);
  EXPECT_EQ(state_.FindTask(kMap)->live, 0u);
}

TEST_F(CloneTest, ACloneThatRunsOnAndGivesOtherContentMarksTheOperator) {
  Ask([](Plan& plan) { EXPECT_TRUE(plan.WantReplicas(kMap, 2)); });
  Finish(1, 7);
  Finish(2, 8);
  EXPECT_EQ(Refused(), ReasonCode::kDifferentDigest);
  EXPECT_TRUE(state_.FindStage(kMap.stage_id())->indeterminate);
  EXPECT_EQ(state_.FindTask(kMap)->replicas.size(), 1u);
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
  Send(ReplicaLost{{{kMap, 1}, 1, {1}, 1}, "probe"});
  EXPECT_EQ(state_.FindTask(kMap)->generation, 2u);
  Finish(2, 7);
  EXPECT_EQ(Refused(), ReasonCode::kStale);
  EXPECT_EQ(state_.FindTask(kMap)->state, TaskState::kPending);
}

// A map's output has two replicas, its only reader has two attempts, and a third stage reads the output of that one.
TEST_F(CoreTestOfFour, OfTheReplicasOfClonesOneStaysWhenNoReaderIsLeft) {
  JobSubmitted job = SmallMapReduceJob();
  job.job = {1, 2};
  job.graph.stages[1].is_final = false;
  job.graph.stages.push_back(job.graph.stages[1]);
  job.graph.stages[2].inputs[0].upstream = 1;
  job.graph.stages[2].is_final = true;
  Send(job);
  const TaskPlan reader{0, {}, {Slice{0, 0, 1, 0, 1}}};
  Send(StagePlanned{job.job, 0, 1, {TaskPlan{}}, ""});
  Send(StagePlanned{job.job, 1, 1, {reader}, ""});
  Send(StagePlanned{job.job, 2, 1, {reader}, ""});
  const TaskId map{job.job, 0, 0}, mid{job.job, 1, 0};
  const auto twice = [&](const TaskId& task, uint32_t worker) {
    Ask([&](Plan& plan) {
      EXPECT_TRUE(plan.WantAttempts(task, 2));
      if (task == map) {
        EXPECT_TRUE(plan.WantReplicas(task, 2));
      }
      EXPECT_TRUE(plan.Launch(task, {worker}, Cause::kFirst, {}));
    });
    Ask([&](Plan& plan) { EXPECT_TRUE(plan.Launch(task, {worker + 1}, Cause::kClone, {})); });
  };
  const Manifest made{1, 1, {7, 7}};
  twice(map, 1);
  for (uint32_t n : {1u, 2u}) Send(AttemptFinished{{map, n}, {n}, n, made, {}, {}, {}});
  ASSERT_EQ(state_.FindTask(map)->replicas.size(), 2u);
  twice(mid, 3);
  Send(AttemptFinished{{mid, 1}, {3}, 3, made, {{0, 0, 1, {7, 7}}}, {}, {}});
  ASSERT_EQ(state_.FindTask(mid)->state, TaskState::kCommitted);
  EXPECT_EQ(Find<DropReplica>(), nullptr) << "the other reader has not ended";
  Send(AttemptKilled{{mid, 2}, {4}, 4});
  ASSERT_NE(Find<DropReplica>(), nullptr);
  EXPECT_EQ(Find<DropReplica>()->replica.attempt, 2u);
  EXPECT_EQ(Find<DropReplica>()->reason.code, ReasonCode::kReadersDone);
  EXPECT_EQ(state_.FindTask(map)->replicas.size(), 1u) << "should the reader's output be lost";
}

// A clone on a lent slot runs beside another attempt, on another worker, and not beside a speculative attempt. But a
// speculative attempt may start beside it.
TEST_F(CoreTestOfFour, AClonesPlaceOnALentSlotIsBesideAnotherAttempt) {
  Ask([](Plan& plan) {
    EXPECT_FALSE(plan.Launch(kMap, {1}, Cause::kOpportunistic, {})) << "nothing runs yet";
    EXPECT_TRUE(plan.Launch(kMap, {1}, Cause::kFirst, {}));
  });
  Ask([](Plan& plan) { EXPECT_TRUE(plan.Launch(kMap, {2}, Cause::kOpportunistic, {})); });
  EXPECT_EQ(state_.lent(), (std::set<AttemptId>{{kMap, 2}}));
  EXPECT_EQ(OwnLive(*state_.FindTask(kMap)), 1u);
  Ask([](Plan& plan) { EXPECT_TRUE(plan.Kill({kMap, 2}, {ReasonCode::kSlotWanted, "", {1}})); });
  EXPECT_EQ(state_.lent().size(), 1u) << "the slot is not back yet";
  Send(AttemptKilled{{kMap, 2}, {2}, 2});
  EXPECT_TRUE(state_.lent().empty());
  EXPECT_EQ(state_.FindAttempt({kMap, 2})->failure, FailureKind::kPreempted);
  EXPECT_EQ(state_.FindTask(kMap)->other_failures, 0u);
  Ask([](Plan& plan) { EXPECT_TRUE(plan.Launch(kMap, {2}, Cause::kOpportunistic, {})); });
  Ask([](Plan& plan) { EXPECT_TRUE(plan.Launch(kMap, {3}, Cause::kSpeculative, {})); });
  EXPECT_EQ(OwnLive(*state_.FindTask(kMap)), 2u);
  Ask([](Plan& plan) {
    EXPECT_FALSE(plan.Launch(kMap, {4}, Cause::kOpportunistic, {})) << "it has a speculative attempt";
  });
  Send(AttemptFailed{{kMap, 1}, {1}, 1, FailureKind::kUser, "exit 1"});
  Send(AttemptFailed{{kMap, 4}, {3}, 3, FailureKind::kUser, "exit 1"});
  EXPECT_EQ(OwnLive(*state_.FindTask(kMap)), 1u) << "what is left is no clone any more";
  EXPECT_FALSE(CanDoWithout(*state_.FindTask(kMap), *state_.FindAttempt({kMap, 3})));
}

// The first attempt goes with its worker; all clones fail, each beside another one but for the last.
TEST_F(CoreTestOfFour, ClonesThatAllFailAreOneFailureOfTheTask) {
  Ask([](Plan& plan) {
    EXPECT_TRUE(plan.WantAttempts(kMap, 4));
    EXPECT_TRUE(plan.Launch(kMap, {1}, Cause::kFirst, {}));
  });
  for (const uint32_t worker : {2u, 3u, 4u}) {
    Ask([&](Plan& plan) { EXPECT_TRUE(plan.Launch(kMap, {worker}, Cause::kClone, {})); });
  }
  Send(WorkerLost{{1}, 1, "lease"});
  for (const uint32_t n : {2u, 3u, 4u}) {
    EXPECT_EQ(state_.FindTask(kMap)->failures, 0u);
    Send(AttemptFailed{{kMap, n}, {n}, n, FailureKind::kUser, "exit 1"});
  }
  EXPECT_EQ(state_.FindTask(kMap)->failures, 1u);
}

// The first attempt hangs on a record on which each further attempt fails. Four failures are forgiven beside it, and
// the four that the job allows come on top.
TEST_F(CoreTestOfNine, AttemptsThatFailForEverBesideOneThatHangsFailTheJob) {
  Ask([](Plan& plan) { EXPECT_TRUE(plan.Launch(kMap, {1}, Cause::kFirst, {})); });
  for (uint32_t n = 2; n <= 9; ++n) {
    EXPECT_EQ(state_.FindTask(kMap)->failures, n <= 6 ? 0 : n - 6);
    EXPECT_EQ(Find<FailJob>(), nullptr);
    state_.ReleaseTask(kMap);
    Ask([n](Plan& plan) { EXPECT_TRUE(plan.Launch(kMap, {n}, Cause::kSpeculative, {})); });
    Send(AttemptFailed{{kMap, n}, {n}, n, FailureKind::kUser, "exit 1"});
  }
  ASSERT_NE(Find<FailJob>(), nullptr);
  EXPECT_EQ(Find<FailJob>()->reason.numbers, (std::vector<double>{4, 4}));
}

// Only what ended for something that waited is said to be preempted.
TEST_F(CoreTestOfFour, ACloneOnALentSlotThatLostIsNotPreempted) {
  Ask([](Plan& plan) { EXPECT_TRUE(plan.Launch(kMap, {1}, Cause::kFirst, {})); });
  Ask([](Plan& plan) { EXPECT_TRUE(plan.Launch(kMap, {2}, Cause::kOpportunistic, {})); });
  Finish(1, 7);
  Send(AttemptKilled{{kMap, 2}, {2}, 2});
  EXPECT_EQ(state_.FindAttempt({kMap, 2})->failure, FailureKind::kKilled);
}

// The number is what is missing, rounded up, and not what the clones use.
TEST(DollyBudgetTest, APreemptedCloneSaysHowManySlotsTheSmallerPhaseLacks) {
  SteppedScheduler s;
  s.Send(0, ConfigChanged{"fifo,dolly(p=0.1,beta=0.25,tau=1,admission=preempt)", 1, kSchedulerVersion, Millis(100)});
  for (uint32_t w = 1; w <= 22; ++w) s.Send(0, OneSlotWorker(w));  // a budget of 5.5 slots
  const auto submit = [&s](uint32_t number, uint32_t tasks) {
    JobSubmitted job = SmallMapJob();
    job.job = {1, number};
    s.Send(number, job);
    s.Send(number, StagePlanned{job.job, 0, 1, std::vector<TaskPlan>(tasks), ""});
  };
  submit(1, 2);  // two attempts of each: 4 slots
  submit(2, 1);  // 2 slots, and 1.5 are left
  const Kill* kill = nullptr;
  for (const Decision& d : s.out) kill = std::get_if<Kill>(&d) == nullptr ? kill : std::get_if<Kill>(&d);
  ASSERT_NE(kill, nullptr);
  EXPECT_EQ(kill->attempt.task.job, (JobId{1, 1}));
  EXPECT_THAT(Explain(kill->reason), testing::HasSubstr("a smaller phase (1 task) lack 1 slot of the budget"));
}

}  // namespace
}  // namespace mr::sched
