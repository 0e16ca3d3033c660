#include "tests/master/sched/timed_cluster.h"

#include <cmath>

namespace mr::sched {

TimedCluster::TimedCluster(uint64_t seed, const std::string& policies, Duration offer_period)
    : rng_(Rng::Stream(seed, "timed")) {
  Step(ConfigChanged{policies, seed, kSchedulerVersion, offer_period});
}

void TimedCluster::At(Instant at, Event event) { agenda_.emplace(std::make_pair(at, ++order_), std::move(event)); }

void TimedCluster::AddWorkers(uint32_t count, uint32_t slots) {
  for (uint32_t i = 0; i < count; ++i) {
    WorkerRegistered e;
    e.worker = {++workers_};
    e.incarnation = 1;
    e.slots.total = slots;
    Send(e);
  }
}

JobId TimedCluster::Submit(const JobText& text) {
  JobSubmitted e;
  e.job = {1, static_cast<uint32_t>(jobs_.size()) + 1};
  e.queue = text.queue;
  StageSpec map;
  map.name = "map";
  map.inputs = {StageInput{}};
  map.is_final = true;
  e.graph.stages = {map};
  jobs_[e.job] = text;
  Send(e);
  return e.job;
}

void TimedCluster::Step(Event event) {
  const std::vector<Decision> decisions = scheduler_.Step({now_, std::move(event)});
  for (const Decision& d : decisions) {
    if (const auto* ask = std::get_if<PlanStage>(&d)) {
      const JobText& job = jobs_.at(ask->job);
      StagePlanned e{ask->job, ask->stage, 1, std::vector<TaskPlan>(job.maps), ""};
      for (uint32_t t = 0; t < job.maps && !job.prefer.empty(); ++t) {
        e.tasks[t].preferred = {job.prefer[t % job.prefer.size()]};
      }
      Send(e);
    } else if (const auto* launch = std::get_if<Launch>(&d)) {
      const JobText& job = jobs_.at(launch->attempt.task.job);
      const double seconds = job.exponential ? rng_.Exponential(job.seconds) : job.seconds;
      AttemptFinished e;
      e.attempt = launch->attempt;
      e.worker = launch->worker;
      e.incarnation = launch->incarnation;
      At(now_ + Duration{std::llround(seconds * 1e9)}, e);
    } else if (const auto* kill = std::get_if<Kill>(&d)) {
      gone_.insert(kill->attempt);
      Send(AttemptKilled{kill->attempt, kill->worker, kill->incarnation});
    } else if (const auto* wake = std::get_if<WakeAt>(&d)) {
      At(wake->at, TimerDue{wake->policy, wake->id});
    }
  }
  if (watch) watch(decisions);
}

void TimedCluster::RunUntil(Instant until) {
  while (!agenda_.empty() && agenda_.begin()->first.first <= until) {
    const auto next = agenda_.extract(agenda_.begin());
    now_ = next.key().first;
    const auto* finished = std::get_if<AttemptFinished>(&next.mapped());
    if (finished == nullptr || gone_.count(finished->attempt) == 0) Step(std::move(next.mapped()));
  }
  now_ = until;
}

Instant TimedCluster::RunToEnd() {
  const auto running = [this] {
    for (const auto& [id, job] : state().jobs()) {
      if (job.running()) return true;
    }
    return false;
  };
  do {
    RunUntil(agenda_.begin()->first.first);
  } while (running() && !agenda_.empty());
  return now_;
}

uint32_t TimedCluster::Held(const std::string& queue) const {
  const auto it = state().queues().find(queue);
  return it == state().queues().end() ? 0 : it->second.held_total();
}

uint32_t TimedCluster::Busy() const {
  uint32_t busy = 0;
  for (const auto& [id, w] : state().workers()) busy += w.used_total();
  return busy;
}

}  // namespace mr::sched
