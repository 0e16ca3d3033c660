#include "worker/daemon/disk_watch.h"

#include <cerrno>
#include <cstring>

#include "common/io/disk_id.h"

namespace mr::worker {

void DiskWatch::Look() {
  const std::lock_guard looking(looking_);
  const Result<Space> space = SpaceOf(path_);
  if (!space.ok()) return;
  DiskRoom room{space->free_bytes, space->total_bytes, !gate_.HasRoom(*space), space->no_inodes(), "", DiskId(path_)};
  if (room.full) room.path = path_;
  const std::lock_guard lock(mutex_);
  seen_ = std::move(room);
}

bool DiskWatch::NoteError(const std::string& message) {
  // Errors name the file or its directory. A name of another disk is none of this one's.
  if (message.find(std::strerror(ENOSPC)) == std::string::npos || message.find(path_ + "/") == std::string::npos) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  seen_.full = true;
  seen_.path = path_;
  return true;
}

DiskRoom DiskWatch::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace mr::worker
