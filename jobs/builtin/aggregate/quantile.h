// A quantile of numbers that arrive in ascending order. It interpolates linearly between the two nearest ranks, like
// numpy.quantile and DuckDB's quantile_cont.
#pragma once

#include <cstdint>
#include <string>

#include "jobs/expressions/decimal.h"

namespace mr::builtin {

using expr::Decimal;

class Quantile {
 public:
  // count: of all numbers. rank: from 0 to kRankUnits (measure.h).
  Quantile(uint64_t count, uint32_t rank);
  // Adds a number with its multiplicity. Requires: no number before it is larger.
  void Add(const Decimal& number, uint64_t times);
  // Returns the quantile, or "" for no numbers. It is exact to 18 digits after the point if its two numbers are.
  std::string Text() const;

 private:
  uint64_t count_, first_ = 0, seen_ = 0;  // first_: index of the lower number, from 0
  uint32_t part_ = 0;                      // of the way from the lower to the upper number, in units of 1/kRankUnits
  Decimal lower_, upper_;
};

}  // namespace mr::builtin
