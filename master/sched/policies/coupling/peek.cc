#include "master/sched/policies/coupling/peek.h"

#include <algorithm>

#include "master/sched/policies/coupling/centrality.h"

namespace mr::sched {

namespace {

// Returns how many of the n workers from this place of the roll on take work and hold input of a waiting map.
double CountHolders(const State& state, const Job& job, size_t from, size_t n) {
  const auto& roll = state.roll();
  const uint32_t first = roll[from].id.value, last = roll[from + n - 1].id.value;
  std::vector<bool> holds(n);
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    if (ReadsStages(job.graph.stages[s])) continue;
    for (const TaskClass& c : job.stages[s].classes) {
      const LocalLists& lists = c.ready.by_worker;
      const std::vector<uint32_t>& places = lists.places();
      size_t at = from;
      for (uint32_t l = lists.FirstFrom(first); l < places.size() && places[l] <= last; ++l) {
        while (roll[at].id.value < places[l]) ++at;
        if (roll[at].id.value == places[l] && lists.CountPending(l) > 0) holds[at - from] = true;
      }
    }
  }
  double count = 0;
  for (size_t i = 0; i < n; ++i) count += holds[i] && roll[from + i].takes_work;
  return count;
}

}  // namespace

Peeked PeekAtWorkers(const State& state, const Job& job, size_t most, Rng& rng) {
  const auto& roll = state.roll();
  const size_t n = std::min(most, roll.size());
  size_t begin = 0;
  if (n < roll.size()) {
    const uint32_t first = roll.front().id.value, last = roll.back().id.value;
    const uint32_t from = first + static_cast<uint32_t>(rng.Below(last - first + 1));
    const auto before = [](const RollEntry& entry, uint32_t id) { return entry.id.value < id; };
    begin = static_cast<size_t>(std::lower_bound(roll.begin(), roll.end(), from, before) - roll.begin());
  }
  // After the last one comes the first.
  const size_t to_end = std::min(n, roll.size() - begin);
  double have = 0, free = 0, live = 0;
  for (const auto& [from, count] : {std::pair(begin, to_end), std::pair(size_t{0}, n - to_end)}) {
    if (count == 0) continue;
    have += CountHolders(state, job, from, count);
    for (size_t i = from; i < from + count; ++i) {
      live += roll[i].takes_work;
      free += roll[i].takes_work && roll[i].is_free[KindIndex(SlotKind::kMap)];
    }
  }
  state.Look(n);
  if (live == 0) return {};
  return {have / live, free / live * (live / static_cast<double>(n)) * static_cast<double>(roll.size())};
}

}  // namespace mr::sched
