// The queue of future items in virtual time: a binary heap ordered by (instant, sequence). Items of equal instants keep
// the order in which they were pushed. No allocation per item.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/base/time.h"

namespace mr::sim {

enum class Kind : uint8_t {
  kSubmit,      // a: job
  kPlan,        // a: job, b: stage
  kStart,       // a: attempt, b: its stamp: the launch reaches the worker
  kFlow,        // a: flow, b: its version: its last byte has moved
  kKill,        // a: attempt, b: its stamp
  kMessage,     // a: slot of a message: a report of an end reaches the master
  kTimer,       // a: slot of a scheduler timer
  kReport,      // a: worker
  kFault,       // a: index in the fault plan
  kLost,        // a: worker, b: its incarnation: the lease ends
  kBack,        // a: worker: it registers again
  kCalm,        // a: worker, b: fault: its contention ends
  kRefuse,      // a: attempt, b: its stamp: the launch was lost
  kReadFails,   // a: failed read: a reader cannot read a replica
  kProbed,      // a: failed read: the probe confirms that the replica is lost
  kServing,     // charges the disks for their readers
  kList,        // a: change of the policy list
  kKillStrand,  // a: job: a strand whose job has ended
  kFails,       // a: attempt, b: its stamp: it fails
  kWish,        // a: a user's wish for a job
  kBegin,       // a: attempt, b: its stamp: its first byte, after its start-up
  kStall,       // a: attempt, b: its stamp: it stalls, or goes on
  kFrame,       // a: slot of a late frame of reports
  kMachine,     // a: worker: its machine gets another factor
};

struct Item {
  Instant at;
  uint64_t sequence = 0;
  uint32_t a = 0, b = 0;
  Kind kind = Kind::kSubmit;
};

class EventQueue {
 public:
  void Push(Instant at, Kind kind, uint32_t a, uint32_t b = 0) {
    heap_.push_back({at, next_++, a, b, kind});
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
  // Requires: not empty.
  Item Pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    const Item item = heap_.back();
    heap_.pop_back();
    return item;
  }
  bool empty() const { return heap_.empty(); }

 private:
  static bool Later(const Item& x, const Item& y) { return x.at != y.at ? x.at > y.at : x.sequence > y.sequence; }
  std::vector<Item> heap_;
  uint64_t next_ = 0;
};

}  // namespace mr::sim
