// Parses and writes one CSV record, with the meaning of Python's csv module (strict): separators, quoted fields,
// doubled quotes, and newlines inside quotes. Inputs of format csv arrive as whole records. A quote opens a field only
// as its first byte. A CR at the end is dropped; an empty record has no fields.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi/csv_scan.h"

namespace mr {

// Reasons for which the parsers below refuse a record.
inline constexpr const char* kCsvOpenQuote =
    "a quoted field does not end (read it as --format csv, if it holds newlines; --quote none, if quotes are data)";
inline constexpr const char* kCsvBehindQuote =
    "text follows the quote that ends a field (--quote none, if quotes are data)";

// The fields of one record as views into the record, or into the row's own memory where a doubled quote was replaced.
// Valid until the next Parse, and as long as the record.
class CsvRow {
 public:
  // Returns null on success, else the error.
  const char* Parse(std::string_view record, const CsvDialect& dialect = {}) {
    if (!record.empty() && record.back() == '\r') record.remove_suffix(1);
    fields_.clear();
    if (record.empty()) return nullptr;
    if (dialect.quotes && std::memchr(record.data(), dialect.quote, record.size()) != nullptr)
      return ParseQuoted(record, dialect);
    const char* at = record.data();
    const char* const end = at + record.size();
    while (const auto* stop =
               static_cast<const char*>(std::memchr(at, dialect.separator, static_cast<size_t>(end - at)))) {
      fields_.emplace_back(at, static_cast<size_t>(stop - at));
      at = stop + 1;
    }
    fields_.emplace_back(at, static_cast<size_t>(end - at));
    return nullptr;
  }
  size_t size() const { return fields_.size(); }
  std::string_view operator[](size_t i) const { return fields_[i]; }

 private:
  const char* ParseQuoted(std::string_view record, const CsvDialect& dialect) {
    size_t copies = 0;
    for (size_t at = 0;; ++at) {
      if (at == record.size() || record[at] != dialect.quote) {
        const size_t stop = std::min(record.find(dialect.separator, at), record.size());
        fields_.push_back(record.substr(at, stop - at));
        at = stop;
      } else {
        size_t quote = record.find(dialect.quote, ++at);
        if (quote == record.npos) return kCsvOpenQuote;
        std::string_view field = record.substr(at, quote - at);
        if (quote + 1 < record.size() && record[quote + 1] == dialect.quote) {
          if (copies == copies_.size()) copies_.emplace_back();
          std::string& copy = copies_[copies++];
          copy.assign(field);
          do {
            copy.push_back(dialect.quote);
            const size_t from = quote + 2;
            quote = record.find(dialect.quote, from);
            if (quote == record.npos) return kCsvOpenQuote;
            copy.append(record.substr(from, quote - from));
          } while (quote + 1 < record.size() && record[quote + 1] == dialect.quote);
          field = copy;
        }
        at = quote + 1;
        if (at < record.size() && record[at] != dialect.separator) return kCsvBehindQuote;
        fields_.push_back(field);
      }
      if (at == record.size()) return nullptr;
    }
  }
  std::vector<std::string_view> fields_;
  std::deque<std::string> copies_;  // views of these stay valid while others are added
};

// Splits `line` into `fields`, whose strings are reused. Returns null on success, else the error.
inline const char* ParseCsvRecord(std::string_view line, std::vector<std::string>* fields,
                                  const CsvDialect& dialect = {}) {
  CsvRow row;
  if (const char* wrong = row.Parse(line, dialect)) return wrong;
  fields->resize(row.size());
  for (size_t i = 0; i < row.size(); ++i) (*fields)[i].assign(row[i]);
  return nullptr;
}

// Returns whether the field must be quoted. Scans to its end without a branch per byte: few fields need quotes.
inline bool NeedsQuotes(std::string_view field, const CsvDialect& dialect = {}) {
  bool any = false;
  for (const char c : field) any |= (c == dialect.separator) | (c == dialect.quote) | (c == '\n') | (c == '\r');
  return any && dialect.quotes;
}

// Appends the field, quoted only if it must be. Requires, without quotes in the dialect: a field without separators and
// line ends; fields that were read in that dialect have none.
inline void AppendCsvField(std::string_view field, std::string* out, const CsvDialect& dialect = {}) {
  if (!NeedsQuotes(field, dialect)) {
    out->append(field);
    return;
  }
  out->push_back(dialect.quote);
  for (char c : field) {
    if (c == dialect.quote) out->push_back(dialect.quote);
    out->push_back(c);
  }
  out->push_back(dialect.quote);
}

}  // namespace mr
