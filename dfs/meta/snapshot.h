// The structs of the namespace's image in a snapshot. Stored structs: see common/base/fields.h for how to add a field.
// Private to snapshot.cc and to the test of stored structs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/fields.h"
#include "dfs/meta/state.h"

namespace mr::dfs {

inline constexpr uint32_t kSnapshotVersion = 1;

template <class K, class V>
struct ImageEntry {
  K key{};
  V value{};
  template <class F>
  static void Fields(F&& f) {
    f(&ImageEntry::key, &ImageEntry::value);
  }
};

struct HardState {
  uint32_t version = kSnapshotVersion;
  Counters counters;
  std::vector<ImageEntry<uint64_t, Node>> nodes;
  std::vector<ImageEntry<uint64_t, Lease>> leases;
  std::vector<ImageEntry<BlockId, Block>> blocks;
  template <class V>
  static void Fields(V&& v) {
    using T = HardState;
    v(&T::version, &T::counters, &T::nodes, &T::leases, &T::blocks);
  }
};

// Follows the hard state. Snapshots of releases that did not pin inputs lack it.
struct PinsTail {
  uint64_t next_pin = 1;
  std::vector<ImageEntry<uint64_t, Pin>> pins;
  template <class V>
  static void Fields(V&& v) {
    v(&PinsTail::next_pin, &PinsTail::pins);
  }
};

struct OwnerEntry {
  uint64_t id = 0;
  std::string owner;
  template <class V>
  static void Fields(V&& v) {
    v(&OwnerEntry::id, &OwnerEntry::owner);
  }
};

// Follows the ids that lost records may have given. Snapshots without owners lack it.
struct OwnersTail {
  std::vector<ImageEntry<uint64_t, Rule>> rules;
  std::vector<OwnerEntry> leases;
  std::vector<OwnerEntry> attempts;  // written by older releases, and not used
  bool empty() const { return rules.empty() && leases.empty() && attempts.empty(); }
  template <class V>
  static void Fields(V&& v) {
    v(&OwnersTail::rules, &OwnersTail::leases, &OwnersTail::attempts);
  }
};

// Follows the owners. Snapshots of releases that did not note placed replicas lack it.
struct PlacedTail {
  std::vector<ImageEntry<BlockId, Placed>> blocks;
  template <class V>
  static void Fields(V&& v) {
    v(&PlacedTail::blocks);
  }
};

}  // namespace mr::dfs
