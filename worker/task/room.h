// A room: what user code can reach. A child enters it before it loads any library of a user, and never leaves it.
//
// Tier 0 needs nothing of the machine: no new privileges, no capabilities, filters of system calls (syscall_filter.h),
// limits (child.cc), the environment of environment.h. Tier 1 adds Landlock: the child reads the system's libraries and
// commands, its operator library, its job's side files and --task_paths, and reads and writes its job's scratch
// directory. Inputs come as descriptors. docs/security.md has the attacks, by tier.
//
// All that children share is made once, in the helper, and inherited: the base filter, and a descriptor for each path.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/task/landlock.h"
#include "worker/task/protocol.h"
#include "worker/task/room_options.h"
#include "worker/task/syscall_filter.h"

namespace mr::task {

class Room {
 public:
  // Prepares the rooms of all children, in the helper, before it makes one. Binds the helper itself, too: to the base
  // filter, and without capabilities. library: of the engine, which all children may read; "" = none. Tries a room out
  // in a child of its own. Errors: the kernel gives not even tier 0. Cost: 2 ms (measured).
  static Result<Room> Prepare(const RoomOptions& options, const std::string& library);

  // The tier that children get: the wanted one, or less where the kernel does not give it (why() then has the reason).
  int tier() const { return tier_; }
  int landlock_abi() const { return landlock_abi_; }
  const std::string& why() const { return why_; }

  // The child's first step, before it closes the descriptors that it inherited. Returns 0 or errno.
  int Begin();
  // The descriptor to keep until Enter; -1: none.
  int fd() { return rules_.fd().get(); }
  // That descriptor was moved to this number.
  void MovedTo(int fd) { rules_.fd().reset(fd); }

  // Enters the room of this task, once per process. Makes its scratch directory. With less than the worker's own
  // rights, that is also the current directory and $HOME. Errors: kUnavailable, with the step that failed; the process
  // must not run the task.
  Status Enter(const WireTask& task);

 private:
  struct Known {
    UniqueFd at;
    Landlock::Access access;
  };
  void Know(const std::string& path, Landlock::Access access);
  void KnowSystem();
  bool HasFileRules() const { return tier_ >= 1; }
  // Tries the room out in a child. Returns "" or what is wrong with it.
  std::string Try();
  Status AllowTask(const WireTask& task);
  Status AllowSideFiles(const std::string& directory);

  int tier_ = 0, landlock_abi_ = 0;
  bool own_rights_ = false;
  std::string why_;
  std::vector<Known> known_;
  std::vector<SyscallFilter> filters_;  // of sockets: for tasks without and with a network
  Landlock rules_;
};

}  // namespace mr::task
