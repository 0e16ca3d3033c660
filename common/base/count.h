// Counts in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/text.h"

namespace mr {

// Returns "1 job" or "12,000 jobs". many: the words for all numbers but 1, where they are not `one` with an "s":
// CountOf(2, "job is left", "jobs are left").
inline std::string CountOf(uint64_t n, std::string_view one, std::string_view many = "") {
  std::string text = Grouped(n) + " ";
  if (n == 1) return text += one;
  return many.empty() ? text.append(one) += "s" : text += many;
}

}  // namespace mr
