#include "master/sched/policies/jockey/admission.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "master/sched/policies/jockey/jockey.h"
#include "master/sched/policies/jockey/promises.h"

namespace mr::sched {

namespace {

// Returns the seconds until nearly all runs end from this progress on with this many slots; infinity with too few.
double Takes(const Prediction& c, uint32_t slots, double progress) {
  if (slots < c.slots.front()) return INFINITY;
  const auto above = std::upper_bound(c.slots.begin(), c.slots.end(), slots);
  return kJockeySlack * c.At(static_cast<size_t>(above - c.slots.begin()) - 1, progress).back();
}

// Returns the deadline that leaves these seconds before its dead zone.
double WithDeadZone(double seconds) { return seconds / (1 - kAdmissionDeadZone); }

struct Asked {
  const Prediction& prediction;
  const std::string& queue;
  std::vector<double> finished;  // share of each stage's tasks that have finished
  double progress = 0, elapsed = 0;
  JobId self;  // valid for a running job
  // Returns the earliest deadline with this many slots from `wait` seconds on.
  double Earliest(uint32_t slots, double wait = 0) const {
    return WithDeadZone(elapsed + wait + Takes(prediction, slots, progress));
  }
};

// all: slots of the cluster.
Admission Answer(const State& state, const Asked& asked, double deadline, Instant now, uint32_t all) {
  Admission a;
  uint64_t owed = 0, promised = 0;
  uint32_t most = all;
  for (const auto& [number, q] : state.busy_queues()) {
    if (q->name == asked.queue || q->min_share == 0) continue;
    owed += q->min_share;
    a.min_shares.emplace_back(q->name, q->min_share);
  }
  std::sort(a.min_shares.begin(), a.min_shares.end());
  const auto own = state.queues().find(asked.queue);
  if (own != state.queues().end() && own->second.max_share != 0) most = std::min(most, own->second.max_share);
  const auto share = [&](JobId id) -> uint32_t {
    const Job& job = *state.FindJob(id);
    return id == asked.self || !IsPromised(state, job, now) ? 0 : GuaranteeOf(state, job);
  };
  const auto steered = SteeredJobs(state);
  for (const auto& [due, id] : steered) promised += share(id);
  // A job that waits for others may be promised slots that they still hold: the sum is capped.
  const auto left = [&]() -> uint32_t {
    const uint64_t taken = owed + std::min<uint64_t>(all, promised);
    return std::min<uint64_t>(most, all - std::min<uint64_t>(all, taken));
  };
  a.promised = static_cast<uint32_t>(std::min<uint64_t>(all, promised));
  a.queue = asked.queue;
  a.cluster = all;
  a.most = most;
  a.available = left();
  a.critical_path = AmdahlOf(asked.prediction.stages, asked.finished).serial;
  a.earliest = asked.Earliest(a.available);
  // It may also start later, with more slots, once others have ended by their deadlines.
  for (const auto& [due, id] : steered) {
    if (due.ns == INT64_MAX) break;
    promised -= share(id);
    a.earliest = std::min(a.earliest, asked.Earliest(left(), std::max((due - now).seconds(), 0.0)));
  }
  a.slots = most;
  const auto in_time = [&](uint32_t slots) { return asked.Earliest(slots) <= deadline; };
  const auto enough = std::find_if(asked.prediction.slots.begin(), asked.prediction.slots.end(), in_time);
  const bool there = enough != asked.prediction.slots.end() && *enough <= all;
  if (there) a.slots = *enough;
  if (a.earliest <= deadline) return a;
  if (there)
    a.answer = a.slots > most ? Admission::Answer::kBeyondMaxShare : Admission::Answer::kTaken;
  else if (deadline < asked.elapsed + a.critical_path)
    a.answer = Admission::Answer::kBelowCriticalPath;
  else
    a.answer = Admission::Answer::kTooFewSlots;
  return a;
}

Asked AskedOf(const Job& job, Instant now) {
  const Prediction& c = job.prediction;
  MR_CHECK(c.known(), "nothing is predicted");
  std::vector<double> finished = FinishedShares(job);
  const double progress = ProgressOf(c.indicator, c.stages, finished);
  return {c, job.queue, std::move(finished), progress, (now - job.submitted_at).seconds(), job.id};
}

}  // namespace

double EarliestWith(const Prediction& prediction, uint32_t slots) {
  MR_CHECK(prediction.known(), "nothing is predicted");
  return WithDeadZone(Takes(prediction, slots, 0));
}

Admission Admit(const State& state, const Prediction& prediction, double deadline, const std::string& queue,
                Instant now) {
  MR_CHECK(prediction.known(), "nothing is predicted");
  return Answer(state, {prediction, queue, std::vector<double>(prediction.stages.size(), 0)}, deadline, now,
                state.slots().total);
}

Admission AdmitAgain(const State& state, const Job& job, double deadline, Instant now) {
  return Answer(state, AskedOf(job, now), deadline, now, state.slots().total);
}

bool CanBePromised(const State& state, const Job& job, Instant now) {
  if (job.deadline.ns <= 0) return true;
  if (job.prediction.runs == 0) return false;
  const uint32_t all = std::max(state.slots().total, job.prediction.slots.back());
  const Admission answer = Answer(state, AskedOf(job, now), job.deadline.seconds(), now, all);
  return answer.answer == Admission::Answer::kAdmitted;
}

}  // namespace mr::sched
