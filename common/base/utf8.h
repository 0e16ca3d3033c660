// Checks of UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string_view>

namespace mr {

// Returns the length of the valid sequence at the front, or 0. Requires: not empty.
size_t Utf8Length(std::string_view text);

// Returns the index of the first byte that is no part of a valid sequence, or npos. Cost: linear.
inline size_t InvalidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace mr
