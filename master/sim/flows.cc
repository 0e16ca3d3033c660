#include "master/sim/flows.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace mr::sim {

uint32_t Flows::AddLink(double capacity) {
  links_.emplace_back();
  links_.back().capacity = capacity;
  return static_cast<uint32_t>(links_.size() - 1);
}

double Flows::Bounded(const Flow& flow, double limit) const {
  for (const Use& use : flow.uses) limit = std::min(limit, links_[use.link].capacity / use.share);
  return limit;
}

// Its links as they are now: those that are short, before or after a change, spread it.
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
    if (link.members.empty()) link.demand = 0;  // no rounding is carried on
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

// All flows that this link, and the short links of its flows, carry.
void Flows::Gather(uint32_t first) {
  if (links_[first].mark == mark_) return;
  links_[first].mark = mark_;
  size_t next = part_links_.size();
  part_links_.push_back(first);
  for (; next < part_links_.size(); ++next) {
    for (const Member& m : links_[part_links_[next]].members) {
      Flow& flow = flows_[m.flow];
      if (flow.mark == mark_) continue;
      flow.mark = mark_;
      part_.push_back(m.flow);
      for (const Use& use : flow.uses) {
        Link& link = links_[use.link];
        if (link.mark == mark_ || !link.tight()) continue;
        link.mark = mark_;
        part_links_.push_back(use.link);
      }
    }
  }
}

void Flows::Fix(Flow& flow, double rate) {
  flow.fixed = true;
  flow.next_rate = rate;
  for (const Use& use : flow.uses) {
    Link& link = links_[use.link];
    link.room = std::max(0.0, link.room - use.share * rate);
    link.shares -= use.share;
  }
}

// Raises all rates together; a flow stops at its limit, all flows of a link when it is full.
void Flows::Fill() {
  for (const uint32_t l : part_links_) {
    Link& link = links_[l];
    link.room = link.capacity;
    link.shares = 0;
    for (const Member& m : link.members) link.shares += flows_[m.flow].uses[m.use].share;
  }
  for (const uint32_t f : part_) flows_[f].fixed = false;
  by_limit_.clear();
  for (const uint32_t f : part_) by_limit_.emplace_back(flows_[f].limit, f);
  std::sort(by_limit_.begin(), by_limit_.end());
  // A rest of rounding is no share.
  constexpr double kNoShare = 1e-9;
  const auto level_of = [this](uint32_t l) { return links_[l].room / links_[l].shares; };
  levels_.clear();
  for (const uint32_t l : part_links_) {
    if (links_[l].tight() && links_[l].shares > kNoShare) levels_.emplace_back(level_of(l), l);
  }
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  for (size_t next = 0; next < by_limit_.size();) {
    if (flows_[by_limit_[next].second].fixed) {
      ++next;
      continue;
    }
    // A level never falls: a flow that is fixed takes no more than its part of the room.
    while (!levels_.empty()) {
      const auto [level, l] = levels_.front();
      if (links_[l].shares > kNoShare && level_of(l) <= level) break;
      std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
      levels_.pop_back();
      if (links_[l].shares <= kNoShare) continue;
      levels_.emplace_back(level_of(l), l);
      std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
    }
    Flow& slowest = flows_[by_limit_[next].second];
    if (levels_.empty() || slowest.limit <= levels_.front().first) {
      Fix(slowest, slowest.limit);
      continue;
    }
    const auto [level, l] = levels_.front();
    for (const Member& m : links_[l].members) {
      if (!flows_[m.flow].fixed) Fix(flows_[m.flow], level);
    }
    links_[l].shares = 0;
  }
}

void Flows::Settle(Instant now, std::vector<Due>* due) {
  if (dirty_flows_.empty() && dirty_links_.empty()) return;
  ++mark_;
  part_.clear();
  part_links_.clear();
  for (const uint32_t l : dirty_links_) {
    links_[l].dirty = false;
    Gather(l);
  }
  for (const uint32_t f : dirty_flows_) {
    if (flows_[f].mark == mark_ || flows_[f].limit <= 0) continue;
    flows_[f].mark = mark_;
    part_.push_back(f);
  }
  dirty_links_.clear();
  dirty_flows_.clear();
  Fill();
  // A link without room must not stop a flow for ever by rounding.
  constexpr double kSlowest = 1;
  for (const uint32_t f : part_) {
    Flow& flow = flows_[f];
    const double rate = std::max(kSlowest, flow.next_rate);
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
