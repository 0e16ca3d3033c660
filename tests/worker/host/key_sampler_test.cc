#include "worker/task/key_sampler.h"

#include <gtest/gtest.h>

#include "common/abi/batch.h"

namespace mr::task {
namespace {

// The chunks of a port. `of_hundred` of each hundred records, in runs of a period, have the key "hot".
struct Chunks {
  uint32_t records = 100'000, of_hundred = 30, partitions = 4, per_chunk = 3000;
  size_t value_bytes = 20;
};

std::vector<HotKey> Sampled(const Chunks& c, uint64_t* bytes = nullptr) {
  KeySampler sampler(2, c.partitions);
  BatchBuilder builder;
  std::string batch;
  const std::string value(c.value_bytes, 'v');
  for (uint32_t i = 0; i < c.records; ++i) {
    const bool hot = i % 100 < c.of_hundred;
    builder.Add(hot ? "hot" : "k" + std::to_string(i), value);
    if (builder.size() < c.per_chunk && i + 1 < c.records) continue;
    const uint32_t n = builder.size();
    batch.clear();
    builder.Finish(0, &batch);
    sampler.Add(7, n, batch);
    if (bytes != nullptr) *bytes += batch.size();
  }
  return sampler.Top();
}

void ExpectHot(const Chunks& c) {
  uint64_t bytes = 0;
  const std::vector<HotKey> top = Sampled(c, &bytes);
  ASSERT_EQ(top.size(), 1u);
  EXPECT_EQ(top[0].prefix, "hot");
  EXPECT_EQ(top[0].port, 2u);
  EXPECT_EQ(top[0].partition, 7u);
  const double share = c.of_hundred / 100.0;
  EXPECT_NEAR(static_cast<double>(top[0].records) / c.records, share, 0.12);
  EXPECT_NEAR(static_cast<double>(top[0].bytes) / static_cast<double>(bytes), share, 0.12);
  EXPECT_EQ(Sampled(c), top) << "not the same again";
}

TEST(KeySamplerTest, FindsAHotKeyAndItsShareInChunksOfAnySize) {
  ExpectHot({});
  ExpectHot({.per_chunk = 7});
  ExpectHot({.per_chunk = 100'000});
  ExpectHot({.of_hundred = 90});
  ExpectHot({.records = 400, .per_chunk = 1, .value_bytes = 200'000});
  ExpectHot({.records = 4'000, .per_chunk = 50, .value_bytes = 5'000});
}

TEST(KeySamplerTest, TellsOfNoKeyWhereAllAreEven) {
  EXPECT_TRUE(Sampled({.of_hundred = 0}).empty());
  EXPECT_TRUE(Sampled({.records = 1'000'000, .of_hundred = 1}).empty()) << "a hundredth is less than anybody cares for";
}

TEST(KeySamplerTest, TellsNothingOfOnePartitionAndOfLittleOutput) {
  EXPECT_TRUE(Sampled({.of_hundred = 90, .partitions = 1}).empty());
  EXPECT_TRUE(Sampled({.records = 1'000, .of_hundred = 90}).empty());
  EXPECT_TRUE(KeySampler(0, 4).Top().empty());
}

}  // namespace
}  // namespace mr::task
