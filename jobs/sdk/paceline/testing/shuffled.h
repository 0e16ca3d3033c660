// Partitions and combines the records of a shuffle port in a LocalJob.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "paceline/testing/test_host.h"
#include "paceline/testing/variation.h"

namespace mr::sdk {

// Returns the FNV-1a hash. A cluster uses another hash.
inline uint32_t PartitionHash(std::string_view key) {
  uint32_t h = 2166136261u;
  for (const char c : key) h = (h ^ static_cast<uint8_t>(c)) * 16777619u;
  return h;
}

// Combines sorted records of port `p` in groups of `step` records, or of about `step` with dice.
inline TestRecords Combined(uint32_t p, const TestRecords& records, uint64_t step, Dice* dice, TestTask* task) {
  TestRecords combined;
  size_t end = 0;
  for (size_t i = 0; i < records.size(); i = end) {
    end = std::min<size_t>(i + (dice != nullptr ? dice->Around(step) : step), records.size());
    const auto from = records.begin() + static_cast<ptrdiff_t>(i), to = records.begin() + static_cast<ptrdiff_t>(end);
    for (auto& r : task->Combine(p, TestRecords(from, to))) combined.push_back(std::move(r));
  }
  return combined;
}

}  // namespace mr::sdk
