// What is to happen in virtual time: a binary heap of plain items, in the order (instant, sequence),
// so that equal instants keep the order in which they were pushed. No allocation per item.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/base/time.h"

namespace mr::sim {

enum class Kind : uint8_t {
  kSubmit,      // a: job
  kPlan,        // a: job, b: stage
  kStart,       // a: attempt, b: its stamp: the launch has reached the worker
  kFlow,        // a: flow, b: its version: it has moved its last byte
  kKill,        // a: attempt, b: its stamp
  kMessage,     // a: report of an end, now at the master
  kTimer,       // a: timer of the scheduler
  kReport,      // a: worker
  kFault,       // a: index in the fault plan
  kLost,        // a: worker, b: which of its lives: the master gives it up
  kBack,        // a: worker
  kCalm,        // a: worker, b: fault: the contention ends
  kRefuse,      // a: attempt, b: its stamp: the launch was lost
  kReadFails,   // a: failed read: a reader cannot read a copy
  kProbed,      // a: failed read: the master knows that the copy is gone
  kServing,     // what readers take of each disk is looked at once more
  kList,        // a: change of the list
  kKillStrand,  // a: job, a strand of one that has ended
  kFails,       // a: attempt, b: its stamp: by no fault of its own
  kWish,        // a: a user's wish for a job
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
  // REQUIRES: not empty.
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
