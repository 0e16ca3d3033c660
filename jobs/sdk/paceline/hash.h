// The hash of tables within one process, and short loads of key bytes. Partitions do not depend on it (they are
// XXH3-64), so it may change with any build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mr::sdk {

inline uint64_t Load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Returns n bytes as a number, the first byte lowest. Requires: n <= 8. A memcpy of n bytes would be a call.
inline uint64_t LoadShort(const char* p, size_t n) {
  if (n == 8) return Load64(p);
  if (n >= 4) {
    uint32_t first, last;  // they overlap
    std::memcpy(&first, p, 4);
    std::memcpy(&last, p + n - 4, 4);
    return first | uint64_t{last} << (8 * (n - 4));
  }
  uint64_t v = 0;
  for (size_t i = 0; i < n; ++i) v |= uint64_t{static_cast<uint8_t>(p[i])} << (8 * i);
  return v;
}

// Returns the first 8 bytes from `from` on as a big-endian number, padded with zeros: it agrees with memcmp.
inline uint64_t KeyPrefix(std::string_view key, size_t from = 0) {
  if (key.size() <= from) return 0;
  const size_t n = key.size() - from < 8 ? key.size() - from : 8;
  return __builtin_bswap64(LoadShort(key.data() + from, n));
}

// Compares like ==, without a call for short keys.
inline bool EqualBytes(std::string_view a, std::string_view b) {
  const size_t n = a.size();
  if (n != b.size()) return false;
  if (n <= 8) return LoadShort(a.data(), n) == LoadShort(b.data(), n);
  if (n > 16) return std::memcmp(a.data(), b.data(), n) == 0;
  return Load64(a.data()) == Load64(b.data()) && Load64(a.data() + n - 8) == Load64(b.data() + n - 8);
}

inline uint64_t MixBits(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Multiply and fold, as in wyhash (its constants).
inline uint64_t HashBytes(std::string_view key) {
  constexpr uint64_t kFirst = 0xa0761d6478bd642f, kLast = 0xe7037ed1a0b428db, kSize = 0x8ebc6af09c88c6e3;
  const char* p = key.data();
  const size_t n = key.size();
  if (n <= 8) return MixBits(LoadShort(p, n) ^ kFirst, kLast ^ n * kSize);
  uint64_t hash = n * kSize;
  for (size_t i = 0; i + 16 < n; i += 16) hash = MixBits(Load64(p + i) ^ kFirst ^ hash, Load64(p + i + 8) ^ kLast);
  const char* const tail = n < 16 ? p : p + n - 16;  // the last 16 bytes, or all
  return MixBits(Load64(tail) ^ kFirst ^ hash, Load64(p + n - 8) ^ kLast);
}

}  // namespace mr::sdk
