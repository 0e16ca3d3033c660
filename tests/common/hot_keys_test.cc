#include "common/base/hot_keys.h"

#include <gtest/gtest.h>

#include <map>

#include "common/base/digest.h"
#include "common/base/rng.h"

namespace mr {
namespace {

constexpr size_t kCounters = 16;

struct Stream {
  std::vector<std::pair<std::string, uint64_t>> sights;  // key, bytes
  std::map<std::string, uint64_t> bytes;
  uint64_t total = 0;
};

// `hot` keys that each have about `share` of 20,000 sights, among keys that are seen once or twice.
Stream Make(size_t hot, double share, uint64_t seed) {
  Stream stream;
  Rng rng(seed);
  for (int i = 0; i < 20'000; ++i) {
    const double at = rng.Uniform();
    const bool heavy = at < share * static_cast<double>(hot);
    const std::string key =
        heavy ? "hot" + std::to_string(static_cast<int>(at / share)) : "k" + std::to_string(rng.Below(20'000));
    const uint64_t bytes = 10 + rng.Below(90);
    stream.sights.emplace_back(key, bytes);
    stream.bytes[key] += bytes;
    stream.total += bytes;
  }
  return stream;
}

HotKeys Of(const Stream& stream) {
  HotKeys keys(kCounters);
  for (const auto& [key, bytes] : stream.sights) keys.Add(Hash64(key), key, false, 0, 1, bytes);
  return keys;
}

TEST(HotKeysTest, EachKeyOfMoreThanItsShareIsKeptAndToldWithinTheBound) {
  const Stream stream = Make(6, 1.5 / kCounters, 1);
  const std::vector<HotKey> top = Of(stream).Top(kCounters);
  std::map<std::string, uint64_t> told;
  for (const HotKey& k : top) told[k.prefix] = k.bytes;
  const uint64_t bound = stream.total / kCounters;
  for (const auto& [key, bytes] : stream.bytes) {
    EXPECT_TRUE(bytes <= bound || told.contains(key)) << key;
  }
  ASSERT_GE(told.size(), 6u);
  for (const auto& [key, bytes] : told) {
    EXPECT_LE(bytes, stream.bytes.at(key)) << key;
    EXPECT_GE(bytes + bound, stream.bytes.at(key)) << key;
  }
}

TEST(HotKeysTest, FewerKeysThanCountersAreExact) {
  HotKeys keys(kCounters);
  EXPECT_TRUE(keys.empty());
  keys.Add(1, "a", false, 3, 2, 20);
  keys.Add(2, "b", false, 4, 1, 50);
  keys.Add(1, "a", false, 3, 5, 70);
  const std::vector<HotKey> expected = {{0, 3, 1, "a", false, 7, 90}, {0, 4, 2, "b", false, 1, 50}};
  EXPECT_EQ(keys.Top(8), expected);
  EXPECT_EQ(keys.Top(1).size(), 1u);
}

TEST(HotKeysTest, EqualStreamsGiveEqualLists) {
  EXPECT_EQ(Of(Make(3, 0.1, 2)).Top(kCounters), Of(Make(3, 0.1, 2)).Top(kCounters));
}

TEST(HotKeysTest, MergedListsFindWhatIsHeavyInAllAndNeverTellTooMuch) {
  HotKeys merged(kCounters);
  std::map<std::string, uint64_t> bytes;
  uint64_t total = 0;
  for (uint64_t part = 0; part < 10; ++part) {
    const Stream stream = Make(2, 0.2, 10 + part);
    for (const HotKey& k : Of(stream).Top(4)) merged.Add(k);
    for (const auto& [key, n] : stream.bytes) bytes[key] += n;
    total += stream.total;
  }
  const std::vector<HotKey> top = merged.Top(2);
  ASSERT_EQ(top.size(), 2u);
  for (const HotKey& k : top) {
    EXPECT_TRUE(k.prefix.starts_with("hot")) << k.prefix;
    EXPECT_LE(k.bytes, bytes.at(k.prefix));
    EXPECT_GE(k.bytes + total / kCounters, bytes.at(k.prefix));
  }
}

TEST(HotKeysTest, OfALongKeyThePrefixIsKeptAndItsHashTellsItFromOthers) {
  const std::string long_key(100, 'x');
  HotKeys keys(kCounters);
  keys.Add(Hash64(long_key + "a"), long_key + "a", false, 0, 1, 10);
  keys.Add(Hash64(long_key + "b"), long_key + "b", false, 0, 1, 20);
  const std::vector<HotKey> top = keys.Top(8);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].prefix, std::string(kHotKeyPrefix, 'x'));
  EXPECT_TRUE(top[0].cut);
  HotKeys again(kCounters);
  again.Add(top[0]);
  EXPECT_EQ(again.Top(1)[0], top[0]) << "a prefix stays one";
}

}  // namespace
}  // namespace mr
