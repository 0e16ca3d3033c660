#include "common/report/page.h"

namespace mr::report {
namespace {

// Returns whether a mark that changes the direction of text (U+202A to U+202E, U+2066 to U+2069) is at the front.
bool IsDirectionMark(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xe2') return false;
  const auto last = static_cast<unsigned char>(text[2]);
  return (text[1] == '\x80' && last >= 0xaa && last <= 0xae) || (text[1] == '\x81' && last >= 0xa6 && last <= 0xa9);
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

// Each '<' becomes its escape, which is valid as JSON has '<' in strings only.
std::string EscapeScriptJson(std::string_view json) {
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

std::string FillTemplate(std::string_view text, const std::vector<std::pair<std::string_view, std::string>>& values) {
  size_t size = text.size();
  for (const auto& [name, value] : values) size += value.size();
  std::string out;
  out.reserve(size);
  while (!text.empty()) {
    const size_t at = text.find("{{");
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at);
    size_t taken = 0;
    for (const auto& [name, value] : values) {
      if (!text.starts_with(name)) continue;
      out += value;
      taken = name.size();
      break;
    }
    if (taken == 0) {
      out += "{{";
      taken = 2;
    }
    text.remove_prefix(taken);
  }
  return out;
}

std::string ReportPage(std::string_view title, std::string_view document) {
  const PageFiles files = ReportPageFiles();
  return FillTemplate(files.html, {{"{{title}}", EscapeHtml(title)},
                                   {"{{style}}", std::string(files.style)},
                                   {"{{script}}", std::string(files.script)},
                                   {"{{document}}", EscapeScriptJson(document)}});
}

}  // namespace mr::report
