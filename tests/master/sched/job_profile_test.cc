// A job's profile holds what its run measured, and several runs are merged into one profile.
#include "master/sched/job_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "common/base/fields.h"
#include "tests/master/sched/small_job.h"

namespace mr::sched {
namespace {

constexpr JobId kJob{1, 1};

// Two maps of 4 and 8 s, the first of them failing once, and a reduce that has its slot from the start.
struct OneRun : SteppedScheduler {
  OneRun() {
    Send(0, ConfigChanged{"fifo", 1, 1});
    for (uint32_t w = 1; w <= 3; ++w) Send(0, OneSlotWorker(w));
    JobSubmitted job = SmallMapReduceJob();
    job.graph.stages[0].name = "map";
    job.graph.stages[1].name = "reduce";
    Send(10, job);
    TaskPlan small, large;
    small.input_bytes = 100;
    large.input_bytes = 300;
    Send(10, StagePlanned{kJob, 0, 1, {small, large}, ""});
    TaskPlan reads;
    reads.slices = {{0, 0, 1, 0, 2}};
    Send(10, StagePlanned{kJob, 1, 1, {reads}, ""});
  }
  const Attempt& Last(uint32_t stage, uint32_t task) const {
    return scheduler.state().FindJob(kJob)->stages[stage].tasks[task].attempts.back();
  }
  void Started(double at, uint32_t stage, uint32_t task) {
    const Attempt& a = Last(stage, task);
    Send(at, AttemptStarted{{{kJob, stage, task}, a.number}, a.worker, a.incarnation});
  }
  void Done(double at, uint32_t stage, uint32_t task, double ran) {
    const Attempt& a = Last(stage, task);
    AttemptFinished e{{{kJob, stage, task}, a.number}, a.worker, a.incarnation, {1, 1, {task + 1, 1}}, {}, {}, {}};
    e.ran = FromSeconds(ran);
    if (stage == 1) e.consumed = {{0, 0, 1, {1, 1}}, {0, 1, 1, {2, 1}}};
    Send(at, e);
  }
};

TEST(JobProfileTest, AStagesTimesAreThoseOfItsCommittedAttempts) {
  OneRun run;
  const Attempt first = run.Last(0, 0);
  run.Done(18, 0, 1, 7);
  run.Send(19, AttemptFailed{{{kJob, 0, 0}, first.number}, first.worker, first.incarnation, FailureKind::kUser, "no"});
  // The host's part: timers that are due.
  for (const Decision& d : std::vector<Decision>(run.out)) {
    if (const auto* wake = std::get_if<WakeAt>(&d)) run.Send(20, TimerDue{wake->policy, wake->id});
  }
  const Attempt second = run.Last(0, 0);
  ASSERT_EQ(second.number, 2u) << "it was tried again";
  const double begin = second.launched_at.ns * 1e-9;
  run.Done(begin + 4, 0, 0, 3.5);
  run.Done(begin + 10, 1, 0, 5);
  const Job& job = *run.scheduler.state().FindJob(kJob);
  ASSERT_EQ(job.state, JobState::kSucceeded);
  const RunProfile profile = ProfileOf(job);
  ASSERT_EQ(profile.stages.size(), 2u);
  const StageRuns &map = profile.stages[0], &reduce = profile.stages[1];
  EXPECT_EQ(map.name, "map");
  EXPECT_EQ(map.tasks, 2u);
  EXPECT_EQ(map.run, (std::vector<float>{3.5f, 7.0f}));
  EXPECT_EQ(map.wait, (std::vector<float>{.5f, 1.0f}));
  EXPECT_NEAR(map.fails, 1.0 / 3, 1e-9) << "one attempt of three";
  EXPECT_EQ(map.fails_again, 0);
  EXPECT_EQ(map.input_bytes, 400);
  EXPECT_NEAR(map.queue, 0, 1e-9);
  // Its slot was taken from the start on; what counts begins with its last input.
  ASSERT_EQ(reduce.run.size(), 1u);
  EXPECT_NEAR(reduce.run[0], 5, 1e-6);
  EXPECT_NEAR(reduce.wait[0], 1, 1e-6);
  EXPECT_EQ(reduce.inputs.size(), 1u);
}

TEST(JobProfileTest, QueueingIsFromInputsToALaunch) {
  SteppedScheduler run;
  run.Send(0, ConfigChanged{"fifo", 1, 1});
  run.Send(1, SmallMapJob());
  run.Send(1, StagePlanned{kJob, 0, 1, {TaskPlan{}}, ""});
  run.Send(7, OneSlotWorker(1));
  run.Finish(9, 0, 1);
  const RunProfile profile = ProfileOf(*run.scheduler.state().FindJob(kJob));
  EXPECT_NEAR(profile.stages[0].queue, 6, 1e-9);
  EXPECT_EQ(profile.stages[0].means, std::vector<float>{2});
  EXPECT_NEAR(profile.stages[0].ran, 2, 1e-9);
  EXPECT_EQ(profile.stages[0].fails, 0);
}

TEST(JobProfileTest, TheShapeIsOfNamesEdgesAndKindsAndNotOfSizes) {
  JobGraph graph = SmallMapReduceJob().graph;
  graph.stages[0].name = "map";
  const uint64_t shape = PlanShape(graph);
  JobGraph same = graph;
  same.stages[1].max_failures = 9;
  same.stages[1].memory_bytes = 1 << 30;
  EXPECT_EQ(PlanShape(same), shape);
  JobGraph name = graph, edge = graph, kind = graph, fewer = graph, input = graph;
  name.stages[0].name = "mop";
  edge.stages[1].inputs[0].edge = EdgeKind::kBroadcast;
  kind.stages[1].slot_kind = SlotKind::kReduce;
  fewer.stages.pop_back();
  input.stages[1].inputs.push_back(StageInput{});
  for (const JobGraph& other : {name, edge, kind, fewer, input}) EXPECT_NE(PlanShape(other), shape);
}

RunProfile Profile(std::vector<float> run, double fails = 0) {
  RunProfile profile;
  StageRuns stage;
  stage.name = "map";
  stage.tasks = static_cast<uint32_t>(run.size());
  stage.wait = stage.run = std::move(run);
  stage.fails = fails;
  profile.stages.push_back(stage);
  return profile;
}

TEST(JobProfileTest, EqualRunsAreMergedSampleBySample) {
  const RunProfile both = Merged(Profile({1, 3}), Profile({2, 4}));
  EXPECT_EQ(both.stages[0].run, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(both.runs, 2u);
  EXPECT_EQ(both.stages[0].tasks, 2u) << "of the later one";
  const RunProfile three = Merged(both, Profile({5, 6}));
  EXPECT_EQ(three.stages[0].run, (std::vector<float>{1, 2, 3, 4, 5, 6})) << "two runs weigh as two";
}

TEST(JobProfileTest, TheMeansOfTheLatestRunsAreKept) {
  RunProfile all = Profile({1});
  all.stages[0].means = {1};
  for (uint32_t run = 2; run <= kRunsRemembered + 2; ++run) {
    RunProfile next = Profile({1});
    next.stages[0].means = {static_cast<float>(run)};
    all = Merged(all, next);
    ASSERT_EQ(all.stages[0].means.size(), std::min(run, kRunsRemembered)) << "after " << run << " runs";
  }
  EXPECT_EQ(all.stages[0].means.front(), 3);
  EXPECT_EQ(all.stages[0].means.back(), kRunsRemembered + 2);
}

TEST(JobProfileTest, ARunOfManyTasksWeighsAsOneOfFew) {
  const RunProfile both = Merged(Profile(std::vector<float>(300, 1)), Profile({9, 9, 9}));
  const auto& run = both.stages[0].run;
  EXPECT_NEAR(static_cast<double>(std::count(run.begin(), run.end(), 9.0f)), run.size() / 2.0, 1);
}

TEST(JobProfileTest, WhatIsKeptIsBoundedAndSpreadOverAll) {
  std::vector<float> many(10'000);
  std::iota(many.begin(), many.end(), 0.0f);
  RunProfile profile = Profile({0});
  for (int i = 0; i < 20; ++i) profile = Merged(profile, Profile(many));
  const auto& run = profile.stages[0].run;
  EXPECT_EQ(run.size(), kStageSamples);
  EXPECT_TRUE(std::is_sorted(run.begin(), run.end()));
  EXPECT_NEAR(run[run.size() / 2], 5000, 200);
  EXPECT_NEAR(run[run.size() * 9 / 10], 9000, 200);
  EXPECT_EQ(profile.runs, 21u);
}

TEST(JobProfileTest, WhatChangedLongAgoIsForgotten) {
  RunProfile profile = Profile(std::vector<float>(100, 1), .5);
  for (int i = 0; i < 40; ++i) profile = Merged(profile, Profile(std::vector<float>(100, 2)));
  const auto& run = profile.stages[0].run;
  EXPECT_LE(std::count(run.begin(), run.end(), 1.0f), 10);
  EXPECT_LT(profile.stages[0].fails, .01);
}

TEST(JobProfileTest, AStageThatRanNoTaskTakesTheOthersSamples) {
  EXPECT_EQ(Merged(Profile({1, 2}), Profile({})).stages[0].run, (std::vector<float>{1, 2}));
  EXPECT_EQ(Merged(Profile({}), Profile({3})).stages[0].run, (std::vector<float>{3}));
}

TEST(JobProfileTest, SurvivesItsBinaryForm) {
  const RunProfile profile = Merged(Profile({1, 3}, .25), Profile({2}));
  RunProfile back;
  ASSERT_TRUE(DecodeFields(EncodeFields(profile), &back));
  EXPECT_EQ(EncodeFields(back), EncodeFields(profile));
  EXPECT_EQ(back.stages[0].run, profile.stages[0].run);
}

}  // namespace
}  // namespace mr::sched
