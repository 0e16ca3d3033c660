// Where a block's replicas go. A pure function of the candidates and a seed.
#pragma once

#include <string>
#include <vector>

#include "common/base/ids.h"

namespace mr::dfs {

struct Candidate {
  WorkerId worker;
  std::string rack;
  uint64_t used_bytes = 0;   // with what is being written there
  bool full = false;         // has no room for the block
  bool last_resort = false;  // only where nothing else is left
};

// Up to `count` more workers for a block that is on `held` already (in the order in which they were
// chosen), the writer's own worker first where it is a candidate and nothing is held.
// `candidates` has none of `held`; racks of `held` are given beside them. seed: of the block.
struct PlacementRequest {
  std::vector<Candidate> candidates;
  std::vector<Candidate> held;
  WorkerId writer;  // not valid: the writer is no worker
  size_t count = 3;
  uint64_t seed = 0;
};
std::vector<WorkerId> Place(const PlacementRequest& request);

}  // namespace mr::dfs
