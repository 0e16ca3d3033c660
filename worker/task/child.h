// The main functions of a child process, which the helper has just cloned, and of the helper.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace mr::task {

// Sets the limits and the environment of the process for this task.
void PrepareTask(const struct WireTask& task);

// Runs the tasks of a child. The descriptors are those that the helper received. Never returns.
[[noreturn]] void ChildMain(int control, int arena, int log, pid_t daemon);

// Runs the helper: makes children on request until the daemon is gone, then kills what they left. Returns the exit code
// of the process. library: loaded before the first child, so that each child has it; "" = none. protocol: the daemon's.
int HelperMain(int socket, const std::string& library, uint32_t protocol);

}  // namespace mr::task
