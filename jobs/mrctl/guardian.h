// The process that briefly outlives mrctl and removes the remains of a local cluster.
#pragma once

#include <sys/types.h>

#include <string>

namespace mr::ctl {

// Runs in the forked child; never returns. Reads pids of daemons from `pipe` to its end, waits for those processes
// (kill -9 after kGuardianGraceSeconds), and removes `directory`.
[[noreturn]] void RunGuardian(int pipe, const std::string& directory);

// Called in mrctl: adds a process to wait for.
void NotifyGuardian(int pipe, pid_t pid);

// Daemons end at once with their lifeline. This limit is for one that hangs.
inline constexpr int kGuardianGraceSeconds = 5;

}  // namespace mr::ctl
