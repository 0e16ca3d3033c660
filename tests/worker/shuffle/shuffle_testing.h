// Shared by the tests of the shuffle: a temporary directory, outputs made from a seed, storing one.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

#include "common/abi/batch.h"
#include "common/base/check.h"
#include "common/base/rng.h"
#include "common/io/files.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern = testing::TempDir() + "/shuffle_XXXXXX";
    MR_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TempDirectory() { (void)RemoveTree(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline ReplicaKey Replica(uint32_t job, uint32_t task) { return {{{1, job}, 0, task}, 1}; }

using TestOutput = std::vector<std::vector<std::string>>;  // batches of each partition

// Deterministic. A batch has `records` records of a word and a number; value_bytes pads values
// with bytes that do not compress. Every third partition is empty where there is more than one.
TestOutput MakeOutput(uint64_t seed, uint32_t partitions, uint32_t batches, uint32_t records, uint32_t value_bytes = 0);

inline uint32_t RecordsOf(const std::string& batch) {
  BatchView view;
  MR_CHECK(BatchView::Parse(batch.data(), batch.size(), &view) == nullptr);
  return view.size();
}

std::vector<PartitionRow> StoreOutput(ShuffleStore& store, const ReplicaKey& key, const TestOutput& output);

}  // namespace mr::worker
