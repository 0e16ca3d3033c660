// Apply: the effect of each record on the state. It validates nothing: Prepare has checked a hard record against this
// very state. A soft record that is outdated has no effect.
#include <algorithm>

#include "dfs/meta/rights.h"
#include "dfs/meta/state.h"

namespace mr::dfs {
namespace {

struct Applier {
  State& s;
  std::vector<Effect>* effects;

  void operator()(const FileCreated& r) {
    Lease lease;
    lease.path = r.path;
    lease.overwrite = r.overwrite;
    lease.replication = r.replication;
    lease.block_bytes = r.block_bytes;
    lease.request_id = r.request_id;
    if (!r.request_id.empty()) s.requests[r.request_id] = r.lease;
    s.leases.Put(r.lease, std::move(lease));
    if (r.owner != kNoOwner) s.lease_owners.Put(r.lease, r.owner);
    s.counters.next_lease = std::max(s.counters.next_lease, r.lease + 1);
    s.deadlines.Put(r.lease, r.stamp.at + s.config.lease_time);
  }

  void operator()(const BlockAdded& r) {
    BlockId abandoned;
    s.leases.Change(r.lease, [&](Lease& lease) {
      if (lease.blocks.size() <= r.index) lease.blocks.resize(r.index + 1);
      abandoned = lease.blocks[r.index];
      lease.blocks[r.index] = r.block;
      lease.avoid = r.avoid;
    });
    if (abandoned.valid()) s.DropBlock(abandoned, effects);
    Block block;
    block.lease = r.lease;
    block.targets = r.targets;
    s.blocks.Put(r.block, std::move(block));
    for (const WorkerId target : r.targets) {
      if (s.workers.Has(target)) s.workers.Change(target, [](Worker& w) { ++w.open_blocks; });
    }
    s.counters.next_block = std::max(s.counters.next_block, r.block.value + 1);
    s.deadlines.Put(r.lease, r.stamp.at + s.config.lease_time);
  }

  void operator()(const FileCompleted& r) {
    const Lease lease = *s.leases.Find(r.lease);
    EndLease(r.lease, lease);
    const Rule rule = Replace(s.Resolve(lease.path));
    const auto [directory, name] = SplitPath(lease.path);
    Node node;
    node.parent = s.MakeDirectories(directory, r.stamp.unix_ms);
    node.name = name;
    node.replication = lease.replication;
    node.block_bytes = lease.block_bytes;
    node.modified_unix_ms = r.stamp.unix_ms;
    node.lease = r.lease;
    for (const auto& staged : r.blocks) node.blocks.push_back(staged.block.id);
    const uint64_t id = s.AddNode(std::move(node));
    if (!rule.empty()) s.rules.Put(id, rule);
    for (const auto& staged : r.blocks) {
      const std::vector<WorkerId> targets = s.blocks.Find(staged.block.id)->targets;
      s.placed.Put(staged.block.id, {targets});
      s.Seal(staged.block);
      s.blocks.Change(staged.block.id, [&](Block& b) {
        b.node = id;
        b.lease = 0;
      });
      for (const WorkerId w : staged.workers) {
        if (s.IsPlaced(staged.block.id, w)) NoteReplica(w, staged.block);
      }
      // Missing replicas get the time of a lost worker before they are repaired.
      s.LookAt(staged.block.id, r.stamp.at + s.config.repair_delay);
    }
    ChargeTree(&s, id);
  }

  void operator()(const LeaseEnded& r) {
    const Lease* found = s.leases.Find(r.lease);
    if (found == nullptr) return;
    const Lease lease = *found;
    EndLease(r.lease, lease);
    for (const BlockId block : lease.blocks) {
      if (block.valid()) s.DropBlock(block, effects);
    }
  }

  void operator()(const DirectoryMade& r) { s.MakeDirectories(r.path, r.stamp.unix_ms); }

  void operator()(const Removed& r) {
    if (const uint64_t node = s.Resolve(r.path); node != 0) s.RemoveTree(node, effects);
  }

  void operator()(const Renamed& r) {
    const uint64_t id = s.Resolve(r.from);
    const std::string owner = RightsAt(s, r.from).owner;
    const auto [directory, name] = SplitPath(r.to);
    const uint64_t parent = s.Resolve(directory);
    const Node* node = s.nodes.Find(id);
    s.children.erase({node->parent, node->name});
    s.children[{parent, name}] = id;
    s.nodes.Change(id, [&, &name = name](Node& n) {
      n.parent = parent;
      n.name = name;
    });
    if (RightsAt(s, r.to).owner != owner) ChargeTree(&s, id);
  }

  void operator()(const ReplicationSet& r) {
    const uint64_t id = s.Resolve(r.path);
    s.nodes.Change(id, [&](Node& n) { n.replication = r.replication; });
    for (const BlockId block : s.nodes.Find(id)->blocks) s.LookAt(block, Instant{});
  }

  void operator()(const OutputCommitted& r) {
    for (const auto& file : r.files) {
      for (const auto& block : file.blocks) Detach(block.id);
    }
    const Rule rule = r.overwrite ? Replace(s.Resolve(r.directory)) : Rule{};
    const uint64_t directory = s.MakeDirectories(r.directory, r.stamp.unix_ms);
    if (!rule.empty()) s.rules.Put(directory, rule);
    for (const auto& file : r.files) {
      Node node;
      node.parent = directory;
      node.name = file.name;
      node.replication = r.replication != 0 ? r.replication : s.config.replication;
      node.block_bytes = s.config.block_bytes;
      node.modified_unix_ms = r.stamp.unix_ms;
      node.inline_data = file.inline_data;
      for (const auto& block : file.blocks) node.blocks.push_back(block.id);
      const uint64_t id = s.AddNode(std::move(node));
      for (const auto& block : file.blocks) {
        s.blocks.Change(block.id, [&](Block& b) { b.node = id; });
        s.LookAt(block.id, r.stamp.at + s.config.repair_delay);
      }
    }
    ChargeTree(&s, directory);
    if (r.staging.empty()) return;
    if (const uint64_t staging = s.Resolve(r.staging); staging != 0) s.RemoveTree(staging, effects);
  }

  void operator()(const InputsPinned& r) { s.AddPin(r.pin, r.files); }

  void operator()(const InputsReleased& r) { s.ReleasePin(r.pin, effects); }

  void operator()(const MasterStarted& r) {
    s.workers.Clear();
    s.holders.Clear();
    s.ClearRepairs();
    s.garbage.Clear();
    s.deadlines.Clear();
    s.on_worker.clear();
    for (const auto& [id, lease] : s.leases.all()) s.deadlines.Put(id, r.at + s.config.lease_time);
    s.safe_mode = {true, r.at + s.config.safe_mode_wait, false, r.expected, {r.awaited.begin(), r.awaited.end()}};
    s.MaybeLeaveSafeMode(r.at, effects);
  }

  void operator()(const WorkerJoined& r) {
    const bool draining = r.draining || (s.workers.Has(r.worker) && s.workers.Find(r.worker)->draining);
    const std::set<BlockId> before = Forget(r.worker);
    s.safe_mode.awaited.erase(r.worker);
    Worker worker;
    worker.incarnation = r.incarnation;
    worker.address = r.address;
    worker.rack = r.rack;
    worker.draining = draining;
    worker.capacity_bytes = r.capacity_bytes;
    worker.used_bytes = r.used_bytes;
    s.workers.Put(r.worker, std::move(worker));
    for (const auto& said : r.blocks) Heard(r.worker, said, r.at, true);
    for (const BlockId id : before) s.LookAt(id, r.at + s.config.repair_delay);
    // A block may have been waiting for one more worker.
    for (const auto& [id, unused] : s.short_of_workers.all()) s.LookAt(id, r.at + s.config.repair_delay);
    s.MaybeLeaveSafeMode(r.at, effects);
    s.Repair(r.at, effects);
  }

  void operator()(const WorkerGone& r) {
    const Worker* worker = s.workers.Find(r.worker);
    if (worker == nullptr || worker->incarnation != r.incarnation) return;
    for (const BlockId id : Forget(r.worker)) s.LookAt(id, r.at + s.config.repair_delay);
    s.Repair(r.at, effects);
  }

  void operator()(const WorkerDrained& r) {
    if (!s.workers.Has(r.worker)) return;
    s.workers.Change(r.worker, [&](Worker& w) { w.draining = r.on; });
    for (const BlockId id : s.on_worker[r.worker]) s.LookAt(id, r.at);
    // Blocks elsewhere may have been waiting for this worker to return to service.
    if (!r.on) {
      for (const auto& [id, unused] : s.short_of_workers.all()) s.LookAt(id, r.at);
    }
    s.Repair(r.at, effects);
  }

  void operator()(const ReplicaDurable& r) {
    const Worker* worker = s.workers.Find(r.worker);
    if (worker == nullptr || worker->incarnation != r.incarnation) return;
    Heard(r.worker, r.block, r.at);
    s.MaybeLeaveSafeMode(r.at, effects);
    s.Repair(r.at, effects);
  }

  void operator()(const ReplicaSuspect& r) {
    const Worker* worker = s.workers.Find(r.worker);
    const Block* block = s.blocks.Find(r.block);
    if (worker == nullptr || worker->incarnation != r.incarnation) return;
    const BlockRef said{r.block, r.generation, r.length, 0};
    if (block == nullptr) {
      // A block that the journal never assigned is left alone, like in Heard.
      if (!s.Lost(r.block) && r.block.value < s.counters.next_block) s.Discard(r.worker, said, effects);
      return;
    }
    if (block->generation != r.generation) return;
    // Another block with the same id, like in Heard.
    if (s.Lost(r.block) && !s.on_worker[r.worker].contains(r.block)) return;
    s.SetDamaged(r.worker, said, r.aside);
    s.LookAt(r.block, r.at);
    s.Repair(r.at, effects);
  }

  void operator()(const ReplicaNotCopied& r) {
    const Copying* copy = s.copies.Find(r.block);
    const Worker* worker = s.workers.Find(r.worker);
    if (worker == nullptr || worker->incarnation != r.incarnation) return;
    if (copy == nullptr || copy->from != r.worker || s.blocks.Find(r.block)->generation != r.generation) return;
    s.CopyFailed(r.block, r.at, r.source_failed);
    s.LookAt(r.block, r.at);
    s.Repair(r.at, effects);
  }

  void operator()(const WorkerGivenUp& r) { s.safe_mode.awaited.erase(r.worker); }

  void operator()(const DiskFailed& r) {
    const Worker* worker = s.workers.Find(r.worker);
    if (worker == nullptr || worker->incarnation != r.incarnation || worker->disk_failed == r.why) return;
    s.workers.Change(r.worker, [&](Worker& w) { w.disk_failed = r.why; });
    for (const BlockId id : s.on_worker[r.worker]) s.LookAt(id, r.at);
    for (const auto& [id, unused] : s.short_of_workers.all()) s.LookAt(id, r.at);
    s.Repair(r.at, effects);
  }

  void operator()(const WorkerRoom& r) {
    const Worker* worker = s.workers.Find(r.worker);
    if (worker == nullptr || worker->incarnation != r.incarnation) return;
    s.workers.Change(r.worker, [&](Worker& w) {
      w.capacity_bytes = r.capacity_bytes;
      w.full = r.full;
    });
    if (r.full) return;
    for (const auto& [id, unused] : s.short_of_workers.all()) s.LookAt(id, r.at);
    s.Repair(r.at, effects);
  }

  void operator()(const LeaseRenewed& r) {
    if (s.leases.Has(r.lease)) s.deadlines.Put(r.lease, r.at + s.config.lease_time);
  }

  void operator()(const IdsRaised& r) {
    if (r.next_block > s.counters.next_block) s.lost_ids.push_back({s.counters.next_block, r.next_block});
    s.counters.next_block = std::max(s.counters.next_block, r.next_block);
    s.counters.next_lease = std::max(s.counters.next_lease, r.next_lease);
  }

  void operator()(const IdsInDoubt& r) {
    if (r.begin < r.end) s.lost_ids.push_back({r.begin, r.end});
  }

  void operator()(const SafeModeHeld& r) {
    s.safe_mode.held = r.on;
    s.safe_mode.on = s.safe_mode.on || r.on;
    s.MaybeLeaveSafeMode(r.at, effects);
  }

  void operator()(const Ticked& r) {
    s.MaybeLeaveSafeMode(r.at, effects);
    s.Repair(r.at, effects);
  }

  void operator()(const RuleSet& r) {
    const uint64_t id = s.Resolve(r.path);
    const std::string owner = RightsAt(s, r.path).owner;
    r.rule.empty() ? s.rules.Erase(id) : s.rules.Put(id, r.rule);
    if (RightsAt(s, r.path).owner != owner) ChargeTree(&s, id);
  }

  void operator()(const ReplicasPlaced& r) {
    if (s.placed.Has(r.block)) s.placed.Put(r.block, {r.workers});
  }

  void operator()(const WorkerForgotten& r) {
    s.safe_mode.awaited.erase(r.worker);
    std::erase(s.safe_mode.expected, r.worker);
    std::vector<BlockId> noted;
    for (const auto& [id, placed] : s.placed.all()) {
      if (Contains(placed.workers, r.worker)) noted.push_back(id);
    }
    for (const BlockId id : noted) s.placed.Change(id, [&](Placed& p) { std::erase(p.workers, r.worker); });
  }

  // ---- helpers ----

  // Removes what is to be replaced, if there is anything. Returns its rule, which its successor keeps.
  Rule Replace(uint64_t old) {
    if (old == 0) return {};
    const Rule* rule = s.rules.Find(old);
    Rule kept = rule == nullptr ? Rule{} : *rule;
    s.RemoveTree(old, effects);
    return kept;
  }

  void EndLease(uint64_t id, const Lease& lease) {
    if (!lease.request_id.empty()) s.requests.erase(lease.request_id);
    s.leases.Erase(id);
    s.lease_owners.Erase(id);
    s.deadlines.Erase(id);
  }

  // Notes a replica that its writer reported. The holder's own report replaces it.
  void NoteReplica(WorkerId w, const BlockRef& block) {
    if (!s.workers.Has(w)) return;
    const bool known = std::any_of(AllHolders(block.id).begin(), AllHolders(block.id).end(),
                                   [&](const Replica& r) { return r.worker == w; });
    if (known) return;
    s.AddReplica(w, block);
    s.workers.Change(w, [&](Worker& worker) { worker.used_bytes += block.length; });
  }

  const std::vector<Replica>& AllHolders(BlockId id) const {
    static const std::vector<Replica> kNone;
    const Holders* h = s.holders.Find(id);
    return h == nullptr ? kNone : h->replicas;
  }

  // Handles a holder's own report. counted: its used_bytes include the block already.
  void Heard(WorkerId w, const BlockRef& said, Instant at, bool counted = false) {
    if (!s.blocks.Has(said.id)) {
      // An id that this journal never assigned means that the journal is older than the block: a sign of a lost
      // journal, not of garbage. The replica is left alone.
      if (!s.Lost(said.id) && said.id.value < s.counters.next_block) s.Discard(w, said, effects);
      return;
    }
    // Another block with the same id, assigned by a lost record.
    if (s.Lost(said.id) && !s.Matches(*s.blocks.Find(said.id), said)) return;
    const bool had = s.on_worker[w].contains(said.id);
    s.AddReplica(w, said);
    if (!had && !counted) s.workers.Change(w, [&](Worker& worker) { worker.used_bytes += said.length; });
    const Block& block = *s.blocks.Find(said.id);
    // A block with too few replicas may have others on their way, so it can wait.
    const bool settled = s.copies.Has(said.id) || s.PlacedHolders(said.id).size() >= s.WantedOf(block);
    s.LookAt(said.id, settled ? at : at + s.config.repair_delay);
  }

  // Forgets the worker and all its replicas. Returns the blocks that it had.
  std::set<BlockId> Forget(WorkerId w) {
    std::set<BlockId> held = s.on_worker[w];
    for (const BlockId id : held) s.RemoveReplica(w, id);
    s.on_worker.erase(w);
    s.workers.Erase(w);
    std::vector<ReplicaKey> garbage;
    for (const auto& [key, said] : s.garbage.all()) {
      if (key.worker == w) garbage.push_back(key);
    }
    for (const auto& key : garbage) s.garbage.Erase(key);
    std::vector<BlockId> copies;
    for (const auto& [id, copy] : s.copies.all()) {
      if (copy.from == w || copy.to == w) copies.push_back(id);
    }
    for (const BlockId id : copies) {
      // The bytes may have arrived. The target's report then counts, though the copy ends here.
      const WorkerId to = s.copies.Find(id)->to;
      s.tried.Change(id, [&](Tried& t) {
        if (!Contains(t.ordered, to)) t.ordered.push_back(to);
      });
      s.EndCopy(id);
      held.insert(id);
    }
    return held;
  }

  void Detach(BlockId id) {
    const uint64_t owner = s.blocks.Find(id)->node;
    if (owner == 0) return;
    s.owner_bytes.Take(owner, s.blocks.Find(id)->length);
    s.nodes.Change(owner, [&](Node& n) { std::erase(n.blocks, id); });
    s.blocks.Change(id, [](Block& b) { b.node = 0; });
  }
};

}  // namespace

std::vector<Effect> Namespace::Apply(const Record& record) {
  std::vector<Effect> effects;
  std::visit(Applier{impl_->state, &effects}, record);
  return effects;
}

}  // namespace mr::dfs
