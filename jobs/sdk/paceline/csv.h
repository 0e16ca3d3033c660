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

// The same for a field that goes on after its quote.
inline constexpr const char* kCsvBehindQuote =
    "text follows the quote that ends a field (--quote none, if quotes are data)";

// The fields of one record as views into the record, or into the row's own memory where a doubled quote was replaced.
// Valid until the next Parse, and as long as the record.
class CsvRow {
 public:
  // Returns null on success, else the error.
  const char* Parse(std::string_view record, const CsvDialect& dialect = {}) {
    if (!record.empty() && record.back() == '\r') record.remove_suffix(1);
    Clear();
    if (record.empty()) return nullptr;
    if (dialect.quotes && std::memchr(record.data(), dialect.quote, record.size()) != nullptr)
      return ParseQuoted(record, dialect);
    const char* at = record.data();
    const char* const end = at + record.size();
    while (const auto* stop =
               static_cast<const char*>(std::memchr(at, dialect.separator, static_cast<size_t>(end - at)))) {
      Add({at, static_cast<size_t>(stop - at)});
      at = stop + 1;
    }
    Add({at, static_cast<size_t>(end - at)});
    return nullptr;
  }
  // Returns the number of fields.
  size_t size() const { return size_; }

  // Returns field number i, from 0.
  std::string_view operator[](size_t i) const { return fields_[i]; }

  // Returns whether the record has no quotes: then its bytes are the fields with separators between them, and no field
  // needs quotes.
  bool plain() const { return plain_; }

  // Removes all fields.
  void Clear() {
    size_ = 0;
    plain_ = true;
  }
  // Marks the fields as not being those of one record, one after the other.
  void NotPlain() { plain_ = false; }
  // Adds a field that is not quoted, for parsers that find the fields themselves.
  void Add(std::string_view field) {
    if (size_ == fields_.size()) fields_.resize(size_ + 16);
    fields_[size_++] = field;
  }

 private:
  const char* ParseQuoted(std::string_view record, const CsvDialect& dialect) {
    plain_ = false;
    size_t copies = 0;
    for (size_t at = 0;; ++at) {
      if (at == record.size() || record[at] != dialect.quote) {
        const size_t stop = std::min(record.find(dialect.separator, at), record.size());
        Add(record.substr(at, stop - at));
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
        Add(field);
      }
      if (at == record.size()) return nullptr;
    }
  }
  std::vector<std::string_view> fields_;  // the first size_; the rest is memory for longer records
  size_t size_ = 0;
  bool plain_ = true;
  std::deque<std::string> copies_;  // views of these stay valid while others are added
};

namespace csv_internal {

// Calls f for the records from `from` on, up to one that ends at or after `until`. Returns its end.
template <class F>
size_t SlowRows(std::string_view text, size_t from, size_t until, const CsvDialect& dialect, CsvRow* row, F&& f) {
  size_t begin = from;
  CsvScan scan;
  const auto give = [&](size_t end, bool) {
    const std::string_view with_end = text.substr(begin, from + end - begin);
    std::string_view record = with_end;
    if (!record.empty() && record.back() == '\n') record.remove_suffix(1);
    if (!record.empty() && record.back() == '\r') record.remove_suffix(1);
    const char* const wrong = row->Parse(record, dialect);
    begin = from + end;
    f(CsvRecord{record, with_end, wrong != nullptr}, wrong);
    return begin < until;
  };
  ForEachCsvEnd(text.substr(from), dialect, &scan, give);
  if (begin < until && begin < text.size()) give(text.size() - from, false);
  return begin;
}

}  // namespace csv_internal

// Calls f(record, wrong) for each record of a text, with its fields in *row; wrong: the error that Parse returns, or
// null. The same as ForEachCsvRecord with Parse, in one pass where there are no quotes: that takes half of the time
// (measured). Requires: as for ForEachCsvRecord.
template <class F>
void ForEachCsvRow(std::string_view text, const CsvDialect& dialect, CsvRow* row, F&& f) {
  // Bytes to read by the slow way after a quote or a CR (guess: few texts have them in one place only).
  constexpr size_t kSlowBytes = 1024;
  const char* const data = text.data();
  size_t from = 0, field = 0;  // begin of the record, and of the field
  row->Clear();
  for (size_t at = 0; at + 64 <= text.size();) {
    if ((dialect.quotes && AnyEqual64(data + at, dialect.quote)) || AnyEqual64(data + at, '\r')) {
      at = from = field = csv_internal::SlowRows(text, from, std::min(at + kSlowBytes, text.size()), dialect, row, f);
      row->Clear();
      continue;
    }
    const uint64_t ends = EqualMask64(data + at, '\n');
    for (uint64_t stops = EqualMask64(data + at, dialect.separator) | ends; stops != 0; stops &= stops - 1) {
      const int bit = __builtin_ctzll(stops);
      const size_t stop = at + static_cast<size_t>(bit);
      if ((ends >> bit & 1) == 0) {
        row->Add({data + field, stop - field});
        field = stop + 1;
        continue;
      }
      if (stop != from) row->Add({data + field, stop - field});  // an empty record has no fields
      f(CsvRecord{text.substr(from, stop - from), text.substr(from, stop + 1 - from)}, nullptr);
      from = field = stop + 1;
      row->Clear();
    }
    at += 64;
  }
  if (from < text.size()) csv_internal::SlowRows(text, from, text.size(), dialect, row, f);
}

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
