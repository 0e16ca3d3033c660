#include "common/io/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace mr {

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

Result<UniqueFd> OpenFile(const std::string& path, int flags, int mode) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return ErrnoStatus(errno, "cannot open " + path);
  return UniqueFd(fd);
}

Result<UniqueFd> OpenUnnamed(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, "cannot make a temporary file in " + directory);
  return UniqueFd(fd);
}

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "write");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return Status::Ok();
}

Status PwriteAll(int fd, std::string_view bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "write");
    }
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return Status::Ok();
}

Result<size_t> PreadUpTo(int fd, void* data, size_t size, uint64_t offset) {
  size_t got = 0;
  while (got < size) {
    const ssize_t n = ::pread(fd, static_cast<char*>(data) + got, size - got, static_cast<off_t>(offset + got));
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "read");
    }
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  return got;
}

Result<std::string> ReadFile(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "cannot stat " + path);
  if (S_ISDIR(info.st_mode)) return InvalidArgument(path + " is a directory");
  std::string bytes;
  char buffer[65536];
  while (true) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "cannot read " + path);
    if (n == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(n));
  }
}

Status WriteFileDurably(const std::string& path, std::string_view bytes, int mode) {
  const std::string temporary = path + ".tmp";
  {
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC, mode));
    MR_RETURN_IF_ERROR(WriteAll(fd.get(), bytes).With(temporary));
    if (::fsync(fd.get()) != 0) return ErrnoStatus(errno, "cannot sync " + temporary);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, "cannot rename " + temporary + " to " + path);
  }
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

Status SyncDirectory(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path.empty() ? "." : path, O_RDONLY | O_DIRECTORY));
  if (::fsync(fd.get()) != 0) return ErrnoStatus(errno, "cannot sync directory " + path);
  return Status::Ok();
}

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return ErrnoStatus(error.value(), "cannot make directory " + path);
  return Status::Ok();
}

Status RemoveTree(const std::string& path) {
  // remove_all fails at each entry that somebody else removes at the same time, so it is repeated.
  constexpr int kTries = 1'000'000;
  std::error_code error;
  for (int i = 0; i < kTries; ++i) {
    std::filesystem::remove_all(path, error);
    if (error != std::errc::no_such_file_or_directory) break;
  }
  if (error) return ErrnoStatus(error.value(), "cannot remove " + path);
  return Status::Ok();
}

bool PathExists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return ErrnoStatus(error.value(), "cannot list " + path);
  std::sort(names.begin(), names.end());
  return names;
}

Result<uint64_t> FileSize(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "cannot stat " + path);
  return static_cast<uint64_t>(info.st_size);
}

Result<UniqueFd> LockFile(const std::string& path) {
  MR_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDWR | O_CREAT));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Rejected(path + " is locked: another process uses this directory");
    return ErrnoStatus(errno, "cannot lock " + path);
  }
  return fd;
}

}  // namespace mr
