#include "master/sched/policies/admission.h"

#include <algorithm>
#include <cmath>

#include "master/sched/policies/jockey.h"

namespace mr::sched {

namespace {

constexpr double kDeadZone = 3. / 60;  // jockey's, three of the sixty parts of a deadline

// Seconds until nearly all runs with so many slots are done; infinity with none.
double Takes(const Prediction& c, uint32_t slots) {
  if (slots < c.slots.front()) return INFINITY;
  const auto above = std::upper_bound(c.slots.begin(), c.slots.end(), slots);
  return kJockeySlack * c.At(static_cast<size_t>(above - c.slots.begin()) - 1, 0).back();
}

// The deadline of which this is all but the dead zone.
double WithDeadZone(double seconds) { return seconds / (1 - kDeadZone); }

}  // namespace

double EarliestWith(const Prediction& prediction, uint32_t slots) { return WithDeadZone(Takes(prediction, slots)); }

Admission Admit(const State& state, const Prediction& prediction, double deadline, const std::string& queue,
                Instant now) {
  Admission a;
  const uint32_t all = state.slots().total;
  uint32_t taken = 0, most = all;
  for (const auto& [name, q] : state.queues()) {
    if (name != queue)
      taken += q.min_share;
    else if (q.max_share != 0)
      most = std::min(most, q.max_share);
  }
  for (const auto& [due, id] : state.guaranteed()) taken += state.FindJob(id)->share;
  const auto left = [&] { return std::min(most, all - std::min(all, taken)); };
  a.available = left();
  a.critical_path = AmdahlOf(prediction.stages, std::vector<double>(prediction.stages.size(), 0)).serial;
  a.earliest = EarliestWith(prediction, a.available);
  // Or later with more slots, once others have ended by their deadlines.
  for (const auto& [due, id] : state.guaranteed()) {
    if (due.ns == INT64_MAX) break;
    taken -= std::min(taken, state.FindJob(id)->share);
    const double wait = std::max((due - now).seconds(), 0.0);
    a.earliest = std::min(a.earliest, WithDeadZone(wait + Takes(prediction, left())));
  }
  a.slots = most;
  bool enough = false;
  for (const uint32_t slots : prediction.slots) {
    if (slots > most || EarliestWith(prediction, slots) > deadline) continue;
    a.slots = slots;
    enough = true;
    break;
  }
  if (a.earliest <= deadline) return a;
  if (enough)
    a.answer = Admission::Answer::kTaken;
  else if (deadline < a.critical_path)
    a.answer = Admission::Answer::kBelowCriticalPath;
  else
    a.answer = Admission::Answer::kTooFewSlots;
  return a;
}

}  // namespace mr::sched
