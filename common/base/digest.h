// Digests that are the same on every machine: XXH3, by the header-only xxHash.
#pragma once

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include <compare>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace mr {

struct Digest128 {
  uint64_t low = 0;
  uint64_t high = 0;
  auto operator<=>(const Digest128&) const = default;
  // Returns 32 hexadecimal digits, high half first.
  std::string Hex() const {
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(high),
                  static_cast<unsigned long long>(low));
    return text;
  }
};

inline uint64_t Hash64(std::string_view bytes, uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

inline Digest128 Hash128(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.low64, h.high64};
}

// Mixes one more 64-bit word into a running 64-bit hash; order matters.
inline uint64_t MixHash(uint64_t hash, uint64_t word) {
  hash ^= word + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93ULL;
  hash ^= hash >> 32;
  return hash;
}

// A running XXH3-128 over a stream of bytes. The digest does not depend on how the bytes are split into Update calls.
class Hasher128 {
 public:
  Hasher128() { XXH3_128bits_reset(&state_); }
  void Update(std::string_view bytes) { XXH3_128bits_update(&state_, bytes.data(), bytes.size()); }
  void Update(const void* data, size_t size) { XXH3_128bits_update(&state_, data, size); }
  Digest128 Finish() const {
    const XXH128_hash_t h = XXH3_128bits_digest(&state_);
    return {h.low64, h.high64};
  }

 private:
  XXH3_state_t state_;
};

}  // namespace mr
