// Repairs blocks until every sealed block of a visible (or staged) file has as many good replicas as its file asks for
// and the cluster can hold, and no more. No replica is deleted without proof of enough others.
//
// Only placed replicas count (state.h, Placed): any worker can report any block. A good replica that is not placed is a
// source where no placed one can be read, and is the first to be deleted when enough placed ones are known.
//
// A block is examined when it changed: a holder was lost or returned, a replica was found bad, the file's replication
// was set, or a worker is draining. It is examined no earlier than the instant in `queue`: a lost worker gets
// repair_delay to return. A block that needs a copy then waits, ready, for a free source. The block with the fewest
// good replicas goes first. The cost of a pass depends on what changed since the last pass, not on how many blocks
// wait. In safe mode nothing is copied and nothing is deleted.
#include <algorithm>

#include "dfs/meta/placement.h"
#include "dfs/meta/state.h"

namespace mr::dfs {

namespace {

// Failed copies of a block before it pauses for repair_retry (guess).
constexpr uint32_t kFailuresInARow = 3;

struct Picture {
  uint32_t wanted = 0;             // replicas that the file asks for
  std::vector<WorkerId> placed;    // good, placed replicas
  std::vector<WorkerId> counting;  // the part of them on workers that stay
  std::vector<WorkerId> unplaced;  // the other good replicas
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
    if (!s.IsPlaced(id, r.worker)) {
      p.unplaced.push_back(r.worker);
      continue;
    }
    p.placed.push_back(r.worker);
    if (s.workers.Find(r.worker)->Eligible()) p.counting.push_back(r.worker);
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

// Returns those of `from` that are not in `failed`.
std::vector<WorkerId> Without(const std::vector<WorkerId>& from, const std::vector<WorkerId>& failed) {
  std::vector<WorkerId> out;
  std::copy_if(from.begin(), from.end(), std::back_inserter(out), [&](WorkerId w) { return !Contains(failed, w); });
  return out;
}

// Returns the workers that the next copy may be read from: placed replicas that have not failed, then others that have
// not failed, then those that have.
std::vector<WorkerId> Sources(const Picture& p, const Tried* tried) {
  const std::vector<WorkerId>& first = p.placed.empty() ? p.unplaced : p.placed;
  if (tried == nullptr) return first;
  for (const auto* list : {&p.placed, &p.unplaced}) {
    std::vector<WorkerId> untried = Without(*list, tried->sources);
    if (!untried.empty()) return untried;
  }
  return first;
}

uint32_t Sends(const State& s, WorkerId w) {
  const auto it = s.repair.sending.find(w);
  return it == s.repair.sending.end() ? 0 : it->second;
}

// Returns the source with the fewest copies in progress, if it may send one more.
WorkerId PickSource(const State& s, const std::vector<WorkerId>& sources) {
  WorkerId best;
  uint32_t least = s.config.repairs_per_worker;
  for (const WorkerId w : sources) {
    if (Sends(s, w) >= least) continue;
    least = Sends(s, w);
    best = w;
  }
  return best;
}

// Returns the workers that a copy from `from` may be written to. A worker whose replica is not placed may get one, but
// not from itself: its word would be the only proof.
std::vector<WorkerId> Targets(const State& s, const Picture& p, WorkerId from) {
  std::vector<WorkerId> out;
  for (const auto& [w, worker] : s.workers.all()) {
    if (worker.Eligible() && !worker.full && w != from && !Contains(p.placed, w)) out.push_back(w);
  }
  return out;
}

WorkerId PickTarget(const State& s, BlockId id, const Picture& p, WorkerId from) {
  const Tried* tried = s.tried.Find(id);
  PlacementRequest request;
  request.count = 1;
  request.seed = id.value;
  for (const WorkerId w : p.counting) request.held.push_back(CandidateOf(s, w, 0));
  const std::vector<WorkerId> targets = Targets(s, p, from);
  const std::vector<WorkerId> untried = tried == nullptr ? targets : Without(targets, tried->targets);
  for (const WorkerId w : untried.empty() ? targets : untried) {
    request.candidates.push_back(CandidateOf(s, w, s.blocks.Find(id)->length));
    // The target may hold a bad replica: it keeps the bad bytes aside until the new replica is durable.
    request.candidates.back().last_resort = Contains(p.suspects, w) || Contains(p.unplaced, w);
  }
  const auto chosen = Place(request);
  return chosen.empty() ? WorkerId{} : chosen[0];
}

// Returns which of too many good replicas to delete: one with another on its rack, on the most used worker.
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

// Removes damaged bytes that good replicas replaced.
void ForgetAside(State* s, BlockId id, std::vector<Effect>* effects) {
  const Holders* found = s->holders.Find(id);
  const auto aside = [](const Replica& r) { return r.aside; };
  if (found == nullptr || std::none_of(found->replicas.begin(), found->replicas.end(), aside)) return;
  s->holders.Change(id, [&](Holders& h) {
    for (auto& r : h.replicas) {
      if (r.aside) effects->push_back(EmptyQuarantine{r.worker, s->workers.Find(r.worker)->incarnation, r.said});
      r.aside = false;
    }
  });
}

}  // namespace

void State::Unqueue(BlockId id) {
  if (const Instant* at = queue.Find(id)) {
    repair.by_time.erase({*at, id});
    queue.Erase(id);
  }
  const auto it = repair.ready.find(id);
  if (it == repair.ready.end()) return;
  for (const WorkerId w : it->second.sources) {
    const auto at = repair.ready_at.find(w);
    at->second.erase({it->second.good, id});
    if (at->second.empty()) repair.ready_at.erase(at);
  }
  repair.ready.erase(it);
}

void State::SetDue(BlockId id, Instant not_before) {
  Unqueue(id);
  queue.Put(id, not_before);
  repair.by_time.insert({not_before, id});
}

void State::LookAt(BlockId id, Instant not_before) {
  const Instant* already = queue.Find(id);
  const Instant at = already == nullptr ? not_before : std::min(*already, not_before);
  // Also for a ready block: what it needs may have changed.
  if (already == nullptr || at != *already || repair.ready.contains(id)) SetDue(id, at);
}

void State::ClearRepairs() {
  copies.Clear();
  queue.Clear();
  tried.Clear();
  short_of_workers.Clear();
  repair = {};
}

void State::EndCopy(BlockId id) {
  const Copying* copy = copies.Find(id);
  if (copy == nullptr) return;
  if (--repair.sending[copy->from] == 0) repair.sending.erase(copy->from);
  repair.wake.insert(copy->from);
  copies.Erase(id);
}

void State::CopyFailed(BlockId id, Instant now, bool source_failed) {
  const Copying copy = *copies.Find(id);
  EndCopy(id);
  const Picture p = Look(*this, id);
  tried.Change(id, [&](Tried& t) {
    if (!Contains(t.sources, copy.from)) t.sources.push_back(copy.from);
    if (!source_failed && !Contains(t.targets, copy.to)) t.targets.push_back(copy.to);
    if (!Contains(t.ordered, copy.to)) t.ordered.push_back(copy.to);
    ++t.failures;
    const auto all = [](const std::vector<WorkerId>& of, const std::vector<WorkerId>& in) {
      return std::all_of(of.begin(), of.end(), [&](WorkerId w) { return Contains(in, w); });
    };
    const bool exhausted = all(p.placed, t.sources) && all(p.unplaced, t.sources) &&
                           (source_failed || all(Targets(*this, p, copy.from), t.targets));
    if (exhausted) t.sources.clear(), t.targets.clear();
    if (exhausted || t.failures % kFailuresInARow == 0) t.again = now + config.repair_retry;
  });
}

void State::Examine(BlockId id, Instant now, std::vector<Effect>* effects) {
  const Block* block = blocks.Find(id);
  if (block == nullptr || !block->sealed || block->node == 0) return Unqueue(id);
  if (const Copying* copy = copies.Find(id)) {
    const bool arrived = Contains(PlacedHolders(id), copy->to);
    const Instant overdue = copy->since + config.repair_timeout;
    if (!arrived && now < overdue) return SetDue(id, overdue);  // waits for the report
    if (arrived) {
      EndCopy(id);
    } else {
      CopyFailed(id, now, false);
    }
  }
  Picture p = Look(*this, id);
  Unqueue(id);
  if (p.counting.size() < std::min(p.wanted, EligibleWorkers())) {
    if (p.placed.empty() && p.unplaced.empty()) return;  // missing: examined again when a replica is reported
    const Tried* t = tried.Find(id);
    if (t != nullptr && now < t->again) return SetDue(id, t->again);
    queue.Put(id, now);
    RepairIndex::Ready ready{p.counting.size(), Sources(p, t)};
    for (const WorkerId w : ready.sources) {
      repair.ready_at[w].insert({ready.good, id});
      repair.wake.insert(w);
    }
    repair.ready[id] = std::move(ready);
    return;
  }
  tried.Erase(id);
  if (p.counting.size() < p.wanted) {
    short_of_workers.Put(id, true);
    return;
  }
  short_of_workers.Erase(id);
  // Proof of enough: the remaining good, placed replicas are as many as the file asks for.
  for (const WorkerId w : p.suspects) DeleteOne(this, id, w, effects);
  ForgetAside(this, id, effects);
  for (const WorkerId w : p.unplaced) {
    if (workers.Find(w)->Eligible()) DeleteOne(this, id, w, effects);
  }
  while (p.counting.size() > p.wanted) {
    const WorkerId w = PickSurplus(*this, p);
    DeleteOne(this, id, w, effects);
    std::erase(p.counting, w);
  }
}

void State::BeginCopy(BlockId id, Instant now, std::vector<Effect>* effects) {
  const WorkerId from = PickSource(*this, repair.ready.at(id).sources);
  const Picture p = Look(*this, id);
  const bool needed = p.counting.size() < std::min(p.wanted, EligibleWorkers());
  // Workers came or went meanwhile: the next pass examines the block again.
  if (!needed || !from.valid()) return SetDue(id, now);
  const WorkerId to = PickTarget(*this, id, p, from);
  if (!to.valid()) {
    short_of_workers.Put(id, true);  // each worker with space has a replica: wait for another one, or for space
    return Unqueue(id);
  }
  copies.Put(id, {from, to, now});
  ++repair.sending[from];
  SetDue(id, now + config.repair_timeout);
  effects->push_back(ReplicateBlock{from, workers.Find(from)->incarnation, to, workers.Find(to)->address, RefOf(id)});
}

void State::BeginCopies(Instant now, std::vector<Effect>* effects) {
  // The most endangered block of each source with a free slot, the most endangered of all first.
  std::set<std::pair<RepairIndex::Rank, WorkerId>> heads;
  const auto add = [&](WorkerId w) {
    const auto it = repair.ready_at.find(w);
    if (it != repair.ready_at.end() && Sends(*this, w) < config.repairs_per_worker) {
      heads.insert({*it->second.begin(), w});
    }
  };
  for (const WorkerId w : std::exchange(repair.wake, {})) add(w);
  while (!heads.empty()) {
    const auto [rank, w] = *heads.begin();
    heads.erase(heads.begin());
    const auto it = repair.ready_at.find(w);
    if (it != repair.ready_at.end() && *it->second.begin() == rank && Sends(*this, w) < config.repairs_per_worker) {
      BeginCopy(rank.second, now, effects);
    }
    add(w);
  }
}

void State::Repair(Instant now, std::vector<Effect>* effects) {
  if (safe_mode.on) return;
  std::vector<BlockId> due;
  for (const auto& [at, id] : repair.by_time) {
    if (at > now) break;
    due.push_back(id);
  }
  for (const BlockId id : due) Examine(id, now, effects);
  BeginCopies(now, effects);
}

void State::MaybeLeaveSafeMode(Instant now, std::vector<Effect>* effects) {
  if (!safe_mode.on || safe_mode.held) return;
  bool all_here = true;
  for (const WorkerId w : safe_mode.expected) all_here = all_here && workers.Has(w);
  if (now < safe_mode.until) {
    if (!all_here) return;
    for (const auto& [id, block] : blocks.all()) {
      if (block.sealed && PlacedHolders(id).empty()) return;
    }
  }
  const bool expected_none = safe_mode.expected.empty();
  safe_mode.on = false;
  safe_mode.expected.clear();
  // If all known workers are back, no more reports will come. Else the absent workers get their time.
  const Instant from = all_here && !expected_none ? now : now + config.repair_delay;
  for (const auto& [id, block] : blocks.all()) {
    if (block.sealed) SetDue(id, from);
  }
  const auto waiting = garbage.all();
  garbage.Clear();
  for (const auto& [key, said] : waiting) {
    if (workers.Has(key.worker) && !blocks.Has(key.block)) Discard(key.worker, said, effects);
  }
  Repair(now, effects);
}

}  // namespace mr::dfs
