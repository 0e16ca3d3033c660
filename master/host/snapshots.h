// Makes snapshots of the journal by a replay of its closed part, beside the running master. So the master's thread
// neither waits nor copies its state, and the snapshot is the state that a restart reads.
#pragma once

#include <cstdint>

#include "common/base/status.h"
#include "common/exec/loop.h"
#include "master/core/master_core.h"
#include "master/host/outlets.h"

namespace mr::master {

// Thread: the master's; replays run on a thread of low priority.
class Snapshots {
 public:
  // config: of the running core.
  Snapshots(MasterCore::Config config, Loop& loop, Outlets& outlets);

  // The start has read the snapshot at this sequence. closed: the end of the last closed segment; 0: there is none.
  void Begin(uint64_t snapshot_at, uint64_t closed);
  // A segment was closed behind this record.
  void Closed(uint64_t sequence);
  // Makes a snapshot if a segment was closed behind the last one and none is being made.
  void Make();

 private:
  const MasterCore::Config config_;
  Loop& loop_;
  Outlets& outlets_;
  uint64_t closed_ = 0, snapshot_at_ = 0;  // sequences: of the last closed segment's end, of the snapshot
  size_t behind_ = 0;                      // segments closed since the last snapshot was begun
  bool making_ = false;
};

// Replays the journal up to the end of the segment that ends at `until`, writes the resulting state as a snapshot, and
// removes what that and the snapshot before it cover. A running master's core is not touched. Errors: those of
// ReadJournal and of the disk. Thread: one that may wait.
Status TakeSnapshot(const MasterCore::Config& config, uint64_t until);

}  // namespace mr::master
