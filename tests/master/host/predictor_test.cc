// Predictions for a job before it runs: from its profile, scaled to its input, or from its input alone.
#include "master/host/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace mr::master {
namespace {

using ::testing::HasSubstr;

sched::JobGraph TwoStages() {
  sched::JobGraph graph;
  graph.stages.resize(2);
  graph.stages[0].name = "map";
  graph.stages[0].inputs = {sched::StageInput{}};
  graph.stages[1].name = "sum";
  graph.stages[1].inputs = {sched::StageInput{true, sched::EdgeKind::kAllToAll, 0}};
  return graph;
}

// Ten maps of 6 s on 100 bytes each, then two sums of 3 s.
sched::RunProfile ProfileOfTwo(uint32_t runs) {
  sched::RunProfile profile;
  profile.runs = runs;
  const sched::JobGraph graph = TwoStages();
  for (size_t s = 0; s < 2; ++s) {
    sched::StageRuns stage;
    stage.name = graph.stages[s].name;
    stage.tasks = s == 0 ? 10 : 2;
    stage.inputs = graph.stages[s].inputs;
    stage.run = {s == 0 ? 6.0f : 3.0f};
    stage.input_bytes = s == 0 ? 1000 : 500;
    profile.stages.push_back(stage);
  }
  return profile;
}

double Median(const sched::Prediction& p, uint32_t slots) {
  const auto at = std::find(p.slots.begin(), p.slots.end(), slots);
  EXPECT_NE(at, p.slots.end());
  const auto left = p.At(static_cast<size_t>(at - p.slots.begin()), 0);
  return left[left.size() / 2];
}

TEST(PredictorTest, TheSameJobAgainTakesWhatItTook) {
  const auto f = Foretell(TwoStages(), {{10, 1000, true}, {2, 1000, false}}, ProfileOfTwo(4), 0, 10);
  ASSERT_TRUE(f.ok()) << f.status().ToString();
  EXPECT_NEAR(Median(f->prediction, 10), 9, 1e-3);
  EXPECT_NEAR(Median(f->prediction, 1), 66, 1e-3);
  EXPECT_TRUE(f->prediction.Valid(2));
  EXPECT_EQ(f->prediction.runs, 4u);
  EXPECT_EQ(f->prediction.scale, 1);
  EXPECT_FALSE(f->guessed);
  EXPECT_EQ(f->basis, "4 earlier runs; confidence good");
}

TEST(PredictorTest, TwiceTheInputIsTwiceTheTasksOrTwiceAsLongOnes) {
  const auto more = Foretell(TwoStages(), {{20, 2000, true}, {2, 2000, false}}, ProfileOfTwo(4), 0, 10);
  ASSERT_TRUE(more.ok());
  EXPECT_NEAR(Median(more->prediction, 10), 2 * 6 + 2 * 3, 1e-3) << "maps as long, sums twice as long";
  EXPECT_EQ(more->prediction.scale, 2);
  EXPECT_THAT(more->basis, HasSubstr("its input is 2 times"));
  EXPECT_THAT(more->basis, HasSubstr("confidence fair"));
  const auto longer = Foretell(TwoStages(), {{10, 2000, true}, {4, 2000, false}}, ProfileOfTwo(1), 0, 10);
  ASSERT_TRUE(longer.ok());
  EXPECT_NEAR(Median(longer->prediction, 10), 12 + 3, 1e-3);
  EXPECT_THAT(longer->basis, HasSubstr("1 earlier run, "));
  EXPECT_THAT(longer->basis, HasSubstr("confidence low"));
}

TEST(PredictorTest, AJobWithoutInputIsAsLongPerTask) {
  sched::RunProfile profile = ProfileOfTwo(1);
  for (auto& stage : profile.stages) stage.input_bytes = 0;
  const auto f = Foretell(TwoStages(), {{20, 0, false}, {2, 0, false}}, profile, 0, 10);
  ASSERT_TRUE(f.ok());
  EXPECT_NEAR(Median(f->prediction, 10), 15, 1e-3);
}

TEST(PredictorTest, WithoutAProfileItIsGuessedFromItsInputAtTheClustersRateAndNobodyIsRefused) {
  const std::vector<StageSize> sizes = {{10, 1e9, true}, {2, 1e9, false}};
  const auto known = Foretell(TwoStages(), sizes, {}, 1e8, 10);
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->prediction.runs, 0u);
  EXPECT_TRUE(known->guessed) << "what other jobs read in a second does not bound how long this one computes";
  EXPECT_THAT(known->basis, HasSubstr("no earlier run with this name and stages: a guess"));
  EXPECT_THAT(known->basis, HasSubstr("the rate of other jobs"));
  // 1 s a map, 5 s a sum; half to twice as long.
  EXPECT_GT(Median(known->prediction, 10), 3);
  EXPECT_LT(Median(known->prediction, 10), 13);
  const auto guess = Foretell(TwoStages(), sizes, {}, 0, 10);
  ASSERT_TRUE(guess.ok());
  EXPECT_TRUE(guess->guessed);
  EXPECT_THAT(guess->basis, testing::Not(HasSubstr("other jobs")));
  EXPECT_GT(Median(guess->prediction, 10), Median(known->prediction, 10)) << "the guess is a fifth of that rate";
}

TEST(PredictorTest, OfAJobWithoutInputThatNeverRanNothingIsKnown) {
  const auto f = Foretell(TwoStages(), {{10, 0, false}, {2, 0, false}}, {}, 1e8, 10);
  ASSERT_TRUE(f.ok());
  EXPECT_TRUE(f->guessed) << "what others read says nothing of it";
  EXPECT_THAT(f->basis, HasSubstr("no earlier run with this name and stages, and no input"));
  EXPECT_TRUE(f->prediction.Valid(2));
}

TEST(PredictorTest, RefusesWhatItCannotSimulate) {
  EXPECT_FALSE(Foretell(TwoStages(), {{10, 1000, true}}, {}, 0, 10).ok());
  EXPECT_EQ(Foretell(TwoStages(), {{1'000'000, 1, true}, {2, 1, false}}, {}, 0, 10).status().code(), Code::kRejected);
  sched::RunProfile none = ProfileOfTwo(1);
  none.stages[0].run.clear();
  EXPECT_FALSE(Foretell(TwoStages(), {{10, 1000, true}, {2, 1, false}}, none, 0, 10).ok());
}

}  // namespace
}  // namespace mr::master
