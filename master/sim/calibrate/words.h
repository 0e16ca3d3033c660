// Numbers in the sentences of a fit.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/text.h"

namespace mr::sim {

// Returns "1 pair", "12,000 pairs".
inline std::string Counted(uint64_t n, const std::string& what) {
  return Grouped(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace mr::sim
