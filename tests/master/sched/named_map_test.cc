#include "master/sched/state/named_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "master/sched/policies/common/hopeful.h"

namespace mr::sched {
namespace {

using Pairs = std::map<std::pair<std::string, uint64_t>, int>;
using Named = NamedMap<Pairs, 1>;

TEST(NamedMapTest, AnErasedEntryIsNotFoundAndTheOneAfterItIs) {
  Named map;
  EXPECT_EQ(map.Find({"a"}, 1), nullptr);
  map.Insert({"a"}, 1, {"a", 1}, 10);
  ASSERT_NE(map.Find({"a"}, 1), nullptr);
  EXPECT_EQ(map.Find({"a"}, 2), nullptr);
  map.Erase({"a"}, 1);
  EXPECT_EQ(map.Find({"a"}, 1), nullptr);
  map.Erase({"a"}, 1);
  map.Insert({"b"}, 1, {"b", 1}, 11);
  EXPECT_EQ(map.Find({"a"}, 1), nullptr) << "another name has its number";
  EXPECT_EQ(*map.Find({"b"}, 1), 11);
}

TEST(NamedMapTest, TextsThatShareTheirLettersAreDistinguished) {
  NamedMap<std::map<std::pair<std::string, uint64_t>, int>, 3> map;
  map.Insert({"ab", "", "c"}, 1, {"ab", 1}, 1);
  map.Insert({"a", "b", "c"}, 1, {"a", 1}, 2);
  EXPECT_EQ(*map.Find({"ab", "", "c"}, 1), 1);
  EXPECT_EQ(*map.Find({"a", "b", "c"}, 1), 2);
  EXPECT_EQ(map.Find({"a", "", "bc"}, 1), nullptr);
}

TEST(NamedMapTest, FindsWhatAStdMapFindsInTheSameOrder) {
  Rng rng(1);
  Named map;
  Pairs expected;
  for (int i = 0; i < 50'000; ++i) {
    const std::pair<std::string, uint64_t> key{"n" + std::to_string(rng.Below(40)), rng.Below(50)};
    const int* found = map.Find({key.first}, key.second);
    const auto it = expected.find(key);
    ASSERT_EQ(found != nullptr, it != expected.end());
    if (found == nullptr) {
      map.Insert({key.first}, key.second, key, i);
      expected[key] = i;
      continue;
    }
    ASSERT_EQ(*found, it->second);
    if (rng.Below(2) == 0) {
      map.Update(found, i);
      it->second = i;
    } else {
      map.Erase({key.first}, key.second);
      expected.erase(it);
    }
  }
  EXPECT_EQ(map.All(), expected);
}

struct Hope {
  StageKey key;
  bool any = false;
};

class HopefulTest : public ::testing::Test {
 protected:
  HopefulTest() {
    for (uint32_t i = 0; i < 4; ++i) stages_.push_back({{0, i + 1, {{1, i + 1}, 0}}, i % 2 == 1});
  }
  // Returns the numbers of the stages that a loop visits, `closed` not among them.
  std::vector<size_t> Visit(size_t most, size_t closed = 9) {
    std::vector<size_t> visited;
    const auto any = [&](Hope* stage) {
      ++looks_;
      return stage->any;
    };
    const auto number = [&](const Hope& stage) { return static_cast<size_t>(&stage - stages_.data()); };
    size_t position = 0;
    while (visited.size() < most) {
      const Hope* found =
          hopeful_.Next(state_, stages_, &position, any, [&](const Hope& stage) { return number(stage) != closed; });
      if (found == nullptr) break;
      visited.push_back(number(*found));
    }
    return visited;
  }

  struct Noting : State {
    using State::NoteMoved;
  };
  void Move(size_t stage) {
    stages_[stage].any = !stages_[stage].any;
    Job job;
    job.id = stages_[stage].key.stage.job;
    job.arrival = stages_[stage].key.arrival;
    state_.NoteMoved(job, 0);
    state_.CountFold();
  }

  Noting state_;
  std::vector<Hope> stages_;
  Hopeful<Hope> hopeful_;
  int looks_ = 0;
};

using Stages = std::vector<size_t>;

TEST_F(HopefulTest, StagesAreLookedAtOnceUntilSomethingIsFoldedIn) {
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Visit(1), Stages{1});
    EXPECT_EQ(looks_, round == 0 ? 2 : 4) << "none behind the first is needed yet";
    EXPECT_EQ(Visit(9), (Stages{1, 3}));
    EXPECT_EQ(looks_, 4);
  }
  state_.CountFold();
  stages_[1].any = false;
  EXPECT_EQ(Visit(9), Stages{3});
}

TEST_F(HopefulTest, InARoundOnlyStagesThatMovedAreLookedAtAgain) {
  state_.BeginIdleRound();
  EXPECT_EQ(Visit(9), (Stages{1, 3}));
  Move(1);
  Move(2);
  EXPECT_EQ(Visit(9), (Stages{2, 3}));
  EXPECT_EQ(looks_, 6);
  Move(0);
  Move(3);
  Move(3);
  EXPECT_EQ(Visit(9), (Stages{0, 2, 3}));
  EXPECT_EQ(looks_, 8) << "moved twice, looked at once";
  state_.EndIdleRound();
  state_.CountFold();
  EXPECT_EQ(Visit(9), (Stages{0, 2, 3}));
  EXPECT_EQ(looks_, 12);
  state_.BeginIdleRound();
  EXPECT_EQ(Visit(1), (Stages{0}));
  Move(2);
  EXPECT_EQ(looks_, 13) << "a stage that was not looked at yet needs no second look";
  EXPECT_EQ(Visit(9), (Stages{0, 3}));
  EXPECT_EQ(looks_, 16);
}

TEST_F(HopefulTest, AClosedStageIsPassedOverAndNotForgotten) {
  state_.BeginIdleRound();
  EXPECT_EQ(Visit(9, 1), Stages{3});
  EXPECT_EQ(Visit(9), Stages{3}) << "a queue opens by a fold only";
  state_.CountFold();
  EXPECT_EQ(Visit(9), (Stages{1, 3}));
  EXPECT_EQ(looks_, 4);
}

}  // namespace
}  // namespace mr::sched
