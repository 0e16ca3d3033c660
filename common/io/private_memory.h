// Keeps the memory of a daemon from other processes of its user.
#pragma once

#include <sys/prctl.h>

namespace mr {

// Makes this process undumpable: processes of the same user cannot trace it or read its memory and environment, and a
// crash writes no core. A process with CAP_SYS_PTRACE, such as a debugger of root, still can. No effect in builds with
// AddressSanitizer, whose check for leaks traces its own process. Call it before the process holds a secret.
inline void KeepMemoryPrivate() {
#ifndef __SANITIZE_ADDRESS__
  prctl(PR_SET_DUMPABLE, 0);
#endif
}

}  // namespace mr
