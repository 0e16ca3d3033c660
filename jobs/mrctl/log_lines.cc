#include "jobs/mrctl/log_lines.h"

#include <re2/re2.h>

#include <algorithm>

#include "jobs/mrctl/terminal_text.h"

namespace mr::ctl {
namespace {

constexpr size_t kMostLine = 1 << 20;

// Returns the number of bytes at the end that may begin a UTF-8 character: at most 3.
size_t UnfinishedCharacter(std::string_view text) {
  for (size_t n = 1; n <= std::min<size_t>(3, text.size()); ++n) {
    const auto c = static_cast<unsigned char>(text[text.size() - n]);
    if ((c & 0xC0) == 0x80) continue;
    const size_t wanted = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
    return wanted > n ? n : 0;
  }
  return 0;
}

}  // namespace

Result<LogPattern> MakeLogPattern(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_nl(true);
  auto made = std::make_shared<RE2>(pattern, options);
  if (!made->ok()) return InvalidArgument("bad pattern '" + pattern + "': " + made->error());
  return LogPattern(std::move(made));
}

std::string LastLines(const std::string& text, uint64_t lines) {
  if (lines == 0) return "";
  size_t at = text.size();
  if (at != 0 && text[at - 1] == '\n') --at;
  for (; lines > 0; --lines) {
    const size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (before == std::string::npos) return text;
    at = before;
  }
  return text.substr(at + 1);
}

void LogLines::AddLine(std::string_view line, std::string* out) const {
  if (options_.pattern != nullptr && !RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *options_.pattern))
    return;
  *out += options_.prefix;
  *out += options_.for_terminal ? TerminalText(line) : std::string(line);
  *out += '\n';
}

std::string LogLines::Add(std::string_view bytes) {
  std::string out;
  held_ += bytes;
  if (!by_line()) {
    const size_t keep = options_.for_terminal ? UnfinishedCharacter(held_) : 0;
    out = held_.substr(0, held_.size() - keep);
    held_.erase(0, out.size());
    return options_.for_terminal ? TerminalText(out) : out;
  }
  size_t at = 0;
  for (size_t end; (end = held_.find('\n', at)) != std::string::npos; at = end + 1) {
    AddLine(std::string_view(held_).substr(at, end - at), &out);
  }
  held_.erase(0, at);
  if (held_.size() > kMostLine) {
    AddLine(held_, &out);
    held_.clear();
  }
  return out;
}

std::string LogLines::Finish() {
  std::string out;
  if (!by_line()) {
    out = options_.for_terminal ? TerminalText(held_) : held_;
  } else if (!held_.empty()) {
    AddLine(held_, &out);
  }
  held_.clear();
  return out;
}

}  // namespace mr::ctl
