// Space on the disk with a worker's data.
#pragma once

#include <cstdint>
#include <string>

namespace mr {

struct DiskRoom {
  uint64_t free_bytes = 0, total_bytes = 0;  // total 0: not known
  bool full = false;       // less is free than the worker's reserve (mrworker --min_free): no blocks, no attempts
  bool no_inodes = false;  // full because no inode is free
  std::string path;        // a path on that disk; empty if it is not full
  uint64_t disk = 0;       // equal for paths on one file system of one machine (common/io/disk_id.h); 0: not known
  // When a write found no space, by the worker's clock, if it is full for that reason alone; 0: it is not.
  uint64_t no_space_unix_ms = 0;
  // Why attempts cannot write where they must, though there is room: no attempts. "": they can.
  std::string failure;
  bool operator==(const DiskRoom&) const = default;
};

}  // namespace mr
