// Goal: every sealed block of a visible (or staged) file has as many good replicas as its file asks
// for and the cluster can hold, and no more; no copy is deleted without proof of enough others.
//
// A block is looked at when something about it changed (a holder lost or back, a replica found bad,
// the file's replication set, a worker draining), not before the instant in `queue`: a lost worker
// gets repair_delay to come back. In safe mode nothing is copied and nothing deleted.
#include <algorithm>

#include "dfs/meta/placement.h"
#include "dfs/meta/state.h"

namespace mr::dfs {

void State::LookAt(BlockId id, Instant not_before) {
  const Instant* already = queue.Find(id);
  if (already != nullptr && *already <= not_before) return;
  queue.Put(id, not_before);
}

namespace {

struct Picture {
  uint32_t wanted = 0;               // what the file asks for
  std::vector<WorkerId> sources;     // good replicas
  std::vector<WorkerId> counting;    // of those: on workers that stay
  std::vector<WorkerId> suspects;
};

Picture Look(const State& s, BlockId id) {
  Picture p;
  p.wanted = s.WantedOf(*s.blocks.Find(id));
  const Holders* h = s.holders.Find(id);
  if (h == nullptr) return p;
  for (const auto& r : h->replicas) {
    if (r.suspect) {
      p.suspects.push_back(r.worker);
      continue;
    }
    p.sources.push_back(r.worker);
    if (!s.workers.Find(r.worker)->draining) p.counting.push_back(r.worker);
  }
  return p;
}

Candidate CandidateOf(const State& s, WorkerId id, uint64_t block_bytes) {
  const Worker& w = *s.workers.Find(id);
  Candidate c;
  c.worker = id;
  c.rack = w.rack;
  c.used_bytes = w.used_bytes + w.open_blocks * s.config.block_bytes;
  c.full = w.capacity_bytes != 0 && c.used_bytes + block_bytes > w.capacity_bytes;
  return c;
}

bool Contains(const std::vector<WorkerId>& list, WorkerId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// The good holder that sends least at the moment, if it may send one more.
WorkerId PickSource(const State& s, const Picture& p) {
  WorkerId best;
  uint32_t least = s.config.repairs_per_worker;
  for (const WorkerId w : p.sources) {
    uint32_t sends = 0;
    for (const auto& [block, copy] : s.copies.all()) sends += copy.from == w ? 1 : 0;
    if (sends < least) {
      least = sends;
      best = w;
    }
  }
  return best;
}

WorkerId PickTarget(const State& s, BlockId id, const Picture& p) {
  PlacementRequest request;
  request.count = 1;
  request.seed = id.value;
  for (const WorkerId w : p.counting) request.held.push_back(CandidateOf(s, w, 0));
  for (const auto& [w, worker] : s.workers.all()) {
    if (worker.draining || Contains(p.sources, w)) continue;
    request.candidates.push_back(CandidateOf(s, w, s.blocks.Find(id)->length));
    // A fresh copy may replace a bad one, which keeps the bad bytes aside until it is durable.
    request.candidates.back().last_resort = Contains(p.suspects, w);
  }
  const auto chosen = Place(request);
  return chosen.empty() ? WorkerId{} : chosen[0];
}

// Which of too many good replicas goes: one whose rack has another, on the most used worker.
WorkerId PickSurplus(const State& s, const Picture& p) {
  const auto rank = [&](WorkerId w) {
    uint32_t same_rack = 0;
    for (const WorkerId o : p.counting) {
      same_rack += s.workers.Find(o)->rack == s.workers.Find(w)->rack ? 1 : 0;
    }
    return std::tuple(same_rack > 1, s.workers.Find(w)->used_bytes, w);
  };
  return *std::max_element(p.counting.begin(), p.counting.end(),
                           [&](WorkerId a, WorkerId b) { return rank(a) < rank(b); });
}

void DeleteOne(State* s, BlockId id, WorkerId worker, std::vector<Effect>* effects) {
  BlockRef said = s->RefOf(id);
  for (const auto& r : s->holders.Find(id)->replicas) {
    if (r.worker == worker) said = r.said;
  }
  s->RemoveReplica(worker, id);
  s->Discard(worker, said, effects);
}

}  // namespace

void State::RepairBlock(BlockId id, Instant now, std::vector<Effect>* effects) {
  const Block* block = blocks.Find(id);
  if (block == nullptr || !block->sealed || block->node == 0) {
    queue.Erase(id);
    return;
  }
  Picture p = Look(*this, id);
  if (const Copying* copy = copies.Find(id)) {
    const bool arrived = Contains(p.sources, copy->to);
    const bool overdue = now - copy->since >= config.repair_timeout;
    if (!arrived && !overdue && workers.Has(copy->to) && workers.Has(copy->from)) {
      // Waits for the report, or for its time to run out.
      queue.Put(id, copy->since + config.repair_timeout);
      return;
    }
    copies.Erase(id);
  }
  const uint32_t possible = std::min(p.wanted, EligibleWorkers());
  if (p.counting.size() < possible) {
    if (p.sources.empty()) {
      queue.Erase(id);  // missing: looked at again when a replica is reported
      return;
    }
    const WorkerId from = PickSource(*this, p);
    const WorkerId to = from.valid() ? PickTarget(*this, id, p) : WorkerId{};
    if (!to.valid()) return;  // stays in the queue until there is room for it
    copies.Put(id, {from, to, now});
    queue.Put(id, now + config.repair_timeout);
    effects->push_back(ReplicateBlock{from, workers.Find(from)->incarnation, to, workers.Find(to)->address,
                                      RefOf(id)});
    return;
  }
  queue.Erase(id);
  // Proof of enough: as many good replicas as the file asks for remain without this one.
  if (p.counting.size() >= p.wanted) {
    for (const WorkerId w : p.suspects) DeleteOne(this, id, w, effects);
  }
  while (p.counting.size() > p.wanted) {
    const WorkerId w = PickSurplus(*this, p);
    DeleteOne(this, id, w, effects);
    std::erase(p.counting, w);
  }
}

void State::Repair(Instant now, std::vector<Effect>* effects) {
  if (safe_mode.on) return;
  std::vector<BlockId> due;
  for (const auto& [id, not_before] : queue.all()) {
    if (not_before <= now) due.push_back(id);
  }
  for (const BlockId id : due) RepairBlock(id, now, effects);
}

void State::MaybeLeaveSafeMode(Instant now, std::vector<Effect>* effects) {
  if (!safe_mode.on) return;
  bool all_here = true;
  for (const WorkerId w : safe_mode.expected) all_here = all_here && workers.Has(w);
  if (now < safe_mode.until) {
    if (!all_here) return;
    for (const auto& [id, block] : blocks.all()) {
      if (block.sealed && GoodHolders(id).empty()) return;
    }
  }
  const bool expected_none = safe_mode.expected.empty();
  safe_mode = {false, {}, {}};
  // With all known workers back nothing more will be reported; else the absent get their time.
  const Instant from = all_here && !expected_none ? now : now + config.repair_delay;
  for (const auto& [id, block] : blocks.all()) {
    if (block.sealed) queue.Put(id, from);
  }
  const auto waiting = garbage.all();
  garbage.Clear();
  for (const auto& [key, said] : waiting) {
    if (workers.Has(key.worker) && !blocks.Has(key.block)) Discard(key.worker, said, effects);
  }
  Repair(now, effects);
}

}  // namespace mr::dfs
