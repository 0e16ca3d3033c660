// Files and directories with Status. Each call says what is durable after it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace mr {

// An owned file descriptor, closed by the destructor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& o) noexcept : fd_(o.release()) {}
  UniqueFd& operator=(UniqueFd&& o) noexcept {
    if (this != &o) reset(o.release());
    return *this;
  }
  ~UniqueFd() { reset(); }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Opens a file; errors name the path. flags and mode as for open(2); O_CLOEXEC is added.
Result<UniqueFd> OpenFile(const std::string& path, int flags, int mode = 0644);
// Opens an unnamed file in `directory` that disappears with its descriptor (O_TMPFILE).
Result<UniqueFd> OpenUnnamed(const std::string& directory);
// Writes all bytes, or returns an error; continues after partial writes.
Status WriteAll(int fd, std::string_view bytes);
Status PwriteAll(int fd, std::string_view bytes, uint64_t offset);
// Reads up to `size` bytes from offset; fewer only at the end of the file.
Result<size_t> PreadUpTo(int fd, void* data, size_t size, uint64_t offset);
Result<std::string> ReadFile(const std::string& path);
// Writes `path`.tmp, syncs it, renames it and syncs the directory: after Ok the file is durable and whole. mode: of a
// new file, as for open(2).
Status WriteFileDurably(const std::string& path, std::string_view bytes, int mode = 0644);
Status SyncDirectory(const std::string& path);
// mkdir -p; existing is fine.
Status MakeDirectories(const std::string& path);
// rm -r; absent is fine. Does not follow symbolic links.
Status RemoveTree(const std::string& path);
bool PathExists(const std::string& path);
// Returns the names in a directory, sorted, without "." and "..".
Result<std::vector<std::string>> ListDirectory(const std::string& path);
Result<uint64_t> FileSize(const std::string& path);
// Takes an exclusive lock on `path`, held until the descriptor is closed. Errors: kRejected where another
// process holds it.
Result<UniqueFd> LockFile(const std::string& path);

}  // namespace mr
