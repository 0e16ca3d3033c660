#include "worker/daemon/disk_watch.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/io/clock.h"
#include "common/io/disk_id.h"
#include "common/io/files.h"

namespace mr::worker {
namespace {

// Returns false for errors that come from something other than the place: a full disk has a check of its own.
bool OfThePlace(int error) {
  return error != ENOSPC && error != EDQUOT && error != EMFILE && error != ENFILE && error != ENOMEM && error != EINTR;
}

// Returns the error, or 0. Costs no I/O: it finds a missing directory, a wrong mode, and a read-only file system.
int MayWrite(const std::string& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return errno;
  if (!S_ISDIR(info.st_mode)) return ENOTDIR;
  return ::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

// Returns the error, or 0. Finds also a disk that fails writes.
int WriteIn(const std::string& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno;
  if (::pwrite(fd.get(), "x", 1, 0) != 1 || ::fsync(fd.get()) != 0) return errno;
  return 0;
}

}  // namespace

std::string DiskWatch::CheckPlaces(bool write) {
  for (Place& place : places_) {
    int error = MayWrite(place.path);
    struct stat info {};
    if (error == 0 && ::stat(place.path.c_str(), &info) == 0) place.mode = info.st_mode & 07777;
    if (error == ENOENT && place.remake) {
      error = ::mkdir(place.path.c_str(), 0700) == 0 && ::chmod(place.path.c_str(), place.mode) == 0 ? 0 : errno;
      LOG_IF(WARNING, error == 0) << place.path << " was missing and has been made again";
    }
    if (error == 0 && write) error = WriteIn(place.path);
    if (error != 0 && OfThePlace(error)) return "cannot write in " + place.path + ": " + std::strerror(error);
  }
  return "";
}

void DiskWatch::Look() {
  const std::lock_guard looking(looking_);
  bool write = false;
  {
    const std::lock_guard lock(mutex_);
    // A disk that failed writes proves by one that it works again.
    write = doubted_ || !seen_.failure.empty();
    doubted_ = false;
  }
  const std::string failure = CheckPlaces(write);
  const Result<Space> space = SpaceOf(path_);
  const std::lock_guard lock(mutex_);
  if (failure.empty() != seen_.failure.empty()) {
    if (failure.empty())
      LOG(INFO) << "attempts can write again: this worker takes new ones";
    else
      LOG(ERROR) << failure << ": this worker takes no new attempts until attempts can write again";
  }
  seen_.failure = failure;
  if (!space.ok()) return;
  DiskRoom room{space->free_bytes, space->total_bytes, !gate_.HasRoom(*space), space->no_inodes(), "", DiskId(path_)};
  if (room.full) room.path = path_;
  room.failure = failure;
  seen_ = std::move(room);
}

bool DiskWatch::NoteError(const std::string& message) {
  // Errors name the file or its directory. A name of another disk is none of this one's.
  if (message.find(std::strerror(ENOSPC)) == std::string::npos || message.find(path_ + "/") == std::string::npos) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (!seen_.full) seen_.no_space_unix_ms = WallClockMs();
  seen_.full = true;
  seen_.path = path_;
  return true;
}

bool DiskWatch::Doubt(const std::string& message) {
  const auto named = [&](const Place& place) { return message.find(place.path) != std::string::npos; };
  if (std::none_of(places_.begin(), places_.end(), named)) return false;
  const std::lock_guard lock(mutex_);
  return doubted_ = true;
}

DiskRoom DiskWatch::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

}  // namespace mr::worker
