// The keys that weigh most in a stream of records, found in bounded memory: SpaceSaving (Metwally, Agrawal, El Abbadi:
// "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005), with weights. Of a fixed number
// of counters each holds a key; a key that has none takes over the smallest one and what is in it. So a key of more
// than 1/counters of the weight is always kept. What is told of a key is what was seen of it since its counter is its
// own: never more than there was, and at most 1/counters of the weight less. Pure and deterministic; of one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mr {

// A key of a shuffle port and about how much of the port's output has it.
struct HotKey {
  uint32_t port = 0;
  uint32_t partition = 0;  // where it goes; over all ports of its stage
  uint64_t hash = 0;       // XXH3-64 of the whole key: what it is known by
  std::string prefix;      // its first bytes
  bool cut = false;        // it has more
  uint64_t records = 0, bytes = 0;
  template <class V>
  static void Fields(V&& v) {
    using T = HotKey;
    v(&T::port, &T::partition, &T::hash, &T::prefix, &T::cut, &T::records, &T::bytes);
  }
  bool operator==(const HotKey&) const = default;
};
inline constexpr size_t kHotKeyPrefix =
    64;  // bytes of a key that are kept (a guess: more than a line of text has room for)

class HotKeys {
 public:
  // counters > 0. 64 are enough for keys of a tenth of the weight; a pass over 64 numbers costs less than an index of
  // them.
  explicit HotKeys(size_t counters = 64) : most_(counters) {}

  // One sight of a key, of so much weight. key: all of it, or its prefix where it is cut.
  void Add(uint64_t hash, std::string_view key, bool cut, uint32_t partition, uint64_t records, uint64_t bytes);
  // What another sketch found, as its weight. So lists are merged, and stay at least as small as what there was.
  void Add(const HotKey& k) { Add(k.hash, k.prefix, k.cut, k.partition, k.records, k.bytes); }

  // The heaviest by bytes, of equal ones the one with the smaller hash first. port is 0.
  std::vector<HotKey> Top(size_t most) const;
  bool empty() const { return keys_.empty(); }

  // For snapshots.
  template <class V>
  static void Fields(V&& v) {
    using T = HotKeys;
    v(&T::most_, &T::hashes_, &T::weights_, &T::keys_);
  }

 private:
  size_t most_;
  std::vector<uint64_t> hashes_, weights_;  // beside keys_; weight: with what was taken over
  std::vector<HotKey> keys_;
};

}  // namespace mr
