#include "master/sim/studies/timeline.h"

#include <algorithm>

namespace mr::sim {

namespace {

bool IsExtra(Cause cause) { return cause != Cause::kFirst && cause != Cause::kRetry; }

// Legend entries, by AttemptEnd; extra attempts (speculative, clones, restarts) have entries of their own.
struct Look {
  const char* name;
  const char* colour;
};
constexpr Look kLooks[] = {{"committed", "#009e73"},
                           {"killed", "#b0b0b0"},
                           {"failed or lost", "#000"},
                           {"extra attempt that committed", "#0072b2"},
                           {"extra attempt killed", "#e69f00"},
                           {"extra attempt failed or lost", "#d55e00"}};
const Look& LookOf(const AttemptBar& bar) {
  return kLooks[static_cast<size_t>(bar.end) + (IsExtra(bar.cause) ? 3 : 0)];
}

// In pixels: a row, and all rows.
constexpr double kRow = 16, kLeastRow = 3, kRows = 600, kMostRows = 6000;

}  // namespace

void Timeline::See(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions) {
  const Instant at = event.at;
  if (const auto* e = std::get_if<sched::JobSubmitted>(&event.event); e != nullptr && e->job == job_) submitted_ = at;
  if (const auto* e = std::get_if<sched::WorkerLost>(&event.event)) EndAll(e->worker, at);
  if (const auto* e = std::get_if<sched::WorkerRegistered>(&event.event)) EndAll(e->worker, at);
  if (const auto* e = std::get_if<sched::AttemptFailed>(&event.event)) End(e->attempt, AttemptEnd::kLost, at);
  if (const auto* e = std::get_if<sched::AttemptRefused>(&event.event)) End(e->attempt, AttemptEnd::kKilled, at);
  if (const auto* e = std::get_if<sched::AttemptKilled>(&event.event)) End(e->attempt, AttemptEnd::kKilled, at);
  if (const auto* e = std::get_if<sched::AttemptFinished>(&event.event)) {
    const bool won = std::any_of(decisions.begin(), decisions.end(), [&](const sched::Decision& d) {
      const auto* accept = std::get_if<sched::Accept>(&d);
      return accept != nullptr && accept->winner && accept->attempt == e->attempt;
    });
    End(e->attempt, won ? AttemptEnd::kCommitted : AttemptEnd::kKilled, at);
  }
  for (const sched::Decision& decision : decisions) {
    const auto* d = std::get_if<sched::Launch>(&decision);
    if (d == nullptr) continue;
    std::vector<bool>& taken = taken_[d->worker];
    const auto free = static_cast<size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    if (free == taken.size()) taken.push_back(false);
    taken[free] = true;
    live_[d->attempt] = {d->attempt, d->worker, static_cast<uint32_t>(free + 1), d->cause, AttemptEnd::kKilled, at, at};
  }
}

void Timeline::End(const AttemptId& id, AttemptEnd how, Instant at) {
  const auto it = live_.find(id);
  if (it == live_.end()) return;  // a repeat
  AttemptBar& bar = it->second;
  taken_[bar.worker][bar.slot - 1] = false;
  bar.end = how;
  bar.to = at;
  if (id.task.job == job_) bars_.push_back(bar);
  live_.erase(it);
}

void Timeline::EndAll(WorkerId worker, Instant at) {
  std::vector<AttemptId> gone;
  for (const auto& [id, bar] : live_) {
    if (bar.worker == worker) gone.push_back(id);
  }
  for (const AttemptId& id : gone) End(id, AttemptEnd::kLost, at);
}

Chart TimelineChart(const std::string& title, const Timeline& timeline) {
  Chart c;
  c.title = title;
  c.x.label = "time since submission, s";
  c.y.label = "worker / slot";
  for (const Look& look : kLooks) {
    const auto shown = [&](const AttemptBar& bar) { return &LookOf(bar) == &look; };
    if (std::any_of(timeline.bars().begin(), timeline.bars().end(), shown)) c.keys.push_back({look.name, look.colour});
  }
  std::map<std::pair<WorkerId, uint32_t>, double> rows;
  for (const AttemptBar& bar : timeline.bars()) rows[{bar.worker, bar.slot}] = 0;
  for (auto& [place, row] : rows) {
    row = static_cast<double>(c.y.names.size());
    c.y.names.push_back(std::to_string(place.first.value) + " / " + std::to_string(place.second));
  }
  const auto n = static_cast<double>(std::max<size_t>(1, rows.size()));
  c.height = std::clamp(std::min(n * kRow, kRows), std::min(n * kLeastRow, kMostRows), kMostRows);
  for (const AttemptBar& bar : timeline.bars()) {
    const double row = rows[{bar.worker, bar.slot}];
    const double from = (bar.from - timeline.submitted()).seconds(), to = (bar.to - timeline.submitted()).seconds();
    char tip[160];
    std::snprintf(tip, sizeof tip, "stage %u, task %u, attempt %u (%s), worker %u: %s, %.1f s to %.1f s",
                  bar.id.task.stage, bar.id.task.task, bar.id.number, CauseName(bar.cause), bar.worker.value,
                  LookOf(bar).name, from, to);
    c.boxes.push_back({from, to, row - .42, row + .42, LookOf(bar).colour, tip});
  }
  return c;
}

}  // namespace mr::sim
