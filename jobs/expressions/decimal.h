// A sum of numbers in decimal text. It is exact, and so independent of the order of additions, while all numbers have
// at most 18 digits after the point and the sum stays below 1e20. Otherwise it is in double precision.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace mr::expr {

class Decimal {
 public:
  static constexpr __int128 kOne = 1'000'000'000'000'000'000;

  // Returns the number with these units of 1e-18, and a number in double precision.
  static Decimal FromUnits(__int128 units) {
    Decimal d;
    d.units_ = units;
    return d;
  }
  static Decimal FromDouble(double value) {
    Decimal d;
    d.exact_ = false;
    d.double_ = value;
    return d;
  }
  // Returns false if the text is no number. A number has digits, and optionally a sign, a point and an exponent; inf
  // and nan are not accepted.
  static bool Parse(std::string_view text, Decimal* out) {
    *out = {};
    return ParseShort(text, &out->units_) || ParseLong(text, out);
  }

  void Add(const Decimal& other) {
    if (TryAdd(other)) return;
    double_ = AsDouble() + other.AsDouble();
    exact_ = false;
  }
  // Adds if the sum is exact. Else returns false, and nothing has changed.
  bool TryAdd(const Decimal& other) {
    __int128 sum;
    if (!exact_ || !other.exact_ || __builtin_add_overflow(units_, other.units_, &sum)) return false;
    units_ = sum;
    return true;
  }

  bool exact() const { return exact_; }
  // The number in units of 1e-18. Requires: exact().
  __int128 units() const { return units_; }

  double AsDouble() const {
    if (!exact_) return double_;
    // In two steps that a double represents well: the units alone may exceed 2^53.
    const __int128 whole = units_ / kOne, part = units_ % kOne;
    return static_cast<double>(whole) + static_cast<double>(part) / static_cast<double>(kOne);
  }
  int Compare(const Decimal& other) const {
    if (exact_ && other.exact_) return units_ < other.units_ ? -1 : units_ > other.units_;
    // If both are the same double, exact numbers sort first. Otherwise a number between two exact ones would equal
    // both.
    const double a = AsDouble(), b = other.AsDouble();
    return a != b ? (a < b ? -1 : 1) : static_cast<int>(other.exact_) - static_cast<int>(exact_);
  }

  // Returns the shortest decimal, without trailing zeros.
  std::string Text() const {
    char buffer[64];
    if (!exact_) return {buffer, std::to_chars(buffer, buffer + sizeof buffer, double_).ptr};
    const bool negative = units_ < 0;
    unsigned __int128 left =
        negative ? -static_cast<unsigned __int128>(units_) : static_cast<unsigned __int128>(units_);
    std::string digits;
    for (int place = 0; left != 0 || place <= kPlaces; ++place) {
      if (place == kPlaces && !digits.empty()) digits += '.';
      const char digit = static_cast<char>('0' + static_cast<int>(left % 10));
      if (place >= kPlaces || !digits.empty() || digit != '0') digits += digit;
      left /= 10;
    }
    if (negative) digits += '-';
    return {digits.rbegin(), digits.rend()};
  }

  void Encode(std::string* out) const {
    out->push_back(exact_ ? 1 : 0);
    out->append(reinterpret_cast<const char*>(&units_), sizeof units_);
    out->append(reinterpret_cast<const char*>(&double_), sizeof double_);
  }
  static constexpr size_t kEncodedBytes = 1 + sizeof(__int128) + sizeof(double);
  static Decimal Decode(const char* bytes) {
    Decimal d;
    d.exact_ = bytes[0] != 0;
    std::memcpy(&d.units_, bytes + 1, sizeof d.units_);
    std::memcpy(&d.double_, bytes + 1 + sizeof d.units_, sizeof d.double_);
    return d;
  }

 private:
  static constexpr int kPlaces = 18;

  // Parses up to 19 digits, which fit into 64 bits, with a sign and a point. Returns false for all else.
  static bool ParseShort(std::string_view text, __int128* units) {
    static constexpr auto kPowers = [] {
      std::array<uint64_t, size_t{kPlaces} + 1> powers{1};
      for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
      return powers;
    }();
    const bool negative = !text.empty() && text[0] == '-';
    const size_t from = negative ? 1 : 0;
    if (text.size() == from || text.size() - from > 19) return false;
    uint64_t value = 0;
    size_t point = text.size();
    for (size_t i = from; i < text.size(); ++i) {
      const auto digit = static_cast<uint8_t>(text[i] - '0');
      if (digit <= 9) {
        value = value * 10 + digit;
      } else if (text[i] == '.' && point == text.size()) {
        point = i;
      } else {
        return false;
      }
    }
    const size_t behind = point == text.size() ? 0 : text.size() - point - 1;
    if (point != text.size() && text.size() - from == 1) return false;  // a point alone
    *units = static_cast<__int128>(value) * kPowers[size_t{kPlaces} - behind];
    if (negative) *units = -*units;
    return true;
  }

  static bool ParseLong(std::string_view text, Decimal* out) {
    std::string_view rest = text;
    const bool negative = !rest.empty() && rest[0] == '-';
    if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) rest.remove_prefix(1);
    int digits = 0, behind = 0;
    bool point = false;
    __int128 units = 0;
    for (const char c : rest) {
      if (c == '.' && !point) {
        point = true;
      } else if (c >= '0' && c <= '9') {
        if (units != 0 || c != '0' || digits == 0) ++digits;
        behind += point;
        if (digits > 30 || behind > kPlaces) return ParseDouble(text, out);
        units = units * 10 + (c - '0');
      } else {
        return ParseDouble(text, out);
      }
    }
    if (digits == 0 && behind == 0) return false;
    for (; behind < kPlaces; ++behind) {
      if (__builtin_mul_overflow(units, __int128{10}, &units)) return ParseDouble(text, out);
    }
    out->units_ = negative ? -units : units;
    return true;
  }

  static bool ParseDouble(std::string_view text, Decimal* out) {
    if (!text.empty() && text[0] == '+') {
      text.remove_prefix(1);
      if (!text.empty() && text[0] == '-') return false;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return false;
    out->exact_ = false;
    out->double_ = value;
    return true;
  }

  bool exact_ = true;
  __int128 units_ = 0;  // in units of 1e-18, if exact
  double double_ = 0;   // if not exact
};

}  // namespace mr::expr
