// A sorted sequence with ranks: insert, erase and "the k-th smallest" in short sorted blocks, so
// that a percentile of 100,000 values costs a look at a few hundred block sizes. Equal values may
// stand in it more than once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "common/base/check.h"

namespace mr::sched {

template <class T>
class Ranked {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void Insert(const T& value) {
    ++size_;
    if (blocks_.empty()) {
      blocks_.push_back({value});
      return;
    }
    const size_t b = BlockOf(value);
    std::vector<T>& block = blocks_[b];
    block.insert(std::upper_bound(block.begin(), block.end(), value), value);
    if (block.size() < 2 * kBlock) return;
    std::vector<T> upper(block.begin() + kBlock, block.end());
    block.resize(kBlock);
    block.shrink_to_fit();
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(b) + 1, std::move(upper));
  }

  // REQUIRES that it is there.
  void Erase(const T& value) {
    MR_CHECK(!blocks_.empty(), "erased from an empty sequence");
    const size_t b = BlockOf(value);
    std::vector<T>& block = blocks_[b];
    const auto it = std::lower_bound(block.begin(), block.end(), value);
    MR_CHECK(it != block.end() && !(value < *it), "erased what is not there");
    block.erase(it);
    --size_;
    if (block.empty()) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(b));
  }

  // REQUIRES rank < size().
  const T& At(size_t rank) const {
    size_t b = 0;
    while (rank >= blocks_[b].size()) rank -= blocks_[b++].size();
    return blocks_[b][rank];
  }

  // In ascending order, at most `limit` of them, while `visit` answers true.
  template <class F>
  void Walk(size_t limit, F&& visit) const {
    for (const std::vector<T>& block : blocks_) {
      for (const T& value : block) {
        if (limit-- == 0 || !visit(value)) return;
      }
    }
  }

  std::vector<T> All() const {
    std::vector<T> all;
    for (const std::vector<T>& block : blocks_) all.insert(all.end(), block.begin(), block.end());
    return all;
  }

 private:
  static constexpr size_t kBlock = 256;

  // The first block whose last value is not smaller, else the last one.
  size_t BlockOf(const T& value) const {
    const auto it = std::lower_bound(blocks_.begin(), blocks_.end(), value,
                                     [](const std::vector<T>& b, const T& v) { return b.back() < v; });
    return it == blocks_.end() ? blocks_.size() - 1 : static_cast<size_t>(it - blocks_.begin());
  }

  std::vector<std::vector<T>> blocks_;  // none of them empty
  size_t size_ = 0;
};

// The share `q` (0 to 1) of the values lies below it; between two ranks by interpolation, so that
// a few values have a percentile, too. 0 where there is no value.
template <class T>
double Percentile(const Ranked<T>& values, double q) {
  if (values.empty()) return 0;
  const double position = q * static_cast<double>(values.size() - 1);
  const size_t low = static_cast<size_t>(std::floor(position));
  const size_t high = std::min(low + 1, values.size() - 1);
  const double a = static_cast<double>(values.At(low)), b = static_cast<double>(values.At(high));
  return a + (position - static_cast<double>(low)) * (b - a);
}

}  // namespace mr::sched
