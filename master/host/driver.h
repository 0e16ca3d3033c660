// Drives the master core: stamps events, appends records to the journal, and hands their effects to the parts above.
//
// The outbox rule: launches and kills leave at the end of the turn, without waiting for a disk. An acknowledgement of a
// record waits in Hold until the record is durable. During a start, decisions are held back until EndStart.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/loop.h"
#include "master/core/master_core.h"
#include "master/host/effects.h"
#include "master/host/host_clock.h"
#include "master/host/options.h"
#include "master/host/outlets.h"
#include "master/host/snapshots.h"
#include "master/journal/journal.h"
#include "master/journal/outbox.h"

namespace mr::master {

// Returns whether the launched attempt has side effects outside of the cluster: such a launch waits for its record.
bool HasSideEffects(const sched::State& state, const sched::Launch& launch);

// Owns the core, the journal and the outbox. Thread: the master's, and before the loop runs the one that starts it;
// epoch() and InLossMode() may be called on any thread. Blocks only in Open and WaitDurable.
class Driver {
 public:
  // The number of a record, and the decisions that the core took by it.
  struct Fed {
    uint64_t sequence = 0;
    std::vector<sched::Decision> decisions;
  };
  // All must outlive this. effects: not called before Feed.
  Driver(const HostOptions& options, HostClock& clock, Loop& loop, Outlets& outlets, Effects& effects);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // ---- Start, in this order. Before the loop runs.
  // Opens the journal and replays it. Errors: those of Journal::Open and ApplyRead.
  Status Open();
  // Starts the journal's thread under a new epoch and waits until the epoch's record is on disk.
  void BeginEpoch();
  // Carries out the effects that were held back, and arms the timers of policies.
  void EndStart();
  // Snapshots are made from here on.
  void BeginSnapshots();

  // ---- Records
  // Applies one record with its follow-ups: journal, state, effects. The event is stamped now.
  Fed Feed(sched::Event event, std::string extra = {});
  Fed Feed(Record record);
  // Returns the number of the last one that the journal keeps; 0: it keeps none of them.
  uint64_t FeedAll(std::vector<Record> records);
  // Applies a record of the block store.
  void FeedDfs(dfs::Record record);
  // Prepares and applies the events that these follow-ups require.
  void FollowUpOn(std::vector<FollowUp> follow_ups);

  // Runs `action` when the record is durable; at once where it is.
  void Hold(uint64_t sequence, std::function<void()> action);
  // Returns the sequence up to which records are durable.
  uint64_t durable() const { return outbox_.durable(); }
  // Returns the sequence of the last hard record that changed the block store.
  uint64_t dfs_sequence() const { return dfs_sequence_; }
  // Waits for the disk. For a start only.
  void WaitDurable(uint64_t sequence) { journal_->WaitDurable(sequence); }

  // ---- Epochs, losses and the journal's disk
  // Returns the epoch of new records. Thread: any.
  uint32_t epoch() const { return epoch_; }
  // Returns the epoch of this process; a loss of records may raise epoch().
  uint32_t first_epoch() const { return first_epoch_; }
  // Requires: `epoch` is above the present one.
  void RaiseEpoch(uint32_t epoch);
  // The consequences of the loss that the start accepted are durable.
  void SettleLoss() { journal_->LossSettled(); }
  // Returns whether records are known to be lost and no operator has accepted that. Thread: any.
  bool InLossMode() const { return loss_open_; }
  // Returns whether the journal's disk is full. Nothing new is taken then.
  bool journal_full() const { return journal_full_; }
  // Errors: kRejected: the journal's disk is full.
  Status CheckRoom() const;

  // The volatile fields of workers may be set, and no others (master_core.h).
  MasterCore& core() { return core_; }
  const MasterCore& core() const { return core_; }
  const journal::Journal& journal() const { return *journal_; }

 private:
  Fed FeedOne(Record record, std::vector<FollowUp>* follow_ups);
  uint64_t Append(const Record& record, const std::vector<sched::Decision>& decisions);
  void Release(uint64_t sequence);
  void NoteRoom(bool room);
  void FireTimers();
  void ArmTimer();

  const HostOptions& options_;
  HostClock& clock_;
  Loop& loop_;
  Effects& effects_;
  MasterCore core_;
  Snapshots snapshots_;
  std::unique_ptr<journal::Journal> journal_;
  journal::Outbox outbox_;
  uint64_t dfs_sequence_ = 0;
  bool journal_full_ = false;
  std::atomic<uint32_t> epoch_{0};
  uint32_t first_epoch_ = 0;
  std::atomic<bool> loss_open_{false};                              // core_.loss().open(), for other threads
  bool holds_effects_ = true;                                       // until EndStart
  std::vector<std::pair<sched::Decision, uint64_t>> held_effects_;  // with the sequence of their record
  std::set<Instant> armed_;  // stamps at which the loop looks for due timers of policies
};

}  // namespace mr::master
