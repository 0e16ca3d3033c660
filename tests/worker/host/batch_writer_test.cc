#include "worker/task/batch_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "worker/task/byte_buffer.h"
#include "worker/task/record_store.h"
#include "worker/task/sort_items.h"

namespace mr::task {
namespace {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

KeyValues RandomRecords(uint64_t seed, uint64_t n, uint64_t key, uint64_t value, bool fixed) {
  Rng rng(seed);
  KeyValues records(n);
  for (auto& [k, v] : records) {
    k.assign(fixed ? key : rng.Below(key + 1), static_cast<char>('a' + rng.Below(26)));
    v.assign(fixed ? value : rng.Below(value + 1), static_cast<char>('A' + rng.Below(26)));
  }
  return records;
}

TEST(BatchWriterTest, WritesWhatABuilderWrites) {
  for (const bool tagged : {false, true}) {
    for (const bool fixed : {false, true}) {
      for (const uint64_t n : {0, 1, 2, 3, 57}) {
        const KeyValues records = RandomRecords(n + 1, n, 40, 90, fixed);
        BatchBuilder builder;
        BatchShape shape;
        for (size_t i = 0; i < records.size(); ++i) {
          const auto& [key, value] = records[i];
          tagged ? builder.AddTagged(key, value, static_cast<uint8_t>(i % 3)) : builder.Add(key, value);
          shape.Add(key.size(), value.size());
        }
        const bool tags = tagged && n > 0;  // a builder without records has none
        EXPECT_EQ(shape.bound(tagged), builder.bytes());
        std::string built;
        builder.Finish(kSorted, &built);
        ASSERT_EQ(shape.size(tags), built.size());
        std::string written(built.size() + 4, '#');
        const auto at = [&](uint32_t i) { return RecordRef{records[i].first, records[i].second}; };
        if (tags) {
          WriteBatch(
              shape, kSorted, at, [](uint32_t i) { return static_cast<uint8_t>(i % 3); }, written.data());
        } else {
          WriteBatch(shape, kSorted, at, nullptr, written.data());
        }
        EXPECT_EQ(written, built + "####") << n;
      }
    }
  }
}

TEST(RecordStoreTest, GivesBackWhatItTookInTheOrderOfPlaces) {
  RecordStore store;
  for (int round = 0; round < 2; ++round) {  // the second one in kept memory
    KeyValues records = RandomRecords(7, 500, 30, 200, false);
    records[20].second.assign(9u << 20, 'x');  // larger than a block
    records[300].second.assign(3u << 20, 'y');
    std::vector<uint64_t> places;
    for (const auto& [key, value] : records) places.push_back(store.Add(key, value));
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(store.At(places[i]).key, records[i].first);
      EXPECT_EQ(store.At(places[i]).value, records[i].second);
      if (i > 0) {
        EXPECT_LT(places[i - 1], places[i]);
      }
    }
    store.Clear();
  }
}

TEST(SortItemsTest, EqualPrefixesKeepTheOrderOfTheirPlaces) {
  Rng rng(3);
  std::vector<SortItem> items(10'000);
  for (size_t i = 0; i < items.size(); ++i) items[i] = {i, rng.Below(50) << 60 | rng.Below(3)};
  SortByPrefix(items);
  for (size_t i = 1; i < items.size(); ++i) {
    const SortItem &a = items[i - 1], &b = items[i];
    EXPECT_TRUE(a.prefix < b.prefix || (a.prefix == b.prefix && a.place < b.place)) << i;
  }
}

TEST(ByteBufferTest, RecordsInPlaceAreABatchAndLeaveTheRest) {
  ByteBuffer buffer;
  buffer.Append("aaabbbcccrest");
  const std::string_view batch = buffer.BatchInPlace(3, 3);
  BatchView view;
  ASSERT_EQ(BatchView::Parse(batch.data(), batch.size(), &view), nullptr);
  ASSERT_EQ(view.size(), 3u);
  EXPECT_EQ(view.value(1), "bbb");
  EXPECT_EQ(view.key(1), "");
  buffer.Consume(9);
  EXPECT_EQ(buffer.unread(), "rest");
  EXPECT_TRUE(buffer.BatchInPlace(1, 4).empty()) << "not aligned";
  buffer.Compact();
  EXPECT_EQ(buffer.unread(), "rest");
  EXPECT_FALSE(buffer.BatchInPlace(1, 4).empty());
}

}  // namespace
}  // namespace mr::task
