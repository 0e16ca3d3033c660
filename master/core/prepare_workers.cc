// Registrations and losses of workers, and operators' wishes, as records in the order in which they are applied.
#include <algorithm>
#include <utility>

#include "common/base/text.h"
#include "master/core/master_core.h"

namespace mr::master {

Result<MasterCore::RegistrationRecords> MasterCore::PrepareRegister(Registration in, Instant at, Instant lived) const {
  std::optional<WorkerNamed> named;
  WorkerId id = workers_.Named(in.extra.name);
  bool drained = false;
  in.info.draining = in.leaving;
  if (id.valid()) {
    const WorkerView& worker = workers_.all().at(id);
    MR_RETURN_IF_ERROR(workers_.MayRegister(worker, in.info.incarnation, lived));
    drained = worker.drained_by_user;
    // Said by the event itself, so that it gets nothing in the very step of its registration.
    in.info.draining = drained || worker.distrusted() || in.leaving;
  } else {
    id = workers_.NextId();
    named = WorkerNamed{in.extra.name, id};
  }
  in.info.worker = id;
  const Incarnation incarnation = in.info.incarnation;
  dfs::Record joined = dfs::WorkerJoined{at,
                                         id,
                                         in.info.incarnation,
                                         in.info.address,
                                         in.info.rack,
                                         in.extra.capacity_bytes,
                                         in.extra.used_bytes,
                                         std::move(in.blocks),
                                         drained};
  EventRecord event{{at, std::move(in.info)}, EncodeFields(in.extra)};
  RegistrationRecords records{std::move(named), std::move(event), std::move(joined), std::nullopt};
  if (drained) records.leaving = EventRecord{{at, sched::OutputsLeaving{id, incarnation, true}}, {}};
  return records;
}

Greeting MasterCore::GreetingOf(WorkerId id, const std::vector<Replica>& inventory,
                                const std::vector<AttemptId>& running) const {
  Greeting out;
  const auto look = [&](JobId job) {
    const auto it = jobs_.jobs().find(job);
    if (it == jobs_.jobs().end() || (Ended(it->second.state) && it->second.told)) out.forgotten.insert(job);
  };
  for (const Replica& replica : inventory) look(replica.output.task.job);
  // Perhaps it has ended, and the worker repeats a report of it that does not arrive.
  for (const AttemptId& attempt : running) look(attempt.task.job);
  for (const Replica& replica : inventory) {
    if (!out.forgotten.contains(replica.output.task.job)) out.holds.insert(replica.output.task.job);
  }
  out.replicate = ReplicasToMake(id);
  for (const AttemptId& attempt : running) {
    const sched::Attempt* known = scheduler_->state().FindAttempt(attempt);
    const bool goes_on = known != nullptr && known->live() && known->worker == id && jobs_.Whole(attempt.task.job);
    (goes_on ? out.go_on : out.kill).push_back(attempt);
  }
  return out;
}

// Returns the requested replicas, each with a replica that it can be made from. Those without one are left out.
std::vector<Replica> MasterCore::ReplicasToMake(WorkerId of) const {
  std::vector<Replica> all;
  for (const Replica& asked : RequestedReplicas(scheduler_->state(), of)) {
    const JobView* job = jobs_.Find(asked.output.task.job);
    const TaskView* task = job == nullptr ? nullptr : job->Find(asked.output.task);
    if (task == nullptr) continue;
    const auto from = std::find_if(task->replicas.begin(), task->replicas.end(), [&](const ReplicaView& r) {
      return r.replica.output == asked.output && r.replica.attempt == asked.attempt;
    });
    if (from != task->replicas.end()) all.push_back(from->replica);
  }
  return all;
}

std::vector<Record> MasterCore::PrepareLost(WorkerId id, const std::string& why, Instant at) const {
  const WorkerView& worker = workers_.all().at(id);
  const Incarnation incarnation = worker.info.incarnation;
  return {EventRecord{{at, sched::WorkerLost{id, incarnation, why}}, {}},
          dfs::Record(dfs::WorkerGone{at, id, incarnation})};
}

Result<std::vector<Record>> MasterCore::PrepareDrain(WorkerId id, bool on, Instant at) const {
  const auto it = workers_.all().find(id);
  if (it == workers_.all().end()) return NotFound("there is no worker " + Name(id));
  const WorkerView& worker = it->second;
  std::vector<Record> records;
  if (!on && worker.wrong_outputs != 0) records.emplace_back(WorkerWrongOutputs{id, 0});
  records.emplace_back(WorkerDrained{id, on});
  // Acknowledgements of writes do not count on it any longer.
  if (on && worker.awaited) records.emplace_back(dfs::Record(dfs::WorkerGivenUp{at, id}));
  if (!worker.alive) return records;
  // One that is away or leaves gets nothing either way, until it has registered again.
  if (!worker.away && !worker.leaving && (on || worker.MayTakeAttempts())) {
    records.emplace_back(EventRecord{{at, sched::WorkerDraining{id, worker.info.incarnation, on}}, {}});
  }
  if (!on || !worker.away) {
    records.emplace_back(EventRecord{{at, sched::OutputsLeaving{id, worker.info.incarnation, on}}, {}});
  }
  records.emplace_back(dfs::Record(dfs::WorkerDrained{at, id, on}));
  return records;
}

Result<std::vector<Record>> MasterCore::PrepareExclude(WorkerId id, bool on, Instant at) const {
  const auto it = workers_.all().find(id);
  if (it == workers_.all().end()) return NotFound("there is no worker " + Name(id));
  std::vector<Record> records = {WorkerExcluded{id, on}};
  if (on && it->second.awaited) records.emplace_back(dfs::Record(dfs::WorkerGivenUp{at, id}));
  return records;
}

Result<std::vector<Record>> MasterCore::PrepareForget(WorkerId id, bool force, Instant at) const {
  const auto it = workers_.all().find(id);
  if (it == workers_.all().end()) return NotFound("there is no worker " + Name(id));
  const WorkerView& worker = it->second;
  const std::string name = Name(id) + " (" + worker.name + ")";
  if (worker.alive) {
    return Rejected(name + " is " + worker.Word() +
                    ", and only a worker that is lost or stopped can be forgotten: stop its mrworker first");
  }
  if (!force) {
    if (files_->in_safe_mode()) {
      return Rejected("the block store is in safe mode, so it is not known where the last replicas of blocks are: " +
                      std::string("forget ") + name + " when the other workers are back, or with --force");
    }
    const dfs::LastReplicas last = files_->LastReplicasOn(id);
    if (last.blocks > 0) {
      std::string files;
      for (const std::string& path : last.files) files += (files.empty() ? "" : ", ") + path;
      return Rejected(Grouped(last.blocks) + (last.blocks == 1 ? " block" : " blocks") + " (" + HumanBytes(last.bytes) +
                      ") may have their last replica on " + name + ": " + files +
                      (last.blocks > last.files.size() ? ", ..." : "") +
                      "; start it again and drain it, or give these files up with --force");
    }
    if (worker.excluded) {
      return Rejected(name +
                      " is excluded, and that would end with it: if its mrworker still runs, or starts again, it " +
                      "registers as a new worker and gets work. Nothing was changed. Stop its mrworker, then `mrctl " +
                      "worker include " + Name(id) + "` and forget it, or forget it with --force");
    }
  }
  return std::vector<Record>{dfs::Record(dfs::WorkerForgotten{at, id}), WorkerForgotten{id}};
}

std::vector<Record> MasterCore::PrepareWrongOutput(WorkerId id, Instant at) const {
  const WorkerView& worker = workers_.all().at(id);
  const uint32_t count = worker.wrong_outputs + 1;
  std::vector<Record> records = {WorkerWrongOutputs{id, count}};
  if (count == kDistrustedFrom && worker.alive && !worker.away) {
    records.emplace_back(EventRecord{{at, sched::WorkerDraining{id, worker.info.incarnation, true}}, {}});
  }
  return records;
}

Verdict VerdictOf(const AttemptId& attempt, const std::vector<sched::Decision>& decisions) {
  for (const auto& decision : decisions) {
    if (const auto* accept = std::get_if<sched::Accept>(&decision); accept && accept->attempt == attempt) {
      return accept->winner ? Verdict::kWinner : Verdict::kReplicaKept;
    }
    if (const auto* refuse = std::get_if<sched::Refuse>(&decision); refuse && refuse->attempt == attempt) {
      if (refuse->reason.code == sched::ReasonCode::kEqualDigest) return Verdict::kReplicaDropped;
      if (refuse->reason.code == sched::ReasonCode::kDifferentDigest) return Verdict::kDiffers;
      return Verdict::kStale;
    }
  }
  return Verdict::kStale;
}

}  // namespace mr::master
