// Divides partitions of a stage that reads an input in parts (JobPlan::Stage::ReadInParts) among tasks. One task reads
// the whole partition, or several tasks each read the records of some upstream tasks. The engine does so for large
// partitions.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "paceline/testing/variation.h"

namespace mr::sdk {

// The records of one task. whole: the whole partition; else of input `input` only upstream tasks [begin, end).
struct Share {
  uint32_t partition = 0;
  bool whole = true;
  uint32_t input = 0, begin = 0, end = 0;
};

// Returns random shares. inputs: number and upstream tasks of each input that may be read in parts; at least one.
inline std::vector<Share> RollShares(Dice dice, uint32_t partitions,
                                     const std::vector<std::pair<uint32_t, uint32_t>>& inputs) {
  std::vector<Share> shares;
  for (uint32_t p = 0; p < partitions; ++p) {
    const auto [input, tasks] = inputs[dice.Below(inputs.size())];
    if (tasks < 2 || dice.Below(3) == 0) {
      shares.push_back({p, true, 0, 0, 0});
      continue;
    }
    for (uint32_t begin = 0, end; begin < tasks; begin = end) {
      end = begin + 1 + static_cast<uint32_t>(dice.Below(tasks - begin));
      shares.push_back({p, false, input, begin, end});
    }
  }
  return shares;
}

}  // namespace mr::sdk
