// Decides whether a disk has room. Below a limit it has none, until a tenth more than the limit is free again, so that
// the answer does not change with every file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"

namespace mr {

// Bytes that an unprivileged process may use, and inodes. total_inodes 0: the file system does not count them.
struct Space {
  uint64_t free_bytes = 0, total_bytes = 0;
  uint64_t free_inodes = 0, total_inodes = 0;
  bool no_inodes() const { return total_inodes != 0 && free_inodes == 0; }
};

// Returns the space of the file system that has this path. Cost: one system call, which blocks as long as the disk
// does.
Result<Space> SpaceOf(const std::string& path);

// Decides whether a disk has room, with the hysteresis described above. Pure. Not safe for concurrent use.
class FreeSpaceGate {
 public:
  // keep: bytes that must stay free; nothing: the smaller of 5 % and 10 GiB of the disk; 0: always room.
  explicit FreeSpaceGate(std::optional<uint64_t> keep) : keep_(keep) {}

  // Returns the bytes that must stay free on this disk.
  uint64_t Keep(const Space& space) const;
  // Returns whether there is room. A disk without a free inode has none, unless the limit is 0.
  bool HasRoom(const Space& space);

 private:
  const std::optional<uint64_t> keep_;
  bool room_ = true;
};

}  // namespace mr
