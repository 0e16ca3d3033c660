// Makes the processes of tasks, in the helper: plain ones, and for rooms of tier 3 in namespaces of their own.
//
// At tier 3 a task has its own view of processes, mounts, System V objects and host names, and a network without
// interfaces. The first process of a process namespace must collect orphans, and ignores signals; so it is not the
// task, but a keeper: a process without rights that ends with the task, and all other processes of the namespace with
// it. The task is a child of the daemon, as at other tiers.
#pragma once

#include <sys/types.h>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::task {

struct Cloned {
  pid_t pid = 0;     // in the caller's namespace; 0: this is the new process
  pid_t keeper = 0;  // the first process of its namespace, a child of the caller; 0: it has none
  UniqueFd pidfd;
};

class Namespaces {
 public:
  // Plain processes.
  Namespaces() = default;
  // Processes in namespaces. Moves this process to a network without interfaces, which its children share. Errors:
  // kUnavailable; this process is unchanged.
  static Result<Namespaces> Make();

  // Clones this process, as fork() does. flags: for clone(2), in addition. Errors: kUnavailable, with the step; errno
  // is set. Cost: 60 us; with namespaces 0.4 ms (measured).
  Result<Cloned> Clone(unsigned long flags) const;
  // The new process's first steps: a view of mounts of its own, with its own /proc, and with `network` the machine's
  // network. Errors: kUnavailable.
  Status Begin(bool network) const;
  // Moves this process back to the machine's network, and makes plain processes from then on.
  void Leave();
  bool made() const { return own_pids_.valid(); }

 private:
  UniqueFd own_pids_, machine_network_;
};

}  // namespace mr::task
