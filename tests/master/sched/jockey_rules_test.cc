// Jockey's formulas (EuroSys'12, section 4), by vectors computed for a stage of ten tasks of 10 minutes, a barrier, and
// four tasks of 20 minutes.
#include <gtest/gtest.h>

#include "master/sched/policies/jockey/jockey.h"
#include "master/sched/policies/jockey/jockey_rules.h"

namespace mr::sched {
namespace {

constexpr double kMinute = 60;

std::vector<StageProfile> BarrierJob() {
  std::vector<StageProfile> stages(2);
  stages[0].tasks = 10;
  stages[0].run = 100 * kMinute;
  stages[0].longest = 10 * kMinute;
  stages[1].tasks = 4;
  stages[1].run = 80 * kMinute;
  stages[1].longest = 20 * kMinute;
  SetPathsBehind(&stages, {{1}, {}});
  return stages;
}

double Barrier(uint32_t a) {
  const uint32_t waves = (10 + a - 1) / a, later_waves = (4 + a - 1) / a;
  return (waves * 10 + later_waves * 20) * kMinute;
}

std::vector<uint32_t> OneToTen() { return {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}; }

uint32_t Needed(bool simulated, double slack, double dead_zone) {
  std::vector<std::vector<double>> left;
  for (const uint32_t a : OneToTen()) {
    left.push_back({simulated ? Barrier(a) : AmdahlOf(BarrierJob(), {0, 0}).Left(a)});
  }
  const Utility u = Utility::OfDeadline(60 * kMinute, kMinute).ShiftedLeft(dead_zone * kMinute);
  return SmallestOfBest(OneToTen(), left, 0, slack, u);
}

TEST(JockeyRulesTest, AmdahlOfTheBarrierJob) {
  const double minutes[] = {180, 105, 80, 67.5, 60, 55, 51.4, 48.8, 46.7, 45};
  const Amdahl all = AmdahlOf(BarrierJob(), {0, 0});
  EXPECT_DOUBLE_EQ(all.serial, 30 * kMinute);
  EXPECT_DOUBLE_EQ(all.parallel, 150 * kMinute);
  for (uint32_t a = 1; a <= 10; ++a) EXPECT_NEAR(all.Left(a) / kMinute, minutes[a - 1], .05) << a;
  const Amdahl half = AmdahlOf(BarrierJob(), {.5, 0});
  EXPECT_DOUBLE_EQ(half.serial, 25 * kMinute);
  EXPECT_DOUBLE_EQ(half.parallel, 105 * kMinute);
  EXPECT_EQ(AmdahlOf(BarrierJob(), {1, 1}).Left(3), 0);
}

TEST(JockeyRulesTest, FewestSlotsThatMeetAnHour) {
  EXPECT_EQ(Needed(true, 1, 0), 4u);
  EXPECT_EQ(Needed(false, 1, 0), 5u);
  EXPECT_EQ(Needed(true, 1.2, 0), 4u) << "60 minutes of 60";
  EXPECT_EQ(Needed(true, 1.2, 3), 5u) << "3 of the 10 minutes in which 2 are lost";
  EXPECT_NEAR(Utility::OfDeadline(60 * kMinute, kMinute).ShiftedLeft(3 * kMinute).At(60 * kMinute), .4, 1e-12);
}

TEST(JockeyRulesTest, UtilityIsFlatThenFalls) {
  const Utility u = Utility::OfDeadline(3600, kMinute);
  EXPECT_EQ(u.At(0), 1);
  EXPECT_EQ(u.At(3600), 1);
  EXPECT_DOUBLE_EQ(u.At(3600 + 600), -1);
  EXPECT_NEAR(u.At(3600 + 60'000), -1000, 1e-9);
  EXPECT_LT(u.At(3600 + 120'000), -2000) << "the last slope goes on";
}

TEST(JockeyRulesTest, IndicatorsOfAHalfFinishedFirstStage) {
  std::vector<StageProfile> stages = BarrierJob();
  stages[0].queue = 20 * kMinute;
  stages[0].end = stages[1].begin = .4;
  stages[0].end_free = stages[1].begin_free = 1.0 / 3;
  const std::vector<double> half = {.5, 0};
  using enum Indicator;
  EXPECT_DOUBLE_EQ(ProgressOf(kTotalWorkWithQueueing, stages, half), 60.0 / 200);
  EXPECT_DOUBLE_EQ(ProgressOf(kTotalWork, stages, half), 50.0 / 180);
  EXPECT_DOUBLE_EQ(ProgressOf(kVertexFraction, stages, half), 5.0 / 14);
  EXPECT_DOUBLE_EQ(ProgressOf(kCriticalPath, stages, half), 1 - 25.0 / 30);
  EXPECT_DOUBLE_EQ(ProgressOf(kMinStage, stages, half), .2);
  EXPECT_DOUBLE_EQ(ProgressOf(kMinStageInfinite, stages, half), 1.0 / 6);
  for (const Indicator i :
       {kTotalWorkWithQueueing, kTotalWork, kVertexFraction, kCriticalPath, kMinStage, kMinStageInfinite}) {
    EXPECT_DOUBLE_EQ(ProgressOf(i, stages, {0, 0}), 0);
    EXPECT_DOUBLE_EQ(ProgressOf(i, stages, {1, 1}), 1);
  }
}

TEST(JockeyRulesTest, ADayIsAsLongAsItsTasksTakeOverWhatTheyTook) {
  std::vector<StageProfile> stages = BarrierJob();
  stages[0].ran = 100, stages[1].ran = 80;
  EXPECT_DOUBLE_EQ(Today(stages, {{}, {}}), 1);
  EXPECT_DOUBLE_EQ(Today(stages, {{2, 40}, {}}), 1) << "fewer than three tenths";
  EXPECT_DOUBLE_EQ(Today(stages, {{3, 60}, {}}), (18.0 + 60) / (18 + 30));
  EXPECT_DOUBLE_EQ(Today(stages, {{10, 50}, {2, 80}}), (18.0 + 130) / (18 + 140));
  EXPECT_DOUBLE_EQ(Today(stages, {{10, 100}, {4, 80}}), 1);
  EXPECT_EQ(Today({}, {}), 1);
  stages[0].ran = stages[1].ran = 0;
  EXPECT_EQ(Today(stages, {{10, 50}, {4, 80}}), 1) << "nothing is known of earlier runs";
}

TEST(JockeyRulesTest, NoTimeLeftIsShorterThanItsWork) {
  std::vector<std::vector<double>> left = {{10 * kMinute, 120 * kMinute}, {20 * kMinute, 40 * kMinute}};
  Correct(BarrierJob(), {.5, .25}, {1, 5}, 1.5, &left);
  const double work = (50 + 60) * kMinute;
  EXPECT_EQ(left, (std::vector<std::vector<double>>{{1.5 * work, 180 * kMinute}, {1.5 * work / 5, 60 * kMinute}}));
}

TEST(JockeyRulesTest, HysteresisMovesAFifthOfTheWay) { EXPECT_DOUBLE_EQ(Smoothed(10, 20, .2), 12); }

TEST(JockeyTimeLeftTest, TheSpreadOfTheTimeLeftIsThatOfFourOfFiveRuns) {
  Job job;
  job.stages.resize(1);
  Prediction& p = job.prediction;
  p.buckets = 10;
  p.quantiles = 10;
  p.runs = 1;
  p.stages = {{.tasks = 10, .run = 100, .ran = 100, .longest = 1}};
  // With a slots 100 / a, and up to 18 % more.
  for (uint32_t a = 1; a <= 10; ++a) {
    p.slots.push_back(a);
    for (uint32_t b = 0; b <= p.buckets; ++b) {
      for (uint32_t q = 0; q < p.quantiles; ++q)
        p.left.push_back(static_cast<float>(100. * (10 - b) / 10 / a * (1.0 + .02 * q)));
    }
  }
  EXPECT_NEAR(LeftWith(job, 2).spread, 50 * (1.16 - 1.02) / 2, 1e-3);
  EXPECT_NEAR(LeftWith(job, 2).median, 50 * 1.1, 1e-3);
  EXPECT_NEAR(LeftWith(job, 99).spread, 10 * (1.16 - 1.02) / 2, 1e-3) << "more slots than were predicted";
  p.runs = 0;
  EXPECT_EQ(LeftWith(job, 2).spread, 0) << "a bound has none";
}

}  // namespace
}  // namespace mr::sched
