// Describes the place of a bad record: a byte offset in a file, or the beginning of a key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "paceline/codec.h"
#include "paceline/emitter.h"

namespace mr::sdk {

// Whether AppendText accepts the type. Keys may have a user's own codec.
template <class T>
struct HasText : std::bool_constant<std::is_arithmetic_v<T> || std::is_convertible_v<const T&, std::string_view> ||
                                    std::is_same_v<T, Nothing>> {};
template <class... T>
struct HasText<std::tuple<T...>> : std::bool_constant<(HasText<T>::value && ...)> {};
template <class A, class B>
struct HasText<std::pair<A, B>> : std::bool_constant<HasText<A>::value && HasText<B>::value> {};

// Returns at most 80 bytes of the text, with unprintable bytes as \xHH.
inline std::string Shown(std::string_view bytes) {
  constexpr size_t kMost = 80;
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes.substr(0, kMost)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      text.push_back(c);
    } else {
      text.append("\\x").append({kHex[byte >> 4], kHex[byte & 15]});
    }
  }
  if (bytes.size() > kMost) text += "...";
  return text;
}

template <class Key>
std::string KeyPlace(const Key& key, std::string_view encoded) {
  if constexpr (HasText<Key>::value) {
    std::string text;
    AppendText(key, &text);
    return "key '" + Shown(text) + "'";
  } else {
    return "key '" + Shown(encoded) + "'";
  }
}

inline std::string BytePlace(const std::string& file, uint64_t offset) {
  return file + ", byte " + std::to_string(offset);
}

}  // namespace mr::sdk
