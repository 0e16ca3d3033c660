// The processes below an attempt's: counted, described and killed through /proc. Linked by the daemon's task host and
// by the helper, which ends attempts without the daemon when their lease runs out. Any thread.
//
// An attempt's process is a subreaper (PR_SET_CHILD_SUBREAPER): what it has started stays below it, in whatever session
// and however often forked, for as long as it lives.
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

// Processes and threads: of `root` and of all below it, with those that have ended and that nobody has waited for.
// Stops a little above `most`. 0 where there is no such process. Cost: 10 to 20 us per process (measured).
uint32_t CountTree(pid_t root, uint32_t most);

// Kills what is below `root`, but for processes of which keep() holds and those below them. `root` itself goes on: stop
// it first where it may start more. Returns: nothing alive is left. Waits for that, at most for `limit`.
bool KillBelow(pid_t root, Duration limit, const std::function<bool(pid_t)>& keep = nullptr);

// With the time at which it began (the kernel's ticks) a number names a process for good.
struct Process {
  pid_t pid = 0;
  uint64_t start = 0;
  auto operator<=>(const Process&) const = default;
};

// As KillBelow, in rounds that do not wait. What was killed runs no code any more. So one that does not end all the
// same (it waits for a disk that does not answer, a debugger holds it) is stuck after `patience`, and is not waited for
// again.
class KillRounds {
 public:
  explicit KillRounds(Duration patience) : patience_(patience) {}
  // Returns: how many below `root` have yet to end, but for stuck ones. ended: also those that nobody has waited for.
  size_t Round(pid_t root, bool ended, const std::function<bool(pid_t)>& keep = nullptr);
  // Below any root.
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

// The environment variable by which processes that have lost the one above them are found. Its value is the identity of
// the host's scratch directory, ':', and a number that is drawn for each life of a host.
inline constexpr const char* kMarkVariable = "MR_WORKER_LIFE";

// Kills all processes of this machine whose environment has a variable that begins with `mark` ("NAME=value"), wherever
// they are in the tree; but for the caller, and for those that have `except` (where not empty), too. Returns: how many.
// Waits for their end, at most for `limit`. A process that began its program without the variable is not found. Cost:
// about 10 us per process of the machine and look.
size_t KillMarked(std::string_view mark, const std::string& except, Duration limit);

// "sh S do_wait, sleep S hrtimer_nanosleep": name, state (proc(5)) and where in the kernel each waits, of `root` and of
// the first few below it.
std::string DescribeTree(pid_t root);

}  // namespace mr::task
