// Text for people (sizes, durations, suggestions), and strict parsers of what they type.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr {

// Returns a size with a binary unit: "64 MiB", "1.5 GiB", "17 B".
std::string HumanBytes(uint64_t bytes);
// Returns the number with commas: "12,000,000".
std::string Grouped(uint64_t n);
// Returns a duration with its unit: "850 ms", "12.3 s", "4m10s".
std::string HumanDuration(Duration duration);

// Parses a size such as "64m", "1g" or "512k": binary units k m g t, either case. A number without a unit is refused.
Result<uint64_t> ParseSize(std::string_view text);
// Parses a duration such as "250ms", "30s", "5m", "2h" or "1d"; fractions are allowed. A number without a unit is
// refused.
Result<Duration> ParseDuration(std::string_view text);

// Returns the candidate that `word` probably means, or "": the one nearest by inserted, removed, changed and swapped
// letters, if at most a third of the word's letters is wrong. Beginnings, abbreviations, and names with fewer or more
// parts before the last ("num-reduces" for "reduces") count as near. Case and leading dashes do not count.
std::string Nearest(std::string_view word, std::span<const std::string_view> candidates);
// Returns " (did you mean 'x'?)" for the nearest candidate, or "".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates);

// Returns the parent directory: "/a" for "/a/b"; "/" for "/a" and for a name without a slash.
std::string ParentOf(std::string_view path);
// Returns the parts of a list that are not empty: "a,b" -> {"a", "b"}.
std::vector<std::string> SplitAtCommas(std::string_view text);

// Escapes text for a JSON string: quotes, backslashes and control characters. Bytes that are not
// valid UTF-8 become U+FFFD.
std::string JsonEscape(std::string_view text);

// Escapes any bytes for a line in which they stand between single quotes: single quotes, backslashes and control
// characters as in C, and bytes that are not valid UTF-8 as \xff.
std::string PrintableBytes(std::string_view bytes);

}  // namespace mr
