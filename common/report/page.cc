#include "common/report/page.h"

#include <array>
#include <utility>

#include "common/base/text.h"

namespace mr::report {
namespace {

// Returns whether a mark that changes the direction of text (U+202A to U+202E, U+2066 to U+2069) is at the front.
bool IsDirectionMark(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xe2') return false;
  const auto last = static_cast<unsigned char>(text[2]);
  return (text[1] == '\x80' && last >= 0xaa && last <= 0xae) || (text[1] == '\x81' && last >= 0xa6 && last <= 0xa9);
}

// JSON in a script element must not contain "</script" or "<!--": each '<' becomes its escape, which is valid as JSON
// has '<' in strings only.
std::string EscapedJson(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t taken = 1;
    const char c = text[0];
    if (IsDirectionMark(text)) {
      out += ' ';
      taken = 3;
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\'') {
      out += "&#39;";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::string ReportPage(std::string_view title, std::string_view document) {
  const PageFiles files = ReportPageFiles();
  const std::array<std::pair<std::string_view, std::string>, 4> values = {{
      {"{{title}}", EscapeHtml(title)},
      {"{{style}}", std::string(files.style)},
      {"{{script}}", std::string(files.script)},
      {"{{document}}", EscapedJson(document)},
  }};
  std::string page;
  page.reserve(files.html.size() + files.style.size() + files.script.size() + document.size() * 17 / 16);
  std::string_view rest = files.html;
  while (!rest.empty()) {
    const size_t at = rest.find("{{");
    page += rest.substr(0, at);
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at);
    size_t taken = 2;
    for (const auto& [name, value] : values) {
      if (!rest.starts_with(name)) continue;
      page += value;
      taken = name.size();
      break;
    }
    if (taken == 2) page += "{{";
    rest.remove_prefix(taken);
  }
  return page;
}

}  // namespace mr::report
