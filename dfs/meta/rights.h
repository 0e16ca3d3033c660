// The rules that hold at a path (rules.h), from the tree. Private to dfs/meta.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/model/caller.h"
#include "dfs/meta/state.h"

namespace mr::dfs {

// The rules that hold at one place of the tree, and the place itself, which decides what holds below.
struct Rights {
  std::string owner = kNoOwner;
  bool read_by_all = false;
  size_t depth = 0;       // of the root: 0
  bool in_homes = false;  // at /user or below
};

// Returns what holds at the root.
Rights RootRights(const State& s);
// Returns what holds at the entry `name` of a directory with these rights. node: the entry; 0 = absent.
Rights RightsBelow(const State& s, Rights directory, uint64_t node, const std::string& name);
// Returns what holds at a path, whether it exists or not. Cost: its components.
Rights RightsAt(const State& s, const std::string& path);
// Returns the bytes of a file. Cost: its blocks.
uint64_t BytesOf(const State& s, const Node& node);
// Charges the files of a tree to those who own them now. Cost: a walk of the tree.
void ChargeTree(State* s, uint64_t node);
// Returns whether the node is in the tree. One that is not was removed, and a pin keeps it.
bool InTree(const State& s, uint64_t node);

}  // namespace mr::dfs
