// Processes of the host: the helper that makes them, their end, and what they leave behind. The
// registry of children is one per process, because orphans of all hosts come to the same parent.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/files.h"
#include "worker/task/process_tree.h"
#include "worker/task/protocol.h"

namespace mr::worker {

struct Spawned {
  pid_t pid = 0;
  UniqueFd pidfd;
};

// What a child is made with: its ends, and the daemon's own, which stay open until it is reaped. Borrowed.
struct ChildFds {
  int control = -1, arena = -1, log = -1;
  int own_control = -1, own_log = -1;
};

// Until when attempts with side effects may run; the helper enforces it (worker/adr/0003). Any thread.
class LeaseClock {
 public:
  static Result<std::shared_ptr<LeaseClock>> Make();
  ~LeaseClock();
  LeaseClock(const LeaseClock&) = delete;
  LeaseClock& operator=(const LeaseClock&) = delete;

  // Only ever later than before; before the first call no lease is kept.
  void RenewUntil(Instant until);
  bool over() const;
  // Whether the helper ended this child, which has not been reaped, because the lease ran out. Once.
  bool TakeEnded(pid_t pid);
  int fd() const { return fd_.get(); }

 private:
  LeaseClock() = default;
  UniqueFd fd_;
  task::LeasePage* page_ = nullptr;
};

// The helper process (mrtask helper). Used by one thread.
class Helper {
 public:
  // Blocks until the helper has said that it is of this build (some ms), at most 5 s. Errors name the
  // path; kRejected: another build's. Execs, so threads do no harm; children die with the thread that
  // calls, though, and orphans go to the main thread. `data_directory`: as in TaskHostOptions.
  static Result<Helper> Start(const std::string& mrtask_path, const std::string& preload,
                              const std::string& data_directory = "");
  Helper(Helper&& other) noexcept;
  Helper& operator=(Helper&&) = delete;
  ~Helper();

  // Makes a child with these descriptors; blocks for about 100 us (measured). An error behind which
  // lost() holds: the helper process is gone or stuck, and there will be no children before Replace.
  // leased: the helper ends it with all that it has started when lease() runs out. kRejected: it has.
  Result<Spawned> Spawn(const ChildFds& fds, bool leased = false);
  const std::shared_ptr<LeaseClock>& lease() const { return lease_; }
  bool lost() const { return lost_; }
  // Whether its process has ended; one system call.
  bool Gone() const;
  // How processes of this host are marked (process_tree.h), and how those of each host of this data directory are; ""
  // where there is none.
  const std::string& life() const { return life_; }
  const std::string& lives() const { return lives_; }
  // Another helper process in the place of this one; children of the old one go on. Errors as Start's.
  Status Replace();

  // To be called once when pidfd is readable. Does not wait. What the child has started comes to this process:
  // SweepOrphans() ends it.
  struct Exit {
    bool by_signal = false;
    int value = 0;  // signal or exit code
  };
  Exit Reap(const Spawned& child);

 private:
  Helper() = default;
  Status Launch();
  Status AwaitHello();
  void End();
  // Reports ended_ along.
  task::SpawnRequest Request(task::HelperOp op, pid_t pid = 0, bool leased = false);

  std::string mrtask_path_, preload_;
  UniqueFd socket_;
  pid_t pid_ = 0;
  bool lost_ = false;
  struct Made {
    bool leased = false;
    int own_control = -1, own_log = -1;
  };
  std::map<pid_t, Made> children_;
  std::vector<pid_t> ended_;  // reaped, and not yet reported to the helper process; at most SpawnRequest::kMostEnded
  std::string lives_, life_;
  std::shared_ptr<LeaseClock> lease_;
};

// SIGKILL to the child and to its process group. Repeating is fine until Reap.
void KillChild(const Spawned& child);
// Stops the child and kills what it has started: to be done before the child is killed, so that what it has started
// stays below it until then. Does not wait. Returns: nothing below it is left that has yet to end.
bool KillBelow(const Spawned& child);

// Kills what ended children have left behind, and collects what has ended of it. Does not wait. Any host's.
struct Swept {
  size_t left = 0;  // have yet to end
  // Were killed some time ago and are there all the same: they run no code, and nobody waits for them.
  std::set<task::Process> stuck;
};
Swept SweepOrphans();

// Kills and reaps a child, and waits for the end of what it has started, at most for kPatience (processes.cc).
void EndChild(Helper* helper, const Spawned& child);

// "SIGSEGV"
std::string SignalName(int signal);

}  // namespace mr::worker
