#include "paceline/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/base/rng.h"
#include "paceline/csv.h"
#include "paceline/emitter.h"

namespace mr {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  ForEachWord(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

std::vector<std::string> WordsByHand(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (char c : std::string(text) + " ") {
    if (c == ' ' || (c >= '\t' && c <= '\r')) {
      if (!word.empty()) words.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  return words;
}

TEST(ForEachWordTest, SplitsAsAByteLoopDoesForAnyBytes) {
  Rng rng(8);
  for (int i = 0; i < 3000; ++i) {
    std::string text(rng.Below(300), ' ');
    const uint64_t space = 1 + rng.Below(12);
    for (char& c : text) {
      c = rng.Below(space) == 0 ? " \t\n\v\f\r"[rng.Below(6)] : static_cast<char>(rng.Next());
    }
    EXPECT_EQ(Words(text), WordsByHand(text));
  }
}

TEST(ForEachWordTest, BytesNextToWhiteSpaceInTheTableAreLetters) {
  EXPECT_THAT(Words("a\x08 \x0e\x1f!\x1c"), ElementsAre("a\x08", "\x0e\x1f!\x1c"));
}

TEST(ForEachLineTest, TheHostSeesTheLineOfTheOutermostCallAndNoneAfterIt) {
  const char* at = nullptr;
  sdk::line_at = &at;
  const std::string_view text = "a\nb";
  ForEachLine(text, [&](std::string_view line) {
    ForEachLine("inner\nlines", [](std::string_view) {});
    EXPECT_EQ(at, line.data());
    std::thread([] { ForEachLine("lines\nof another thread", [](std::string_view) {}); }).join();
    EXPECT_EQ(at, line.data());
  });
  EXPECT_EQ(at, nullptr);
  const std::string key = "a group's key";
  at = key.data();
  ForEachLine(text, [](std::string_view) {});
  EXPECT_EQ(at, key.data());
  sdk::line_at = nullptr;
}

TEST(ForEachLineTest, TheLastLineNeedsNoNewlineAndEmptyLinesCount) {
  std::vector<std::string> lines;
  ForEachLine("a\n\nb\r\nc", [&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT(lines, ElementsAre("a", "", "b\r", "c"));
}

TEST(CsvTest, QuotesAreTakenOffAndPutOnAgain) {
  std::vector<std::string> fields;
  ASSERT_EQ(ParseCsvRecord("a,\"b,\"\"c\"\"\",,\"\"\r", &fields), nullptr);
  EXPECT_THAT(fields, ElementsAre("a", "b,\"c\"", "", ""));
  std::string line;
  for (const auto& f : fields) {
    AppendCsvField(f, &line);
    line += ';';
  }
  EXPECT_EQ(line, "a;\"b,\"\"c\"\"\";;;");
}

TEST(CsvTest, AnyFieldsComeBack) {
  Rng rng(2);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::string> fields(1 + rng.Below(4)), back;
    std::string line;
    for (auto& field : fields) {
      for (uint64_t n = rng.Below(5); n > 0; --n) field += ",\"\rx "[rng.Below(5)];
      if (&field != &fields[0]) line += ',';
      AppendCsvField(field, &line);
    }
    ASSERT_EQ(ParseCsvRecord(line, &back), nullptr) << line;
    // An empty line is a record without fields.
    EXPECT_EQ(back, line.empty() ? std::vector<std::string>() : fields) << line;
  }
}

// The rows of a text by one way or the other: place, error and fields of each.
std::vector<std::string> RowsOf(std::string_view text, const CsvDialect& dialect, bool in_one_pass) {
  std::vector<std::string> rows;
  CsvRow row;
  const auto note = [&](const CsvRecord& record, const char* wrong) {
    std::string& event = rows.emplace_back(std::to_string(record.text.data() - text.data()));
    event += "+" + std::to_string(record.text.size()) + "+" + std::to_string(record.with_end.size());
    event += wrong != nullptr ? wrong : "";
    for (size_t i = 0; wrong == nullptr && i < row.size(); ++i) event += "[" + std::string(row[i]) + "]";
  };
  if (in_one_pass) {
    ForEachCsvRow(text, dialect, &row, note);
  } else {
    ForEachCsvRecord(text, dialect, [&](const CsvRecord& r) { note(r, row.Parse(r.text, dialect)); });
  }
  return rows;
}

TEST(CsvTest, OnePassFindsTheSameRows) {
  Rng rng(3);
  for (int i = 0; i < 3000; ++i) {
    // Texts with all, few and no special bytes.
    const uint64_t special = 1 + rng.Below(i % 3 == 0 ? 3 : 200);
    const std::string_view bytes = i % 4 == 0 ? ",\n" : ",\"\r\n;";
    std::string text(rng.Below(i % 10 == 0 ? 6000 : 400), 'x');
    for (char& c : text) {
      if (rng.Below(7) == 0) c = rng.Below(3) == 0 ? '\n' : ',';
      if (rng.Below(special) == 0) c = bytes[rng.Below(bytes.size())];
    }
    for (const CsvDialect& dialect : {CsvDialect(), CsvDialect(';', 'x'), CsvDialect::WithoutQuotes(',')}) {
      ASSERT_EQ(RowsOf(text, dialect, true), RowsOf(text, dialect, false)) << text;
    }
  }
}

TEST(CsvTest, ARowIsPlainIfItsBytesAreItsFields) {
  CsvRow row;
  ASSERT_EQ(row.Parse("a,b"), nullptr);
  EXPECT_TRUE(row.plain());
  ASSERT_EQ(row.Parse("a,\"b\""), nullptr);
  EXPECT_FALSE(row.plain());
  ASSERT_EQ(row.Parse("a,\"b\"", CsvDialect::WithoutQuotes(',')), nullptr);
  EXPECT_TRUE(row.plain());
}

TEST(CsvTest, AQuotedNewlineIsRefused) {
  std::vector<std::string> fields;
  EXPECT_THAT(ParseCsvRecord("a,\"b", &fields), HasSubstr("a quoted field does not end"));
  EXPECT_THAT(ParseCsvRecord("\"b\"c,d", &fields), HasSubstr("text follows the quote"));
}

TEST(AppendTextTest, NumbersAreWrittenForPeople) {
  std::string text;
  AppendText(std::tuple(int64_t{-3}, 0.1, "x", std::string("y"), true, uint8_t{200}), &text);
  EXPECT_EQ(text, "-3\t0.1\tx\ty\ttrue\t200");
}

}  // namespace
}  // namespace mr
