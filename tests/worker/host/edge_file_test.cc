// The output of an upstream task, read like a file, gives the same records as the file itself.
#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "tests/worker/host/core_harness.h"
#include "worker/task/edge_file.h"
#include "worker/task/output.h"

namespace mr::task {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct EdgeRead {
  std::vector<Record> records;
  std::vector<uint64_t> offsets;  // of each batch
  Status status;
};

EdgeRead ReadEdge(const std::vector<std::string>& batches, const std::string& written, const std::string& format,
                  bool raw = false, uint64_t sample_bytes = 0) {
  size_t next = 0;
  WireSplit split;
  split.name = "@step/00003";
  split.sample_bytes = sample_bytes;
  SplitReader reader(
      split, *ParseInputFormat(format), raw,
      std::make_unique<EdgeFile>(*ParseOutputFormat(written), split.name, [&](std::string_view* batch) -> Result<bool> {
        if (next == batches.size()) return false;
        *batch = batches[next++];
        return true;
      }));
  EdgeRead read;
  for (std::string_view bytes;;) {
    uint64_t offset = 0;
    const Result<bool> got = reader.Next(&bytes, &offset);
    if (!got.ok()) read.status = got.status();
    if (!got.ok() || !*got) return read;
    read.offsets.push_back(offset);
    for (Record& r : ParseBatch(std::string(bytes))) read.records.push_back(std::move(r));
  }
}

TEST(EdgeFileTest, RecordsOfAnyBatchesAreThoseOfTheFile) {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> batches;
    std::string file;
    for (uint64_t n = rng.Below(6); n > 0; --n) {
      std::vector<Record> records;
      for (uint64_t k = rng.Below(5); k > 0; --k) {
        records.push_back(
            {rng.Below(2) == 0 ? "" : "k" + std::to_string(rng.Below(9)), std::string(rng.Below(7), 'v')});
        AppendAsFile(*ParseOutputFormat("text"), records.back().key, records.back().value, &file);
      }
      batches.push_back(MakeBatch(records));
    }
    for (const std::string format : {"text", "kv", "jsonl", "csv"}) {
      const EdgeRead read = ReadEdge(batches, "text", format);
      ASSERT_TRUE(read.status.ok()) << read.status.ToString();
      EXPECT_EQ(read.records, ReadSplit(file, format, 0, file.size())) << format << ", round " << round;
    }
    std::string blocks;
    for (const Record& r : ReadEdge(batches, "text", "text", true).records) blocks += r.value;
    EXPECT_EQ(blocks, file) << "round " << round;
  }
}

TEST(EdgeFileTest, OffsetsGoOnFromBatchToBatch) {
  const EdgeRead read =
      ReadEdge({MakeBatch({{"", "one"}, {"", "two"}}), MakeBatch({}), MakeBatch({{"k", "three"}})}, "text", "text");
  EXPECT_THAT(read.offsets, ElementsAre(0, 8));
  EXPECT_EQ(read.records.size(), 3u);
}

TEST(EdgeFileTest, ARowOfCsvMayHoldNewlinesAndAnOpenQuoteHasItsPlace) {
  const EdgeRead whole = ReadEdge({MakeBatch({{"", "a,\"x\ny\""}}), MakeBatch({{"", "b,1"}})}, "text", "csv");
  ASSERT_EQ(whole.records.size(), 2u);
  EXPECT_EQ(whole.records[0].value, "a,\"x\ny\"");
  EXPECT_THAT(ReadEdge({MakeBatch({{"", "a,\"x"}})}, "text", "csv").status.message(),
              HasSubstr("CSV_BAD_RECORD: @step/00003, byte 0"));
}

TEST(EdgeFileTest, AHeaderIsLeftOutWhereTheFilesAreCsv) {
  const std::vector<std::string> batches = {MakeBatch({}), MakeBatch({{"", "a,b"}}), MakeBatch({{"", "1,2"}})};
  for (const std::string format : {"text", "csv"}) {
    const EdgeRead rows = ReadEdge(batches, "csv", format);
    ASSERT_EQ(rows.records.size(), 1u) << format;
    EXPECT_EQ(rows.records[0].value, "1,2");
    EXPECT_EQ(rows.offsets, std::vector<uint64_t>{0});
    EXPECT_EQ(ReadEdge(batches, "text", format).records.size(), 2u) << format;
  }
  EXPECT_TRUE(ReadEdge({MakeBatch({{"", "a,b"}})}, "csv", "text").records.empty());
}

TEST(EdgeFileTest, RecordsOfAFixedLengthMustHaveIt) {
  const EdgeRead good = ReadEdge({MakeBatch({{"ab", "cd"}, {"", "efgh"}})}, "fixed:4", "fixed:4");
  ASSERT_EQ(good.records.size(), 2u);
  EXPECT_EQ(good.records[1].value, "efgh");
  EXPECT_THAT(ReadEdge({MakeBatch({{"", "abc"}})}, "fixed:4", "fixed:4").status.message(),
              HasSubstr("a record of 3 bytes"));
}

TEST(EdgeFileTest, ASampleEndsAtARecordsEnd) {
  const std::vector<std::string> batches = {MakeBatch({{"", "aaaa"}}), MakeBatch({{"", "bbbb"}}),
                                            MakeBatch({{"", "cccc"}})};
  EXPECT_EQ(ReadEdge(batches, "text", "text", false, 6).records.size(), 2u);
}

TEST(EdgeFileTest, ADamagedBatchIsNotTheUsersFault) {
  std::string damaged = MakeBatch({{"", "aaaa"}});
  damaged[0] = 'X';
  EXPECT_EQ(ReadEdge({damaged}, "text", "text").status.code(), Code::kCorrupted);
}

}  // namespace
}  // namespace mr::task
