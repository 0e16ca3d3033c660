#include "master/sched/state/lazy_set.h"

#include <gtest/gtest.h>

#include <set>

#include "common/base/rng.h"

namespace mr::sched {
namespace {

TEST(LazySetTest, IsTheSetOfWhatCameAndDidNotGo) {
  Rng rng(5);
  LazySet<uint64_t> lazy;
  std::set<uint64_t> want;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t value = rng.Below(500);
    if (want.insert(value).second) {
      lazy.Insert(value);
    } else {
      lazy.Erase(value);
      want.erase(value);
    }
    ASSERT_EQ(lazy.size(), want.size());
    if (rng.Below(100) != 0) continue;
    ASSERT_EQ(lazy.All(), std::vector<uint64_t>(want.begin(), want.end())) << i;
    ASSERT_EQ(lazy.Contains(value), want.count(value) != 0);
  }
}

TEST(LazySetTest, ValueThatComesAndGoesBetweenReadsIsThereOnce) {
  LazySet<int> lazy;
  lazy.Insert(7);
  lazy.Erase(7);
  lazy.Insert(7);
  lazy.Insert(3);
  EXPECT_EQ(lazy.All(), (std::vector<int>{3, 7}));
  lazy.Erase(7);
  EXPECT_FALSE(lazy.Contains(7));
  EXPECT_EQ(lazy.size(), 1u);
}

TEST(LazySetTest, WalksBackAsLongAsAsked) {
  LazySet<int> lazy;
  for (const int value : {4, 9, 1, 6}) lazy.Insert(value);
  std::vector<int> seen;
  lazy.WalkBack([&](int value) {
    seen.push_back(value);
    return value > 4;
  });
  EXPECT_EQ(seen, (std::vector<int>{9, 6, 4}));
}

}  // namespace
}  // namespace mr::sched
