// The hash of the jobs' own tables. Fast, and valid within one process only: partitions do not depend on it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace mr::builtin {

inline uint64_t Mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t HashBytes(std::string_view key) {
  uint64_t hash = key.size() * 0x9e3779b97f4a7c15;
  size_t i = 0;
  for (uint64_t word; i + 8 <= key.size(); i += 8) {
    std::memcpy(&word, key.data() + i, 8);
    hash = Mix(hash ^ word, 0xa0761d6478bd642f);
  }
  uint64_t tail = 0;
  std::memcpy(&tail, key.data() + i, key.size() - i);
  return Mix(hash ^ tail, 0xe7037ed1a0b428db);
}

}  // namespace mr::builtin
