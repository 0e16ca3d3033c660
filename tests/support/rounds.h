// Length and seed of a test that uses chance. Default: short; MR_LONG=1: as long as a release requires. MR_ROUNDS=N and
// MR_SEED=N set both.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace mr::test {

inline bool Long() { return std::getenv("MR_LONG") != nullptr; }

inline int Rounds(int short_rounds, int long_rounds) {
  if (const char* rounds = std::getenv("MR_ROUNDS")) return std::atoi(rounds);
  return Long() ? long_rounds : short_rounds;
}

inline uint64_t Seed(uint64_t otherwise = 22) {
  const char* seed = std::getenv("MR_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 10) : otherwise;
}

}  // namespace mr::test
