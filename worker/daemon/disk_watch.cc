#include "worker/daemon/disk_watch.h"

namespace mr::worker {

void DiskWatch::Look() {
  const std::lock_guard looking(looking_);
  const Result<Space> space = SpaceOf(path_);
  if (!space.ok()) return;
  DiskRoom room{space->free_bytes, space->total_bytes, !gate_.HasRoom(*space), space->no_inodes(), ""};
  if (room.full) room.path = path_;
  const std::lock_guard lock(mutex_);
  seen_ = std::move(room);
}

DiskRoom DiskWatch::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace mr::worker
