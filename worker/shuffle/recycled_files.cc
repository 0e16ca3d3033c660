#include "worker/shuffle/recycled_files.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "common/io/files.h"
#include "common/io/free_space.h"

namespace mr::worker {
namespace {
// Smaller ones are not worth the calls (guess).
constexpr uint64_t kLeastBytes = 1u << 20;
}  // namespace

bool RecycledFiles::HasRoom() const {
  const auto space = SpaceOf(directory_);
  return space.ok() && space->free_bytes >= room_;
}

void RecycledFiles::Give(const std::string& path) {
  struct stat info;
  // A file with another name may be in use under that.
  const bool alone = ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
  const uint64_t size = alone ? static_cast<uint64_t>(info.st_size) : 0;
  std::string kept;
  {
    std::lock_guard lock(mutex_);
    if (size >= kLeastBytes && bytes_ + size <= limit_) {
      kept = directory_ + "/" + std::to_string(next_++);
      bytes_ += size;
    }
  }
  if (!kept.empty() && MakeDirectories(directory_).ok() && HasRoom() && ::rename(path.c_str(), kept.c_str()) == 0) {
    std::lock_guard lock(mutex_);
    files_.push_back({std::move(kept), size});
    return;
  }
  ::unlink(path.c_str());
  if (kept.empty()) return;
  std::lock_guard lock(mutex_);
  bytes_ -= size;
}

std::optional<std::string> RecycledFiles::Take() {
  std::lock_guard lock(mutex_);
  if (files_.empty()) return std::nullopt;
  File file = std::move(files_.back());
  files_.pop_back();
  bytes_ -= file.bytes;
  return std::move(file.path);
}

void RecycledFiles::Trim() {
  if (bytes() == 0 || HasRoom()) return;
  while (const auto file = Take()) ::unlink(file->c_str());
}

uint64_t RecycledFiles::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace mr::worker
