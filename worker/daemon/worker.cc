#include "worker/daemon/worker.h"

#include <glog/logging.h>

namespace mr::worker {
namespace {

// Most reads of one attempt, over all its slices, because a record of each is kept while it runs. No job has so many
// tasks (guess).
constexpr uint64_t kMostReads = 10'000'000;

}  // namespace

Worker::Worker(Services& services, Options options) : services_(services), options_(std::move(options)) {
  services_.on_kept = [this](const Replica& replica) {
    kept_[ReplicaKey{replica.output.task, replica.attempt}] = replica.output.generation;
  };
  services_.replicator.set_on_done(
      [this](const ReplicaLocation& from, const Result<uint64_t>& bytes, bool here) { Replicated(from, bytes, here); });
  services_.on_ended = [this](AttemptId attempt) { Ended(attempt); };
  services_.on_slot_free = [this](AttemptId attempt) { holding_.erase(attempt); };
}

void Worker::Apply(Command command) {
  std::visit([this](auto& c) { On(std::move(c)); }, command);
}

std::string Worker::WhyNot(const LaunchCommand& launch, const StageInfo* stage) const {
  if (draining()) return "this worker is draining";
  if (services_.disk != nullptr) {
    const DiskRoom room = services_.disk->seen();
    if (room.full) return "the disk with " + room.path + " is full";
    if (!room.failure.empty()) return "this worker is unfit: " + room.failure;
  }
  if (!services_.self.id.valid()) return "this worker is not registered";
  if (stage == nullptr) return "this worker does not know the stage";
  uint64_t reads = 0;
  for (const Slice& slice : launch.slices) {
    reads += uint64_t{slice.task_end} - slice.task_begin;
    if (slice.input >= stage->spec.inputs.size() || !stage->spec.inputs[slice.input].is_edge ||
        slice.task_begin > slice.task_end || slice.partition_begin >= slice.partition_end || reads > kMostReads) {
      return "a slice of it makes no sense";
    }
  }
  uint32_t same_kind = 0;
  for (const AttemptId& id : holding_) {
    const auto other = stages_.find(id.task.stage_id());
    same_kind += other != stages_.end() && other->second->letter() == stage->letter();
  }
  const SlotLimits& slots = options_.slots;
  const uint32_t cap = stage->letter() == TaskLetter::kMap ? slots.map : slots.reduce;
  if (holding_.size() >= slots.total || (cap != 0 && same_kind >= cap)) return "no free slot";
  return "";
}

void Worker::On(LaunchCommand launch) {
  const AttemptId id = launch.attempt;
  if (attempts_.contains(id)) return;  // a repeated command
  const auto stage = stages_.find(id.task.stage_id());
  const std::string why = WhyNot(launch, stage == stages_.end() ? nullptr : stage->second.get());
  if (!why.empty()) {
    ++counters_.refused;
    services_.report({id, report::Refused{why}}, nullptr);
    return;
  }
  ++counters_.launched;
  auto runner = AttemptRunner::Make(services_, stage->second, std::move(launch));
  attempts_.emplace(id, runner);
  holding_.insert(id);
  runner->Start();
}

void Worker::On(const command::Kill& kill) {
  AttemptRunner* runner = Find(kill.attempt);
  if (runner == nullptr) {
    // The attempt is unknown or has ended: the master needs the report that it does not run.
    services_.report({kill.attempt, report::Killed{}}, nullptr);
    return;
  }
  runner->Handle(event::KillAsked{});
}

void Worker::On(const command::TakeBack& take_back) {
  AttemptRunner* runner = Find(take_back.attempt);
  if (runner == nullptr) {
    services_.report({take_back.attempt, report::Killed{}}, nullptr);
    return;
  }
  runner->Handle(event::TakeBackAsked{});
}

void Worker::On(StageInfo stage) {
  const StageId id = stage.id;
  if (options_.job_known) options_.job_known(id.job, stage.owner);
  stages_[id] = std::make_shared<const StageInfo>(std::move(stage));
}

void Worker::On(const command::Bind& bind) {
  if (AttemptRunner* runner = Find(bind.reader)) runner->Handle(event::ReplicaAdded{bind.replica, true});
}

void Worker::On(const command::EndJob& end) {
  std::vector<std::shared_ptr<AttemptRunner>> of_job;
  for (const auto& [id, runner] : attempts_) {
    if (id.task.job == end.job) of_job.push_back(runner);
  }
  for (const auto& runner : of_job) runner->Handle(event::KillAsked{});
  const auto of_this = [&](const auto& entry) { return entry.first.task.job == end.job; };
  std::erase_if(kept_, of_this);
  std::erase_if(unheard_, of_this);
  services_.replicator.EndJob(end.job);
  std::erase_if(stages_, [&](const auto& entry) { return entry.first.job == end.job; });
  services_.directory.EndJob(end.job);
  services_.host.EndJob(end.job);
  services_.side_files.EndJob(end.job);
  // Its processes have ended or are being killed. What one of them still writes is removed at the worker's next start.
  services_.pool.Post([&store = services_.store, scratch = services_.scratch_directory, job = end.job] {
    store.EndJob(job);
    (void)RemoveTree(scratch + "/" + Name(job));
  });
}

void Worker::On(const command::DeleteBlock& command) {
  if (options_.delete_block) options_.delete_block(command);
}

void Worker::On(const command::ReplicateBlock& command) {
  if (options_.replicate_block) options_.replicate_block(command);
}

void Worker::On(const command::EmptyQuarantine& command) {
  if (options_.empty_quarantine) options_.empty_quarantine(command);
}

void Worker::On(const command::ReplicateOutput& command) {
  const ReplicaLocation& from = *command.from;
  const ReplicaKey key{from.output.task, from.attempt};
  if (leaving_) {
    services_.report(
        {{from.output.task, from.attempt}, report::ReplicaNotMade{NameOf(from), "this worker is shutting down", true}},
        nullptr);
  } else if (!kept_.contains(key)) {
    services_.replicator.Add(from);
  } else if (!unheard_.contains(key)) {
    const Replica replica = Own({key.task, kept_[key]}, key.attempt);
    services_.report({{key.task, key.attempt}, report::ReplicaMade{replica}}, nullptr);
  }
}

void Worker::Replicated(const ReplicaLocation& from, const Result<uint64_t>& bytes, bool here) {
  const AttemptId attempt{from.output.task, from.attempt};
  if (!bytes.ok()) {
    LOG(WARNING) << "no replica of " << Name(attempt, TaskLetter::kMap) << " was made from " << from.address << ": "
                 << bytes.status().ToString();
    services_.report({attempt, report::ReplicaNotMade{NameOf(from), bytes.status().ToString(), here}}, nullptr);
    return;
  }
  // The replica is in the inventory from now on, because the master may rely on it before its answer arrives.
  const ReplicaKey key{from.output.task, from.attempt};
  kept_[key] = from.output.generation;
  const Replica replica = Own(from.output, from.attempt);
  unheard_[key] = services_.report({attempt, report::ReplicaMade{replica}}, [this, key, replica](Verdict verdict) {
    unheard_.erase(key);
    if (verdict != Verdict::kReplicaKept) Drop(replica);
  });
}

void Worker::Drop(const Replica& replica) {
  // Outputs of an earlier incarnation are gone. The same names may mean other bytes now.
  if (replica.incarnation != 0 && replica.incarnation != services_.self.incarnation) return;
  const ReplicaKey key{replica.output.task, replica.attempt};
  kept_.erase(key);
  const auto unheard = unheard_.find(key);
  if (unheard != unheard_.end()) {
    services_.withdraw(unheard->second);
    unheard_.erase(unheard);
  }
  services_.replicator.Cancel(key);
  services_.store.Drop(key);  // at once: no byte of it leaves any more
}

void Worker::Ended(AttemptId attempt) {
  const auto it = attempts_.find(attempt);
  if (it == attempts_.end()) return;
  holding_.erase(attempt);  // also where an exception kept its end from freeing the slot
  ++counters_.ended;
  // The runner may be on the stack: it is destroyed in a later turn of the loop.
  services_.loop.Post([dead = std::move(it->second)]() mutable { dead.reset(); });
  attempts_.erase(it);
  NoteDrained();
}

void Worker::On(const command::Drain& drain) {
  draining_ = drain.on;
  NoteDrained();
}

void Worker::NoteDrained() {
  if (draining_ && idle() && options_.drained) options_.drained();
}

AttemptRunner* Worker::Find(AttemptId attempt) const {
  const auto it = attempts_.find(attempt);
  return it == attempts_.end() ? nullptr : it->second.get();
}

std::vector<Replica> Worker::Inventory() const {
  std::vector<Replica> replicas;
  for (const auto& [key, generation] : kept_) {
    replicas.push_back(Own({key.task, generation}, key.attempt));
  }
  // The master may have committed an output before its answer was lost. It drops what is not listed.
  for (const auto& [id, runner] : attempts_) {
    if (const auto output = runner->UnansweredOutput()) replicas.push_back(*output);
  }
  return replicas;
}

std::vector<AttemptId> Worker::Running() const {
  std::vector<AttemptId> ids;
  for (const auto& [id, runner] : attempts_) {
    if (!runner->UnansweredOutput()) ids.push_back(id);
  }
  return ids;
}

void Worker::Registered(WorkerRef self, const std::vector<Replica>& drop) {
  if (services_.self.id.valid() && services_.self.id != self.id) {
    // Another cluster, or a master that has lost its state: it knows nothing of this worker's attempts and outputs.
    LOG(WARNING) << "this worker changed its id from " << Name(services_.self.id) << " to " << Name(self.id);
  }
  services_.self = self;
  for (const Replica& replica : drop) Drop(replica);
}

std::vector<ProgressFrame> Worker::DueProgress(Instant now) {
  std::vector<ProgressFrame> present;
  for (const auto& [id, runner] : attempts_) {
    if (auto frame = runner->Frame()) present.push_back(*frame);
  }
  return progress_.Due(now, present);
}

std::set<JobId> Worker::Jobs() const {
  std::set<JobId> jobs;
  for (const auto& [id, stage] : stages_) jobs.insert(id.job);
  return jobs;
}

std::set<std::string> Worker::FilesInUse() const {
  std::set<std::string> used;
  for (const auto& [id, stage] : stages_) {
    used.insert(stage->library);
    for (const SideFile& file : stage->files) used.insert(file.sha256);
  }
  return used;
}

void Worker::KillAll() {
  auto all = attempts_;
  for (const auto& [id, runner] : all) runner->Handle(event::KillAsked{});
}

void Worker::StartOver() {
  KillAll();
  services_.replicator.CancelAll();
  for (const auto& [key, generation] : std::map(kept_)) Drop(Own({key.task, generation}, key.attempt));
}

}  // namespace mr::worker
