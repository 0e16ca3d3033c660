#include "master/sched/policies/jockey/admission.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "master/sched/policies/jockey/jockey.h"

namespace mr::sched {

namespace {

constexpr double kDeadZone = 3. / 60;  // jockey's dead zone: three sixtieths of a deadline

// Returns the seconds until nearly all runs end from this progress on with this many slots; infinity with too few.
double Takes(const Prediction& c, uint32_t slots, double progress) {
  if (slots < c.slots.front()) return INFINITY;
  const auto above = std::upper_bound(c.slots.begin(), c.slots.end(), slots);
  return kJockeySlack * c.At(static_cast<size_t>(above - c.slots.begin()) - 1, progress).back();
}

// Returns the deadline that leaves these seconds before its dead zone.
double WithDeadZone(double seconds) { return seconds / (1 - kDeadZone); }

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

Admission Answer(const State& state, const Asked& asked, double deadline, Instant now) {
  Admission a;
  const uint32_t all = state.slots().total;
  uint32_t taken = 0, most = all;
  for (const auto& [name, q] : state.queues()) {
    if (name != asked.queue) {
      taken += q.min_share;
      if (q.min_share > 0) a.min_shares.emplace_back(name, q.min_share);
    } else if (q.max_share != 0) {
      most = std::min(most, q.max_share);
    }
  }
  const auto share = [&](JobId id) { return id == asked.self ? 0 : GuaranteeOf(state, *state.FindJob(id)); };
  for (const auto& [due, id] : state.guaranteed()) a.promised += share(id);
  taken += a.promised;
  const auto left = [&] { return std::min(most, all - std::min(all, taken)); };
  a.queue = asked.queue;
  a.cluster = all;
  a.most = most;
  a.available = left();
  a.critical_path = AmdahlOf(asked.prediction.stages, asked.finished).serial;
  a.earliest = asked.Earliest(a.available);
  // It may also start later, with more slots, once others have ended by their deadlines.
  for (const auto& [due, id] : state.guaranteed()) {
    if (due.ns == INT64_MAX) break;
    taken -= std::min(taken, share(id));
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

}  // namespace

double EarliestWith(const Prediction& prediction, uint32_t slots) {
  MR_CHECK(prediction.known(), "nothing is predicted");
  return WithDeadZone(Takes(prediction, slots, 0));
}

Admission Admit(const State& state, const Prediction& prediction, double deadline, const std::string& queue,
                Instant now) {
  MR_CHECK(prediction.known(), "nothing is predicted");
  return Answer(state, {prediction, queue, std::vector<double>(prediction.stages.size(), 0)}, deadline, now);
}

Admission AdmitAgain(const State& state, const Job& job, double deadline, Instant now) {
  const Prediction& c = job.prediction;
  MR_CHECK(c.known(), "nothing is predicted");
  std::vector<double> finished = FinishedShares(job);
  const double progress = ProgressOf(c.indicator, c.stages, finished);
  const double elapsed = (now - job.submitted_at).seconds();
  return Answer(state, {c, job.queue, std::move(finished), progress, elapsed, job.id}, deadline, now);
}

}  // namespace mr::sched
