// What the block store still keeps on a worker that is draining. A pure function of the namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mr::dfs {

// The blocks of one worker, seen as if that worker were stopped. A block is *left* while fewer good replicas are on
// other workers that take blocks than its file wants, or than there are such workers, and at least one.
struct DrainBlocks {
  uint64_t blocks = 0, bytes = 0;            // replicas on the worker
  uint64_t left_blocks = 0, left_bytes = 0;  // of these: left
  // Left blocks by what they wait for. The rest wait for their turn.
  uint64_t copying = 0;         // a copy is under way
  uint64_t without_worker = 0;  // no other worker takes blocks
  uint64_t without_room = 0;    // each other worker that lacks a replica is full
  uint64_t failing = 0;         // copies failed, and are tried again later
  uint64_t damaged = 0;         // no replica is good: there is nothing to copy from
  uint64_t being_written = 0;   // blocks of files that are being written, with this worker among their targets
  // Not left, and fewer replicas elsewhere than the file wants: there are fewer workers than replicas.
  uint64_t thin_blocks = 0;
  std::vector<std::string> left_files, thin_files;  // the first few paths, each once
  bool safe_mode = false;                           // nothing is copied until it ends

  // The worker can be stopped as far as the block store is concerned.
  bool Safe() const { return !safe_mode && left_blocks == 0 && being_written == 0; }
};

// Files that DrainBlocks names of each kind.
inline constexpr size_t kDrainFiles = 5;

}  // namespace mr::dfs
