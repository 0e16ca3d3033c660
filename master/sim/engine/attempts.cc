// Simulates the phases of an attempt (read; or copy, sort, reduce) and its end. How it copies: copies.cc.
#include <algorithm>
#include <cmath>

#include "common/base/digest.h"
#include "common/base/fields.h"
#include "master/sched/state/state.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

namespace {

// A rate limit above all others.
constexpr double kNoLimit = 1e12;
constexpr double kTimedParts = 1e6;
constexpr double kShortest = 1e-6;  // seconds of an attempt of recorded time
// Rate of an attempt that stands still, in bytes per second: a flow needs one.
constexpr double kStandstill = 1;

// Returns the same manifest for each attempt of the task, whenever and wherever it runs.
Manifest ManifestOf(const TaskId& id, double bytes) {
  const uint64_t content = MixHash(MixHash(id.job.seq, id.stage), id.task);
  return {static_cast<uint64_t>(bytes / kRecordBytes), static_cast<uint64_t>(bytes), {content, ~content}};
}

}  // namespace

void Simulation::Start(uint32_t index) {
  Attempt& a = attempts_[index];
  const StageModel& model = ModelOf(a.id.task);
  const sched::Task& task = *scheduler_.state().FindTask(a.id.task);
  a.at = At::kRunning;
  a.started = a.reported_at = now_;
  a.bytes = std::max(1.0, static_cast<double>(task.plan.input_bytes));
  a.timed = model.naps > 0 || !model.durations.empty();
  if (model.naps > 0) {
    Rng rng = Luck(a.id.task, a.id.number, kNapLuck);
    for (uint32_t n = 0; n < model.naps; ++n) a.trace_seconds += model.longest_nap * rng.Uniform();
    a.trace_seconds = std::max(kShortest, a.trace_seconds);
  } else if (a.timed) {
    // The first attempt of a task takes the task's recorded time, unless its job is a strand. All others take the time
    // of a random task of the stage.
    const size_t n = model.durations.size();
    const bool recorded = a.id.number == 1 && JobOf(a.id.task.job) + 1 == a.id.task.job.seq;
    const size_t own = a.id.task.task % n;
    const size_t record = recorded ? own : Luck(a.id.task, a.id.number, kRecordLuck).Below(n);
    a.trace_seconds = std::max(kShortest, static_cast<double>(model.durations[record]));
    const double own_seconds = std::max(kShortest, static_cast<double>(model.durations[own]));
    if (!recorded) a.trace_seconds = WithSkew(a.id.task, own_seconds, a.trace_seconds);
    if (!model.shares.empty()) a.shares = model.shares[record];
  } else {
    a.factor = FactorOf(a.id);
  }
  if (a.timed) {
    // Without bytes, progress is counted in these units.
    a.counted = task.plan.input_bytes > 0;
    if (!a.counted) a.bytes = kTimedParts;
  }
  if (a.timed && experiment_.tasks.fails > 0) {
    Rng rng = Luck(a.id.task, a.id.number, kFailureLuck);
    if (rng.Uniform() < experiment_.tasks.fails) {
      queue_.Push(now_ + FromSeconds(rng.Uniform() * a.trace_seconds), Kind::kFails, index, a.stamp);
    }
  }
  for (const Slice& slice : task.plan.slices) a.needed += slice.task_end - slice.task_begin;
  a.few = a.needed > 0 && a.needed <= kFewSources;
  if (a.listed()) a.needed = Sources(a);
  a.shape = Draw({experiment_.tasks.report_noise, 0}, Luck(a.id.task, a.id.number, kShapeLuck));
  Worker& w = workers_[a.worker];
  if (experiment_.tasks.report_period.ns > 0 && !w.reporting) {
    w.reporting = true;
    queue_.Push(now_ + experiment_.tasks.report_period, Kind::kReport, a.worker);
  }
  const AttemptId id = a.id;
  const uint32_t stamp = a.stamp, worker = a.worker;
  Step(sched::AttemptStarted{id, {worker + 1}, attempts_[index].incarnation});
  if (attempts_[index].stamp != stamp) return;
  // Recorded times have their start in them.
  if (experiment_.tasks.startup <= 0 || attempts_[index].timed) return Begin(index);
  const FactorModel spread{experiment_.tasks.startup_sigma, 0};
  const double factor = Draw(spread, Luck(id.task, id.number, kStartupLuck)) * workers_[worker].slow;
  const Duration takes = FromSeconds(experiment_.tasks.startup * factor * machines_.factor(worker));
  queue_.Push(now_ + takes, Kind::kBegin, index, stamp);
}

void Simulation::Begin(uint32_t index) {
  Attempt& a = attempts_[index];
  if (experiment_.tasks.stall_every > 0 && !a.timed) ScheduleStall(index);
  if (!scheduler_.state().FindTask(a.id.task)->plan.slices.empty()) {
    a.phase = Phase::kCopy;
    TryCopy(index);
    return;
  }
  uses_.clear();
  if (!a.timed) {
    ReadRoute(a, &uses_, &a.cross, &a.local);
    AddDisk(a, experiment_.tasks.map_disk * OutputPerByte(a));
  }
  Move(index, a.bytes, uses_);
}

double Simulation::FactorOf(const AttemptId& id) const {
  const TaskModel& m = experiment_.tasks;
  Rng luck = Luck(id.task, id.number, kAttemptLuck);
  const double drawn = m.factors.empty() ? Draw(m.luck, luck) : double{m.factors[luck.Below(m.factors.size())]};
  TaskId task = id.task;  // all strands of a job have the same skew
  task.job.seq = JobOf(id.task.job) + 1;
  return drawn * Draw(m.skew, Luck(task, 0, kSkewLuck));
}

// Two attempts of a task with shares r of the log times' variance in common have correlated times: the mean of the
// second, given the first, is r of the first's deviation.
double Simulation::WithSkew(const TaskId& id, double own, double other) {
  const double r = experiment_.tasks.skew_share;
  if (r <= 0) return other;
  double& usual = StageOf(id).usual_seconds;
  if (usual == 0) {
    std::vector<float> times = ModelOf(id).durations;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    usual = std::max(kShortest, double{*middle});
  }
  return usual * std::exp(r * std::log(own / usual) + std::sqrt(1 - r * r) * std::log(other / usual));
}

void Simulation::ScheduleStall(uint32_t index) {
  Attempt& a = attempts_[index];
  const TaskModel& m = experiment_.tasks;
  const TaskId& id = a.id.task;
  Rng rng(MixHash(Luck(id, a.id.number, kStallLuck).Next(), a.stalls++));
  queue_.Push(now_ + FromSeconds(rng.Exponential(a.stalled ? m.stall_lasts : m.stall_every)), Kind::kStall, index,
              a.stamp);
}

void Simulation::ToggleStall(uint32_t index) {
  Attempt& a = attempts_[index];
  if (a.at != At::kRunning) return;
  a.stalled = !a.stalled;
  ScheduleStall(index);
  if (a.flow == kNone) return;
  a.limit = LimitOf(a);
  flows_.SetLimit(now_, a.flow, a.limit * a.scale);
}

double Simulation::LimitOf(const Attempt& a) const {
  const Worker& w = workers_[a.worker];
  const TaskModel& m = experiment_.tasks;
  double speed = experiment_.cluster.workers[a.worker].speed / (w.slow * machines_.factor(a.worker) * a.factor);
  if (a.stalled) return kStandstill;
  if (a.timed) {
    if (ModelOf(a.id.task).same_everywhere) speed = 1;
    const double left = 1 - double{a.shares.copy} - double{a.shares.sort};
    const double share = a.phase == Phase::kRead   ? 1
                         : a.phase == Phase::kCopy ? a.shares.copy
                         : a.phase == Phase::kSort ? a.shares.sort
                                                   : left;
    return share <= 0 ? kNoLimit : std::min(kNoLimit, a.bytes / (a.trace_seconds * share) * speed);
  }
  if (a.phase == Phase::kCopy) return kNoLimit;
  speed *= CoreShare(a.worker);
  const double cost = a.phase == Phase::kRead ? m.map_cost : a.phase == Phase::kSort ? m.sort_cost : m.reduce_cost;
  return speed / cost;
}

void Simulation::Move(uint32_t index, double bytes, std::vector<Flows::Use> uses) {
  Attempt& a = attempts_[index];
  Began(a);
  a.flow_bytes = bytes;
  a.limit = LimitOf(a);
  // No flow is slower than a byte per second (flows.cc), so one of few bytes is counted in smaller units.
  a.scale = a.timed ? std::max(1.0, kTimedParts / a.bytes) : DiskScale(a, &uses);
  a.flow = flows_.Start(now_, bytes * a.scale, a.limit * a.scale, uses);
  if (flow_of_.size() <= a.flow) flow_of_.resize(a.flow + 1, kNone);
  flow_of_[a.flow] = index;
  ++moving_;
}

// Finds the route of a block read: from the local disk, or from a replica on a worker that is up, in this rack if
// possible.
void Simulation::ReadRoute(const Attempt& a, std::vector<Flows::Use>* uses, double* cross, double* local) const {
  const auto& specs = experiment_.cluster.workers;
  const std::vector<WorkerId>& replicas = scheduler_.state().FindTask(a.id.task)->plan.preferred;
  const uint32_t rack = specs[a.worker].rack;
  uint32_t from = kNone;
  for (const WorkerId& r : replicas) {
    const uint32_t w = r.value - 1;
    if (w == a.worker) {
      uses->push_back({workers_[w].disk, experiment_.tasks.read_disk});
      *local = 1;
      return;
    }
    if (!workers_[w].up) continue;
    if (from == kNone || (specs[from].rack != rack && specs[w].rack == rack)) from = w;
  }
  uses->push_back({workers_[a.worker].downlink, 1});
  if (from == kNone) return;  // the replica is outside the model: only the downlink counts
  uses->push_back({workers_[from].disk, experiment_.tasks.read_disk});
  uses->push_back({workers_[from].uplink, 1});
  if (specs[from].rack == rack) return;
  *cross = 1;
  if (rack_up_[specs[from].rack] != kNone) uses->push_back({rack_up_[specs[from].rack], 1});
  if (rack_down_[rack] != kNone) uses->push_back({rack_down_[rack], 1});
}

double Simulation::MovedBy(const Attempt& a) const {
  if (a.flow == kNone) return a.before;
  return a.before + a.flow_bytes - flows_.Left(now_, a.flow) / a.scale;
}

void Simulation::StopFlow(Attempt& a) {
  if (a.flow == kNone) return;
  const double moved = a.flow_bytes - flows_.End(now_, a.flow) / a.scale;
  flow_of_[a.flow] = kNone;
  --moving_;
  moved_at_ = now_;
  a.flow = kNone;
  Ceased(a);
  a.before += moved;
  if (a.counted && (a.phase == Phase::kRead || a.phase == Phase::kCopy)) {
    totals_.read_bytes += moved;
    totals_.local_bytes += moved * a.local;
    totals_.cross_rack_bytes += moved * a.cross;
  }
}

void Simulation::Next(uint32_t index) {
  Attempt& a = attempts_[index];
  switch (a.phase) {
    case Phase::kCopy: return CopyOn(index);
    case Phase::kSort:
      StopFlow(a);
      a.phase = Phase::kReduce;
      uses_.clear();
      if (!a.timed) AddOutput(a);
      return Move(index, a.bytes, uses_);
    case Phase::kRead:
    case Phase::kReduce: StopFlow(a); return Finish(index);
  }
}

void Simulation::Finish(uint32_t index) {
  Attempt& a = attempts_[index];
  const StageModel& model = ModelOf(a.id.task);
  a.at = At::kReporting;
  Message message;
  message.attempt = index;
  message.stamp = a.stamp;
  sched::AttemptFinished& e = message.report;
  e.attempt = a.id;
  e.worker = {a.worker + 1};
  e.incarnation = a.incarnation;
  e.manifest = ManifestOf(a.id.task, static_cast<double>(model.output_bytes) / model.tasks);
  e.consumed.reserve(a.needed);
  for (const Slice& slice : scheduler_.state().FindTask(a.id.task)->plan.slices) {
    const uint32_t s = model.inputs[slice.input].upstream;
    const StageModel& up = experiment_.jobs[a.id.task.job.seq - 1].stages[s];
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
      const TaskId id{a.id.task.job, s, t};
      e.consumed.push_back({s, t, std::max(1u, StageOf(id).tasks[t].committed),
                            ManifestOf(id, static_cast<double>(up.output_bytes) / up.tasks).content});
    }
  }
  e.ran = now_ - std::max(a.started, a.inputs_done);
  e.waited = a.inputs_done.ns > 0 ? a.inputs_done - a.started : Duration{};
  SendMessage(std::move(message));
}

void Simulation::SendMessage(Message message) {
  const auto put = [&](Message m, Instant at) {
    uint32_t slot = static_cast<uint32_t>(messages_.size());
    if (free_messages_.empty()) {
      messages_.push_back(std::move(m));
    } else {
      slot = free_messages_.back();
      free_messages_.pop_back();
      messages_[slot] = std::move(m);
    }
    queue_.Push(at, Kind::kMessage, slot);
  };
  Duration delay;
  while (Chance(experiment_.faults.lost)) delay = delay + experiment_.faults.resend;
  if (Chance(experiment_.faults.late)) {
    delay = delay + FromSeconds(chance_.Uniform() * experiment_.faults.late_by.seconds());
  }
  if (Chance(experiment_.faults.twice)) put(message, now_ + delay + experiment_.faults.resend);
  put(std::move(message), now_ + delay);
}

void Simulation::Deliver(uint32_t slot) {
  const Message message = std::move(messages_[slot]);
  free_messages_.push_back(slot);
  const Attempt& a = attempts_[message.attempt];
  won_seconds_ = -1;
  if (a.stamp == message.stamp) {
    const double seconds = (now_ - a.launched).seconds();
    won_duration_ = now_ - a.launched;
    won_cause_ = a.cause;
    Free(message.attempt);
    won_seconds_ = seconds;
  }
  Step(message.report);
  won_seconds_ = -1;
}

void Simulation::Free(uint32_t index) {
  Attempt& a = attempts_[index];
  StopFlow(a);
  totals_.wasted += (now_ - a.launched).seconds();
  Duration& wasted = totals_.causes[CauseIndex(a.cause)].wasted;
  wasted = wasted + (now_ - a.launched);
  Worker& w = workers_[a.worker];
  w.attempts[a.place] = w.attempts.back();
  attempts_[w.attempts[a.place]].place = a.place;
  w.attempts.pop_back();
  Job& job = jobs_[a.id.task.job.seq - 1];
  uint32_t* link = &job.stages[a.id.task.stage].tasks[a.id.task.task].first;
  while (*link != index) link = &attempts_[*link].next;
  *link = a.next;
  if (--job.holding == 0 && job.over) job.stages = {};
  ++a.stamp;
  if (a.listed()) reads_.erase(index);
  a.at = At::kNowhere;
  a.idle = false;
  free_attempts_.push_back(index);
  --live_;
  moved_at_ = now_;
}

}  // namespace mr::sim
