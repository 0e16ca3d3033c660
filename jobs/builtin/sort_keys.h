// What lines are sorted by: their bytes, a prefix of them, or fields of them as sort(1) has it. A key becomes bytes
// that memcmp orders.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paceline/args.h"
#include "paceline/config.h"

namespace mr::builtin {

// One -k FROM[,TO][n][r]: fields counted from 1; without TO the rest of the line.
struct SortField {
  uint32_t from = 1, to = 0;  // 0: to the end
  bool numeric = false, reverse = false;
};

struct SortOptions {
  std::vector<SortField> fields;  // none: the whole record
  std::string separator;          // of fields; empty: a run of blanks, which begins the field behind it
  bool reverse = false, numeric = false;
  bool stable = false;     // equal keys keep the order of the input, instead of that of their bytes
  bool unique = false;     // the first of each key only
  uint64_t key_bytes = 0;  // 0: all; else a prefix is the key

  // A record is kept whole beside its key (not where its bytes begin with it).
  bool keeps_record() const { return !fields.empty() || numeric || unique; }
  Config Encode() const;
  static SortOptions Decode(const Config& config);
};

// "2,2nr". Refuses what it cannot read.
SortField ParseSortField(const Args& args, const std::string& text);

class SortKeys {
 public:
  explicit SortKeys(const Config& config) : options_(SortOptions::Decode(config)) {}

  // Key and value of a record; the key may be in `scratch`, the value is what stands behind the key, or all.
  std::pair<std::string_view, std::string_view> Split(std::string_view record, std::string* scratch) const;
  // What Split took from the record; nothing where the record is kept whole.
  std::string_view Original(std::string_view key, std::string* scratch) const;
  const SortOptions& options() const { return options_; }

 private:
  std::string_view Field(std::string_view record, const SortField& field) const;
  SortOptions options_;
};

}  // namespace mr::builtin
