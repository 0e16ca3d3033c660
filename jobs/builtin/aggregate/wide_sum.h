// The part of a sum that a Decimal cannot hold exactly: doubles, and what exceeds 1e20. It is exact, so that the sum
// does not depend on the order in which parts are added. It is slow, and rarely needed.
#pragma once

#include <string>
#include <string_view>

#include "jobs/expressions/decimal.h"

namespace mr::builtin {

using expr::Decimal;

// The part is kept as bytes; empty: nothing.
class WideSum {
 public:
  // Adds a number to *sum, which is exact, or else to *bytes.
  static void Add(const Decimal& number, Decimal* sum, std::string* bytes) {
    if (!sum->TryAdd(number)) AddWide(number, bytes);
  }
  // Adds the part `other` to *bytes.
  static void Merge(std::string_view other, std::string* bytes);
  // Returns the sum of both parts: exact if there are no doubles and it fits, else the nearest double, about.
  static Decimal Total(const Decimal& sum, std::string_view bytes);

 private:
  static void AddWide(const Decimal& number, std::string* bytes);
};

}  // namespace mr::builtin
