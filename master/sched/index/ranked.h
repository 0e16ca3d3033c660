// A sorted sequence with ranks: insert, erase and "the k-th smallest" in short sorted blocks. A percentile of 100,000
// values costs a look at a few hundred block sizes. Equal values may repeat.
//
// It is also the set to use for many small values. An element costs its own size and half as much again, without a
// node or an allocation, and a search stays in one array of block ends.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
      lasts_.push_back(value);
      sizes_.push_back(1);
      return;
    }
    const size_t b = BlockOf(value);
    std::vector<T>& block = blocks_[b];
    block.insert(std::upper_bound(block.begin(), block.end(), value), value);
    if (block.size() == 2 * kBlock) Split(b);
    Note(b);
  }

  // Requires: the value is in the sequence.
  void Erase(const T& value) {
    MR_CHECK(!blocks_.empty(), "erased from an empty sequence");
    const size_t b = BlockOf(value);
    std::vector<T>& block = blocks_[b];
    const auto it = std::lower_bound(block.begin(), block.end(), value);
    MR_CHECK(it != block.end() && !(value < *it), "erased what is not there");
    block.erase(it);
    --size_;
    if (!block.empty()) return Note(b);
    const auto at = static_cast<std::ptrdiff_t>(b);
    blocks_.erase(blocks_.begin() + at);
    lasts_.erase(lasts_.begin() + at);
    sizes_.erase(sizes_.begin() + at);
  }

  bool Contains(const T& value) const {
    if (blocks_.empty()) return false;
    const std::vector<T>& block = blocks_[BlockOf(value)];
    return std::binary_search(block.begin(), block.end(), value);
  }

  // Requires: rank < size().
  const T& At(size_t rank) const {
    MR_CHECK(rank < size_, "beyond the end of a sequence");
    size_t b = 0;
    while (rank >= sizes_[b]) rank -= sizes_[b++];
    return blocks_[b][rank];
  }

  // Visits `n` values, evenly spaced in rank, in ascending order: those of the ranks (2i + 1) size / 2n.
  // Requires: n <= size(). Cost: one pass over the block sizes.
  template <class F>
  void WalkEvenly(size_t n, F&& visit) const {
    if (n == 0) return;
    size_t b = 0, before = 0;  // before: values in the blocks before b
    // Sum of quotients and remainders, since a division per value would cost more than the rest.
    const size_t whole = 2 * size_ / (2 * n), part = 2 * size_ % (2 * n);
    size_t rank = size_ / (2 * n), rest = size_ % (2 * n);
    for (size_t i = 0; i < n; ++i) {
      while (rank - before >= sizes_[b]) before += sizes_[b++];
      visit(blocks_[b][rank - before]);
      rank += whole;
      rest += part;
      if (rest < 2 * n) continue;
      rest -= 2 * n;
      ++rank;
    }
  }

  // Visits at most `limit` values in ascending order, while `visit` returns true.
  template <class F>
  void Walk(size_t limit, F&& visit) const {
    for (const std::vector<T>& block : blocks_) {
      for (const T& value : block) {
        if (limit-- == 0 || !visit(value)) return;
      }
    }
  }

  // Visits the values in descending order, while `visit` returns true.
  template <class F>
  void WalkBack(F&& visit) const {
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      for (auto value = block->rbegin(); value != block->rend(); ++value) {
        if (!visit(*value)) return;
      }
    }
  }

  // Iterator for loops. Any change invalidates it.
  class Iterator {
   public:
    Iterator(const std::vector<std::vector<T>>* blocks, size_t block) : blocks_(blocks), block_(block) {}
    const T& operator*() const { return (*blocks_)[block_][at_]; }
    Iterator& operator++() {
      if (++at_ == (*blocks_)[block_].size()) ++block_, at_ = 0;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const std::vector<std::vector<T>>* blocks_;
    size_t block_, at_ = 0;
  };
  Iterator begin() const { return {&blocks_, 0}; }
  Iterator end() const { return {&blocks_, blocks_.size()}; }

  friend bool operator==(const Ranked& a, const Ranked& b) { return a.size_ == b.size_ && a.All() == b.All(); }

  std::vector<T> All() const {
    std::vector<T> all;
    all.reserve(size_);
    for (const std::vector<T>& block : blocks_) all.insert(all.end(), block.begin(), block.end());
    return all;
  }

 private:
  static constexpr size_t kBlock = 64;

  // Returns the first block whose last value is not smaller, else the last block.
  size_t BlockOf(const T& value) const {
    const auto it = std::lower_bound(lasts_.begin(), lasts_.end(), value);
    return it == lasts_.end() ? lasts_.size() - 1 : static_cast<size_t>(it - lasts_.begin());
  }
  void Note(size_t b) {
    lasts_[b] = blocks_[b].back();
    sizes_[b] = static_cast<uint32_t>(blocks_[b].size());
  }
  // A sequence that grows at its end leaves full blocks behind, not half of each.
  void Split(size_t b) {
    const size_t keep = b + 1 == blocks_.size() ? 2 * kBlock - 1 : kBlock;
    std::vector<T>& block = blocks_[b];
    const auto from = static_cast<std::ptrdiff_t>(keep);
    std::vector<T> upper(block.begin() + from, block.end());
    block.resize(keep);
    if (keep == kBlock) block.shrink_to_fit();
    const auto at = static_cast<std::ptrdiff_t>(b) + 1;
    lasts_.insert(lasts_.begin() + at, upper.back());
    sizes_.insert(sizes_.begin() + at, static_cast<uint32_t>(upper.size()));
    blocks_.insert(blocks_.begin() + at, std::move(upper));
    Note(b);
  }

  std::vector<std::vector<T>> blocks_;  // none of them empty
  std::vector<T> lasts_;                // of each block
  std::vector<uint32_t> sizes_;         // of each block
  size_t size_ = 0;
};

// Returns the value with the share `q` (0 to 1) of the values below it. It interpolates between ranks, so that a few
// values have a percentile, too. 0 if there is no value.
template <class Sequence>
double Percentile(const Sequence& values, double q) {
  if (values.empty()) return 0;
  const double position = q * static_cast<double>(values.size() - 1);
  const size_t low = static_cast<size_t>(std::floor(position));
  const size_t high = std::min(low + 1, values.size() - 1);
  const double a = static_cast<double>(values.At(low)), b = static_cast<double>(values.At(high));
  return a + (position - static_cast<double>(low)) * (b - a);
}

}  // namespace mr::sched
