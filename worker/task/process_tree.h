// Counts, describes and kills the processes below an attempt's process, through /proc. Linked by the daemon's task
// host, and by the helper, which ends attempts without the daemon when their lease runs out. Any thread.
//
// An attempt's process is a subreaper (PR_SET_CHILD_SUBREAPER). As long as it lives, what it has started stays below
// it, in any session and after any number of forks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/base/time.h"

namespace mr::task {

// Returns the number of processes and threads of `root` and of all below it, including ended ones that nobody has
// waited for. Stops a little above `most`. 0 if there is no such process. Cost: 10 to 20 us per process (measured).
uint32_t CountTree(pid_t root, uint32_t most);

// Kills what is below `root`, except processes for which keep() holds, and those below them. `root` itself goes on:
// stop it first if it may start more. Waits for their end, at most for `limit`. Returns whether nothing alive is left.
bool KillBelow(pid_t root, Duration limit, const std::function<bool(pid_t)>& keep = nullptr);

// Identifies a process permanently: its number, and its start time in the kernel's ticks.
struct Process {
  pid_t pid = 0;
  uint64_t start = 0;
  auto operator<=>(const Process&) const = default;
};

// Like KillBelow, in rounds that do not wait. A killed process runs no code any more. If it is still there after
// `patience` (its disk does not answer, or a debugger holds it), it is stuck, and is not waited for again.
class KillRounds {
 public:
  explicit KillRounds(Duration patience) : patience_(patience) {}
  // Kills what is below `root`. Returns how many of these processes have not ended yet, without stuck ones. ended: also
  // those that nobody has waited for.
  size_t Round(pid_t root, bool ended, const std::function<bool(pid_t)>& keep = nullptr);
  // Returns the stuck processes below any root.
  std::set<Process> Stuck() const;

 private:
  struct Killed {
    uint64_t start = 0;
    Instant at;
    bool stuck = false;
  };
  const Duration patience_;
  std::map<pid_t, Killed> killed_;
};

// The environment variable that identifies processes which have lost the attempt's process above them. Its value is the
// identity of the host's data directory, ':', and a random number for each life of a host.
inline constexpr const char* kMarkVariable = "MR_WORKER_LIFE";

// Kills all processes of this machine whose environment has a variable that begins with `mark` ("NAME=value"), wherever
// they are in the tree. Spares the caller, and processes that also have `except` (if that is not empty). Waits for
// their end, at most for `limit`. Returns how many. Does not find a process that began its program without the
// variable. Cost: about 10 us per pass and process of the machine.
size_t KillMarked(std::string_view mark, const std::string& except, Duration limit);

// Returns the bytes on disk of the files of this device that `root` and processes below it have open, and that have no
// name. Cost: some us per open descriptor.
uint64_t UnlinkedBytes(pid_t root, uint64_t device);

// Describes `root` and the first few processes below it: name, state (proc(5)), and where in the kernel each waits.
// Example: "sh S do_wait, sleep S hrtimer_nanosleep".
std::string DescribeTree(pid_t root);

}  // namespace mr::task
