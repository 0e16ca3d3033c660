#include "master/host/explain.h"

#include <algorithm>
#include <set>

#include "master/core/input_places.h"
#include "master/host/admission_text.h"
#include "master/host/input_pins.h"
#include "master/host/planner.h"
#include "master/sched/state/state.h"

namespace mr::master {

Explainer::Explainer(Driver& driver, HostClock& clock, Loop& loop, Outlets& outlets, SubmitChecks& checks,
                     Forecasts& forecasts)
    : core_(driver.core()), clock_(clock), loop_(loop), outlets_(outlets), checks_(checks), forecasts_(forecasts) {}

void Explainer::ExplainJob(const Caller& caller, const JobSpec& spec, std::function<void(Explained)> reply) {
  const PlanContext context = checks_.ContextOf(caller, spec);
  auto shared = std::make_shared<JobSpec>(spec);
  auto out = std::make_shared<Explained>();
  out->refusals = checks_.Refusals(caller, spec);
  const auto pool = [this](std::function<void()> fn) { outlets_.InPool(std::move(fn)); };
  PostPlan(context, ReadsUrls(*shared), pool, [this, shared, context, out, reply = std::move(reply)] {
    // The output is checked apart from the plan, which is shown also where the output is refused.
    JobSpec without = *shared;
    if (const std::string uri = std::exchange(without.output_uri, ""); uri.starts_with("file://")) {
      const Status status = CheckFileOutput(uri, shared->overwrite, context.roots);
      if (!status.ok()) out->refusals.push_back(status);
    }
    auto plan = std::make_shared<Result<JobPlan>>(PlanJob(without, context));
    if (plan->ok()) {
      const Status status = CheckInputsOutside(**plan, shared->output_uri);
      if (!status.ok()) out->refusals.push_back(status);
    }
    loop_.Post([this, shared, out, plan, reply] {
      out->status = plan->status();
      if (!plan->ok()) return reply(std::move(*out));
      out->plan = *std::move(*plan);
      Locate(out.get());
      forecasts_.Predict(*shared, out->plan, [this, shared, out, reply](Result<Forecast> forecast) {
        const auto made = std::make_shared<Result<Forecast>>(std::move(forecast));
        const auto answer = [this, shared, out, reply, made] {
          AddForecast(*shared, std::move(*made), out.get());
          reply(std::move(*out));
        };
        // A submit waits in the same way.
        const bool admits = forecasts_.Steers() && !shared->best_effort && shared->deadline.ns > 0;
        if (!admits || !made->ok() || (*made)->guessed) return answer();
        forecasts_.WhenSettled(answer);
      });
    });
  });
}

void Explainer::MeasureInputs(const Caller& caller, const std::vector<std::string>& uris,
                              std::function<void(InputSizes)> reply) {
  auto sizes = std::make_shared<InputSizes>(uris.size());
  auto local = std::make_shared<std::vector<std::pair<size_t, std::string>>>();
  const dfs::CallerFiles stored(core_.files(), caller);
  for (size_t i = 0; i < uris.size(); ++i) {
    if (uris[i].starts_with("file:///") || url::IsUrl(uris[i])) local->emplace_back(i, uris[i]);
    if (!uris[i].starts_with("dfs:///")) continue;
    if (const auto files = DfsFiles(stored, uris[i]); files.ok()) (*sizes)[i] = SizeOf(*files);
  }
  if (local->empty()) return reply(std::move(*sizes));
  const auto pool = [this](std::function<void()> fn) { outlets_.InPool(std::move(fn)); };
  const PlanContext context = checks_.OutsideContext();
  const bool urls = std::any_of(uris.begin(), uris.end(), url::IsUrl);
  PostPlan(context, urls, pool, [this, sizes, local, context, reply = std::move(reply)] {
    MeasureOutside(
        *local, [&context](const std::string& uri) { return FilesOutside(uri, context); }, sizes.get());
    loop_.Post([sizes, reply] { reply(std::move(*sizes)); });
  });
}

void Explainer::Locate(Explained* out) const {
  for (const StagePlan& stage : out->plan.stages) {
    Explained::Locality& locality = out->locality.emplace_back();
    std::set<WorkerId> on;
    for (const Split& split : stage.splits) {
      bool found = false;
      for (const WorkerId holder : HoldersOf(core_.files(), out->plan, split)) {
        const sched::Worker* worker = core_.scheduler().state().FindWorker(holder);
        if (worker == nullptr || !worker->alive) continue;
        found = true;
        on.insert(holder);
      }
      locality.with_replica += found ? 1 : 0;
    }
    locality.workers = static_cast<uint32_t>(on.size());
  }
}

void Explainer::AddForecast(const JobSpec& spec, Result<Forecast> forecast, Explained* out) {
  out->slots = core_.scheduler().state().slots().total;
  out->steered = forecasts_.Steers();
  if (!forecast.ok()) {
    out->no_forecast = forecast.status().message();
    return;
  }
  out->forecast = *std::move(forecast);
  if (spec.deadline.ns <= 0) return;
  out->admission = sched::Admit(core_.scheduler().state(), out->forecast->prediction, spec.deadline.seconds(),
                                spec.queue, clock_.Stamp());
  const bool refused = out->steered && !out->forecast->guessed && !spec.best_effort &&
                       out->admission->answer != sched::Admission::Answer::kAdmitted;
  if (refused) out->refusals.push_back(Rejected(RefusalText(*out->admission, spec.deadline)));
}

}  // namespace mr::master
