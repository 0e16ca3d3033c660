// A set of a few small values (attempts on a worker, workers freed by an event) as one sorted array.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace mr::sched {

template <class T>
class FlatSet {
 public:
  using const_iterator = typename std::vector<T>::const_iterator;

  const_iterator begin() const { return values_.begin(); }
  const_iterator end() const { return values_.end(); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  void clear() { values_.clear(); }
  size_t count(const T& value) const { return std::binary_search(begin(), end(), value) ? 1 : 0; }

  void insert(const T& value) {
    const auto it = std::lower_bound(values_.begin(), values_.end(), value);
    if (it == values_.end() || value < *it) values_.insert(it, value);
  }
  void erase(const T& value) {
    const auto it = std::lower_bound(values_.begin(), values_.end(), value);
    if (it != values_.end() && !(value < *it)) values_.erase(it);
  }
  bool operator==(const FlatSet&) const = default;

 private:
  std::vector<T> values_;
};

}  // namespace mr::sched
