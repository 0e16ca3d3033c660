#include "jobs/mrctl/columns.h"

#include <algorithm>
#include <cstdint>

namespace mr::ctl {
namespace {

struct Character {
  uint32_t code = 0;  // 0: bytes that are no character
  size_t bytes = 1;
};

// Decodes the character at the front (RFC 3629). Requires: text is not empty.
Character FrontCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first >= 0xF5 || text.size() < bytes) return {};
  uint32_t code = first & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {code, bytes};
}

struct Range {
  uint32_t first, last;
};
template <size_t kCount>
bool In(const Range (&ranges)[kCount], uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [code](const Range& r) { return code >= r.first && code <= r.last; });
}
// The common blocks of combining and of wide characters (Unicode's UAX 11), as terminals draw them.
constexpr Range kCombining[] = {{0x300, 0x36F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},  {0xAC00, 0xD7A3}, {0xF900, 0xFAFF},
                           {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
                           {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
// Controls, and marks that change the direction or the place of the text behind them.
constexpr Range kUnsafe[] = {{0, 0x1F},        {0x7F, 0x9F},     {0x200B, 0x200F},
                             {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}};

size_t WidthOf(uint32_t code) { return In(kCombining, code) ? 0 : In(kWide, code) ? 2 : 1; }

// Calls take(bytes, width) per character while it returns true.
template <class Take>
void EachCharacter(std::string_view text, Take take) {
  while (!text.empty()) {
    const Character c = FrontCharacter(text);
    const bool unsafe = In(kUnsafe, c.code);
    if (!take(unsafe ? std::string_view("?") : text.substr(0, c.bytes), unsafe ? 1 : WidthOf(c.code))) return;
    text.remove_prefix(c.bytes);
  }
}

}  // namespace

size_t Columns(std::string_view text) {
  size_t columns = 0;
  EachCharacter(text, [&](std::string_view, size_t width) {
    columns += width;
    return true;
  });
  return columns;
}

std::string CutToColumns(std::string_view text, size_t columns) {
  std::string cut;
  EachCharacter(text, [&](std::string_view bytes, size_t width) {
    if (width > columns) return false;
    columns -= width;
    cut += bytes;
    return true;
  });
  return cut;
}

std::string FitToColumns(std::string_view text, size_t columns) {
  std::string fit = CutToColumns(text, Columns(text) <= columns ? columns : columns - 1);
  if (Columns(text) > columns) fit += '~';
  return fit + std::string(columns - Columns(fit), ' ');
}

}  // namespace mr::ctl
