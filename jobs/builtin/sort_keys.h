// Sort keys of lines: all bytes, a prefix, or fields as in sort(1). A key is encoded as bytes that memcmp orders.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paceline/args.h"
#include "paceline/config.h"

namespace mr::builtin {

// One -k FROM[,TO][n][r]. Fields are numbered from 1. Without TO the key extends to the end of the line.
struct SortField {
  uint32_t from = 1, to = 0;  // 0: to the end
  bool numeric = false, reverse = false;
};

struct SortOptions {
  std::vector<SortField> fields;  // empty: the whole record is the key
  std::string separator;          // of fields; empty: a run of blanks, which belongs to the field after it
  bool reverse = false, numeric = false;
  bool stable = false;     // lines with equal keys keep the order of the input; else they are sorted by bytes
  bool unique = false;     // output only the first line of each key
  uint64_t key_bytes = 0;  // length of the key prefix; 0: the whole line

  // Returns whether the whole record is kept beside its key: the key is not a prefix of the record.
  bool keeps_record() const { return !fields.empty() || numeric || unique; }
  Config Encode() const;
  static SortOptions Decode(const Config& config);
};

// Parses a key such as "2,2nr". Errors: refuses what is no key.
SortField ParseSortField(const Args& args, const std::string& text);

class SortKeys {
 public:
  explicit SortKeys(const Config& config) : options_(SortOptions::Decode(config)) {}

  // Returns key and value of a record. The key may be in `scratch`; the value is the rest of the record, or all of it.
  std::pair<std::string_view, std::string_view> Split(std::string_view record, std::string* scratch) const;
  // Reverses Split: returns the part that it took from the record, or "" if the whole record is kept.
  std::string_view Original(std::string_view key, std::string* scratch) const;
  const SortOptions& options() const { return options_; }

 private:
  std::string_view Field(std::string_view record, const SortField& field) const;
  SortOptions options_;
};

}  // namespace mr::builtin
