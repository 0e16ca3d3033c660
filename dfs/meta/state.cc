#include "dfs/meta/state.h"

#include <algorithm>

#include "dfs/meta/rights.h"

namespace mr::dfs {

State::State(NamespaceConfig c) : config(c) {
  Node root;
  root.directory = true;
  nodes.Put(kRoot, root);
}

State::~State() = default;

uint64_t State::Child(uint64_t directory, const std::string& name) const {
  const auto it = children.find({directory, name});
  return it == children.end() ? 0 : it->second;
}

uint64_t State::Resolve(const std::string& path) const {
  uint64_t at = kRoot;
  for (const auto& name : Components(path)) {
    at = Child(at, name);
    if (at == 0) return 0;
  }
  return at;
}

std::string State::PathOf(uint64_t node) const {
  std::string path;
  // A pinned file that was removed has no parent. Its name is all that is left of its path.
  for (uint64_t at = node; at != kRoot && at != 0; at = nodes.Find(at)->parent) {
    path.insert(0, "/" + nodes.Find(at)->name);
  }
  return path.empty() ? "/" : path;
}

bool State::IsUnder(uint64_t node, uint64_t ancestor) const {
  for (uint64_t at = node; at != 0; at = nodes.Find(at)->parent) {
    if (at == ancestor) return true;
  }
  return false;
}

std::vector<uint64_t> State::ChildrenOf(uint64_t directory) const {
  std::vector<uint64_t> out;
  for (auto it = children.lower_bound({directory, ""}); it != children.end() && it->first.first == directory; ++it) {
    out.push_back(it->second);
  }
  return out;
}

std::string State::FileOnTheWay(const std::string& path) const {
  uint64_t at = kRoot;
  for (const auto& name : Components(path)) {
    at = Child(at, name);
    if (at == 0) return "";
    if (!nodes.Find(at)->directory) return PathOf(at);
  }
  return "";
}

uint64_t State::AddNode(Node node) {
  const uint64_t id = counters.next_node++;
  children[{node.parent, node.name}] = id;
  if (node.lease != 0) completed[node.lease] = id;
  nodes.Put(id, std::move(node));
  return id;
}

uint64_t State::MakeDirectories(const std::string& path, uint64_t unix_ms) {
  uint64_t at = kRoot;
  for (const auto& name : Components(path)) {
    uint64_t next = Child(at, name);
    if (next == 0) {
      Node node;
      node.parent = at;
      node.name = name;
      node.directory = true;
      node.modified_unix_ms = unix_ms;
      next = AddNode(std::move(node));
    }
    at = next;
  }
  return at;
}

void State::RemoveTree(uint64_t id, std::vector<Effect>* effects) {
  for (const uint64_t child : ChildrenOf(id)) RemoveTree(child, effects);
  const Node& node = *nodes.Find(id);
  children.erase({node.parent, node.name});
  rules.Erase(id);
  if (node.lease != 0) completed.erase(node.lease);
  if (!pinned.contains(id)) return DropNode(id, effects);
  nodes.Change(id, [](Node& n) { n.parent = n.lease = 0; });
}

void State::DropNode(uint64_t id, std::vector<Effect>* effects) {
  const std::vector<BlockId> dropped = nodes.Find(id)->blocks;
  for (const BlockId block : dropped) DropBlock(block, effects);
  owner_bytes.Refund(id);
  nodes.Erase(id);
}

uint32_t State::WantedOf(const Block& block) const {
  if (block.node != 0) return nodes.Find(block.node)->replication;
  return leases.Find(block.lease)->replication;
}

bool State::Matches(const Block& block, const BlockRef& said) const {
  if (block.generation != said.generation) return false;
  return !block.sealed || (block.length == said.length && block.digest == said.digest);
}

BlockRef State::RefOf(BlockId id) const {
  const Block& block = *blocks.Find(id);
  return {id, block.generation, block.length, block.digest};
}

std::vector<WorkerId> State::GoodHolders(BlockId id) const {
  std::vector<WorkerId> out;
  if (const Holders* h = holders.Find(id)) {
    for (const auto& replica : h->replicas) {
      if (!replica.suspect) out.push_back(replica.worker);
    }
  }
  return out;
}

uint32_t State::EligibleWorkers() const {
  uint32_t n = 0;
  for (const auto& [id, worker] : workers.all()) n += worker.Eligible() ? 1 : 0;
  return n;
}

size_t State::MinDurable(uint32_t replication) const {
  const size_t known = EligibleWorkers() + safe_mode.awaited.size();
  return std::max<size_t>(1, std::min<size_t>({2, replication, known}));
}

void State::AddReplica(WorkerId worker, const BlockRef& said) {
  const bool suspect = !Matches(*blocks.Find(said.id), said);
  bool is_new = false;
  holders.Change(said.id, [&](Holders& h) {
    auto it = std::find_if(h.replicas.begin(), h.replicas.end(), [&](const Replica& r) { return r.worker >= worker; });
    is_new = it == h.replicas.end() || it->worker != worker;
    if (is_new) it = h.replicas.insert(it, Replica{worker, said, suspect});
    it->said = said;
    it->suspect = suspect;
  });
  if (is_new) {
    on_worker[worker].insert(said.id);
  }
}

void State::RemoveReplica(WorkerId worker, BlockId block) {
  const Holders* found = holders.Find(block);
  if (found == nullptr) return;
  holders.Change(block,
                 [&](Holders& h) { std::erase_if(h.replicas, [&](const Replica& r) { return r.worker == worker; }); });
  if (holders.Find(block)->replicas.empty()) holders.Erase(block);
  if (const auto it = on_worker.find(worker); it != on_worker.end()) it->second.erase(block);
}

void State::SetDamaged(WorkerId worker, const BlockRef& said, bool aside) {
  bool is_new = false;
  holders.Change(said.id, [&](Holders& h) {
    auto it = std::find_if(h.replicas.begin(), h.replicas.end(), [&](const Replica& r) { return r.worker >= worker; });
    is_new = it == h.replicas.end() || it->worker != worker;
    if (is_new && aside) return;  // the good one beside it was not reported: nothing is known
    if (is_new) it = h.replicas.insert(it, Replica{worker, said, true, false});
    it->suspect = it->suspect || !aside;
    it->aside = it->aside || aside;
  });
  if (holders.Find(said.id)->replicas.empty()) holders.Erase(said.id);
  if (is_new && !aside) on_worker[worker].insert(said.id);
}

void State::CloseTargets(Block* block) {
  for (const WorkerId target : block->targets) {
    if (!workers.Has(target)) continue;
    workers.Change(target, [](Worker& w) { w.open_blocks -= w.open_blocks > 0 ? 1 : 0; });
  }
  block->targets.clear();
}

void State::Seal(const BlockRef& ref) {
  blocks.Change(ref.id, [&](Block& b) {
    b.length = ref.length;
    b.digest = ref.digest;
    b.sealed = true;
    CloseTargets(&b);
  });
  if (!holders.Has(ref.id)) return;
  const Block& block = *blocks.Find(ref.id);
  holders.Change(ref.id, [&](Holders& h) {
    for (auto& r : h.replicas) r.suspect = r.suspect || !Matches(block, r.said);
  });
}

void State::Discard(WorkerId worker, const BlockRef& said, std::vector<Effect>* effects) {
  if (safe_mode.on) {
    garbage.Put({worker, said.id}, said);
    return;
  }
  effects->push_back(DeleteReplica{worker, workers.Find(worker)->incarnation, said});
  workers.Change(worker, [&](Worker& w) { w.used_bytes -= std::min(w.used_bytes, said.length); });
}

void State::DropBlock(BlockId id, std::vector<Effect>* effects) {
  if (const Holders* found = holders.Find(id)) {
    const Holders copy = *found;
    for (const auto& replica : copy.replicas) {
      RemoveReplica(replica.worker, id);
      Discard(replica.worker, replica.said, effects);
    }
  }
  blocks.Change(id, [&](Block& b) { CloseTargets(&b); });
  blocks.Erase(id);
  placed.Erase(id);
  EndCopy(id);
  Unqueue(id);
  tried.Erase(id);
  short_of_workers.Erase(id);
}

void State::Reindex() {
  children.clear();
  completed.clear();
  requests.clear();
  for (const auto& [id, node] : nodes.all()) {
    if (node.parent != 0) children[{node.parent, node.name}] = id;
    if (node.lease != 0) completed[node.lease] = id;
  }
  for (const auto& [id, lease] : leases.all()) {
    if (!lease.request_id.empty()) requests[lease.request_id] = id;
  }
  pinned.clear();
  for (const auto& [id, pin] : pins.all()) {
    for (const uint64_t file : pin.files) ++pinned[file];
  }
  owner_bytes.Clear();
  ChargeTree(this, kRoot);
}

}  // namespace mr::dfs
