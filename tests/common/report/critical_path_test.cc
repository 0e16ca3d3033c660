#include "common/report/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/report/run_builder.h"

namespace mr::report {
namespace {

using ::testing::ElementsAre;

// "stage kind from-to" of each segment, in milliseconds.
std::vector<std::string> Path(const JobRun& run) {
  const Timeline timeline(run);
  const CriticalPath path = TraceCriticalPath(run, timeline);
  std::vector<std::string> text;
  uint64_t at = 0;
  double shares = 0;
  for (const Segment& s : path.segments) {
    EXPECT_EQ(s.from, at) << "segments leave no gap";
    at = s.to;
    text.push_back((s.stage == kNoStage ? "job" : run.spec.stages[s.stage].name) + " " + Word(s.kind) + " " +
                   std::to_string(s.from / 1000) + "-" + std::to_string(s.to / 1000));
  }
  for (const Share& s : path.shares) shares += s.share;
  EXPECT_EQ(at, run.job.elapsed_us) << "to the end of the job";
  EXPECT_NEAR(shares, 1, 1e-9);
  return text;
}

RunBuilder TwoStages() {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Stage("sum", {0}).Elapsed(1000);
  b.Add({.stage = 0, .task = 0, .launched = 50, .started = 60, .ended = 300});
  b.Add({.stage = 0, .task = 1, .worker = "w2", .launched = 50, .started = 70, .ended = 400});
  return b;
}

TEST(CriticalPathTest, AWaitForAnOutputBelongsToTheAttemptThatMadeIt) {
  RunBuilder b = TwoStages();
  b.Add({.stage = 1, .task = 0, .launched = 100, .started = 110, .inputs = 450, .ended = 900});
  EXPECT_THAT(Path(b.run()), ElementsAre("map queue 0-50", "map launch 50-70", "map compute 70-400",
                                         "sum shuffle 400-450", "sum compute 450-900", "job commit 900-1000"));
}

TEST(CriticalPathTest, AReduceThatWasLaunchedAfterItsInputsWaitedForASlot) {
  RunBuilder b = TwoStages();
  b.Add({.stage = 1, .task = 0, .launched = 500, .started = 520, .inputs = 600, .ended = 1000});
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map queue 0-50", "map launch 50-70", "map compute 70-400", "sum queue 400-500",
                          "sum launch 500-520", "sum shuffle 520-600", "sum compute 600-1000"));
}

TEST(CriticalPathTest, ARunningJobWhoseInputIsMissingWaitsForItAndForNoSlot) {
  RunBuilder b;
  b.Workers(1, 2).Stage("map", {}).Elapsed(1000);
  b.run().job.state = JobState::kRunning;
  b.run().job.stages[0].tasks = 1;
  b.run().job.waits = {"stage 'map' has 1 task that waits for its input: block 7 has no replica"};
  EXPECT_THAT(Path(b.run()), ElementsAre("map input 0-1000"));
  b.run().job.waits.push_back("stage 'map' is pending: all 2 slots for them are taken");
  EXPECT_THAT(Path(b.run()), ElementsAre("map queue 0-1000"));
}

TEST(CriticalPathTest, TheTimeUntilAFailedAttemptWasRepeatedIsItsOwn) {
  RunBuilder b;
  b.Workers(1, 2).Stage("map", {}).Elapsed(1000);
  b.Add({.launched = 10, .started = 20, .ended = 300, .state = "failed", .failure = "user"});
  b.Add({.launched = 310, .started = 330, .ended = 1000, .cause = "retry", .number = 2});
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map queue 0-10", "map failed 10-310", "map launch 310-330", "map compute 330-1000"));
}

TEST(CriticalPathTest, TheTimeUntilASlowAttemptWasOvertakenIsItsOwn) {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Elapsed(1000);
  b.Add({.launched = 0, .started = 20, .ended = 1000, .state = "killed", .failure = "killed"});
  b.Add({.worker = "w2", .launched = 600, .started = 610, .ended = 1000, .cause = "speculative", .number = 2});
  EXPECT_THAT(Path(b.run()), ElementsAre("map slow 0-600", "map launch 600-610", "map compute 610-1000"));
}

// A map that ran again for another reader, after this reduce had its output.
TEST(CriticalPathTest, AnOutputThatWasMadeAgainLaterDoesNotCount) {
  RunBuilder b = TwoStages();
  b.Add({.stage = 1, .task = 0, .launched = 100, .started = 110, .inputs = 450, .ended = 1000});
  b.Add({.stage = 0, .task = 1, .launched = 500, .started = 510, .ended = 700, .cause = "retry", .number = 2});
  EXPECT_THAT(Path(b.run()), ElementsAre("map queue 0-50", "map launch 50-70", "map compute 70-400",
                                         "sum shuffle 400-450", "sum compute 450-1000"));
}

// The first attempt did useful work until it committed. Only what follows is a loss.
TEST(CriticalPathTest, AnOutputThatAReduceWaitedForAgainIsALoss) {
  RunBuilder b = TwoStages();
  b.Add({.stage = 0, .task = 1, .launched = 500, .started = 520, .ended = 700, .cause = "retry", .number = 2});
  b.Add({.stage = 1, .task = 0, .launched = 100, .started = 110, .inputs = 750, .ended = 1000});
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map queue 0-50", "map launch 50-70", "map compute 70-400", "map failed 400-500",
                          "map launch 500-520", "map compute 520-700", "sum shuffle 700-750", "sum compute 750-1000"));
}

// Two slots, four maps: the second two wait for those of this job, not for a queue.
TEST(CriticalPathTest, ASlotThatTheJobItselfHeldIsNoWait) {
  RunBuilder b;
  b.Workers(1, 2).Stage("map", {}).Elapsed(1000);
  for (uint32_t t = 0; t < 2; ++t) {
    b.Add({.task = t, .launched = 10, .started = 20, .ended = 490 + t});
    b.Add({.task = 2 + t, .launched = 500, .started = 510, .ended = 990 + t});
  }
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map queue 0-10", "map launch 10-20", "map compute 20-491", "map queue 491-500",
                          "map launch 500-510", "map compute 510-991", "job commit 991-1000"));
}

// The worker of the loser is stopped: its end is not known yet.
TEST(CriticalPathTest, ALoserWhoseEndIsNotReportedDoesNotDecideTheEnd) {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Elapsed(1000);
  b.Add({.launched = 0, .started = 20, .state = "running"});
  b.Add({.worker = "w2", .launched = 100, .started = 110, .ended = 990, .cause = "clone", .number = 2});
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map slow 0-100", "map launch 100-110", "map compute 110-990", "job commit 990-1000"));
}

TEST(CriticalPathTest, AKilledJobCommitsNothing) {
  RunBuilder b = TwoStages();
  b.run().job.state = JobState::kKilled;
  b.Add({.stage = 1,
         .launched = 410,
         .started = 420,
         .inputs = 500,
         .ended = 980,
         .state = "killed",
         .failure = "killed"});
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map queue 0-50", "map launch 50-70", "map compute 70-400", "sum queue 400-410",
                          "sum launch 410-420", "sum shuffle 420-500", "sum compute 500-980", "job stop 980-1000"));
}

TEST(CriticalPathTest, AJobFailsWithItsLastFailedAttempt) {
  RunBuilder b;
  b.Workers(1, 2).Stage("map", {}).Elapsed(1000);
  b.run().job.state = JobState::kFailed;
  b.Add({.task = 0, .launched = 0, .started = 20, .ended = 995, .state = "killed", .failure = "killed"});
  b.Add({.task = 1, .launched = 10, .started = 20, .ended = 900, .state = "failed", .failure = "user"});
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map queue 0-10", "map launch 10-20", "map compute 20-900", "job stop 900-1000"));
}

TEST(CriticalPathTest, AJobThatRunsIsFollowedFromNow) {
  RunBuilder b = TwoStages();
  b.run().job.state = JobState::kRunning;
  b.Add({.stage = 1, .task = 0, .launched = 100, .started = 110, .state = "running"});
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map queue 0-50", "map launch 50-70", "map compute 70-400", "sum shuffle 400-1000"));
}

TEST(CriticalPathTest, AJobWithoutARunningAttemptWaits) {
  RunBuilder b = TwoStages();
  b.run().job.state = JobState::kRunning;
  b.run().job.stages[0].done = 2;
  b.run().job.stages[1].tasks = 1;
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map queue 0-50", "map launch 50-70", "map compute 70-400", "sum queue 400-1000"));
}

TEST(CriticalPathTest, AJobWithoutAttemptsWaited) {
  RunBuilder b;
  b.Workers(1, 2).Stage("map", {}).Elapsed(1000);
  b.run().job.state = JobState::kPending;
  b.run().job.stages[0].tasks = 1;
  EXPECT_THAT(Path(b.run()), ElementsAre("map queue 0-1000"));
  b.Elapsed(0);
  EXPECT_THAT(Timeline(b.run()).attempts(), ElementsAre());
  EXPECT_TRUE(TraceCriticalPath(b.run(), Timeline(b.run())).segments.empty());
}

TEST(CriticalPathTest, APreemptedAttemptIsAWaitForASlot) {
  RunBuilder b;
  b.Workers(1, 2).Stage("map", {}).Elapsed(1000);
  b.Add({.launched = 10, .started = 20, .ended = 300, .state = "killed", .failure = "preempted"});
  b.Add({.launched = 600, .started = 610, .ended = 1000, .cause = "retry", .number = 2});
  EXPECT_THAT(Path(b.run()),
              ElementsAre("map queue 0-10", "map queue 10-600", "map launch 600-610", "map compute 610-1000"));
}

TEST(CriticalPathTest, OfSeveralInputsTheLastOneCounts) {
  RunBuilder b;
  b.Workers(2, 2).Stage("left", {}).Stage("right", {}).Stage("join", {0, 1}).Elapsed(1000);
  b.Add({.stage = 0, .launched = 10, .started = 20, .ended = 200});
  b.Add({.stage = 1, .worker = "w2", .launched = 10, .started = 30, .ended = 500});
  b.Add({.stage = 2, .launched = 15, .started = 25, .inputs = 550, .ended = 1000});
  EXPECT_THAT(Path(b.run()), ElementsAre("right queue 0-10", "right launch 10-30", "right compute 30-500",
                                         "join shuffle 500-550", "join compute 550-1000"));
}

// Four maps, two readers: the last map is none of the first reader's.
TEST(CriticalPathTest, AReaderOfSomeTasksWaitsForThoseOnly) {
  RunBuilder b;
  b.Workers(2, 4).Stage("map", {}).Stage("merge", {0}).Elapsed(1000);
  b.run().spec.stages[1].inputs[0].kind = EdgeKind::kManyToOne;
  for (uint32_t t = 0; t < 4; ++t) b.Add({.task = t, .launched = 10, .started = 20, .ended = 100 * (t + 1)});
  b.Add({.stage = 1, .task = 0, .launched = 15, .started = 25, .inputs = 450, .ended = 1000});
  b.Add({.stage = 1, .task = 1, .worker = "w2", .launched = 15, .started = 25, .inputs = 450, .ended = 900});
  EXPECT_THAT(Path(b.run()), ElementsAre("map queue 0-10", "map launch 10-20", "map compute 20-200",
                                         "merge shuffle 200-450", "merge compute 450-1000"));
}

TEST(CriticalPathTest, AnAttemptThatWasNotSeenToStartComputed) {
  RunBuilder b;
  b.Workers(1, 2).Stage("map", {}).Elapsed(9);
  b.Add({.launched = 1, .ended = 9});
  EXPECT_THAT(Path(b.run()), ElementsAre("map queue 0-1", "map compute 1-9"));
}

// Records of other releases, or damaged ones.
TEST(CriticalPathTest, TimesThatContradictEachOtherLeaveNoGap) {
  RunBuilder b = TwoStages();
  b.Add({.stage = 1, .task = 0, .launched = 800, .started = 200, .inputs = 100, .ended = 5000});
  b.Add({.stage = 1, .task = 1, .launched = 0, .started = 9000, .inputs = 9000, .ended = 1});
  Path(b.run());
}

// The second attempt of the map has no length, and each of the two could follow from the other.
TEST(CriticalPathTest, AttemptsWithoutLengthDoNotNameEachOtherForEver) {
  RunBuilder b;
  b.Workers(1, 4).Stage("map", {}).Stage("sum", {0}).Elapsed(400);
  b.Add({.stage = 0, .launched = 100, .started = 110, .ended = 400});
  b.Add({.stage = 1, .launched = 100, .started = 110, .inputs = 400, .ended = 400});
  b.Add({.stage = 0, .launched = 400, .started = 400, .ended = 400, .cause = "retry", .number = 2});
  Path(b.run());
}

TEST(CriticalPathTest, AStageThatReadsItselfOrALaterOneReadsNothing) {
  RunBuilder b = TwoStages();
  b.Add({.stage = 1, .task = 0, .launched = 410, .started = 420, .inputs = 1000, .ended = 1000});
  for (const uint32_t from : {1u, 2u, 7u}) {
    b.run().spec.stages[1].inputs[0].stage = from;
    EXPECT_THAT(Path(b.run()).back(), "sum shuffle 420-1000");
  }
}

}  // namespace
}  // namespace mr::report
