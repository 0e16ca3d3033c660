// Samples the hot keys of one port's output to the shuffle, so that users can see which keys slow their tasks. They are
// reported with the task's result, and are no part of its output.
//
// It sees chunks as they leave, after combining, and samples one record per 8 KiB or so. So it costs at most some 128
// short keys per MiB. The sample depends on the output alone: equal outputs have equal hot keys.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/hot_keys.h"
#include "common/base/rng.h"

namespace mr::task {

class KeySampler {
 public:
  // Bytes of output per sampled record (guess: 2,048 samples in 16 MiB, and skew of smaller outputs does not matter).
  static constexpr uint64_t kSampleBytes = 8u << 10;
  // With fewer samples a key's share is not significant, and is not reported: outputs under 128 KiB (guess).
  static constexpr uint64_t kLeastSamples = 16;
  static constexpr size_t kMostKeys = 8;
  // Keys with less than a 32nd of the output are not reported, because they slow no task (guess).
  static constexpr uint64_t kLeastShare = 32;

  // With one partition it samples nothing, because all keys go to the same task.
  KeySampler(uint32_t port, uint32_t partitions);

  // Samples one chunk. Requires: this process made the batch. partition: over all ports.
  void Add(uint32_t partition, uint32_t records, std::string_view batch);
  // Returns the hottest keys, scaled to all of the port's output.
  std::vector<HotKey> Top() const;

 private:
  uint32_t port_;
  bool on_;
  Rng rng_{1};                        // gaps vary, so that samples do not align with a period in the data
  uint64_t gap_ = 0;                  // bytes up to the next sample
  uint64_t records_ = 0, bytes_ = 0;  // of all chunks
  uint64_t samples_ = 0, sampled_records_ = 0, sampled_bytes_ = 0;  // the latter two: totals that the samples stand for
  HotKeys keys_;
};

}  // namespace mr::task
