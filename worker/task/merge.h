// The order of keys, and the merge of sorted runs. A run is a list of chunks, each one batch with ascending records.
// The merge yields all records in key order, equal keys by the rank of their run, then by position. So its result
// depends on the runs alone, never on when they came.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/abi/batch.h"
#include "common/abi/operator_table.h"
#include "common/base/prefetch.h"
#include "common/base/status.h"
#include "worker/task/spill_file.h"

namespace mr::task {

// An order of keys: memcmp, the shorter first; or the operator's own compare (the slow path).
struct KeyOrder {
  const mr_operator* table = nullptr;
  void* op = nullptr;
  bool custom() const { return table != nullptr; }

  // Returns the first 8 bytes as a big-endian number, padded with zeros for a short key: the order agrees with memcmp.
  // 0 for a custom order, which only Compare knows.
  uint64_t Prefix(std::string_view key) const {
    if (custom()) return 0;
    uint64_t word = 0;
    std::memcpy(&word, key.data(), key.size() < 8 ? key.size() : 8);
    return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
  }
  int Compare(std::string_view a, std::string_view b) const {
    if (custom()) return table->compare(op, {a.data(), a.size()}, {b.data(), b.size()});
    return a.compare(b);
  }
  // Returns whether a is less than b. Requires: equal prefixes.
  bool LessTail(std::string_view a, std::string_view b) const {
    // Equal prefixes of two short keys may differ in length alone ("a" and "a\0").
    return Compare(a, b) < 0;
  }
  bool Equal(std::string_view a, std::string_view b) const { return custom() ? Compare(a, b) == 0 : a == b; }
};

// A chunk in memory, or in a spill file if data is null.
struct Chunk {
  const char* data = nullptr;
  uint64_t size = 0;
  uint64_t offset = 0;
};

struct Run {
  std::vector<Chunk> chunks;
  uint8_t tag = 0;  // stage input that it came from
};

// Walks one run record by record.
class RunCursor {
 public:
  RunCursor(const Run* run, SpillFile* spill, KeyOrder order) : run_(run), spill_(spill), order_(order) {}

  // Moves to the first record of the next chunk that has one. If there is none, at_end() holds.
  Status NextChunk();
  Status Advance() {
    if (++at_ < view_.size()) {
      Load();
      return {};
    }
    return NextChunk();
  }
  bool at_end() const { return at_end_; }
  uint64_t prefix() const { return prefix_; }
  std::string_view key() const { return key_; }
  std::string_view value() const { return view_.value(at_); }
  uint8_t tag() const { return run_->tag; }

 private:
  void Load() {
    key_ = view_.key(at_);
    prefix_ = order_.Prefix(key_);
    // The merge reads these bytes when this run wins. Until then it writes records of other runs, and the prefetch
    // completes meanwhile. With more runs than the hardware follows by itself (64), a record costs a third less
    // (measured).
    AskMemory(view_.value(at_));
    AskMemory({key_.data() + key_.size(), 1});
  }
  const Run* run_;
  SpillFile* spill_;
  KeyOrder order_;
  size_t chunk_ = 0;
  uint32_t at_ = 0;
  BatchView view_;
  std::string_view key_;
  uint64_t prefix_ = 0;
  bool at_end_ = false;
};

// A tree of losers over the runs. The runs, in order of rank, and the spill file must outlive it. A node holds the
// prefix of its run's key, so that most comparisons read nothing else and need no branch that depends on the keys.
class Merger {
 public:
  Merger(const std::vector<const Run*>& runs, SpillFile* spill, KeyOrder order);

  Status Start();
  bool done() const { return cursors_.empty() || cursors_[winner_].at_end(); }
  // The current record, valid until Next. Views into a chunk stay valid as long as the run does.
  std::string_view key() const { return cursors_[winner_].key(); }
  std::string_view value() const { return cursors_[winner_].value(); }
  uint8_t tag() const { return cursors_[winner_].tag(); }
  Status Next();

 private:
  struct Node {
    uint64_t prefix;  // of the run's key; kLast for a run at its end
    uint32_t run;
  };
  static constexpr uint64_t kLast = ~uint64_t{0};  // a key may have this prefix, too
  Node NodeOf(uint32_t run) const;
  // Returns whether a is less than b. Requires: equal prefixes.
  bool LessTail(uint32_t a, uint32_t b) const;
  bool Less(const Node& a, const Node& b) const {
    return a.prefix != b.prefix ? a.prefix < b.prefix : LessTail(a.run, b.run);
  }
  Node Build(uint32_t node);

  KeyOrder order_;
  std::vector<RunCursor> cursors_;
  std::vector<Node> losers_;  // [1, leaves)
  uint32_t leaves_ = 1;
  uint32_t winner_ = 0;
};

}  // namespace mr::task
