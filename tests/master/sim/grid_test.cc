// The grid's statistics and expected times, in cases worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "master/sim/grid/budget.h"
#include "master/sim/grid/expected.h"
#include "master/sim/grid/student.h"
#include "master/sim/grid/verdict.h"

namespace mr::sim {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Tables of Student's t (two-sided), and the closed forms for one and two degrees of freedom.
TEST(GridTest, StudentsBoundsAreThoseOfTheTables) {
  EXPECT_NEAR(StudentBound(.95, 19), 2.093024054408, 1e-9);
  EXPECT_NEAR(StudentBound(.99, 10), 3.169272672617, 1e-9);
  EXPECT_NEAR(StudentBound(.999, 5), 6.868826625, 1e-7);
  EXPECT_NEAR(StudentBound(.95, 1000), 1.962339080, 1e-7);
  for (const double inside : {.5, .95, .999, .9999}) {
    const double one = std::tan(kPi / 2 * inside), two = inside * std::sqrt(2 / (1 - inside * inside));
    EXPECT_NEAR(StudentBound(inside, 1) / one, 1, 1e-9) << inside;
    EXPECT_NEAR(StudentBound(inside, 2) / two, 1, 1e-9) << inside;
    for (const uint32_t freedom : {3u, 4u, 19u, 60u}) {
      EXPECT_NEAR(StudentInside(StudentBound(inside, freedom), freedom), inside, 1e-12);
    }
  }
}

// Ratios 1, 2 and 4: logarithms 0, l and 2 l with l = log 2, so a mean of l, a deviation of l, an error of l / sqrt 3.
TEST(GridTest, PairedRatiosHaveAGeometricMeanAndAnInterval) {
  const Ratio r = PairedRatio({1, 4, 12}, {1, 2, 3}, .95);
  const double half = std::log(2) / std::sqrt(3) * 4.302652729911;
  EXPECT_NEAR(r.value, 2, 1e-12);
  EXPECT_NEAR(r.low, 2 * std::exp(-half), 1e-9);
  EXPECT_NEAR(r.high, 2 * std::exp(half), 1e-8);
  EXPECT_EQ(r.pairs, 3u);
  EXPECT_EQ(PairedRatio({3}, {2}, .95).low, 0);
  EXPECT_TRUE(std::isinf(PairedRatio({3}, {2}, .95).high));
}

// Seeds with `jobs` jobs in the first bin, with these means; 95th percentiles are twice as long.
std::vector<SeedRun> Runs(const std::vector<double>& means, double jobs, double slot_seconds = 1000) {
  std::vector<SeedRun> runs;
  for (const double mean : means) {
    SeedRun& run = runs.emplace_back();
    run.bins[0] = {jobs, mean, 2 * mean};
    run.slot_seconds = slot_seconds;
  }
  return runs;
}

TEST(GridTest, TheReferenceIsTheBetterOneOverAllSeeds) {
  // The second is better over all seeds (a geometric mean of 10 for one of 12), though not on each.
  const auto first = Runs({12, 12, 12, 12}, 50), second = Runs({8, 12.5, 8, 12.5}, 50);
  const CellVerdict v = Judge(Runs({11, 11, 11, 11}, 50), {first, second}, .3, 1);
  EXPECT_EQ(v.mean[0].reference, 1u);
  EXPECT_NEAR(v.mean[0].ratio.value, 1.1, 1e-9);
  EXPECT_FALSE(v.fails) << "the interval reaches below the limit";
}

TEST(GridTest, ACellFailsWhenAnIntervalIsWhollyAboveTheLimit) {
  const auto reference = Runs({10, 20, 30}, 40);
  EXPECT_TRUE(Judge(Runs({10.3, 20.6, 30.9}, 40), {reference}, .3, 40).fails);
  EXPECT_FALSE(Judge(Runs({10.1, 20.2, 30.3}, 40), {reference}, .3, 40).fails);
  // Ratios 1.03, 1.05 and 1.04: an interval of 1.015 to 1.065 alone, and wider among 40 cells.
  const auto mixed = Runs({10.3, 21, 31.2}, 40);
  const Ratio alone = Judge(mixed, {reference}, .3, 1).mean[0].ratio,
              among = Judge(mixed, {reference}, .3, 40).mean[0].ratio;
  EXPECT_NEAR(alone.low, 1.0153, 1e-3);
  EXPECT_LT(among.low, alone.low);
}

TEST(GridTest, BinsWithFewJobsAreNotJudged) {
  const auto slow = [](double jobs) { return Judge(Runs({20, 20}, jobs), {Runs({10, 10}, jobs)}, .3, 1); };
  EXPECT_FALSE(slow(49).mean[0].judged);
  EXPECT_TRUE(slow(50).mean[0].fails);
  EXPECT_FALSE(slow(50).p95[0].judged);
  EXPECT_TRUE(slow(200).p95[0].fails);
  EXPECT_FALSE(slow(200).mean[1].judged) << "a bin without jobs";
  EXPECT_FALSE(Judge(Runs({20}, 1000), {Runs({10}, 1000)}, .3, 1).mean[0].judged) << "one seed has no interval";
}

TEST(GridTest, SlotTimeMayGrowWhereSlotsAreIdle) {
  const auto reference = Runs({10, 10}, 100);
  const auto costs = [&](double slot_seconds, double load) {
    return Judge(Runs({10, 10}, 100, slot_seconds), {reference}, load, 1).slot_time_fails;
  };
  EXPECT_FALSE(costs(1049, .9));
  EXPECT_TRUE(costs(1051, .9));
  EXPECT_FALSE(costs(1149, .5));
  EXPECT_TRUE(costs(1151, .5));
}

TEST(GridTest, AFailedJobFailsTheCell) {
  auto ours = Runs({10, 10}, 100);
  ours[1].failed = 1;
  EXPECT_TRUE(Judge(ours, {Runs({10, 10}, 100)}, .3, 1).fails);
}

TEST(GridTest, ABudgetIsFittedToEqualSlotTime) {
  int calls = 0;
  const auto fitted = [&](std::function<double(double)> slot_time) {
    calls = 0;
    const auto counted = [&](double budget) -> Result<double> { return ++calls, slot_time(budget); };
    return FitBudget(counted).value();
  };
  const FittedBudget inside = fitted([](double budget) { return .9 + 2 * budget; });
  EXPECT_NEAR(inside.budget, .05, .005 / 2);
  EXPECT_NEAR(inside.slot_time, 1, .005);
  EXPECT_LE(calls, 12);
  EXPECT_EQ(fitted([](double budget) { return .8 + budget / 10; }).budget, 1) << "it cannot spend as much";
  EXPECT_EQ(fitted([](double budget) { return 1.1 + budget; }).budget, kLeastBudget) << "it takes more without clones";
  EXPECT_EQ(calls, 1) << "no other budget needs a run then";
  // A jump from .97 to 1.2 at .3: the nearer side.
  const FittedBudget jump = fitted([](double budget) { return budget < .3 ? .97 : 1.2; });
  EXPECT_NEAR(jump.budget, .3, .001);
  EXPECT_EQ(jump.slot_time, .97);
  EXPECT_EQ(FitBudget([](double) -> Result<double> { return Internal("stopped"); }).status().code(), Code::kInternal);
}

TEST(GridTest, ABudgetStandsForEachMark) {
  EXPECT_EQ(WithBudget("fair,dolly(beta={budget}),opportunistic(share={budget})", .0625),
            "fair,dolly(beta=0.0625),opportunistic(share=0.0625)");
  EXPECT_EQ(WithBudget("fair,late", .5), "fair,late");
  EXPECT_FALSE(HasBudget("fair,late"));
}

TEST(GridTest, MeanFactorsAreThoseOfTheIntegral) {
  EXPECT_EQ(MeanFactor({}), 1);
  EXPECT_NEAR(MeanFactor({.3, 0}), std::exp(.045), 1e-12);
  // Pareto(2, 1) up to 2 e: 2 + 2 log e = 4.
  EXPECT_NEAR(MeanFactor({0, .1, 1, 2 * std::exp(1)}), .9 + .4, 1e-12);
  // Pareto(2, 2) up to 4: 2 + 4 (1 / 2 - 1 / 4) = 3.
  EXPECT_NEAR(MeanFactor({0, 1, 2, 4}), 3, 1e-12);
  EXPECT_NEAR(MeanFactor({0, .5, 1.26, 1.5}), 1.25, 1e-12) << "a cap below the tail's least value";
  const FactorModel usual{.15, .05};
  double sum = 0;
  constexpr uint32_t kDraws = 200'000;
  for (uint32_t i = 0; i < kDraws; ++i) sum += Draw(usual, Rng(i));
  EXPECT_NEAR(sum / kDraws, MeanFactor(usual), .005);
}

TEST(GridTest, ExpectedSecondsAreThoseOfTheBottleneck) {
  TaskModel m = Exact();
  m.output_disk = 1;
  // Two maps and two reduces of 100 MB each: 10 s of computing, and 2.5 s for the merge.
  const JobModel job = MapReduce(0, "j", 2, 200'000'000, 2, 200'000'000, 200'000'000);
  EXPECT_NEAR(ExpectedSeconds(job.stages[0], m, {240e6, 125e6, 4}), 10, 1e-9);
  EXPECT_NEAR(ExpectedSeconds(job.stages[0], m, {20e6, 125e6, 4}), 20, 1e-9) << "four share a disk";
  EXPECT_NEAR(ExpectedSeconds(job.stages[1], m, {240e6, 12.5e6, 2}), 16 + 2.5 + 10, 1e-9) << "two share a network";
  EXPECT_NEAR(ExpectedSeconds(job.stages[1], m, {10e6, 100e6, 2}), 2 + 2.5 + 20, 1e-9) << "the output's disk";
  JobModel timed = job;
  timed.stages[0].durations = {1, 3};
  EXPECT_NEAR(ExpectedSeconds(timed.stages[0], m, {1, 1, 4}), 2, 1e-9);
  EXPECT_NEAR(ExpectedSlotSeconds(timed, m, {240e6, 100e6, 1}), 2 * 2 + 2 * (1 + 2.5 + 10), 1e-9);
}

}  // namespace
}  // namespace mr::sim
