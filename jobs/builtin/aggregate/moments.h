// Sums and sums of squares of a group's numbers, for variance and stddev. Both sums are exact, so the result does not
// depend on the order in which parts are added, and it is right where the numbers are large and close together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jobs/expressions/decimal.h"

namespace mr::builtin {

using expr::Decimal;

// The parts of the sums are kept as bytes: those of exact decimals first, with a fixed length, then those of doubles.
// The count of numbers is kept by the caller.
class Moments {
 public:
  // Adds a number. *bytes: the sums; empty: none.
  static void Add(const Decimal& number, std::string* bytes);
  // Adds the sums `other` to *bytes.
  static void Merge(std::string_view other, std::string* bytes);

  // Returns the sum of squared differences from the mean, divided by `divisor`. Its relative error is below 1e-15.
  // root: its square root. Requires: count is the number of numbers that were added, and not 0.
  static double Variance(std::string_view bytes, uint64_t count, uint64_t divisor, bool root);
};

}  // namespace mr::builtin
