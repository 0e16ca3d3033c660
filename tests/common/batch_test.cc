#include "common/abi/batch.h"

#include <gtest/gtest.h>

#include "common/base/rng.h"

namespace mr {
namespace {

TEST(BatchTest, RecordsComeBackAsTheyWentIn) {
  BatchBuilder builder;
  builder.Add("a", "1");
  builder.Add("", "22");
  builder.Add("ccc", "");
  std::string bytes;
  builder.Finish(0, &bytes);
  BatchView view;
  ASSERT_EQ(BatchView::Parse(bytes.data(), bytes.size(), &view), nullptr);
  ASSERT_EQ(view.size(), 3u);
  EXPECT_EQ(view.key(0), "a");
  EXPECT_EQ(view.value(1), "22");
  EXPECT_EQ(view.key(2), "ccc");
  EXPECT_TRUE(builder.empty());
}

TEST(BatchTest, EqualLengthsNeedNoOffsets) {
  BatchBuilder builder;
  for (int i = 0; i < 100; ++i) builder.Add("key", "value");
  std::string bytes;
  builder.Finish(kSorted, &bytes);
  EXPECT_EQ(bytes.size(), sizeof(BatchHeader) + 100 * 8);
  BatchView view;
  ASSERT_EQ(BatchView::Parse(bytes.data(), bytes.size(), &view), nullptr);
  EXPECT_TRUE(view.sorted());
  EXPECT_EQ(view.key(99), "key");
}

TEST(BatchTest, TagsTravelWithTheirRecords) {
  BatchBuilder builder;
  builder.AddTagged("k", "left", 0);
  builder.AddTagged("k", "right", 1);
  std::string bytes;
  builder.Finish(0, &bytes);
  BatchView view;
  ASSERT_EQ(BatchView::Parse(bytes.data(), bytes.size(), &view), nullptr);
  EXPECT_EQ(view.tag(0), 0);
  EXPECT_EQ(view.tag(1), 1);
  EXPECT_EQ(view.value(1), "right");
}

TEST(BatchTest, NoTagOfAnEarlierBatchIsLeft) {
  BatchBuilder builder;
  const auto tag_of = [&](bool tagged) {
    if (tagged) builder.AddTagged("k", "v", 1);
    std::string bytes;
    builder.Add("a", "b");
    if (tagged) builder.Clear(), builder.Add("a", "b");
    builder.Finish(0, &bytes);
    BatchView view;
    EXPECT_EQ(BatchView::Parse(bytes.data(), bytes.size(), &view), nullptr);
    EXPECT_EQ(view.flags() & kTagged, 0);
    return view.tag(0);
  };
  EXPECT_EQ(tag_of(true), 0);
  EXPECT_EQ(tag_of(false), 0);
}

TEST(BatchTest, ARecordHasKeyAndValueOfNoMoreThan16MiB) {
  for (const uint32_t key : {0u, 1u, kMaxRecordBytes / 2, kMaxRecordBytes}) {
    for (const uint32_t more : {0u, 1u}) {
      BatchBuilder builder;
      builder.Add(std::string(key, 'k'), std::string(kMaxRecordBytes - key + more, 'v'));
      builder.Add("", "");  // so that lengths are written
      std::string bytes;
      builder.Finish(0, &bytes);
      BatchView view;
      EXPECT_EQ(BatchView::Parse(bytes.data(), bytes.size(), &view) == nullptr, more == 0) << key << " + " << more;
    }
  }
}

TEST(BatchTest, OffsetsCoverAllBytesAndNoMore) {
  for (const size_t array : {0, 1}) {
    for (const int change : {-1, 0, 1}) {
      BatchBuilder builder;
      builder.Add("a", "1");
      builder.Add("bb", "22");
      std::string bytes;
      builder.Finish(0, &bytes);
      const size_t last = sizeof(BatchHeader) + 4 * (2 * array + 1);
      bytes[last] = static_cast<char>(bytes[last] + change);
      BatchView view;
      EXPECT_EQ(BatchView::Parse(bytes.data(), bytes.size(), &view) == nullptr, change == 0) << array << " " << change;
    }
  }
}

TEST(BatchTest, NoFlippedByteMakesItReadOutside) {
  BatchBuilder builder;
  for (int i = 0; i < 20; ++i) builder.Add(std::string(i, 'k'), std::string(20 - i % 7, 'v'));
  std::string good;
  builder.Finish(0, &good);
  Rng rng(11);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Next());
    if (rng.Below(4) == 0) bytes.resize(rng.Below(bytes.size() + 1));
    BatchView view;
    if (BatchView::Parse(bytes.data(), bytes.size(), &view) != nullptr) continue;
    size_t total = 0;
    for (uint32_t i = 0; i < view.size(); ++i) total += view.key(i).size() + view.value(i).size();
    EXPECT_LE(total, bytes.size());
  }
}

}  // namespace
}  // namespace mr
