#include "worker/host/scratch_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <vector>

#include "worker/task/process_tree.h"

namespace mr::worker {
namespace {

// Period of the measurements: a disk writes about 1 GB in this time (guess). A directory of 10,000 files takes 20 ms.
constexpr auto kScratchPeriod = std::chrono::milliseconds(500);
constexpr uint64_t kBlockBytes = 512;  // the unit of st_blocks (inode(7))
// Least bytes that a file counts for: file systems have a limit of files, too, and ext4 has one per 16 KiB by default.
constexpr uint64_t kLeastBytes = 16 << 10;

}  // namespace

uint64_t BytesBelow(const std::string& directory, uint64_t most) {
  struct stat root;
  if (stat(directory.c_str(), &root) != 0) return 0;
  uint64_t bytes = 0;
  std::set<ino_t> linked;  // files with several names, which count once
  std::vector<std::string> open = {directory};
  while (!open.empty() && bytes <= most) {
    const std::string path = std::move(open.back());
    open.pop_back();
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR* const entries = fd < 0 ? nullptr : fdopendir(fd);
    if (entries == nullptr) {
      const int error = errno;
      if (fd >= 0) close(fd);
      // Gone. What cannot be measured, such as a path that is too long, counts as too much: it could hide any size.
      if (error == ENOENT || error == ENOTDIR) continue;
      return UINT64_MAX;
    }
    while (const dirent* entry = readdir(entries)) {
      const std::string name = entry->d_name;
      struct stat info;
      if (name == "." || name == ".." || fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (info.st_dev != root.st_dev) continue;
      const bool counted = S_ISREG(info.st_mode) && info.st_nlink > 1 && !linked.insert(info.st_ino).second;
      if (!counted) bytes += std::max(static_cast<uint64_t>(info.st_blocks) * kBlockBytes, kLeastBytes);
      if (S_ISDIR(info.st_mode)) open.push_back(path + "/" + name);
      if (bytes > most) break;
    }
    closedir(entries);
  }
  return bytes;
}

ScratchWatch::ScratchWatch(uint64_t most, std::function<void(uint64_t, uint64_t)> over)
    : most_(most), over_(std::move(over)) {
  if (most_ > 0) thread_ = std::thread([this] { Run(); });
}

ScratchWatch::~ScratchWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ScratchWatch::Add(uint64_t attempt, const std::string& directory, pid_t root) {
  if (most_ == 0) return;
  const std::lock_guard lock(mutex_);
  watched_[attempt] = {directory, root};
  changed_.notify_all();
}

void ScratchWatch::Remove(uint64_t attempt) {
  const std::lock_guard lock(mutex_);
  watched_.erase(attempt);
}

void ScratchWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (watched_.empty()) {
      changed_.wait(lock);
      continue;
    }
    changed_.wait_for(lock, kScratchPeriod, [this] { return stopping_; });
    const std::map<uint64_t, Watched> all = watched_;
    lock.unlock();
    for (const auto& [attempt, watched] : all) {
      struct stat info;
      if (stat(watched.directory.c_str(), &info) != 0) continue;
      const uint64_t bytes =
          BytesBelow(watched.directory, most_) + task::UnlinkedBytes(watched.root, static_cast<uint64_t>(info.st_dev));
      if (bytes > most_) over_(attempt, bytes);
    }
    lock.lock();
  }
}

}  // namespace mr::worker
