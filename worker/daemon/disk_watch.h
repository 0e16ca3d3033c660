// Measures the free space of the worker's data disk at regular intervals. Each heartbeat reports it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "common/io/free_space.h"
#include "common/model/disk_room.h"

namespace mr::worker {

class DiskWatch {
 public:
  // path: on the disk. keep: the reserve in bytes, as for FreeSpaceGate.
  DiskWatch(std::string path, std::optional<uint64_t> keep) : path_(std::move(path)), gate_(keep) {}

  // Measures once. Blocks as long as the disk does: never on a loop. If the system call fails, the last result stays.
  void Look();
  // Examines an error's message. If a write to this disk failed for lack of space, the disk counts as full until the
  // next Look() finds room. Returns whether that is so. Any thread; never waits for Look().
  bool NoteError(const std::string& message);
  // Returns the last result. Any thread; never waits for Look().
  DiskRoom seen() const;

 private:
  const std::string path_;
  std::mutex looking_;  // held during the system call
  FreeSpaceGate gate_;  // under looking_
  mutable std::mutex mutex_;
  DiskRoom seen_;  // under mutex_
};

}  // namespace mr::worker
