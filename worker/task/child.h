// The body of a child process, which the helper has just cloned.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace mr::task {

// Limits and environment of the process as the task wants them.
void PrepareTask(const struct WireTask& task);

// Descriptors as they came to the helper. Never returns.
[[noreturn]] void ChildMain(int control, int arena, int log, pid_t daemon);

// The helper: makes children on request until the daemon is gone, then kills what they left.
// Returns the exit code of the process. `library` ("" = none) is loaded before the first child, so
// that each child is born with it. protocol: the daemon's.
int HelperMain(int socket, const std::string& library, uint32_t protocol);

}  // namespace mr::task
