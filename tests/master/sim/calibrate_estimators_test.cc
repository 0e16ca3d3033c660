// The estimators of `mrsim calibrate` recover known parameters from synthetic records, and find none where there is
// none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "master/sim/calibrate/fit.h"
#include "tests/master/sim/synthetic_record.h"

namespace mr::sim {
namespace {

using testing::HasSubstr;

TEST(ShapeTest, ClampedVarianceHasItsLimits) {
  EXPECT_EQ(ClampedVariance(0, 1), 0);
  EXPECT_NEAR(ClampedVariance(0.1, 10), 0.01, 1e-12);
  EXPECT_NEAR(ClampedVariance(1000, 2), 4, 1e-2);
  EXPECT_NEAR(ClampedVariance(1, 1), 0.198748 + 0.317311, 1e-5);  // E[X^2; |X| < 1] + P(|X| > 1)
}

TEST(ShapeTest, JointTailIsTheQuadrantOfANormalPair) {
  EXPECT_EQ(JointTail(1, 0, 0), 0);
  for (const double t : {0.1, 0.5, 0.9}) EXPECT_NEAR(JointTail(1, t, 0), std::asin(t) / 6.283185307, 1e-4) << t;
}

TEST(ShapeTest, BodyAndTailAreRecovered) {
  const Drawn truth{.sigma = 0.15, .tail = 0.05, .tail_alpha = 1.5, .tail_cap = 20};
  const Fit fit = FitOf("x", Synthetic{.luck = truth, .jobs = 100, .tasks = 200}.Draw());
  ASSERT_TRUE(fit.fitted);
  EXPECT_NEAR(fit.luck.sigma, truth.sigma, 0.1 * truth.sigma);
  EXPECT_NEAR(fit.luck.tail, truth.tail, 0.15 * truth.tail);
  EXPECT_NEAR(fit.luck.tail_alpha, truth.tail_alpha, 0.15 * truth.tail_alpha);
  EXPECT_NEAR(fit.luck.tail_cap, truth.tail_cap, 0.2 * truth.tail_cap);
}

TEST(ShapeTest, AWideBodyIsNoTail) {
  const Fit fit = FitOf("x", Synthetic{.luck = {.sigma = 0.5}, .jobs = 100, .tasks = 200}.Draw());
  EXPECT_NEAR(fit.luck.sigma, 0.5, 0.03);
  EXPECT_EQ(fit.luck.tail, 0);
  EXPECT_GT(fit.whole.over, 1000u);
}

TEST(MachineTest, SigmaAndDurationAreRecovered) {
  const Synthetic record{.machine = {.sigma = 0.2}, .luck = {.sigma = 0.15}, .lasts = 600, .jobs = 60, .span = 6000};
  const Fit fit = FitOf("x", record.Draw());
  ASSERT_EQ(fit.machine.found, Found::kFitted) << fit.machine.why;
  EXPECT_NEAR(fit.machine.sigma, 0.2, 0.03);
  EXPECT_NEAR(fit.luck.sigma, 0.15, 0.0225);
  EXPECT_TRUE(fit.decay.bounded);
  EXPECT_GT(fit.decay.lasts, 600 / 1.5);
  EXPECT_LT(fit.decay.lasts, 600 * 1.5);
  EXPECT_LT(std::abs(fit.pairs.all.control), 0.002);
}

TEST(MachineTest, AFactorThatOutlastsTheRecordHasOnlyALowerBound) {
  const Synthetic record{.machine = {.sigma = 0.2}, .luck = {.sigma = 0.15}, .jobs = 60, .span = 1000};
  const Fit fit = FitOf("x", record.Draw());
  EXPECT_NEAR(fit.machine.sigma, 0.2, 0.03);
  EXPECT_TRUE(fit.decay.fitted);
  EXPECT_FALSE(fit.decay.bounded);
  EXPECT_GT(fit.decay.low, 1000);
}

TEST(MachineTest, WithoutAnEffectNoneIsFound) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Synthetic record{
        .skew = {.sigma = 0.2}, .luck = {.sigma = 0.2, .tail = 0.03}, .jobs = 20, .span = 6000, .seed = seed};
    const Fit fit = FitOf("x", record.Draw());
    EXPECT_LT(std::abs(fit.pairs.all.value), 4 * fit.pairs.all.error) << seed;
    EXPECT_LT(std::abs(fit.pairs.all.value), 0.01) << seed;
    found += fit.machine.found == Found::kFitted;
  }
  EXPECT_LE(found, 2);  // two standard errors on one side: one in 44
}

// Centring a stage of K machines puts -sigma^2 / K into pairs on two machines, and the same into those on one.
TEST(MachineTest, CentringAStageOfThreeMachinesCancelsOut) {
  const Synthetic record{
      .machine = {.sigma = 0.2}, .luck = {.sigma = 0.1}, .jobs = 300, .tasks = 60, .workers = 3, .own_workers = true};
  const Fit fit = FitOf("x", record.Draw());
  EXPECT_NEAR(fit.machine.sigma, 0.2, 0.02);
  EXPECT_NEAR(fit.pairs.all.control, -0.04 / 3, 0.003);
}

TEST(MachineTest, SlowMachinesAreATailOfTheirOwn) {
  const Synthetic record{
      .machine = {.sigma = 0.1, .tail = 0.04}, .luck = {.sigma = 0.15}, .jobs = 80, .workers = 600, .span = 1000};
  const Fit fit = FitOf("x", record.Draw());
  // Both attempts of a pair are above 2 on about four of five slow machines.
  EXPECT_GT(fit.machine.tail, 0.02);
  EXPECT_LT(fit.machine.tail, 0.045);
  EXPECT_NEAR(fit.machine.sigma, 0.1, 0.03);
  EXPECT_LT(fit.luck.tail, fit.machine.tail);
}

TEST(MachineTest, FewMachinesAreNoDistribution) {
  const Fit fit =
      FitOf("x", Synthetic{.machine = {.sigma = 0.3}, .luck = {.sigma = 0.1}, .workers = 9, .span = 100}.Draw());
  EXPECT_EQ(fit.machine.found, Found::kUnknown);
  EXPECT_THAT(fit.machine.why, HasSubstr("9 machines with"));
  EXPECT_EQ(fit.luck.why, "the whole spread: machine, skew and luck together");
}

TEST(SkewTest, RepeatedTasksGiveTheirOwnPart) {
  const Synthetic record{.skew = {.sigma = 0.25}, .luck = {.sigma = 0.15}, .jobs = 6, .tasks = 500, .repeats = true};
  const Fit fit = FitOf("x", record.Draw());
  ASSERT_EQ(fit.skew.found, Found::kFitted) << fit.skew.why;
  EXPECT_NEAR(fit.skew.sigma, 0.25, 0.025);
  EXPECT_NEAR(fit.luck.sigma, 0.15, 0.0225);
  EXPECT_NEAR(fit.skew.share, 0.0625 / 0.085, 0.08);
}

TEST(SkewTest, WithoutSkewNoneIsFound) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Synthetic record{
        .machine = {.sigma = 0.2}, .luck = {.sigma = 0.2}, .jobs = 4, .tasks = 500, .repeats = true, .seed = seed};
    const Fit fit = FitOf("x", record.Draw());
    EXPECT_LT(std::abs(fit.task_pairs.value), 4 * fit.task_pairs.error) << seed;
    found += fit.skew.found == Found::kFitted;
  }
  EXPECT_LE(found, 2);
}

TEST(SkewTest, ATaskThatReturnsToItsMachineDoesNotPassForSkew) {
  const Synthetic record{.machine = {.sigma = 0.3},
                         .luck = {.sigma = 0.15},
                         .jobs = 6,
                         .tasks = 600,
                         .workers = 20,
                         .repeats = true,
                         .pinned = true};
  const Fit fit = FitOf("x", record.Draw());
  EXPECT_LT(std::abs(fit.task_pairs.value), 4 * fit.task_pairs.error);
  EXPECT_LT(fit.skew.sigma, 0.03);
}

TEST(SkewTest, BytesExplainTheirPart) {
  const Synthetic record{.luck = {.sigma = 0.15}, .jobs = 40, .bytes_spread = 0.25};
  const Fit fit = FitOf("x", record.Draw());
  ASSERT_EQ(fit.skew.found, Found::kFitted) << fit.skew.why;
  EXPECT_TRUE(fit.skew_by_bytes);
  EXPECT_NEAR(fit.skew.sigma, 0.25, 0.025);
  EXPECT_NEAR(fit.luck.sigma, 0.15, 0.02);
}

TEST(SampleTest, WhatCannotBeComparedIsCounted) {
  std::vector<ObservedStage> stages(5);
  const auto add = [](ObservedStage* stage, int n, double seconds, ObservedEnd end = ObservedEnd::kSucceeded) {
    for (int i = 0; i < n; ++i) stage->attempts.push_back({.seconds = seconds, .end = end});
  };
  for (ObservedStage& stage : stages) stage.name = "s";
  add(&stages[0], 30, 10);
  add(&stages[0], 2, 0);
  add(&stages[0], 3, 5, ObservedEnd::kFailed);
  add(&stages[0], 4, 5, ObservedEnd::kKilled);
  add(&stages[0], 1, 21, ObservedEnd::kKilled);
  add(&stages[1], 19, 10);
  add(&stages[2], 25, 0.5);
  add(&stages[3], 70, 10);
  add(&stages[3], 30, 30);
  add(&stages[4], 50, 1);
  stages[4].kind = ObservedKind::kFresh;
  const Sample sample = SampleOf(stages);
  EXPECT_EQ(sample.attempts.size(), 30u);
  EXPECT_EQ(sample.left_out.untimed, 2u);
  EXPECT_EQ(sample.left_out.failed, 3u);
  EXPECT_EQ(sample.left_out.killed, 5u);
  EXPECT_EQ(sample.left_out.killed_late, 1u);
  EXPECT_EQ(sample.left_out.small, 19u);
  EXPECT_EQ(sample.left_out.brief, 25u);
  EXPECT_EQ(sample.left_out.mixed, 100u);
}

TEST(FitTest, QuantilesOfTheFitAreThoseOfTheRecord) {
  const Synthetic record{.machine = {.sigma = 0.15},
                         .skew = {.sigma = 0.1},
                         .luck = {.sigma = 0.15, .tail = 0.02},
                         .lasts = 900,
                         .jobs = 100,
                         .span = 5000};
  const Fit fit = FitOf("x", record.Draw());
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(fit.fitted_factor.at[i], fit.factor.at[i], 0.1 * fit.factor.at[i]) << i;
    // The largest of a hundred stages has no more than luck to say.
    if (i == 2) continue;
    EXPECT_NEAR(fit.fitted_slowest.at[i], fit.slowest.at[i], 0.2 * fit.slowest.at[i]) << i;
  }
}

TEST(FitTest, StartupComesFromAttemptsWithoutWorkOrOnNewExecutors) {
  std::vector<ObservedStage> idle = Synthetic{.luck = {.sigma = 0.1}}.Draw();
  ObservedStage& setup = idle.emplace_back();
  setup.kind = ObservedKind::kNoWork;
  for (int i = 0; i < 20; ++i) setup.attempts.push_back({.seconds = i % 2 == 0 ? 1.0 : 3.0});
  const Fit a = FitOf("x", idle);
  EXPECT_NEAR(a.startup.mean, 2, 1e-9);
  EXPECT_NEAR(a.startup.sigma, std::log(3) / 2 * std::sqrt(20.0 / 19), 1e-9);

  std::vector<ObservedStage> fresh = Synthetic{.luck = {.sigma = 0.01}}.Draw();
  for (size_t i = 0, n = fresh.size(); i < n; ++i) {
    ObservedStage& stage = fresh.emplace_back();
    stage.job = fresh[i].job;
    stage.name = fresh[i].name;
    stage.kind = ObservedKind::kFresh;
    stage.attempts.push_back({.seconds = 104});
  }
  const Fit b = FitOf("x", fresh);
  EXPECT_NEAR(b.startup.mean, 4, 0.3);
  EXPECT_LT(b.startup.sigma, 0);
}

TEST(FitTest, TooFewAttemptsGiveWordsAndNoNumbers) {
  const Fit fit = FitOf("x", Synthetic{.luck = {.sigma = 0.1}, .jobs = 1, .tasks = 50}.Draw());
  EXPECT_FALSE(fit.fitted);
  EXPECT_THAT(fit.why_not, HasSubstr("50 attempts in stages of 20"));
}

}  // namespace
}  // namespace mr::sim
