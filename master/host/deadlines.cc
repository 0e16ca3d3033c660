// Jobs with a deadline: what is predicted of them, whether they are admitted, what users change while they run.
#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "common/base/text.h"
#include "master/core/spec_check.h"
#include "master/host/brain.h"
#include "master/host/predictor.h"
#include "master/host/profiles.h"
#include "master/sched/policies/jockey/admission.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

std::string SlotsText(uint32_t n) { return std::to_string(n) + (n == 1 ? " slot" : " slots"); }

// Requires one that is not admitted. chain: of tasks, whose length is the answer's critical path.
std::string WhyNot(const sched::Admission& a, uint32_t slots, const std::string& chain) {
  switch (a.answer) {
    case sched::Admission::Answer::kAdmitted: break;
    case sched::Admission::Answer::kBelowCriticalPath:
      return chain + " of tasks alone takes about " + HumanDuration(FromSeconds(a.critical_path));
    case sched::Admission::Answer::kTooFewSlots:
      return slots == 0 ? "the cluster has no slots now"
                        : "all " + SlotsText(slots) + " of the cluster are too few for it";
    case sched::Admission::Answer::kTaken:
      return "it needs " + SlotsText(a.slots) + ", and of the cluster's " + std::to_string(slots) + " only " +
             std::to_string(a.available) + (a.available == 1 ? " is" : " are") + " not guaranteed to others";
  }
  return "";
}

std::string OrEarliest(const sched::Admission& a) {
  const Duration earliest = Earliest(a);
  return earliest.ns > 0 ? "; the earliest that can be is " + HumanDuration(earliest) : "";
}

}  // namespace

bool Brain::Steers() const { return sched::Scheduler::Steers(options_.policies); }

bool Brain::WantsForecast(const JobSpec& spec) const {
  return Steers() && (spec.deadline.ns > 0 || !spec.utility.empty());
}

void Brain::ForetellOf(const JobSpec& spec, const JobPlan& plan, std::function<void(Result<Forecast>)> then) {
  std::vector<StageSize> sizes;
  for (size_t s = 0; s < spec.stages.size(); ++s) {
    const StagePlan& stage = plan.stages[s];
    sizes.push_back({stage.tasks, static_cast<double>(stage.input_bytes), spec.stages[s].reads_files()});
  }
  outlets_.InBackground([this, store = options_.profiles, name = spec.name, graph = GraphOf(spec),
                         sizes = std::move(sizes), slots = core_.workers().TotalSlots(), then = std::move(then)] {
    std::optional<sched::RunProfile> profile;
    double rate = 0;
    if (store != nullptr) {
      auto found = store->Find(name, sched::PlanShape(graph));
      if (!found.ok()) LOG(WARNING) << "the profile of '" << name << "' cannot be read: " << found.status().ToString();
      if (found.ok() && found->has_value()) profile = std::move((*found)->profile);
      if (!profile) rate = store->BytesPerSlotSecond();
    }
    auto forecast = std::make_shared<Result<Forecast>>(Foretell(graph, sizes, profile, rate, slots));
    loop_.Post([forecast, then] { then(std::move(*forecast)); });
  });
}

Duration Earliest(const sched::Admission& a) {
  if (!std::isfinite(a.earliest)) return {};
  // A hundredth more, and up to what people are shown of a duration.
  const double more = a.earliest * 1.01, step = more < 60 ? .1 : more < 3600 ? 1 : 60;
  return Millis(static_cast<int64_t>(std::ceil(more / step) * step * 1000));
}

std::string RefusalText(const sched::Admission& a, Duration deadline, uint32_t slots) {
  if (a.answer == sched::Admission::Answer::kAdmitted) return "";
  return "the deadline of " + HumanDuration(deadline) + " cannot be met: " + WhyNot(a, slots, "its longest chain") +
         OrEarliest(a) + " (--best-effort submits it all the same)";
}

std::string LateText(const sched::Admission& a, const sched::Job& job, uint32_t slots) {
  if (a.answer == sched::Admission::Answer::kAdmitted) return "";
  return "the deadline of " + HumanDuration(job.deadline) +
         " after its submission is not likely to be met: " + WhyNot(a, slots, "what is left of its longest chain") +
         OrEarliest(a) + (job.prediction.runs == 0 ? " (by a bound from its input: no earlier run is known)" : "");
}

bool Brain::Settled() const {
  return foretelling_.empty() && std::none_of(core_.workers().all().begin(), core_.workers().all().end(),
                                              [](const auto& worker) { return worker.second.away; });
}

void Brain::WhenSettled(std::function<void()> then) {
  if (unsettled_.empty() && Settled()) return then();
  unsettled_.push_back(std::move(then));
}

void Brain::Settle() {
  while (!unsettled_.empty() && Settled()) {
    const auto next = std::move(unsettled_.front());
    unsettled_.pop_front();
    next();
  }
}

void Brain::Foretold(const std::string& key, Result<Forecast> forecast) {
  const auto it = planning_.find(key);
  if (it == planning_.end()) return;
  const JobSpec& spec = it->second.spec;
  if (!forecast.ok()) {
    LOG(WARNING) << "'" << spec.name << "' runs without a prediction: " << forecast.status().ToString();
    return Accept(key, {});
  }
  it->second.forecast = std::make_shared<Forecast>(*std::move(forecast));
  if (it->second.forecast->guessed || spec.deadline.ns <= 0 || spec.best_effort) return AcceptForetold(key);
  WhenSettled([this, key] { AdmitForetold(key); });
}

// From here to the guarantee that the job is given with its prediction nothing else happens on this thread: of two
// submits the second finds what the first was promised.
void Brain::AdmitForetold(const std::string& key) {
  const auto it = planning_.find(key);
  if (it == planning_.end()) return;
  const JobSpec& spec = it->second.spec;
  const sched::State& state = core_.scheduler().state();
  const auto answer =
      sched::Admit(state, it->second.forecast->prediction, spec.deadline.seconds(), spec.queue, clock_.Stamp());
  if (answer.answer == sched::Admission::Answer::kAdmitted) return AcceptForetold(key);
  const Status refused = Rejected(RefusalText(answer, spec.deadline, state.slots().total));
  auto node = planning_.extract(it);
  ReleasePin(node.mapped().pin);
  for (const auto& reply : node.mapped().replies) reply(refused, {});
}

void Brain::AcceptForetold(const std::string& key) {
  const Planning& planning = planning_.at(key);
  const std::shared_ptr<Forecast> forecast = planning.forecast;
  LOG(INFO) << "'" << planning.spec.name << "' is predicted: " << forecast->basis;
  Accept(key, std::move(forecast->prediction));
}

void Brain::ForetellRunning(JobId id, std::function<void()> then) {
  const JobView* job = core_.jobs().Find(id);
  const sched::Job* known = core_.scheduler().state().FindJob(id);
  const bool lacks = job != nullptr && known != nullptr && known->running() && !known->prediction.known();
  if (!lacks || !WantsForecast(job->spec)) {
    if (then) then();
    return;
  }
  const bool under_way = foretelling_.contains(id);
  std::vector<std::function<void()>>& waiting = foretelling_[id];
  if (then) waiting.push_back(std::move(then));
  if (under_way) return;
  ForetellOf(job->spec, job->plan, [this, id](Result<Forecast> forecast) {
    const auto node = foretelling_.extract(id);
    TakeForecast(id, std::move(forecast));
    for (const auto& next : node.mapped()) next();
    Settle();
  });
}

void Brain::TakeForecast(JobId id, Result<Forecast> forecast) {
  if (!forecast.ok()) {
    LOG(WARNING) << Name(id) << " goes on without a prediction: " << forecast.status().ToString();
    return;
  }
  const JobView* job = core_.jobs().Find(id);
  if (core_.scheduler().state().FindJob(id) == nullptr || job == nullptr) return;
  driver_.Feed(sched::ProfileLoaded{id, std::move(forecast->prediction), job->spec.utility});
  watchers_.MarkChanged(id);
}

std::string Brain::LateWarning(JobId id) {
  const Instant now = clock_.Stamp();
  const sched::State& state = core_.scheduler().state();
  const sched::Job* job = state.FindJob(id);
  const bool steered = Steers() && job != nullptr && job->running() && job->prediction.known();
  if (!steered || job->deadline.ns <= 0 || !job->utility.empty()) return "";
  return LateText(sched::AdmitAgain(state, *job, job->deadline.seconds(), now), *job, state.slots().total);
}

void Brain::SetJob(JobId id, const JobWish& wish, std::function<void(Status, std::string)> reply) {
  auto event = core_.PrepareJobSet(id, wish);
  if (!event.ok()) return reply(event.status(), "");
  const Driver::Fed fed = driver_.Feed(*std::move(event));
  watchers_.MarkChanged(id);
  const auto answer = [this, sequence = fed.sequence, reply = std::move(reply)](const std::string& warning) {
    driver_.Hold(sequence, [reply, warning] { reply(Status::Ok(), warning); });
  };
  // Only a request that may get a warning waits for predictions.
  if (wish.deadline && wish.deadline->ns > 0 && Steers()) {
    return ForetellRunning(id, [this, id, answer] { WhenSettled([this, id, answer] { answer(LateWarning(id)); }); });
  }
  answer("");
  ForetellRunning(id);
}

}  // namespace mr::master
