// Chance for the pure cores: named streams derived from one seed, so that one more user of chance
// does not shift the draws of another. Draws are our own, since the library's distributions differ
// between implementations.
#pragma once

#include <cstdint>
#include <string_view>

namespace mr {

// splitmix64-seeded xoshiro256**. Value type: a copy continues from the same point.
class Rng {
 public:
  explicit Rng(uint64_t seed);
  // The stream `name` of the run with this seed.
  static Rng Stream(uint64_t seed, std::string_view name);

  uint64_t Next();
  // Uniform in [0, bound); bound > 0. No modulo bias.
  uint64_t Below(uint64_t bound);
  // Uniform in [0, 1).
  double Uniform();
  // Exponential with this mean.
  double Exponential(double mean);
  // Pareto with minimum xm > 0 and shape alpha > 0.
  double Pareto(double xm, double alpha);

 private:
  uint64_t s_[4];
};

}  // namespace mr
