// Random numbers for the pure cores: named streams derived from one seed, so that a new user of random numbers does not
// change the draws of the others. The distributions are our own, because those of the standard library differ between
// implementations.
#pragma once

#include <cstdint>
#include <string_view>

namespace mr {

// A xoshiro256** generator, seeded by splitmix64. Value type: a copy continues from the same point.
class Rng {
 public:
  explicit Rng(uint64_t seed);
  // Returns the stream `name` of the run with this seed.
  static Rng Stream(uint64_t seed, std::string_view name);

  uint64_t Next();
  // Returns a uniform number in [0, bound), without modulo bias. Requires: bound > 0.
  uint64_t Below(uint64_t bound);
  // Returns a uniform number in [0, 1).
  double Uniform();
  // Draws from the exponential distribution with this mean.
  double Exponential(double mean);
  // Draws from the Pareto distribution with minimum xm and shape alpha. Requires: both > 0.
  double Pareto(double xm, double alpha);

 private:
  uint64_t s_[4];
};

}  // namespace mr
