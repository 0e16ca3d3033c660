#include "master/host/forecasts.h"

#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "master/core/spec_check.h"
#include "master/host/profiles.h"
#include "master/sched/state/state.h"

namespace mr::master {

Forecasts::Forecasts(const HostOptions& options, Driver& driver, Loop& loop, Outlets& outlets, Watchers& watchers)
    : options_(options), driver_(driver), core_(driver.core()), loop_(loop), outlets_(outlets), watchers_(watchers) {}

bool Forecasts::Steers() const { return sched::Scheduler::Steers(options_.policies); }

bool Forecasts::Wanted(const JobSpec& spec) const {
  return Steers() && (spec.deadline.ns > 0 || !spec.utility.empty());
}

void Forecasts::Predict(const JobSpec& spec, const JobPlan& plan, std::function<void(Result<Forecast>)> then) {
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

bool Forecasts::Settled() const {
  return under_way_.empty() && std::none_of(core_.workers().all().begin(), core_.workers().all().end(),
                                            [](const auto& worker) { return worker.second.away; });
}

void Forecasts::WhenSettled(std::function<void()> then) {
  if (unsettled_.empty() && Settled()) return then();
  unsettled_.push_back(std::move(then));
}

void Forecasts::Settle() {
  while (!unsettled_.empty() && Settled()) {
    const auto next = std::move(unsettled_.front());
    unsettled_.pop_front();
    next();
  }
}

void Forecasts::PredictRunning(JobId id, std::function<void()> then) {
  const JobView* job = core_.jobs().Find(id);
  const sched::Job* known = core_.scheduler().state().FindJob(id);
  const bool lacks = job != nullptr && known != nullptr && known->running() && !known->prediction.known();
  if (!lacks || !Wanted(job->spec)) {
    if (then) then();
    return;
  }
  const bool under_way = under_way_.contains(id);
  std::vector<std::function<void()>>& waiting = under_way_[id];
  if (then) waiting.push_back(std::move(then));
  if (under_way) return;
  Predict(job->spec, job->plan, [this, id](Result<Forecast> forecast) {
    const auto node = under_way_.extract(id);
    TakeForecast(id, std::move(forecast));
    for (const auto& next : node.mapped()) next();
    Settle();
  });
}

void Forecasts::TakeForecast(JobId id, Result<Forecast> forecast) {
  if (!forecast.ok()) {
    LOG(WARNING) << Name(id) << " goes on without a prediction: " << forecast.status().ToString();
    return;
  }
  const JobView* job = core_.jobs().Find(id);
  if (core_.scheduler().state().FindJob(id) == nullptr || job == nullptr) return;
  driver_.Feed(sched::ProfileLoaded{id, std::move(forecast->prediction), job->spec.utility});
  watchers_.MarkChanged(id);
}

}  // namespace mr::master
