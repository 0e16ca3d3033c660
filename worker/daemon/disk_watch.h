// Watches the worker's data disk: its free space, and whether attempts can write in their directories. Each heartbeat
// reports it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/io/free_space.h"
#include "common/model/disk_room.h"

namespace mr::worker {

class DiskWatch {
 public:
  // A directory in which attempts, or the worker for them, must be able to write.
  struct Place {
    std::string path;
    bool remake = false;  // empty, it is as good as before: it is made again where it is missing
    mode_t mode = 0700;   // as it was last seen
  };

  // path: on the disk. keep: the reserve in bytes, as for FreeSpaceGate.
  DiskWatch(std::string path, std::optional<uint64_t> keep, std::vector<Place> places = {})
      : path_(std::move(path)), gate_(keep), places_(std::move(places)) {}

  // Measures and checks once. Blocks as long as the disk does: never on a loop. If the size cannot be read, the last
  // one stays.
  void Look();
  // Examines an error's message. If a write to this disk failed for lack of space, the disk counts as full until the
  // next Look() finds room. Returns whether that is so. Any thread; never waits for Look().
  bool NoteError(const std::string& message);
  // Returns true if the message names a place, so that Look() is worth a call: it then writes a file in each place.
  // Any thread; never waits for Look().
  bool Doubt(const std::string& message);
  // Returns the last result. Any thread; never waits for Look().
  DiskRoom seen() const;

 private:
  // Returns why one of the places cannot be used, or "". write: also write a file.
  std::string CheckPlaces(bool write);

  const std::string path_;
  std::mutex looking_;         // held during the system calls
  FreeSpaceGate gate_;         // under looking_
  std::vector<Place> places_;  // their modes: under looking_
  mutable std::mutex mutex_;
  DiskRoom seen_;         // under mutex_
  bool doubted_ = false;  // under mutex_
};

}  // namespace mr::worker
