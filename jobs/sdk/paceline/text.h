// Splits text into lines and words, 64 bytes at a time where the processor has SSE2.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mr {

namespace sdk {

// The place where the host of the operator looks for the current line after a crash (mr_host::at), or null. A Context
// sets it for its thread: lines that other threads of the operator split are not its place.
inline thread_local const char** line_at = nullptr;

}  // namespace sdk

// Calls f(line) for each line, without its newline. The last line may lack it. A CR stays in the line. Of a BlockMapper
// that works so, a crash names the line.
template <class F>
void ForEachLine(std::string_view text, F&& f) {
  const char** const line_at = sdk::line_at;
  // The key of a group, or the line of an outer call, is the better place.
  const bool names = line_at != nullptr && __atomic_load_n(line_at, __ATOMIC_RELAXED) == nullptr;
  while (!text.empty()) {
    if (names) __atomic_store_n(line_at, text.data(), __ATOMIC_RELAXED);
    const auto* end = static_cast<const char*>(std::memchr(text.data(), '\n', text.size()));
    const size_t length = end == nullptr ? text.size() : static_cast<size_t>(end - text.data());
    f(text.substr(0, length));
    text.remove_prefix(end == nullptr ? length : length + 1);
  }
  // Not after an exception: the host asks for the line that threw it.
  if (names) __atomic_store_n(line_at, nullptr, __ATOMIC_RELAXED);
}

// Returns whether c is ASCII white space: space, \t \n \v \f \r.
inline bool IsSpace(char c) { return c == ' ' || static_cast<unsigned char>(c - '\t') <= 4; }

namespace sdk {

// Returns a mask of 64 bytes: bit i is set if p[i] is white space.
inline uint64_t SpaceMask64(const char* p) {
#if defined(__SSE2__)
  const __m128i space = _mm_set1_epi8(' ');
  const __m128i tab = _mm_set1_epi8('\t');
  const __m128i four = _mm_set1_epi8(4);
  uint64_t mask = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    const __m128i control = _mm_sub_epi8(v, tab);
    const __m128i is = _mm_or_si128(_mm_cmpeq_epi8(v, space), _mm_cmpeq_epi8(_mm_min_epu8(control, four), control));
    mask |= uint64_t(static_cast<uint32_t>(_mm_movemask_epi8(is))) << (16 * i);
  }
  return mask;
#else
  uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) mask |= uint64_t{IsSpace(p[i])} << i;
  return mask;
#endif
}

}  // namespace sdk

// Calls f(word) for each maximal run of bytes that are not ASCII white space.
template <class F>
void ForEachWord(std::string_view text, F&& f) {
  const char* const data = text.data();
  const size_t size = text.size();
  size_t at = 0;
  size_t start = 0;
  bool inside = false;  // a word began at `start`
  for (; at + 64 <= size; at += 64) {
    const uint64_t space = sdk::SpaceMask64(data + at);
    // Bit i: byte i differs in kind from the byte before, so a word begins or ends there.
    uint64_t borders = space ^ (space << 1 | (inside ? 0u : 1u));
    while (borders != 0) {
      const size_t i = at + static_cast<size_t>(__builtin_ctzll(borders));
      borders &= borders - 1;
      if (inside) {
        f(std::string_view(data + start, i - start));
      } else {
        start = i;
      }
      inside = !inside;
    }
  }
  for (; at < size; ++at) {
    if (IsSpace(data[at]) != inside) continue;
    if (inside) {
      f(std::string_view(data + start, at - start));
    } else {
      start = at;
    }
    inside = !inside;
  }
  if (inside) f(std::string_view(data + start, size - start));
}

}  // namespace mr
