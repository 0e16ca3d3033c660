#include "common/rpc/unix_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/io/secret_file.h"
#include "common/rpc/connection.h"

namespace mr::rpc {
namespace {

constexpr int kBacklog = 128;  // connections that wait for an accept; as for the ports

// Makes the directory of a socket for this user alone, or checks that it is so.
Status CheckSocketDirectory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "cannot make directory " + directory);
  }
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return ErrnoStatus(errno, "cannot stat " + directory);
  if (!S_ISDIR(info.st_mode)) return InvalidArgument(directory + " is no directory");
  if (info.st_uid == ::geteuid() && (info.st_mode & 077) == 0) return Status::Ok();
  return {Code::kNotAllowed, "a unix socket stands in a directory that only its daemon's user can enter, and " +
                                 directory + " is not: make one with mkdir -m 700"};
}

// Removes a socket that nobody serves.
Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0)
    return errno == ENOENT ? Status::Ok() : ErrnoStatus(errno, "cannot stat " + path);
  if (!S_ISSOCK(info.st_mode)) return Rejected(path + " exists and is no socket; remove it, or choose another path");
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return ErrnoStatus(errno, "cannot make a socket");
  const int connected = ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  // EAGAIN: its queue is full, so somebody listens.
  if (connected == 0 || errno == EAGAIN) {
    return Rejected("another program listens on " + path + "; end it, or choose another path");
  }
  if (errno != ECONNREFUSED) return ErrnoStatus(errno, "cannot find out whether " + path + " is in use");
  if (::unlink(path.c_str()) != 0) return ErrnoStatus(errno, "cannot remove the left socket " + path);
  return Status::Ok();
}

}  // namespace

Result<UnixSocket> UnixSocket::Bind(const std::string& path) {
  MR_RETURN_IF_ERROR(ParseUnixPath("unix:" + path).status());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  MR_RETURN_IF_ERROR(CheckSocketDirectory(path.substr(0, std::max<size_t>(path.rfind('/'), 1))));
  MR_RETURN_IF_ERROR(RemoveStale(path, address));
  UnixSocket made;
  made.fd_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.fd_.valid()) return ErrnoStatus(errno, "cannot make a socket");
  if (::bind(made.fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ErrnoStatus(errno, "cannot listen on " + path);
  }
  made.path_ = path;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "cannot stat " + path);
  made.device_ = info.st_dev;
  made.inode_ = info.st_ino;
  if (::chmod(path.c_str(), 0600) != 0) return ErrnoStatus(errno, "cannot set the mode of " + path);
  if (::listen(made.fd_.get(), kBacklog) != 0) return ErrnoStatus(errno, "cannot listen on " + path);
  return made;
}

UnixSocket& UnixSocket::operator=(UnixSocket&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

UnixSocket::~UnixSocket() {
  if (path_.empty()) return;
  // Not the socket of a later daemon.
  struct stat info {};
  if (::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_) {
    (void)::unlink(path_.c_str());
  }
}

}  // namespace mr::rpc
