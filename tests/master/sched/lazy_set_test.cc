#include "master/sched/state/lazy_set.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <vector>

#include "common/base/rng.h"
#include "master/sched/index/late_ranked.h"

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

TEST(LateRankedTest, ReadsWhatCameAndDidNotGoWithRepeats) {
  Rng rng(6);
  LateRanked<int> late;
  std::multiset<int> want;
  for (int i = 0; i < 20'000; ++i) {
    const int value = static_cast<int>(rng.Below(50));
    if (want.size() < 300 && rng.Below(2) == 0) {
      late.Insert(value);
      want.insert(value);
    } else if (const auto it = want.find(value); it != want.end()) {
      late.Erase(value);
      want.erase(it);
    }
    ASSERT_EQ(late.size(), want.size());
    ASSERT_EQ(late.empty(), want.empty());
    if (rng.Below(100) != 0) continue;
    ASSERT_EQ(late.All(), std::vector<int>(want.begin(), want.end()));
    if (!want.empty()) {
      ASSERT_EQ(late.At(want.size() / 2), *std::next(want.begin(), want.size() / 2));
    }
  }
}

TEST(LateRankedTest, AValueMayGoAndComeAgainBeforeTheNextRead) {
  LateRanked<int> late;
  late.Insert(1);
  ASSERT_EQ(late.At(0), 1);
  late.Erase(1);
  late.Insert(1);
  late.Insert(2);
  late.Erase(2);
  EXPECT_EQ(late.All(), std::vector<int>{1});
}

}  // namespace
}  // namespace mr::sched
