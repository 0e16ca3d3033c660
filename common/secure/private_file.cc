#include "common/secure/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common/io/files.h"

namespace mr::secure {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

Status CheckOwner(const std::string& path, const struct stat& info, const char* remedy) {
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return Status(Code::kNotAllowed, path + " belongs to the user " + std::to_string(info.st_uid) +
                                         ", and this process runs as " + std::to_string(::geteuid()) +
                                         ": run this as that user, or use a file of your own");
  }
  if ((info.st_mode & kOthers) == 0) return Status::Ok();
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 07777));
  return Status(Code::kNotAllowed,
                path + " has mode " + mode + ", so others may use it: run chmod " + remedy + " " + path);
}

}  // namespace

Status WritePrivateFile(const std::string& path, const Secret<std::string>& value) {
  // A temporary file that a crash left behind keeps its mode when it is opened again.
  if (::unlink((path + ".tmp").c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, "cannot remove " + path + ".tmp");
  }
  return WriteFileDurably(path, value.Reveal(), 0600);
}

Result<Secret<std::string>> ReadPrivateFile(const std::string& path) {
  // O_NONBLOCK: a FIFO must not stop a daemon.
  MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, O_RDONLY | O_NONBLOCK));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "cannot stat " + path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(path + " is not a regular file");
  MR_RETURN_IF_ERROR(CheckOwner(path, info, "600"));
  // One more byte than it may have. Never grows, so that no copy stays behind in freed memory.
  std::string bytes(kMaxPrivateBytes + 1, '\0');
  MR_ASSIGN_OR_RETURN(const size_t size, PreadUpTo(file.get(), bytes.data(), bytes.size(), 0));
  if (size == 0 || size > kMaxPrivateBytes) {
    return InvalidArgument(path + (size == 0 ? " is empty" : " has more than 64 KiB") + ": it holds no key or token");
  }
  bytes.resize(size);
  return Secret<std::string>(std::move(bytes));
}

Status MakePrivateDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return Status::Ok();
  if (errno == EEXIST) return Rejected(path + " exists");
  return ErrnoStatus(errno, "cannot make directory " + path);
}

Status CheckPrivateDirectory(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "cannot use " + path);
  if (!S_ISDIR(info.st_mode)) return InvalidArgument(path + " is not a directory");
  return CheckOwner(path, info, "700");
}

}  // namespace mr::secure
