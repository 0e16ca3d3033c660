#include "master/sim/engine/simulation.h"

#include <algorithm>

#include "common/base/digest.h"
#include "master/sched/job_graph.h"
#include "master/sched/state/state.h"

namespace mr::sim {

namespace {
// Jobs count as stuck if for this long nothing runs, begins or ends, although jobs are left and no submission, fault or
// return is still to come. Far above back-offs (6.4 s), leases and resends.
constexpr Duration kStuck = Seconds(3'600);
constexpr uint64_t kProgressEvery = 1 << 14;
}  // namespace

Simulation::Simulation(Experiment experiment)
    : experiment_(std::move(experiment)),
      chance_(Rng::Stream(experiment_.seed, "messages")),
      machines_(experiment_.tasks.machine, experiment_.tasks.machine_lasts, experiment_.seed,
                experiment_.cluster.workers.size()) {
  for (const RackSpec& rack : experiment_.cluster.racks) {
    rack_up_.push_back(rack.up > 0 ? flows_.AddLink(rack.up) : kNone);
    rack_down_.push_back(rack.down > 0 ? flows_.AddLink(rack.down) : kNone);
  }
  SetUpMachines();
  for (const JobModel& job : experiment_.jobs) {
    original_.push_back(static_cast<uint32_t>(results_.size()));
    results_.push_back({false, job.tasks(), job.submit, 0, "", job.deadline});
  }
  jobs_.resize(experiment_.jobs.size());
}

void Simulation::Broken(const std::string& what) {
  if (error_.empty()) {
    error_ = "at " + std::to_string(now_.ns) + " ns, event " + std::to_string(totals_.events) + ": " + what;
  }
}

std::string Simulation::Run(const std::function<void(size_t, size_t, Instant)>& progress) {
  Step(
      sched::ConfigChanged{experiment_.policies, experiment_.seed, sched::kSchedulerVersion, experiment_.offer_period});
  for (const sched::QueueSet& queue : experiment_.queues) Step(queue);
  uint32_t later = 0;
  for (uint32_t w = 0; w < workers_.size(); ++w) {
    const double from = experiment_.cluster.workers[w].from;
    if (from <= 0) {
      Register(w);
      continue;
    }
    workers_[w].up = false;
    queue_.Push({FromSeconds(from).ns}, Kind::kBack, w);
    ++later;
  }
  for (uint32_t j = 0; j < jobs_.size(); ++j) {
    queue_.Push({FromSeconds(experiment_.jobs[j].submit).ns}, Kind::kSubmit, j);
  }
  for (uint32_t f = 0; f < experiment_.faults.faults.size(); ++f) {
    queue_.Push({FromSeconds(experiment_.faults.faults[f].at).ns}, Kind::kFault, f);
  }
  for (uint32_t c = 0; c < experiment_.list_changes.size(); ++c) {
    queue_.Push({FromSeconds(experiment_.list_changes[c].at).ns}, Kind::kList, c);
  }
  for (uint32_t i = 0; i < experiment_.wishes.size(); ++i) {
    queue_.Push({FromSeconds(experiment_.wishes[i].at).ns}, Kind::kWish, i);
  }
  if (experiment_.tasks.serve_disk > 0) queue_.Push(now_, Kind::kServing, 0);
  for (uint32_t w = 0; machines_.Change() && w < workers_.size(); ++w) {
    queue_.Push(now_ + machines_.Stays(w), Kind::kMachine, w);
  }
  outside_ = static_cast<uint32_t>(jobs_.size() + experiment_.faults.faults.size()) + later;
  for (uint64_t n = 0; ended_ < jobs_.size() || live_ > 0; ++n) {
    if (experiment_.last && results_[*experiment_.last].ended > 0) break;
    if (queue_.empty()) Broken("nothing is left to happen, and jobs are not done");
    if (!error_.empty()) return error_;
    const Item item = queue_.Pop();
    totals_.busy += live_ * (item.at - now_).seconds();
    now_ = item.at;
    outside_ -= item.kind == Kind::kSubmit || item.kind == Kind::kFault || item.kind == Kind::kBack;
    Handle(item);
    due_.clear();
    flows_.Settle(now_, &due_);
    for (const Flows::Due& d : due_) queue_.Push(d.at, Kind::kFlow, d.flow, d.version);
    if (moving_ == 0 && outside_ == 0 && now_ - moved_at_ > kStuck) {
      Broken("no attempt has moved for an hour, and jobs are not done");
    }
    if (progress && n % kProgressEvery == 0) progress(ended_, jobs_.size(), now_);
  }
  return error_;
}

void Simulation::Handle(const Item& item) {
  switch (item.kind) {
    case Kind::kSubmit: return SubmitStrands(item.a);
    case Kind::kKillStrand: return KillStrand(item.a);
    case Kind::kPlan: return Plan(item.a, item.b);
    case Kind::kFlow:
      if (!flows_.Current(item.a, item.b)) return;
      if (replicas_.count(item.a) != 0) return EndReplica(item.a);
      if (flow_of_[item.a] != kNone) return Next(flow_of_[item.a]);
      return RestartHog(item.a);
    case Kind::kMessage: return Deliver(item.a);
    case Kind::kTimer: return FireTimer(item.a);
    case Kind::kReport: return Report(item.a);
    case Kind::kFault: return Break(item.a);
    case Kind::kLost: return Lost(item.a, item.b);
    case Kind::kBack: return Back(item.a);
    case Kind::kCalm: return Contend(item.a, 1 / experiment_.faults.faults[item.b].factor);
    case Kind::kStart:
      if (attempts_[item.a].stamp == item.b) Start(item.a);
      return;
    case Kind::kKill:
    case Kind::kRefuse: {
      const Attempt& a = attempts_[item.a];
      // An attempt that has finished answers by its report.
      if (a.stamp != item.b || a.at == At::kReporting) return;
      const AttemptId id = a.id;
      const WorkerId worker{a.worker + 1};
      const Incarnation life = a.incarnation;
      Free(item.a);
      if (item.kind == Kind::kKill) return Step(sched::AttemptKilled{id, worker, life});
      return Step(sched::AttemptRefused{id, worker, life, "the launch did not reach it"});
    }
    case Kind::kReadFails: return ReadFails(item.a);
    case Kind::kProbed: return Probed(item.a);
    case Kind::kServing: return ChargeSources();
    case Kind::kFails:
      if (attempts_[item.a].stamp == item.b) FailAttempt(item.a);
      return;
    case Kind::kWish: return Grant(item.a);
    case Kind::kBegin:
      if (attempts_[item.a].stamp == item.b) Begin(item.a);
      return;
    case Kind::kStall:
      if (attempts_[item.a].stamp == item.b) ToggleStall(item.a);
      return;
    case Kind::kFrame: return DeliverFrame(item.a);
    case Kind::kMachine: return TurnMachine(item.a);
    case Kind::kList:
      return Step(sched::ConfigChanged{experiment_.list_changes[item.a].policies, experiment_.seed,
                                       sched::kSchedulerVersion, experiment_.offer_period});
  }
}

void Simulation::Step(sched::Event event) {
  const sched::StampedEvent stamped{now_, std::move(event)};
  const std::vector<sched::Decision> decisions = scheduler_.Step(stamped);
  if (experiment_.watch) experiment_.watch(stamped, decisions);
  ++totals_.events;
  told_ += !std::holds_alternative<sched::TimerDue>(stamped.event);
  if (told_ == experiment_.most_events) Broken("after so many events jobs are not done");
  digest_ = MixHash(digest_, scheduler_.Digest());
  for (const sched::Decision& d : decisions) Carry(d);
  if (!experiment_.check) return;
  if (const std::string wrong = CheckState(scheduler_.state()); !wrong.empty()) Broken(wrong);
  if (!experiment_.also) return;
  if (const std::string wrong = experiment_.also(scheduler_.state()); !wrong.empty()) Broken(wrong);
}

void Simulation::Carry(const sched::Decision& decision) {
  if (const auto* d = std::get_if<sched::Launch>(&decision)) return Do(*d);
  if (const auto* d = std::get_if<sched::Accept>(&decision)) return Do(*d);
  if (const auto* d = std::get_if<sched::DropReplica>(&decision)) return Do(*d);
  if (const auto* d = std::get_if<sched::CommitJob>(&decision)) return Do(*d);
  if (const auto* d = std::get_if<sched::FailJob>(&decision)) return Do(*d);
  if (const auto* d = std::get_if<sched::ReplicateOutput>(&decision)) return Do(*d);
  if (const auto* d = std::get_if<sched::Kill>(&decision)) return KillSoon(d->attempt);
  if (const auto* d = std::get_if<sched::TakeBack>(&decision)) return KillSoon(d->attempt);
  if (const auto* d = std::get_if<sched::PlanStage>(&decision)) {
    return queue_.Push(now_, Kind::kPlan, d->job.seq - 1, d->stage);
  }
  if (const auto* d = std::get_if<sched::WakeAt>(&decision)) {
    uint32_t timer = static_cast<uint32_t>(timers_.size());
    if (free_timers_.empty()) {
      timers_.push_back(*d);
    } else {
      timer = free_timers_.back();
      free_timers_.pop_back();
      timers_[timer] = *d;
    }
    return queue_.Push(std::max(now_, d->at), Kind::kTimer, timer);
  }
  if (const auto* d = std::get_if<sched::Bind>(&decision)) return Do(*d);
  if (std::holds_alternative<sched::MarkIndeterminate>(decision)) Broken("a task is called indeterminate that is not");
}

void Simulation::FireTimer(uint32_t timer) {
  const sched::WakeAt wake = timers_[timer];
  free_timers_.push_back(timer);
  Step(sched::TimerDue{wake.policy, wake.id});
}

Rng Simulation::Luck(const TaskId& id, uint32_t number, uint64_t purpose) const {
  uint64_t h = MixHash(experiment_.seed, purpose);
  h = MixHash(h, uint64_t{id.job.seq} << 32 | id.stage);
  return Rng(MixHash(h, uint64_t{id.task} << 32 | number));
}

void Simulation::Submit(uint32_t j) {
  const JobModel& model = experiment_.jobs[j];
  sched::JobSubmitted e;
  e.job = {1, j + 1};
  e.name = model.name;
  e.queue = model.queue;
  e.priority = model.priority;
  e.policies = model.policies;
  e.deadline = FromSeconds(model.deadline);
  std::vector<bool> read(model.stages.size(), false);
  for (const StageModel& s : model.stages) {
    for (const sched::StageInput& in : s.inputs) {
      if (in.is_edge) read[in.upstream] = true;
    }
  }
  for (size_t s = 0; s < model.stages.size(); ++s) {
    sched::StageSpec spec;
    spec.name = model.stages[s].name;
    spec.slot_kind = model.stages[s].kind;
    spec.is_final = !read[s];
    spec.side_effects = model.stages[s].side_effects;
    spec.inputs = model.stages[s].inputs;
    e.graph.stages.push_back(std::move(spec));
  }
  jobs_[j].stages.resize(model.stages.size());
  for (size_t s = 0; s < model.stages.size(); ++s) {
    jobs_[j].stages[s].tasks.resize(model.stages[s].tasks);
    jobs_[j].stages[s].by_rack.assign(experiment_.cluster.racks.size(), 0);
  }
  moved_at_ = now_;
  Step(std::move(e));
  if (model.deadline > 0) Foretell(j);
}

// Places three replicas of each block as HDFS does: the first anywhere, the second in another rack where there is one,
// the third in the second's rack.
void Simulation::Plan(uint32_t j, uint32_t s) {
  if (jobs_[j].over) return;
  const JobModel& job = experiment_.jobs[j];
  const StageModel& model = job.stages[s];
  sched::StagePlanned e;
  e.job = {1, j + 1};
  e.stage = s;
  e.partitions = 1;
  for (const StageModel& reader : job.stages) {
    for (const sched::StageInput& in : reader.inputs) {
      if (in.is_edge && in.upstream == s && in.edge == sched::EdgeKind::kAllToAll) {
        e.partitions = std::max(e.partitions, reader.tasks);
      }
    }
  }
  const auto& specs = experiment_.cluster.workers;
  e.tasks.resize(model.tasks);
  for (uint32_t t = 0; t < model.tasks; ++t) {
    sched::TaskPlan& plan = e.tasks[t];
    plan.input_bytes = model.BytesOf(t);
    for (uint32_t i = 0; i < model.inputs.size(); ++i) {
      const sched::StageInput& in = model.inputs[i];
      if (in.is_edge) {
        plan.slices.push_back(sched::SliceOf({in.edge, i, job.stages[in.upstream].tasks, 0,
                                              in.edge == sched::EdgeKind::kAllToAll ? model.tasks : 1, model.tasks},
                                             t));
        continue;
      }
      if (!model.preferred.empty()) {
        for (const uint32_t w : model.preferred[t]) {
          const WorkerId worker{static_cast<uint32_t>(w % specs.size()) + 1};
          if (std::find(plan.preferred.begin(), plan.preferred.end(), worker) == plan.preferred.end()) {
            plan.preferred.push_back(worker);
          }
        }
        continue;
      }
      Rng rng = model.input_key == 0 ? Luck({{1, original_[j] + 1}, s, t}, 0, kBlockLuck)
                                     : Rng(MixHash(MixHash(experiment_.seed, model.input_key), t));
      const auto any = [&] { return static_cast<uint32_t>(rng.Below(specs.size())); };
      const uint32_t first = any();
      uint32_t second = any(), third = any();
      for (int n = 0; n < 8 && (second == first || (specs.size() > 1 && specs[second].rack == specs[first].rack));
           ++n) {
        second = any();
      }
      for (int n = 0; n < 8 && (third == second || third == first || specs[third].rack != specs[second].rack); ++n) {
        third = any();
      }
      plan.preferred = {{first + 1}};
      if (second != first) plan.preferred.push_back({second + 1});
      if (third != first && third != second) plan.preferred.push_back({third + 1});
    }
  }
  Step(std::move(e));
}

uint32_t Simulation::Find(const AttemptId& id) const {
  const Job& job = jobs_[id.task.job.seq - 1];
  if (job.stages.empty()) return kNone;
  uint32_t a = job.stages[id.task.stage].tasks[id.task.task].first;
  while (a != kNone && attempts_[a].id.number != id.number) a = attempts_[a].next;
  return a;
}

void Simulation::KillSoon(const AttemptId& id) {
  const uint32_t a = Find(id);
  if (a != kNone) queue_.Push(now_ + experiment_.tasks.kill_delay, Kind::kKill, a, attempts_[a].stamp);
}

void Simulation::Do(const sched::Launch& d) {
  const uint32_t w = d.worker.value - 1;
  Worker& worker = workers_[w];
  if (jobs_[d.attempt.task.job.seq - 1].over) Broken("a launch of an ended job");
  if (!worker.up || worker.incarnation != d.incarnation) return;  // the master does not know yet
  ++totals_.starts;
  ++totals_.causes[CauseIndex(d.cause)].launched;
  totals_.retries += d.cause == Cause::kRetry;
  const bool extra = d.cause != Cause::kRetry && d.cause != Cause::kFirst;
  totals_.extra += extra;
  totals_.extra_reduces += extra && ModelOf(d.attempt.task).kind == sched::SlotKind::kReduce;
  uint32_t index = static_cast<uint32_t>(attempts_.size());
  if (free_attempts_.empty()) {
    attempts_.emplace_back();
  } else {
    index = free_attempts_.back();
    free_attempts_.pop_back();
  }
  Attempt& a = attempts_[index];
  const uint32_t stamp = a.stamp;
  a = Attempt{};
  a.stamp = stamp;
  a.id = d.attempt;
  a.incarnation = d.incarnation;
  a.worker = w;
  a.generation = d.generation;
  a.cause = d.cause;
  a.by_bind = d.by_bind;
  a.at = At::kLaunching;
  a.launched = now_;
  Task& task = StageOf(d.attempt.task).tasks[d.attempt.task.task];
  if (Find(d.attempt) != kNone) Broken("an attempt's number is used twice");
  a.next = task.first;
  task.first = index;
  a.place = static_cast<uint32_t>(worker.attempts.size());
  worker.attempts.push_back(index);
  if (worker.attempts.size() > experiment_.cluster.workers[w].slots.total) Broken("a slot is used twice");
  ++jobs_[d.attempt.task.job.seq - 1].holding;
  ++live_;
  moved_at_ = now_;
  if (Chance(experiment_.faults.lost)) {
    queue_.Push(now_ + experiment_.faults.resend, Kind::kRefuse, index, stamp);
    return;
  }
  Duration delay = experiment_.tasks.launch_delay;
  if (Chance(experiment_.faults.late)) {
    delay = delay + FromSeconds(chance_.Uniform() * experiment_.faults.late_by.seconds());
  }
  queue_.Push(now_ + delay, Kind::kStart, index, stamp);
}

void Simulation::Do(const sched::Accept& d) {
  const TaskId& id = d.attempt.task;
  if (jobs_[id.job.seq - 1].over) return;
  if (!d.winner) {
    // This answers a repeat, or its worker crashed and the master does not know yet.
    if (won_seconds_ < 0 && Served(id) == scheduler_.state().FindTask(id)->replicas.size()) return;
    won_seconds_ = -1;
    ++totals_.kept_replicas;
    return Serve(d.replica);
  }
  Stage& stage = StageOf(id);
  Task& task = stage.tasks[id.task];
  const uint32_t generation = d.replica.output.generation;
  if (task.committed == generation) {
    if (won_seconds_ >= 0) Broken("two attempts win the same task");
    return;  // the answer to a repeat
  }
  task.committed = generation;
  ++totals_.commits;
  if (won_seconds_ >= 0) {
    totals_.useful += won_seconds_;
    totals_.wasted -= won_seconds_;
    sched::CauseCount& count = totals_.causes[CauseIndex(won_cause_)];
    ++count.won;
    count.wasted = count.wasted - won_duration_;
  }
  won_seconds_ = -1;
  if (scheduler_.state().Spec(id.stage_id()).is_final) return;
  Serve(d.replica);
}

void Simulation::Do(const sched::CommitJob& d) {
  const JobModel& model = experiment_.jobs[d.job.seq - 1];
  for (size_t s = 0; experiment_.check && s < model.stages.size(); ++s) {
    for (const Task& task : jobs_[d.job.seq - 1].stages[s].tasks) {
      if (task.committed == 0) Broken("a job commits without one of its tasks");
    }
  }
  if (experiment_.learn) Learn(d.job);
  EndJob(d.job, true, "");
}

void Simulation::Do(const sched::FailJob& d) { EndJob(d.job, false, d.message); }

void Simulation::EndJob(JobId id, bool succeeded, const std::string& message) {
  Job& job = jobs_[id.seq - 1];
  if (job.over) return Broken("a job ends twice");
  job.over = true;
  ++ended_;
  moved_at_ = now_;
  if (job.holding == 0) job.stages = {};
  if (!EndStrand(JobOf(id), succeeded)) return;
  JobResult& result = results_[JobOf(id)];
  result.succeeded = succeeded;
  result.ended = now_.ns * 1e-9;
  result.message = message;
  totals_.end = std::max(totals_.end, result.ended);
}

}  // namespace mr::sim
