// The blocks that still keep a draining worker from being stopped. A pure function of the namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mr::dfs {

// The blocks of one worker, as if that worker were stopped. A block is *left* while fewer than max(1, min(W, K)) good,
// placed replicas are on other workers that take blocks. W: replicas that its file wants; K: the number of such
// workers.
struct DrainBlocks {
  uint64_t blocks = 0, bytes = 0;            // replicas on the worker
  uint64_t left_blocks = 0, left_bytes = 0;  // the part of them that is left
  // Left blocks by the reason of their wait. The rest wait for their turn.
  uint64_t copying = 0;         // a copy is under way
  uint64_t without_worker = 0;  // no other worker takes blocks
  uint64_t without_room = 0;    // each other worker that lacks a replica is full
  uint64_t failing = 0;         // copies failed, and are retried later
  uint64_t damaged = 0;         // no replica is good, so there is none to copy from
  uint64_t being_written = 0;   // blocks of files being written, with this worker as a target
  // Not left, but with fewer replicas elsewhere than the file wants: there are too few workers.
  uint64_t thin_blocks = 0;
  std::vector<std::string> left_files, thin_files;  // the first few paths, each once
  bool safe_mode = false;                           // nothing is copied before its end

  // Returns whether the worker can be stopped as far as the block store is concerned.
  bool Safe() const { return !safe_mode && left_blocks == 0 && being_written == 0; }
};

// Blocks of files whose last replica may be on a worker that is not registered.
struct LastReplicas {
  uint64_t blocks = 0, bytes = 0;
  std::vector<std::string> files;  // the first few paths, each once
};

// Number of files that DrainBlocks names, per kind.
inline constexpr size_t kDrainFiles = 5;

}  // namespace mr::dfs
