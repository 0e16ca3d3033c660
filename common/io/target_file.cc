#include "common/io/target_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>

#include "common/io/files.h"

namespace mr {
namespace {

namespace stdfs = std::filesystem;

constexpr int kMostLinks = 40;  // as in Linux

enum class TargetKind { kNew, kRegular, kDirect, kDescriptor };

struct Target {
  std::string path;  // behind all links
  TargetKind kind = TargetKind::kNew;
  bool through_link = false;
  bool block_device = false;
  int fd = -1;      // kDescriptor
  mode_t mode = 0;  // kRegular
};

// Returns N of a name of this process's open descriptor N. Opening such a name again would make a descriptor with its
// own position, and fails for sockets.
std::optional<int> DescriptorNamed(std::string_view path) {
  if (path == "/dev/stdout") return 1;
  if (path == "/dev/stderr") return 2;
  for (const std::string_view directory : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(directory)) continue;
    path.remove_prefix(directory.size());
    int fd = -1;
    const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), fd);
    if (error == std::errc() && end == path.data() + path.size() && fd >= 0) return fd;
    return std::nullopt;
  }
  return std::nullopt;
}

std::string DirectoryOf(const std::string& path) {
  const std::string parent = stdfs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// path: as the user named it. place: the file behind its links.
Status CannotWrite(int error, const std::string& path, const std::string& place) {
  const std::string what = "cannot write " + path;
  if (error == EROFS) return {Code::kNotAllowed, ErrnoStatus(error, what).message()};
  if (error == ENOTDIR) return NotFound(what + ": a part of its path is not a directory");
  const std::string directory = DirectoryOf(place);
  if (error == ENOENT && !PathExists(directory)) {
    return NotFound(what + ": the directory " + directory + " does not exist");
  }
  return ErrnoStatus(error, what);
}

Result<Target> ResolveTarget(const std::string& path) {
  Target target{.path = path};
  for (int links = 0; links <= kMostLinks; ++links) {
    if (const auto fd = DescriptorNamed(target.path)) {
      target.kind = TargetKind::kDescriptor;
      target.fd = *fd;
      return target;
    }
    struct stat at {};
    if (lstat(target.path.c_str(), &at) != 0) {
      if (errno != ENOENT || path.ends_with('/')) return CannotWrite(errno, path, target.path);
      return target;
    }
    if (S_ISDIR(at.st_mode)) return InvalidArgument(path + " is a directory");
    if (!S_ISLNK(at.st_mode)) {
      target.kind = S_ISREG(at.st_mode) ? TargetKind::kRegular : TargetKind::kDirect;
      target.block_device = S_ISBLK(at.st_mode);
      target.mode = at.st_mode & 07777;
      return target;
    }
    target.through_link = true;
    std::error_code error;
    const stdfs::path to = stdfs::read_symlink(target.path, error);
    if (error) return CannotWrite(error.value(), path, target.path);
    target.path = (stdfs::path(target.path).parent_path() / to).string();  // an absolute `to` stands alone
  }
  return CannotWrite(ELOOP, path, target.path);
}

Status WriteDirectly(const Target& target, const std::string& path, const std::function<Status(int fd)>& write) {
  const UniqueFd fd(target.kind == TargetKind::kDescriptor ? fcntl(target.fd, F_DUPFD_CLOEXEC, 0)
                                                           : open(target.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return CannotWrite(errno, path, target.path);
  const Status written = write(fd.get());
  return !written.ok() && ReaderLeft(fd.get()) ? Status::Ok() : written;
}

}  // namespace

bool ReaderLeft(int fd) {
  pollfd at{fd, 0, 0};
  return poll(&at, 1, 0) == 1 && (at.revents & POLLERR) != 0;
}

Status WriteTarget(const std::string& path, bool overwrite, const std::function<Status(int fd)>& write) {
  MR_ASSIGN_OR_RETURN(const Target target, ResolveTarget(path));
  const bool replaces = target.kind == TargetKind::kRegular || target.block_device ||
                        (target.kind == TargetKind::kNew && target.through_link);
  if (replaces && !overwrite) return Rejected("local file " + path + " exists");
  if (target.kind == TargetKind::kDirect || target.kind == TargetKind::kDescriptor) {
    return WriteDirectly(target, path, write);
  }
  const size_t name = target.path.rfind('/') + 1;  // 0 without a slash
  const std::string hidden =
      target.path.substr(0, name) + "." + target.path.substr(name) + ".part-" + std::to_string(getpid());
  Status status = [&]() -> Status {
    const UniqueFd fd(open(hidden.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!fd.valid()) return CannotWrite(errno, path, target.path);
    if (target.kind == TargetKind::kRegular) (void)fchmod(fd.get(), target.mode);  // of another owner: the default
    MR_RETURN_IF_ERROR(write(fd.get()));
    if (rename(hidden.c_str(), target.path.c_str()) != 0) return CannotWrite(errno, path, target.path);
    return Status::Ok();
  }();
  if (!status.ok()) unlink(hidden.c_str());
  return status;
}

Status WriteTarget(const std::string& path, std::string_view bytes) {
  return WriteTarget(path, true, [&](int fd) -> Status {
    MR_RETURN_IF_ERROR(WriteAll(fd, bytes).With("cannot write " + path));
    struct stat at {};
    if (fstat(fd, &at) == 0 && S_ISREG(at.st_mode) && fsync(fd) != 0) return ErrnoStatus(errno, "cannot write " + path);
    return Status::Ok();
  });
}

Status CheckTarget(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const Target target, ResolveTarget(path));
  if (target.kind == TargetKind::kDescriptor) {
    return fcntl(target.fd, F_GETFD) < 0 ? CannotWrite(errno, path, target.path) : Status::Ok();
  }
  const bool direct = target.kind == TargetKind::kDirect;
  const std::string place = direct ? target.path : DirectoryOf(target.path);
  if (access(place.c_str(), direct ? W_OK : W_OK | X_OK) != 0) return CannotWrite(errno, path, target.path);
  return Status::Ok();
}

}  // namespace mr
