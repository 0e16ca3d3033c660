// Chooses the workers of a block's replicas. A pure function of the candidates and a seed.
#pragma once

#include <string>
#include <vector>

#include "common/base/ids.h"

namespace mr::dfs {

struct Candidate {
  WorkerId worker;
  std::string rack;
  uint64_t used_bytes = 0;   // including blocks being written there
  bool full = false;         // has no space for the block
  bool last_resort = false;  // used only if no other candidate is left
};

// Chooses up to `count` more workers for a block that `held` have already. The writer's own worker is first if it is a
// candidate and `held` is empty. Requires: `held` lists workers in the order in which they were chosen, with their
// racks; `candidates` has none of them. seed: derived from the block.
struct PlacementRequest {
  std::vector<Candidate> candidates;
  std::vector<Candidate> held;
  WorkerId writer;  // not valid: the writer is no worker
  size_t count = 3;
  uint64_t seed = 0;
};
std::vector<WorkerId> Place(const PlacementRequest& request);

}  // namespace mr::dfs
