#include "master/sim/engine/flows.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace mr::sim {

namespace {
// Rounds after which a part takes in every flow that it can reach, since each round fills again from the start. Few
// changes need a third round.
constexpr int kRounds = 8;
}  // namespace

uint32_t Flows::AddLink(double capacity) {
  links_.emplace_back();
  links_.back().capacity = capacity;
  return static_cast<uint32_t>(links_.size() - 1);
}

double Flows::Bounded(const Flow& flow, double limit) const {
  for (const Use& use : flow.uses) limit = std::min(limit, links_[use.link].capacity / use.share);
  return limit;
}

// Marks the flow's links that are short of capacity, before or after a change, since these spread the change.
void Flows::Touch(const Flow& flow) {
  for (const Use& use : flow.uses) Touch(use.link);
}

void Flows::Touch(uint32_t l) {
  Link& link = links_[l];
  if (link.dirty || !link.tight()) return;
  link.dirty = true;
  dirty_links_.push_back(l);
}

void Flows::SetCapacity(Instant now, uint32_t l, double capacity) {
  Link& link = links_[l];
  if (link.capacity == capacity) return;
  Touch(l);
  link.capacity = capacity;
  for (const Member& m : link.members) SetLimit(now, m.flow, flows_[m.flow].asked);
  Touch(l);
}

uint32_t Flows::Start(Instant now, double bytes, double limit, std::span<const Use> uses) {
  uint32_t id = static_cast<uint32_t>(flows_.size());
  if (free_.empty()) {
    flows_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Flow& flow = flows_[id];
  flow.at = now;
  flow.left = bytes;
  flow.rate = 0;
  flow.fresh = true;
  ++flow.version;
  flow.uses.assign(uses.begin(), uses.end());
  flow.asked = limit;
  flow.limit = limit = Bounded(flow, limit);
  flow.places.clear();
  for (uint32_t u = 0; u < flow.uses.size(); ++u) {
    Link& link = links_[flow.uses[u].link];
    flow.places.push_back(static_cast<uint32_t>(link.members.size()));
    link.members.push_back({id, u});
    link.demand += flow.uses[u].share * limit;
  }
  Touch(flow);
  dirty_flows_.push_back(id);
  return id;
}

void Flows::SetLimit(Instant, uint32_t id, double limit) {
  Flow& flow = flows_[id];
  Touch(flow);
  flow.asked = limit;
  limit = Bounded(flow, limit);
  for (const Use& use : flow.uses) links_[use.link].demand += use.share * (limit - flow.limit);
  flow.limit = limit;
  Touch(flow);
  dirty_flows_.push_back(id);
}

double Flows::End(Instant now, uint32_t id) {
  Flow& flow = flows_[id];
  const double left = Left(now, id);
  Touch(flow);
  for (uint32_t u = 0; u < flow.uses.size(); ++u) {
    Link& link = links_[flow.uses[u].link];
    link.demand -= flow.uses[u].share * flow.limit;
    const Member last = link.members.back();
    link.members[flow.places[u]] = last;
    flows_[last.flow].places[last.use] = flow.places[u];
    link.members.pop_back();
    if (link.members.empty()) link.demand = 0;  // drops rounding errors
  }
  flow.uses.clear();
  flow.limit = 0;
  flow.rate = 0;
  ++flow.version;
  free_.push_back(id);
  return left;
}

double Flows::Left(Instant now, uint32_t id) const {
  const Flow& flow = flows_[id];
  return std::max(0.0, flow.left - flow.rate * (now - flow.at).seconds());
}

// Filling raises all rates together: a flow stops at its limit, and all flows of a link stop when it is full. The order
// of these stops on one link depends only on its own flows. So a part of the links can be filled as if all were, with
// flows of other links stopping where they did before. This holds until a flow of the part that another short link
// carries stops elsewhere. Then that link joins the part (Spread).

void Flows::Take(uint32_t l) {
  if (links_[l].mark == mark_) return;
  links_[l].mark = mark_;
  part_links_.push_back(l);
  for (const Member& m : links_[l].members) {
    if (flows_[m.flow].mark == mark_) continue;
    flows_[m.flow].mark = mark_;
    part_.push_back(m.flow);
  }
}

// Returns false if no link joined the part. all: takes the links of every flow that the part can reach, changed or not.
bool Flows::Spread(bool all) {
  const size_t before = part_links_.size(), filled = part_.size();
  for (size_t i = 0; i < (all ? part_.size() : filled); ++i) {
    const Flow& flow = flows_[part_[i]];
    if (!all && !flow.fresh && flow.next == flow.stop) continue;
    for (const Use& use : flow.uses) {
      if (links_[use.link].tight()) Take(use.link);
    }
  }
  return part_links_.size() > before;
}

Flows::Latest Flows::LatestOf(uint32_t f) const {
  const Flow& flow = flows_[f];
  if (flow.fresh || flow.stop.link == kByLimit || links_[flow.stop.link].mark == mark_) return {flow.limit, 0, f, f};
  size_t u = 0;
  while (flow.uses[u].link != flow.stop.link) ++u;
  return {flow.stop.level, flow.stop.link + 1, flow.places[u], f};
}

void Flows::Fix(Flow& flow, double level, uint32_t by) {
  flow.fixed = true;
  flow.next = {level, by};
  for (const Use& use : flow.uses) {
    Link& link = links_[use.link];
    link.room = std::max(0.0, link.room - use.share * level);
    link.shares -= use.share;
  }
}

void Flows::Fill() {
  // Shares below this are rounding errors.
  constexpr double kNoShare = 1e-9;
  levels_.clear();
  for (const uint32_t l : part_links_) {
    Link& link = links_[l];
    link.room = link.capacity;
    link.shares = 0;
    for (const Member& m : link.members) link.shares += flows_[m.flow].uses[m.use].share;
    if (link.tight() && link.shares > kNoShare) levels_.emplace_back(LevelOf(l), l);
  }
  looks_ += part_.size();
  latest_.clear();
  for (const uint32_t f : part_) {
    flows_[f].fixed = false;
    latest_.push_back(LatestOf(f));
  }
  std::make_heap(latest_.begin(), latest_.end(), std::greater<>());
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  const auto pop = [](auto* heap) {
    std::pop_heap(heap->begin(), heap->end(), std::greater<>());
    heap->pop_back();
  };
  for (size_t left = part_.size(); left > 0;) {
    const Latest first = latest_.front();
    const auto before = [&](const Level& l) {
      return std::pair{first.level, first.link} < std::pair{l.first, l.second + 1};
    };
    if (levels_.empty() || before(levels_.front())) {
      if (Flow& flow = flows_[first.flow]; !flow.fixed) {
        Fix(flow, first.level, first.link - 1);
        --left;
      }
      pop(&latest_);
      continue;
    }
    const auto [level, l] = levels_.front();
    pop(&levels_);
    if (links_[l].shares <= kNoShare) continue;
    // A level never falls: a flow that stops takes no more than its share of the room.
    if (const double now = LevelOf(l); now > level) {
      levels_.emplace_back(now, l);
      std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
      continue;
    }
    for (const Member& m : links_[l].members) {
      if (flows_[m.flow].fixed) continue;
      Fix(flows_[m.flow], level, l);
      --left;
    }
  }
}

void Flows::Settle(Instant now, std::vector<Due>* due) {
  if (dirty_flows_.empty() && dirty_links_.empty()) return;
  ++mark_;
  part_.clear();
  part_links_.clear();
  for (const uint32_t l : dirty_links_) {
    links_[l].dirty = false;
    Take(l);
  }
  for (const uint32_t f : dirty_flows_) {
    if (flows_[f].mark == mark_ || flows_[f].limit <= 0) continue;
    flows_[f].mark = mark_;
    part_.push_back(f);
  }
  dirty_links_.clear();
  dirty_flows_.clear();
  int rounds = 0;
  do Fill();
  while (Spread(++rounds >= kRounds));
  // Bytes per second. A link without room must not stop a flow for ever because of rounding.
  constexpr double kSlowest = 1;
  for (const uint32_t f : part_) {
    Flow& flow = flows_[f];
    flow.stop = flow.next;
    const double rate = std::max(kSlowest, flow.stop.level);
    if (!flow.fresh && rate == flow.rate) continue;
    flow.left = Left(now, f);
    flow.at = now;
    flow.rate = rate;
    flow.fresh = false;
    ++flow.version;
    due->push_back({f, flow.version, now + Nanos(static_cast<int64_t>(std::ceil(flow.left / rate * 1e9)))});
  }
}

}  // namespace mr::sim
