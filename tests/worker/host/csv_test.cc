// Records of csv, read in splits that may begin anywhere: within a field, between two quotes, between CR and LF.
#include <gmock/gmock.h>

#include <set>

#include "common/base/rng.h"
#include "tests/worker/host/csv_file.h"
#include "worker/task/compress.h"

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

// By one byte at a time; records that break the rules are left out.
std::vector<std::string> Records(const std::string& text) {
  std::vector<std::string> records;
  std::string record;
  CsvState state = CsvState::kRecordStart;
  bool bad = false, any = false;
  const auto end = [&] {
    if (any && !bad) records.push_back(record);
    record.clear();
    any = bad = false;
  };
  for (char c : text) {
    if (state == CsvState::kCarriageReturn && c != '\n') end();
    state = NextCsvState(state, c, {});
    any = true;
    bad |= state == CsvState::kSkipLine;
    if (state == CsvState::kRecordStart) {
      end();
    } else if (state != CsvState::kCarriageReturn) {
      record += c;
    }
  }
  bad |= state == CsvState::kQuoted;
  end();
  return records;
}

TEST(CsvTest, RecordsEndAtNewlinesOutsideOfQuotes) {
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = RandomCsv(rng);
    std::vector<std::string> got;
    ForEachCsvRecord(text, {}, [&](const CsvRecord& r) {
      if (!r.bad) got.emplace_back(r.text);
    });
    ASSERT_EQ(got, Records(text)) << text;
  }
}

TEST(CsvTest, AnySplitPointsGiveTheSameRecordsInOrder) {
  Rng rng(2);
  for (int round = 0; round < 600; ++round) {
    CsvFile file{RandomCsv(rng)};
    std::set<uint64_t> cuts = {0, file.bytes.size()};
    for (uint64_t n = rng.Below(10); n > 0 && !file.bytes.empty(); --n) cuts.insert(rng.Below(file.bytes.size()));
    file.ReadQuotes(cuts);
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
    text += std::to_string(row) + ",\"" + std::string(rng.Below(200'000), 'x') + "\n" +
            std::string(rng.Below(9), '\n') + "\"\"\"\n";
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
    file.ReadQuotes(cuts);
    std::vector<std::string> got;
    for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
      for (const Record& r : file.Read(*it, *std::next(it), "csv", false)) got.push_back(r.value);
    }
    EXPECT_TRUE(got == Records(text)) << compressed;
  }
}

TEST(CsvTest, AQuoteThatNothingClosesSkipsTheLinesToTheFilesEnd) {
  CsvFile file{"a,b\n1,\"open\n2,3\n"};
  EXPECT_EQ(file.Read(0, file.bytes.size(), "csv", false).size(), 1u);
  EXPECT_TRUE(file.status.ok()) << file.status.ToString();
  EXPECT_THAT(file.bad, testing::ElementsAre(testing::Pair(4, 2)));
}

TEST(CsvTest, ReadingResumesBehindTheLineWhereTheDamageShowed) {
  CsvFile file{"1 \"GET /a\n2 \"GET /b\" 200\n3 \"GET /c\" 200\n"};
  EXPECT_EQ(file.Read(0, file.bytes.size(), "csv(0x20,0x22)", false).size(), 1u);
  EXPECT_THAT(file.bad, testing::ElementsAre(testing::Pair(0, 2)));
}

TEST(CsvTest, AQuoteWithinAnUnquotedFieldIsData) {
  CsvFile file{"He said \"hi\nthere\n\"a\nb\"\nbye\" x\nend\n"};
  std::vector<std::string> got;
  for (const Record& r : file.Read(0, file.bytes.size(), "csv", false)) got.push_back(r.value);
  EXPECT_THAT(got, testing::ElementsAre("He said \"hi", "there", "\"a\nb\"", "bye\" x", "end"));
}

// One task has a split of each file.
TEST(CsvTest, QuotesOfOneFileSayNothingOfTheNextOneOfTheirTask) {
  const std::string open = "a,\"x\ny", plain = "b,1\nc,2\n";
  mr_host host{};
  uint64_t taken = 0;
  static std::string emitted;
  emitted.clear();
  host.taken = &taken;
  host.emit = [](void*, uint32_t, mr_bytes batch) {
    emitted.assign(batch.data, batch.size);
    return 0;
  };
  mr_open_args args{};
  const mr_operator& op = *CsvQuotesOperator();
  void* counter = op.open(&args, &host);
  const std::pair<std::string, std::string> files[] = {{"first", open}, {"second", plain}, {"third", plain}};
  for (const auto& [name, text] : files) {
    const std::string bytes = MakeBatch({{"", text}});
    mr_batch batch{};
    batch.input_file = {name.data(), name.size()};
    batch.data = {bytes.data(), bytes.size()};
    EXPECT_EQ(op.batch(counter, &batch), 0);
  }
  EXPECT_EQ(op.end(counter), 0);
  op.close(counter);
  // A further part of each, which begins where that one ends.
  CsvQuotes quotes;
  ASSERT_TRUE(quotes.Add(emitted).ok());
  const auto more = [&](const std::string& name, uint64_t offset) {
    std::string key(8, '\0');
    key[7] = static_cast<char>(offset);
    key += CsvFormatName({}) + " " + name;
    std::string states;
    for (int state = 0; state < kCsvStates; ++state) states += static_cast<char>('0' + state);
    EXPECT_TRUE(quotes.Add(MakeBatch({{key, states}})).ok());
    return quotes.At({}, name, offset).value();
  };
  EXPECT_EQ(more("first", open.size()), CsvState::kQuoted);
  EXPECT_EQ(more("second", plain.size()), CsvState::kRecordStart);
  EXPECT_EQ(more("third", plain.size()), CsvState::kRecordStart);
}

TEST(CsvTest, ASampleEndsAtARecordsEnd) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "row" + std::to_string(i) + ",\"a\nb\"\n";
  const std::vector<Record> got = ReadSplit(text, "csv", 0, text.size(), false, 0, 0, nullptr, 5000);
  ASSERT_GT(got.size(), 300u);
  ASSERT_LT(got.size(), 2000u);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].value, "row" + std::to_string(i) + ",\"a\nb\"");
}

TEST(CsvTest, ARecordAbove16MiBIsRefusedWithItsPlace) {
  for (const bool raw : {false, true}) {
    CsvFile ends{"id\n\"" + std::string(kMaxRecordBytes + 100'000, 'x') + "\"\nafter\n"};
    ends.Read(0, ends.bytes.size(), "csv", raw);
    EXPECT_THAT(ends.status.message(), testing::StartsWith("CSV_RECORD_TOO_LONG: file, byte 3: ")) << raw;
  }
  CsvFile large{"a,\"" + std::string(kMaxRecordBytes + 1, '\n')};
  large.Read(0, large.bytes.size(), "csv", true);
  EXPECT_THAT(large.status.message(), testing::StartsWith("CSV_RECORD_TOO_LONG: file, byte 0: "));
}

TEST(CsvTest, WithoutQuotesEachLineIsARecordAndNoStageIsNeeded) {
  const std::string format = CsvFormatName(CsvDialect::WithoutQuotes(';'));
  CsvFile file{"\"a;b\r\nc\";\rd\n\n\"e"};
  std::vector<std::string> got;
  for (uint64_t at = 0; at < file.bytes.size(); ++at) {
    for (const Record& r : file.Read(at, at + 1, format, false)) got.push_back(r.value);
  }
  EXPECT_TRUE(file.status.ok()) << file.status.ToString();
  EXPECT_THAT(got, testing::ElementsAre("\"a;b", "c\";", "d", "", "\"e"));
}

TEST(CsvTest, AByteOrderMarkIsNoPartOfTheFirstField) {
  CsvFile file{"\xef\xbb\xbf\"a\nb\",c\n1,2\n"};
  file.ReadQuotes({0, 6, file.bytes.size()});
  std::vector<std::string> got;
  for (const Record& r : file.Read(0, 6, "csv", false)) got.push_back(r.value);
  for (const Record& r : file.Read(6, file.bytes.size(), "csv", false)) got.push_back(r.value);
  EXPECT_THAT(got, testing::ElementsAre("\"a\nb\",c", "1,2"));
}

TEST(CsvTest, ASplitWhoseQuotesWereNotCountedIsRefused) {
  CsvFile file{"a,b\n1,2\n3,4\n"};
  file.Read(5, 12, "csv", false);
  EXPECT_EQ(file.status.code(), Code::kInternal) << file.status.ToString();
}

TEST(PlaceTest, EachRecordOfABatchHasItsByteInTheFile) {
  struct {
    std::string format, text;
    std::vector<uint64_t> places;
  } const files[] = {
      {"text", "a\n\nbcd\r\ne", {0, 2, 3, 8}},
      {"kv", "a\tb\nno tab\nempty\t\n\tv\n", {0, 4, 11, 18}},
      {"csv",
       "\xef\xbb\xbf"
       "a\r\n\"b\r\nc\"\n\"bad\"x\nd\n",
       {3, 6, 20}},
      {"fixed:3", "aaabbbccc", {0, 3, 6}},
  };
  for (const auto& file : files) {
    const UniqueFd fd(memfd_create("split", 0));
    ASSERT_TRUE(WriteAll(fd.get(), file.text).ok());
    const WireSplit split{0, "f", file.format, 0, file.text.size(), file.text.size(), 0, 0, file.text.size()};
    SplitReader reader(split, ParseInputFormat(file.format).value(), false, fd.get(), nullptr);
    reader.SetBadCsv([](const CsvRecord&, uint64_t) { return Status::Ok(); });
    std::vector<std::string> got, wanted;
    std::string_view batch;
    uint64_t offset = 0;
    for (;;) {
      const Result<bool> next = reader.Next(&batch, &offset);
      ASSERT_TRUE(next.ok()) << next.status().ToString();
      if (!*next) break;
      BatchView view;
      ASSERT_EQ(BatchView::Parse(batch.data(), batch.size(), &view), nullptr);
      for (uint32_t r = 0; r < view.size(); ++r) got.push_back(reader.PlaceOf(view, r));
    }
    for (const uint64_t place : file.places) wanted.push_back("f, byte " + std::to_string(place));
    EXPECT_EQ(got, wanted) << file.format;
  }
}

}  // namespace
}  // namespace mr::task
