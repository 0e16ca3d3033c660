#include "master/host/submissions.h"

#include <glog/logging.h>

#include <utility>

#include "common/base/count.h"
#include "common/io/clock.h"
#include "master/host/admission_text.h"
#include "master/sched/policies/jockey/admission.h"
#include "master/sched/state/state.h"

namespace mr::master {

Submissions::Submissions(const HostOptions& options, Driver& driver, HostClock& clock, Loop& loop, Outlets& outlets,
                         Watchers& watchers, SubmitChecks& checks, InputPins& pins, Forecasts& forecasts,
                         const Libraries& libraries)
    : options_(options),
      driver_(driver),
      core_(driver.core()),
      clock_(clock),
      loop_(loop),
      outlets_(outlets),
      watchers_(watchers),
      checks_(checks),
      pins_(pins),
      forecasts_(forecasts),
      libraries_(libraries) {}

void Submissions::Submit(const Caller& caller, std::string spec_bytes, JobSpec spec, const std::string& submission_id,
                         Reply reply) {
  const std::string owner = caller.identity.subject;
  // A subject has no line break in it.
  const std::string id_key = "id:" + owner + "\n" + submission_id;
  const auto reused = [&] {
    return Rejected("submission id '" + submission_id + "' was used for another job; take a new one");
  };
  if (!submission_id.empty()) {
    const JobView* known = core_.jobs().FindSubmission(owner, submission_id);
    // A release without owners may have taken it; its client asks again after the upgrade.
    if (known == nullptr && caller.identity.HasAny(kAdmin)) {
      known = core_.jobs().FindSubmission(kNoOwner, submission_id);
    }
    if (known != nullptr) {
      if (known->spec_bytes != spec_bytes) return reply(reused(), {});
      return driver_.Hold(known->submit_sequence, [reply, id = known->id, sequence = known->submit_sequence] {
        reply({Status::Ok(), sequence}, id);
      });
    }
    if (const auto it = planning_.find(id_key); it != planning_.end()) {
      if (it->second.spec_bytes != spec_bytes) return reply(reused(), {});
      it->second.replies.push_back(std::move(reply));
      return;
    }
  }
  if (core_.jobs().open() + planning_.size() >= options_.open_jobs) {
    return reply(Rejected(CountOf(options_.open_jobs, "job is", "jobs are") +
                          " planned or unfinished, the most that this master takes at once (mrmaster "
                          "--open_jobs); nothing was submitted: submit again when some have ended (mrctl jobs)"),
                 {});
  }
  const auto planned = planning_of_.find(owner);
  if (Status limit = core_.CheckOwner(caller, planned == planning_of_.end() ? 0 : planned->second); !limit.ok()) {
    return reply(limit, {});
  }
  if (const auto refusals = checks_.Refusals(caller, spec); !refusals.empty()) return reply(refusals.front(), {});
  if (!spec.library.empty() && !libraries_.Known(spec.library)) {
    return reply(NotFound("operator library " + spec.library + " has not been uploaded"), {});
  }
  for (const SideFile& file : spec.files) {
    if (libraries_.Known(file.sha256)) continue;
    return reply(NotFound("side file " + file.name + " (SHA-256 " + file.sha256 + ") has not been uploaded"), {});
  }
  const PlanContext context = checks_.ContextOf(caller, spec);
  const uint64_t pin = pins_.Pin(context);
  const std::string key = submission_id.empty() ? "no:" + std::to_string(next_planning_++) : id_key;
  auto shared = std::make_shared<JobSpec>(spec);
  ++planning_of_[owner];
  planning_[key] = {caller, std::move(spec_bytes), submission_id, std::move(spec), {std::move(reply)}, {}, nullptr,
                    pin};
  const auto pool = [this](std::function<void()> fn) { outlets_.InPool(std::move(fn)); };
  PostPlan(context, ReadsUrls(*shared), pool, [this, key, shared, context] {
    auto plan = std::make_shared<Result<JobPlan>>(PlanJob(*shared, context));
    loop_.Post([this, key, plan] { Planned(key, std::move(*plan)); });
  });
}

void Submissions::Planned(const std::string& key, Result<JobPlan> plan) {
  const auto it = planning_.find(key);
  if (it == planning_.end()) return;
  Planning& planning = it->second;
  if (!plan.ok()) {
    return Refuse(Take(key), plan.status());
  }
  planning.plan = *std::move(plan);
  planning.plan.pin = planning.pin;
  if (!forecasts_.Wanted(planning.spec)) return Accept(key, {});
  forecasts_.Predict(planning.spec, planning.plan,
                     [this, key](Result<Forecast> forecast) { Predicted(key, std::move(forecast)); });
}

void Submissions::Accept(const std::string& key, std::optional<sched::Prediction> prediction) {
  Planning planning = Take(key);
  const JobSpec& spec = planning.spec;
  const std::string& owner = planning.caller.identity.subject;
  // Checked again: meanwhile another job that writes to the same output may have been accepted.
  if (const auto refusals = checks_.Refusals(planning.caller, spec); !refusals.empty())
    return Refuse(planning, refusals.front());
  auto record = core_.PrepareSubmit(
      {std::make_shared<const JobSpec>(spec),
       {planning.spec_bytes, planning.submission_id, WallClockMs(), std::move(planning.plan), owner}},
      clock_.Stamp());
  if (!record.ok()) return Refuse(planning, record.status());
  const JobId id = std::get<sched::JobSubmitted>(record->stamped.event).job;
  // The reply waits for the job's record only: a start makes a lost prediction again.
  const Driver::Fed fed = driver_.Feed(*std::move(record));
  if (prediction) driver_.Feed(sched::ProfileLoaded{id, *std::move(prediction), spec.utility});
  LOG(INFO) << Name(id) << " '" << spec.name << "' of " << owner << " accepted";
  watchers_.MarkChanged(id);
  driver_.Hold(fed.sequence, [replies = std::move(planning.replies), id, sequence = fed.sequence] {
    for (const auto& reply : replies) reply({Status::Ok(), sequence}, id);
  });
}

void Submissions::Predicted(const std::string& key, Result<Forecast> forecast) {
  const auto it = planning_.find(key);
  if (it == planning_.end()) return;
  const JobSpec& spec = it->second.spec;
  if (!forecast.ok()) {
    LOG(WARNING) << "'" << spec.name << "' runs without a prediction: " << forecast.status().ToString();
    return Accept(key, {});
  }
  it->second.forecast = std::make_shared<Forecast>(*std::move(forecast));
  if (it->second.forecast->guessed || spec.deadline.ns <= 0 || spec.best_effort) return AcceptPredicted(key);
  forecasts_.WhenSettled([this, key] { AdmitPredicted(key); });
}

// The admission and the guarantee that follows from the prediction happen in one closure of this thread. So the second
// of two submits counts the slots that the first was promised.
void Submissions::AdmitPredicted(const std::string& key) {
  const auto it = planning_.find(key);
  if (it == planning_.end()) return;
  const JobSpec& spec = it->second.spec;
  const sched::State& state = core_.scheduler().state();
  const auto answer =
      sched::Admit(state, it->second.forecast->prediction, spec.deadline.seconds(), spec.queue, clock_.Stamp());
  if (answer.answer == sched::Admission::Answer::kAdmitted) return AcceptPredicted(key);
  const Status refused = Rejected(RefusalText(answer, spec.deadline));
  Refuse(Take(key), refused);
}

void Submissions::AcceptPredicted(const std::string& key) {
  const Planning& planning = planning_.at(key);
  const std::shared_ptr<Forecast> forecast = planning.forecast;
  LOG(INFO) << "'" << planning.spec.name << "' is predicted: " << forecast->basis;
  Accept(key, std::move(forecast->prediction));
}

Submissions::Planning Submissions::Take(const std::string& key) {
  auto node = planning_.extract(key);
  const auto of = planning_of_.find(node.mapped().caller.identity.subject);
  if (--of->second == 0) planning_of_.erase(of);
  return std::move(node.mapped());
}

void Submissions::Refuse(const Planning& planning, const Status& status) {
  pins_.Release(planning.pin);
  for (const auto& reply : planning.replies) reply(status, {});
}

void Submissions::ForEachPlanned(const std::function<void(const JobSpec&)>& fn) const {
  for (const auto& [key, planning] : planning_) fn(planning.spec);
}

}  // namespace mr::master
