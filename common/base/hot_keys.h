// Finds the hot keys of a stream of records in bounded memory, by SpaceSaving with weights (Metwally, Agrawal, El
// Abbadi: "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005).
//
// Each of a fixed number of counters holds a key. A key without a counter takes over the smallest one and its weight.
// So a key with more than 1/counters of the total weight is always kept. The records and bytes that are reported count
// from the takeover on: never more than the true number, and at most 1/counters of the total weight less.
// Pure and deterministic. Thread: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mr {

// A key of a shuffle port, and an estimate of its records and bytes in the port's output.
struct HotKey {
  uint32_t port = 0;
  uint32_t partition = 0;  // numbered over all ports of its stage
  uint64_t hash = 0;       // XXH3-64 of the whole key, which identifies it
  std::string prefix;      // its first bytes
  bool cut = false;        // the key is longer than prefix
  uint64_t records = 0, bytes = 0;
  template <class V>
  static void Fields(V&& v) {
    using T = HotKey;
    v(&T::port, &T::partition, &T::hash, &T::prefix, &T::cut, &T::records, &T::bytes);
  }
  bool operator==(const HotKey&) const = default;
};
inline constexpr size_t kHotKeyPrefix = 64;  // bytes of a key that are kept (guess: more than fits in a line of text)

class HotKeys {
 public:
  // Requires: counters > 0. 64 are enough for keys with a tenth of the weight, and a pass over 64 numbers costs less
  // than an index of them.
  explicit HotKeys(size_t counters = 64) : most_(counters) {}

  // Adds records of a key; `bytes` is their weight. key: all of it, or its prefix where it is cut.
  void Add(uint64_t hash, std::string_view key, bool cut, uint32_t partition, uint64_t records, uint64_t bytes);
  // Adds a key that another sketch found. This merges sketches, and the result still never exceeds the true numbers.
  void Add(const HotKey& k) { Add(k.hash, k.prefix, k.cut, k.partition, k.records, k.bytes); }

  // Returns the heaviest keys by bytes; of equal ones the one with the smaller hash comes first. Their port is 0.
  std::vector<HotKey> Top(size_t most) const;
  bool empty() const { return keys_.empty(); }

  // Lists the fields for snapshots.
  template <class V>
  static void Fields(V&& v) {
    using T = HotKeys;
    v(&T::most_, &T::hashes_, &T::weights_, &T::keys_);
  }

 private:
  size_t most_;
  std::vector<uint64_t> hashes_, weights_;  // parallel to keys_; a weight includes the part that was taken over
  std::vector<HotKey> keys_;
};

}  // namespace mr
