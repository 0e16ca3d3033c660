#include "tests/support/disk_shim.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace mr::test {
namespace {

using Hook = std::function<int(const DiskCall&)>;

// Never destroyed: other objects may still write when the process ends.
struct Shim {
  std::shared_mutex hook_mutex;
  std::shared_ptr<Hook> hook;
  std::recursive_mutex observer_mutex;
  DiskObserver* observer = nullptr;
};
Shim& TheShim() {
  static Shim& shim = *new Shim;
  return shim;
}
// Make calls cheap while there is no hook or observer.
std::atomic<bool> hooked{false}, observed{false};
thread_local bool inside = false;

// The hook and the observer may write files themselves.
struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = false; }
};

std::string PathOfFd(int fd) {
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = ::syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path);
  return n < 0 ? std::string() : std::string(path, static_cast<size_t>(n));
}

std::string Absolute(int at, const char* path) {
  if (path == nullptr) return {};
  if (path[0] == '/') return path;
  if (at != AT_FDCWD) return PathOfFd(at) + "/" + path;
  char cwd[PATH_MAX];
  const long n = ::syscall(SYS_getcwd, cwd, sizeof cwd);
  return n < 0 ? std::string(path) : std::string(cwd) + "/" + path;
}

bool Listened() {
  return !inside && (hooked.load(std::memory_order_relaxed) || observed.load(std::memory_order_relaxed));
}

// The errno with which the call is to fail, or 0.
int Before(const DiskCall& call) {
  if (inside || !hooked.load()) return 0;
  std::shared_ptr<Hook> hook;
  {
    std::shared_lock lock(TheShim().hook_mutex);
    hook = TheShim().hook;
  }
  const Inside guard;
  return hook ? (*hook)(call) : 0;
}

// Serializes calls: holds a lock while one is made and reported to the observer.
class Observed {
 public:
  Observed() : lock_(TheShim().observer_mutex, std::defer_lock) {
    if (inside || !observed.load()) return;
    lock_.lock();
    observer_ = TheShim().observer;
  }
  DiskObserver* operator->() const { return observer_; }
  explicit operator bool() const { return observer_ != nullptr; }

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  DiskObserver* observer_ = nullptr;
};

struct stat StatOf(int fd) {
  struct stat info {};
  const int error = errno;
  (void)::fstat(fd, &info);
  errno = error;
  return info;
}

int Fail(int error) {
  errno = error;
  return -1;
}

int Open(int at, const char* path, int flags, mode_t mode) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_openat, at, path, flags, mode)); };
  if (!Listened()) return real();
  const bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0 || unnamed;
  const std::string name = Absolute(at, path);
  const auto kind = changes ? DiskCall::kOpen : DiskCall::kOpenAny;
  if (const int error = Before({kind, -1, name, {}, false, false})) return Fail(error);
  if (!changes) return real();
  Observed observer;
  struct stat old {};
  const bool existed = !unnamed && ::fstatat(at, path, &old, 0) == 0;
  const int fd = real();
  if (fd < 0 || !observer) return fd;
  const uint64_t inode = StatOf(fd).st_ino;
  if (!existed)
    observer->Created(inode, unnamed ? "" : name, false);
  else if ((flags & O_TRUNC) != 0)
    observer->Resized(inode, 0);
  return fd;
}

ssize_t Write(int fd, const void* data, size_t size, off_t offset) {  // offset -1: where the descriptor stands
  const auto real = [&] {
    return static_cast<ssize_t>(offset < 0 ? ::syscall(SYS_write, fd, data, size)
                                           : ::syscall(SYS_pwrite64, fd, data, size, offset));
  };
  if (!Listened()) return real();
  if (!S_ISREG(StatOf(fd).st_mode)) return real();
  const std::string_view bytes(static_cast<const char*>(data), size);
  const DiskCall call{DiskCall::kWrite, fd, PathOfFd(fd), {}, false, false, bytes, static_cast<uint64_t>(offset)};
  if (const int error = Before(call)) return Fail(error);
  Observed observer;
  off_t at = offset;
  if (observer && offset < 0) {
    const bool append = (static_cast<int>(::syscall(SYS_fcntl, fd, F_GETFL)) & O_APPEND) != 0;
    at = append ? StatOf(fd).st_size : static_cast<off_t>(::syscall(SYS_lseek, fd, 0, SEEK_CUR));
  }
  const ssize_t n = real();
  if (n > 0 && observer) {
    observer->Wrote(StatOf(fd).st_ino, static_cast<uint64_t>(at), bytes.substr(0, static_cast<size_t>(n)));
  }
  return n;
}

int Resize(int fd, off_t length) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_ftruncate, fd, length)); };
  if (!Listened()) return real();
  if (const int error = Before({DiskCall::kTruncate, fd, PathOfFd(fd), {}, false, false})) return Fail(error);
  Observed observer;
  const int result = real();
  if (result == 0 && observer) observer->Resized(StatOf(fd).st_ino, static_cast<uint64_t>(length));
  return result;
}

int Allocate(int fd, int mode, off_t offset, off_t length) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, length)); };
  if (!Listened()) return real();
  if (const int error = Before({DiskCall::kAllocate, fd, PathOfFd(fd), {}, false, false})) return Fail(error);
  Observed observer;
  const off_t before = StatOf(fd).st_size;
  const int result = real();
  if (result == 0 && observer) {
    const struct stat now = StatOf(fd);
    if (now.st_size > before) observer->Resized(now.st_ino, static_cast<uint64_t>(now.st_size));
  }
  return result;
}

int Sync(int fd, bool data_only) {
  const auto real = [&] { return static_cast<int>(::syscall(data_only ? SYS_fdatasync : SYS_fsync, fd)); };
  if (!Listened()) return real();
  const struct stat info = StatOf(fd);
  uint64_t began = 0;
  {
    Observed observer;
    if (observer) began = observer->SyncBegins();
  }
  // Made without the lock: a sync may take long, and does not cover what is written meanwhile.
  const DiskCall call{DiskCall::kSync, fd, PathOfFd(fd), {}, data_only, S_ISDIR(info.st_mode)};
  if (const int error = Before(call)) return Fail(error);
  const int result = real();
  Observed observer;
  if (result == 0 && observer) observer->Synced(info.st_ino, began);
  return result;
}

int SyncAll(int fd) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_syncfs, fd)); };
  if (!Listened()) return real();
  uint64_t began = 0;
  {
    Observed observer;
    if (observer) began = observer->SyncBegins();
  }
  // Made without the lock, as in Sync.
  if (const int error = Before({DiskCall::kSyncAll, fd, PathOfFd(fd), {}, false, true})) return Fail(error);
  const int result = real();
  Observed observer;
  if (result == 0 && observer) observer->AllSynced(began);
  return result;
}

int Rename(int from_at, const char* from, int to_at, const char* to, unsigned flags) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_renameat2, from_at, from, to_at, to, flags)); };
  if (!Listened()) return real();
  const std::string a = Absolute(from_at, from), b = Absolute(to_at, to);
  if (const int error = Before({DiskCall::kRename, -1, a, b, false, false})) return Fail(error);
  Observed observer;
  const int result = real();
  if (result == 0 && observer) observer->Renamed(a, b);
  return result;
}

int Link(int from_at, const char* from, int to_at, const char* to, int flags) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_linkat, from_at, from, to_at, to, flags)); };
  if (!Listened()) return real();
  const std::string b = Absolute(to_at, to);
  if (const int error = Before({DiskCall::kLink, -1, Absolute(from_at, from), b, false, false})) return Fail(error);
  Observed observer;
  const int result = real();
  struct stat info {};
  if (result != 0 || !observer) return result;
  if (::fstatat(to_at, to, &info, AT_SYMLINK_NOFOLLOW) == 0) observer->Linked(info.st_ino, b);
  return result;
}

int Unlink(int at, const char* path, int flags) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_unlinkat, at, path, flags)); };
  if (!Listened()) return real();
  const std::string name = Absolute(at, path);
  if (const int error = Before({DiskCall::kUnlink, -1, name, {}, false, false})) return Fail(error);
  Observed observer;
  const int result = real();
  if (result == 0 && observer) observer->Removed(name);
  return result;
}

int MakeDirectory(int at, const char* path, mode_t mode) {
  const auto real = [&] { return static_cast<int>(::syscall(SYS_mkdirat, at, path, mode)); };
  if (!Listened()) return real();
  const std::string name = Absolute(at, path);
  if (const int error = Before({DiskCall::kMkdir, -1, name, {}, false, false})) return Fail(error);
  Observed observer;
  const int result = real();
  struct stat info {};
  if (result == 0 && observer && ::fstatat(at, path, &info, 0) == 0) observer->Created(info.st_ino, name, true);
  return result;
}

mode_t ModeOf(int flags, va_list arguments) {
  const bool has = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

}  // namespace

OnDiskCall::OnDiskCall(std::function<int(const DiskCall&)> before) {
  std::unique_lock lock(TheShim().hook_mutex);
  TheShim().hook = std::make_shared<Hook>(std::move(before));
  hooked = true;
}

OnDiskCall::~OnDiskCall() {
  std::unique_lock lock(TheShim().hook_mutex);
  hooked = false;
  TheShim().hook = nullptr;
}

void SetDiskObserver(DiskObserver* observer) {
  std::lock_guard lock(TheShim().observer_mutex);
  TheShim().observer = observer;
  observed = observer != nullptr;
}

}  // namespace mr::test

// Definitions of the C library's names, which replace those of the library. On 64 bits O_LARGEFILE and the 64 variants
// mean the same.
extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mr::test::ModeOf(flags, arguments);
  va_end(arguments);
  return mr::test::Open(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mr::test::ModeOf(flags, arguments);
  va_end(arguments);
  return mr::test::Open(AT_FDCWD, path, flags, mode);
}
int openat(int at, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mr::test::ModeOf(flags, arguments);
  va_end(arguments);
  return mr::test::Open(at, path, flags, mode);
}
ssize_t write(int fd, const void* data, size_t size) { return mr::test::Write(fd, data, size, -1); }
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) { return mr::test::Write(fd, data, size, offset); }
ssize_t pwrite64(int fd, const void* data, size_t size, off_t offset) {
  return mr::test::Write(fd, data, size, offset);
}
int ftruncate(int fd, off_t length) noexcept { return mr::test::Resize(fd, length); }
int ftruncate64(int fd, off_t length) noexcept { return mr::test::Resize(fd, length); }
int fallocate(int fd, int mode, off_t offset, off_t length) { return mr::test::Allocate(fd, mode, offset, length); }
int fallocate64(int fd, int mode, off_t offset, off_t length) { return mr::test::Allocate(fd, mode, offset, length); }
int fsync(int fd) { return mr::test::Sync(fd, false); }
int fdatasync(int fd) { return mr::test::Sync(fd, true); }
int syncfs(int fd) noexcept { return mr::test::SyncAll(fd); }
int rename(const char* from, const char* to) noexcept { return mr::test::Rename(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char* from, int b, const char* to) noexcept { return mr::test::Rename(a, from, b, to, 0); }
int link(const char* from, const char* to) noexcept { return mr::test::Link(AT_FDCWD, from, AT_FDCWD, to, 0); }
int linkat(int a, const char* from, int b, const char* to, int flags) noexcept {
  return mr::test::Link(a, from, b, to, flags);
}
int unlink(const char* path) noexcept { return mr::test::Unlink(AT_FDCWD, path, 0); }
int unlinkat(int at, const char* path, int flags) noexcept { return mr::test::Unlink(at, path, flags); }
int remove(const char* path) noexcept {
  if (mr::test::Unlink(AT_FDCWD, path, 0) == 0) return 0;
  return errno == EISDIR ? mr::test::Unlink(AT_FDCWD, path, AT_REMOVEDIR) : -1;
}
int rmdir(const char* path) noexcept { return mr::test::Unlink(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdir(const char* path, mode_t mode) noexcept { return mr::test::MakeDirectory(AT_FDCWD, path, mode); }
int mkdirat(int at, const char* path, mode_t mode) noexcept { return mr::test::MakeDirectory(at, path, mode); }

}  // extern "C"
