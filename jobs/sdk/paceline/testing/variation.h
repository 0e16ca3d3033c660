// A seeded choice of all that the engine leaves open. With a Variation, a LocalJob cuts splits, blocks and batches
// elsewhere. It runs combiners never, once or often, and reorders the output of unordered operators. It uses other
// numbers of tasks, and shares partitions among tasks. The same seed makes the same choices on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mr {

// The kinds of choices.
enum class Vary : uint32_t {
  kSplits = 1,    // where files are cut, splits per task, tasks of stages with an open number
  kBatches = 2,   // where blocks and batches end
  kCombiner = 4,  // how often combiners run, and on which parts of a group
  kOrder = 8,     // order of the output of MR_UNORDERED operators
  kShares = 16,   // sharing of partitions of inputs that are read in parts
};
inline constexpr uint32_t kVaryAll = 31;  // all of Vary

namespace sdk {

// A random generator (SplitMix64).
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Returns a number from 0 to n - 1. Requires: n > 0.
  uint64_t Below(uint64_t n) { return Next() % n; }
  // Returns a number from 1 to 2n; the mean is about n.
  uint64_t Around(uint64_t n) { return 1 + Below(2 * (n == 0 ? 1 : n)); }
  template <class T>
  void Shuffle(std::vector<T>* values) {
    for (size_t i = values->size(); i > 1; --i) std::swap((*values)[i - 1], (*values)[Below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace sdk

// The choices of one run.
class Variation {
 public:
  static constexpr int kAllStages = -1;  // each stage varies

  Variation() = default;  // nothing varies
  // what: a set of Vary. stage: the only one to vary (index in the plan); splits are cut the same for all stages.
  explicit Variation(uint64_t seed, uint32_t what = kVaryAll, int stage = kAllStages)
      : seed_(seed), what_(what), stage_(stage) {}

  // Returns the seed; 0: nothing varies.
  uint64_t seed() const { return seed_; }
  // Returns separate dice for each (stage, place), or none if `what` does not vary there.
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
