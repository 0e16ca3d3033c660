// The predictor: exact where nothing is left to chance (papers.md 4.3's job), and what must hold of any prediction.
#include "master/sim/predict.h"

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

RunProfile BarrierJob() {
  return {{Of("map", 10, {600}), Of("reduce", 4, {1200}, {{true, EdgeKind::kAllToAll, 0}})}};
}

PredictOptions OneToTen() {
  PredictOptions o;
  o.slots = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  return o;
}

TEST(PredictTest, BarrierJobOfThePapersPage) {
  const auto p = Predict(BarrierJob(), OneToTen());
  ASSERT_TRUE(p.ok());
  const double minutes[] = {180, 90, 80, 50, 40, 40, 40, 40, 40, 30};
  for (size_t a = 0; a < 10; ++a) {
    for (const double left : p->At(a, 0)) EXPECT_NEAR(left / 60, minutes[a], 1e-6) << a + 1 << " slots";
    for (const double left : p->At(a, 1)) EXPECT_EQ(left, 0);
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
  job.stages[1].tasks = 9;  // more readers than outputs: some read none
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
