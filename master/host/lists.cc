#include "master/host/lists.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/rpc/client_wire.h"
#include "common/rpc/control_wire.h"
#include "common/rpc/spec_wire.h"
#include "common/rpc/wire.h"
#include "master/host/launch_message.h"

namespace mr::master {
namespace {

// Bytes of a page, and of its elements beside their texts. A job takes about 1 KiB, a worker 300 bytes.
constexpr size_t kListBytes = 512 << 10, kTaskBytes = 120, kAttemptBytes = 460, kCounterBytes = 48;
// Others wait while a page is made. Measured under ./dev bench flood: with 50 jobs a page the p99 of their calls grew
// to 1.6 times, with 16 to 1.3.
constexpr size_t kJobsPage = 16, kWorkersPage = 1000;
constexpr uint64_t kMostSlices = 1'000'000;  // a page sums so many for the inputs of tasks: some ms; a guess
constexpr size_t kDecisionsPage = 2000;

}  // namespace

Lists::Lists(MasterCore& core, HostClock& clock, const JobReader& reader, Rows& rows, uint64_t cluster_id)
    : core_(core), clock_(clock), reader_(reader), rows_(rows), cluster_id_(cluster_id) {}

Status Lists::FillJob(const Caller& caller, JobId id, rpc::MasterForClient::JobResults::Builder out) {
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(id, caller));
  clock_.Stamp();
  rpc::ToWire(reader_.StatusOf(*job), out.initStatus());
  return Status::Ok();
}

Status Lists::FillSpec(const Caller& caller, JobId id, rpc::JobSpec::Builder out) {
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(id, caller));
  rpc::ToWire(job->spec, out);
  return Status::Ok();
}

Status Lists::FillLaunched(const Caller& caller, const AttemptId& attempt,
                           rpc::MasterForClient::LaunchedResults::Builder out) {
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(attempt.task.job, caller));
  if (!core_.attempts().Find(attempt)) return NotFound("there is no such attempt, or its job ended long ago");
  rpc::ToWire(InfoOf(*job, attempt.task.stage, cluster_id_), out.initStage());
  sched::Launch launch;
  launch.attempt = attempt;
  rpc::ToWire(LaunchOf(core_, *job, launch), out.initLaunch());
  return Status::Ok();
}

Status Lists::FillTasks(const Caller& caller, JobId id, uint64_t from,
                        rpc::MasterForClient::TasksResults::Builder out) {
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(id, caller));
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
    rpc::ToWire(rows_.TaskOf(*job, page[at].first, page[at].second, &slices), list[at]);
  }
  return Status::Ok();
}

Status Lists::FillAttempts(const Caller& caller, JobId id, const AttemptId& after,
                           rpc::MasterForClient::AttemptsResults::Builder out) {
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(id, caller));
  if (job->brief) return OnlyBrief(*job);
  const Instant now = clock_.Stamp();
  // One more than a page can have, to know whether more follow.
  const std::vector<AttemptView> attempts = core_.attempts().Of(id, after, kListBytes / kAttemptBytes + 2);
  unsigned count = 0;
  for (size_t bytes = 0; count < attempts.size() && bytes < kListBytes; ++count) {
    bytes += kAttemptBytes + attempts[count].note->message.str().size();
  }
  out.setMore(count < attempts.size());
  auto list = out.initAttempts(count);
  for (unsigned at = 0; at < count; ++at) rpc::ToWire(rows_.AttemptOf(*job, attempts[at], now), list[at]);
  return Status::Ok();
}

Status Lists::FillCounters(const Caller& caller, JobId id, uint64_t from,
                           rpc::MasterForClient::CountersResults::Builder out) {
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(id, caller));
  if (job->brief) return OnlyBrief(*job);
  // The first page sums all counters; the others of the same client are from these sums.
  if (from == 0 || counted_.first != id) {
    CounterSums sums;
    for (const auto& stage : job->stages) {
      for (const TaskView& task : stage.tasks) AddCountersOf(task, &sums);
    }
    counted_ = {id, ListOf(sums)};
  }
  const std::vector<CounterValue>& all = counted_.second;
  const size_t begin = std::min<uint64_t>(from, all.size());
  size_t end = begin;
  for (size_t bytes = 0; end < all.size() && bytes < kListBytes; ++end) {
    bytes += kCounterBytes + all[end].group.size() + all[end].name.size();
  }
  auto list = out.initCounters(static_cast<unsigned>(end - begin));
  for (size_t at = begin; at < end; ++at) rpc::ToWire(all[at], list[static_cast<unsigned>(at - begin)]);
  if (end < all.size()) {
    out.setNext(end);
  } else {
    counted_ = {};
  }
  return Status::Ok();
}

Status Lists::FillDecisions(const Caller& caller, JobId id, uint32_t from,
                            rpc::MasterForClient::DecisionsResults::Builder out) {
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(id, caller));
  if (job->brief) return OnlyBrief(*job);
  size_t next = 0;
  const std::vector<WhyLine> lines = rows_.DecisionsOf(*job, from, kDecisionsPage, &next);
  out.setNext(static_cast<uint32_t>(next));
  auto list = out.initDecisions(static_cast<unsigned>(lines.size()));
  for (unsigned i = 0; i < list.size(); ++i) rpc::ToWire(rows_.DecisionOf(*job, lines[i]), list[i]);
  return Status::Ok();
}

void Lists::FillJobs(const Caller& caller, uint64_t from, rpc::MasterForClient::JobsResults::Builder out) {
  clock_.Stamp();
  // `from` is epoch << 32 | seq.
  const auto& jobs = core_.jobs().jobs();
  auto at = jobs.lower_bound(JobId{static_cast<uint32_t>(from >> 32), static_cast<uint32_t>(from)});
  std::vector<const JobView*> page;
  for (; at != jobs.end() && page.size() < kJobsPage; ++at) {
    if (caller.Reaches(at->second.owner)) page.push_back(&at->second);
  }
  if (at != jobs.end()) out.setNext(uint64_t{at->first.epoch} << 32 | at->first.seq);
  auto list = out.initJobs(static_cast<unsigned>(page.size()));
  for (unsigned i = 0; i < list.size(); ++i) rpc::ToWire(reader_.StatusOf(*page[i]), list[i]);
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
  for (auto it = begin; it != end; ++it) rpc::ToWire(rows_.WorkerOf(it->first, it->second), list[at++]);
}

void Lists::FillQueues(rpc::MasterForClient::QueuesResults::Builder out) {
  const std::vector<QueueStatus> queues = rows_.Queues();
  auto list = out.initQueues(static_cast<unsigned>(queues.size()));
  for (unsigned at = 0; at < list.size(); ++at) rpc::ToWire(queues[at], list[at]);
}

}  // namespace mr::master
