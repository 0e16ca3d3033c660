// Turns the bytes of a log into what is printed: lines that match a pattern, lines behind the name of their attempt, or
// the bytes as they are; on a terminal with control characters escaped. Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace re2 {
class RE2;
}

namespace mr::ctl {

// A pattern of RE2. A match stays within one line.
using LogPattern = std::shared_ptr<const re2::RE2>;
// Errors: kInvalidArgument.
Result<LogPattern> MakeLogPattern(const std::string& pattern);

// Returns the last lines of a text.
std::string LastLines(const std::string& text, uint64_t lines);

class LogLines {
 public:
  struct Options {
    std::string prefix;  // before each line
    LogPattern pattern;  // null: all lines
    bool for_terminal = false;
  };
  explicit LogLines(Options options) : options_(std::move(options)) {}

  // Takes the next bytes of the log. Returns what can be printed: whole lines, if there is a prefix or a pattern. A
  // line of more than 1 MiB counts as several.
  std::string Add(std::string_view bytes);
  // Returns the rest, at the end of the log. With a prefix or a pattern it ends in a newline.
  std::string Finish();

 private:
  bool by_line() const { return options_.pattern != nullptr || !options_.prefix.empty(); }
  void AddLine(std::string_view line, std::string* out) const;

  const Options options_;
  std::string held_;  // an unfinished line, or an unfinished character
};

}  // namespace mr::ctl
