// Speculation by the numbers of its papers: small clusters in virtual time, driven event by event.
#include <gmock/gmock.h>

#include <cmath>

#include "common/base/rng.h"
#include "master/sched/pipeline.h"
#include "master/sched/policies/late/reasons.h"
#include "master/sched/policies/late/time_left.h"
#include "master/sched/scheduler.h"
#include "master/sched/state/state.h"
#include "tests/master/sched/nodes.h"

namespace mr::sched {
namespace {

// LATE, section 4: ten nodes at a minute a task, X at 2.9, Y at 10; X asks before the others do.
std::vector<double> SlowNodeExample() {
  std::vector<double> minutes(10, 60);
  minutes.insert(minutes.begin(), {2.9 * 60, 600});
  return minutes;
}

TEST(LateTest, WithoutItsThresholdASlowNodeTakesTheSpeculativeAttempt) {
  Nodes nodes("fifo,late(slow_node=0)", SlowNodeExample());
  EXPECT_NEAR(nodes.Run(32), 5.8 * 60, 3);
  EXPECT_EQ(nodes.speculative(), 1);
}

TEST(LateTest, WithItsThresholdTheSpeculativeAttemptWaitsForAFastNode) {
  Nodes nodes("fifo,late", SlowNodeExample());
  EXPECT_NEAR(nodes.Run(32), 4.0 * 60, 3);
  EXPECT_EQ(nodes.speculative(), 1);
}

TEST(LateTest, WithoutSpeculationTheSlowestNodeIsWaitedFor) {
  Nodes nodes("fifo", SlowNodeExample());
  EXPECT_NEAR(nodes.Run(32), 600, 3);
}

TEST(LateTest, ShortTasksNeedAShorterMinimalAge) {
  const std::vector<double> nodes = {1, 1, 1, 1, 1, 20};
  EXPECT_NEAR(Nodes("fifo,late", nodes).Run(6), 20, 0.5);
  EXPECT_NEAR(Nodes("fifo,late(min_age=1s)", nodes).Run(6), 2.5, 1);
}

// With the default list tasks of a second get a speculative attempt within seconds. Of tasks that differ by a tenth
// few get one, though the slowest quarter is always below the percentile.
TEST(LateTest, TheDefaultListSuitsShortTasksAndWastesLittleOnLongOnes) {
  std::vector<double> short_ones(10, 1), long_ones;
  short_ones[3] = 20;
  EXPECT_NEAR(Nodes(kDefaultPolicies, short_ones).Run(10), 2.3, 0.4);
  for (int i = 0; i < 30; ++i) long_ones.push_back(60 + i % 7);
  Nodes usual(kDefaultPolicies, long_ones), paper("fifo,late(min_age=1s)", long_ones);
  usual.Run(20);
  paper.Run(20);
  EXPECT_LE(usual.speculative(), 2);
  EXPECT_GT(paper.speculative(), 4);
}

// skew_check computes an attempt's wait from the ends of upstream tasks. A policy without it does not keep them.
TEST(SpeculationTest, WhoAsksForSkewKeepsWhenUpstreamTasksEnded) {
  for (const std::string policy : {"hadoop_speculation", "dryad_speculation", "spark_speculation"}) {
    for (const bool check : {true, false}) {
      const auto list = Pipeline::Parse("fifo," + policy + (check ? "(skew_check=on)" : ""));
      ASSERT_TRUE(list.ok()) << list.status().ToString();
      EXPECT_EQ(list->needs().statistics.rates, check) << policy;
    }
  }
}

// The end-of-phase baseline, and those that look at every attempt, on the same nodes.
TEST(SpeculationTest, EachPolicyActsAtItsOwnTime) {
  std::vector<double> nodes(20, 10);
  nodes[0] = 100;  // 9 % done when the others are
  EXPECT_NEAR(Nodes("fifo", nodes).Run(20), 100, 0.5);
  EXPECT_NEAR(Nodes("fifo,dryad_speculation", nodes).Run(20), 20, 0.5);
  EXPECT_NEAR(Nodes("fifo,spark_speculation", nodes).Run(20), 40, 1.5)
      << "3 x the median, and then a speculative attempt";
  EXPECT_NEAR(Nodes("fifo,hadoop_speculation", nodes).Run(20), 70, 1.5) << "it waits for its minute";
  EXPECT_NEAR(Nodes("fifo,late(min_age=20s)", nodes).Run(20), 30, 1.5);
}

// Compares with the simulation of the public note "Deep dive: stragglers and speculation". It has 1000 nodes, 15 s a
// task (lognormal, sigma 0.1), 2 % of the nodes ten times slower. It gives 185.5 s without speculation, 37.5 s with
// backups at 95 %, 30.0 s with LATE. It does not give LATE's minimal age; with that of a usual task the time fits.
TEST(SpeculationTest, AThousandNodesWithTwoPercentSlowOnes) {
  Rng rng(11);
  std::vector<double> nodes;
  for (int i = 0; i < 1000; ++i) {
    double normal = -6;
    for (int k = 0; k < 12; ++k) normal += rng.Uniform();
    nodes.push_back(15 * std::exp(0.1 * normal) * (i % 50 == 7 ? 10 : 1));
  }
  Nodes none("fifo", nodes, false), backups("fifo,dryad_speculation", nodes, false),
      late("fifo,late(min_age=15s)", nodes, false);
  EXPECT_NEAR(none.Run(1000), 185.5, 15);
  EXPECT_NEAR(backups.Run(1000), 37.5, 3);
  EXPECT_NEAR(backups.speculative(), 39, 15);
  EXPECT_NEAR(late.Run(1000), 30, 3);
  EXPECT_GE(late.speculative(), 100) << "the cap";
}

// LATE, section 4.4: 5 %/s to the half, then 1 %/s; started at 0 and at 10, seen at 20. The estimates
// are 13.3 s and 10 s, so that the first gets a speculative attempt, though the second ends later in truth.
TEST(LateTest, ItsEstimateIsWrongWhereProgressSlowsDown) {
  SteppedScheduler run;
  run.Send(0, ConfigChanged{"fifo,late(min_age=1s,slow_task=0.5)", 1, kSchedulerVersion, Millis(100)});
  for (const uint32_t w : {1u, 2u}) run.Send(0, OneSlotWorker(w));
  run.Send(0, SmallMapJob());
  run.Send(0, StagePlanned{{1, 1}, 0, 1, std::vector<TaskPlan>(5), ""});  // 0 on w1, 1 on w2
  run.Report(0, 0, 1, 0, 0);
  run.Report(0, 1, 2, 0, 0);
  for (uint32_t t = 1; t <= 3; ++t) {
    run.Finish(3 * t, t, 2);
    run.Report(3 * t, t + 1, 2, 0, 0);
  }
  // Task 4 began on w2 at 9 s; by 20 s it is as if it had begun at 10.
  run.Report(20, 4, 2, 0, 55);
  run.Report(20, 0, 1, 0, 60);
  run.Send(20, OneSlotWorker(3));
  run.Send(20.1, TimerDue{"core", 0});
  const Launch* last = nullptr;
  for (const Decision& d : run.out) {
    if (const auto* launch = std::get_if<Launch>(&d)) last = launch;
  }
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->attempt.task.task, 0u);
  EXPECT_EQ(last->reason.code, LateReason::kLongestToEnd);
  EXPECT_NEAR(last->reason.numbers[0], 13.3, 0.1);
  EXPECT_THAT(Explain(last->reason), testing::HasSubstr("[late]"));
}

// The same two by phases (here: halves). At 20 the first is in the second half for 10 s and has a fifth
// of it: 40 s to go. The second is about to begin that half, which takes 50 s at the rate of the first.
TEST(LateTest, ByPhasesTheOrderIsTheTrueOne) {
  const std::vector<double> usual = {10, 50};
  EXPECT_NEAR(*LeftByPhases(usual, 1, 0.2, 10), 40, 1e-9);
  EXPECT_NEAR(*LeftByPhases(usual, 0, 1, 10), 50, 1e-9);
  EXPECT_NEAR(*LeftByPhases(usual, 1, 0, 4), 46, 1e-9) << "nothing of its own is known in this phase";
  EXPECT_FALSE(LeftByPhases({10, 0}, 0, 0.5, 5).has_value()) << "nobody has been in the second half";
}

// Read from 1 s on, a tenth of the input per second. A report that arrives late makes the last reports look fast, a
// slow start the whole phase slow.
TEST(LateTest, TheRestIsBetweenThatAtItsLastPaceAndThatOfItsWholePhase) {
  const State state;
  Attempt a;
  a.state = AttemptState::kRunning;
  a.started_at = a.reduce_at = {Seconds(1).ns};
  const auto at = [](double seconds) { return Instant{FromSeconds(seconds).ns}; };
  const auto left = [&](std::vector<Sample> samples, double now) {
    a.samples = {samples.begin(), samples.end()};
    return LeftAtPace(View(state, at(now)), a);
  };
  const auto steady = left({{at(2), 0, 100, 1000, 0}, {at(3), 0, 200, 1000, 0}}, 3);
  ASSERT_TRUE(steady.has_value());
  EXPECT_NEAR(steady->least, 8, 1e-9);
  EXPECT_NEAR(steady->most, 8, 1e-9);
  const auto late = left({{at(2.9), 3, 100, 1000, 0}, {at(3), 3, 200, 1000, 0}}, 3);
  ASSERT_TRUE(late.has_value());
  EXPECT_NEAR(late->least, .8, 1e-9);
  EXPECT_NEAR(late->most, 8, 1e-9);
  EXPECT_FALSE(left({{at(3), 0, 200, 1000, 0}}, 3).has_value()) << "one report shows no pace";
  EXPECT_FALSE(left({{at(2), 1, 100, 1000, 0}, {at(3), 1, 200, 1000, 0}}, 3).has_value())
      << "what later phases take is not known while it copies";
  EXPECT_FALSE(left({{at(2), 0, 100, 1000, 0}, {at(3), 0, 1000, 1000, 0}}, 3).has_value())
      << "it has read all, and still runs";
}

// Reduces with a slow last phase: by the score task 1, which was long in its copy phase, ends last (32 s
// against 23 s); by phases it is task 0, which is slower than others in the phase that counts (224 s
// against 170 s).
TEST(LateTest, TheEstimatorByPhasesChoosesAnotherReduce) {
  const auto chosen = [](const std::string& late) {
    SteppedScheduler run;
    // Task t runs on worker t + 1.
    const auto report = [&](double at, uint32_t task, uint8_t phase, uint64_t percent) {
      run.Report(at, task, task + 1, phase, percent);
    };
    run.Send(0, ConfigChanged{"fifo," + late, 1, kSchedulerVersion, Millis(100)});
    for (uint32_t w = 1; w <= 4; ++w) run.Send(0, OneSlotWorker(w));
    run.Send(0, SmallMapJob());
    run.Send(0, StagePlanned{{1, 1}, 0, 1, std::vector<TaskPlan>(3), ""});
    for (uint32_t t = 0; t < 3; ++t) report(0, t, 1, 1);
    // Task 2 shows what phases take: 2 s, 2 s and 60 s.
    report(2, 2, 2, 50);
    report(4, 2, 3, 1);
    report(4, 0, 2, 50);
    report(8, 0, 3, 1);
    report(64, 2, 3, 100);
    run.Finish(64, 2, 3);
    report(64, 1, 2, 99);
    report(64, 0, 3, 20);
    run.Send(64.1, TimerDue{"core", 0});
    for (const Decision& d : run.out) {
      if (const auto* launch = std::get_if<Launch>(&d)) return static_cast<int>(launch->attempt.task.task);
    }
    return -1;
  };
  const std::string options = "min_age=1s,slow_task=1,slow_node=0,cap=0.1";
  EXPECT_EQ(chosen("late(" + options + ",estimator=phases)"), 0);
  EXPECT_EQ(chosen("late(" + options + ")"), 1);
}

}  // namespace
}  // namespace mr::sched
