// One record of CSV to fields and back (RFC 4180): separators, fields in double quotes, a doubled quote inside, and
// newlines, too: inputs of format csv come as whole records. A CR at the end is dropped.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/abi/csv_scan.h"

namespace mr {
// Null on success, else what is wrong. Reuses the strings of `fields`.
inline const char* ParseCsvRecord(std::string_view line, std::vector<std::string>* fields, char separator = ',') {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  size_t n = 0;
  const auto next = [&]() -> std::string& {
    if (n == fields->size()) fields->emplace_back();
    std::string& field = (*fields)[n++];
    field.clear();
    return field;
  };
  size_t at = 0;
  while (true) {
    std::string& field = next();
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        const size_t quote = line.find('"', at);
        if (quote == line.npos) return "a quoted field does not end (read it as --format csv, if it holds newlines)";
        field.append(line.substr(at, quote - at));
        at = quote + 1;
        if (at == line.size() || line[at] != '"') break;
        field.push_back('"');
      }
      if (at < line.size() && line[at] != separator) return "text stands behind the quote that ends a field";
    } else {
      const size_t comma = std::min(line.find(separator, at), line.size());
      field.assign(line.substr(at, comma - at));
      at = comma;
    }
    if (at == line.size()) break;
    ++at;  // the separator
  }
  fields->resize(n);
  return nullptr;
}

// The fields of one record as views: into the record, or into the row's own memory where quotes had to go. Valid
// until the next Parse, and as long as the record is.
class CsvRow {
 public:
  // Null on success, else what is wrong.
  const char* Parse(std::string_view record, char separator = ',') {
    if (!record.empty() && record.back() == '\r') record.remove_suffix(1);
    fields_.clear();
    if (std::memchr(record.data(), '"', record.size()) != nullptr) return ParseQuoted(record, separator);
    const char* at = record.data();
    const char* const end = at + record.size();
    while (const auto* stop = static_cast<const char*>(std::memchr(at, separator, static_cast<size_t>(end - at)))) {
      fields_.emplace_back(at, static_cast<size_t>(stop - at));
      at = stop + 1;
    }
    fields_.emplace_back(at, static_cast<size_t>(end - at));
    return nullptr;
  }
  size_t size() const { return fields_.size(); }
  std::string_view operator[](size_t i) const { return fields_[i]; }

 private:
  const char* ParseQuoted(std::string_view record, char separator) {
    if (const char* wrong = ParseCsvRecord(record, &copies_, separator)) return wrong;
    fields_.assign(copies_.begin(), copies_.end());
    return nullptr;
  }
  std::vector<std::string_view> fields_;
  std::vector<std::string> copies_;
};

// Whether the field holds what would end it. To its end, without a branch for each byte: few do.
inline bool NeedsQuotes(std::string_view field, char separator = ',') {
  bool any = false;
  for (const char c : field) any |= (c == separator) | (c == '"') | (c == '\n') | (c == '\r');
  return any;
}

// Appends the field, in quotes only where it needs them.
inline void AppendCsvField(std::string_view field, std::string* out, char separator = ',') {
  if (!NeedsQuotes(field, separator)) {
    out->append(field);
    return;
  }
  out->push_back('"');
  for (char c : field) {
    if (c == '"') out->push_back('"');
    out->push_back(c);
  }
  out->push_back('"');
}

}  // namespace mr
