// What the engine leaves open, chosen by a seed: a LocalJob that is given a Variation cuts its splits, blocks and
// batches elsewhere, runs combiners never, once or often, gives the records of unordered operators in another order,
// and uses other numbers of tasks, and lets tasks share partitions. The same seed gives the same choices, whatever
// machine it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mr {

enum class Vary : uint32_t {
  kSplits = 1,    // where files are cut, how many splits make a task, how many tasks open stages have
  kBatches = 2,   // where blocks and batches end
  kCombiner = 4,  // how often, and on which parts of a group
  kOrder = 8,     // of what MR_UNORDERED operators emit
  kShares = 16,   // which tasks share a partition of an input that is read in parts
};
inline constexpr uint32_t kVaryAll = 31;

namespace sdk {

// SplitMix64.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 to n - 1. REQUIRES: n > 0.
  uint64_t Below(uint64_t n) { return Next() % n; }
  // 1 to 2n: n on average, about.
  uint64_t Around(uint64_t n) { return 1 + Below(2 * (n == 0 ? 1 : n)); }
  template <class T>
  void Shuffle(std::vector<T>* values) {
    for (size_t i = values->size(); i > 1; --i) std::swap((*values)[i - 1], (*values)[Below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace sdk

class Variation {
 public:
  static constexpr int kAllStages = -1;

  Variation() = default;  // nothing varies
  // what: of Vary. stage: only there (index in the plan); splits are cut alike for all stages in any case.
  explicit Variation(uint64_t seed, uint32_t what = kVaryAll, int stage = kAllStages)
      : seed_(seed), what_(what), stage_(stage) {}

  uint64_t seed() const { return seed_; }
  // Dice of their own for each (stage, place), or none where this does not vary.
  std::optional<sdk::Dice> Of(Vary what, size_t stage, uint64_t place = 0) const {
    if ((what_ & static_cast<uint32_t>(what)) == 0) return std::nullopt;
    if (what != Vary::kSplits && stage_ != kAllStages && static_cast<size_t>(stage_) != stage) return std::nullopt;
    sdk::Dice mixed(seed_ * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(what));
    const uint64_t a = mixed.Next() ^ (what == Vary::kSplits ? 0 : stage + 1);
    return sdk::Dice(sdk::Dice(a).Next() ^ place);
  }

 private:
  uint64_t seed_ = 0;
  uint32_t what_ = 0;
  int stage_ = kAllStages;
};

}  // namespace mr
