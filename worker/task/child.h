// The main functions of a child process, which the helper has just cloned, and of the helper.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "worker/task/room.h"

namespace mr::task {

// Sets the limits and the environment of the process for this task.
void PrepareTask(const struct WireTask& task);

struct ChildSetup {
  int control = -1, arena = -1, log = -1;  // as the helper received them
  std::vector<int> joins;                  // files of control groups, to enter these
  pid_t parent = 0;                        // the daemon's pid as the child sees it; 0 from another namespace
  uid_t user = 0;                          // as for Room::Begin
  bool network = false;
};
// Runs the tasks of a child, in the room. Never returns.
[[noreturn]] void ChildMain(const ChildSetup& setup, Room* room);

// Runs the helper: makes children on request until the daemon is gone, then kills what they left. Returns the exit code
// of the process. library: of the engine, loaded before the first child, so that each child has it; "" = none. Never a
// user's: the helper is in no room. protocol: the daemon's.
int HelperMain(int socket, const std::string& library, uint32_t protocol, const RoomOptions& rooms);

}  // namespace mr::task
