// A set that is written with each event and seldom read (replicas on a worker, live attempts of a queue). A write
// appends; the first read, or enough writes, sort. A write then costs one cache line and a share of a merge. A tree
// or sorted blocks would cost a search: with 80,000 values, 500 ns instead of 50.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "common/base/check.h"

namespace mr::sched {

// Not safe for concurrent use, not even for reads.
template <class T>
class LazySet {
 public:
  size_t size() const { return values_.size() - erased_.size(); }
  bool empty() const { return size() == 0; }

  // Requires: the value is not in the set.
  void Insert(const T& value) { values_.push_back(value); }

  // Requires: the value is in the set.
  void Erase(const T& value) {
    erased_.push_back(value);
    if (erased_.size() > kFew + size()) Order();
  }

  // Prefetches what the next write touches into the CPU cache.
  void Fetch() const {
    __builtin_prefetch(values_.data() + values_.size(), 1);
    __builtin_prefetch(erased_.data() + erased_.size(), 1);
  }

  bool Contains(const T& value) const { return std::binary_search(All().begin(), All().end(), value); }
  // Returns the values in ascending order. Valid until the next change.
  const std::vector<T>& All() const {
    Order();
    return values_;
  }
  auto begin() const { return All().begin(); }
  auto end() const { return All().end(); }

  // Visits the values in descending order, while `visit` returns true.
  template <class F>
  void WalkBack(F&& visit) const {
    for (auto value = All().rbegin(); value != values_.rend(); ++value) {
      if (!visit(*value)) return;
    }
  }

 private:
  static constexpr size_t kFew = 32;  // a guess: so many values merge in a microsecond

  void Order() const {
    if (ordered_ == values_.size() && erased_.empty()) return;
    const auto tail = values_.begin() + static_cast<std::ptrdiff_t>(ordered_);
    std::sort(tail, values_.end());
    std::inplace_merge(values_.begin(), tail, values_.end());
    if (!erased_.empty()) {
      std::sort(erased_.begin(), erased_.end());
      // Each erased value cancels one inserted value: it may have come and gone several times since.
      auto gone = erased_.begin();
      auto kept = values_.begin();
      for (auto& value : values_) {
        if (gone != erased_.end() && !(*gone < value) && !(value < *gone))
          ++gone;
        else
          *kept++ = value;
      }
      MR_CHECK(gone == erased_.end(), "erased what is not there");
      values_.erase(kept, values_.end());
      erased_.clear();
    }
    ordered_ = values_.size();
  }

  mutable std::vector<T> values_, erased_;
  mutable size_t ordered_ = 0;  // number of leading values that are sorted
};

}  // namespace mr::sched
