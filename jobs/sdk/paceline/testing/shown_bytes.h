// Shows bytes of a test's records as text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace mr::sdk {

inline constexpr char kHexDigits[] = "0123456789abcdef";

// Returns the length of the UTF-8 character that the text begins with, or 0 if it begins with none that is printable.
inline size_t PrintableLength(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const uint8_t second = byte(1);
  // Control characters, longer forms than needed, surrogates, and numbers above U+10FFFF.
  const bool bad = (first == 0xc2 && second < 0xa0) || (first == 0xe0 && second < 0xa0) ||
                   (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
                   (first == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}

// Returns the text in quotes: a tab as \t, other bytes that are not printable or no UTF-8 as \xHH. Quotes and
// backslashes are escaped. Of more than 200 bytes it shows 200, with byte `at` among them, and says which:
// "'abc...' (bytes 0 to 200 of 5000)".
inline std::string QuotedBytes(std::string_view bytes, char quote = '\'', size_t at = 0) {
  constexpr size_t kMost = 200, kBefore = 40;
  const auto inside = [bytes](size_t i) {  // of a character
    return i > 0 && i < bytes.size() && (static_cast<uint8_t>(bytes[i]) & 0xc0) == 0x80;
  };
  size_t begin = 0, end = bytes.size();
  if (end > kMost) {
    if (at >= kMost - kBefore) begin = std::min(at - kBefore, bytes.size() - kMost);
    end = begin + kMost;
    for (int i = 0; i < 3 && inside(begin); ++i) --begin;
    for (int i = 0; i < 3 && inside(end); ++i) --end;
  }
  std::string text(1, quote);
  if (begin > 0) text += "...";
  for (std::string_view left = bytes.substr(begin, end - begin); !left.empty();) {
    const char c = left[0];
    const size_t length = PrintableLength(left);
    if (c == '\t') {
      text += "\\t";
    } else if (length == 0) {
      text.append("\\x").append({kHexDigits[static_cast<uint8_t>(c) >> 4], kHexDigits[static_cast<uint8_t>(c) & 15]});
    } else {
      if (c == quote || c == '\\') text += '\\';
      text += left.substr(0, length);
    }
    left.remove_prefix(std::max<size_t>(length, 1));
  }
  if (end < bytes.size()) text += "...";
  text += quote;
  if (end - begin == bytes.size()) return text;
  return text + " (bytes " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
         std::to_string(bytes.size()) + ")";
}

// Returns the number of bytes that two texts have in common at their beginning.
inline size_t CommonPrefix(std::string_view a, std::string_view b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  return n;
}

}  // namespace mr::sdk
