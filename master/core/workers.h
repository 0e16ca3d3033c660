// The workers that the master knows: names, lives, sessions, leases. Finds which must be given up; the host acts on it.
// Thread: the master's.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/model/disk_room.h"
#include "master/sched/event.h"

namespace mr::master {

// How often leases are looked at.
inline constexpr Duration kTick = Millis(250);
// A worker that beats, but whose control loop does not move: no new attempts after kLoopStall; lost after kLoopLease,
// since nothing that is said to it is heard (guesses: a loop that a disk holds up comes back within seconds).
inline constexpr Duration kLoopStall = Seconds(5);
// A worker whose loop has not moved for so long (four beats; as long as a look at an output waits) answers nobody now.
inline constexpr Duration kLoopPause = Seconds(2);
inline constexpr Duration kLoopLease = Seconds(60);
// Beats each 500 ms; a lease of ten: a loaded machine of two cores still makes one of them.
inline constexpr Duration kBeat = Millis(500);
inline constexpr Duration kLease = Seconds(5);
// How long a worker may be without its control connection while it still beats.
inline constexpr Duration kReconnectGrace = Seconds(2);
// How long a lost worker may take to come back before jobs that only it has room or memory for are refused. A guess: a
// restart takes some seconds. Equal to the block store's delay of repairs, dfs::NamespaceConfig::repair_delay.
inline constexpr Duration kLostGrace = Seconds(15);
// How long a restarted master waits for the workers it knew.
inline constexpr Duration kRestartGrace = Seconds(10);
// How long a worker without contact to its master lets attempts run. None of their results can become
// visible meanwhile: a lost worker must stop them and drop its replicas when it registers again, and
// their reports are stale. So this may be longer than the lease, and jobs survive a master that is away
// for a minute.
inline constexpr Duration kReattachWindow = Seconds(120);

// How long an attempt with side effects outlives its worker's last answered contact: the worker's helper ends it then
// (worker/adr/0003). Longer than kLease, so that a pause which loses no worker ends no attempt.
inline constexpr Duration kEffectsLease = Seconds(10);
// From a lease's end to the launch of another attempt: 2 s for the helper's kill, the rest for unequal clocks and a
// loaded machine (guess).
inline constexpr Duration kLeaseMargin = Seconds(5);

// So many outputs that its memory damaged, and a worker gets no new attempts: one may be a stray particle (guess).
inline constexpr uint32_t kDistrustedFrom = 3;

struct WorkerView {
  WorkerId id;
  std::string name;
  // Registered and not given up. Fields without another note are of the present incarnation.
  bool alive = false;
  sched::WorkerRegistered info;  // inventory and running are not kept
  uint16_t http_port = 0;
  uint64_t capacity_bytes = 0, used_bytes = 0;
  uint32_t pid = 0;
  int8_t tier = -1;               // of the rooms of its tasks; -1: not known
  uint32_t reports_given_up = 0;  // that it could not deliver, as it said when it registered
  uint64_t session = 0;           // 0 = no control connection
  uint32_t epoch = 0;             // as its registration was answered; commands to it carry it
  uint64_t batches = 0;           // of commands sent since it registered
  bool answered = false;          // its registration was answered: commands may go
  uint32_t heartbeat_connections = 0;
  // On the axis of HostClock::Lived: times in which the master stood still do not count.
  Instant last_beat, session_lost, registered;
  Instant lost;               // when this master gave it up; 0: it has not
  Instant loop_moved;         // its control loop, as its beats say
  bool loop_stalled = false;  // for kLoopStall and longer
  // When it last registered and was last lost, and why, also of a life that another one replaced. 0: not since this
  // master started. For people.
  uint64_t registered_unix_ms = 0, lost_unix_ms = 0;
  std::string lost_why;
  DiskRoom room;
  bool full = false;             // as the scheduler and the namespace were told: neither attempts nor blocks
  bool unfit = false;            // as the scheduler knows: attempts cannot write there (room.failure)
  bool drained_by_user = false;  // over all of its lives
  bool excluded = false;         // by an operator, over all of its lives: it may not register
  uint32_t wrong_outputs = 0;    // that its memory damaged, over all of its lives, since an operator last undrained it
  bool distrusted() const { return wrong_outputs >= kDistrustedFrom; }
  bool leaving = false;  // it has said so
  bool away = false;     // known from the journal, has not come back yet
  // Alive when a master stopped, and not registered since, also where a later master gave it up. Writes count on it
  // until it registers or an operator drains or excludes it (dfs::MasterStarted::awaited).
  bool awaited = false;
  // Stages, directories and jobs that were sent in this session.
  std::set<StageId> stages;
  std::map<StageId, uint64_t> directories;  // version sent
  std::set<JobId> holds;                    // jobs with an output or a requested replica there, but no stage

  // Its registration is taken. now: lived. Before its record is applied: commands that this decides for it are kept
  // until the registration is answered.
  void BeginSession(uint64_t number, uint32_t master_epoch, Instant now) {
    alive = true;
    answered = false;
    session = number;
    epoch = master_epoch;
    last_beat = registered = loop_moved = now;
    loop_stalled = full = unfit = false;  // its first beat says whether it is full or unfit
    stages.clear();
    directories.clear();
    holds.clear();
    batches = 0;
  }
  // Nothing that the master knows keeps new attempts from it.
  bool TakesAttempts() const { return MayTakeAttempts() && !drained_by_user && !distrusted(); }
  // The same, but for what an operator ends by `undrain`.
  bool MayTakeAttempts() const { return alive && !away && !leaving && !loop_stalled && !full && !unfit; }
  // Not here, and expected back: after a restart of the master, or of its own.
  bool MayReturn(Instant now) const {
    return !excluded && (away || (!alive && lost != Instant{} && now - lost < kLostGrace));
  }
  // Returns "live", "draining", "away", "excluded", "distrusted", "stalled", "unfit", "full", "stopped" (it was drained
  // before) or "lost".
  const char* Word() const;
};

class WorkerTable {
 public:
  // The id of the worker of this name; not valid where there is none.
  WorkerId Named(const std::string& name) const;
  // Ids of workers that were forgotten are not given again: attempts and outputs name them.
  WorkerId NextId() const {
    return {std::max(last_forgotten_.value, workers_.empty() ? 0 : workers_.rbegin()->first.value) + 1};
  }
  void Forget(WorkerId id);
  // The highest id that was forgotten; not valid: none.
  WorkerId last_forgotten() const { return last_forgotten_; }
  void SetLastForgotten(WorkerId id) { last_forgotten_ = id; }
  void Restore(const std::string& name, WorkerId id);
  WorkerView* Find(WorkerId id);
  // The one with this life, if it is alive.
  WorkerView* FindAlive(WorkerId id, Incarnation incarnation);
  WorkerView* FindIncarnation(Incarnation incarnation);
  WorkerView* FindSession(uint64_t session);

  // Whether a process that calls itself `incarnation` may take this name now. kRejected: another one has it, or an
  // operator excluded it.
  Status MayRegister(const WorkerView& worker, Incarnation incarnation, Instant now) const;
  // Those to be given up now, and why.
  std::vector<std::pair<WorkerId, std::string>> Expired(Instant now) const;

  uint32_t TotalSlots() const;
  // None is alive, and none is expected back after a restart of the master.
  bool NoneToCome() const;
  std::map<WorkerId, WorkerView>& all() { return workers_; }
  const std::map<WorkerId, WorkerView>& all() const { return workers_; }

 private:
  std::map<WorkerId, WorkerView> workers_;
  std::map<std::string, WorkerId> names_;
  WorkerId last_forgotten_;
};

}  // namespace mr::master
