#include "master/sched/policies/mantri/rack_shares.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace mr::sched {

namespace {

double TotalOf(const std::vector<RackLoad>& racks) {
  double all = 0;
  for (const RackLoad& r : racks) all += r.data;
  return all;
}

double LinkCost(const RackLoad& r, double all, double share) {
  return std::max(r.data * (1 - share) / r.up, share * (all - r.data) / r.down);
}

struct Bounds {
  double low = 0, high = 1;
};

Bounds BoundsOf(const RackLoad& r, double all, double cost) {
  const double others = all - r.data;
  return {r.data > 0 ? std::max(0.0, 1 - cost * r.up / r.data) : 0,
          others > 0 ? std::min(r.most, cost * r.down / others) : r.most};
}

bool Feasible(const std::vector<RackLoad>& racks, double all, double cost) {
  double low = 0, high = 0;
  for (const RackLoad& r : racks) {
    const Bounds b = BoundsOf(r, all, cost);
    if (b.low > b.high) return false;
    low += b.low;
    high += b.high;
  }
  return low <= 1 && high >= 1;
}

}  // namespace

double ShuffleCost(const std::vector<RackLoad>& racks, const std::vector<double>& shares) {
  MR_CHECK(shares.size() == racks.size(), "a share for each rack");
  const double all = TotalOf(racks);
  double cost = 0;
  for (size_t i = 0; i < racks.size(); ++i) cost = std::max(cost, LinkCost(racks[i], all, shares[i]));
  return cost;
}

std::vector<double> BestShares(std::vector<RackLoad> racks) {
  double most = 0;
  for (const RackLoad& r : racks) most += r.most;
  for (RackLoad& r : racks) {
    if (most < 1) r.most = most > 0 ? r.most / most : 1;
  }
  const double all = TotalOf(racks);
  double below = 0, cost = 0;
  // At this cost each rack could read nothing and everything.
  for (const RackLoad& r : racks) cost = std::max({cost, r.data / r.up, (all - r.data) / r.down});
  cost *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (below + cost) / 2;
    (Feasible(racks, all, middle) ? cost : below) = middle;
  }
  double low = 0, high = 0;
  for (const RackLoad& r : racks) {
    low += BoundsOf(r, all, cost).low;
    high += BoundsOf(r, all, cost).high;
  }
  const double part = high > low ? std::clamp((1 - low) / (high - low), 0.0, 1.0) : 0;
  std::vector<double> shares;
  for (const RackLoad& r : racks) {
    const Bounds b = BoundsOf(r, all, cost);
    shares.push_back(b.low + part * (b.high - b.low));
  }
  return shares;
}

std::vector<uint32_t> WholeTasks(const std::vector<RackLoad>& racks, const std::vector<double>& shares, uint32_t n) {
  const double all = TotalOf(racks);
  std::vector<uint32_t> tasks;
  uint32_t given = 0;
  for (const double share : shares) {
    // Tolerates a share that rounding has left just below a whole number.
    tasks.push_back(std::min(n - given, static_cast<uint32_t>(std::floor(share * n + 1e-6))));
    given += tasks.back();
  }
  const auto cost = [&](size_t i, uint32_t more) {
    return LinkCost(racks[i], all, static_cast<double>(tasks[i] + more) / n);
  };
  for (; given < n; ++given) {
    // The two highest costs as they are: the highest of the other racks when one rack gets the task.
    size_t first = racks.size();
    double highest = 0, second = 0;
    for (size_t i = 0; i < racks.size(); ++i) {
      const double c = cost(i, 0);
      if (first == racks.size() || c > highest) {
        second = first == racks.size() ? 0 : highest;
        highest = c;
        first = i;
      } else {
        second = std::max(second, c);
      }
    }
    size_t best = racks.size();
    double best_cost = 0, best_own = 0;
    for (const bool within : {true, false}) {
      for (size_t i = 0; i < racks.size() && (within || best == racks.size()); ++i) {
        if (within && tasks[i] + 1 > racks[i].most * n + 1e-6) continue;
        const double own = cost(i, 1), c = std::max(own, i == first ? second : highest);
        if (best != racks.size() && (c > best_cost || (c == best_cost && own >= best_own))) continue;
        best = i;
        best_cost = c;
        best_own = own;
      }
    }
    ++tasks[best];
  }
  return tasks;
}

}  // namespace mr::sched
