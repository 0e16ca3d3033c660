// The dialect of a CSV file: its separator, and its quote character if it has one. The SDK includes this file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mr {

struct CsvDialect {
  constexpr CsvDialect() = default;
  constexpr CsvDialect(char s) : separator(s) {}  // NOLINT: a separator alone is a dialect
  constexpr CsvDialect(char s, char q) : separator(s), quote(q) {}
  // Returns a dialect in which every quote character is data and every line is a record.
  static constexpr CsvDialect WithoutQuotes(char s) {
    CsvDialect dialect(s);
    dialect.quotes = false;
    return dialect;
  }
  bool operator==(const CsvDialect&) const = default;
  // Returns whether the separator differs from the quote and neither is a line end.
  constexpr bool Valid() const {
    const bool ends = separator == '\n' || separator == '\r' || quote == '\n' || quote == '\r';
    return !ends && (!quotes || separator != quote);
  }

  char separator = ',';
  char quote = '"';
  bool quotes = true;
};

namespace csv_internal {
inline std::string HexByte(char c) {
  constexpr char kHex[] = "0123456789abcdef";
  return {'0', 'x', kHex[static_cast<unsigned char>(c) >> 4], kHex[c & 15]};
}
inline std::optional<char> ByteOf(std::string_view word) {
  if (word.size() == 1) return word[0];
  if (word.size() != 4 || word.substr(0, 2) != "0x") return std::nullopt;
  int value = 0;
  for (const char c : word.substr(2)) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<char>(value);
}
}  // namespace csv_internal

// Returns the name of the input format: "csv" for commas and double quotes, else separator and quote, as in
// "csv(0x3b,0x22)" or "csv(0x20,none)".
inline std::string CsvFormatName(const CsvDialect& dialect) {
  if (dialect == CsvDialect()) return "csv";
  return "csv(" + csv_internal::HexByte(dialect.separator) + "," +
         (dialect.quotes ? csv_internal::HexByte(dialect.quote) : "none") + ")";
}

// Returns the dialect of a format's name, or nothing where that is no CSV format. Bytes are 0xHH or literal.
inline std::optional<CsvDialect> ParseCsvFormat(std::string_view name) {
  if (name == "csv") return CsvDialect();
  if (name.size() < 8 || name.substr(0, 4) != "csv(" || name.back() != ')') return std::nullopt;
  const std::string_view words = name.substr(4, name.size() - 5);
  const size_t comma = words.find(',', 1);  // the separator may be a comma
  if (comma == words.npos) return std::nullopt;
  const auto separator = csv_internal::ByteOf(words.substr(0, comma));
  const std::string_view quote_word = words.substr(comma + 1);
  const auto quote = csv_internal::ByteOf(quote_word);
  if (!separator || (!quote && quote_word != "none")) return std::nullopt;
  const CsvDialect dialect = quote ? CsvDialect(*separator, *quote) : CsvDialect::WithoutQuotes(*separator);
  return dialect.Valid() ? std::optional(dialect) : std::nullopt;
}

}  // namespace mr
