// One line of CSV to fields and back (RFC 4180): commas, fields in double quotes, a doubled quote
// inside. A quoted newline cannot be held by a line and is refused; a CR at the end is dropped.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>


namespace mr {
// Null on success, else what is wrong. Reuses the strings of `fields`.
inline const char* ParseCsvLine(std::string_view line, std::vector<std::string>* fields) {
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
        if (quote == line.npos) {
          return "a quoted field does not end on its line (quoted newlines are not supported; "
                 "replace them before)";
        }
        field.append(line.substr(at, quote - at));
        at = quote + 1;
        if (at == line.size() || line[at] != '"') break;
        field.push_back('"');
      }
      if (at < line.size() && line[at] != ',') return "text stands behind the quote that ends a field";
    } else {
      const size_t comma = std::min(line.find(',', at), line.size());
      field.assign(line.substr(at, comma - at));
      at = comma;
    }
    if (at == line.size()) break;
    ++at;  // the comma
  }
  fields->resize(n);
  return nullptr;
}

// Appends the field, in quotes only where it needs them.
inline void AppendCsvField(std::string_view field, std::string* out) {
  if (field.find_first_of(",\"\r\n") == field.npos) {
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
