// Numbers as bytes of a key: memcmp orders them like Decimal::Compare, and equal numbers have equal bytes.
//
//   8 bytes   the nearest double, in the order of its value
//   1 byte    0x80 + n or 0x80 - n: n bytes follow; 0xff: the number is a double, not exact
//   n bytes   the exact number minus that double, in units of 1e-18, without leading zeros; inverted if negative
//
// No key is the beginning of another one, so that more bytes may follow.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "jobs/expressions/decimal.h"
#include "paceline/codec.h"

namespace mr::builtin {

using expr::Decimal;

namespace number_key {
inline constexpr uint8_t kExact = 0x80, kInexact = 0xff;
inline constexpr size_t kMostBytes = sizeof(double) + 1 + 16;

// Returns the double in units of 1e-18, rounded towards zero, modulo 2^128.
inline unsigned __int128 UnitsOf(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent);
  const auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));  // below 2^53, so the product fits
  unsigned __int128 units = static_cast<unsigned __int128>(mantissa) * static_cast<unsigned __int128>(Decimal::kOne);
  const int shift = exponent - 53;
  if (shift >= 0) {
    units = shift < 128 ? units << shift : 0;
  } else {
    units = shift > -128 ? units >> -shift : 0;
  }
  return value < 0 ? -units : units;
}
}  // namespace number_key

inline void AppendNumberKey(const Decimal& number, std::string* out) {
  const double nearest = number.AsDouble();
  KeyCodec<double>::Append(nearest, out);
  if (!number.exact()) {
    out->push_back(static_cast<char>(number_key::kInexact));
    return;
  }
  const auto rest =
      static_cast<__int128>(static_cast<unsigned __int128>(number.units()) - number_key::UnitsOf(nearest));
  unsigned __int128 magnitude = rest < 0 ? -static_cast<unsigned __int128>(rest) : static_cast<unsigned __int128>(rest);
  uint8_t bytes = 0;
  for (unsigned __int128 left = magnitude; left != 0; left >>= 8) ++bytes;
  out->push_back(static_cast<char>(rest < 0 ? number_key::kExact - bytes : number_key::kExact + bytes));
  if (rest < 0) magnitude = ~magnitude;
  for (int shift = 8 * bytes; shift > 0;) {
    shift -= 8;
    out->push_back(static_cast<char>(static_cast<uint8_t>(magnitude >> shift)));
  }
}

// Takes the number from the front of a key. Errors: JobError if the bytes are no such key.
inline Decimal TakeNumberKey(std::string_view* key) {
  const double nearest = KeyCodec<double>::TakePart(key);
  const auto code = static_cast<uint8_t>(sdk::Take(key, 1, "a number's length")[0]);
  if (code == number_key::kInexact) return Decimal::FromDouble(nearest);
  const bool negative = code < number_key::kExact;
  const int bytes = negative ? number_key::kExact - code : code - number_key::kExact;
  if (bytes > 16) sdk::BadBytes("a number in a key");
  unsigned __int128 rest = 0;
  for (const char c : sdk::Take(key, static_cast<size_t>(bytes), "a number in a key")) {
    rest = rest << 8 | static_cast<uint8_t>(negative ? ~c : c);
  }
  if (negative) rest = -rest;
  return Decimal::FromUnits(static_cast<__int128>(number_key::UnitsOf(nearest) + rest));
}

}  // namespace mr::builtin
