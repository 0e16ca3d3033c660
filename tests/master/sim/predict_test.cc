// The predictor: exact for a job without chance, worked by hand, and invariants of any prediction.
#include "master/sim/engine/predict.h"

#include <gtest/gtest.h>

#include <ctime>

namespace mr::sim {
namespace {

using sched::EdgeKind;

StageRuns Of(const std::string& name, uint32_t tasks, std::vector<float> run,
             std::vector<sched::StageInput> inputs = {}) {
  StageRuns stage;
  stage.name = name;
  stage.tasks = tasks;
  stage.run = std::move(run);
  stage.inputs = std::move(inputs);
  return stage;
}

RunProfile BarrierJob() { return {{Of("map", 10, {600}), Of("reduce", 4, {1200}, {{true, EdgeKind::kAllToAll, 0}})}}; }

PredictOptions OneToTen() {
  PredictOptions o;
  o.slots = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  return o;
}

TEST(PredictTest, BarrierJobWorkedByHand) {
  const auto p = Predict(BarrierJob(), OneToTen());
  ASSERT_TRUE(p.ok());
  const double minutes[] = {180, 90, 80, 50, 40, 40, 40, 40, 40, 30};
  for (size_t a = 0; a < 10; ++a) {
    for (const double left : p->At(a, 0)) EXPECT_NEAR(left / 60, minutes[a], 1e-6) << a + 1 << " slots";
    for (const double left : p->At(a, 1)) EXPECT_EQ(left, 0);
  }
}

// A hundred tasks of ten seconds run one after the other, so the time left is that of the tasks that are not done. In
// the last bucket a single task may be left, with all of its time.
TEST(PredictTest, WhatIsLeftIsToldWithoutBias) {
  const RunProfile job{{Of("a", 100, {10})}};
  PredictOptions o;
  o.slots = {1};
  const auto p = Predict(job, o);
  ASSERT_TRUE(p.ok());
  for (double progress = 0; progress < .98; progress += .013) {
    for (const double left : p->At(0, progress)) EXPECT_NEAR(left, 1000 * (1 - progress), .01) << progress;
  }
  EXPECT_NEAR(p->At(0, .985).front(), 20, .01);
  EXPECT_NEAR(p->At(0, .9999).back(), 20, .01);
  EXPECT_EQ(p->At(0, 1).back(), 0);
}

// A chain of ten tasks of 10 s runs beside 900 s of short tasks. With 100 slots, nine tenths of the work are done when
// nearly all of the chain is left. A job that got there on lent slots needs that time with one slot, too.
TEST(PredictTest, WhoRanAheadOnManySlotsStillHasTheLongestPathToGo) {
  RunProfile job{{Of("wide", 900, {1})}};
  for (uint32_t s = 0; s < 10; ++s) {
    std::vector<sched::StageInput> inputs;
    if (s > 0) inputs.push_back({true, EdgeKind::kAllToAll, s});
    job.stages.push_back(Of("chain" + std::to_string(s), 1, {10}, std::move(inputs)));
  }
  PredictOptions o;
  o.slots = {1, 100};
  const auto p = Predict(job, o);
  ASSERT_TRUE(p.ok());
  EXPECT_GT(p->At(1, .92).front(), 75);
  EXPECT_GE(p->At(0, .92).front(), p->At(1, .92).front());
}

TEST(PredictTest, OtherInputIsMoreTasksOrLongerOnes) {
  const RunProfile other = ScaledTo(BarrierJob(), {20, 4}, 2);
  EXPECT_EQ(other.stages[0].tasks, 20u);
  EXPECT_FLOAT_EQ(other.stages[0].run[0], 600) << "twice as many";
  EXPECT_FLOAT_EQ(other.stages[1].run[0], 2400) << "as many as before";
}

TEST(PredictTest, NumbersOfSlotsAreFewAndTheLastIsAll) {
  EXPECT_EQ(SlotsToPredict(0), std::vector<uint32_t>{1});
  EXPECT_EQ(SlotsToPredict(8), (std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  for (const uint32_t all : {1u, 2u, 11u, 24u, 25u, 100u, 1'000u, 5'000u, 80'000u, 4'000'000'000u}) {
    const std::vector<uint32_t> slots = SlotsToPredict(all);
    EXPECT_EQ(slots.front(), 1u);
    EXPECT_EQ(slots.back(), all);
    EXPECT_LE(slots.size(), kMostSlotCounts);
    EXPECT_EQ(std::adjacent_find(slots.begin(), slots.end(), std::greater_equal<>()), slots.end());
    for (size_t i = 1; i < slots.size() && all <= 100; ++i) {
      EXPECT_LE(slots[i], std::max(slots[i - 1] + 1, slots[i - 1] * 6 / 5)) << all;
    }
  }
}

TEST(PredictTest, OneToOneTasksDoNotWaitForTheWholeStage) {
  RunProfile job{{Of("a", 4, {10}), Of("b", 4, {10}, {{true, EdgeKind::kOneToOne, 0}})}};
  PredictOptions o;
  o.slots = {1, 4, 8};
  const auto p = Predict(job, o);
  ASSERT_TRUE(p.ok());
  EXPECT_NEAR(p->At(0, 0).front(), 80, 1e-6);
  EXPECT_NEAR(p->At(1, 0).front(), 20, 1e-6);
  job.stages[1].inputs[0].edge = EdgeKind::kManyToOne;
  job.stages[1].tasks = 3;
  EXPECT_TRUE(Predict(job, o).ok());
  job.stages[1].tasks = 9;  // more readers than outputs: some read nothing
  const auto many = Predict(job, o);
  ASSERT_TRUE(many.ok());
  EXPECT_NEAR(many->At(0, 0).front(), 130, 1e-6);
}

TEST(PredictTest, NeverRisesWithProgressOrSlots) {
  RunProfile job{{Of("a", 300, {1, 2, 3, 4, 50}), Of("b", 40, {5, 6, 7, 80}, {{true, EdgeKind::kAllToAll, 0}}),
                  Of("c", 40, {1, 30}, {{true, EdgeKind::kOneToOne, 1}})}};
  job.stages[0].fails = .1;
  job.stages[0].wait = {.5f, 1};
  PredictOptions o;
  o.slots = {1, 2, 5, 10, 40, 100};
  const auto p = Predict(job, o);
  ASSERT_TRUE(p.ok());
  for (size_t a = 0; a < o.slots.size(); ++a) {
    std::vector<double> before(o.quantiles, 1e18);
    for (double progress = 0; progress <= 1; progress += .013) {
      const std::vector<double> now = p->At(a, progress);
      for (size_t q = 0; q < now.size(); ++q) {
        EXPECT_LE(now[q], before[q] + 1e-3);
        if (q > 0) {
          EXPECT_GE(now[q], now[q - 1]);
        }
        if (a > 0) {
          EXPECT_LE(now[q], p->At(a - 1, progress)[q] + 1e-3);
        }
      }
      before = now;
    }
  }
}

TEST(PredictTest, DaysDifferAsTheLatestRunsDid) {
  StageRuns stage = Of("a", 4, {10});
  EXPECT_EQ(DaySpread(stage), 0) << "no run is known";
  stage.means = {10};
  EXPECT_NEAR(DaySpread(stage), .2, 1e-9) << "what is usual";
  stage.means = {10, 10, 10, 10, 10, 10, 10, 10};
  EXPECT_NEAR(DaySpread(stage), .2 * std::sqrt(.3), 1e-6) << "eight equal ones: .04 * 3 / 10";
  stage.means = {10, 20};
  EXPECT_NEAR(DaySpread(stage), std::sqrt((.12 + .24022651) / 4), 1e-6) << "log 2 squared / 2 more";
  stage.means = {0, 10};
  EXPECT_NEAR(DaySpread(stage), .2, 1e-9) << "no time has no logarithm";
}

TEST(PredictTest, APredictionOfARunIsAsWideAsDaysAre) {
  RunProfile job{{Of("a", 400, {10})}};
  PredictOptions o;
  o.slots = {10};
  const auto narrow = Predict(job, o);
  job.stages[0].means = {10};
  const auto wide = Predict(job, o);
  o.days = false;
  EXPECT_EQ(Predict(job, o)->left, narrow->left) << "of the day that was learned";
  ASSERT_TRUE(narrow.ok() && wide.ok());
  EXPECT_EQ(narrow->At(0, 0).front(), narrow->At(0, 0).back());
  EXPECT_LT(wide->At(0, 0).front(), .9 * narrow->At(0, 0).front());
  EXPECT_GT(wide->At(0, 0).back(), 1.2 * narrow->At(0, 0).back()) << "1.65 sigma of .2 is 1.39";
}

TEST(PredictTest, SameSeedSamePrediction) {
  RunProfile job{{Of("a", 50, {1, 2, 3}), Of("b", 5, {4, 9}, {{true, EdgeKind::kAllToAll, 0}})}};
  EXPECT_EQ(Predict(job, OneToTen())->left, Predict(job, OneToTen())->left);
}

TEST(PredictTest, TwiceTheInputIsTwiceTheWork) {
  const RunProfile twice = Scaled(BarrierJob(), 2, false), longer = Scaled(BarrierJob(), 2, true);
  EXPECT_NEAR(Predict(twice, OneToTen())->At(0, 0).front(), 360 * 60, 1e-3);
  EXPECT_NEAR(Predict(longer, OneToTen())->At(0, 0).front(), 360 * 60, 1e-3);
  EXPECT_NEAR(Predict(longer, OneToTen())->At(9, 0).front(), 60 * 60, 1e-3) << "tasks are as many";
}

TEST(PredictTest, WhatCannotBeSaysSo) {
  EXPECT_FALSE(Predict({{Of("a", 3, {})}}, OneToTen()).ok());
  EXPECT_FALSE(Predict({{Of("a", 3, {1}, {{true, EdgeKind::kAllToAll, 0}})}}, OneToTen()).ok());
  RunProfile hopeless = BarrierJob();
  hopeless.stages[0].fails = 1;
  EXPECT_FALSE(Predict(hopeless, OneToTen()).ok());
  EXPECT_FALSE(Predict(BarrierJob(), {}).ok());
  RunProfile empty{{Of("a", 0, {}), Of("b", 2, {7}, {{true, EdgeKind::kAllToAll, 0}})}};
  EXPECT_NEAR(Predict(empty, OneToTen())->At(0, 0).front(), 14, 1e-6) << "a stage without tasks is over at once";
}

TEST(SummarizeTest, SharesOfARun) {
  const auto stages = Summarize(BarrierJob(), 5, 1);
  EXPECT_DOUBLE_EQ(stages[0].run, 6000);
  EXPECT_DOUBLE_EQ(stages[0].behind, 1200);
  EXPECT_DOUBLE_EQ(stages[0].end, .5);  // 20 of 40 minutes
  EXPECT_DOUBLE_EQ(stages[1].begin, .5);
  EXPECT_DOUBLE_EQ(stages[0].end_free, 1.0 / 3);
}

}  // namespace
}  // namespace mr::sim
