// Where the records of CSV end: at newlines that stand outside of quotes. Every quote opens or closes (a doubled one
// within a field does both), so the state at any place follows from the number of quotes before it: which is what
// lets a file be read in splits. 64 bytes at a time where the processor has SSE2. The SDK includes it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mr {

// Bit i is set if p[i] == c, for 64 bytes.
inline uint64_t EqualMask64(const char* p, char c) {
  uint64_t mask = 0;
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(c);
  for (int i = 0; i < 4; ++i) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    mask |= uint64_t(static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(v, wanted)))) << (16 * i);
  }
#else
  for (int i = 0; i < 64; ++i) mask |= uint64_t{p[i] == c} << i;
#endif
  return mask;
}

// Bit i: whether bits 0 to i hold an odd number of ones.
inline uint64_t PrefixParity(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// f(end): the index behind each newline of `text` that ends a record, in order; false ends the walk. *quoted: at the
// start of the text, and afterwards at its end (or behind the last newline told).
template <class F>
void ForEachCsvEnd(std::string_view text, bool* quoted, F&& f) {
  const char* const data = text.data();
  const size_t size = text.size();
  for (size_t at = 0; at < size; at += 64) {
    char padded[64];
    const char* p = data + at;
    if (size - at < 64) {
      std::memset(padded, 0, sizeof padded);
      std::memcpy(padded, p, size - at);
      p = padded;
    }
    const uint64_t quotes = EqualMask64(p, '"');
    const uint64_t inside = PrefixParity(quotes) ^ (*quoted ? ~uint64_t{0} : 0);
    for (uint64_t ends = EqualMask64(p, '\n') & ~inside; ends != 0; ends &= ends - 1) {
      if (f(at + static_cast<size_t>(__builtin_ctzll(ends)) + 1)) continue;
      *quoted = false;
      return;
    }
    *quoted = (inside >> 63) != 0;
  }
}

// f(record) for each record of a text that begins with one, without its newline; the last one may lack it. A CR stays.
template <class F>
void ForEachCsvRecord(std::string_view text, F&& f) {
  size_t from = 0;
  bool quoted = false;
  ForEachCsvEnd(text, &quoted, [&](size_t end) {
    f(text.substr(from, end - 1 - from));
    from = end;
    return true;
  });
  if (from < text.size()) f(text.substr(from));
}

}  // namespace mr
