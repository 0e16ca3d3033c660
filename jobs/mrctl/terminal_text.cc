#include "jobs/mrctl/terminal_text.h"

#include <algorithm>
#include <cstdio>

#include "common/base/text.h"

namespace mr::ctl {
namespace {

// Escapes U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069, which reorder the text around them.
std::string WithoutDirections(std::string text) {
  for (size_t at = 0; (at = text.find('\xE2', at)) != std::string::npos; ++at) {
    if (at + 2 >= text.size()) break;
    const auto b = static_cast<unsigned char>(text[at + 1]), c = static_cast<unsigned char>(text[at + 2]);
    const bool direction =
        (b == 0x80 && (c == 0x8E || c == 0x8F || (c >= 0xAA && c <= 0xAE))) || (b == 0x81 && c >= 0xA6 && c <= 0xA9);
    if (!direction) continue;
    char code[8];
    std::snprintf(code, sizeof code, "\\u20%02x", ((b & 1) << 6) | (c & 0x3F));
    text.replace(at, 3, code);
  }
  return text;
}

}  // namespace

std::string TerminalText(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    // PrintableBytes escapes these four, too.
    const size_t plain = std::min(text.find_first_of("\n\t'\\"), text.size());
    out += PrintableBytes(text.substr(0, plain));
    if (plain < text.size()) out += text[plain];
    text.remove_prefix(std::min(plain + 1, text.size()));
  }
  return WithoutDirections(std::move(out));
}

void PrintErr(std::string_view text) { std::fputs(TerminalText(text).c_str(), stderr); }

}  // namespace mr::ctl
