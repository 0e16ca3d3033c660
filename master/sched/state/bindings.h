// Records which replica of each upstream output a reader reads. It covers the attempts that read only the replicas
// that Bind names (Attempt::by_bind). Clones of one task are kept apart here, so that each can have a replica of its
// own (Dolly, NSDI'13, section 5: delay assignment).
//
// One object per job. Size: one entry per read of a live by_bind attempt; jobs whose tasks run as clones are small.
// Thread: that of the state.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "master/sched/state/replica_place.h"

namespace mr::sched {

// One read of one upstream output.
struct BoundRead {
  uint32_t stage = 0, task = 0, number = 0;  // the reader
  uint32_t up_stage = 0, up_task = 0;        // what it reads
  ReplicaPlace replica;
  bool exclusive = false;  // at the time of the bind, no other clone of its task was reading the replica or had read it
  bool done = false;       // it has all bytes, so the replica may go
  Instant at;              // time of the bind
  template <class V>
  static void Fields(V&& v) {
    using T = BoundRead;
    v(&T::stage, &T::task, &T::number, &T::up_stage, &T::up_task, &T::replica, &T::exclusive, &T::done, &T::at);
  }
};

// Number, bytes and total time of finished reads.
struct Transfers {
  uint64_t n = 0, bytes = 0, us = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&Transfers::n, &Transfers::bytes, &Transfers::us);
  }
  bool operator==(const Transfers&) const = default;
};

class Bindings {
 public:
  // Returns the read, or null where the reader has no bind for this output.
  const BoundRead* Find(const AttemptId& reader, uint32_t up_stage, uint32_t up_task) const;
  // Returns the number of unfinished reads of this replica, by all readers.
  uint32_t Reading(uint32_t up_stage, uint32_t up_task, const ReplicaPlace& replica) const;
  // Returns true if a clone of this task reads this replica or has read it.
  bool Used(const TaskId& reader, uint32_t up_stage, uint32_t up_task, const ReplicaPlace& replica) const;
  // Returns the reads of this attempt, or of all attempts, ordered by reader and upstream task.
  std::vector<BoundRead> Of(const AttemptId& reader) const;
  std::vector<BoundRead> All() const;
  // Returns the unfinished reads of this replica.
  std::vector<BoundRead> Unfinished(uint32_t up_stage, uint32_t up_task, const ReplicaPlace& replica) const;
  size_t size() const { return reads_.size(); }
  bool empty() const { return reads_.empty(); }

  // Adds the read. Replaces the reader's earlier bind for this output.
  void Put(const BoundRead& read);
  void Erase(const BoundRead& read);  // no-op if it does not exist

  // Returns an error in the counts, or "".
  std::string Check() const;

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  using ReplicaKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, Incarnation>;
  static Key KeyOf(const BoundRead& r) { return {r.stage, r.task, r.number, r.up_stage, r.up_task}; }
  static ReplicaKey ReplicaOf(uint32_t up_stage, uint32_t up_task, const ReplicaPlace& c) {
    return {up_stage, up_task, c.attempt, c.worker.value, c.incarnation};
  }

  std::map<Key, BoundRead> reads_;
  std::map<ReplicaKey, std::set<Key>> reading_;  // unfinished reads; no set is empty
};

}  // namespace mr::sched
