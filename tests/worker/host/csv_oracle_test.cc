// Random files in random splits mean what Python's csv module makes of them. A few thousand files; 100,000 with
// MR_LONG=1.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "common/base/rng.h"
#include "common/io/files.h"
#include "jobs/sdk/paceline/csv.h"
#include "tests/worker/host/csv_file.h"

namespace mr::task {
namespace {

struct Case {
  CsvDialect dialect;
  std::string text;
};

// Mostly bytes with a meaning, or rows as people write them with some damage.
Case RandomCase(Rng& rng) {
  Case c;
  constexpr char kSeparators[] = {',', ' ', ';', '\t'};
  const char separator = kSeparators[rng.Below(4)], quote = rng.Below(4) == 0 ? '\'' : '"';
  c.dialect = rng.Below(6) == 0 ? CsvDialect::WithoutQuotes(separator) : CsvDialect(separator, quote);
  if (rng.Below(20) == 0) c.text = kByteOrderMark;
  const std::string bytes = {separator, separator, quote, quote, '\n', '\r', '\n', 'a', '\xe9', ' '};
  if (rng.Below(3) == 0) {
    for (uint64_t n = rng.Below(200); n > 0; --n) c.text += bytes[rng.Below(bytes.size())];
    return c;
  }
  const uint64_t damage = rng.Below(2) == 0 ? 1'000'000 : 5 + rng.Below(60);
  const bool crlf = rng.Below(3) == 0;
  for (uint64_t rows = rng.Below(25); rows > 0; --rows) {
    for (uint64_t fields = 1 + rng.Below(5); fields > 0; --fields) {
      const bool quoted = rng.Below(3) == 0;
      if (quoted) c.text += quote;
      for (uint64_t n = rng.Below(10); n > 0; --n) {
        const char byte = rng.Below(4) == 0 ? bytes[rng.Below(bytes.size())] : 'x';
        if (byte == quote && quoted) c.text += quote;
        if (quoted || (byte != separator && byte != '\n' && byte != '\r')) c.text += byte;
      }
      if (quoted) c.text += quote;
      if (rng.Below(damage) == 0) c.text += bytes[rng.Below(bytes.size())];
      if (fields > 1) c.text += separator;
    }
    c.text += crlf ? "\r\n" : "\n";
    // A line that was cut.
    if (rng.Below(damage) == 0) c.text.resize(c.text.size() - std::min<size_t>(rng.Below(30), c.text.size()));
  }
  return c;
}

std::string Shown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 32 && c < 127) {
      out += c;
    } else {
      char hex[8];
      snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
      out += hex;
    }
  }
  return out;
}

// One line for each row or bad record.
using Events = std::vector<std::string>;
std::string BadEvent(uint64_t lines) { return "bad: " + std::to_string(lines) + " lines"; }
std::string RowEvent(const CsvRow& row) {
  std::string event = "row:";
  for (size_t i = 0; i < row.size(); ++i) event += " [" + Shown(row[i]) + "]";
  return event;
}

Events Rows(std::string_view text, const CsvDialect& dialect) {
  Events events;
  CsvRow row;
  ForEachCsvRecord(text, dialect, [&](const CsvRecord& record) {
    const bool bad = row.Parse(record.text, dialect) != nullptr;
    EXPECT_EQ(bad, record.bad) << Shown(record.text);
    events.push_back(bad ? BadEvent(CsvLines(record.with_end)) : RowEvent(row));
  });
  return events;
}

std::set<uint64_t> RandomCuts(Rng& rng, const std::string& text) {
  std::set<uint64_t> cuts = {0, text.size()};
  const bool marked = text.size() != WithoutByteOrderMark(text).size();
  for (uint64_t n = rng.Below(8); n > 0 && !text.empty(); --n) {
    const uint64_t cut = rng.Below(text.size());
    if (cut >= kByteOrderMark.size() || !marked) cuts.insert(cut);  // no split is as small as the mark
  }
  return cuts;
}

// Reads blocks, which operators on tables take apart.
Events ReadBlocks(CsvFile* file, const std::set<uint64_t>& cuts, const CsvDialect& dialect) {
  Events events;
  for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
    uint64_t offset = 0;
    for (const Record& block : file->Read(*it, *std::next(it), CsvFormatName(dialect), true, &offset)) {
      const std::string_view text = offset == 0 ? WithoutByteOrderMark(block.value) : block.value;
      for (std::string& event : Rows(text, dialect)) events.push_back(std::move(event));
      offset += block.value.size();
    }
  }
  return events;
}

// Reads records, without bad ones. *bad_lines: the number of their lines.
Events ReadRecords(CsvFile* file, const std::set<uint64_t>& cuts, const CsvDialect& dialect, uint64_t* bad_lines) {
  Events events;
  CsvRow row;
  for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
    for (const Record& record : file->Read(*it, *std::next(it), CsvFormatName(dialect), false)) {
      EXPECT_EQ(row.Parse(record.value, dialect), nullptr);
      events.push_back(RowEvent(row));
    }
  }
  *bad_lines = 0;
  for (const auto& [offset, lines] : file->bad) *bad_lines += lines;
  return events;
}

std::vector<Events> AskPython(const std::vector<Case>& cases) {
  const std::string base = testing::TempDir() + "/csv_oracle_" + std::to_string(getpid());
  {
    std::ofstream in(base + ".in", std::ios::binary);
    for (const Case& c : cases) {
      const auto size = static_cast<uint32_t>(c.text.size());
      in.put(c.dialect.separator).put(c.dialect.quotes ? c.dialect.quote : '\0');
      in.write(reinterpret_cast<const char*>(&size), sizeof size).write(c.text.data(), size);
    }
  }
  const std::string command =
      "python3 '" MR_SOURCE_DIR "/tests/worker/host/csv_oracle.py' <'" + base + ".in' >'" + base + ".out'";
  EXPECT_EQ(std::system(command.c_str()), 0) << "python3 is needed; ./dev installs it";
  const std::string out = ReadFile(base + ".out").value();
  unlink((base + ".in").c_str());
  unlink((base + ".out").c_str());
  size_t at = 0;
  const auto number = [&] {
    uint32_t n = 0;
    memcpy(&n, out.data() + at, sizeof n);
    at += sizeof n;
    return n;
  };
  std::vector<Events> all;
  while (all.size() < cases.size() && at < out.size()) {
    Events& events = all.emplace_back();
    for (char kind; at < out.size() && (kind = out[at++]) != 'E';) {
      const uint32_t n = number();
      if (kind == 'B') {
        events.push_back(BadEvent(n));
        continue;
      }
      std::string& event = events.emplace_back("row:");
      for (uint32_t i = 0; i < n; ++i) {
        const uint32_t size = number();
        event += " [" + Shown(out.substr(at, size)) + "]";
        at += size;
      }
    }
  }
  return all;
}

TEST(CsvOracleTest, RandomFilesInRandomSplitsMeanWhatPythonMakesOfThem) {
  const uint64_t seed = 16, files = std::getenv("MR_LONG") != nullptr ? 100'000 : 4'000;
  constexpr uint64_t kTogether = 2'000;
  Rng rng(seed);
  uint64_t rows = 0, bad = 0;
  for (uint64_t done = 0; done < files; done += kTogether) {
    std::vector<Case> cases;
    for (uint64_t i = 0; i < kTogether; ++i) cases.push_back(RandomCase(rng));
    const std::vector<Events> wanted = AskPython(cases);
    ASSERT_EQ(wanted.size(), cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
      const Case& c = cases[i];
      CsvFile file{c.text};
      const auto cuts = RandomCuts(rng, c.text);
      if (c.dialect.quotes) file.ReadQuotes(cuts, c.dialect);
      const auto where = [&] {
        return "seed " + std::to_string(seed) + ", file " + std::to_string(done + i) + ", " + CsvFormatName(c.dialect) +
               ": " + Shown(c.text) + "\ncuts " + testing::PrintToString(cuts);
      };
      ASSERT_EQ(ReadBlocks(&file, cuts, c.dialect), wanted[i]) << where();
      Events good;
      uint64_t bad_lines = 0, wanted_bad = 0;
      for (const std::string& event : wanted[i]) {
        if (event.starts_with("row:")) {
          good.push_back(event);
        } else {
          wanted_bad += std::stoull(event.substr(5));
        }
      }
      ASSERT_EQ(ReadRecords(&file, cuts, c.dialect, &bad_lines), good) << where();
      ASSERT_EQ(bad_lines, wanted_bad) << where();
      ASSERT_TRUE(file.status.ok()) << file.status.ToString() << where();
      rows += good.size();
      bad += wanted_bad;
    }
  }
  EXPECT_GT(rows, files);
  EXPECT_GT(bad, files / 10) << "files without damage show little";
  printf("%llu files: %llu rows, %llu bad lines\n", static_cast<unsigned long long>(files),
         static_cast<unsigned long long>(rows), static_cast<unsigned long long>(bad));
}

}  // namespace
}  // namespace mr::task
