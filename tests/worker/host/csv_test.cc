// Records of csv, read in splits that may begin anywhere: within a field, between two quotes, on a border.
#include <gmock/gmock.h>

#include <set>

#include "common/abi/csv_scan.h"
#include "common/base/rng.h"
#include "tests/worker/host/core_harness.h"
#include "worker/task/compress.h"
#include "worker/task/csv_quotes.h"

namespace mr::task {
namespace {

std::string RandomCsv(Rng& rng) {
  std::string text;
  for (uint64_t rows = rng.Below(40); rows > 0; --rows) {
    for (uint64_t fields = 1 + rng.Below(4); fields > 0; --fields) {
      const bool quoted = rng.Below(3) == 0;
      if (quoted) text += '"';
      for (uint64_t n = rng.Below(8); n > 0; --n) {
        static constexpr std::string_view kQuoted[] = {"a", ",", "\n", "\"\"", "\r\n", "b"};
        text += quoted ? kQuoted[rng.Below(6)] : "x";
      }
      if (quoted) text += '"';
      text += fields > 1 ? "," : rng.Below(5) == 0 ? "\r\n" : "\n";
    }
  }
  if (!text.empty() && rng.Below(2) == 0) text.pop_back();  // no newline at the end
  return text;
}

// By one byte at a time.
std::vector<std::string> Records(const std::string& text) {
  std::vector<std::string> records;
  std::string record;
  bool quoted = false;
  for (char c : text) {
    quoted ^= c == '"';
    if (c == '\n' && !quoted) {
      records.push_back(std::move(record));
      record.clear();
    } else {
      record += c;
    }
  }
  if (!record.empty()) records.push_back(record);
  return records;
}

// The rows of a file in these splits, as the two stages of a plan read them.
struct CsvFile {
  std::string bytes, name = "file";
  CsvQuotes quotes;
  Status status;

  std::vector<Record> Read(uint64_t from, uint64_t to, const std::string& format, bool raw, uint64_t* begin = nullptr) {
    const UniqueFd fd(memfd_create("split", 0));
    EXPECT_TRUE(WriteAll(fd.get(), bytes).ok());
    WireSplit split{0, name, format, from, to - from, bytes.size(), 0, 0, bytes.size()};
    SplitReader reader(split, ParseInputFormat(format).value(), raw, fd.get(),
                       [](uint64_t, uint32_t) -> Result<std::string> { return Internal("all is in the descriptor"); });
    reader.SetQuotes(&quotes);
    std::vector<Record> all;
    for (;;) {
      std::string batch;
      uint64_t at = 0;
      const Result<bool> got = reader.Next(&batch, &at);
      if (!got.ok()) status = got.status();
      if (!got.ok() || !*got) return all;
      if (all.empty() && begin != nullptr) *begin = at;
      for (Record& r : ParseBatch(batch)) all.push_back(std::move(r));
    }
  }

  void CountQuotes(const std::set<uint64_t>& cuts) {
    static std::string emitted;
    mr_host host{};
    uint64_t taken = 0;
    host.taken = &taken;
    host.emit = [](void*, uint32_t, mr_bytes batch) {
      emitted.assign(batch.data, batch.size);
      return 0;
    };
    mr_open_args args{};
    const mr_operator& op = *CsvQuotesOperator();
    for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
      emitted.clear();
      void* counter = op.open(&args, &host);
      uint64_t begin = 0;
      std::vector<Record> pieces = Read(*it, *std::next(it), "raw", false, &begin);
      for (const Record& piece : pieces) {
        const std::string bytes = MakeBatch({piece});
        mr_batch batch{};
        batch.offset = begin;
        batch.input_file = {name.data(), name.size()};
        batch.data = {bytes.data(), bytes.size()};
        EXPECT_EQ(op.batch(counter, &batch), 0);
        begin += piece.value.size();
      }
      EXPECT_EQ(op.end(counter), 0);
      op.close(counter);
      if (emitted.empty()) continue;
      EXPECT_TRUE(quotes.Add(emitted).ok());
    }
  }
};

TEST(CsvTest, RecordsEndAtNewlinesOutsideOfQuotes) {
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = RandomCsv(rng);
    std::vector<std::string> got;
    ForEachCsvRecord(text, [&](std::string_view r) { got.emplace_back(r); });
    ASSERT_EQ(got, Records(text)) << text;
  }
}

TEST(CsvTest, AnySplitPointsGiveTheSameRecordsInOrder) {
  Rng rng(2);
  for (int round = 0; round < 600; ++round) {
    CsvFile file{RandomCsv(rng)};
    std::set<uint64_t> cuts = {0, file.bytes.size()};
    for (uint64_t n = rng.Below(10); n > 0 && !file.bytes.empty(); --n) cuts.insert(rng.Below(file.bytes.size()));
    file.CountQuotes(cuts);
    std::vector<std::string> got;
    std::string raw;
    for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
      for (const Record& r : file.Read(*it, *std::next(it), "csv", false)) got.push_back(r.value);
      for (const Record& r : file.Read(*it, *std::next(it), "csv", true)) raw += r.value;
    }
    ASSERT_TRUE(file.status.ok()) << file.status.ToString();
    ASSERT_EQ(got, Records(file.bytes)) << "round " << round;
    ASSERT_EQ(raw, file.bytes) << "round " << round;
  }
}

TEST(CsvTest, LargeFieldsAcrossManyPiecesStayWhole) {
  Rng rng(3);
  std::string text = "id,text\n";
  for (int row = 0; row < 60; ++row) {
    text += std::to_string(row) + ",\"" + std::string(rng.Below(200'000), 'x') + "\n" + std::string(rng.Below(9), '\n') + "\"\"\"\n";
  }
  for (const bool compressed : {false, true}) {
    CsvFile file{text};
    if (compressed) {
      const auto zstd = MakeCompressor(Compression::kZstd);
      file = CsvFile{""};
      EXPECT_TRUE(zstd->Add(text, &file.bytes).ok() && zstd->Finish(&file.bytes).ok());
    }
    const uint64_t n = file.bytes.size();
    const std::set<uint64_t> cuts = {0, n / 5, n / 3, n / 2, n - 1, n};
    file.CountQuotes(cuts);
    std::vector<std::string> got;
    for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
      for (const Record& r : file.Read(*it, *std::next(it), "csv", false)) got.push_back(r.value);
    }
    EXPECT_TRUE(got == Records(text)) << compressed;
  }
}

TEST(CsvTest, AQuoteThatNothingClosesIsToldWithItsRecord) {
  CsvFile file{"a,b\n1,\"open\n2,3\n"};
  EXPECT_EQ(file.Read(0, file.bytes.size(), "csv", false).size(), 1u);
  EXPECT_EQ(file.status.code(), Code::kInvalidArgument);
  EXPECT_THAT(file.status.message(), testing::StartsWith("CSV_OPEN_QUOTE: file, byte 4: "));
  for (const bool raw : {false, true}) {
    CsvFile ends{"id\n\"" + std::string(kMaxRecordBytes + 100'000, 'x') + "\"\nafter\n"};
    ends.Read(0, ends.bytes.size(), "csv", raw);
    EXPECT_THAT(ends.status.message(), testing::StartsWith("CSV_RECORD_TOO_LONG: file, byte 3: ")) << raw;
  }
  CsvFile large{"a,\"" + std::string(kMaxRecordBytes + 1, '\n')};
  large.Read(0, large.bytes.size(), "csv", true);
  EXPECT_THAT(large.status.message(), testing::StartsWith("CSV_RECORD_TOO_LONG: file, byte 0: "));
}

TEST(CsvTest, ASplitWhoseQuotesWereNotCountedIsRefused) {
  CsvFile file{"a,b\n1,2\n3,4\n"};
  file.Read(5, 12, "csv", false);
  EXPECT_EQ(file.status.code(), Code::kInternal) << file.status.ToString();
}

}  // namespace
}  // namespace mr::task
