#include "dfs/meta/rights.h"

#include <utility>

namespace mr::dfs {
namespace {

void Take(const State& s, uint64_t node, Rights* rights) {
  const Rule* rule = s.rules.Find(node);
  if (rule == nullptr) return;
  if (!rule->owner.empty()) rights->owner = rule->owner;
  if (rule->read != ReadBy::kInherited) rights->read_by_all = rule->read == ReadBy::kAll;
}

}  // namespace

Rights RootRights(const State& s) {
  Rights rights;
  Take(s, kRoot, &rights);
  return rights;
}

Rights RightsBelow(const State& s, Rights directory, uint64_t node, const std::string& name) {
  Rights rights = std::move(directory);
  ++rights.depth;
  if (rights.depth == 1) rights.in_homes = name == kHomes.substr(1);
  if (rights.depth == 2 && rights.in_homes) {
    rights.owner = name;
    rights.read_by_all = false;
  }
  if (node != 0) Take(s, node, &rights);
  return rights;
}

Rights RightsAt(const State& s, const std::string& path) {
  Rights rights = RootRights(s);
  uint64_t at = kRoot;
  for (const std::string& name : Components(path)) {
    at = at == 0 ? 0 : s.Child(at, name);
    rights = RightsBelow(s, std::move(rights), at, name);
  }
  return rights;
}

uint64_t BytesOf(const State& s, const Node& node) {
  uint64_t bytes = node.inline_data.size();
  for (const BlockId b : node.blocks) bytes += s.blocks.Find(b)->length;
  return bytes;
}

namespace {

void ChargeBelow(State* s, uint64_t id, const Rights& rights) {
  const Node& node = *s->nodes.Find(id);
  if (!node.directory) return s->owner_bytes.Charge(id, rights.owner, BytesOf(*s, node));
  for (const uint64_t child : s->ChildrenOf(id)) {
    ChargeBelow(s, child, RightsBelow(*s, rights, child, s->nodes.Find(child)->name));
  }
}

}  // namespace

void ChargeTree(State* s, uint64_t node) { ChargeBelow(s, node, RightsAt(*s, s->PathOf(node))); }

bool InTree(const State& s, uint64_t node) { return s.IsUnder(node, kRoot); }

}  // namespace mr::dfs
