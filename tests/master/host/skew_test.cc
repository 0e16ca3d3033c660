#include "master/core/skew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::master {
namespace {

using testing::HasSubstr;

constexpr JobId kSkewed{1, 1};
constexpr uint64_t kMiB = 1 << 20;

// A stage of ten tasks with one port of `partitions`.
StagePlan PlanOf(uint32_t partitions) {
  StagePlan plan;
  plan.tasks = 10;
  plan.port_partitions = {partitions};
  return plan;
}

// An output of 1,000 records a MiB, by partition.
FinishedExtra OutputOf(const std::vector<uint64_t>& mib) {
  FinishedExtra extra;
  extra.partitions = static_cast<uint32_t>(mib.size());
  for (const uint64_t n : mib) extra.rows.push_back({n * 1000, n * kMiB, {}, 1});
  return extra;
}
HotKey KeyOf(const std::string& name, uint32_t partition, uint64_t mib) {
  return {0, partition, std::hash<std::string>()(name), name, false, mib * 1000, mib * kMiB};
}

class SkewTest : public testing::Test {
 protected:
  bool Commit(uint32_t task, const std::vector<uint64_t>& mib, const std::vector<HotKey>& hot, uint32_t stage = 0,
              const std::vector<uint32_t>& kib = {}) {
    uint64_t all = 0;
    for (const uint64_t n : mib) all += n;
    const uint32_t partitions = static_cast<uint32_t>(mib.size());
    return table_.Committed({kSkewed, stage, task}, PlanOf(partitions), all * 1000, all * kMiB,
                            partitions <= 64 ? OutputOf(mib) : FinishedExtra{partitions, {}, {}, {}, {}, {}}, kib, hot);
  }
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (const Skew& skew : table_.Of(kSkewed)) keys.push_back(skew.key.prefix);
    return keys;
  }
  SkewTable table_;
};

TEST_F(SkewTest, AKeyOfManyTasksAddsUpAndIsNamedWithItsPartition) {
  EXPECT_FALSE(Commit(0, {5, 5, 5, 5}, {}));
  EXPECT_TRUE(Commit(1, {5, 5, 5, 65}, {KeyOf("GB", 3, 60)}));
  EXPECT_TRUE(Commit(2, {5, 5, 5, 45}, {KeyOf("GB", 3, 40), KeyOf("FR", 1, 3)}));
  const std::vector<Skew> found = table_.Of(kSkewed);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(SkewText(found[0], "left"),
            "key 'GB' has about 62 % of the 160,000 records seen from stage 'left' "
            "(partition 3: 115 MiB, 7.7 times the median)");
  EXPECT_TRUE(table_.Of({1, 2}).empty());
  table_.Forget(kSkewed);
  EXPECT_TRUE(table_.Of(kSkewed).empty());
}

// While some tasks have not committed the text says so.
TEST_F(SkewTest, RecordsAreAllOfAStageOnlyWhereAllItsTasksAreCounted) {
  for (uint32_t task = 0; task < 9; ++task) Commit(task, {5, 25}, {KeyOf("GB", 1, 20)});
  EXPECT_THAT(SkewText(table_.Of(kSkewed).at(0), "left"), HasSubstr("of the 270,000 records seen from stage 'left'"));
  Commit(9, {5, 25}, {KeyOf("GB", 1, 20)});
  EXPECT_THAT(SkewText(table_.Of(kSkewed).at(0), "left"), HasSubstr("of the 300,000 records from stage 'left'"));
}

TEST_F(SkewTest, ATaskThatCommitsAgainCountsOnce) {
  Commit(0, {5, 25}, {KeyOf("GB", 1, 20)});
  EXPECT_FALSE(Commit(0, {5, 25}, {KeyOf("GB", 1, 20)}));
  ASSERT_EQ(table_.Of(kSkewed).size(), 1u);
  EXPECT_EQ(table_.Of(kSkewed)[0].key.bytes, 20 * kMiB);
  EXPECT_EQ(table_.Of(kSkewed)[0].stage_bytes, 30 * kMiB);
  EXPECT_FALSE(Commit(10, {5, 25}, {KeyOf("GB", 1, 20)})) << "there is no such task";
}

TEST_F(SkewTest, WhatIsSmallOrWhatOnePartitionMoreOrLessHasIsNotNamed) {
  Commit(0, {1, 1, 1, 14}, {KeyOf("small", 3, 13)});
  EXPECT_THAT(Keys(), testing::IsEmpty()) << "13 MiB";
  Commit(0, std::vector<uint64_t>(16, 20), {KeyOf("nine of a hundred", 3, 28)}, 1);
  EXPECT_THAT(Keys(), testing::IsEmpty()) << "9 %";
  Commit(0, {60, 40}, {KeyOf("a third", 0, 33)}, 2);
  EXPECT_THAT(Keys(), testing::IsEmpty()) << "1.33 times what it would be";
  Commit(0, std::vector<uint64_t>(16, 20), {KeyOf("a tenth", 3, 32)}, 3);
  Commit(0, {60, 40}, {KeyOf("half", 0, 50)}, 4);
  EXPECT_THAT(Keys(), testing::ElementsAre("a tenth", "half"));
}

TEST_F(SkewTest, TheHeaviestFewOfEachStageAreNamed) {
  Commit(0, std::vector<uint64_t>(20, 10),
         {KeyOf("a", 1, 30), KeyOf("b", 2, 40), KeyOf("c", 3, 35), KeyOf("d", 4, 45)});
  Commit(0, {10, 30}, {KeyOf("x", 1, 20)}, 1);
  EXPECT_THAT(Keys(), testing::ElementsAre("d", "b", "c", "x"));
}

TEST_F(SkewTest, OutputsOfManyPartitionsSayItInKibOrNotAtAll) {
  std::vector<uint32_t> kib(100, 1024);
  kib[77] = 41 << 10;
  Commit(0, std::vector<uint64_t>(100, 1), {KeyOf("GB", 77, 40)}, 1, kib);
  ASSERT_EQ(table_.Of(kSkewed).size(), 1u);
  EXPECT_THAT(SkewText(table_.Of(kSkewed)[0], "left"), HasSubstr("(partition 77: 41 MiB, 41 times the median)"));
  Commit(1, std::vector<uint64_t>(100, 1), {KeyOf("GB", 77, 40)}, 1, {});
  EXPECT_THAT(SkewText(table_.Of(kSkewed)[0], "left"), HasSubstr("(partition 77: at least 80 MiB)"))
      << "one did not say";
  table_.Forget(kSkewed);
  Commit(0, std::vector<uint64_t>(100, 1), {KeyOf("GB", 77, 40)});
  ASSERT_EQ(table_.Of(kSkewed).size(), 1u);
  EXPECT_EQ(SkewText(table_.Of(kSkewed)[0], "left"),
            "key 'GB' has about 40 % of the 100,000 records seen from stage 'left' (partition 77: at "
            "least 40 MiB)");
}

TEST_F(SkewTest, PortsAreLookedAtByThemselves) {
  StagePlan plan = PlanOf(2);
  plan.port_partitions = {1, 2, 2};
  HotKey key = KeyOf("GB", 4, 20);
  key.port = 2;
  HotKey elsewhere = key;
  elsewhere.port = 1;  // whose partitions are 1 and 2
  EXPECT_TRUE(table_.Committed({kSkewed, 0, 0}, plan, 0, 0, OutputOf({500, 100, 100, 10, 30}), {}, {key, elsewhere}));
  const std::vector<Skew> found = table_.Of(kSkewed);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key.port, 2u);
  EXPECT_EQ(found[0].stage_bytes, 40 * kMiB);
  EXPECT_EQ(found[0].median_bytes, 10 * kMiB);
  plan.port_partitions = {1, 1};
  EXPECT_FALSE(table_.Committed({kSkewed, 1, 0}, plan, 0, 0, OutputOf({500, 100}), {}, {key}));
}

TEST(SkewTextTest, AnyBytesOfAKeyAreWrittenInALine) {
  Skew skew;
  skew.key = {0, 0, 1, "a'\n\xff", false, 10, 10};
  skew.stage_records = skew.stage_bytes = 20;
  EXPECT_THAT(SkewText(skew, "s"), HasSubstr("key 'a\\'\\n\\xff' has about 50 % of the 20 records from"));
  skew.key.prefix = "Z\xc3\xbc";
  skew.key.cut = true;
  EXPECT_THAT(SkewText(skew, "s"), HasSubstr("key 'Z\xc3\xbc...'")) << "whole";
  skew.key.prefix = "Z\xe2\x82";
  EXPECT_THAT(SkewText(skew, "s"), HasSubstr("key 'Z...'")) << "half a character";
  skew.key.prefix = "Z\xc3";
  EXPECT_THAT(SkewText(skew, "s"), HasSubstr("key 'Z...'"));
}

TEST(SkewTextTest, FewLargeRecordsAreToldByTheirBytes) {
  Skew skew;
  skew.key = {0, 0, 1, "big", false, 3, 500 * kMiB};
  skew.stage_records = 1000;
  skew.stage_bytes = 1000 * kMiB;
  skew.partition_bytes = 600 * kMiB;
  skew.partitions_known = true;
  EXPECT_EQ(SkewText(skew, "s"),
            "key 'big' has about 0.3 % of the 1,000 records and 50 % of the 1000 MiB from stage 's' "
            "(partition 0: 600 MiB, most others have nothing)");
  skew.median_bytes = 6 * kMiB;
  EXPECT_THAT(SkewText(skew, "s"), HasSubstr("600 MiB, 100 times the median)"));
}

}  // namespace
}  // namespace mr::master
