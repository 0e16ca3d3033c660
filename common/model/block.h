// Blocks of the block store, as records and messages name them.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.h"

namespace mr {

// Identity and content of one block. digest: XXH3-64 of all its bytes.
struct BlockRef {
  BlockId id;
  uint32_t generation = 1;
  uint64_t length = 0;  // bytes
  uint64_t digest = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&BlockRef::id, &BlockRef::generation, &BlockRef::length, &BlockRef::digest);
  }
  bool operator==(const BlockRef&) const = default;
};

// A block that its writer has finished, with the workers that acknowledged it as durable.
struct StagedBlock {
  BlockRef block;
  std::vector<WorkerId> workers;
  template <class V>
  static void Fields(V&& v) {
    v(&StagedBlock::block, &StagedBlock::workers);
  }
  bool operator==(const StagedBlock&) const = default;
};

// A damaged replica of a block on a worker. aside: a good replica has taken its place there.
struct DamagedBlock {
  BlockRef block;
  bool aside = false;
};

}  // namespace mr
