// The pure pieces of a task, without a process: cutting files into records, sorting, combining,
// spilling, merging.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "tests/support/temp_directory.h"
#include "tests/worker/host/core_harness.h"

namespace mr::task {
namespace {

// ---- Splits ------------------------------------------------------------------------------------

// Random text with empty lines, long ones, carriage returns, with or without a last newline.
std::string RandomText(Rng& rng) {
  std::string text;
  const uint64_t lines = rng.Below(60);
  for (uint64_t i = 0; i < lines; ++i) {
    const uint64_t length = rng.Below(10) == 0 ? rng.Below(300) : rng.Below(12);
    for (uint64_t k = 0; k < length; ++k) text.push_back("ab\r\t "[rng.Below(5)]);
    if (i + 1 < lines || rng.Below(2) == 0) text.push_back('\n');
  }
  return text;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t nl = text.find('\n', at);
    lines.push_back(text.substr(at, nl - at));
    at = nl == text.npos ? text.size() : nl + 1;
  }
  return lines;
}

TEST(SplitReaderTest, AnySplitPointsGiveTheSameLinesInOrder) {
  Rng rng(1);
  for (int round = 0; round < 400; ++round) {
    const std::string text = RandomText(rng);
    std::set<uint64_t> cuts = {0, text.size()};
    for (uint64_t n = rng.Below(8); n > 0 && !text.empty(); --n) cuts.insert(rng.Below(text.size()));
    std::vector<std::string> got;
    std::string raw;
    for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
      const uint64_t from = *it, to = *std::next(it);
      for (const Record& r : ReadSplit(text, "text", from, to - from)) got.push_back(r.value);
      for (const Record& r : ReadSplit(text, "text", from, to - from, true)) raw += r.value;
    }
    ASSERT_EQ(got, Lines(text)) << "round " << round;
    ASSERT_EQ(raw, text) << "round " << round;
  }
}

TEST(SplitReaderTest, BlocksOfAFileAreReadOnBehindTheirEnd) {
  Rng rng(2);
  for (int round = 0; round < 200; ++round) {
    const std::string text = RandomText(rng);
    const uint64_t block = 1 + rng.Below(40);
    std::vector<std::string> got;
    for (uint64_t from = 0; from < text.size(); from += block) {
      // The descriptor holds the block alone; what is behind it comes by ReadMore.
      const uint64_t size = std::min<uint64_t>(block, text.size() - from);
      for (const Record& r : ReadSplit(text, "text", from, size, false, from, size)) got.push_back(r.value);
    }
    ASSERT_EQ(got, Lines(text)) << "round " << round;
  }
}

TEST(SplitReaderTest, LargeFilesGiveTheSameLinesForLargeSplits) {
  std::string text;
  for (int i = 0; text.size() < 5'000'000; ++i) text += std::string(static_cast<size_t>(i) * 7919 % 3000, 'x') + '\n';
  for (const uint64_t cut : {uint64_t{1}, uint64_t{1} << 20, (uint64_t{1} << 20) + 1, text.size() - 1}) {
    for (const bool raw : {false, true}) {
      std::string got;
      for (const auto& [from, to] : {std::pair{uint64_t{0}, cut}, std::pair{cut, uint64_t{text.size()}}}) {
        for (const Record& r : ReadSplit(text, "text", from, to - from, raw)) got += r.value + (raw ? "" : "\n");
      }
      ASSERT_TRUE(got == text) << cut;
    }
  }
}

TEST(SplitReaderTest, KvCutsAtTheFirstTab) {
  EXPECT_EQ(ReadSplit("a\tb\tc\nalone\n\tv\n", "kv", 0, 16),
            (std::vector<Record>{{"a", "b\tc"}, {"alone", ""}, {"", "v"}}));
}

TEST(SplitReaderTest, FixedRecordsBelongToTheSplitTheyStartIn) {
  const std::string text = "aaabbbcccddd";
  for (uint64_t cut = 1; cut < text.size(); ++cut) {
    std::string got;
    for (const Record& r : ReadSplit(text, "fixed:3", 0, cut)) got += r.value + "|";
    for (const Record& r : ReadSplit(text, "fixed:3", cut, text.size() - cut)) got += r.value + "|";
    EXPECT_EQ(got, "aaa|bbb|ccc|ddd|") << cut;
  }
}

TEST(SplitReaderTest, LineAbove16MiBIsRefusedWithItsPlace) {
  std::string text = "short\n" + std::string(kMaxRecordBytes + 1, 'x') + "\nshort\n";
  for (const bool raw : {false, true}) {
    Status status;
    ReadSplit(text, "text", 0, text.size(), raw, 0, 0, &status);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message().rfind("LINE_TOO_LONG: file, byte 6", 0), 0u) << status.message();
  }
  text.erase(6, 1);  // exactly 16 MiB
  EXPECT_EQ(ReadSplit(text, "text", 0, text.size()).size(), 3u);
}

TEST(SplitReaderTest, SampleEndsAtARecordsEnd) {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "line" + std::to_string(i) + "\n";
  const std::vector<Record> got = ReadSplit(text, "text", 0, text.size(), false, 0, 0, nullptr, 5000);
  ASSERT_GT(got.size(), 300u);
  ASSERT_LT(got.size(), 2000u);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].value, "line" + std::to_string(i));
}

TEST(SplitReaderTest, FileThatShrankIsNotTheUsersFault) {
  Status status;
  ReadSplit("abc\n", "text", 0, 100, false, 0, 100, &status, 0, 100);
  EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
}

// ---- Sort buffer -------------------------------------------------------------------------------

SortBuffer::Options SortOptions(uint64_t budget, bool combine = false) {
  SortBuffer::Options o;
  o.how.partitions = 3;
  o.combine = combine;
  o.how.seed = 5;
  o.budget = budget;
  o.scratch_directory = "/tmp";
  return o;
}

std::vector<std::vector<Record>> RandomBatches(uint64_t seed, int batches, uint64_t keys) {
  Rng rng(seed);
  std::vector<std::vector<Record>> all(batches);
  for (auto& batch : all) {
    for (uint64_t n = rng.Below(400); n > 0; --n) {
      std::string key = "key" + std::to_string(rng.Below(keys));
      if (rng.Below(20) == 0) key.push_back('\0');  // differs by its length alone
      if (rng.Below(20) == 0) key = key.substr(0, rng.Below(3));
      batch.push_back({key, std::to_string(rng.Below(100))});
    }
  }
  return all;
}

TEST(SortBufferTest, SpillingGivesTheSameBytes) {
  const auto batches = RandomBatches(3, 100, 50);
  uint32_t runs = 0;
  const std::string whole = Sorted(SortOptions(1 << 30), batches, &runs);
  EXPECT_EQ(runs, 0u);
  for (const uint64_t budget : {10'000u, 50'000u, 400'000u}) {
    EXPECT_EQ(Sorted(SortOptions(budget), batches, &runs), whole) << budget;
    EXPECT_GT(runs, 1u);
  }
  EXPECT_EQ(Sorted(SortOptions(1 << 30, true), batches, &runs), Sorted(SortOptions(10'000, true), batches, &runs));
}

TEST(SortBufferTest, RecordsOfOneLengthAreCutIntoTheSameChunks) {
  Rng rng(4);
  const std::pair<size_t, size_t> lengths[] = {{10, 90},     {0, 0}, {10, 0}, {0, 700'000}, {8, (1u << 20) - 8},
                                               {8, 1u << 20}};
  for (const auto& [key, value] : lengths) {
    std::vector<std::vector<Record>> batches(4'000'000 / (key + value + 100));
    for (size_t i = 0; i < batches.size(); ++i) {
      batches[i].assign(1, {std::to_string(1'000'000'000 + rng.Below(1'000'000'000)).substr(0, key),
                            std::string(value, static_cast<char>('a' + rng.Below(26)))});
    }
    uint32_t runs = 0;
    std::vector<Chunked> cut, merged;
    const std::string whole = Sorted(SortOptions(1 << 30), batches, &runs, &cut);
    EXPECT_EQ(runs, 0u);
    // The merge of runs looks at each record.
    EXPECT_EQ(Sorted(SortOptions(1 << 20), batches, &runs, &merged), whole) << key << " " << value;
    EXPECT_GT(runs, 1u);
    EXPECT_EQ(cut.size(), merged.size());
    // One record of another length.
    batches.back()[0].value += "+";
    EXPECT_EQ(Sorted(SortOptions(1 << 30), batches, &runs), Sorted(SortOptions(1 << 20), batches, &runs));
  }
}

TEST(SortBufferTest, EqualKeysKeepTheOrderOfEmission) {
  const auto batches = RandomBatches(4, 60, 7);
  std::map<std::string, std::vector<std::string>> want;
  for (const auto& batch : batches) {
    for (const Record& r : batch) want[r.key].push_back(r.value);
  }
  std::map<std::string, std::vector<std::string>> got;
  std::vector<Chunked> chunks;
  uint32_t runs;
  Sorted(SortOptions(20'000), batches, &runs, &chunks);
  for (const Chunked& c : chunks) {
    for (const Record& r : c.records) {
      EXPECT_EQ(Hash64(r.key, 5) % 3, c.partition);
      got[r.key].push_back(r.value);
    }
  }
  EXPECT_EQ(got, want);
}

TEST(SortBufferTest, CombineFoldsEachGroupOnce) {
  const auto batches = RandomBatches(6, 50, 20);
  std::map<std::string, int64_t> want;
  for (const auto& batch : batches) {
    for (const Record& r : batch) want[r.key] += atoll(r.value.c_str());
  }
  for (const uint32_t flags : {0u, static_cast<uint32_t>(MR_ASSOCIATIVE)}) {
    std::map<std::string, int64_t> got;
    std::vector<Chunked> chunks;
    uint32_t runs;
    Sorted(SortOptions(30'000, true), batches, &runs, &chunks, flags);
    EXPECT_GT(runs, 1u);
    for (const Chunked& c : chunks) {
      for (const Record& r : c.records) EXPECT_TRUE(got.emplace(r.key, atoll(r.value.c_str())).second) << r.key;
    }
    EXPECT_EQ(got, want);
  }
}

// A count of records is not the count of counts: were the combine run on what a spill combined, the totals would show
// it.
TEST(SortBufferTest, ACombineThatIsNotAssociativeSeesEachGroupOnceAndWhole) {
  const auto batches = RandomBatches(6, 50, 20);
  std::map<std::string, int64_t> want;
  for (const auto& batch : batches) {
    for (const Record& r : batch) ++want[r.key];
  }
  mr_operator counts = TestTable(0);
  counts.combine = [](void*, uint32_t, mr_bytes data, mr_emit_fn emit, void* context) {
    const std::vector<Record> in = ParseBatch(std::string(data.data, data.size));
    std::vector<Record> out;
    for (size_t i = 0; i < in.size();) {
      const std::string key = in[i].key;
      int64_t n = 0;
      for (; i < in.size() && in[i].key == key; ++i) ++n;
      out.push_back({key, std::to_string(n)});
    }
    const std::string bytes = MakeBatch(out);
    return emit(context, {bytes.data(), bytes.size()});
  };
  std::map<std::string, int64_t> got;
  std::vector<Chunked> chunks;
  uint32_t runs;
  Sorted(SortOptions(30'000, true), batches, &runs, &chunks, 0, &counts);
  EXPECT_GT(runs, 1u);
  for (const Chunked& c : chunks) {
    for (const Record& r : c.records) EXPECT_TRUE(got.emplace(r.key, atoll(r.value.c_str())).second) << r.key;
  }
  EXPECT_EQ(got, want);
}

TEST(SpillFileTest, ADescriptorThatTheOperatorHasClosedIsAFailureOfTheUser) {
  test::TempDirectory directory;
  for (const bool write : {true, false}) {
    const int next = dup(0);  // the number that the file gets
    ASSERT_EQ(close(next), 0);
    SpillFile file(directory.path());
    ASSERT_TRUE(file.Append("a run").ok());
    ASSERT_EQ(close(next), 0);
    const Status failed = write ? file.Append("another").status() : file.At(0, 5).status();
    EXPECT_EQ(failed.code(), Code::kInvalidArgument) << failed.ToString();
    EXPECT_NE(failed.message().find("the operator closed the descriptor of a spill run"), std::string::npos)
        << failed.message();
  }
}

TEST(PartitionBufferTest, RecordsKeepTheOrderOfEmissionInTheirPartitionAlsoWhenSpilled) {
  const auto batches = RandomBatches(8, 80, 1000);
  const mr_operator table = TestTable(0);
  std::vector<std::vector<std::vector<Record>>> got;  // by budget, by partition
  for (const uint64_t budget : {uint64_t{1} << 30, uint64_t{20'000}, uint64_t{20'000}}) {
    Operator oper{&table, nullptr, {}};
    PartitionBuffer buffer({{0, 3, false, 5}, budget, "/tmp"}, &oper);
    for (const auto& batch : batches) ASSERT_TRUE(buffer.Add(MakeBatch(batch)).ok());
    auto& partitions = got.emplace_back(3);
    uint32_t last = 0;
    uint64_t records = 0;
    ASSERT_TRUE(buffer
                    .Finish([&](uint32_t partition, uint32_t n, std::string_view bytes) -> Status {
                      EXPECT_GE(partition, last);
                      last = partition;
                      records += n;
                      for (Record& r : ParseBatch(std::string(bytes))) partitions[partition].push_back(std::move(r));
                      return {};
                    })
                    .ok());
    EXPECT_EQ(buffer.spilled(), budget == 20'000);
    EXPECT_EQ(records, partitions[0].size() + partitions[1].size() + partitions[2].size());
  }
  std::vector<std::vector<Record>> expected(3);
  for (const auto& batch : batches) {
    for (const Record& r : batch) expected[Hash64(r.key, 5) % 3].push_back(r);
  }
  EXPECT_EQ(got[0], expected);
  EXPECT_EQ(got[1], expected);
  EXPECT_EQ(got[2], expected);
}

#ifndef __SANITIZE_ADDRESS__  // whose allocator has no mallinfo2
TEST(PartitionBufferTest, FreesWhatItHasSpilled) {
  constexpr uint64_t kBudget = 4u << 20;
  const mr_operator table = TestTable(0);
  Operator oper{&table, nullptr, {}};
  PartitionBuffer buffer({{0, 2, false, 5}, kBudget, "/tmp"}, &oper);
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const uint64_t before = in_use();
  BatchBuilder builder;
  for (int i = 0; i < 1000; ++i) builder.Add(std::to_string(i), std::string(100, 'v'));
  std::string batch;
  builder.Finish(0, &batch);
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(buffer.Add(batch).ok());
  EXPECT_TRUE(buffer.spilled());
  EXPECT_LT(in_use() - before, 4 * kBudget) << "of 55 MB";
}
#endif

TEST(PartitionBufferTest, WithMorePartitionsThanChunksFitInItsMemoryItSpillsWhatIsOpen) {
  constexpr uint32_t kPartitions = 1000;
  const mr_operator table = TestTable(0);
  Operator oper{&table, nullptr, {}};
  PartitionBuffer buffer({{0, kPartitions, false, 5}, 100'000, "/tmp"}, &oper);
  std::vector<std::vector<Record>> expected(kPartitions), got(kPartitions);
  for (const auto& batch : RandomBatches(8, 50, 1000)) {
    ASSERT_TRUE(buffer.Add(MakeBatch(batch)).ok());
    EXPECT_LE(buffer.bytes_in_memory(), 100'000u);
    for (const Record& r : batch) expected[Hash64(r.key, 5) % kPartitions].push_back(r);
  }
  EXPECT_TRUE(buffer.spilled());
  ASSERT_TRUE(buffer
                  .Finish([&](uint32_t partition, uint32_t, std::string_view bytes) -> Status {
                    for (Record& r : ParseBatch(std::string(bytes))) got[partition].push_back(std::move(r));
                    return {};
                  })
                  .ok());
  EXPECT_EQ(got, expected);
}

TEST(PartitionBufferTest, ALargeRecordHasAChunkOfItsOwn) {
  const mr_operator table = TestTable(0);
  Operator oper{&table, nullptr, {}};
  PartitionBuffer buffer({{0, 1, false, 5}, 64u << 20, "/tmp"}, &oper);
  const std::string large(kOwnChunkBytes + 1, 'x');
  ASSERT_TRUE(buffer.Add(MakeBatch({{"a", "1"}, {"b", large}, {"c", "2"}})).ok());
  std::vector<uint32_t> records;
  ASSERT_TRUE(buffer
                  .Finish([&](uint32_t, uint32_t n, std::string_view) -> Status {
                    records.push_back(n);
                    return {};
                  })
                  .ok());
  EXPECT_EQ(records, (std::vector<uint32_t>{1, 1, 1}));
}

TEST(SortBufferTest, CustomCompareOrdersKeys) {
  const auto batches = RandomBatches(9, 20, 30);
  mr_operator table = TestTable(0);
  table.compare = [](void*, mr_bytes a, mr_bytes b) {  // descending
    return std::string_view(b.data, b.size).compare(std::string_view(a.data, a.size));
  };
  for (const uint64_t budget : {uint64_t{1} << 30, uint64_t{10'000}}) {
    std::vector<Chunked> chunks;
    uint32_t runs;
    Sorted(SortOptions(budget), batches, &runs, &chunks, 0, &table);
    std::map<uint32_t, std::string> last;
    size_t n = 0;
    for (const Chunked& c : chunks) {
      for (const Record& r : c.records) {
        if (last.count(c.partition) != 0) {
          EXPECT_GE(last[c.partition], r.key);
        }
        last[c.partition] = r.key;
        ++n;
      }
    }
    EXPECT_GT(n, 1000u);
  }
}

// Also where there are so many of them that few different keys are sorted by counting.
TEST(SortBufferTest, KeysThatACustomOrderCallsEqualKeepTheOrderOfEmission) {
  mr_operator table = TestTable(0);
  table.compare = [](void*, mr_bytes a, mr_bytes b) {  // by the first letter
    return static_cast<int>(a.data[0]) - static_cast<int>(b.data[0]);
  };
  std::vector<std::vector<Record>> batches(100);
  int number = 0;
  for (auto& batch : batches) {
    for (int i = 0; i < 100; ++i, ++number) {
      const std::string letter(1, static_cast<char>('a' + i % 3));
      batch.push_back({letter + std::to_string(number % 7), std::to_string(number)});
    }
  }
  SortBuffer::Options options = SortOptions(1 << 30);
  options.how.partitions = 1;
  for (const uint64_t budget : {uint64_t{1} << 30, uint64_t{200'000}}) {
    options.budget = budget;
    std::vector<Chunked> chunks;
    uint32_t runs;
    Sorted(options, batches, &runs, &chunks, 0, &table);
    EXPECT_EQ(runs > 0, budget < 1 << 30);
    std::map<char, int> last;
    int n = 0;
    for (const Chunked& c : chunks) {
      for (const Record& r : c.records) {
        const int at = std::stoi(r.value);
        const auto [it, first] = last.try_emplace(r.key[0], -1);
        ASSERT_LT(it->second, at) << r.key;
        it->second = at;
        ++n;
      }
    }
    EXPECT_EQ(n, number);
  }
}

TEST(SortBufferTest, ChunksAreAboutOneMiBAndSayWhereAGroupGoesOn) {
  std::vector<std::vector<Record>> batches(40);
  for (auto& batch : batches) batch.assign(100, {"same", std::string(1000, 'v')});
  SortBuffer::Options o = SortOptions(1 << 30);
  o.how.partitions = 1;
  std::vector<Chunked> chunks;
  uint32_t runs;
  Sorted(o, batches, &runs, &chunks);
  ASSERT_EQ(chunks.size(), 4u);
  for (size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_EQ((chunks[i].flags & kContinuation) != 0, i > 0);
    EXPECT_TRUE(chunks[i].flags & kSorted);
    EXPECT_LT(chunks[i].bytes, kBatchTargetBytes + 2000u);
  }
}

// ---- Inputs ------------------------------------------------------------------------------------

TEST(InputsTest, WhatIsDeliveredMakesRoomForWhatComes) {
  Inputs inputs({{0, false, false, false, 1}}, "/tmp", 1000);
  const SegmentKey key{0, 0, 0};
  const auto in_memory = [&](size_t chunk) { return inputs.Of(0)[0].second->run.chunks[chunk].data != nullptr; };
  for (size_t chunk = 0; chunk < 5; ++chunk) {
    ASSERT_TRUE(inputs.Add(key, std::string(600, static_cast<char>('a' + chunk)), false).ok());
    EXPECT_TRUE(in_memory(chunk)) << chunk;
    ASSERT_TRUE(inputs.Add(key, std::string(600, 'z'), false).ok());
    Segment* const segment = inputs.Of(0)[0].second;
    EXPECT_EQ(segment->run.chunks.back().data, nullptr) << "two are more than it may hold";
    EXPECT_EQ(std::string(inputs.Bytes(segment->run.chunks.back()).value(), 600), std::string(600, 'z'));
    segment->run.chunks.pop_back();
    segment->memory.pop_back();
    inputs.Drop(segment, chunk);
  }
}

// Progress is complete when the operator has taken all records, however small they are.
TEST(InputsTest, RecordsAreCountedAsOperatorsCountThem) {
  Inputs inputs({{0, true, false, false, 1}}, "/tmp", 1000);
  ASSERT_TRUE(inputs.Add({0, 0, 0}, MakeBatch({{"k", "one"}, {"k", "two"}}), false).ok());
  ASSERT_TRUE(inputs.Add({0, 0, 0}, MakeBatch({{"kk", "three"}}), true).ok());
  EXPECT_EQ(inputs.record_bytes(), 15u);
  std::string damaged = MakeBatch({{"k", "four"}});
  std::fill(damaged.begin(), damaged.end(), '\xff');
  ASSERT_TRUE(inputs.Add({0, 1, 0}, damaged, false).ok());
  EXPECT_LE(inputs.record_bytes(), 15 + damaged.size());
  ASSERT_TRUE(inputs.Add({0, 1, 0}, "cut", true).ok());
}

TEST(GroupedStreamTest, OrderIsByKeyInputUpstreamPosition) {
  Rng rng(11);
  for (int round = 0; round < 50; ++round) {
    // Each record's value says where it stands; segments come in any order.
    struct Piece {
      SegmentKey key;
      std::string chunk;
      bool last;
    };
    std::vector<std::vector<Piece>> segments;
    std::vector<std::pair<std::string, std::tuple<uint32_t, uint32_t, uint32_t>>> want;
    std::vector<WireEdge> edges = {{0, true, false, false, 4}, {2, true, false, false, 3}};
    for (const WireEdge& edge : edges) {
      for (uint32_t up = 0; up < edge.segments; ++up) {
        std::vector<std::string> keys;
        for (uint64_t n = rng.Below(30); n > 0; --n) keys.push_back("k" + std::to_string(rng.Below(9)));
        std::sort(keys.begin(), keys.end());
        std::vector<Piece> pieces;
        for (uint32_t i = 0; i < keys.size(); i += 7) {
          std::vector<Record> part;
          for (uint32_t k = i; k < keys.size() && k < i + 7; ++k) {
            want.push_back({keys[k], {edge.input, up, k}});
            part.push_back({keys[k], std::to_string(edge.input) + "/" + std::to_string(up) + "/" + std::to_string(k)});
          }
          pieces.push_back({{edge.input, up, 0}, MakeBatch(part), false});
        }
        pieces.push_back({{edge.input, up, 0}, "", true});
        segments.push_back(std::move(pieces));
      }
    }
    Inputs inputs(edges, "/tmp", round % 2 ? 500 : 1 << 20);
    while (!segments.empty()) {
      const size_t pick = rng.Below(segments.size());
      Piece piece = segments[pick].front();
      segments[pick].erase(segments[pick].begin());
      if (segments[pick].empty()) segments.erase(segments.begin() + static_cast<long>(pick));
      ASSERT_TRUE(inputs.Add(piece.key, piece.chunk, piece.last).ok());
    }
    ASSERT_TRUE(inputs.Complete(0) && inputs.Complete(2));
    GroupedStream stream(&inputs, {0, 2}, {});
    ASSERT_TRUE(stream.Start().ok());
    std::vector<std::string> got, expected;
    mr_batch batch;
    while (stream.Next(&batch).value()) {
      BatchView view;
      ASSERT_EQ(BatchView::Parse(batch.data.data, batch.data.size, &view), nullptr);
      for (uint32_t i = 0; i < view.size(); ++i) {
        got.push_back(std::string(view.key(i)) + " " + std::string(view.value(i)));
        EXPECT_EQ(std::to_string(view.tag(i)), std::string(view.value(i).substr(0, 1)));
      }
    }
    std::sort(want.begin(), want.end());
    for (const auto& [key, at] : want) {
      expected.push_back(key + " " + std::to_string(std::get<0>(at)) + "/" + std::to_string(std::get<1>(at)) + "/" +
                         std::to_string(std::get<2>(at)));
    }
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

}  // namespace
}  // namespace mr::task
