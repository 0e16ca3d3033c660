// How much room the disk of a worker's data has, looked at regularly and told to the master with each heartbeat.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "common/io/free_space.h"

namespace mr::worker {

struct DiskRoom {
  uint64_t free_bytes = 0, total_bytes = 0;  // total 0: not known
  bool full = false;                         // below what is kept free: neither blocks nor attempts
  bool no_inodes = false;                    // full since there may be no more files
  std::string path;                          // on that disk; empty where it is not full
};

class DiskWatch {
 public:
  // path: on the disk; keep: as FreeSpaceGate has it.
  DiskWatch(std::string path, std::optional<uint64_t> keep) : path_(std::move(path)), gate_(keep) {}

  // Blocks as long as the disk does: never on a loop. A disk that cannot be asked keeps its last answer.
  void Look();
  // What the last look found. Any thread; never waits for a look.
  DiskRoom seen() const;

 private:
  const std::string path_;
  std::mutex looking_;  // held over the system call
  FreeSpaceGate gate_;  // under looking_
  mutable std::mutex mutex_;
  DiskRoom seen_;  // under mutex_
};

}  // namespace mr::worker
