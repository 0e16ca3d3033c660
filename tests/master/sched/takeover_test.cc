// A job that ran under another build is taken over: its outputs stand as far as they can be read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "master/sched/job_graph.h"
#include "master/sched/scheduler.h"
#include "master/sched/state/state.h"

namespace mr::sched {
namespace {

constexpr JobId kJob{3, 1};
constexpr WorkerId kWorker{1};

class TakeoverTest : public testing::Test {
 protected:
  TakeoverTest() {
    Step(ConfigChanged{"fifo", 1, kSchedulerVersion, Millis(100)});
    WorkerRegistered worker;
    worker.worker = kWorker;
    worker.incarnation = 5;
    worker.slots.total = 8;
    Step(worker);
    Step(WorkerAway{kWorker, 5});
  }
  static JobTakenOver Taken(std::vector<KeptOutput> outputs) {
    JobTakenOver taken;
    JobSubmitted& job = taken.submitted;
    job.job = kJob;
    job.graph.stages.resize(2);
    job.graph.stages[0].name = "map";
    job.graph.stages[0].inputs.resize(1);
    job.graph.stages[1].name = "reduce";
    job.graph.stages[1].slot_kind = SlotKind::kReduce;
    job.graph.stages[1].is_final = true;
    job.graph.stages[1].inputs = {{true, EdgeKind::kAllToAll, 0}};
    taken.plans.push_back({kJob, 0, 2, {{}, {}}, ""});
    taken.plans.push_back({kJob, 1, 1, {{0, {}, {{0, 0, 1, 0, 2}}}, {0, {}, {{0, 1, 2, 0, 2}}}}, ""});
    taken.restarts = 4;
    taken.outputs = std::move(outputs);
    return taken;
  }
  void Step(Event event) {
    now_ = now_ + Millis(1);
    last_ = scheduler_.Step({now_, std::move(event)});
    ASSERT_EQ(CheckState(scheduler_.state()), "");
    for (const Decision& d : last_) {
      if (const auto* launch = std::get_if<Launch>(&d)) launched_.push_back(*launch);
    }
  }
  static KeptOutput Kept(uint32_t stage, uint32_t task, uint32_t incarnation) {
    KeptOutput output{stage, task, 2, 7, {1, 1, {task + 1, 0}}, {}};
    if (stage == 0) output.replicas = {{{{kJob, stage, task}, 2}, 7, kWorker, incarnation}};
    return output;
  }
  std::vector<std::string> Launched() {
    std::vector<std::string> names;
    for (const Launch& l : launched_) {
      names.push_back(std::to_string(l.attempt.task.stage) + "." + std::to_string(l.attempt.task.task) + " g" +
                      std::to_string(l.generation) + (l.attempt.number > 4000 ? "" : " number"));
    }
    return names;
  }

  Scheduler scheduler_;
  Instant now_;
  std::vector<Decision> last_;
  std::vector<Launch> launched_;
};

TEST_F(TakeoverTest, OutputsWithAReplicaStandAndTheRestRuns) {
  Step(Taken({Kept(0, 0, 5), Kept(0, 1, 5), Kept(1, 1, 5)}));
  Step(WorkerDraining{kWorker, 5, false});
  EXPECT_THAT(Launched(), testing::ElementsAre("1.0 g1"));
}

TEST_F(TakeoverTest, AnOutputThatNobodyHoldsAnyMoreIsMadeAgain) {
  Step(Taken({Kept(0, 0, 5), Kept(0, 1, 4), Kept(1, 1, 5)}));
  Step(WorkerDraining{kWorker, 5, false});
  EXPECT_THAT(Launched(), testing::Contains("0.1 g3"));
  EXPECT_THAT(Launched(), testing::Not(testing::Contains("0.0 g3")));
}

TEST_F(TakeoverTest, AJobWhoseOutputsAllStandIsCommitted) {
  Step(Taken({Kept(1, 0, 5), Kept(1, 1, 5)}));
  ASSERT_TRUE(std::holds_alternative<CommitJob>(last_.at(0)));
}

TEST_F(TakeoverTest, OutputsOfTasksThatAreNotThereAreIgnored) {
  Step(Taken({Kept(0, 0, 5), Kept(7, 0, 5), Kept(0, 9, 5), Kept(0, 0, 5)}));
  EXPECT_EQ(scheduler_.state().FindStage({kJob, 0})->committed, 1u);
}

TEST_F(TakeoverTest, ARepeatChangesNothing) {
  Step(Taken({Kept(0, 0, 5)}));
  const auto once = scheduler_.Digest();
  Step(Taken({Kept(0, 0, 5), Kept(0, 1, 5)}));
  EXPECT_EQ(scheduler_.Digest(), once);
}

TEST_F(TakeoverTest, AJobThatThisBuildCannotRunFailsAndSaysWhy) {
  JobTakenOver taken = Taken({});
  taken.plans.pop_back();
  Step(taken);
  const auto* failed = std::get_if<FailJob>(&last_.at(0));
  ASSERT_NE(failed, nullptr);
  EXPECT_THAT(failed->message, testing::HasSubstr("another release of the master"));
}

}  // namespace
}  // namespace mr::sched
