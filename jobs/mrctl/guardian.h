// The process that outlives mrctl for a moment and removes what a local cluster leaves.
#pragma once

#include <sys/types.h>

#include <string>

namespace mr::ctl {

// In the forked child; never returns. Reads pids of daemons from `pipe` until its end, then waits
// for those processes (kill -9 after kGuardianGraceSeconds) and removes `directory`.
[[noreturn]] void RunGuardian(int pipe, const std::string& directory);

// In mrctl: one more process to wait for.
void TellGuardian(int pipe, pid_t pid);

// Daemons end at once when their lifeline does; this is for one that hangs.
inline constexpr int kGuardianGraceSeconds = 5;

}  // namespace mr::ctl
