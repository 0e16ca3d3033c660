#include "master/host/job_requests.h"

#include <glog/logging.h>

#include <utility>

#include "master/host/admission_text.h"
#include "master/sched/policies/jockey/admission.h"
#include "master/sched/state/state.h"

namespace mr::master {

JobRequests::JobRequests(Driver& driver, HostClock& clock, Watchers& watchers, Forecasts& forecasts)
    : driver_(driver), core_(driver.core()), clock_(clock), watchers_(watchers), forecasts_(forecasts) {}

void JobRequests::KillJob(JobId id, const Caller& caller, const std::string& why, std::function<void(Changed)> reply) {
  auto event = core_.PrepareKill(id, caller, why);
  if (!event.ok()) return reply(event.status());
  const Driver::Fed fed = driver_.Feed(*std::move(event));
  LOG(INFO) << Name(id) << " is to be killed by " << caller.identity.subject << ": " << why;
  watchers_.MarkChanged(id);
  driver_.Hold(fed.sequence, [reply = std::move(reply), sequence = fed.sequence] { reply({Status::Ok(), sequence}); });
}

void JobRequests::SetJob(JobId id, const Caller& caller, const MasterCore::JobWish& wish,
                         std::function<void(Changed, std::string)> reply) {
  auto event = core_.PrepareJobSet(id, caller, wish);
  if (!event.ok()) return reply(event.status(), "");
  const Driver::Fed fed = driver_.Feed(*std::move(event));
  watchers_.MarkChanged(id);
  const auto answer = [this, sequence = fed.sequence, reply = std::move(reply)](const std::string& warning) {
    driver_.Hold(sequence, [reply, warning, sequence] { reply({Status::Ok(), sequence}, warning); });
  };
  // Only a request that may get a warning waits for predictions.
  if (wish.deadline && wish.deadline->ns > 0 && forecasts_.Steers()) {
    return forecasts_.PredictRunning(
        id, [this, id, answer] { forecasts_.WhenSettled([this, id, answer] { answer(LateWarning(id)); }); });
  }
  answer("");
  forecasts_.PredictRunning(id);
}

std::string JobRequests::LateWarning(JobId id) {
  const Instant now = clock_.Stamp();
  const sched::State& state = core_.scheduler().state();
  const sched::Job* job = state.FindJob(id);
  const bool steered = forecasts_.Steers() && job != nullptr && job->running() && job->prediction.known();
  if (!steered || job->deadline.ns <= 0 || !job->utility.empty()) return "";
  return LateText(sched::AdmitAgain(state, *job, job->deadline.seconds(), now), *job);
}

void JobRequests::SetQueue(const MasterCore::QueueWish& wish, std::function<void(Changed)> reply) {
  auto event = core_.PrepareQueue(wish);
  if (!event.ok()) return reply(event.status());
  const uint64_t sequence = driver_.Feed(*std::move(event)).sequence;
  driver_.Hold(sequence, [reply = std::move(reply), sequence] { reply({Status::Ok(), sequence}); });
}

}  // namespace mr::master
