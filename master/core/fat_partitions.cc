#include "master/core/fat_partitions.h"

#include <algorithm>

namespace mr::master {
namespace {

uint64_t BytesOf(const SizedInput& input, uint32_t partition) {
  uint64_t bytes = 0;
  for (const auto& task : input.bytes) bytes += task[partition];
  return bytes;
}

// The lower one of two.
uint64_t Median(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<long>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Cuts one partition of `input` into ranges of upstream tasks with about `target` bytes each.
std::vector<Piece> Cut(const SizedInput& input, uint32_t partition, uint64_t target, uint64_t beside) {
  std::vector<Piece> pieces;
  uint64_t bytes = 0;
  uint32_t begin = 0;
  const auto tasks = static_cast<uint32_t>(input.bytes.size());
  for (uint32_t t = 0; t < tasks; ++t) {
    // The next task's share belongs to whichever side it leaves nearer to the target.
    const uint64_t share = input.bytes[t][partition];
    if (bytes > 0 && bytes + share / 2 > target) {
      pieces.push_back({partition, bytes + beside, true, input.input, begin, t});
      begin = t;
      bytes = 0;
    }
    bytes += share;
  }
  pieces.push_back({partition, bytes + beside, true, input.input, begin, tasks});
  return pieces;
}

}  // namespace

std::vector<Piece> CutFatPartitions(const std::vector<SizedInput>& inputs, uint32_t partitions, uint64_t fat_bytes,
                                    uint32_t most) {
  std::vector<uint64_t> all(partitions, 0);
  for (const SizedInput& input : inputs) {
    for (uint32_t p = 0; p < partitions; ++p) all[p] += BytesOf(input, p);
  }
  const uint64_t median = Median(all);
  std::vector<Piece> pieces;
  for (uint32_t p = 0; p < partitions; ++p) {
    const Piece whole{p, all[p], false, 0, 0, 0};
    const SizedInput* fattest = nullptr;
    for (const SizedInput& input : inputs) {
      if (input.splits && (fattest == nullptr || BytesOf(input, p) > BytesOf(*fattest, p))) fattest = &input;
    }
    if (fattest == nullptr || all[p] <= fat_bytes || all[p] / kFatFactor < median) {
      pieces.push_back(whole);
      continue;
    }
    const uint64_t beside = all[p] - BytesOf(*fattest, p);
    auto cut = Cut(*fattest, p, std::max({fat_bytes / 2, median, beside}), beside);
    // Each of the remaining partitions needs a task.
    if (cut.size() == 1 || pieces.size() + cut.size() + (partitions - p - 1) > most) {
      pieces.push_back(whole);
    } else {
      pieces.insert(pieces.end(), cut.begin(), cut.end());
    }
  }
  return pieces;
}

}  // namespace mr::master
