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
#include "tests/master/sched/jockey_fixture.h"

namespace mr::sched {
namespace {

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
    EXPECT_FALSE(below(3)) << "it is guaranteed no more than is left";
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
  EXPECT_EQ(J(1).share, 0u) << "there are no slots now";
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
  ASSERT_EQ(J(4).share, 4u);
  ASSERT_EQ(J(5).share, 3u) << "guarantees fit together";
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

TEST_F(JockeyTest, AJobThatCannotMeetItsDeadlineTakesNoGuaranteeOfOneThatCan) {
  Submit(4, 20, Seconds(2));
  Foretell(4, 1000);
  ASSERT_EQ(J(4).share, 10u) << "nobody else needs them";
  Submit(1, 20, Seconds(60), "a");
  Foretell(1, 150);
  EXPECT_EQ(J(1).share, 4u);
  EXPECT_EQ(J(4).share, 6u);
  Pass(Millis(1100));
  ConfirmKills();
  EXPECT_EQ(J(1).holding, 4u) << "though the other deadline is earlier";
  Submit(2, 20, Seconds(60), "b");
  Foretell(2, 240);
  EXPECT_EQ(J(2).share, 6u);
  EXPECT_EQ(J(4).share, 0u);
  Send(JobKillAsked{{1, 1}, ""});
  Pass(Seconds(1));
  EXPECT_EQ(J(4).share, 10 - J(2).share) << "what came back";
  EXPECT_EQ(Admit(state(), Even(100, 1, 10), 60, "q", now_).available, 10 - J(2).share);
}

TEST_F(JockeyTest, TheSumOfGuaranteesIsAtMostTheSlots) {
  for (uint32_t seq = 1; seq <= 8; ++seq) {
    Submit(seq, 20, Seconds(30 + 10 * (seq % 3)), "q" + std::to_string(seq % 2));
    Foretell(seq, 60 * seq);
  }
  for (int s = 0; s < 100; ++s) {
    uint32_t sum = 0;
    for (uint32_t seq = 1; seq <= 8; ++seq) sum += J(seq).share;
    ASSERT_LE(sum, 10u) << "after " << s << " s";
    ASSERT_LE(Admit(state(), Even(100, 1, 10), 60, "q", now_).promised, 10u);
    Pass(Seconds(1));
  }
}

TEST_F(JockeyTest, AJobWithoutAnEarlierRunIsPromisedNothing) {
  Submit(1, 20, Seconds(60));
  Prediction guess = Even(150, 1, 10);
  guess.runs = 0;
  Send(ProfileLoaded{{1, 1}, guess, {}});
  ASSERT_GE(J(1).share, 1u);
  EXPECT_EQ(Admit(state(), Even(100, 1, 10), 60, "q", now_).available, 10u);
}

// It is admitted since the first will have ended, and a third must not be promised the same slots.
TEST_F(JockeyTest, AJobThatWaitsForSlotsOfOthersIsPromisedThem) {
  Submit(1, 20, Seconds(60));
  Foretell(1, 400);
  ASSERT_EQ(J(1).share, 9u);
  Submit(2, 20, Seconds(120));
  Foretell(2, 350);
  EXPECT_EQ(J(2).share, 1u);
  EXPECT_EQ(Admit(state(), Even(400, 1, 10), 115, "q", now_).answer, Admission::Answer::kTaken);
  Send(JobKillAsked{{1, 1}, ""});
  Pass(Seconds(2));
  EXPECT_EQ(J(2).share, 4u) << "1.2 * 350 / 4 = 105 <= 114 - 2";
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

}  // namespace
}  // namespace mr::sched
