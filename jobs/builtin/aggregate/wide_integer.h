// An integer of any size. Sums of squares need more than 128 bits, and are exact with it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/codec.h"

namespace mr::builtin {

class WideInteger {
 public:
  WideInteger() = default;
  explicit WideInteger(unsigned __int128 value)
      : limbs_{static_cast<uint64_t>(value), static_cast<uint64_t>(value >> 64)} {
    Trim();
  }
  // Makes the number of `n` limbs in two's complement, the lowest first.
  static WideInteger FromLimbs(const uint64_t* limbs, size_t n, bool is_signed) {
    WideInteger number;
    number.limbs_.assign(limbs, limbs + n);
    if (is_signed && n > 0 && limbs[n - 1] >> 63 != 0) {
      number.negative_ = true;
      bool carry = true;
      for (uint64_t& limb : number.limbs_) {
        limb = ~limb + (carry ? 1 : 0);
        carry = carry && limb == 0;
      }
    }
    number.Trim();
    return number;
  }

  // Makes the number of a finite double in units of 2^-kDoubleShift, which is exact.
  static constexpr int kDoubleShift = 1074;
  static WideInteger FromDouble(double value) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
    int shift = exponent - 53 + kDoubleShift;
    if (shift < 0) {  // a subnormal number has fewer bits
      mantissa >>= -shift;
      shift = 0;
    }
    WideInteger number = WideInteger(mantissa).ShiftedLeft(static_cast<unsigned>(shift));
    if (value < 0) number.Negate();
    return number;
  }

  bool zero() const { return limbs_.empty(); }

  // Returns false if the number does not fit.
  bool To128(__int128* value) const {
    if (limbs_.size() > 2) return false;
    unsigned __int128 magnitude = limbs_.empty() ? 0 : limbs_[0];
    if (limbs_.size() == 2) magnitude |= static_cast<unsigned __int128>(limbs_[1]) << 64;
    if (magnitude >> 127 != 0) return false;
    *value = negative_ ? -static_cast<__int128>(magnitude) : static_cast<__int128>(magnitude);
    return true;
  }

  WideInteger& Negate() {
    negative_ = !negative_ && !zero();
    return *this;
  }

  WideInteger& Add(const WideInteger& other) {
    if (negative_ == other.negative_) {
      AddMagnitude(other);
    } else if (CompareMagnitude(other) >= 0) {
      SubtractMagnitude(other);
    } else {
      WideInteger larger = other;
      larger.SubtractMagnitude(*this);
      *this = std::move(larger);
    }
    return *this;
  }

  WideInteger Times(const WideInteger& other) const {
    WideInteger product;
    product.limbs_.assign(limbs_.size() + other.limbs_.size(), 0);
    for (size_t i = 0; i < limbs_.size(); ++i) {
      uint64_t carry = 0;
      for (size_t j = 0; j < other.limbs_.size(); ++j) {
        const unsigned __int128 sum =
            static_cast<unsigned __int128>(limbs_[i]) * other.limbs_[j] + product.limbs_[i + j] + carry;
        product.limbs_[i + j] = static_cast<uint64_t>(sum);
        carry = static_cast<uint64_t>(sum >> 64);
      }
      product.limbs_[i + other.limbs_.size()] = carry;
    }
    product.negative_ = negative_ != other.negative_;
    product.Trim();
    return product;
  }

  WideInteger ShiftedLeft(unsigned bits) const {
    WideInteger shifted;
    const unsigned limbs = bits / 64, rest = bits % 64;
    shifted.limbs_.assign(limbs_.size() + limbs + 1, 0);
    for (size_t i = 0; i < limbs_.size(); ++i) {
      shifted.limbs_[i + limbs] |= limbs_[i] << rest;
      if (rest != 0) shifted.limbs_[i + limbs + 1] = limbs_[i] >> (64 - rest);
    }
    shifted.negative_ = negative_;
    shifted.Trim();
    return shifted;
  }

  // Returns the number times 2^exponent. The magnitude is rounded down to 64 bits first.
  long double Scaled(int exponent) const {
    if (zero()) return 0;
    const size_t top = limbs_.size() - 1;
    const int unused = __builtin_clzll(limbs_[top]);
    uint64_t bits = limbs_[top] << unused;
    if (unused != 0 && top > 0) bits |= limbs_[top - 1] >> (64 - unused);
    const long double value =
        std::ldexp(static_cast<long double>(bits), static_cast<int>(64 * top) - unused + exponent);
    return negative_ ? -value : value;
  }

  void Encode(std::string* out) const {
    sdk::AppendVarint(limbs_.size() * 2 + (negative_ ? 1 : 0), out);
    out->append(reinterpret_cast<const char*>(limbs_.data()), limbs_.size() * sizeof(uint64_t));
  }
  static WideInteger Decode(std::string_view* in) {
    WideInteger number;
    const uint64_t head = sdk::TakeVarint(in);
    const std::string_view bytes = sdk::Take(in, head / 2 * sizeof(uint64_t), "a wide integer");
    number.limbs_.resize(head / 2);
    if (!bytes.empty()) std::memcpy(number.limbs_.data(), bytes.data(), bytes.size());
    number.negative_ = head % 2 != 0;
    return number;
  }

 private:
  void Trim() {
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
    if (limbs_.empty()) negative_ = false;
  }
  int CompareMagnitude(const WideInteger& other) const {
    if (limbs_.size() != other.limbs_.size()) return limbs_.size() < other.limbs_.size() ? -1 : 1;
    for (size_t i = limbs_.size(); i-- > 0;) {
      if (limbs_[i] != other.limbs_[i]) return limbs_[i] < other.limbs_[i] ? -1 : 1;
    }
    return 0;
  }
  void AddMagnitude(const WideInteger& other) {
    if (limbs_.size() < other.limbs_.size()) limbs_.resize(other.limbs_.size(), 0);
    bool carry = false;
    for (size_t i = 0; i < limbs_.size(); ++i) {
      const unsigned __int128 sum =
          static_cast<unsigned __int128>(limbs_[i]) + (i < other.limbs_.size() ? other.limbs_[i] : 0) + (carry ? 1 : 0);
      limbs_[i] = static_cast<uint64_t>(sum);
      carry = sum >> 64 != 0;
    }
    if (carry) limbs_.push_back(1);
  }
  // Requires: the other magnitude is not larger.
  void SubtractMagnitude(const WideInteger& other) {
    bool borrow = false;
    for (size_t i = 0; i < limbs_.size(); ++i) {
      const uint64_t less = i < other.limbs_.size() ? other.limbs_[i] : 0;
      const uint64_t was = limbs_[i];
      limbs_[i] = was - less - (borrow ? 1 : 0);
      borrow = was < less || (was == less && borrow);
    }
    Trim();
  }

  bool negative_ = false;
  std::vector<uint64_t> limbs_;  // of the magnitude, the lowest first, without zeros at the end
};

}  // namespace mr::builtin
