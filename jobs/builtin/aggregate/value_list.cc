#include "jobs/builtin/aggregate/value_list.h"

#include <algorithm>
#include <cstdio>

#include "paceline/codec.h"

namespace mr::builtin {
namespace {

// Returns the length of the UTF-8 character at the front, or 0 if there is none (RFC 3629: no surrogates, no longer
// forms than needed, at most U+10FFFF).
size_t ListUtf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const uint8_t first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  size_t n = 0;
  uint8_t least = 0x80, most = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) n = 2;
  if (first >= 0xe0 && first <= 0xef) n = 3;
  if (first >= 0xf0 && first <= 0xf4) n = 4;
  if (first == 0xe0) least = 0xa0;
  if (first == 0xed) most = 0x9f;
  if (first == 0xf0) least = 0x90;
  if (first == 0xf4) most = 0x8f;
  if (n == 0 || second < least || second > most) return 0;
  for (size_t i = 2; i < n; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return n;
}

void AppendListJson(std::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    const auto c = static_cast<uint8_t>(text.front());
    const size_t n = ListUtf8Length(text);
    if (c == '"' || c == '\\') {
      out->append({'\\', text.front()});
    } else if (c < 0x20) {
      char escaped[8];
      out->append(escaped, static_cast<size_t>(std::snprintf(escaped, sizeof escaped, "\\u%04x", c)));
    } else if (n == 0) {
      out->append("\xef\xbf\xbd");
    } else {
      out->append(text.substr(0, n));
    }
    text.remove_prefix(std::max<size_t>(n, 1));
  }
  out->push_back('"');
}

}  // namespace

void AppendListValue(std::string_view value, std::string* list) {
  if (list->size() + value.size() > kMostListBytes) {
    throw FinalError("aggregate: the values of a list(COLUMN, N) have more than " +
                     std::to_string(kMostListBytes >> 20) + " MiB in one group; give a smaller N");
  }
  sdk::AppendVarint(value.size(), list);
  list->append(value);
}

uint64_t AppendList(std::string_view other, uint64_t count, uint64_t most, std::string* list) {
  const uint64_t taken = std::min(count, most);
  for (uint64_t i = 0; i < taken; ++i) AppendListValue(sdk::Take(&other, sdk::TakeVarint(&other), "a list"), list);
  return taken;
}

std::string ListText(std::string_view list) {
  std::string text = "[";
  while (!list.empty()) {
    if (text.size() > 1) text += ',';
    AppendListJson(sdk::Take(&list, sdk::TakeVarint(&list), "a list"), &text);
  }
  return text + "]";
}

}  // namespace mr::builtin
