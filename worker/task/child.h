// The main functions of a child process, which the helper has just cloned, and of the helper.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "worker/task/room.h"

namespace mr::task {

// Sets the limits and the environment of the process for this task.
void PrepareTask(const struct WireTask& task);

// Runs the tasks of a child, in the room. The descriptors are those that the helper received. Never returns.
[[noreturn]] void ChildMain(int control, int arena, int log, pid_t daemon, Room* room);

// Runs the helper: makes children on request until the daemon is gone, then kills what they left. Returns the exit code
// of the process. library: of the engine, loaded before the first child, so that each child has it; "" = none. Never a
// user's: the helper is in no room. protocol: the daemon's.
int HelperMain(int socket, const std::string& library, uint32_t protocol, const RoomOptions& rooms);

}  // namespace mr::task
