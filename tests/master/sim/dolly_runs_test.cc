// Measurements of runs of Dolly's workloads.
#include "master/sim/studies/dolly_runs.h"

#include <gtest/gtest.h>

namespace mr::sim {
namespace {

TEST(DollyRunsTest, ClonesOfTheBudgetAndOnIdleSlotsAreCountedApart) {
  constexpr uint32_t kJobs = 20;
  const auto late = RunDolly(DollyRun(DollyMix::kFacebook, kJobs, "fair,late", 1), false);
  const auto dolly = RunDolly(DollyRun(DollyMix::kFacebook, kJobs, "fair,dolly", 1), false);
  const auto lend = RunDolly(DollyRun(DollyMix::kFacebook, kJobs, "fair,opportunistic", 1), false);
  ASSERT_TRUE(late.ok() && dolly.ok() && lend.ok());
  EXPECT_EQ(late->budgeted, 0);
  EXPECT_EQ(late->lent, 0);
  EXPECT_GT(dolly->budgeted, 0);
  EXPECT_EQ(dolly->lent, 0);
  EXPECT_EQ(lend->budgeted, 0);
  EXPECT_GT(lend->lent, 0);
  EXPECT_LT(lend->lent, lend->busy);
}

TEST(DollyRunsTest, TheBinThatGainsLeastIsOneThatHasJobs) {
  DollyOutcome base, ours;
  base.jobs = {8, 0, 2, 0, 0, 10};
  base.mean = {10, 0, 100, 0, 0, 28};
  ours = base;
  ours.mean = {5, 0, 105, 0, 0, 25};
  EXPECT_NEAR(LeastOfBins(ours, base), -5, 1e-9);
  EXPECT_NEAR(LeastOfBins(base, base), 0, 1e-9);
}

}  // namespace
}  // namespace mr::sim
