// Finds the lines of a block that match a pattern (RE2 syntax). Where the pattern allows, Hyperscan searches the whole
// block for candidates, at several gigabytes per second, and RE2 checks each candidate line. Other patterns are
// searched by RE2 alone, in whole blocks: a call per line costs two to eight times as much (measured).
#pragma once

#include <algorithm>
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

// Options of all patterns: UTF-8, and no match across the end of a line.
RE2::Options PatternOptions(bool ignore_case);

class LineSearch {
 public:
  // Errors: JobError for an invalid pattern.
  LineSearch(const std::string& pattern, bool ignore_case);
  ~LineSearch();
  LineSearch(const LineSearch&) = delete;

  // Returns (begin, end) of the matching lines in order, without their newlines. Requires: `text` is whole lines
  // without the last newline.
  void Find(std::string_view text, std::vector<std::pair<size_t, size_t>>* lines) const;
  // Returns whether Hyperscan finds candidates.
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

// Finds the matching parts of a line, as RE2 finds them: of the parts that begin first, the one that the pattern
// prefers (leftmost-first, as in Perl).
class PartSearch {
 public:
  // whole_words: a part has no letter, digit or underscore before or after it. Errors: JobError for an invalid pattern.
  PartSearch(const std::string& pattern, bool ignore_case, bool whole_words);

  // Calls f(part) for each part of the line, from left to right. Parts do not overlap, and are not empty.
  template <class F>
  void ForEach(std::string_view line, F&& f) const {
    for (size_t at = 0; at < line.size();) {
      size_t begin = 0, end = 0;
      if (!Next(line, at, &begin, &end)) return;
      if (end > begin) f(line.substr(begin, end - begin));
      at = std::max(end, begin + 1);
    }
  }

 private:
  // Finds the first part that begins at `at` or behind.
  bool Next(std::string_view line, size_t at, size_t* begin, size_t* end) const;

  std::unique_ptr<RE2> re_;
  std::unique_ptr<RE2> behind_;  // of whole words: for parts that do not begin the line; else null
};

// Returns a pattern on bytes that matches in every line in which the UTF-8 pattern matches, and perhaps in others.
// Returns "" for patterns that it cannot translate, for example with a construct that matches any one character and
// is not repeated without bound.
std::string AsBytes(std::string_view pattern, bool ignore_case);

}  // namespace mr::builtin
