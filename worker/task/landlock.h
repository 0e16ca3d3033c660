// Landlock: the kernel's rules about the files that a process can reach, without any privilege. By raw system calls,
// because Debian 12 has no library for it, and its headers lack what newer kernels offer.
#pragma once

#include <cstdint>

#include "common/io/files.h"

namespace mr::task {

// Returns the version of the kernel's interface, or 0 where there is none. 1 is Linux 5.13. Without 3 (6.2) a process
// may truncate files outside of its rules. From 6 (6.12) on, it can be kept from sending signals to the outside.
int LandlockAbi();

// A set of rules, and the process that they bind. What no rule allows is denied with EACCES.
class Landlock {
 public:
  enum Access : uint8_t { kRead, kReadWrite };  // kRead: also to list directories and to execute

  // Makes an empty set, which handles all that this kernel can. Returns 0 or errno.
  int Make(int abi);
  // Allows access to the file, or to all below the directory. at: opened with O_PATH. Returns 0 or errno.
  int Allow(int at, Access access);
  // Binds this thread and all that it starts to the rules, for good. Requires: no_new_privs is set. Returns 0 or errno.
  int Enter();

  // The set's descriptor; replace it to keep it at another number.
  UniqueFd& fd() { return fd_; }
  bool made() const { return fd_.valid(); }

 private:
  UniqueFd fd_;
  uint64_t handled_ = 0;
};

}  // namespace mr::task
