// A unix socket on which a daemon listens for processes of its own user.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::rpc {

class UnixSocket {
 public:
  // Binds and listens. The directory is made with mode 0700 if it does not exist; the socket has mode 0600. A socket
  // that a killed daemon left is replaced, one that answers is not. Errors: kInvalidArgument (no absolute path, over
  // 107 bytes); kNotAllowed (the directory belongs to another user or is open to others); kRejected (another program
  // listens there, or something else has the name); of the file system.
  static Result<UnixSocket> Bind(const std::string& path);
  UnixSocket() = default;
  UnixSocket(UnixSocket&& other) noexcept { *this = std::move(other); }
  UnixSocket& operator=(UnixSocket&& other) noexcept;
  // Removes the name, unless another socket has it by now.
  ~UnixSocket();

  const std::string& path() const { return path_; }
  // Gives the listening descriptor away; the name stays this object's.
  int TakeDescriptor() { return fd_.release(); }

 private:
  std::string path_;  // empty: none
  dev_t device_ = 0;  // of the socket's name
  ino_t inode_ = 0;
  UniqueFd fd_;
};

}  // namespace mr::rpc
