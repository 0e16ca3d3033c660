// Interposes the system calls that write to disks (open with O_CREAT, mkdir, write, pwrite, ftruncate, fallocate,
// rename, link, unlink, rmdir, fsync, fdatasync, syncfs). Tests can count, delay, fail and record them.
//
// Link `mr_disk_shim` into a test and use anything of this header. The whole test binary, with the libraries that it
// links, then makes its calls through the shim. Child processes are not affected.
//
//   OnDiskCall hook([](const DiskCall& c) { return c.kind == DiskCall::kFallocate ? ENOSPC : 0; });
//
// power_cut.h uses the same calls to record changes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mr::test {

struct DiskCall {
  // kOpen: an open that may create (O_CREAT, O_TMPFILE) or truncate a file; kOpenAny: any other open.
  // kSyncAll: of the whole file system.
  enum Kind { kOpen, kOpenAny, kMkdir, kWrite, kTruncate, kAllocate, kRename, kLink, kUnlink, kSync, kSyncAll };
  Kind kind;
  int fd = -1;               // of calls that take one
  std::string path;          // absolute; for calls with a descriptor: the path by which it was opened
  std::string to;            // of kRename and kLink
  bool data_only = false;    // of kSync: fdatasync
  bool directory = false;    // of kSync: the descriptor is a directory's
  std::string_view bytes{};  // of kWrite
  uint64_t offset = 0;       // of kWrite; UINT64_MAX: where the descriptor stands
};

// Calls `before` ahead of each interposed call, on the caller's thread, as long as this object lives. `before` may
// block. It returns 0, or an errno with which the call fails without being made. Only one such object may exist at a
// time.
class OnDiskCall {
 public:
  explicit OnDiskCall(std::function<int(const DiskCall&)> before);
  ~OnDiskCall();
  OnDiskCall(const OnDiskCall&) = delete;
  OnDiskCall& operator=(const OnDiskCall&) = delete;
};

// The changes that PowerCut records. Each method is called after its disk call has succeeded, with a lock held that
// orders all of them. inode: st_ino of the file or directory itself.
class DiskObserver {
 public:
  virtual ~DiskObserver() = default;
  // A file or directory was created, or (a file) opened with O_TRUNC; path "" where it has no name (O_TMPFILE).
  virtual void Created(uint64_t inode, const std::string& path, bool directory) = 0;
  virtual void Wrote(uint64_t inode, uint64_t offset, std::string_view bytes) = 0;
  virtual void Resized(uint64_t inode, uint64_t size) = 0;  // also grown by fallocate
  virtual void Linked(uint64_t inode, const std::string& path) = 0;
  virtual void Renamed(const std::string& from, const std::string& to) = 0;
  virtual void Removed(const std::string& path) = 0;  // a name
  // A sync has begun. The returned number is passed to Synced once the sync has succeeded.
  virtual uint64_t SyncBegins() = 0;
  virtual void Synced(uint64_t inode, uint64_t began) = 0;
  virtual void AllSynced(uint64_t began) = 0;
};
// Sets the only observer; nullptr: none.
void SetDiskObserver(DiskObserver* observer);

}  // namespace mr::test
