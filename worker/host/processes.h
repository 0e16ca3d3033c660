// Processes of the host: the helper that makes them, their end, and what they leave behind. The
// registry of children is one per process, because orphans of all hosts come to the same parent.
#pragma once

#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::worker {

struct Spawned {
  pid_t pid = 0;
  UniqueFd pidfd;
};

// The helper process (mrtask helper). Used by one thread.
class Helper {
 public:
  // REQUIRES: called on the main thread, before there is another: children die with this thread.
  static Result<Helper> Start(const std::string& mrtask_path, const std::string& preload);
  Helper(Helper&&) = default;
  Helper& operator=(Helper&&) = default;
  ~Helper();

  // Makes a child with these descriptors; blocks for about 100 us (measured).
  Result<Spawned> Spawn(int control, int arena, int log);

  // To be called once when pidfd is readable. Ends all that the child has started, then reaps it.
  // Waits at most some 100 ms for stubborn descendants.
  struct Exit {
    bool by_signal = false;
    int value = 0;  // signal or exit code
  };
  Exit Reap(const Spawned& child);

 private:
  Helper() = default;
  UniqueFd socket_;
  Spawned process_;
};

// SIGKILL to the child and to its process group. Repeating is fine until Reap.
void KillChild(const Spawned& child);

// "SIGSEGV"
std::string SignalName(int signal);

}  // namespace mr::worker
