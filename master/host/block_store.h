// The host of the block store's namespace: its records in the master's journal, its effects as commands to workers.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/loop.h"
#include "common/model/block.h"
#include "common/model/changed.h"
#include "dfs/meta/service.h"
#include "master/host/attempt_rights.h"
#include "master/host/dispatcher.h"
#include "master/host/drain_status.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/safe_mode.h"

namespace mr::master {

// Thread: the master's.
class BlockStore {
 public:
  BlockStore(Driver& driver, HostClock& clock, Loop& loop, Dispatcher& dispatcher, const SafeMode& safe_mode);

  // Changes files as dfs::FsHost::Mutate describes. Errors: those of `prepare`; kRejected in safe mode, or where the
  // journal's disk is full.
  void FsMutate(const dfs::FsHost::PrepareFn& prepare, const std::function<void(const dfs::Namespace&)>& then,
                std::function<void(Changed)> reply);
  // Reports of a worker about its replicas. Reports of another incarnation than the present one are ignored.
  void BlocksReceived(WorkerId worker, Incarnation incarnation, const std::vector<BlockRef>& blocks);
  void BlocksSuspect(WorkerId worker, Incarnation incarnation, const std::vector<DamagedBlock>& blocks);
  // The worker could not copy a block to another worker as requested.
  void BlockNotCopied(WorkerId worker, Incarnation incarnation, const BlockRef& block, bool source_failed,
                      const std::string& why);
  // why: empty where the disk works again.
  void DiskFailed(WorkerId worker, Incarnation incarnation, const std::string& why);
  // Sends the effects of the record `sequence` when it is durable, each in the session in which it was decided.
  void CarryOut(std::vector<dfs::Effect> effects, uint64_t sequence);
  // Each second: leases that end, repairs that are due, the count of blocks. Sets its own timer.
  void Tick();

  // Returns counts of blocks: exact up to kCountSlice blocks. Above that they are those of the last walk, which goes on
  // in slices between other work.
  dfs::RepairCounts Counts() const;
  const dfs::Namespace& files() const { return core_.files(); }
  // May be called on any thread; what it returns is for the master's.
  const dfs::AssignedAttempts& attempts() const { return attempt_rights_; }

 private:
  void CountBlocks();

  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  Loop& loop_;
  Dispatcher& dispatcher_;
  const SafeMode& safe_mode_;
  const AttemptRights attempt_rights_{core_};
  dfs::RepairCounts counted_, counting_;  // the last walk over all blocks; the one under way
  BlockId count_from_;                    // not valid: no walk is under way
};

}  // namespace mr::master
