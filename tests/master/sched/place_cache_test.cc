#include "master/sched/state/place_cache.h"

#include <gtest/gtest.h>

#include <map>

#include "master/sched/policies/common/hopeful.h"

namespace mr::sched {
namespace {

TEST(PlaceCacheTest, AnErasedEntryIsNotFoundAndTheOneAfterItIs) {
  std::map<int, int> map{{1, 10}};
  PlaceCache<std::map<int, int>> cache;
  ASSERT_NE(cache.Find(map, 1, 7), nullptr);
  cache.Drop(7);
  map.erase(1);
  EXPECT_EQ(cache.Find(map, 1, 7), nullptr);
  map[1] = 11;
  ASSERT_NE(cache.Find(map, 1, 7), nullptr);
  EXPECT_EQ(cache.Find(map, 1, 7)->second, 11);
}

TEST(PlaceCacheTest, KeysThatShareAPlaceAreDistinguished) {
  const std::map<int, int> map{{1, 10}, {2, 20}};
  PlaceCache<std::map<int, int>> cache;
  for (int round = 0; round < 2; ++round) {
    for (const int key : {1, 2}) ASSERT_EQ(cache.Find(map, key, 7)->second, 10 * key);
    EXPECT_EQ(cache.Find(map, 3, 7), nullptr);
  }
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
