// Which lines of a block match a pattern (RE2 syntax). The block is searched as a whole, by Hyperscan where the pattern
// allows: it finds candidates at several gigabytes a second, and RE2 has the last word on each line. Other patterns are
// RE2's alone, whole blocks at once; a call per line costs two to eight times as much (measured).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <re2/re2.h>

struct hs_database;
struct hs_scratch;

namespace mr::builtin {

// As all patterns are read here: UTF-8, no match over the end of a line.
RE2::Options PatternOptions(bool ignore_case);

class LineSearch {
 public:
  // Throws JobError for what is no pattern.
  LineSearch(const std::string& pattern, bool ignore_case);
  ~LineSearch();
  LineSearch(const LineSearch&) = delete;

  // (begin, end) of the lines that match, in order, without their newlines. `text`: whole lines, without the last
  // newline.
  void Find(std::string_view text, std::vector<std::pair<size_t, size_t>>* lines) const;
  // Whether Hyperscan looks first.
  bool filtered() const { return database_ != nullptr; }

 private:
  void FindCandidates(std::string_view text, std::vector<std::pair<size_t, size_t>>* lines) const;
  void FindInBlock(std::string_view text, std::vector<std::pair<size_t, size_t>>* lines) const;
  void FindByLine(std::string_view text, std::vector<std::pair<size_t, size_t>>* lines) const;
  bool Matches(std::string_view line) const;

  std::unique_ptr<RE2> re_;
  bool single_lines_ = false;
  hs_database* database_ = nullptr;
  hs_scratch* scratch_ = nullptr;
};

// The pattern as one of bytes that matches in each line that it matches in UTF-8, and perhaps in others; empty where it
// has something that stands for one character of any kind and is not repeated without bound, or is no pattern that this
// can read.
std::string AsBytes(std::string_view pattern, bool ignore_case);

}  // namespace mr::builtin
