// A room: what user code can reach. A child enters it before it loads any library of a user, and never leaves it.
//
// Tier 0 needs nothing of the machine: no new privileges, no capabilities, filters of system calls (syscall_filter.h),
// limits (child.cc), the environment of environment.h. Tier 1 adds Landlock: the child reads the system's libraries and
// commands, its operator library, its job's side files and --task_paths, and reads and writes its job's scratch
// directory. Inputs come as descriptors. Tier 2 adds a user for each owner of jobs (room_user.h) and control groups,
// which the daemon makes (host/cgroups.h). Tier 3 adds namespaces (namespaces.h). docs/security.md has the attacks, by
// tier.
//
// All that children share is made once, in the helper, and inherited: the base filter, and a descriptor for each path.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "worker/task/landlock.h"
#include "worker/task/namespaces.h"
#include "worker/task/protocol.h"
#include "worker/task/room_options.h"
#include "worker/task/room_user.h"
#include "worker/task/syscall_filter.h"

namespace mr::task {

class Room {
 public:
  // Prepares the rooms of all children, in the helper, before it makes one. Below tier 2 the helper is bound, too: to
  // the base filter, and without capabilities. library: of the engine, which all children may read; "" = none. Tries
  // each tier out in a child of its own, from the best on. Errors: the kernel gives not even tier 0. Cost: 2 ms
  // (measured).
  static Result<Room> Prepare(const RoomOptions& options, const std::string& library);

  // The tier that children get: the wanted one, or less where the kernel does not give it (why() then has the reason).
  int tier() const { return tier_; }
  int landlock_abi() const { return landlock_abi_; }
  const std::string& why() const { return why_; }

  // Makes a child process, for the helper. flags: for clone(2).
  Result<Cloned> Clone(unsigned long flags) const { return namespaces_.Clone(flags); }
  // The child's first step, before it closes the descriptors that it inherited. user: of the task's owner; used from
  // tier 2 on. network: at tier 3 it has the machine's network. Errors: kUnavailable.
  Status Begin(uid_t user, bool network);
  // The descriptor to keep until Enter; -1: none.
  int fd() { return rules_.fd().get(); }
  // That descriptor was moved to this number.
  void MovedTo(int fd) { rules_.fd().reset(fd); }

  // Enters the room of this task, once per process. Makes its scratch directory. With less than the worker's own
  // rights, that is also the current directory and $HOME. Errors: kUnavailable, with the step that failed; the process
  // must not run the task.
  Status Enter(const WireTask& task);
  // Makes the place of the task's job, from tier 2 on (room_user.h). Once per process, before MoveInto.
  Status MakePlace(const WireTask& task) const { return user_.MakePlace(task); }
  // Changes the paths of a task to those that it has in the room. For each task of the process, before Enter.
  void MoveInto(WireTask* task) const { user_.MoveInto(task); }

 private:
  struct Known {
    UniqueFd at;
    Landlock::Access access;
  };
  void Know(const std::string& path, Landlock::Access access);
  void KnowSystem();
  bool HasFileRules() const { return tier_ >= 1; }
  // Returns the best tier to try. why: the reason why it is no higher.
  int Best(const RoomOptions& options, std::string* why) const;
  // Prepares this tier. Errors: kUnavailable.
  Status PrepareTier(int tier);
  // Tries the room out in a child. Returns "" or what is wrong with it.
  std::string Try(const RoomOptions& options) const;
  std::string TryInChild(const RoomOptions& options);
  Status AllowTask(const WireTask& task);
  Status AllowSideFiles(const std::string& directory);

  int tier_ = 0, landlock_abi_ = 0;
  bool own_rights_ = false;
  std::string why_, closed_;
  std::vector<Known> known_;
  SyscallFilter base_;
  bool base_installed_ = false;  // in this process, and so in its children
  Namespaces namespaces_;
  RoomUser user_;
  std::vector<SyscallFilter> filters_;  // of sockets: for tasks without and with a network
  Landlock rules_;
};

}  // namespace mr::task
