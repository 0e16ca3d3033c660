// Which keys weigh most in what one port gives to the shuffle, for people whose tasks wait for the one that has such a
// key: told with the task's result, and no part of its output. It sees chunks as they leave, after combining, and looks
// at one record in about 8 KiB, so that its cost is at most some 128 short keys for each MiB. Which records depends on
// the output alone: equal outputs have equal hot keys.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/hot_keys.h"
#include "common/base/rng.h"

namespace mr::task {

class KeySampler {
 public:
  // What a record that is looked at stands for (guess: 2,048 of them in the 16 MiB below which nobody cares).
  static constexpr uint64_t kSampleBytes = 8u << 10;
  // Below so many samples a key's share says nothing, and is not told: outputs under 128 KiB (guess).
  static constexpr uint64_t kLeastSamples = 16;
  static constexpr size_t kMostKeys = 8;
  // Lighter keys are not told: nobody's task is slow for a 32nd of one output (guess).
  static constexpr uint64_t kLeastShare = 32;

  // With one partition nothing is kept: no key goes where others do not.
  KeySampler(uint32_t port, uint32_t partitions);

  // One chunk, a batch of this process's own making. partition: over all ports.
  void Add(uint32_t partition, uint32_t records, std::string_view batch);
  // The heaviest, as they would be in all of the port's output.
  std::vector<HotKey> Top() const;

 private:
  uint32_t port_;
  bool on_;
  Rng rng_{1};                        // gaps vary, so that no period in the data meets one of ours
  uint64_t gap_ = 0;                  // bytes up to the next record to look at
  uint64_t records_ = 0, bytes_ = 0;  // of all chunks
  uint64_t samples_ = 0, sampled_records_ = 0, sampled_bytes_ = 0;  // the latter two: that they stand for
  HotKeys keys_;
};

}  // namespace mr::task
