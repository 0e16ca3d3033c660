// A master's process for the swarm: a MasterCore over a journal in memory. The process may end at any record; the next
// one reads what was durable. It does what master/host does around the core, without sockets, threads and disks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "master/core/master_core.h"

namespace mr::sim {

// A journal that loses what was not synced.
class MemoryJournal {
 public:
  struct Stored {
    uint64_t sequence = 0;
    master::RecordKind kind = master::RecordKind::kEvent;
    std::string payload;
  };
  uint64_t next() const { return next_; }
  uint64_t last() const { return next_ - 1; }
  uint64_t durable() const { return durable_; }
  void Append(master::RecordKind kind, std::string payload) { records_.push_back({next_++, kind, std::move(payload)}); }
  void SyncTo(uint64_t sequence) { durable_ = std::max(durable_, std::min(sequence, last())); }
  // Ends the process: unsynced records are lost.
  void Cut();
  // Replaces all durable records by a snapshot. parts: the output of MasterCore::Save.
  void TakeSnapshot(std::vector<std::pair<master::RecordKind, std::string>> parts);
  // Applies the snapshot and the records after it, up to `until`. Returns "" or what went wrong.
  std::string ReadInto(master::MasterCore* core, uint64_t until) const;
  // Applies the records in (after, until].
  std::string ReadInto(master::MasterCore* core, uint64_t after, uint64_t until) const;

 private:
  std::vector<std::pair<master::RecordKind, std::string>> snapshot_;
  uint64_t snapshot_at_ = 0;
  std::vector<Stored> records_;  // after the snapshot
  uint64_t next_ = 1, durable_ = 0;
};

// Encodes a job's spec for the swarm's journals, and decodes it.
std::string SpecBytes(const JobSpec& spec);
Result<JobSpec> SpecOfBytes(std::string_view bytes);

// The world on which a process acts.
class Outside {
 public:
  virtual void Carry(const sched::Decision& decision) = 0;
  virtual void Carry(const dfs::Effect& effect) = 0;  // its record is durable
  virtual void Ended(JobId job) = 0;                  // its end is durable
  virtual void Publish(JobId job) = 0;                // its commit is durable; its output is no part of the block store
  virtual void Broken(const std::string& what) = 0;   // the process found a violated invariant

 protected:
  ~Outside() = default;
};

class CoreProcess {
 public:
  CoreProcess(MemoryJournal& journal, master::MasterCore::Config config, Outside& outside);

  // Reads the journal and begins an epoch. Returns "" or what went wrong.
  std::string Start(Instant now, uint64_t seed);

  struct Fed {
    uint64_t sequence = 0;
    std::vector<sched::Decision> decisions;
  };
  Fed Feed(master::Record record);
  Fed Feed(sched::Event event) { return Feed(master::EventRecord{{now_, std::move(event)}, {}}); }
  uint64_t FeedAll(std::vector<master::Record> records);
  // Runs the action when the record is durable.
  void Hold(uint64_t sequence, std::function<void()> action);
  // Syncs the journal up to this record, and runs the actions that waited for it.
  void Sync(uint64_t sequence);
  // Advances the time to `now` and does all that is due.
  void Pass(Instant now);

  const master::MasterCore& core() const { return core_; }
  master::MasterCore& core() { return core_; }
  Instant now() const { return now_; }
  dfs::Stamp stamp() const { return {now_, 1}; }

 private:
  Fed FeedOne(master::Record record, std::vector<master::FollowUp>* follow_ups);
  void Answer(std::vector<master::FollowUp> follow_ups);
  void CheckEffects(const std::vector<dfs::Effect>& effects);
  void NoteEnds(const master::Record& record, const Fed& fed);
  uint64_t SessionOf(const dfs::Effect& effect);  // of the worker that it is for; 0: it has none

  MemoryJournal& journal_;
  Outside& outside_;
  master::MasterCore core_;
  std::multimap<uint64_t, std::function<void()>> held_;
  std::map<JobId, uint64_t> ends_;  // the record of each end that this process decided
  Instant now_;
};

}  // namespace mr::sim
