#include "common/base/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include "common/base/utf8.h"

namespace mr {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Splits "12.5ms" into its number and its unit; a unit must follow.
Result<double> ParseWithUnit(std::string_view text, std::span<const Unit> units, const char* what,
                             const char* example) {
  const std::string quoted = "'" + std::string(text) + "'";
  const std::string hint = std::string("; write it as ") + example;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || number < 0 || !std::isfinite(number)) {
    return InvalidArgument(quoted + " is not a " + what + hint);
  }
  std::string unit(text.substr(static_cast<size_t>(end - text.data())));
  std::transform(unit.begin(), unit.end(), unit.begin(), [](unsigned char c) { return std::tolower(c); });
  if (unit.empty()) return InvalidArgument(quoted + " has no unit" + hint);
  for (const Unit& u : units) {
    if (unit == u.name) return number * u.factor;
  }
  return InvalidArgument(quoted + " has an unknown unit '" + unit + "'" + hint);
}

// Returns the number of inserted, removed, changed and swapped letters between two words (optimal string alignment).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// Returns the word in lower case, without the dashes of an option.
std::string Letters(std::string_view word) {
  std::string letters(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::transform(letters.begin(), letters.end(), letters.begin(), [](unsigned char c) { return std::tolower(c); });
  return letters;
}

// Returns whether `part` is some of the parts of `whole`, at its end: "reduces" in "num-reduces".
bool EndsInPart(std::string_view whole, std::string_view part) {
  constexpr size_t kFewest = 4;
  if (part.size() < kFewest || whole.size() <= part.size() || !whole.ends_with(part)) return false;
  const char before = whole[whole.size() - part.size() - 1];
  return before == '-' || before == '_';
}

// Returns whether the word is the candidate without some letters within it: "map_secs" of "map_seconds".
bool Abbreviates(std::string_view word, std::string_view candidate) {
  if (word.size() < 4 || word.size() * 2 < candidate.size()) return false;
  if (word.front() != candidate.front() || word.back() != candidate.back()) return false;
  size_t at = 0;
  for (const char letter : candidate) at += at < word.size() && word[at] == letter ? 1 : 0;
  return at == word.size();
}

// Returns how far the candidate is from the word, or nothing if the word hardly means it. Limits are guesses that the
// names of commands and options were tried with: one letter in three may be wrong, and of two letters one too many or
// their order.
std::optional<size_t> WordDistance(std::string_view word, std::string_view candidate) {
  const std::string w = Letters(word), c = Letters(candidate);
  if (w == c) return 0;
  constexpr size_t kMost = 3, kOfPart = 2;
  const size_t edits = EditDistance(w, c);
  size_t most = std::min(w.size() / 3, kMost);
  if (w.size() == 2) most = c.size() == 1 || (c.size() == 2 && w[0] == c[1] && w[1] == c[0]) ? 1 : 0;
  if (c.starts_with(w) && (w.size() >= 3 || (w.size() == 2 && edits == 1))) return 1;
  if (edits <= most) return edits;
  if (EndsInPart(w, c) || EndsInPart(c, w) || Abbreviates(w, c)) return kOfPart;
  return std::nullopt;
}

}  // namespace

size_t Utf8Length(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char c = byte(0);
  const size_t n = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  if (n == 0 || s.size() < n) return 0;
  for (size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (c == 0xE0 && byte(1) < 0xA0) return 0;
  if (c == 0xED && byte(1) >= 0xA0) return 0;
  if (c == 0xF0 && byte(1) < 0x90) return 0;
  if (c == 0xF4 && byte(1) >= 0x90) return 0;
  return n;
}

std::string HumanBytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, value < 10 && value != std::floor(value) ? "%.1f %s" : "%.0f %s", value,
                kUnits[unit]);
  return text;
}

std::string Grouped(uint64_t n) {
  std::string text = std::to_string(n);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

std::string HumanDuration(Duration duration) {
  char text[48];
  const double s = duration.seconds();
  if (s < 0.001) {
    std::snprintf(text, sizeof text, "%.0f us", s * 1e6);
  } else if (s < 1) {
    std::snprintf(text, sizeof text, "%.0f ms", s * 1e3);
  } else if (s < 60) {
    std::snprintf(text, sizeof text, "%.1f s", s);
  } else if (s < 3600) {
    std::snprintf(text, sizeof text, "%dm%02ds", static_cast<int>(s) / 60, static_cast<int>(s) % 60);
  } else {
    std::snprintf(text, sizeof text, "%dh%02dm", static_cast<int>(s / 3600), static_cast<int>(s / 60) % 60);
  }
  return text;
}

Result<uint64_t> ParseSize(std::string_view text) {
  static constexpr Unit kUnits[] = {{"k", 1024.0}, {"m", 1048576.0}, {"g", 1073741824.0}, {"t", 1099511627776.0}};
  MR_ASSIGN_OR_RETURN(const double value, ParseWithUnit(text, kUnits, "size", "64m (k, m, g or t)"));
  if (value > 9e18) return InvalidArgument("'" + std::string(text) + "' is too large a size");
  return static_cast<uint64_t>(value);
}

Result<Duration> ParseDuration(std::string_view text) {
  static constexpr Unit kUnits[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
  MR_ASSIGN_OR_RETURN(const double value, ParseWithUnit(text, kUnits, "duration", "30s (ms, s, m, h or d)"));
  if (value > 9e18) return InvalidArgument("'" + std::string(text) + "' is too long a duration");
  return Duration{static_cast<int64_t>(value)};
}

std::string Nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::optional<size_t> least;
  for (const std::string_view candidate : candidates) {
    const auto distance = WordDistance(word, candidate);
    if (!distance) continue;
    // The shorter of two that are equally near: '--out' is '--output' rather than '--output-format'.
    if (least && (*distance > *least || (*distance == *least && candidate.size() >= best.size()))) continue;
    least = distance;
    best = candidate;
  }
  return std::string(best);
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string nearest = Nearest(word, candidates);
  return nearest.empty() ? "" : " (did you mean '" + nearest + "'?)";
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    if (comma > at) parts.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

std::string ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : std::string(path.substr(0, slash));
}

std::string JsonEscape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  while (!text.empty()) {
    const unsigned char c = static_cast<unsigned char>(text[0]);
    size_t n = 1;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || c == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else if ((n = Utf8Length(text)) == 2 && c == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0) {
      char code[8];  // U+0080 to U+009F are control characters, too
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(text[1]));
      out += code;
    } else if (n != 0) {
      out += text.substr(0, n);
    } else {
      n = 1;
      out += "\\ufffd";
    }
    text.remove_prefix(n);
  }
  return out;
}

std::string PrintableBytes(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const unsigned char c = static_cast<unsigned char>(bytes[0]);
    size_t n = Utf8Length(bytes);
    // U+0080 to U+009F are control characters, too.
    const bool control = c < 0x20 || c == 0x7f || (n == 2 && c == 0xC2 && static_cast<unsigned char>(bytes[1]) < 0xA0);
    if (c == '\'' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out += {'\\', c == '\n' ? 'n' : c == '\t' ? 't' : 'r'};
    } else if (n == 0 || control) {
      n = 1;
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", c);
      out += code;
    } else {
      out += bytes.substr(0, n);
    }
    bytes.remove_prefix(n);
  }
  return out;
}

}  // namespace mr
