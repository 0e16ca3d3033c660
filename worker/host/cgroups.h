// Control groups for tasks, in rooms of tier 2 and above: one leaf per slot, made at the worker's start. A leaf limits
// memory and processes of one attempt, gives it a share of the CPUs, counts kills for memory, and finds all processes
// of the attempt wherever they are in the tree. Versions 1 and 2 of the kernel's interface. Not safe for concurrent
// use, except where noted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"
#include "worker/host/cgroup_place.h"

namespace mr::worker {

struct CgroupLimits {
  uint64_t memory_bytes = 0;  // 0: none
  uint32_t processes = 0;     // and threads; 0: none
};

class CgroupLeaf {
 public:
  // Sets the limits for the next attempt, and forgets what the last one has used. Requires: no process is in it.
  Status Begin(const CgroupLimits& limits);
  // Descriptors that a process writes "0" to, to enter: the leaf's file of each hierarchy.
  std::vector<int> joins() const;
  // Returns how many processes were killed for memory since Begin.
  uint64_t OomKills() const;
  // Returns the most memory in use since Begin, in bytes; 0 where the kernel does not know it.
  uint64_t PeakBytes() const;
  uint64_t memory_limit() const { return limits_.memory_bytes; }
  // Kills all its processes, and keeps them from starting others. Does not wait: call it again until it returns true,
  // which means that none is left.
  bool Kill();
  bool Empty() const;

 private:
  friend class Cgroups;
  static Result<std::unique_ptr<CgroupLeaf>> Make(const CgroupPlace& place);
  uint64_t OomCount() const;

  CgroupPlace place_;  // its own directories
  std::vector<UniqueFd> joins_;
  CgroupLimits limits_;
  uint64_t oom_before_ = 0;
  bool busy_ = false;
};

class Cgroups {
 public:
  struct Options {
    CgroupPlace place;          // which exists
    std::string family;         // begins the names of the groups of all lives of this worker
    std::string name;           // of this life: begins with `family`
    uint32_t leaves = 0;        // made at the start
    uint64_t memory_bytes = 0;  // of all attempts together; 0: no limit
  };
  // Makes the groups. With version 2 it moves this process into a group of its own if it is alone in `place`, because
  // a group with processes takes no limits for its children. Errors: kUnavailable, with the file and the remedy.
  static Result<std::unique_ptr<Cgroups>> Make(const Options& options);
  // Kills what is left in the leaves, waits for it at most 1.5 s, and removes the groups.
  ~Cgroups();

  // Returns an idle leaf with these limits; a new one where none is idle (idle children stay in theirs).
  Result<CgroupLeaf*> Take(const CgroupLimits& limits);
  // Takes back a leaf. One with a process that does not end is not used again.
  void GiveBack(CgroupLeaf* leaf);
  // Kills the processes in groups of earlier lives, and removes these. Returns how many processes. Blocks for at most
  // 1.5 s. Requires: no other worker of this family lives.
  size_t EndLeftovers();

 private:
  explicit Cgroups(Options options) : options_(std::move(options)) {}
  Result<CgroupLeaf*> Add();

  const Options options_;
  std::vector<std::unique_ptr<CgroupLeaf>> leaves_;
};

}  // namespace mr::worker
