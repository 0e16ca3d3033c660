// Filters of system calls (seccomp) for processes that run user code, made by libseccomp.
//
// Two programs share the work. The base filter is installed once, in the helper, and its children inherit it without
// cost. The socket filter is the part that depends on a task, and is a few instructions long. Denied calls return
// EACCES. clone3 returns ENOSYS, so that the C library uses clone, whose flags can be checked. Calls of foreign ABIs
// (i386, x32) return EACCES, too.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/status.h"

namespace mr::task {

enum class FilterKind : uint8_t {
  kBase,          // all that no task may call (syscall_filter.cc has the list); allows sockets
  kBaseAndModes,  // besides, what Landlock lacks: changes of modes and extended attributes, set-uid files
  kBaseAndSetId,  // kBase, and set-uid files: for tasks with users of their own, which own what they may change
  kNoSockets,     // denies socket() for all families; socketpair() stays
  kReadFiles,     // denies all but memory, files that are open, and opening others to read them
  kInternet,      // denies socket() for all families but IPv4, IPv6 and routing netlink, which name look-ups need
};

class SyscallFilter {
 public:
  // Compiles a filter. Errors: kInternal, with the call that libseccomp could not add. Cost: 0.3 ms (measured).
  static Result<SyscallFilter> Compile(FilterKind kind);

  // Installs the filter in this thread, for it and all that it starts, for good. Returns 0 or errno. Requires:
  // no_new_privs is set. Async-signal-safe.
  int Install() const;
  size_t instructions() const { return program_.size(); }

 private:
  std::vector<uint64_t> program_;  // of struct sock_filter
};

}  // namespace mr::task
