#include "jobs/builtin/line_search.h"

#include <hs/hs.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "paceline/error.h"

namespace mr::builtin {
namespace {

// Returns whether the pattern has anchors that, in (?m), would match a block's borders and not a line's.
bool NeedsSingleLines(const std::string& pattern) {
  static const RE2 anchors(R"(\\[Az]|\(\?[a-zA-Z]*-[a-zA-Z]*m)");
  return RE2::PartialMatch(pattern, anchors);
}

struct Candidates {
  std::string_view text;
  size_t behind = 0;  // lines before this offset are done
  const std::function<void(size_t begin, size_t end)>* found;
};

int OnCandidate(unsigned, unsigned long long, unsigned long long to, unsigned, void* context) {
  auto* c = static_cast<Candidates*>(context);
  // The candidate is the line that contains `to` or ends there: no match crosses a newline, and an empty match may be
  // at it.
  const auto at = static_cast<size_t>(to);
  if (at < c->behind) return 0;
  const size_t before = at == 0 ? c->text.npos : c->text.rfind('\n', at - 1);
  const size_t begin = before == c->text.npos ? 0 : before + 1;
  const size_t end = std::min(c->text.find('\n', at), c->text.size());
  c->behind = end + 1;
  (*c->found)(begin, end);
  return 0;
}

}  // namespace

RE2::Options PatternOptions(bool ignore_case) {
  RE2::Options options;
  options.set_case_sensitive(!ignore_case);
  options.set_log_errors(false);
  options.set_never_nl(true);  // no match crosses the end of a line
  return options;
}

std::string AsBytes(std::string_view pattern, bool ignore_case) {
  const auto unbounded = [&](size_t behind) {
    return behind < pattern.size() && (pattern[behind] == '*' || pattern[behind] == '+');
  };
  std::string bytes;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const size_t from = i;
    const char c = pattern[i];
    // The bytes of one letter beyond ASCII: a repetition or a class would take them apart.
    if (static_cast<unsigned char>(c) >= 0x80) return "";
    if (c == '\\') {
      if (++i == pattern.size()) return "";
      // Escaped letters and digits are supported only where they mean an ASCII character or a word border.
      const char of = pattern[i];
      const bool letter = ((of | 0x20) >= 'a' && (of | 0x20) <= 'z') || (of >= '0' && of <= '9');
      const std::string_view plain = ignore_case ? "dbtnrfv" : "dswbtnrfv";
      if (letter && plain.find(of) == plain.npos) return "";
    } else if (c == '.') {
      if (!unbounded(i + 1)) return "";
    } else if (c == '[') {
      const bool negated = i + 1 < pattern.size() && pattern[i + 1] == '^';
      size_t end = i + 1 + (negated ? 1 : 0);
      if (end < pattern.size() && pattern[end] == ']') ++end;  // a bracket at the start belongs to the class
      while (end < pattern.size() && pattern[end] != ']') {
        if (static_cast<unsigned char>(pattern[end]) >= 0x80 || pattern[end] == '[' || pattern[end] == '\\') return "";
        ++end;
      }
      // Case folding adds letters beyond ASCII to a class.
      if (end >= pattern.size() || ignore_case || (negated && !unbounded(end + 1))) return "";
      i = end;
    } else if (c == '(' && i + 1 < pattern.size() && pattern[i + 1] == '?') {
      // Groups without a name are plain. Flags would change the rest of the pattern.
      if (pattern.substr(i, 3) != "(?:") return "";
      i += 2;
    } else if (ignore_case && (c | 0x20) == 'k') {
      bytes += "(?:k|\xe2\x84\xaa)";  // the Kelvin sign
      continue;
    } else if (ignore_case && (c | 0x20) == 's') {
      bytes += "(?:s|\xc5\xbf)";  // the long s
      continue;
    }
    bytes.append(pattern.substr(from, i + 1 - from));
  }
  return bytes;
}

LineSearch::LineSearch(const std::string& pattern, bool ignore_case) : single_lines_(NeedsSingleLines(pattern)) {
  re_ = std::make_unique<RE2>(single_lines_ ? pattern : "(?m)(?:" + pattern + ")", PatternOptions(ignore_case));
  if (!re_->ok()) throw JobError("grep: " + re_->error());
  // Hyperscan ignores an empty line at the end of a block. A pattern that matches "" matches most lines anyway.
  const std::string bytes = AsBytes(pattern, ignore_case);
  if (single_lines_ || Matches("") || bytes.empty()) return;
  hs_compile_error_t* error = nullptr;
  const unsigned flags = HS_FLAG_MULTILINE | (ignore_case ? HS_FLAG_CASELESS : 0);
  hs_database_t* database = nullptr;
  // RE2 alone handles patterns that Hyperscan cannot compile (no possible match, too many states).
  if (hs_compile(bytes.c_str(), flags, HS_MODE_BLOCK, nullptr, &database, &error) != HS_SUCCESS) {
    hs_free_compile_error(error);
    return;
  }
  hs_scratch_t* scratch = nullptr;
  if (hs_alloc_scratch(database, &scratch) != HS_SUCCESS) {
    hs_free_database(database);
    return;
  }
  database_ = database;
  scratch_ = scratch;
}

LineSearch::~LineSearch() {
  hs_free_scratch(scratch_);
  hs_free_database(database_);
}

void LineSearch::Find(std::string_view text, std::vector<std::pair<size_t, size_t>>* lines) const {
  lines->clear();
  if (single_lines_) return FindByLine(text, lines);
  return filtered() ? FindCandidates(text, lines) : FindInBlock(text, lines);
}

bool LineSearch::Matches(std::string_view line) const {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *re_);
}

void LineSearch::FindCandidates(std::string_view text, std::vector<std::pair<size_t, size_t>>* lines) const {
  const std::function<void(size_t, size_t)> found = [&](size_t begin, size_t end) {
    if (Matches(text.substr(begin, end - begin))) lines->emplace_back(begin, end);
  };
  Candidates candidates{text, 0, &found};
  const hs_error_t error =
      hs_scan(database_, text.data(), static_cast<unsigned>(text.size()), 0, scratch_, &OnCandidate, &candidates);
  if (error != HS_SUCCESS) throw JobError("grep: the search failed with Hyperscan's error " + std::to_string(error));
}

void LineSearch::FindInBlock(std::string_view text, std::vector<std::pair<size_t, size_t>>* lines) const {
  const re2::StringPiece all(text.data(), text.size());
  size_t at = 0;  // start of a line
  while (at <= text.size()) {
    re2::StringPiece match;
    if (!re_->Match(all, at, text.size(), RE2::UNANCHORED, &match, 1)) break;
    const auto found = static_cast<size_t>(match.data() - text.data());
    const size_t before = found == 0 ? text.npos : text.rfind('\n', found - 1);
    const size_t begin = before == text.npos ? 0 : before + 1;
    const size_t end = std::min(text.find('\n', found), text.size());
    lines->emplace_back(begin, end);
    at = end + 1;
  }
}

void LineSearch::FindByLine(std::string_view text, std::vector<std::pair<size_t, size_t>>* lines) const {
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    if (Matches(text.substr(from, end - from))) lines->emplace_back(from, end);
    from = end + 1;
  }
}

PartSearch::PartSearch(const std::string& pattern, bool ignore_case, bool whole_words) {
  const auto compile = [&](const std::string& text) {
    auto re = std::make_unique<RE2>(text, PatternOptions(ignore_case));
    if (!re->ok()) throw JobError("grep: " + re->error());
    return re;
  };
  if (!whole_words) {
    re_ = compile(pattern);
    return;
  }
  // RE2 has no lookaround, so the characters beside a part belong to the match, and the part is a group.
  const std::string part = "(" + pattern + ")(?:$|\\W)";
  re_ = compile("(?:^|\\W)" + part);
  behind_ = compile("\\W" + part);
}

bool PartSearch::Next(std::string_view line, size_t at, size_t* begin, size_t* end) const {
  const RE2* re = re_.get();
  size_t from = at;
  if (behind_ != nullptr && at > 0) {
    re = behind_.get();
    // The character before `at` may be the one beside the part.
    size_t before = at - 1;
    while (before > 0 && (static_cast<unsigned char>(line[before]) & 0xC0) == 0x80) --before;
    const char c = line[before];
    if (c != '_' && std::isalnum(static_cast<unsigned char>(c)) == 0) from = before;
  }
  const re2::StringPiece all(line.data(), line.size());
  re2::StringPiece groups[2];
  const int wanted = behind_ != nullptr ? 2 : 1;
  if (!re->Match(all, from, line.size(), RE2::UNANCHORED, groups, wanted)) return false;
  const re2::StringPiece& part = groups[wanted - 1];
  *begin = static_cast<size_t>(part.data() - line.data());
  *end = *begin + part.size();
  return true;
}

}  // namespace mr::builtin
