// The first 16 bytes of a word, as a key that is compared and hashed without branches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "paceline/hash.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mr::builtin {

// Bytes are stored XOR a blank. No byte of a word is a blank, so zeros stand only behind its end: keys of words of up
// to 16 bytes are equal if the words are, and no word has the key of zeros.
class WordKey {
 public:
  static constexpr size_t kBytes = 16;

  WordKey() = default;
  // Requires: n <= kBytes, and readable bytes [word, word + kBytes).
  WordKey(const char* word, size_t n) {
    // Ones for the bytes of a word of n: kMask[16 - n .. 32 - n).
    static constexpr auto kMask = [] {
      std::array<uint8_t, 2 * kBytes> mask{};
      for (size_t i = 0; i < kBytes; ++i) mask[i] = 0xff;
      return mask;
    }();
    const auto* mask = reinterpret_cast<const char*>(kMask.data()) + kBytes - n;
#if defined(__SSE2__)
    const auto load = [](const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
    bytes_ = _mm_and_si128(load(mask), _mm_xor_si128(_mm_set1_epi8(' '), load(word)));
#else
    low_ = (sdk::Load64(word) ^ kBlanks) & sdk::Load64(mask);
    high_ = (sdk::Load64(word + 8) ^ kBlanks) & sdk::Load64(mask + 8);
#endif
  }
  // Returns the key of a longer word: its hash, and white space, which no other key has.
  static WordKey OfLong(const char* word, size_t n) {
    uint64_t low = n;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) low = sdk::MixBits(low ^ sdk::Load64(word + i), 0xa0761d6478bd642f);
    low = sdk::MixBits(low ^ sdk::Load64(word + n - 8), 0xe7037ed1a0b428db);
    const uint64_t halves[2] = {low, kTabs ^ kBlanks};
    WordKey key;
    std::memcpy(&key, halves, sizeof halves);
    return key;
  }

  bool operator==(const WordKey& other) const {
#if defined(__SSE2__)
    return _mm_movemask_epi8(_mm_cmpeq_epi8(bytes_, other.bytes_)) == 0xffff;
#else
    return low_ == other.low_ && high_ == other.high_;
#endif
  }
  uint64_t hash() const { return sdk::MixBits(low() ^ 0x9e3779b97f4a7c15, high() ^ 0xd6e8feb86659fd93); }
  // Writes the bytes of a word that is not long, and blanks behind it.
  void Write(char (&to)[kBytes]) const {
    const uint64_t halves[2] = {low() ^ kBlanks, high() ^ kBlanks};
    std::memcpy(to, halves, sizeof halves);
  }

 private:
  static constexpr uint64_t kBlanks = 0x2020202020202020, kTabs = 0x0909090909090909;

#if defined(__SSE2__)
  uint64_t low() const { return static_cast<uint64_t>(_mm_cvtsi128_si64(bytes_)); }
  uint64_t high() const { return static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(bytes_, bytes_))); }
  __m128i bytes_;
#else
  uint64_t low() const { return low_; }
  uint64_t high() const { return high_; }
  uint64_t low_, high_;
#endif
};

}  // namespace mr::builtin
