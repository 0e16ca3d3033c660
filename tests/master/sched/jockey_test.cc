// jockey and what fair makes of its guarantees. Its formulas have vectors of their own (jockey_rules_test.cc).
#include "master/sched/policies/jockey/jockey.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/base/fields.h"
#include "master/sched/policies/jockey/admission.h"
#include "tests/master/sched/small_job.h"

namespace mr::sched {
namespace {

// The prediction work / slots, without spread, for a job of one stage. work: slot-seconds of all tasks; longest:
// seconds of the longest task.
Prediction Even(double work, double longest, uint32_t most) {
  Prediction p;
  p.buckets = 10;
  p.quantiles = 2;
  p.stages = {{}};
  p.stages[0].tasks = 10;
  p.stages[0].run = p.stages[0].ran = work;
  p.stages[0].longest = longest;
  p.runs = 1;
  for (uint32_t a = 1; a <= most; ++a) {
    p.slots.push_back(a);
    for (uint32_t b = 0; b <= p.buckets; ++b) {
      for (uint32_t q = 0; q < p.quantiles; ++q) p.left.push_back(static_cast<float>(work * (10 - b) / 10 / a));
    }
  }
  return p;
}

// Ten workers of one slot.
class JockeyTest : public testing::Test {
 protected:
  explicit JockeyTest(const std::string& list = "fair(spare=last,guarantee_timeout=1),jockey") {
    Send(ConfigChanged{list, 1, kSchedulerVersion, Millis(100)});
    for (uint32_t w = 1; w <= 10; ++w) Send(OneSlotWorker(w));
  }
  const State& state() const { return scheduler_.state(); }
  const Job& J(uint32_t seq) const { return *state().FindJob({1, seq}); }
  void Send(const Event& event) {
    for (Decision& d : scheduler_.Step({now_, event})) out_.push_back(std::move(d));
    ASSERT_EQ(CheckState(state()), "");
  }
  void Submit(uint32_t seq, uint32_t tasks, Duration deadline = {}, const std::string& queue = "q") {
    JobSubmitted job = SmallMapJob();
    job.job = {1, seq};
    job.queue = queue;
    job.deadline = deadline;
    Send(job);
    Send(StagePlanned{job.job, 0, 1, std::vector<TaskPlan>(tasks), ""});
  }
  void Foretell(uint32_t seq, double work, double longest = 1) {
    Send(ProfileLoaded{{1, seq}, Even(work, longest, 10), {}});
  }
  // Timers that are due by then.
  void Pass(Duration time) {
    const Instant until = now_ + time;
    while (true) {
      const auto& timers = state().timers();
      auto next = timers.end();
      for (auto it = timers.begin(); it != timers.end(); ++it) {
        if (it->second <= until && (next == timers.end() || it->second < next->second)) next = it;
      }
      if (next == timers.end()) break;
      now_ = std::max(now_, next->second);
      Send(TimerDue{next->first.first, next->first.second});
    }
    now_ = until;
  }
  // The first live attempt of the job ends, after it computed so long.
  void Finish(uint32_t seq, Duration ran = Seconds(10)) {
    for (uint32_t t = 0; t < J(seq).stages[0].tasks.size(); ++t) {
      const Task& task = J(seq).stages[0].tasks[t];
      for (const Attempt& a : task.attempts) {
        if (!a.live()) continue;
        const AttemptId id{{{1, seq}, 0, t}, a.number};
        return Send(AttemptFinished{id, a.worker, a.incarnation, Manifest{1, 1, {t + 1, 1}}, {}, ran, {}});
      }
    }
    FAIL() << "no attempt of job " << seq;
  }
  void ConfirmKills() {
    const auto out = std::move(out_);
    out_.clear();
    for (const Decision& d : out) {
      if (const auto* kill = std::get_if<Kill>(&d)) Send(AttemptKilled{kill->attempt, kill->worker, kill->incarnation});
    }
  }
  uint32_t Kills() const {
    return static_cast<uint32_t>(
        std::count_if(out_.begin(), out_.end(), [](const Decision& d) { return std::holds_alternative<Kill>(d); }));
  }

  size_t Allotted() const {
    return static_cast<size_t>(
        std::count_if(out_.begin(), out_.end(), [](const Decision& d) { return std::holds_alternative<SetShare>(d); }));
  }

  Scheduler scheduler_;
  Instant now_{Seconds(100).ns};
  std::vector<Decision> out_;
};

TEST_F(JockeyTest, AsksForTheFewestSlotsThatMeetTheDeadline) {
  Submit(1, 30, Seconds(60));
  EXPECT_EQ(J(1).share, 0u) << "nothing is known of it";
  Foretell(1, 100);
  // Dead zone of three sixtieths: 1.2 * 100 / a <= 57 needs a = 3 (40 s); 2 would take 60.
  EXPECT_EQ(J(1).share, 3u);
  EXPECT_EQ(J(1).holding, 10u) << "idle slots are spare";
}

TEST_F(JockeyTest, FewerSlotsAsItProvesOnTimeAndMoreBehindIt) {
  Submit(1, 10, Seconds(60));
  Foretell(1, 300);
  const uint32_t first = J(1).share;
  EXPECT_EQ(first, 7u) << "1.2 * 300 / 7 = 51 <= 57";
  for (int i = 0; i < 5; ++i) Finish(1, Seconds(30));
  Pass(Seconds(1));
  EXPECT_EQ(J(1).share, 7u) << "A = 7 + .2 (4 - 7) = 6.4";
  Pass(Seconds(2));
  EXPECT_EQ(J(1).share, 6u) << "5.54 or so after three steps";
  Pass(Seconds(35));
  EXPECT_GT(J(1).share, 8u) << "37 s gone, and half of the work is left";
}

TEST_F(JockeyTest, TasksThatTakeLongerThanTheyDidAskForMoreSlotsBeforeTheSlackIsGone) {
  Submit(1, 10, Seconds(60));
  Foretell(1, 200);
  EXPECT_EQ(J(1).share, 5u) << "1.2 * 200 / 5 = 48 <= 57";
  for (int i = 0; i < 5; ++i) Finish(1, Seconds(60));
  Pass(Seconds(1));
  EXPECT_EQ(J(1).share, 6u) << "2.67 times as long as 20 s: 1.2 * 2.67 * 100 / 6 <= 56; without it 3 would do";
}

TEST_F(JockeyTest, AJobBelowItsGuaranteeComesBeforeAllQueuesAndNoFurther) {
  Submit(1, 100);
  Submit(2, 20, Seconds(60), "other");
  Foretell(2, 150);
  ASSERT_EQ(J(2).share, 4u);
  EXPECT_EQ(J(2).holding, 0u);
  for (int i = 0; i < 4; ++i) Finish(1);
  EXPECT_EQ(J(2).holding, 4u);
  for (int i = 0; i < 3; ++i) Finish(1);
  EXPECT_EQ(J(2).holding, 4u) << "beyond its guarantee it stands behind the queues";
  EXPECT_EQ(J(1).holding, 6u);
}

class WithTheirTurnTest : public JockeyTest {
 protected:
  WithTheirTurnTest() : JockeyTest("fair(guarantee_timeout=1),jockey") {}
};

TEST_F(WithTheirTurnTest, ADeadlineMakesNoJobSlower) {
  Submit(1, 100);
  Submit(2, 20, Seconds(60));
  Foretell(2, 50);
  ASSERT_EQ(J(2).share, 2u);
  for (int i = 0; i < 12; ++i) Finish(1);
  EXPECT_EQ(J(2).holding, 5u) << "its fair share, which is more than its guarantee";
  EXPECT_EQ(J(1).holding, 5u);
}

TEST_F(WithTheirTurnTest, AnotherListTakesTheJobsOutOfTheirQueuesAndBack) {
  Submit(1, 100);
  Submit(2, 20, Seconds(60));
  Foretell(2, 50);
  for (int i = 0; i < 4; ++i) Finish(1);
  for (const char* list : {"fair(spare=last),jockey", "fair,jockey"}) {
    Send(ConfigChanged{list, 1, kSchedulerVersion, Millis(100)});
    for (int i = 0; i < 3; ++i) Finish(1);
  }
}

TEST_F(WithTheirTurnTest, AttemptsWithMoreToLoseThanTheWaitStay) {
  Submit(1, 100);
  now_ = now_ + Seconds(20);
  Submit(2, 20, Seconds(600), "other");
  Foretell(2, 1500);
  ASSERT_EQ(J(2).share, 4u);
  out_.clear();
  Pass(Seconds(19));
  EXPECT_EQ(Kills(), 0u) << "they have run for 39 s, and the job has waited for 19";
  Pass(Seconds(6));
  EXPECT_EQ(Kills(), 4u) << "it has waited for more than half as long as they have run";
}

TEST_F(WithTheirTurnTest, OnlyGuaranteedSlotsCountForNoQueue) {
  Submit(1, 100);
  Submit(2, 20, Seconds(60), "other");
  Foretell(2, 50);
  ASSERT_EQ(J(2).share, 2u);
  for (int i = 0; i < 20; ++i) Finish(1);
  EXPECT_EQ(J(2).holding, 6u) << "its guarantee, and half of the other slots";
  EXPECT_EQ(J(1).holding, 4u);
}

TEST_F(JockeyTest, OthersAreEvictedAfterTheTimeout) {
  Submit(1, 100);
  Submit(2, 20, Seconds(60), "other");
  Foretell(2, 150);
  out_.clear();
  Pass(Millis(900));
  EXPECT_EQ(Kills(), 0u);
  Pass(Millis(200));
  EXPECT_EQ(Kills(), 4u);
  Pass(Seconds(3));
  EXPECT_EQ(Kills(), 4u) << "slots that are on their way are not asked for twice";
  ConfirmKills();
  EXPECT_EQ(J(2).holding, 4u);
}

// Else each of its tasks that ends sets a timer, and each timer has all free workers offered.
TEST_F(JockeyTest, AJobWhoseSlotComesBackAtOnceHasNeverBeenBelow) {
  Submit(2, 20, Seconds(60));
  Foretell(2, 150);
  Submit(3, 20, Seconds(600), "other");
  Foretell(3, 5400);
  ASSERT_EQ(J(2).share, 4u);
  ASSERT_GT(J(2).holding, J(2).share);
  const auto below = [&](uint32_t seq) {
    return state().FindFact({"fair", "job", FactId(JobId{1, seq}), "below_guarantee_since"}) != nullptr;
  };
  while (J(2).holding > J(2).share) Finish(2);
  for (int i = 0; i < 3; ++i) {
    Finish(2);
    EXPECT_EQ(J(2).holding, 4u);
    EXPECT_FALSE(below(2));
    EXPECT_TRUE(below(3)) << "it wants more than is left";
  }
}

TEST_F(JockeyTest, SpareSlotsAreTakenBackFirst) {
  Submit(1, 20, Seconds(600), "late");
  Foretell(1, 600);
  ASSERT_EQ(J(1).share, 2u);
  EXPECT_EQ(J(1).holding, 10u);
  Submit(2, 3, {}, "plain");
  for (int i = 0; i < 3; ++i) Finish(1);
  ASSERT_EQ(J(2).holding, 3u) << "what falls free goes to the queue that waits";
  Submit(3, 20, Seconds(60), "soon");
  Foretell(3, 100);
  ASSERT_EQ(J(3).share, 3u);
  out_.clear();
  Pass(Millis(1100));
  EXPECT_EQ(Kills(), 3u);
  ConfirmKills();
  EXPECT_EQ(J(1).holding, 4u);
  EXPECT_EQ(J(2).holding, 3u) << "spare attempts end before those of queues";
  EXPECT_EQ(J(3).holding, 3u);
}

TEST_F(JockeyTest, ANewDeadlineCountsAtOnceAndNoneEndsTheGuarantee) {
  Submit(1, 10, Seconds(600));
  Foretell(1, 1000);
  EXPECT_EQ(J(1).share, 3u);
  Send(JobSet{{1, 1}, 0, Seconds(300)});
  EXPECT_EQ(J(1).share, 5u) << "1200 / 5 = 240 <= 285";
  Send(JobSet{{1, 1}, 0, Seconds(1800)});
  EXPECT_EQ(J(1).share, 1u);
  Send(JobSet{{1, 1}, 0, {}});
  EXPECT_EQ(J(1).share, 0u);
  EXPECT_TRUE(state().guaranteed().empty());
  Send(JobSet{{1, 1}, 0, Seconds(300)});
  EXPECT_EQ(J(1).share, 5u);
  Send(JobKillAsked{{1, 1}, ""});
  EXPECT_TRUE(state().guaranteed().empty());
}

TEST_F(JockeyTest, PointsOfUtilityStandForADeadline) {
  Submit(1, 10);
  Send(ProfileLoaded{{1, 1}, Even(100, 1, 10), {{{}, 1}, {Seconds(60), 1}, {Seconds(80), -1}}});
  EXPECT_EQ(J(1).share, 3u) << "as a deadline of 60 s, with a dead zone of 3 * 80 / 60 s";
  const uint64_t with = scheduler_.Digest();
  Send(JobSet{{1, 1}, 0, Seconds(60)});
  EXPECT_TRUE(J(1).utility.empty());
  EXPECT_NE(scheduler_.Digest(), with);
}

TEST_F(JockeyTest, PointsThatCannotBeUsedAndDeadlinesBeyondReasonAreNone) {
  Submit(1, 10);
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const auto& points : std::vector<std::vector<UtilityPoint>>{
           {{{}, none}, {Seconds(9), 1}}, {{Seconds(9), 1}, {Seconds(9), 0}}, {{Seconds(-1), 1}}, {{{INT64_MAX}, 1}}}) {
    Send(ProfileLoaded{{1, 1}, Even(100, 1, 10), points});
    EXPECT_TRUE(J(1).utility.empty());
    EXPECT_EQ(J(1).share, 0u);
  }
  for (const Duration deadline : {Duration{INT64_MAX}, Duration{INT64_MIN}, Seconds(-5)}) {
    Send(JobSet{{1, 1}, 0, deadline});
    EXPECT_EQ(J(1).share, 0u);
    EXPECT_EQ(J(1).deadline, Duration{});
  }
}

// A job that another release has taken over is as old as it was.
TEST_F(JockeyTest, AJobTakenOverIsAsOldAsItWas) {
  Submit(1, 10, Seconds(60));
  Foretell(1, 100);
  Send(JobSet{{1, 1}, 0, Seconds(60), Seconds(20)});
  EXPECT_EQ(J(1).due(), now_ + Seconds(40));
  EXPECT_EQ(J(1).share, 4u) << "1.2 * 100 / 4 = 30 <= 57 - 20";
}

// Its record survives upgrades: fields that earlier releases wrote are all that is there.
TEST(JockeyEventTest, ASubmissionIsReadAsEarlierReleasesWroteIt) {
  const JobSubmitted job = SmallMapJob();
  std::string bytes;
  FieldWriter w(&bytes);
  w.Put(job.job);
  w.Put(std::string("name"));
  w.Put(std::string("queue"));
  w.Put(int32_t{3});
  w.Put(Seconds(60));
  w.Put(uint32_t{4});
  w.Put(std::vector<std::string>{"late"});
  w.Put(job.graph);
  JobSubmitted read;
  ASSERT_TRUE(DecodeFields(bytes, &read));
  EXPECT_EQ(read.deadline, Seconds(60));
  EXPECT_EQ(read.graph, job.graph);
}

// The same workers come back, like after a restart of the master. The period of an hour's job is a minute.
TEST_F(JockeyTest, WorkersThatComeBackBringTheGuaranteeWithinASecond) {
  Submit(1, 30, Seconds(3600));
  for (uint32_t w = 1; w <= 10; ++w) Send(WorkerAway{{w}, w});
  Foretell(1, 9000);
  EXPECT_EQ(J(1).share, 1u) << "there are no slots now";
  for (uint32_t w = 1; w <= 10; ++w) {
    WorkerRegistered back = OneSlotWorker(w);
    for (const AttemptId& attempt : state().FindWorker({w})->attempts) back.running.push_back(attempt);
    Send(back);
  }
  EXPECT_EQ(Admit(state(), Even(100, 1, 10), 30, "q", now_).available, 6u) << "and nobody else is promised them before";
  Pass(Seconds(1));
  EXPECT_EQ(J(1).share, 4u) << "1.2 * 9000 / 4 = 2700 <= 3420 - 1";
  const size_t steps = Allotted();
  Pass(Seconds(59));
  EXPECT_EQ(Allotted(), steps);
  Pass(Seconds(1));
  EXPECT_EQ(Allotted(), steps + 1) << "a step each minute again";
}

// Each step smooths A; and a worker that never comes back makes no step a second for good.
TEST_F(JockeyTest, WorkersThatStayAwayMakeFifteenStepsMoreAndNoneOfThemSmooths) {
  Submit(1, 30, Seconds(3600));
  for (uint32_t w = 3; w <= 10; ++w) Send(WorkerLost{{w}, w, ""});
  Foretell(1, 9000);
  const auto a = [&] { return std::get<double>(*state().FindFact({"jockey", "job", FactId(JobId{1, 1}), "slots"})); };
  EXPECT_EQ(a(), 4);
  EXPECT_EQ(J(1).share, 2u);
  for (int i = 0; i < 10; ++i) Finish(1, Seconds(900));
  size_t steps = Allotted();
  const auto made = [&] { return Allotted() - std::exchange(steps, Allotted()); };
  Pass(Seconds(59));
  EXPECT_EQ(made(), 15u);
  EXPECT_EQ(a(), 4) << "the period is not over";
  Pass(Seconds(1));
  EXPECT_EQ(made(), 1u);
  EXPECT_NEAR(a(), 4 + .2 * (3 - 4), 1e-9);
  Pass(Seconds(120));
  EXPECT_EQ(made(), 2u) << "a step each minute";
  // Once none are missed it begins again.
  for (uint32_t w = 3; w <= 10; ++w) Send(OneSlotWorker(w, 100));
  Pass(Seconds(60));
  EXPECT_EQ(made(), 1u);
  EXPECT_EQ(J(1).share, 4u);
  for (uint32_t w = 3; w <= 10; ++w) Send(WorkerLost{{w}, 100, ""});
  Pass(Seconds(120));
  EXPECT_EQ(made(), 1u + 15u + 1u);
}

TEST_F(JockeyTest, AListWithoutItEndsGuaranteesAndOneWithItBringsThemBack) {
  Submit(1, 10, Seconds(60));
  Foretell(1, 100);
  Send(ConfigChanged{"fair", 1, kSchedulerVersion, Millis(100)});
  EXPECT_EQ(J(1).share, 0u);
  Send(ConfigChanged{"fair,jockey", 1, kSchedulerVersion, Millis(100)});
  EXPECT_EQ(J(1).share, 3u);
}

TEST_F(JockeyTest, APredictionThatFitsNotIsLeftOut) {
  Submit(1, 10, Seconds(60));
  Prediction wrong = Even(100, 1, 10);
  wrong.left.pop_back();
  Send(ProfileLoaded{{1, 1}, wrong, {}});
  wrong = Even(100, 1, 10);
  wrong.stages.push_back({});
  Send(ProfileLoaded{{1, 1}, wrong, {}});
  wrong = Even(100, 1, 10);
  wrong.left[3] = -1;
  Send(ProfileLoaded{{1, 1}, wrong, {}});
  wrong = Even(100, 1, 10);
  std::swap(wrong.slots[0], wrong.slots[1]);
  Send(ProfileLoaded{{1, 1}, wrong, {}});
  EXPECT_FALSE(J(1).prediction.known());
  EXPECT_EQ(J(1).share, 0u);
}

TEST_F(JockeyTest, ASnapshotKeepsGuaranteesAndPredictions) {
  Submit(1, 10, Seconds(60));
  Foretell(1, 100);
  Submit(2, 10, Seconds(90));
  Foretell(2, 200);
  Scheduler other;
  scheduler_.Save([&](std::string part) { ASSERT_TRUE(other.RestorePart(part).ok()); });
  ASSERT_TRUE(other.FinishRestore().ok());
  EXPECT_EQ(CheckState(other.state()), "");
  EXPECT_EQ(other.Digest(), scheduler_.Digest());
  EXPECT_EQ(other.state().guaranteed(), state().guaranteed());
}

// Two jobs that wait take no slot of a third's guarantee twice.
TEST_F(JockeyTest, TwoWhoWaitLeaveAThirdWhatItIsGuaranteed) {
  Submit(3, 100);
  Submit(1, 20, Seconds(600), "late");
  Foretell(1, 1000);
  ASSERT_EQ(J(1).share, 3u);
  for (int i = 0; i < 3; ++i) Finish(3);
  Send(JobKillAsked{{1, 3}, ""});
  ConfirmKills();
  ASSERT_EQ(J(1).holding, 10u);
  Submit(4, 20, Seconds(60), "a");
  Foretell(4, 150);
  Submit(5, 20, Seconds(60), "b");
  Foretell(5, 150);
  ASSERT_EQ(J(4).share + J(5).share, 8u);
  Pass(Millis(1100));
  ConfirmKills();
  EXPECT_EQ(J(1).holding, 3u);
  EXPECT_EQ(J(4).holding + J(5).holding, 7u);
}

TEST_F(JockeyTest, AFullQueueEvictsNobody) {
  Send(QueueSet{"q", 1, 0, 2});
  Submit(2, 100, {}, "other");
  Submit(1, 20, Seconds(60));
  Foretell(1, 150);
  ASSERT_EQ(J(1).share, 4u);
  Pass(Millis(1100));
  EXPECT_EQ(Kills(), 2u);
  ConfirmKills();
  ASSERT_EQ(J(1).holding, 2u);
  Pass(Seconds(5));
  EXPECT_EQ(Kills(), 0u) << "its queue may hold no more";
}

TEST_F(JockeyTest, AMinShareStaysWhatItIs) {
  Send(QueueSet{"other", 1, 8, 0});
  Submit(2, 100, {}, "other");
  Submit(1, 20, Seconds(60));
  Foretell(1, 1000);
  EXPECT_EQ(J(1).share, 2u) << "of ten slots eight are owed to another queue";
  Pass(Seconds(3));
  ConfirmKills();
  EXPECT_EQ(J(2).holding, 8u);
}

TEST_F(JockeyTest, AJobThatIsLateMakesNoOtherLate) {
  Submit(2, 100);
  Submit(1, 20, Seconds(1));
  Foretell(1, 1000);
  Pass(Seconds(5));
  ConfirmKills();
  ASSERT_GE(J(1).holding, 9u) << "it is late, and alone";
  Submit(3, 20, Seconds(600), "c");
  Foretell(3, 1000);
  ASSERT_EQ(J(3).share, 3u);
  for (int i = 0; i < 3; ++i) Finish(1);
  EXPECT_EQ(J(3).holding, 3u) << "though its deadline is later";
}

// Others were evicted for a guarantee, so that no policy may refuse its slots because they are not near the input.
TEST(JockeyListTest, DelayWaitsForNoNearSlotBelowAGuarantee) {
  SteppedScheduler s;
  s.Send(0, ConfigChanged{"fair,jockey,delay(node=5,rack=5)", 1, kSchedulerVersion, Millis(100)});
  for (uint32_t w = 1; w <= 2; ++w) s.Send(0, OneSlotWorker(w));
  JobSubmitted busy = SmallMapJob();
  busy.job = {1, 9};
  s.Send(0, busy);
  s.Send(0, StagePlanned{busy.job, 0, 1, std::vector<TaskPlan>(10), ""});
  JobSubmitted job = SmallMapJob();
  job.deadline = Seconds(60);
  s.Send(0, job);
  s.Send(0, StagePlanned{job.job, 0, 1, {TaskPlan{1, {{2}}, {}}, TaskPlan{1, {{2}}, {}}}, ""});
  s.Send(0, ProfileLoaded{job.job, Even(40, 1, 2), {}});
  ASSERT_EQ(s.scheduler.state().FindJob(job.job)->share, 1u);
  s.Send(1, AttemptFinished{{{busy.job, 0, 0}, 1}, {1}, 1, {1, 1, {1, 1}}, {}, {}, {}});
  EXPECT_EQ(s.scheduler.state().FindJob(job.job)->holding, 1u) << "on w1, though its input is on w2";
}

TEST_F(JockeyTest, ANewPriorityMovesTheJobInItsQueue) {
  Submit(1, 20);
  Submit(2, 20);
  const uint32_t first = J(1).holding;
  EXPECT_EQ(first, 10u);
  Send(JobSet{{1, 2}, 5, {}});
  Finish(1);
  EXPECT_EQ(J(2).holding, 1u);
  Send(JobSet{{1, 2}, -5, {}});
  Finish(1);
  EXPECT_EQ(J(2).holding, 1u) << "now the other comes first, whatever it holds";
}

TEST(JockeyListTest, NeedsFair) {
  EXPECT_TRUE(Scheduler::CheckPolicies("fair,jockey").ok());
  const Status alone = Scheduler::CheckPolicies("jockey");
  EXPECT_FALSE(alone.ok());
  EXPECT_NE(alone.message().find("fair,jockey"), std::string::npos) << alone.message();
  EXPECT_FALSE(Scheduler::CheckJobPolicies("jockey").ok());
}

TEST_F(JockeyTest, AdmissionNeedsSlotsThatNobodyIsGuaranteed) {
  using Answer = Admission::Answer;
  const Prediction p = Even(100, 8, 10);
  Admission a = Admit(state(), p, 60, "q", now_);
  EXPECT_EQ(a.answer, Answer::kAdmitted);
  EXPECT_EQ(a.slots, 3u) << "1.2 * 100 / 3 = 40; 2 would take 60, and 57 are left without the dead zone";
  EXPECT_EQ(a.available, 10u);
  a = Admit(state(), p, 11, "q", now_);
  EXPECT_EQ(a.answer, Answer::kTooFewSlots);
  EXPECT_NEAR(a.earliest, 12 / .95, 1e-3);
  EXPECT_EQ(Admit(state(), p, 7, "q", now_).answer, Answer::kBelowCriticalPath);

  Submit(1, 20, Seconds(60));
  Foretell(1, 400);
  ASSERT_EQ(J(1).share, 9u);
  a = Admit(state(), p, 59, "q", now_);
  EXPECT_EQ(a.answer, Answer::kTaken);
  EXPECT_EQ(a.available, 1u);
  EXPECT_NEAR(a.earliest, 72 / .95, 1e-3) << "once the other has ended: 60 + 120 / 10";
  EXPECT_EQ(Admit(state(), p, 76, "q", now_).answer, Answer::kAdmitted);
}

// The table that is shown for each number of slots agrees with the answer of admission with that many free.
TEST_F(JockeyTest, SlotsMeetADeadlineExactlyWhereAdmissionWithSoManyTakesIt) {
  const Prediction p = Even(100, 8, 10);
  for (uint32_t n = 1; n <= 10; ++n) {
    Send(QueueSet{"q", 1, 0, n});
    const double earliest = EarliestWith(p, n);
    EXPECT_NEAR(earliest, 1.2 * 100 / n / .95, 1e-3);
    std::vector<double> deadlines = {earliest, std::nextafter(earliest, 0), std::nextafter(earliest, 1e9)};
    for (int i = 1; i < 400; ++i) deadlines.push_back(.37 * i);
    for (const double deadline : deadlines) {
      const bool taken = Admit(state(), p, deadline, "q", now_).answer == Admission::Answer::kAdmitted;
      EXPECT_EQ(taken, earliest <= deadline) << n << " slots, " << deadline << " s";
    }
  }
}

TEST_F(JockeyTest, ARunningJobIsAskedForWhatIsLeftOfItAndItsOwnGuaranteeIsFree) {
  using Answer = Admission::Answer;
  Submit(1, 10, Seconds(60));
  Foretell(1, 300);
  ASSERT_EQ(J(1).share, 7u);
  for (int i = 0; i < 5; ++i) Finish(1);
  now_ = now_ + Seconds(30);
  const auto asked = [&](double deadline) { return AdmitAgain(state(), J(1), deadline, now_); };
  EXPECT_EQ(asked(60).answer, Answer::kAdmitted);
  EXPECT_EQ(asked(60).available, 10u);
  EXPECT_NEAR(asked(60).earliest, (30 + 1.2 * 150 / 10) / .95, 1e-3);
  EXPECT_EQ(asked(60).slots, 7u) << "30 + 1.2 * 150 / 7 = 55.7 <= 57";
  EXPECT_EQ(asked(40).answer, Answer::kTooFewSlots);
  EXPECT_EQ(asked(30.4).answer, Answer::kBelowCriticalPath) << "half a second of its longest task is left";
  Submit(2, 20, Seconds(60));
  Foretell(2, 300);
  ASSERT_EQ(J(2).share, 7u);
  EXPECT_EQ(asked(60).answer, Answer::kTaken);
  EXPECT_EQ(asked(60).available, 3u);
}

TEST_F(JockeyTest, SlotsOfAJobThatIsLateAreExpectedNowAndNotBefore) {
  Submit(1, 10, Seconds(60));
  Foretell(1, 600);
  ASSERT_EQ(J(1).share, 10u);
  now_ = now_ + Seconds(100);
  const Admission answer = Admit(state(), Even(100, 1, 10), 12, "q", now_);
  EXPECT_EQ(answer.available, 0u);
  EXPECT_NEAR(answer.earliest, 1.2 * 100 / 10 / .95, 1e-3);
  EXPECT_EQ(answer.answer, Admission::Answer::kTooFewSlots);
}

TEST_F(JockeyTest, AdmissionLeavesOtherQueuesTheirMinimum) {
  Send(QueueSet{"other", 1, 8, 0});
  EXPECT_EQ(Admit(state(), Even(100, 1, 10), 30, "q", now_).answer, Admission::Answer::kTaken);
  EXPECT_EQ(Admit(state(), Even(100, 1, 10), 30, "other", now_).answer, Admission::Answer::kAdmitted);
}

TEST_F(JockeyTest, AdmissionNamesAllThatTakesSlotsAndTheLimitOfItsQueue) {
  Send(QueueSet{"other", 1, 2, 0});
  Send(QueueSet{"q", 1, 0, 3});
  Submit(1, 20, Seconds(60));
  Foretell(1, 200);
  const uint32_t promised = J(1).share;
  ASSERT_GT(promised, 0u);
  const Admission a = Admit(state(), Even(100, 1, 10), 30, "q", now_);
  EXPECT_EQ(a.queue, "q");
  EXPECT_EQ(a.cluster, 10u);
  EXPECT_EQ(a.most, 3u);
  EXPECT_EQ(a.min_shares, (std::vector<std::pair<std::string, uint32_t>>{{"other", 2}}));
  EXPECT_EQ(a.promised, promised);
  EXPECT_EQ(a.available, std::min(a.most, 10 - 2 - promised));
  EXPECT_EQ(a.slots, 5u) << "1.2 * 100 / 5 = 24 <= 28.5";
  EXPECT_EQ(a.answer, Admission::Answer::kBeyondMaxShare) << "the cluster has five, and its queue may hold three";
}

}  // namespace
}  // namespace mr::sched
