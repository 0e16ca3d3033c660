// Maps records of a test's file to splits, with the engine's rule: a record belongs to the split in which it begins. A
// record that begins exactly at a split's start belongs to the split before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "paceline/csv.h"

namespace mr::sdk {

// Returns the offset of the first record that begins after `at`. Requires: `text` begins with a record.
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

// Calls f(key, value) for each line of a block in format kv or text.
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

// Returns the range [first, second) of the text whose records belong to this split.
inline std::pair<uint64_t, uint64_t> RecordRange(std::string_view text, uint64_t offset, uint64_t length,
                                                 const std::optional<CsvDialect>& csv) {
  const uint64_t end = offset + length;
  const uint64_t from = offset == 0 ? 0 : RecordBehind(text, offset, csv);
  const uint64_t to = end >= text.size() ? text.size() : RecordBehind(text, end, csv);
  return {from, std::max(from, to)};
}

}  // namespace mr::sdk
