// The epochs of a journal, and whether a record that a worker was sent as durable is one of them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mr::master {

// The last record that was durable when a master sent this. epoch 0: nothing is said.
struct Durable {
  uint32_t epoch = 0;
  uint64_t life = 0;  // wall-clock milliseconds of the epoch's begin: differs between copies of the journal
  uint64_t sequence = 0;
  bool operator==(const Durable&) const = default;
};

struct EpochBegun {
  uint32_t epoch = 0;
  uint64_t life = 0;
  uint64_t first = 0;  // number of its first record
  // The id of the block that was given next as it began. 0: not known. In snapshots in a list of its own, since earlier
  // releases wrote none.
  uint64_t next_block = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&EpochBegun::epoch, &EpochBegun::life, &EpochBegun::first);
  }
};

// How many are known; workers that were away for longer are believed to know nothing (a guess: years of restarts).
inline constexpr size_t kEpochsKept = 1000;

class Epochs {
 public:
  // They come in rising order; one that is not above the last is left out.
  void Began(const EpochBegun& epoch);
  // A loss was found or accepted: nothing that is said of epochs below this one shows another one.
  void Settle(uint32_t below);
  // Whether this journal, whose last durable record is `end`, lacks the record.
  bool Lacks(const Durable& seen, uint64_t end) const;
  // Returns, for a record that is lacking, the first block id that this journal and lost records may both have
  // assigned, to different blocks. The chains differ from the first epoch on that cannot have preceded the record's
  // epoch: its number is not lower, or it began later.
  uint64_t DoubtFrom(const Durable& seen) const;
  // For a snapshot, and back.
  std::vector<uint64_t> NextBlocks() const;
  void SetNextBlocks(const std::vector<uint64_t>& blocks);
  // Returns the newest epoch with this sequence, for workers.
  Durable At(uint64_t durable) const;
  const std::vector<EpochBegun>& all() const { return begun_; }

 private:
  std::vector<EpochBegun> begun_;
  uint32_t settled_below_ = 0;
};

}  // namespace mr::master
