// Two attempts of one task, as clones and speculation make them: driven through Core with a draft
// of the test's own, so that the rules hold before the policies that need them exist.
#include "master/sched/core.h"

namespace mr::sched {
namespace {

const TaskId kTask{{1, 1}, 0, 0};
const AttemptId kFirst{kTask, 1}, kSecond{kTask, 2};

class CloneTest : public testing::Test {
 protected:
  CloneTest() {
    Send(ConfigChanged{"fifo", 1, 1});
    for (const uint32_t w : {1u, 2u}) {
      WorkerRegistered e;
      e.worker = {w};
      e.incarnation = w;
      e.slots.total = 1;
      Send(e);
    }
    JobSubmitted job;
    job.job = {1, 1};
    StageSpec map, reduce;
    map.inputs = {StageInput{}};
    reduce.inputs = {StageInput{true, EdgeKind::kAllToAll, 0}};
    reduce.is_final = true;
    job.graph.stages = {map, reduce};
    Send(job);
    Send(StagePlanned{{1, 1}, 0, 1, {TaskPlan{}}, ""});
    Ask([](Plan& plan) {
      EXPECT_TRUE(plan.WantAttempts(kTask, 2));
      EXPECT_TRUE(plan.Launch(kTask, {1}, Cause::kFirst, {}));
      EXPECT_FALSE(plan.Launch(kTask, {1}, Cause::kClone, {})) << "the slot is taken";
    });
    EXPECT_EQ(state_.ready(SlotKind::kMap).size(), 1u) << "the second clone is schedulable";
    Ask([](Plan& plan) { EXPECT_TRUE(plan.Launch(kTask, {2}, Cause::kClone, {})); });
    EXPECT_TRUE(state_.ready(SlotKind::kMap).empty());
  }

  void Send(const Event& event) {
    out_.clear();
    core_.Begin({}, &out_);
    core_.Fold(event);
    EXPECT_EQ(CheckState(state_), "");
  }
  template <class F>
  void Ask(F&& write) {
    const View view(state_, {});
    Plan plan(view);
    write(plan);
    core_.Fold(plan);
    EXPECT_EQ(CheckState(state_), "");
  }
  void Finish(const AttemptId& id, uint64_t content) {
    const WorkerId worker{id.number};
    Send(AttemptFinished{id, worker, id.number, {1, 1, {content, content}}, {}, {}, {}});
  }
  ReasonCode Refused() const {
    for (const Decision& d : out_) {
      if (const auto* refuse = std::get_if<Refuse>(&d)) return refuse->reason.code;
    }
    return ReasonCode::kNone;
  }

  State state_;
  Core core_{&state_};
  std::vector<Decision> out_;
};

TEST_F(CloneTest, TheFirstReportWinsAndTheOtherIsKilled) {
  Finish(kSecond, 7);
  ASSERT_EQ(out_.size(), 2u);
  EXPECT_EQ(std::get<Accept>(out_[0]).attempt, kSecond);
  EXPECT_EQ(std::get<Kill>(out_[1]).attempt, kFirst);
  EXPECT_EQ(std::get<Kill>(out_[1]).reason.code, ReasonCode::kTaskCommitted);
  Send(AttemptKilled{kFirst, {1}, 1});
  EXPECT_TRUE(state_.FindWorker({1})->attempts.empty());
  EXPECT_EQ(state_.FindTask(kTask)->failures, 0u);
}

TEST_F(CloneTest, ALaterReportOfEqualContentIsDroppedNotAnError) {
  Finish(kFirst, 7);
  Finish(kSecond, 7);
  EXPECT_EQ(Refused(), ReasonCode::kEqualDigest);
  EXPECT_EQ(state_.FindTask(kTask)->winner, 1u);
}

TEST_F(CloneTest, ALaterReportOfOtherContentMarksTheOperator) {
  Finish(kFirst, 7);
  Finish(kSecond, 8);
  EXPECT_EQ(Refused(), ReasonCode::kDifferentDigest);
  EXPECT_TRUE(std::holds_alternative<MarkIndeterminate>(out_[0]));
  EXPECT_EQ(state_.FindTask(kTask)->manifest.content.low, 7u);
}

TEST_F(CloneTest, AFailureOfOneLeavesTheOtherRunning) {
  Send(AttemptFailed{kFirst, {1}, 1, FailureKind::kUser, "exit 1"});
  EXPECT_EQ(state_.FindTask(kTask)->state, TaskState::kRunning);
  Finish(kSecond, 7);
  EXPECT_EQ(state_.FindTask(kTask)->state, TaskState::kCommitted);
}

TEST_F(CloneTest, NoPolicyTriesATaskWhereItFailedWhileAnotherWorkerHasRoom) {
  Send(AttemptFailed{kFirst, {1}, 1, FailureKind::kUser, "exit 1"});
  state_.ReleaseTask(kTask);
  const auto may_launch = [this](WorkerId worker) {
    const View view(state_, {});
    Plan plan(view);
    return plan.Launch(kTask, worker, Cause::kRetry, {});
  };
  EXPECT_TRUE(may_launch({1})) << "the other one is taken";
  WorkerRegistered third;
  third.worker = {3};
  third.incarnation = 3;
  third.slots.total = 1;
  Send(third);
  EXPECT_FALSE(may_launch({1}));
  EXPECT_TRUE(may_launch({3}));
  Send(WorkerDraining{{3}, 3, true});
  EXPECT_TRUE(may_launch({1}));
  Send(WorkerDraining{{3}, 3, false});
  WorkerRegistered again;
  again.worker = {1};
  again.incarnation = 7;
  again.slots.total = 1;
  Send(again);
  EXPECT_TRUE(may_launch({1})) << "another life of it has not failed";
}

// The loser's kill is under way when the winner's output is lost: its bytes belong to the
// generation before.
TEST_F(CloneTest, ALoserOfALostGenerationDoesNotCommit) {
  Finish(kFirst, 7);
  Send(CopyLost{{{kTask, 1}, 1, {1}, 1}, "probe"});
  EXPECT_EQ(state_.FindTask(kTask)->generation, 2u);
  Finish(kSecond, 7);
  EXPECT_EQ(Refused(), ReasonCode::kStale);
  EXPECT_EQ(state_.FindTask(kTask)->state, TaskState::kPending);
}

}  // namespace
}  // namespace mr::sched
