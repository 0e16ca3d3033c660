// Holds the last report of a job whose output is in the block store until each block of the output has a replica on a
// live worker. The report then goes to the scheduler, which commits the job.
//
// A part that was finished earlier may have lost its only replica since then. Its worker gets the time of a lost worker
// (NamespaceConfig::repair_delay) to come back; after that the report is fed, and the job fails with the name of the
// block. The wait leaves no trace in the journal: a report that is held has no verdict yet, and its worker sends it
// again to the next master.
#pragma once

#include <functional>
#include <vector>

#include "master/core/master_core.h"
#include "master/host/host_clock.h"
#include "master/host/worker_calls.h"

namespace mr::master {

// Thread: the master's. Bounds: at most one report per running attempt.
class HeldCommits {
 public:
  HeldCommits(MasterCore& core, HostClock& clock);

  // Returns whether the report is held: it would commit its job over a block without a replica on a live worker.
  bool Hold(WorkerId worker, Incarnation incarnation, const NumberedReport& sent);
  // Each tick: feeds the reports whose wait is over.
  using FeedFn = std::function<void(WorkerId worker, Incarnation incarnation, NumberedReport sent)>;
  void FeedReady(const FeedFn& feed);

 private:
  struct Held {
    WorkerId worker;
    Incarnation incarnation = 0;
    Instant since;  // lived
    NumberedReport sent;
    BlockId keeps;  // had no replica on a live worker at the last walk over the blocks
  };
  bool StillHeld(Held* held);

  MasterCore& core_;
  HostClock& clock_;
  std::vector<Held> held_;
};

}  // namespace mr::master
