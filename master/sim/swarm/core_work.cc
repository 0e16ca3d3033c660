// The workers of the swarm's world: they run attempts, read, write, report, and execute the master's commands.
#include <algorithm>

#include "common/base/digest.h"
#include "master/sched/state/state.h"
#include "master/sim/swarm/core_world.h"

namespace mr::sim {

namespace {

Digest128 Mix(Digest128 digest, uint64_t with) { return {MixHash(digest.low, with), MixHash(digest.high, with + 1)}; }

}  // namespace

void CoreWorld::Carry(const sched::Decision& decision) {
  const auto to = [&](WorkerId id, Incarnation incarnation, std::function<void(Worker&)> command) {
    Worker* worker = Of(id);
    if (worker == nullptr || !worker->registered || worker->incarnation != incarnation) return;
    worker->to_worker.emplace_back([worker, command = std::move(command)] { command(*worker); });
  };
  if (const auto* commit = std::get_if<sched::CommitJob>(&decision)) CheckCommit(commit->job);
  if (const auto* mark = std::get_if<sched::MarkIndeterminate>(&decision)) {
    const JobSpec& spec = process_->core().jobs().jobs().at(mark->task.job).spec;
    process_->Hold(journal_.last(),
                   [this, op = spec.OperatorOf(spec.stages[mark->task.stage])] { random_.insert(op); });
  }
  if (const auto* launch = std::get_if<sched::Launch>(&decision)) {
    to(launch->worker, launch->incarnation,
       [this, id = launch->attempt, generation = launch->generation](Worker& worker) {
         if (worker.running.size() >= worker.slots) return Send(&worker, {id, report::Refused{"no slot"}});
         worker.running[id] = generation;
         if (Chance(.5)) Send(&worker, {id, report::Started{}});
       });
  }
  const auto stop = [&](const auto& d) {
    to(d.worker, d.incarnation, [this, id = d.attempt](Worker& worker) {
      // An attempt that has ended has reported so.
      if (worker.running.erase(id) > 0) Send(&worker, {id, report::Killed{}});
    });
  };
  if (const auto* kill = std::get_if<sched::Kill>(&decision)) stop(*kill);
  if (const auto* back = std::get_if<sched::TakeBack>(&decision)) stop(*back);
  if (const auto* drop = std::get_if<sched::DropReplica>(&decision)) {
    const Replica& r = drop->replica;
    to(r.worker, r.incarnation, [r](Worker& worker) { worker.outputs.erase({r.output.task, r.attempt}); });
  }
  if (const auto* replicate = std::get_if<sched::ReplicateOutput>(&decision)) {
    Worker* target = Of(replicate->to);
    if (target == nullptr) return;
    to(replicate->to, target->incarnation, [this, from = replicate->from](Worker& worker) {
      Worker* source = Of(from.worker);
      const AttemptId key{from.output.task, from.attempt};
      if (source == nullptr || !source->up || !source->outputs.contains(key)) {
        return Send(&worker, {key, report::ReplicaNotMade{from, "it is not there", false}});
      }
      worker.outputs[key] = {source->outputs[key].content, from.output.generation};
      Send(&worker, {key, report::ReplicaMade{{from.output, from.attempt, worker.id, worker.incarnation}}});
    });
  }
}

// Executes a command; its record is durable. A deleted block must not be needed.
void CoreWorld::Carry(const dfs::Effect& effect) {
  if (const auto* gone = std::get_if<dfs::DeleteReplica>(&effect)) {
    Worker* worker = Of(gone->worker);
    if (worker == nullptr || !worker->registered || worker->incarnation != gone->incarnation) return;
    worker->to_worker.emplace_back([this, worker, block = gone->block] {
      const auto it = worker->disk.find(block.id.value);
      if (it == worker->disk.end()) return;
      const bool needed = process_->core().files().Find(block.id).has_value();
      const bool elsewhere = std::any_of(workers_.begin(), workers_.end(), [&](const Worker& other) {
        return &other != worker && other.disk.contains(block.id.value);
      });
      if (needed && !elsewhere) Broken("the last replica of block " + std::to_string(block.id.value) + " is deleted");
      worker->disk.erase(it);
      ++counts_.deleted_blocks;
    });
  } else if (const auto* copy = std::get_if<dfs::ReplicateBlock>(&effect)) {
    Worker* from = Of(copy->from);
    Worker* to = Of(copy->to);
    if (from == nullptr || to == nullptr || !from->registered || !to->registered) return;
    from->to_worker.emplace_back([this, from, to, block = copy->block] {
      if (!to->up || !from->disk.contains(block.id.value)) return;
      to->disk[block.id.value] = block;
      to->to_master.emplace_back([this, to, session = to->session, block] {
        if (to->session != session) return;
        process_->Feed(
            master::Record(dfs::Record(dfs::ReplicaDurable{process_->now(), to->id, to->incarnation, block})));
      });
    });
  }
}

// Lets one attempt of the worker make progress.
void CoreWorld::Work(Worker* worker) {
  if (!worker->up || worker->running.empty()) return;
  auto it = worker->running.begin();
  std::advance(it, static_cast<ptrdiff_t>(rng_.Below(worker->running.size())));
  const AttemptId id = it->first;
  const uint64_t what = rng_.Below(100);
  if (what < 10) {
    if (!worker->registered) return;
    worker->to_master.emplace_back([this, worker, session = worker->session, id] {
      if (worker->session != session) return;
      sched::AttemptProgress progress{worker->id, worker->incarnation, {{id, 0, 10, 100, 1, Chance(.5)}}};
      process_->Feed(std::move(progress));
    });
  } else if (what < 13 && step_ < 500) {
    worker->running.erase(id);
    Send(worker, {id, report::Failed{FailureKind::kEnvironment, "no luck", "", ""}});
  } else {
    Finish(worker, id);
  }
}

// Returns the content of this replica on the worker; nothing if it is not there.
std::optional<Digest128> CoreWorld::Serves(const Worker* source, const Replica& replica) {
  if (source == nullptr || !source->up || source->incarnation != replica.incarnation) return std::nullopt;
  const auto made = source->outputs.find({replica.output.task, replica.attempt});
  return made == source->outputs.end() ? std::nullopt : std::optional(made->second.content);
}

// Reads one output per upstream task, from the replicas that the master knows. Returns false if one is not there.
bool CoreWorld::ReadInputs(Worker* worker, const AttemptId& id, std::vector<Consumed>* consumed, Digest128* content) {
  const master::JobView* job = process_->core().jobs().Find(id.task.job);
  if (job == nullptr || id.task.stage >= job->stages.size()) return false;
  const auto& slices = job->plan.stages[id.task.stage].slices;
  if (id.task.task >= slices.size()) return false;
  for (const Slice& slice : slices[id.task.task]) {
    const InputSpec& input = job->spec.stages[id.task.stage].inputs[slice.input];
    if (!input.is_edge) continue;
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
      if (t >= job->stages[input.stage].tasks.size()) return false;
      const master::TaskView& task = job->stages[input.stage].tasks[t];
      if (task.replicas.empty()) return false;
      const Replica& replica = task.replicas[rng_.Below(task.replicas.size())].replica;
      Worker* source = Of(replica.worker);
      const auto made = Serves(source, replica);
      if (!made) {
        Send(worker, {id, report::FetchFailed{replica, "it is not there", source == nullptr || !source->up}});
        return false;
      }
      consumed->push_back({input.stage, t, replica.output.generation, *made});
      *content = Mix(*content, made->low);
    }
  }
  return true;
}

// Writes the part of a final task into the block store, under its staging directory.
bool CoreWorld::WriteOutput(Worker* worker, const AttemptId& id, const Digest128& content,
                            std::vector<FileOutput>* files) {
  const master::JobView* job = process_->core().jobs().Find(id.task.job);
  FileOutput part{"part-r-" + std::to_string(id.task.task), "", 100, 1, content, {}};
  if (!job->in_dfs()) {
    part.staged = "/staged";
    files->push_back(part);
    return true;
  }
  const dfs::Namespace& ns = process_->core().files();
  const std::string path =
      "/.staging/" + Name(job->id) + "/" + Name(id, job->letter(id.task.stage)) + "_" + std::to_string(++sessions_);
  const auto feed = [&](const dfs::Namespace::Prepared& prepared) {
    if (!prepared.ok()) Note(Name(id, job->letter(id.task.stage)) + " cannot write: " + prepared.status().message());
    if (!prepared.ok()) return false;
    if (prepared->has_value()) process_->Feed(master::Record(**prepared));
    return true;
  };
  if (!feed(ns.PrepareCreate(process_->stamp(), path, false, 0, 0, path))) return false;
  const uint64_t lease = ns.LeaseOf(path);
  const auto added = ns.PrepareAddBlock(process_->stamp(), lease, 0, "");
  if (!feed(added) || !added->has_value()) return false;
  const auto block = std::get<dfs::BlockAdded>(**added);
  process_->Sync(journal_.last());  // the writer gets its block by an answer
  StagedBlock staged{{block.block, 1, 100, content.low}, {}};
  for (const WorkerId target : block.targets) {
    Worker* holder = Of(target);
    if (holder == nullptr || !holder->up || !holder->registered) continue;
    holder->disk[block.block.value] = staged.block;
    staged.workers.push_back(target);
    process_->Feed(
        master::Record(dfs::Record(dfs::ReplicaDurable{process_->now(), target, holder->incarnation, staged.block})));
  }
  if (staged.workers.empty() || !feed(ns.PrepareComplete(process_->stamp(), lease, {staged}))) return false;
  CheckAcknowledged(staged);
  // The writer waits for the answer, which waits for the disk.
  process_->Sync(journal_.last());
  part.blocks.push_back(std::move(staged));
  files->push_back(std::move(part));
  return worker->running.contains(id);
}

void CoreWorld::Finish(Worker* worker, const AttemptId& id) {
  // It works without the master, but reads and writes need it.
  if (!worker->registered) return;
  const Submitted* submitted = SubmittedOf(id.task.job);
  report::Finished finished;
  Digest128 content = Mix({id.task.stage + 1, id.task.task + 1}, id.task.job.seq);
  if (submitted == nullptr || !ReadInputs(worker, id, &finished.consumed, &content)) return;
  if (submitted->random) content = Mix(content, id.number);
  const StageSpec& stage = submitted->spec.stages[id.task.stage];
  if (stage.is_final() && !WriteOutput(worker, id, content, &finished.output.files)) return;
  finished.output.manifest = {1, 100, content};
  finished.output.partitions = submitted->plan.stages[id.task.stage].port_partitions[0];
  finished.output.rows.assign(finished.output.partitions, {1, 100, content, 1});
  consumed_[id] = finished.consumed;
  const auto run = worker->running.find(id);
  if (run == worker->running.end()) return;
  if (!stage.is_final()) worker->outputs[id] = {content, run->second};
  worker->running.erase(run);
  Send(worker, {id, std::move(finished)});
}

void CoreWorld::Send(Worker* worker, const mr::Report& report) {
  const uint64_t number = ++worker->reports;
  worker->unanswered[number] = report;
  if (!worker->registered) return;
  worker->to_master.emplace_back([this, worker, session = worker->session, number, report] {
    Arrived(worker, session, number, report);
    if (Chance(.05)) Arrived(worker, session, number, report);
  });
}

void CoreWorld::Arrived(Worker* worker, uint64_t session, uint64_t number, const mr::Report& report) {
  if (worker->session != session) return;
  const WorkerId id = worker->id;
  const Incarnation life = worker->incarnation;
  const auto answer = [&](uint64_t sequence, Verdict verdict) {
    process_->Hold(sequence, [this, id, life, number, verdict] { Answer(id, life, number, verdict); });
  };
  const AttemptId& attempt = report.attempt;
  if (const auto* finished = std::get_if<report::Finished>(&report.what)) {
    const master::Reporter from{attempt, id, life};
    // It is sent again with the next registration, and meanwhile it waits here for as long.
    if (process_->core().WhyHeld(from, *finished) && Chance(.9)) {
      worker->to_master.emplace_back(
          [this, worker, session, number, report] { Arrived(worker, session, number, report); });
      return;
    }
    auto prepared = process_->core().PrepareFinished(from, *finished, process_->now());
    if (!prepared.record) return answer(prepared.sequence, prepared.verdict);
    const auto fed = process_->Feed(*std::move(prepared.record));
    return answer(fed.sequence, master::VerdictOf(attempt, fed.decisions));
  }
  uint64_t sequence = 0;
  if (std::holds_alternative<report::Started>(report.what)) {
    process_->Feed(sched::AttemptStarted{attempt, id, life});
  } else if (const auto* failed = std::get_if<report::Failed>(&report.what)) {
    process_->Feed(sched::AttemptFailed{attempt, id, life, failed->kind, failed->message});
  } else if (const auto* refused = std::get_if<report::Refused>(&report.what)) {
    process_->Feed(sched::AttemptRefused{attempt, id, life, refused->why});
  } else if (std::holds_alternative<report::Killed>(report.what)) {
    process_->Feed(sched::AttemptKilled{attempt, id, life});
  } else if (const auto* fetch = std::get_if<report::FetchFailed>(&report.what)) {
    process_->Feed(sched::FetchFailed{attempt, fetch->replica, fetch->why});
    // A probe of the replica's worker finds the truth.
    const Replica& r = fetch->replica;
    if (!Serves(Of(r.worker), r) && process_->core().jobs().FindReplica(r) != nullptr) {
      process_->Feed(sched::ReplicaLost{r, "it is not there"});
    }
  } else if (const auto* made = std::get_if<report::ReplicaMade>(&report.what)) {
    sequence = process_->Feed(sched::ReplicaMade{made->replica}).sequence;
  } else if (const auto* none = std::get_if<report::ReplicaNotMade>(&report.what)) {
    if (process_->core().Replicating(id, none->from.output)) {
      process_->Feed(sched::ReplicaNotMade{none->from, id, none->why});
    }
  }
  answer(sequence, Verdict::kNoted);
}

void CoreWorld::Answer(WorkerId id, Incarnation incarnation, uint64_t number, Verdict verdict) {
  Worker* worker = Of(id);
  if (worker == nullptr || !worker->registered || worker->incarnation != incarnation) return;
  worker->to_worker.emplace_back([worker, number, verdict] {
    const auto it = worker->unanswered.find(number);
    if (it == worker->unanswered.end()) return;
    const AttemptId attempt = it->second.attempt;
    worker->unanswered.erase(it);
    // Only an output that the master keeps stays.
    if (verdict == Verdict::kWinner || verdict == Verdict::kReplicaKept || verdict == Verdict::kNoted) return;
    std::erase_if(worker->outputs, [&](const auto& output) { return output.first == attempt; });
  });
}

}  // namespace mr::sim
