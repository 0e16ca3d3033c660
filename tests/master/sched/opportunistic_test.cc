// Lent slots: what counts as one that comes back, what giving them back costs, and what `why` says. The rest is in
// tests/scenarios.
#include <gmock/gmock.h>

#include "master/sched/policies/common/lent_slots.h"
#include "master/sched/policies/dolly/reasons.h"
#include "tests/master/sched/small_job.h"

namespace mr::sched {
namespace {

// A worker with one lent slot of two: a map's, beside a reduce that has the only slot for reduces.
TEST(LentSlotsTest, CountOnlyForWhatMayRunThere) {
  State state;
  state.SetConfig({"fifo", 1, kSchedulerVersion, Millis(100)}, {});
  WorkerRegistered other = OneSlotWorker(1), lent = OneSlotWorker(2);
  lent.slots.total = 2;
  lent.slots.reduce = 1;
  state.PutWorker(other);
  state.PutWorker(lent);
  JobSubmitted job = SmallMapReduceJob();
  job.graph.stages[1].slot_kind = SlotKind::kReduce;
  state.AddJob(job, {});
  state.SetPlan({job.job, 0, 1, {TaskPlan{}}, ""}, {});
  state.SetPlan({job.job, 1, 1, {TaskPlan{0, {}, {Slice{0, 0, 1, 0, 1}}}}, ""}, {});
  const TaskId map{job.job, 0, 0}, reduce{job.job, 1, 0};
  state.AddAttempt(map, {1}, Cause::kFirst, {});
  state.AddAttempt(reduce, {2}, Cause::kFirst, {});
  state.AddAttempt(map, {2}, Cause::kOpportunistic, {});
  EXPECT_EQ(FreeOrLent(state, SlotKind::kMap, 9), 1u);
  EXPECT_EQ(FreeOrLent(state, SlotKind::kReduce, 9), 0u) << "the end of a map makes no second slot for reduces";
  EXPECT_EQ(SlotsThatComeBack(state), 1u);
  state.MoveAttempt({map, 1}, AttemptState::kFailed, {});
  EXPECT_EQ(FreeOrLent(state, SlotKind::kMap, 9), 1u) << "w1 is free, and what was lent stays";
  EXPECT_EQ(SlotsThatComeBack(state), 0u);
}

// Two workers of one slot and memory for small tasks; a small job with a clone on the second.
class LentSlotTest : public testing::Test {
 protected:
  LentSlotTest() {
    Send(ConfigChanged{"fair,opportunistic", 1, kSchedulerVersion, Millis(100)});
    for (uint32_t w : {1u, 2u}) {
      WorkerRegistered e = OneSlotWorker(w);
      e.memory_bytes = 10;
      Send(e);
    }
    Submit(1, 5, "q");
    Send(AttemptStarted{{Map(1), 1}, {1}, 1});
    Tick();
    EXPECT_EQ(state().lent(), (std::set<AttemptId>{{Map(1), 2}}));
  }
  static TaskId Map(uint32_t seq) { return {{1, seq}, 0, 0}; }
  const State& state() const { return scheduler_.state(); }
  void Send(const Event& event) { out_ = scheduler_.Step({now_, event}); }
  void Tick() {
    now_ = now_ + Millis(100);
    Send(TimerDue{"core", 0});
  }
  void Submit(uint32_t seq, uint64_t memory, const std::string& queue) {
    JobSubmitted job = SmallMapJob();
    job.job = {1, seq};
    job.queue = queue;
    job.graph.stages[0].memory_bytes = memory;
    Send(job);
    Send(StagePlanned{job.job, 0, 1, {TaskPlan{}}, ""});
  }
  std::vector<ReasonCode> Why() const {
    std::vector<ReasonCode> codes;
    for (const Reason& r : scheduler_.WhyAlone({Map(1), 1}, now_)) codes.push_back(r.code);
    return codes;
  }

  Scheduler scheduler_;
  Instant now_;
  std::vector<Decision> out_;
};

TEST_F(LentSlotTest, AnEventCostsTheSameWhateverWaitsAndEachHasItsTurn) {
  constexpr uint32_t kWaiting = 1000;
  for (uint32_t seq = 2; seq < 2 + kWaiting; ++seq) Submit(seq, 100, "q");  // too large for any worker
  const uint64_t before = state().looks();
  Submit(2 + kWaiting, 5, "q");
  EXPECT_LE(state().looks() - before, 2 * 4 * 64u) << "two events, and 64 stages at each end of a walk";
  EXPECT_EQ(state().FindAttempt({Map(1), 2})->state, AttemptState::kLaunched);
  int ticks = 0;
  for (; ticks < 100 && state().FindAttempt({Map(1), 2})->live(); ++ticks) Tick();
  EXPECT_FALSE(state().FindAttempt({Map(1), 2})->live()) << "it is for the last of them";
  EXPECT_LE(ticks, 2 * 1000 / 64);
  EXPECT_EQ(CheckState(state()), "");
}

TEST_F(LentSlotTest, WhySaysWhatKeepsATaskFromAClone) {
  Send(AttemptFailed{{Map(1), 2}, {2}, 2, FailureKind::kKilled, ""});
  Submit(2, 5, "other");
  EXPECT_THAT(Why(), testing::ElementsAre(DollyReason::kNoIdleSlot));
  Send(QueueSet{"q", 1, 0, 1});
  EXPECT_THAT(Why(), testing::ElementsAre(DollyReason::kQueueFull));
  Send(OperatorsKnown{{1, 1}, {0}});
  EXPECT_THAT(Why(), testing::ElementsAre(DollyReason::kRandomOperator));
}

TEST_F(LentSlotTest, WhySaysThatWhatFailedTwiceIsNotClonedAnyMore) {
  Send(AttemptFailed{{Map(1), 2}, {2}, 2, FailureKind::kUser, ""});
  WorkerRegistered again = OneSlotWorker(2, 3);
  again.memory_bytes = 10;
  Send(again);
  Tick();
  EXPECT_THAT(Why(), testing::IsEmpty()) << "it is cloned again";
  Send(AttemptFailed{{Map(1), 3}, {2}, 3, FailureKind::kUser, ""});
  EXPECT_THAT(Why(), testing::ElementsAre(DollyReason::kFailedTwice));
}

TEST(WhyTest, TwoPoliciesThatDoNotCloneForOneReasonSayItOnce) {
  Scheduler scheduler;
  const auto send = [&](int64_t seconds, const Event& event) {
    (void)scheduler.Step({Instant{} + Seconds(seconds), event});
  };
  send(0, ConfigChanged{"fifo,dolly(p=0.1,beta=1,tau=1),opportunistic", 1, kSchedulerVersion, Millis(100)});
  for (uint32_t w : {1u, 2u, 3u}) send(0, OneSlotWorker(w));
  const JobSubmitted job = SmallMapJob();
  send(0, job);
  send(0, StagePlanned{job.job, 0, 1, {TaskPlan{}}, ""});
  const TaskId map{job.job, 0, 0};
  send(0, AttemptStarted{{map, 1}, {1}, 1});
  for (uint32_t clone : {2u, 3u}) {
    send(clone, TimerDue{"core", 0});
    send(clone, AttemptFailed{{map, clone}, {clone}, clone, FailureKind::kUser, ""});
  }
  const std::vector<Reason> why = scheduler.WhyAlone({map, 1}, {4'000'000'000});
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].code, DollyReason::kFailedTwice);
  EXPECT_EQ(why[0].policy, "dolly");
  EXPECT_THAT(Explain(why[0]), testing::HasSubstr("2 attempts"));
}

}  // namespace
}  // namespace mr::sched
