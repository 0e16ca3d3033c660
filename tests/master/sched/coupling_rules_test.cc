// The Coupling Scheduler's formulas (Tan et al., INFOCOM'13, algorithms 1 and 3), by vectors computed apart from them.
#include "master/sched/policies/coupling/coupling_rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "master/sched/policies/coupling/fixed_math.h"

namespace mr::sched {
namespace {

TEST(FixedMathTest, ExpAndLogAgreeWithTheLibrarys) {
  for (double x = -50; x < 50; x += .0371) EXPECT_NEAR(FixedExp(x) / std::exp(x), 1, 1e-13) << x;
  for (double x = 1e-9; x < 1e9; x *= 1.37)
    EXPECT_NEAR(FixedLog(x), std::log(x), 1e-13 + 1e-14 * std::abs(std::log(x))) << x;
  EXPECT_EQ(FixedExp(0), 1);
  EXPECT_EQ(FixedExp(-1e9), 0);
  EXPECT_EQ(FixedLog(1), 0);
}

TEST(CouplingRulesTest, DeltaOfThePapersThreshold) {
  const double deltas[][2] = {{1, .283}, {2, .487}, {3, .632}, {5, .811}, {6, .865}, {15, .993}, {27, .9999}};
  for (const auto& [reduces, delta] : deltas)
    EXPECT_NEAR(CouplingDelta(static_cast<uint64_t>(reduces), 3), delta, .0005);
}

TEST(CouplingRulesTest, MismatchOfAJobOf427MapsAnd15Reduces) {
  EXPECT_NEAR(Mismatch({427, 28, 300, 15, 15}, 3), -.0006, .00005);
  EXPECT_NEAR(Mismatch({427, 29, 300, 15, 15}, 3), .0017, .00005);
  EXPECT_NEAR(Mismatch({427, 100, 300, 15, 13}, 3), .0358, .00005);
  EXPECT_NEAR(Mismatch({427, 427, 0, 15, 5}, 3), 4.2, 1e-12);
  EXPECT_EQ(Mismatch({427, 427, 0, 15, 0}, 3), 0);
  EXPECT_EQ(Mismatch({0, 0, 0, 4, 4}, 3), 4.25) << "nothing to wait for";
}

TEST(CouplingRulesTest, ChanceOfAMapWithoutItsInput) {
  EXPECT_NEAR(PeekBeta(400, 20), 1.0, .0005);
  EXPECT_NEAR(PeekChance(1, PeekBeta(400, 20), 7.0 / 15, 20), .533, .0005);
  EXPECT_NEAR(PeekBeta(5, 20), .299, .0005);
  EXPECT_NEAR(PeekChance(1, PeekBeta(5, 20), 7.0 / 15, 20), .204, .0005);
  EXPECT_EQ(PeekChance(1, PeekBeta(5, 0), 7.0 / 15, 0), 1) << "no slot is free elsewhere";
  EXPECT_NEAR(PeekBeta(10, 30), .355, .0005);
  EXPECT_NEAR(PeekChance(.7, PeekBeta(10, 30), .1, 30), .691, .0005);
  EXPECT_EQ(PeekChance(1, 1, 0, 30), 1) << "nobody has its input";
}

}  // namespace
}  // namespace mr::sched
