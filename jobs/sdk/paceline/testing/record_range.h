// Which records of a test's file belong to a split, as the engine has it: those that begin in it, a record at its very
// start being the last of the one before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "paceline/csv.h"

namespace mr::sdk {

// Where the first record of `text` that starts behind `at` does; `text` begins with a record.
inline uint64_t RecordBehind(std::string_view text, uint64_t at, const std::optional<CsvDialect>& csv) {
  uint64_t found = text.size();
  if (csv) {
    CsvScan scan;
    const size_t mark = text.size() - WithoutByteOrderMark(text).size();
    ForEachCsvEnd(text.substr(mark), *csv, &scan, [&](size_t end, bool) {
      if (mark + end <= at) return true;
      found = mark + end;
      return false;
    });
  } else if (const size_t nl = text.find('\n', at); nl != text.npos) {
    found = nl + 1;
  }
  return found;
}

// f(key, value) for each line of a block, as formats kv and text have them.
template <class F>
void ForEachTextRecord(std::string_view block, bool kv, F&& f) {
  while (!block.empty()) {
    const std::string_view line = block.substr(0, block.find('\n'));
    const size_t tab = kv ? line.find('\t') : line.npos;
    if (!kv) {
      f(std::string_view(), line);
    } else if (tab == line.npos) {
      f(line, std::string_view());
    } else {
      f(line.substr(0, tab), line.substr(tab + 1));
    }
    block.remove_prefix(std::min(line.size() + 1, block.size()));
  }
}

// [first, second) of the text: the records of the split of `length` bytes at `offset`.
inline std::pair<uint64_t, uint64_t> RecordRange(std::string_view text, uint64_t offset, uint64_t length,
                                                 const std::optional<CsvDialect>& csv) {
  const uint64_t end = offset + length;
  const uint64_t from = offset == 0 ? 0 : RecordBehind(text, offset, csv);
  const uint64_t to = end >= text.size() ? text.size() : RecordBehind(text, end, csv);
  return {from, std::max(from, to)};
}

}  // namespace mr::sdk
