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

TEST(HopefulTest, StagesAreLookedAtOnceUntilSomethingIsFoldedIn) {
  State state;
  std::vector<int> stages{0, 1, 0, 1};
  Hopeful<int> hopeful;
  int looks = 0;
  const auto any = [&](int* stage) {
    ++looks;
    return *stage > 0;
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(hopeful.At(state, stages, 0, any), &stages[1]);
    EXPECT_EQ(looks, round == 0 ? 2 : 4) << "none behind the first is needed yet";
    EXPECT_EQ(hopeful.At(state, stages, 1, any), &stages[3]);
    EXPECT_EQ(hopeful.At(state, stages, 2, any), nullptr);
    EXPECT_EQ(looks, 4);
  }
  state.CountFold();
  stages[1] = 0;
  EXPECT_EQ(hopeful.At(state, stages, 0, any), &stages[3]);
}

}  // namespace
}  // namespace mr::sched
