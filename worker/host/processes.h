// Manages the processes of the host: the helper that makes them, their end, and the orphans that they leave behind.
// There is one registry of children per process, because orphans of all hosts pass to the same parent.
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
#include "worker/host/room_report.h"
#include "worker/task/process_tree.h"
#include "worker/task/protocol.h"
#include "worker/task/room_options.h"

namespace mr::worker {

struct Spawned {
  pid_t pid = 0;
  UniqueFd pidfd;
};

// Descriptors for a new child: its ends, and the daemon's own, which stay open until it is reaped. Borrowed.
struct ChildFds {
  int control = -1, arena = -1, log = -1;
  int own_control = -1, own_log = -1;
};

// The needs of a child for its room, from tier 2 on (task/room.h).
struct ChildRoom {
  uid_t user = 0;          // 0: the daemon's
  bool network = false;    // at tier 3 it has the machine's network
  std::vector<int> joins;  // by which it enters its control groups. Borrowed.
};

// The time until which attempts with side effects may run. The helper enforces it (worker/adr/0003). Any thread.
class LeaseClock {
 public:
  static Result<std::shared_ptr<LeaseClock>> Make();
  ~LeaseClock();
  LeaseClock(const LeaseClock&) = delete;
  LeaseClock& operator=(const LeaseClock&) = delete;

  // Extends the lease; an earlier time has no effect. Before the first call no lease is kept.
  void RenewUntil(Instant until);
  bool over() const;
  // Returns, once, whether the helper ended this child because the lease ran out. Requires: it has not been reaped.
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
  // Starts the helper and waits until it has confirmed that it is of this build: some ms, at most 5 s. Errors: name the
  // path; kRejected for another build. It execs, so threads do no harm. But children die with the calling thread, and
  // orphans pass to the main thread. data_directory, rooms: as in TaskHostOptions. Errors also: kUnavailable if it
  // cannot give the wanted tier.
  static Result<Helper> Start(const std::string& mrtask_path, const std::string& preload,
                              const std::string& data_directory = "", const task::RoomOptions& rooms = {});
  Helper(Helper&& other) noexcept;
  Helper& operator=(Helper&&) = delete;
  ~Helper();

  // Makes a child with these descriptors. Blocks for about 100 us (measured). If lost() holds after an error, the
  // helper process is gone or stuck, and no child can be made before Replace. leased: the helper ends it, with all that
  // it has started, when lease() runs out. Errors: kRejected if the lease has run out.
  Result<Spawned> Spawn(const ChildFds& fds, bool leased = false, const ChildRoom& room = {});
  const std::shared_ptr<LeaseClock>& lease() const { return lease_; }
  bool lost() const { return lost_; }
  // The rooms that its children get.
  const RoomReport& room() const { return room_; }
  // Returns whether its process has ended. Cost: one system call.
  bool Gone() const;
  // The mark of this host's processes (process_tree.h), and the prefix of the marks of all hosts of this data
  // directory; "" without a data directory.
  const std::string& life() const { return life_; }
  const std::string& lives() const { return lives_; }
  // Replaces the helper process. Children of the old one continue. Errors: as for Start.
  Status Replace();

  // Reaps a child. Call it once, when pidfd is readable. Does not wait. What the child has started passes to this
  // process: SweepOrphans() ends it.
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
  // Makes a request, which also reports ended_.
  task::SpawnRequest Request(task::HelperOp op, pid_t pid = 0, bool leased = false);

  std::string mrtask_path_, preload_;
  task::RoomOptions rooms_;
  RoomReport room_;
  UniqueFd socket_;
  pid_t pid_ = 0;
  bool lost_ = false;
  struct Made {
    bool leased = false;
    int own_control = -1, own_log = -1;
    pid_t keeper = 0;  // of its namespaces, or 0
  };
  std::map<pid_t, Made> children_;
  std::vector<pid_t> ended_;  // reaped, not yet reported to the helper process; at most SpawnRequest::kMostEnded
  std::string lives_, life_;
  std::shared_ptr<LeaseClock> lease_;
};

// Sends SIGKILL to the child and to its process group. May be repeated until Reap.
void KillChild(const Spawned& child);
// Stops the child and kills what it has started. Call it before the child is killed: what it has started stays below it
// until then. Does not wait. Returns whether all that was below it has ended.
bool KillBelow(const Spawned& child);

// Kills what ended children of any host have left behind, and collects what has ended of it. Does not wait.
struct Swept {
  size_t left = 0;  // have yet to end
  // Killed some time ago and still there. They run no code, and nobody waits for them.
  std::set<task::Process> stuck;
};
Swept SweepOrphans();

// Kills and reaps a child, and waits at most kPatience (processes.cc) for the end of what it has started.
void EndChild(Helper* helper, const Spawned& child);

// Returns a name such as "SIGSEGV".
std::string SignalName(int signal);

}  // namespace mr::worker
