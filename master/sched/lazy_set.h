// A set that is written with each event and read seldom (copies on a worker, live attempts of a queue): a write
// appends, and the first read, or enough writes, put things in order. Each write is then one line of memory
// and a share of a merge, where a tree or sorted blocks are a search: of 80,000 values, 50 ns for 500.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "common/base/check.h"

namespace mr::sched {

// Two threads must not read one at a time either.
template <class T>
class LazySet {
 public:
  size_t size() const { return values_.size() - erased_.size(); }
  bool empty() const { return size() == 0; }

  // REQUIRES that it is not there.
  void Insert(const T& value) { values_.push_back(value); }

  // REQUIRES that it is there.
  void Erase(const T& value) {
    erased_.push_back(value);
    if (erased_.size() > kFew + size()) Order();
  }

  // Into the cache: what the next write touches.
  void Fetch() const {
    __builtin_prefetch(values_.data() + values_.size(), 1);
    __builtin_prefetch(erased_.data() + erased_.size(), 1);
  }

  bool Contains(const T& value) const { return std::binary_search(All().begin(), All().end(), value); }
  // In ascending order. The next change ends it.
  const std::vector<T>& All() const {
    Order();
    return values_;
  }
  auto begin() const { return All().begin(); }
  auto end() const { return All().end(); }

  // In descending order, while `visit` answers true.
  template <class F>
  void WalkBack(F&& visit) const {
    for (auto value = All().rbegin(); value != values_.rend(); ++value) {
      if (!visit(*value)) return;
    }
  }

 private:
  static constexpr size_t kFew = 32;  // a guess: a screen of values is merged in a microsecond

  void Order() const {
    if (ordered_ == values_.size() && erased_.empty()) return;
    const auto tail = values_.begin() + static_cast<std::ptrdiff_t>(ordered_);
    std::sort(tail, values_.end());
    std::inplace_merge(values_.begin(), tail, values_.end());
    if (!erased_.empty()) {
      std::sort(erased_.begin(), erased_.end());
      // Each value that was erased takes one away: it may have come and gone several times since.
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
  mutable size_t ordered_ = 0;  // so many of the values are in order
};

}  // namespace mr::sched
