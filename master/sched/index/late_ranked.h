// A Ranked sequence (ranked.h) that is written with each event and seldom read: writes are kept aside, and the next
// read, or enough writes, bring them in. A write then touches two cache lines, where a search for its place would touch
// one on each level. With a thousand stages that run at a time, none of them is near.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "master/sched/index/ranked.h"

namespace mr::sched {

// Not safe for concurrent use, not even for reads.
template <class T>
class LateRanked {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void Insert(const T& value) {
    ++size_;
    Keep(value, true);
  }
  // Requires: the value is in the sequence.
  void Erase(const T& value) {
    --size_;
    Keep(value, false);
  }

  // Reads, each like that of Ranked.
  const T& At(size_t rank) const { return Settled().At(rank); }
  template <class F>
  void Walk(size_t limit, F&& visit) const {
    Settled().Walk(limit, visit);
  }
  template <class F>
  void WalkEvenly(size_t n, F&& visit) const {
    Settled().WalkEvenly(n, visit);
  }
  template <class F>
  void WalkBack(F&& visit) const {
    Settled().WalkBack(visit);
  }
  std::vector<T> All() const { return Settled().All(); }

 private:
  // A guess: one or two kilobytes, and enough writes to share the way to their blocks.
  static constexpr size_t kKept = 64;

  void Keep(const T& value, bool in) {
    kept_.emplace_back(value, in);
    if (kept_.size() >= kKept) Settled();
  }
  const Ranked<T>& Settled() const {
    if (kept_.empty()) return settled_;
    std::sort(kept_.begin(), kept_.end());
    for (auto from = kept_.begin(); from != kept_.end();) {
      // Writes of equal values cancel, whatever their order was.
      ptrdiff_t more = 0;
      auto to = from;
      for (; to != kept_.end() && !(from->first < to->first); ++to) more += to->second ? 1 : -1;
      for (; more > 0; --more) settled_.Insert(from->first);
      for (; more < 0; ++more) settled_.Erase(from->first);
      from = to;
    }
    kept_.clear();
    return settled_;
  }

  mutable Ranked<T> settled_;
  mutable std::vector<std::pair<T, bool>> kept_;  // a value, and whether it came or went
  size_t size_ = 0;
};

}  // namespace mr::sched
