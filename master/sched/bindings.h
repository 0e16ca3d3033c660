// Which copy of each upstream output a reader was told to read: of attempts that read what they are
// told only (Attempt::by_bind). Clones of one task are told apart here, so that each of them can have
// a copy of its own (Dolly, section 5: delay assignment).
//
// One object per job. Size: one entry per read of a live by_bind attempt; jobs whose tasks run as
// clones are small. Thread: that of the state.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "master/sched/copy_place.h"

namespace mr::sched {

// One read of one upstream output.
struct BoundRead {
  uint32_t stage = 0, task = 0, number = 0;  // the reader
  uint32_t up_stage = 0, up_task = 0;        // what it reads
  CopyPlace copy;
  bool exclusive = false;  // no other clone of its task was reading the copy, or had read it, by then
  bool done = false;       // it has all bytes: the copy may go
  Instant at;              // told so
  template <class V>
  static void Fields(V&& v) {
    using T = BoundRead;
    v(&T::stage, &T::task, &T::number, &T::up_stage, &T::up_task, &T::copy, &T::exclusive, &T::done, &T::at);
  }
};

// Reads that are done, and what they took together.
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
  // Null where the reader has not been told.
  const BoundRead* Find(const AttemptId& reader, uint32_t up_stage, uint32_t up_task) const;
  // Reads of this copy that are not done, by anybody.
  uint32_t Reading(uint32_t up_stage, uint32_t up_task, const CopyPlace& copy) const;
  // A clone of this task reads this copy, or has read it.
  bool Used(const TaskId& reader, uint32_t up_stage, uint32_t up_task, const CopyPlace& copy) const;
  // Reads of this attempt; of all, ordered by reader and upstream task.
  std::vector<BoundRead> Of(const AttemptId& reader) const;
  std::vector<BoundRead> All() const;
  // Those of this copy that are not done.
  std::vector<BoundRead> Unfinished(uint32_t up_stage, uint32_t up_task, const CopyPlace& copy) const;
  size_t size() const { return reads_.size(); }
  bool empty() const { return reads_.empty(); }

  // Replaces what the reader was told of this output before.
  void Put(const BoundRead& read);
  void Erase(const BoundRead& read);  // no-op where it is not there

  // What is wrong with the counts, or "".
  std::string Check() const;

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  using CopyKey = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, Incarnation>;
  static Key KeyOf(const BoundRead& r) { return {r.stage, r.task, r.number, r.up_stage, r.up_task}; }
  static CopyKey CopyOf(uint32_t up_stage, uint32_t up_task, const CopyPlace& c) {
    return {up_stage, up_task, c.attempt, c.worker.value, c.incarnation};
  }

  std::map<Key, BoundRead> reads_;
  std::map<CopyKey, std::set<Key>> reading_;  // reads that are not done; none that is empty
};

}  // namespace mr::sched
