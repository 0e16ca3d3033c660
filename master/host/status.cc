// Fills the answers to clients that ask or watch. Reads the tables, changes nothing.
#include <algorithm>
#include <cmath>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/rpc/client_wire.h"
#include "common/rpc/wire.h"
#include "master/core/drain.h"
#include "master/core/failure_text.h"
#include "master/host/brain.h"
#include "master/sched/job_bins.h"
#include "master/sched/policies/common/figures.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

// A page of a list, and what its elements take beside their texts. A job takes about 1 KiB, a worker 300 bytes.
constexpr size_t kListBytes = 512 << 10, kTaskBytes = 96, kAttemptBytes = 400, kCounterBytes = 48;
constexpr size_t kJobsPage = 200, kWorkersPage = 1000;
constexpr size_t kDecisionsPage = 2000, kMostReason = 300;

// Watchers hear of changes at most so often; of the end at once.
constexpr Duration kPushEvery = Millis(50);

uint64_t MicrosOf(Duration duration) { return duration.ns > 0 ? static_cast<uint64_t>(duration.ns) / 1000 : 0; }

uint64_t StageBytes(const JobView& job, uint32_t s) {
  if (job.spec.stages[s].reads_files()) return job.plan.stages[s].input_bytes;
  uint64_t bytes = 0;
  for (const InputSpec& input : job.spec.stages[s].inputs) bytes += job.stages[input.stage].output_bytes;
  return bytes;
}

StageStatus StageStatusOf(const JobView& job, uint32_t s, Instant now) {
  const StageView& stage = job.stages[s];
  StageStatus out{.name = job.spec.stages[s].name,
                  .planned = stage.planned,
                  .tasks = job.plan.stages[s].tasks,
                  .done = stage.done,
                  .running = stage.running,
                  .waiting = stage.waiting,
                  .failed = stage.failed,
                  .input_bytes = StageBytes(job, s),
                  .taken_bytes = stage.taken_bytes,
                  .output_bytes = stage.output_bytes,
                  .output_records = stage.output_records};
  if (stage.started) {
    const bool all_done = stage.planned && stage.done == job.plan.stages[s].tasks;
    const Instant end = all_done ? stage.last_commit : Ended(job.state) ? job.ended : now;
    out.elapsed_us = MicrosOf(end - stage.first_launch);
  }
  return out;
}

SkewStatus SkewStatusOf(const JobView& job, const Skew& skew) {
  return {.stage = skew.stage,
          .partition = skew.key.partition,
          .key = PrintableBytes(skew.key.prefix),
          .cut = skew.key.cut,
          .partitions_known = skew.partitions_known,
          .records = skew.key.records,
          .bytes = skew.key.bytes,
          .stage_records = skew.stage_records,
          .stage_bytes = skew.stage_bytes,
          .partition_bytes = skew.partition_bytes,
          .median_bytes = skew.median_bytes,
          .text = SkewText(skew, job.spec.stages[skew.stage].name)};
}

}  // namespace

JobStatus Brain::StatusOf(const JobView& job) const {
  JobStatus out;
  out.id = job.id;
  out.name = job.spec.name;
  out.state = ToldState(job);
  out.queue = job.spec.queue;
  out.priority = job.spec.priority;
  out.output_uri = job.spec.output_uri;
  out.error = job.error.c_str();  // to its first NUL: it may have what an operator wrote
  if (!Ended(ToldState(job))) out.last_failure = job.last_failure.c_str();
  out.submitted_unix_ms = job.wall_ms;
  out.submission_id = job.submission_id;
  const Instant now = clock_.last_stamp();
  out.elapsed_us = MicrosOf((Ended(job.state) ? job.ended : now) - job.submitted);
  for (uint32_t s = 0; s < job.stages.size(); ++s) out.stages.push_back(StageStatusOf(job, s, now));
  for (size_t i = 0; i < kCauses; ++i) {
    const sched::CauseCount& count = job.causes[i];
    // Only those that occurred: a list of many jobs is one message.
    if (count.launched == 0) continue;
    out.causes.push_back({CauseName(static_cast<Cause>(i + 1)), count.launched, count.won, MicrosOf(count.wasted)});
  }
  out.clones = ClonesOf(job);
  out.steering = SteeringOf(job);
  out.deadline = DeadlineOf(job);
  if (!Ended(job.state) && core_.workers().NoneToCome()) {
    out.warnings.push_back("no worker is registered; the job waits until one is (see mrctl doctor)");
  }
  for (const auto& [stage, text] : job.warnings) out.warnings.push_back(text);
  for (const std::string& uri : job.grown) out.warnings.push_back(GrownText(uri));
  for (const Skew& skew : job.skew) out.skew.push_back(SkewStatusOf(job, skew));
  for (auto& [attempt, text] : Hung(job)) out.hung.push_back(std::move(text));
  if (job.state != JobState::kCommitting && job.state != JobState::kSucceeded) return out;
  const OutputTotals totals = job.brief ? job.totals : TotalsOf(job.Outputs());
  out.output_bytes = totals.bytes;
  out.output_records = totals.records;
  out.output_parts = totals.parts;
  out.output_digest = totals.digest;
  return out;
}

std::optional<SteeringStatus> Brain::SteeringOf(const JobView& job) const {
  if (!job.steering.any()) return std::nullopt;
  SteeringStatus out;
  out.held_slot_s = job.steering.HeldUntil(clock_.last_stamp()).seconds();
  for (const SteeringPoint& p : job.steering.points) {
    out.points.push_back({p.at.seconds(), p.progress, p.slots, p.asked, p.left.seconds(), p.deadline.seconds()});
  }
  return out;
}

std::optional<CloneStatus> Brain::ClonesOf(const JobView& job) const {
  const sched::CauseCount& clones = job.causes[CauseIndex(Cause::kClone)];
  const sched::CauseCount& lent = job.causes[CauseIndex(Cause::kOpportunistic)];
  if (clones.launched + lent.launched == 0 && job.clones.exclusive + job.clones.contended == 0) return std::nullopt;
  CloneStatus out{.launched = clones.launched,
                  .won = clones.won,
                  .killed = job.clones.killed,
                  .extra_us = MicrosOf(job.clones.extra),
                  .exclusive = job.clones.exclusive,
                  .contended = job.clones.contended,
                  .rebound = job.clones.rebound,
                  .lent_launched = lent.launched,
                  .lent_won = lent.won,
                  .lent_killed = job.lent.killed,
                  .lent_extra_us = MicrosOf(job.lent.extra)};
  size_t tasks = 0;
  for (const StagePlan& stage : job.plan.stages) tasks += stage.tasks;
  const std::string bin = std::to_string(sched::BinOfTasks(tasks));
  for (const sched::Figure& figure : core_.scheduler().Figures(job.id, clock_.last_stamp())) {
    if (figure.name == sched::kBudgetFigure) out.budget = static_cast<uint64_t>(figure.value);
    if (figure.name == sched::kUsedFigure) out.budget_used = static_cast<uint64_t>(figure.value);
    if (figure.name != sched::kOmegaFigure || figure.label != bin) continue;
    out.omega_known = true;
    out.omega_us = std::isinf(figure.value) ? UINT64_MAX : static_cast<uint64_t>(figure.value * 1e6);
  }
  return out;
}

Status Brain::Watch(uint64_t watcher, JobId id) {
  if (core_.jobs().Find(id) == nullptr) return core_.jobs().Unknown(id);
  watchers_[watcher].job = id;
  changed_.insert(id);
  return Status::Ok();
}

void Brain::Pushed(uint64_t watcher) {
  const auto it = watchers_.find(watcher);
  if (it == watchers_.end()) return;
  it->second.in_flight = false;
  if (it->second.dirty) changed_.insert(it->second.job);
}

void Brain::Unwatch(uint64_t watcher) { watchers_.erase(watcher); }

void Brain::MarkChanged(JobId job) { changed_.insert(job); }

void Brain::PushDue() {
  if (changed_.empty()) return;
  const auto changed = std::move(changed_);
  changed_.clear();
  const Instant now = Now();
  clock_.Stamp();
  for (auto& [id, watcher] : watchers_) {
    if (!changed.contains(watcher.job)) continue;
    watcher.dirty = true;
    if (watcher.in_flight) continue;
    const JobView* job = core_.jobs().Find(watcher.job);
    if (job == nullptr) continue;  // ended so long ago that it is forgotten
    const bool last = Ended(ToldState(*job));
    if (!last && now - watcher.last_push < kPushEvery) {
      if (!push_timer_) {
        push_timer_ = true;
        loop_.At(watcher.last_push + kPushEvery, [this] {
          push_timer_ = false;
          for (const auto& [w, state] : watchers_) {
            if (state.dirty) changed_.insert(state.job);
          }
        });
      }
      continue;
    }
    watcher.dirty = false;
    watcher.in_flight = true;
    watcher.last_push = now;
    auto message = std::make_shared<capnp::MallocMessageBuilder>();
    rpc::ToWire(StatusOf(*job), message->initRoot<rpc::JobStatus>());
    outlets_.PushStatus(id, std::move(message));
  }
}

Status Brain::FillTasks(JobId id, uint64_t from, rpc::MasterForClient::TasksResults::Builder out) {
  const JobView* job = core_.jobs().Find(id);
  if (job == nullptr) return core_.jobs().Unknown(id);
  if (job->brief) return OnlyBrief(*job);
  // `from` is stage << 32 | task.
  uint32_t stage = static_cast<uint32_t>(from >> 32), task = static_cast<uint32_t>(from);
  std::vector<std::pair<uint32_t, uint32_t>> page;
  size_t bytes = 0;
  for (; stage < job->stages.size(); ++stage, task = 0) {
    const std::vector<TaskView>& tasks = job->stages[stage].tasks;
    for (; task < tasks.size() && bytes < kListBytes; ++task) {
      bytes += kTaskBytes + tasks[task].replicas.size() * 4;
      page.emplace_back(stage, task);
    }
    if (task < tasks.size()) break;
  }
  if (stage < job->stages.size()) out.setNext(uint64_t{stage} << 32 | task);
  auto list = out.initTasks(static_cast<unsigned>(page.size()));
  for (unsigned at = 0; at < page.size(); ++at) {
    const auto [s, t] = page[at];
    const TaskView& view = job->stages[s].tasks[t];
    auto status = list[at];
    status.setStage(s);
    status.setTask(t);
    status.setLetter(static_cast<uint8_t>(job->letter(s)));
    status.setState(view.committed ? "committed" : view.live > 0 ? "running" : "pending");
    status.setAttempts(view.attempts);
    status.setGeneration(view.generation);
    status.setWorker(view.worker.value);
    auto replicas = status.initReplicas(static_cast<unsigned>(view.replicas.size()));
    for (unsigned c = 0; c < replicas.size(); ++c) replicas.set(c, view.replicas[c].replica.worker.value);
  }
  return Status::Ok();
}

Status Brain::FillAttempts(JobId id, const AttemptId& after, rpc::MasterForClient::AttemptsResults::Builder out) {
  const JobView* job = core_.jobs().Find(id);
  if (job == nullptr) return core_.jobs().Unknown(id);
  if (job->brief) return OnlyBrief(*job);
  const Instant now = clock_.Stamp();
  const auto begin = after.valid() ? job->attempts.upper_bound(after) : job->attempts.begin();
  auto end = begin;
  unsigned count = 0;
  for (size_t bytes = 0; end != job->attempts.end() && bytes < kListBytes; ++end, ++count) {
    bytes += kAttemptBytes + end->second.message.size();
  }
  out.setMore(end != job->attempts.end());
  auto list = out.initAttempts(count);
  unsigned at = 0;
  for (auto it = begin; it != end; ++it) {
    const auto& [attempt_id, attempt] = *it;
    auto status = list[at++];
    rpc::ToWire(attempt_id, status.initId());
    status.setLetter(static_cast<uint8_t>(job->letter(attempt_id.task.stage)));
    status.setState(Word(attempt.state));
    status.setCause(CauseName(attempt.cause));
    status.setWorker(attempt.worker.value);
    const bool committed = attempt.state == AttemptState::kCommitted || attempt.state == AttemptState::kReplica;
    status.setProgress(committed                  ? 1.0
                       : attempt.total_bytes == 0 ? 0.0
                                                  : std::min(1.0, static_cast<double>(attempt.taken_bytes) /
                                                                      static_cast<double>(attempt.total_bytes)));
    status.setRanUs(MicrosOf((Live(attempt.state) ? now : attempt.ended) - attempt.launched));
    status.setMessage(attempt.message.c_str());
    status.setReason(Explain(attempt.reason).c_str());
  }
  return Status::Ok();
}

Status Brain::FillCounters(JobId id, uint64_t from, rpc::MasterForClient::CountersResults::Builder out) {
  const JobView* job = core_.jobs().Find(id);
  if (job == nullptr) return core_.jobs().Unknown(id);
  if (job->brief) return OnlyBrief(*job);
  std::map<std::pair<std::string, std::string>, int64_t> sums;
  for (const auto& stage : job->stages) {
    for (const auto& task : stage.tasks) {
      if (!task.committed || task.output == nullptr) continue;
      for (const auto& counter : task.output->counters) {
        // Operators count what they like: a sum past the range wraps, as in mrtask.
        int64_t& sum = sums[{counter.group, counter.name}];
        (void)__builtin_add_overflow(sum, counter.value, &sum);
      }
    }
  }
  // In the order of names, from the one at `from`.
  auto begin = sums.begin();
  std::advance(begin, std::min<uint64_t>(from, sums.size()));
  auto end = begin;
  uint64_t next = std::min<uint64_t>(from, sums.size());
  for (size_t bytes = 0; end != sums.end() && bytes < kListBytes; ++end, ++next) {
    bytes += kCounterBytes + end->first.first.size() + end->first.second.size();
  }
  out.setNext(end == sums.end() ? 0 : next);
  auto list = out.initCounters(static_cast<unsigned>(std::distance(begin, end)));
  unsigned at = 0;
  for (auto it = begin; it != end; ++it) {
    rpc::ToWire(CounterValue{it->first.first, it->first.second, it->second}, list[at++]);
  }
  return Status::Ok();
}

Status Brain::FillDecisions(JobId id, uint32_t from, rpc::MasterForClient::DecisionsResults::Builder out) {
  const JobView* job = core_.jobs().Find(id);
  if (job == nullptr) return core_.jobs().Unknown(id);
  if (job->brief) return OnlyBrief(*job);
  // Lines [from, end): the job's, those of its tasks, the end of the job, which follows from them.
  std::vector<const WhyLine*> lines;
  size_t at = 0;
  const auto ends = [](const WhyLine& line) {
    return line.what == What::kJobCommitted || line.what == What::kJobFailed || line.what == What::kJobKilled;
  };
  const auto add = [&](const WhyLine& line) {
    if (at++ >= from && lines.size() < kDecisionsPage) lines.push_back(&line);
  };
  for (const WhyLine& line : job->why_job) {
    if (!ends(line)) add(line);
  }
  for (const auto& [task, why] : job->why) {
    if (at + why.size() <= from || lines.size() == kDecisionsPage) {
      at += why.size();
      continue;
    }
    for (const WhyLine& line : why) add(line);
  }
  for (const WhyLine& line : job->why_job) {
    if (ends(line)) add(line);
  }
  const size_t end = from + lines.size();
  out.setNext(end < at ? static_cast<uint32_t>(end) : 0);
  auto list = out.initDecisions(static_cast<unsigned>(lines.size()));
  for (size_t i = 0; i < lines.size(); ++i) {
    const WhyLine& line = *lines[i];
    auto decision = list[static_cast<unsigned>(i)];
    decision.setAtUs(MicrosOf(line.at - job->submitted));
    decision.setWhat(Word(line.what));
    if (line.attempt.number != 0) {
      decision.setAttempt(Name(line.attempt, job->letter(line.attempt.task.stage)).c_str());
    }
    decision.setWorker(line.worker.value);
    const std::string reason = line.text.empty() ? Explain(line.reason) : line.text;
    decision.setReason(reason.substr(0, kMostReason).c_str());
  }
  return Status::Ok();
}

void Brain::FillJobs(uint64_t from, rpc::MasterForClient::JobsResults::Builder out) {
  clock_.Stamp();
  // `from` is epoch << 32 | seq.
  const auto& jobs = core_.jobs().jobs();
  const auto begin = jobs.lower_bound(JobId{static_cast<uint32_t>(from >> 32), static_cast<uint32_t>(from)});
  auto end = begin;
  unsigned count = 0;
  for (; end != jobs.end() && count < kJobsPage; ++end) ++count;
  if (end != jobs.end()) out.setNext(uint64_t{end->first.epoch} << 32 | end->first.seq);
  auto list = out.initJobs(count);
  unsigned at = 0;
  for (auto it = begin; it != end; ++it) rpc::ToWire(StatusOf(it->second), list[at++]);
}

void Brain::FillWorkers(uint64_t from, rpc::MasterForClient::WorkersResults::Builder out) {
  std::map<WorkerId, uint32_t> busy;
  for (const auto& [id, job] : core_.jobs().jobs()) {
    if (job.live_attempts == 0) continue;
    for (const auto& [attempt_id, attempt] : job.attempts) {
      if (Live(attempt.state)) ++busy[attempt.worker];
    }
  }
  const auto begin =
      core_.workers().all().lower_bound(WorkerId{static_cast<uint32_t>(std::min<uint64_t>(from, UINT32_MAX))});
  auto end = begin;
  unsigned count = 0;
  for (; end != core_.workers().all().end() && count < kWorkersPage; ++end) ++count;
  if (end != core_.workers().all().end()) out.setNext(end->first.value);
  auto list = out.initWorkers(count);
  unsigned at = 0;
  for (auto it = begin; it != end; ++it) {
    const auto& [id, worker] = *it;
    auto status = list[at++];
    status.setId(id.value);
    status.setName(worker.name.c_str());
    status.setAddress(worker.info.address.c_str());
    status.setRack(worker.info.rack.c_str());
    status.setState(worker.Word());
    status.setPid(worker.alive ? worker.pid : 0);
    status.setSlots(worker.alive ? worker.info.slots.total : 0);
    status.setBusy(busy[id]);
    status.setIncarnation(worker.info.incarnation);
    auto labels = status.initLabels(static_cast<unsigned>(worker.info.labels.size()));
    for (unsigned i = 0; i < worker.info.labels.size(); ++i) labels.set(i, worker.info.labels[i].c_str());
    status.setBlocks(static_cast<uint32_t>(core_.files().BlocksOn(id)));
    status.setUsedBytes(core_.files().UsedOn(id));
    status.setCapacityBytes(worker.capacity_bytes);
    status.setMemoryBytes(worker.info.memory_bytes);
    status.setReportsGivenUp(worker.reports_given_up);
    status.setWrongOutputs(worker.wrong_outputs);
    status.setSafeToStop(worker.drained_by_user && DrainOf(id)->Safe());
  }
}

}  // namespace mr::master
