// Dolly's numbers of clones, budget and chances: vectors computed from the formulas of NSDI'13, sections 3 and 4.
#include <gtest/gtest.h>

#include "master/sched/policies/dolly/dolly_rules.h"

namespace mr::sched {
namespace {

TEST(DollyRulesTest, CloneCountsOfThePapersTable) {
  const std::vector<uint32_t> tasks = {1, 2, 5, 10, 20, 50, 100, 150, 500, 1000};
  const struct {
    double p;
    std::vector<uint32_t> counts;
  } rows[] = {{.02, {1, 1, 2, 2, 2, 2, 2, 3, 3, 3}},
              {.05, {1, 2, 2, 2, 2, 3, 3, 3, 4, 4}},
              {.10, {2, 2, 2, 3, 3, 3, 4, 4, 4, 5}},
              {.20, {2, 3, 3, 4, 4, 5, 5, 5, 6, 7}},
              {.30, {3, 4, 4, 5, 5, 6, 7, 7, 8, 9}}};
  for (const auto& row : rows) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      EXPECT_EQ(CloneCount(row.p, tasks[i], .05), row.counts[i]) << "p " << row.p << ", n " << tasks[i];
    }
  }
}

TEST(DollyRulesTest, CloneCountIsTheSmallestThatSuffices) {
  for (const double p : {1e-6, .01, .07, .25, .5}) {
    for (const uint32_t n : {1u, 3u, 17u, 1000u, 1000000u}) {
      for (const double epsilon : {.2, .05, 1e-4}) {
        const uint32_t c = CloneCount(p, n, epsilon);
        EXPECT_LE(TaskLevelStraggles(p, n, c), epsilon * (1 + 1e-9));
        if (c > 1) {
          EXPECT_GT(TaskLevelStraggles(p, n, c - 1), epsilon);
        }
      }
    }
  }
}

TEST(DollyRulesTest, CloneCountAtItsEdges) {
  EXPECT_EQ(CloneCount(0, 1000, .05), 1u);
  EXPECT_EQ(CloneCount(.3, 0, .05), 1u);
  EXPECT_EQ(CloneCount(.3, 10, 1), 1u);
  EXPECT_EQ(CloneCount(.05, 1, .05), 1u) << "just enough is enough";
  EXPECT_EQ(CloneCount(.1, 1, .01), 2u) << ".1 * .1 is more than .01 for a double";
  EXPECT_EQ(CloneCount(1, 1, .05), kMostClones) << "no number is enough, and counting ends";
  EXPECT_EQ(CloneCount(.5, 1, 0), kMostClones);
  EXPECT_EQ(CloneCount(.5, UINT32_MAX, .05), 37u) << "log2(2^32 / .0513) = 36.3";
}

TEST(DollyRulesTest, TaskLevelCloningNeedsFewerClonesThanJobLevel) {
  EXPECT_NEAR(JobLevelStraggles(.1, 10, 2), .424, 5e-4);
  EXPECT_NEAR(TaskLevelStraggles(.1, 10, 2), .096, 5e-4);
  EXPECT_NEAR(JobLevelStraggles(.1, 10, 3), .276, 5e-4);
  EXPECT_NEAR(TaskLevelStraggles(.1, 10, 3), .010, 5e-4);
  EXPECT_EQ(StrandCount(.1, 10, .05, 100), 7u) << ".651^7 = .0497";
  EXPECT_EQ(CloneCount(.1, 10, .05), 3u);
  EXPECT_EQ(StrandCount(.1, 10, .05, 4), 4u) << "capped";
  EXPECT_EQ(StrandCount(.05, 1, .05, 4), 1u);
}

// Successes so near to 1 that a double cannot hold them still leave the right chance of failure.
TEST(DollyRulesTest, SmallChancesAreNotLost) {
  EXPECT_NEAR(TaskLevelStraggles(.01, 1000, 10) / 1e-17, 1, 1e-6);
  EXPECT_NEAR(CcStraggles(.01, 1000, 10) / 2e-17, 1, 1e-6);
}

TEST(DollyRulesTest, ContentionAvoidedOrNot) {
  const struct {
    double p;
    uint32_t n, c;
    double cac, cc;
  } vectors[] = {{.05, 10, 2, .281, .049}, {.05, 10, 3, .047, .002}, {.05, 20, 2, .583, .095},
                 {.05, 20, 3, .128, .005}, {.10, 10, 3, .233, .020}, {.10, 20, 3, .486, .039}};
  for (const auto& v : vectors) {
    EXPECT_NEAR(CacStraggles(v.p, v.n, v.c), v.cac, 5e-4) << v.p << " " << v.n << " " << v.c;
    EXPECT_NEAR(CcStraggles(v.p, v.n, v.c), v.cc, 5.1e-4) << v.p << " " << v.n << " " << v.c;
  }
}

// "Over 10 % and 30 %" for jobs of 10 and of 20 tasks with three clones.
TEST(DollyRulesTest, TheGapBetweenThemIsThePapers) {
  const auto gap = [](double p, uint32_t n) { return CacStraggles(p, n, 3) - CcStraggles(p, n, 3); };
  EXPECT_NEAR(gap(.075, 10), .116, 5e-4);
  EXPECT_NEAR(gap(.075, 20), .279, 5e-4);
  EXPECT_NEAR(gap(.08, 10), .134, 5e-4);
  EXPECT_NEAR(gap(.08, 20), .314, 5e-4);
}

// The paper prints Psi(d) - Psi(d-1), a misprint: it gives a "chance" of 1.24 at p = .05, n = 10, c = 1.
TEST(DollyRulesTest, ChancesStayChances) {
  EXPECT_NEAR(CacStraggles(.05, 10, 1), CcStraggles(.05, 10, 1), 1e-12) << "one clone: nothing to avoid";
  for (const double p : {0.0, .01, .2, .5, .9, 1.0}) {
    for (const uint32_t n : {1u, 10u, 1000u}) {
      for (const uint32_t c : {1u, 2u, 5u, 20u, kMostClones}) {
        const double cac = CacStraggles(p, n, c), cc = CcStraggles(p, n, c);
        EXPECT_GE(cc, 0);
        EXPECT_GE(cac, cc * (1 - 1e-9)) << p << " " << n << " " << c;
        EXPECT_LE(cac, 1 + 1e-9);
      }
    }
  }
}

TEST(DollyBudgetTest, AllTasksOrNoneWithinBetaAndTau) {
  const Budget paper;  // 150 machines with 12 slots: a budget of 90, and 1440 for all
  const auto admits = [&](uint64_t used_budget, uint32_t clones, uint64_t tasks, uint64_t used_slots) {
    return Admits(used_budget, DemandOf(clones, tasks, paper), used_slots, 1800, paper);
  };
  EXPECT_TRUE(admits(0, 3, 30, 0));
  EXPECT_FALSE(admits(0, 2, 46, 0));
  EXPECT_TRUE(admits(60, 3, 10, 0));
  EXPECT_FALSE(admits(61, 3, 10, 0));
  EXPECT_TRUE(admits(0, 3, 10, 1410));
  EXPECT_FALSE(admits(0, 3, 10, 1411));
  EXPECT_TRUE(admits(90, 1, 1000, 1800)) << "no clone needs no room";
}

TEST(DollyBudgetTest, ClonesAloneAreChargedIfAskedFor) {
  Budget budget;
  EXPECT_EQ(DemandOf(3, 10, budget).charge, 30u);
  EXPECT_EQ(DemandOf(1, 10, budget).charge, 0u);
  budget.originals = false;
  EXPECT_EQ(DemandOf(3, 10, budget).charge, 20u);
  EXPECT_EQ(DemandOf(3, 10, budget).slots, 30u) << "the ceiling is about all of them";
  EXPECT_EQ(DemandOf(1, 10, budget).charge, 0u);
  EXPECT_TRUE(Admits(0, DemandOf(3, 45, budget), 0, 1800, budget));
  EXPECT_FALSE(Admits(0, DemandOf(3, 45, budget), 1306, 1800, budget));
}

TEST(DollyBudgetTest, ASmallClusterHasTheFloor) {
  Budget budget;
  EXPECT_FALSE(Admits(0, DemandOf(2, 1, budget), 0, 16, budget)) << "5 % of 16 slots is not one clone";
  budget.floor = 8;
  EXPECT_TRUE(Admits(0, DemandOf(2, 4, budget), 0, 16, budget));
  EXPECT_FALSE(Admits(1, DemandOf(2, 4, budget), 0, 16, budget));
  EXPECT_FALSE(Admits(0, DemandOf(2, 4, budget), 5, 16, budget)) << "the ceiling of 12.8 holds all the same";
  EXPECT_TRUE(Admits(82, DemandOf(2, 4, budget), 0, 1800, budget)) << "and a large one has beta";
}

TEST(DollyBudgetTest, RoundingTakesNoSlot) {
  Budget budget;
  budget.beta = .07;  // .07 * 100 = 7.000000000000001, .29 * 100 = 28.999999999999996
  EXPECT_TRUE(Admits(5, DemandOf(2, 1, budget), 0, 100, budget));
  budget.beta = .29;
  EXPECT_TRUE(Admits(27, DemandOf(2, 1, budget), 0, 100, budget));
  EXPECT_FALSE(Admits(28, DemandOf(2, 1, budget), 0, 100, budget));
}

}  // namespace
}  // namespace mr::sched
