#include "master/host/lists.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/rpc/client_wire.h"
#include "common/rpc/control_wire.h"
#include "common/rpc/spec_wire.h"
#include "common/rpc/wire.h"
#include "master/core/failure_text.h"
#include "master/host/launch_message.h"
#include "master/host/task_input.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

// Bytes of a page, and of its elements beside their texts. A job takes about 1 KiB, a worker 300 bytes.
constexpr size_t kListBytes = 512 << 10, kTaskBytes = 120, kAttemptBytes = 460, kCounterBytes = 48;
constexpr size_t kJobsPage = 200, kWorkersPage = 1000;
constexpr uint64_t kMostSlices = 1'000'000;  // a page sums so many for the inputs of tasks: some ms; a guess
constexpr size_t kDecisionsPage = 2000, kMostReason = 300;

uint64_t WireMicros(Duration duration) { return duration.ns > 0 ? static_cast<uint64_t>(duration.ns) / 1000 : 0; }

}  // namespace

Lists::Lists(MasterCore& core, HostClock& clock, const JobReader& reader, DrainReader& drains, uint64_t cluster_id)
    : core_(core), clock_(clock), reader_(reader), drains_(drains), cluster_id_(cluster_id) {}

Status Lists::FillJob(JobId id, rpc::MasterForClient::JobResults::Builder out) {
  const JobView* job = core_.jobs().Find(id);
  if (job == nullptr) return core_.jobs().Unknown(id);
  clock_.Stamp();
  rpc::ToWire(reader_.StatusOf(*job), out.initStatus());
  return Status::Ok();
}

Status Lists::FillSpec(JobId id, rpc::JobSpec::Builder out) {
  const JobView* job = core_.jobs().Find(id);
  if (job == nullptr) return core_.jobs().Unknown(id);
  rpc::ToWire(job->spec, out);
  return Status::Ok();
}

Status Lists::FillLaunched(const AttemptId& attempt, rpc::MasterForClient::LaunchedResults::Builder out) {
  const JobView* job = core_.jobs().Find(attempt.task.job);
  if (job == nullptr) return core_.jobs().Unknown(attempt.task.job);
  if (!core_.attempts().Find(attempt)) return NotFound("there is no such attempt, or its job ended long ago");
  rpc::ToWire(InfoOf(*job, attempt.task.stage, cluster_id_), out.initStage());
  sched::Launch launch;
  launch.attempt = attempt;
  rpc::ToWire(LaunchOf(core_, *job, launch), out.initLaunch());
  return Status::Ok();
}

Status Lists::FillTasks(JobId id, uint64_t from, rpc::MasterForClient::TasksResults::Builder out) {
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
  uint64_t slices = kMostSlices;
  for (unsigned at = 0; at < page.size(); ++at) {
    const auto [s, t] = page[at];
    const TaskView& view = job->stages[s].tasks[t];
    auto status = list[at];
    status.setStage(s);
    status.setTask(t);
    status.setLetter(static_cast<uint8_t>(job->letter(s)));
    // Without the scheduler's entity, which another release had, the projection knows what was committed.
    const sched::Task* known = core_.scheduler().state().FindTask({id, s, t});
    const bool done = known == nullptr ? view.committed : known->state == sched::TaskState::kCommitted;
    const bool runs = known != nullptr && known->holding > 0;
    const bool last = !done && known != nullptr && !known->attempts.empty();
    status.setState(done ? "committed" : runs ? "running" : "pending");
    status.setAttempts(known == nullptr ? 0 : static_cast<uint32_t>(known->attempts.size()));
    status.setGeneration(known == nullptr ? view.generation : known->generation);
    status.setWorker(last ? known->attempts.back().worker.value : view.worker.value);
    status.setInputBytes(InputBytes(*job, s, known, &slices));
    if (view.committed) {
      status.setOutputBytes(view.manifest.bytes);
      status.setOutputRecords(view.manifest.records);
    }
    auto replicas = status.initReplicas(static_cast<unsigned>(view.replicas.size()));
    for (unsigned c = 0; c < replicas.size(); ++c) replicas.set(c, view.replicas[c].replica.worker.value);
  }
  return Status::Ok();
}

Status Lists::FillAttempts(JobId id, const AttemptId& after, rpc::MasterForClient::AttemptsResults::Builder out) {
  const JobView* job = core_.jobs().Find(id);
  if (job == nullptr) return core_.jobs().Unknown(id);
  if (job->brief) return OnlyBrief(*job);
  const Instant now = clock_.Stamp();
  // One more than a page can have, to know whether more follow.
  const std::vector<AttemptView> attempts = core_.attempts().Of(id, after, kListBytes / kAttemptBytes + 2);
  unsigned count = 0;
  for (size_t bytes = 0; count < attempts.size() && bytes < kListBytes; ++count) {
    bytes += kAttemptBytes + attempts[count].note->message.size();
  }
  out.setMore(count < attempts.size());
  auto list = out.initAttempts(count);
  for (unsigned at = 0; at < count; ++at) {
    const AttemptView& attempt = attempts[at];
    auto status = list[at];
    rpc::ToWire(attempt.id, status.initId());
    status.setLetter(static_cast<uint8_t>(job->letter(attempt.id.task.stage)));
    status.setState(Word(attempt.state));
    status.setCause(CauseName(attempt.cause));
    status.setWorker(attempt.worker.value);
    const bool committed = attempt.state == AttemptState::kCommitted || attempt.state == AttemptState::kReplica;
    status.setProgress(committed                  ? 1.0
                       : attempt.total_bytes == 0 ? 0.0
                                                  : std::min(1.0, static_cast<double>(attempt.taken_bytes) /
                                                                      static_cast<double>(attempt.total_bytes)));
    status.setRanUs(WireMicros((Live(attempt.state) ? now : attempt.ended) - attempt.launched));
    status.setMessage(attempt.note->message.c_str());
    status.setReason(Explain(attempt.note->reason).c_str());
    const auto since = [job](Instant at) {
      return at.ns == 0 ? 0 : std::max<uint64_t>(1, WireMicros(at - job->submitted));
    };
    status.setLaunchedUs(since(attempt.launched));
    status.setStartedUs(since(attempt.started));
    status.setInputsUs(since(attempt.inputs_done));
    status.setSortUs(since(attempt.sort));
    status.setReduceUs(since(attempt.reduce));
    status.setEndedUs(since(attempt.ended));
    status.setWon(attempt.state == AttemptState::kCommitted);
    if (attempt.state == AttemptState::kFailed || attempt.state == AttemptState::kKilled)
      status.setFailure(Word(attempt.failure));
  }
  return Status::Ok();
}

Status Lists::FillCounters(JobId id, uint64_t from, rpc::MasterForClient::CountersResults::Builder out) {
  const JobView* job = core_.jobs().Find(id);
  if (job == nullptr) return core_.jobs().Unknown(id);
  if (job->brief) return OnlyBrief(*job);
  std::map<std::pair<std::string, std::string>, int64_t> sums;
  for (const auto& stage : job->stages) {
    for (const auto& task : stage.tasks) {
      if (!task.committed || task.output == nullptr) continue;
      for (const auto& counter : task.output->counters) {
        // The values are an operator's own: a sum past the range wraps, as in mrtask.
        int64_t& sum = sums[{counter.group, counter.name}];
        (void)__builtin_add_overflow(sum, counter.value, &sum);
      }
    }
  }
  // Counters are in the order of their names; the page begins with the one at `from`.
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

Status Lists::FillDecisions(JobId id, uint32_t from, rpc::MasterForClient::DecisionsResults::Builder out) {
  const JobView* job = core_.jobs().Find(id);
  if (job == nullptr) return core_.jobs().Unknown(id);
  if (job->brief) return OnlyBrief(*job);
  // Lines [from, end) of: the job's lines, those of its tasks, and the job's end, which follows from them.
  std::vector<const WhyLine*> lines;
  size_t at = 0;
  const auto ends = [](const WhyLine& line) {
    return line.what == What::kJobCommitted || line.what == What::kJobFailed || line.what == What::kJobKilled;
  };
  const auto add = [&](const WhyLine& line) {
    if (at++ >= from && lines.size() < kDecisionsPage) lines.push_back(&line);
  };
  for (const WhyLine& line : job->notes.why_job) {
    if (!ends(line)) add(line);
  }
  for (const auto& [task, why] : job->notes.why) {
    if (at + why.size() <= from || lines.size() == kDecisionsPage) {
      at += why.size();
      continue;
    }
    for (const WhyLine& line : why) add(line);
  }
  for (const WhyLine& line : job->notes.why_job) {
    if (ends(line)) add(line);
  }
  const size_t end = from + lines.size();
  out.setNext(end < at ? static_cast<uint32_t>(end) : 0);
  auto list = out.initDecisions(static_cast<unsigned>(lines.size()));
  for (size_t i = 0; i < lines.size(); ++i) {
    const WhyLine& line = *lines[i];
    auto decision = list[static_cast<unsigned>(i)];
    decision.setAtUs(WireMicros(line.at - job->submitted));
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

void Lists::FillJobs(uint64_t from, rpc::MasterForClient::JobsResults::Builder out) {
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
  for (auto it = begin; it != end; ++it) rpc::ToWire(reader_.StatusOf(it->second), list[at++]);
}

void Lists::FillWorkers(uint64_t from, rpc::MasterForClient::WorkersResults::Builder out) {
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
    const sched::Worker* known = core_.scheduler().state().FindWorker(id);
    status.setBusy(known == nullptr ? 0 : known->used_total());
    status.setIncarnation(worker.info.incarnation);
    auto labels = status.initLabels(static_cast<unsigned>(worker.info.labels.size()));
    for (unsigned i = 0; i < worker.info.labels.size(); ++i) labels.set(i, worker.info.labels[i].c_str());
    status.setBlocks(static_cast<uint32_t>(core_.files().BlocksOn(id)));
    status.setUsedBytes(core_.files().UsedOn(id));
    status.setCapacityBytes(worker.capacity_bytes);
    status.setMemoryBytes(worker.info.memory_bytes);
    status.setReportsGivenUp(worker.reports_given_up);
    status.setWrongOutputs(worker.wrong_outputs);
    status.setSafeToStop(worker.drained_by_user && drains_.DrainOf(id)->Safe());
  }
}

void Lists::FillQueues(rpc::MasterForClient::QueuesResults::Builder out) {
  std::map<std::string, uint32_t> jobs;
  for (const auto& [id, job] : core_.scheduler().state().jobs()) jobs[job.queue] += job.running() ? 1 : 0;
  std::map<std::string, const sched::Queue*> queues;
  const sched::Queue none;
  queues["default"] = &none;
  for (const auto& [name, queue] : core_.scheduler().state().queues()) queues[name] = &queue;
  auto list = out.initQueues(static_cast<unsigned>(queues.size()));
  unsigned at = 0;
  for (const auto& [name, queue] : queues) {
    rpc::ToWire(QueueStatus{name, queue->weight, queue->min_share, queue->max_share, jobs[name], queue->held_total(),
                            queue->has_ready()},
                list[at++]);
  }
}

}  // namespace mr::master
