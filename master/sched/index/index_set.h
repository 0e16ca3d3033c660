// An ordered set of small integers as a tree of bit words: insert, erase and "first at or after"
// touch one word per level (4 levels reach 16 million). A million pending tasks take 128 KiB.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mr::sched {

class IndexSet {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  IndexSet() = default;
  // A set of numbers in [0, limit).
  explicit IndexSet(uint32_t limit);

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool Contains(uint32_t i) const { return (levels_[0][i / 64] >> (i % 64) & 1) != 0; }

  void Insert(uint32_t i) {
    if (Contains(i)) return;
    ++size_;
    for (auto& level : levels_) {
      const bool was_empty = level[i / 64] == 0;
      level[i / 64] |= uint64_t{1} << (i % 64);
      if (!was_empty) return;
      i /= 64;
    }
  }

  void Erase(uint32_t i) {
    if (!Contains(i)) return;
    --size_;
    for (auto& level : levels_) {
      level[i / 64] &= ~(uint64_t{1} << (i % 64));
      if (level[i / 64] != 0) return;
      i /= 64;
    }
  }

  uint32_t First() const { return empty() ? kNone : Next(0); }

  // Returns the smallest member at or after i, or kNone.
  uint32_t Next(uint32_t i) const {
    for (size_t l = 0; l < levels_.size(); ++l) {
      if (i / 64 >= levels_[l].size()) return kNone;
      const uint64_t rest = levels_[l][i / 64] & (~uint64_t{0} << (i % 64));
      if (rest != 0) return Down(l, i / 64 * 64 + static_cast<uint32_t>(std::countr_zero(rest)));
      i = i / 64 + 1;
    }
    return kNone;
  }

 private:
  uint32_t Down(size_t level, uint32_t i) const {
    while (level-- > 0) i = i * 64 + static_cast<uint32_t>(std::countr_zero(levels_[level][i]));
    return i;
  }

  std::vector<std::vector<uint64_t>> levels_;
  uint32_t size_ = 0;
};

}  // namespace mr::sched
