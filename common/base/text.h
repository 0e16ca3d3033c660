// Text for people (sizes, durations, suggestions), and strict parsers of what they type.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr {

// "64 MiB", "1.5 GiB", "17 B".
std::string HumanBytes(uint64_t bytes);
// "12,000,000".
std::string Grouped(uint64_t n);
// "850 ms", "12.3 s", "4m10s".
std::string HumanDuration(Duration duration);

// "64m", "1g", "512k": binary units k m g t, either case. A bare number is refused.
Result<uint64_t> ParseSize(std::string_view text);
// "250ms", "30s", "5m", "2h", "1d"; fractions allowed. A bare number is refused.
Result<Duration> ParseDuration(std::string_view text);

// Returns the candidate nearest to `word` by edit distance if it is at most 1 + size/3 away, else "".
std::string Nearest(std::string_view word, std::span<const std::string_view> candidates);
// " (did you mean 'x'?)" or empty.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates);

// "/a" of "/a/b"; "/" of "/a" and of a name without a slash.
std::string ParentOf(std::string_view path);

// Escapes text for a JSON string: quotes, backslashes and control characters. Bytes that are not
// valid UTF-8 become U+FFFD.
std::string JsonEscape(std::string_view text);

// Escapes any bytes for a line in which they stand between single quotes: single quotes, backslashes and control
// characters as in C, and bytes that are not valid UTF-8 as \xff.
std::string PrintableBytes(std::string_view bytes);

}  // namespace mr
