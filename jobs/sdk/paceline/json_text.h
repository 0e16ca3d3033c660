// Writes the JSON and base64 of a plan document.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "paceline/error.h"

namespace mr::sdk {

// Returns the text quoted and escaped. Requires: valid UTF-8, which the reader of the document checks.
inline std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

inline constexpr char kBase64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::string Base64(std::string_view in) {
  std::string out;
  for (size_t i = 0; i < in.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (i + j < in.size() ? static_cast<uint8_t>(in[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += i + j <= in.size() ? kBase64[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

inline std::string FromBase64(std::string_view in) {
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (char c : in) {
    if (c == '=') break;
    const size_t at = std::string_view(kBase64, 64).find(c);
    if (at == std::string_view::npos) throw JobError("a config is not base64");
    bits = bits << 6 | static_cast<uint32_t>(at);
    have += 6;
    if (have >= 8) {
      have -= 8;
      out += static_cast<char>(bits >> have);
    }
  }
  return out;
}

}  // namespace mr::sdk
