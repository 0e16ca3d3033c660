// Which records of a test's file belong to a split, as the engine has it: those that begin in it, a record at its very
// start being the last of the one before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "paceline/csv.h"

namespace mr::sdk {

// Where the first record of `text` that starts behind `at` does; `text` begins with a record.
inline uint64_t RecordBehind(std::string_view text, uint64_t at, bool csv) {
  uint64_t found = text.size();
  if (csv) {
    bool quoted = false;
    ForEachCsvEnd(text, &quoted, [&](size_t end) {
      if (end <= at) return true;
      found = end;
      return false;
    });
  } else if (const size_t nl = text.find('\n', at); nl != text.npos) {
    found = nl + 1;
  }
  return found;
}

// [first, second) of the text: the records of the split of `length` bytes at `offset`.
inline std::pair<uint64_t, uint64_t> RecordRange(std::string_view text, uint64_t offset, uint64_t length, bool csv) {
  const uint64_t end = offset + length;
  const uint64_t from = offset == 0 ? 0 : RecordBehind(text, offset, csv);
  const uint64_t to = end >= text.size() ? text.size() : RecordBehind(text, end, csv);
  return {from, std::max(from, to)};
}

}  // namespace mr::sdk
