#include "common/report/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/report/report.h"
#include "tests/common/report/run_builder.h"
#include "tests/support/json_schema.h"

namespace mr::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<Finding> Find(RunBuilder& b) {
  const Report report(b.run());
  EXPECT_EQ(test::SchemaViolation(ReportJson(report), std::string(MR_SOURCE_DIR) + "/jobs/mrctl/schema/report.json"),
            "");
  return report.findings;
}

std::vector<std::string> Kinds(RunBuilder& b) {
  std::vector<std::string> kinds;
  for (const Finding& f : Find(b)) kinds.emplace_back(f.id);
  return kinds;
}

// Eight maps on four workers of two slots, two a worker, and eight reduces; all alike.
RunBuilder EvenJob() {
  RunBuilder b;
  b.Workers(4, 2).Stage("map", {}).Stage("sum", {0}).Elapsed(5000);
  for (uint32_t t = 0; t < 8; ++t) {
    const std::string worker = "w" + std::to_string(t / 2 + 1);
    b.Add({.stage = 0, .task = t, .worker = worker, .launched = 10, .started = 20, .ended = 2000 + t});
    b.Add({.stage = 1,
           .task = t,
           .worker = worker,
           .launched = 2010,
           .started = 2020,
           .inputs = 2100,
           .ended = 4900 + t});
  }
  return b;
}

AttemptStatus& AttemptOf(RunBuilder& b, uint32_t stage, uint32_t task) {
  for (AttemptStatus& a : b.run().attempts) {
    const auto id = ParseAttemptId(a.id);
    if (id->task.stage == stage && id->task.task == task) return a;
  }
  return b.run().attempts.front();
}

TEST(FindingsTest, AJobWithoutProblemsHasNone) {
  RunBuilder b = EvenJob();
  EXPECT_THAT(Kinds(b), IsEmpty());
}

TEST(FindingsTest, AHotKeyIsNamedWithItsStageAndItsShare) {
  RunBuilder b = EvenJob();
  AttemptOf(b, 1, 3).ended_us = 9'900'000;
  b.Elapsed(10'000);
  SkewStatus skew;
  skew.stage = 0;
  skew.key = "the";
  skew.bytes = 60;
  skew.stage_bytes = 100;
  b.run().job.skew.push_back(skew);
  for (TaskStatus& t : b.run().tasks) {
    if (t.id.ends_with("_r_000003")) t.input_bytes = 100'000;
  }
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "hot_key");
  EXPECT_EQ(found[0].stage, 1u) << "the stage that waited, not the one that wrote the key";
  EXPECT_THAT(found[0].text, HasSubstr("Stage sum waited 50 % of the job's time for one hot key. 'the' has 60 %"));
  EXPECT_THAT(found[0].advice, HasSubstr("The plan does not combine before this shuffle"));
  b.run().spec.stages[0].ports.emplace_back().combine = true;
  EXPECT_THAT(Find(b).at(0).advice, testing::StartsWith("Spread the key"));
}

TEST(FindingsTest, ATaskWithMuchMoreInputIsNamedWithoutAKnownKey) {
  RunBuilder b = EvenJob();
  AttemptOf(b, 1, 3).ended_us = 9'900'000;
  b.Elapsed(10'000);
  for (TaskStatus& t : b.run().tasks) {
    if (t.id.ends_with("_r_000003")) t.input_bytes = 100'000;
  }
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "uneven_input");
  EXPECT_EQ(found[0].stage, 1u);
  EXPECT_THAT(found[0].text, HasSubstr("attempt_1_0001_1_r_000003_1. Its task had 98 KiB to read"));
  EXPECT_THAT(found[0].advice, HasSubstr("--reduces"));
}

// Another task is slow, and not for its input.
TEST(FindingsTest, AKeyIsNotBlamedForASlowTaskThatDoesNotReadIt) {
  RunBuilder b = EvenJob();
  AttemptOf(b, 1, 3).ended_us = 9'900'000;
  b.Elapsed(10'000);
  SkewStatus skew;
  skew.key = "the";
  b.run().job.skew.push_back(skew);
  EXPECT_THAT(Kinds(b), ElementsAre("slow_task"));
}

// Three reduces started while maps ran, five when these had ended.
TEST(FindingsTest, AWaitForMapsMakesNoTaskSlow) {
  RunBuilder b;
  b.Workers(4, 2).Stage("map", {}).Stage("sum", {0}).Elapsed(7200);
  for (uint32_t t = 0; t < 8; ++t) {
    const std::string worker = "w" + std::to_string(t / 2 + 1);
    b.Add({.stage = 0, .task = t, .worker = worker, .launched = 10, .started = 20, .ended = 5000 + t});
    b.Add({.stage = 1,
           .task = t,
           .worker = worker,
           .launched = t < 3 ? 500u : 5020u,
           .started = t < 3 ? 510u : 5030u,
           .inputs = 5100,
           .ended = 7100 + t});
  }
  EXPECT_THAT(Kinds(b), IsEmpty());
}

TEST(FindingsTest, AHotKeyThatDelaysNothingIsNone) {
  RunBuilder b = EvenJob();
  SkewStatus skew;
  skew.key = "the";
  b.run().job.skew.push_back(skew);
  EXPECT_THAT(Kinds(b), IsEmpty());
}

TEST(FindingsTest, AWorkerIsSlowIfItsAttemptsAreSlow) {
  RunBuilder b = EvenJob();
  AttemptOf(b, 1, 6).ended_us = AttemptOf(b, 1, 7).ended_us = 9'900'000;  // both of w4
  AttemptOf(b, 0, 6).ended_us = AttemptOf(b, 0, 7).ended_us = 4'000'000;
  b.Elapsed(10'000);
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "slow_worker");
  EXPECT_EQ(found[0].worker, "w4");
  EXPECT_GT(found[0].share, 0.3);
}

TEST(FindingsTest, AWorkerWhoseAttemptsWereOvertakenIsSlow) {
  RunBuilder b = EvenJob();
  for (const uint32_t task : {6u, 7u}) {
    AttemptStatus& a = AttemptOf(b, 1, task);
    a.state = a.failure = "killed";
    a.won = false;
    a.ended_us = 8'000'000;
    b.Add({.stage = 1,
           .task = task,
           .worker = "w1",
           .launched = 5000,
           .started = 5010,
           .inputs = 5100,
           .ended = 8000,
           .cause = "speculative",
           .number = 2});
  }
  b.Elapsed(8000);
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "slow_worker");
  EXPECT_THAT(found[0].text, HasSubstr("2 attempts were overtaken elsewhere"));
}

TEST(FindingsTest, AWorkerWithMoreInputIsNotSlow) {
  RunBuilder b = EvenJob();
  AttemptOf(b, 1, 6).ended_us = AttemptOf(b, 1, 7).ended_us = 9'900'000;
  b.Elapsed(10'000);
  for (TaskStatus& t : b.run().tasks) {
    if (t.id.ends_with("_r_000006") || t.id.ends_with("_r_000007")) t.input_bytes = 300;
  }
  EXPECT_THAT(Kinds(b), ElementsAre("uneven_input"));
}

TEST(FindingsTest, OneSlowAttemptIsASlowTask) {
  RunBuilder b = EvenJob();
  AttemptOf(b, 1, 6).ended_us = 9'900'000;
  b.Elapsed(10'000);
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "slow_task");
  EXPECT_EQ(found[0].command, "mrctl why attempt_1_0001_1_r_000006_1");
}

TEST(FindingsTest, TooFewReducesLeaveSlotsIdle) {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Stage("sum", {0}).Elapsed(6000);
  for (uint32_t t = 0; t < 4; ++t) b.Add({.task = t, .launched = 10, .started = 20, .ended = 1000});
  b.Add({.stage = 1, .launched = 1010, .started = 1020, .inputs = 1200, .ended = 5900});
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "too_few_tasks");
  EXPECT_FALSE(found[0].problem);
  EXPECT_THAT(found[0].text, HasSubstr("Stage sum ran with 1 task on a cluster of 4 slots, for 81 %"));
  EXPECT_THAT(found[0].advice, HasSubstr("--reduces"));
}

TEST(FindingsTest, AShortStageWithOneTaskIsNoProblem) {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Stage("sum", {0}).Elapsed(600);
  for (uint32_t t = 0; t < 4; ++t) b.Add({.task = t, .launched = 10, .started = 20, .ended = 100});
  b.Add({.stage = 1, .launched = 101, .started = 102, .inputs = 120, .ended = 590});
  EXPECT_THAT(Kinds(b), IsEmpty());
}

TEST(FindingsTest, ALostWorkerIsNamed) {
  RunBuilder b = EvenJob();
  AttemptStatus& a = AttemptOf(b, 1, 7);
  a.state = "killed";
  a.failure = "lost";
  a.won = false;
  a.ended_us = 3'000'000;
  b.Add({.stage = 1,
         .task = 7,
         .worker = "w1",
         .launched = 3010,
         .started = 3020,
         .inputs = 3100,
         .ended = 6000,
         .cause = "retry",
         .number = 2});
  b.Elapsed(6100);
  b.Add({.stage = 0,
         .task = 7,
         .worker = "w1",
         .launched = 3020,
         .started = 3030,
         .ended = 5000,
         .cause = "retry",
         .number = 2});
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "lost_worker");
  EXPECT_EQ(found[0].worker, "w4");
  EXPECT_THAT(found[0].text, HasSubstr("1 attempt and 1 output"));
}

TEST(FindingsTest, AWorkerThatHeldOutputsOnlyIsNamedWhenItIsLost) {
  RunBuilder b = EvenJob();
  b.Add({.stage = 0,
         .task = 7,
         .worker = "w1",
         .launched = 3020,
         .started = 3030,
         .ended = 5000,
         .cause = "retry",
         .number = 2});
  b.Elapsed(6100);
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].worker, "w4");
  EXPECT_THAT(found[0].text, HasSubstr("were lost: 1 output had"));
}

TEST(FindingsTest, AFullQueueIsAWaitForSlotsThatTheJobDoesNotHold) {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Elapsed(10'000);
  for (uint32_t t = 0; t < 4; ++t) b.Add({.task = t, .launched = 6000, .started = 6010, .ended = 9900});
  EXPECT_THAT(Kinds(b), ElementsAre("full_queue"));
  EXPECT_THAT(Find(b).at(0).advice, HasSubstr("raise the queue's weight or min share"));
  b.run().queue_max_share = 1;
  EXPECT_THAT(Find(b).at(0).advice, HasSubstr("The queue may hold 1 slot (its max share)"));
}

TEST(FindingsTest, AFullQueueNamesTheRestartsOfTheMaster) {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Elapsed(10'000);
  for (uint32_t t = 0; t < 4; ++t)
    b.Add({.task = t, .launched = 6000, .started = 6010, .ended = 9900, .number = t == 3 ? 1001u : 1u});
  EXPECT_THAT(Find(b).at(0).text, HasSubstr("The master was restarted meanwhile (1 time)"));
  b.run().attempts.pop_back();
  EXPECT_THAT(Find(b).at(0).text, Not(HasSubstr("restarted")));
}

TEST(FindingsTest, AJobThatFillsTheClusterItselfDoesNotWaitForOthers) {
  RunBuilder b;
  b.Workers(1, 2).Stage("map", {}).Elapsed(10'000);
  for (uint32_t t = 0; t < 4; ++t) {
    b.Add({.task = t, .launched = t < 2 ? 1u : 5000u, .started = t < 2 ? 10u : 5010u, .ended = t < 2 ? 5000u : 9990u});
  }
  EXPECT_THAT(Kinds(b), IsEmpty());
}

TEST(FindingsTest, FailedAttemptsComeWithTheirMessageAndTheNextCommand) {
  RunBuilder b = EvenJob();
  b.Add({.stage = 0,
         .task = 0,
         .launched = 10,
         .started = 20,
         .ended = 100,
         .state = "failed",
         .failure = "user",
         .number = 2});
  b.run().attempts.back().message = "no such column\nat line 7";
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "failed_attempts");
  EXPECT_THAT(found[0].text, HasSubstr("1 attempt failed"));
  EXPECT_THAT(found[0].text, HasSubstr(": no such column"));
  EXPECT_EQ(found[0].command, "mrctl logs attempt_1_0001_0_m_000000_2");
  EXPECT_FALSE(found[0].problem) << "the job succeeded, and lost no time";
}

TEST(FindingsTest, TheLogOfALocalRunIsWhereItWasKept) {
  RunBuilder b = EvenJob();
  b.Add({.task = 0, .launched = 10, .started = 20, .ended = 100, .state = "failed", .failure = "user", .number = 2});
  b.run().gone = true;
  EXPECT_THAT(Find(b).at(0).advice, HasSubstr("again with --keep-logs"));
  b.run().kept_logs = "/tmp/logs";
  EXPECT_EQ(Find(b).at(0).advice, "Read its log: /tmp/logs/attempt_1_0001_0_m_000000_2.");
}

TEST(FindingsTest, AMissedDeadlineIsAProblemWithByHowMuch) {
  RunBuilder b = EvenJob();
  b.run().job.deadline.emplace().deadline_us = 5'000'000;
  EXPECT_THAT(Kinds(b), IsEmpty()) << "met";
  b.run().job.deadline->deadline_us = 4'000'000;
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "missed_deadline");
  EXPECT_TRUE(found[0].problem);
  EXPECT_EQ(found[0].text, "The job missed its deadline of 4.0 s by 1.0 s.");
  EXPECT_THAT(found[0].advice, HasSubstr("No policy of the cluster's list gives slots by deadlines"));
  b.run().job.deadline->steered = true;
  b.run().job.state = JobState::kRunning;
  EXPECT_THAT(Find(b).at(0).text, HasSubstr("by 1.0 s so far."));
  EXPECT_THAT(Find(b).at(0).advice, HasSubstr("no earlier run was known"));
}

// With one partition no hot key is known.
TEST(FindingsTest, MoreReducesThanOneAreAdvisedUnderACondition) {
  for (const uint32_t tasks : {1u, 2u}) {
    RunBuilder b;
    b.Workers(4, 2).Stage("map", {}).Stage("sum", {0}).Elapsed(6000);
    for (uint32_t t = 0; t < 4; ++t) b.Add({.task = t, .launched = 10, .started = 20, .ended = 1000});
    for (uint32_t t = 0; t < tasks; ++t)
      b.Add({.stage = 1, .task = t, .launched = 1010, .started = 1020, .inputs = 1200, .ended = 5900});
    EXPECT_EQ(Find(b).at(0).advice.find("no single key") != std::string::npos, tasks == 1) << tasks;
  }
}

TEST(FindingsTest, ACombinerThatThePlanDoesNotUseIsNamed) {
  RunBuilder b = EvenJob();
  EXPECT_THAT(Kinds(b), IsEmpty());
  b.run().spec.stages[0].flags = 16;  // MR_ASSOCIATIVE
  const std::vector<Finding> found = Find(b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].id, "unused_combiner");
  EXPECT_EQ(found[0].stage, 1u);
  EXPECT_THAT(found[0].text, HasSubstr("The operator of stage map, whose output it reads, has a combiner"));
  b.run().spec.stages[0].ports.emplace_back().combine = true;
  EXPECT_THAT(Kinds(b), IsEmpty());
}

TEST(FindingsTest, AReplayIsAdvisedForFailedAttempts) {
  for (const uint32_t stage : {0u, 1u}) {
    RunBuilder b = EvenJob();
    b.Add({.stage = stage,
           .task = 0,
           .launched = 10,
           .started = 20,
           .ended = 100,
           .state = "failed",
           .failure = "user",
           .number = 2});
    const std::vector<Finding> found = Find(b);
    ASSERT_EQ(found.size(), 1u);
    const std::string replay =
        stage == 0 ? "mrctl task replay attempt_1_0001_0_m_000000_2" : "mrctl task replay attempt_1_0001_1_r_000000_2";
    EXPECT_THAT(found[0].advice, HasSubstr(replay + "."));
    b.run().spec.library = "0123";
    EXPECT_THAT(Find(b)[0].advice, HasSubstr(replay + " --lib FILE.so"));
  }
}

// A job that failed is not helped by more slots.
TEST(FindingsTest, TheFailureOfAJobGoesBeforeItsDelays) {
  RunBuilder b = EvenJob();
  AttemptOf(b, 1, 6).ended_us = 9'900'000;
  b.Elapsed(10'000);
  b.Add({.stage = 0,
         .task = 0,
         .launched = 10,
         .started = 20,
         .ended = 100,
         .state = "failed",
         .failure = "user",
         .number = 2});
  b.run().job.state = JobState::kSucceeded;
  EXPECT_THAT(Kinds(b), ElementsAre("slow_task", "failed_attempts"));
  b.run().job.state = JobState::kFailed;
  EXPECT_EQ(Kinds(b).front(), "failed_attempts");
}

TEST(FindingsTest, TinyTasksInManyWavesAreTooMany) {
  RunBuilder b;
  b.Workers(1, 1).Stage("map", {}).Elapsed(1000);
  for (uint32_t t = 0; t < 20; ++t) {
    b.Add({.task = t, .launched = t * 50 + 1, .started = t * 50 + 21, .ended = t * 50 + 50});
  }
  EXPECT_THAT(Kinds(b), ElementsAre("too_many_tasks"));
}

}  // namespace
}  // namespace mr::report
