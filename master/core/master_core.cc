#include "master/core/master_core.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "master/core/output_commit.h"
#include "master/core/stage_plans.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

std::vector<sched::Decision> Promises(const std::vector<sched::Decision>& decisions) {
  std::vector<sched::Decision> out;
  for (const sched::Decision& d : decisions) {
    if (IsPromise(d)) out.push_back(d);
  }
  return out;
}

const sched::Accept* WinnerOf(const AttemptId& attempt, const std::vector<sched::Decision>& decisions) {
  for (const sched::Decision& decision : decisions) {
    const auto* accept = std::get_if<sched::Accept>(&decision);
    if (accept != nullptr && accept->winner && accept->attempt == attempt) return accept;
  }
  return nullptr;
}

}  // namespace

MasterCore::MasterCore(Config config, ReadSpecFn read_spec)
    : config_(std::move(config)),
      read_spec_(std::move(read_spec)),
      scheduler_(std::make_unique<sched::Scheduler>()),
      files_(std::make_unique<dfs::Namespace>(dfs::NamespaceConfig{.replication = config_.replication,
                                                                   .block_bytes = config_.block_bytes,
                                                                   .owner_bytes = config_.owner.store_bytes})),
      jobs_(config_.ended_jobs) {}

MasterCore::~MasterCore() = default;

struct MasterCore::Visitor {
  MasterCore& core;
  const Moment& moment;
  Applied* applied;

  void operator()(EventRecord& record) { core.ApplyEvent(&record, moment, applied); }
  void operator()(const EpochStarted& epoch) { core.BeginEpoch(epoch, moment.sequence); }
  void operator()(const WorkerNamed& named) { core.workers_.Restore(named.name, named.worker); }
  void operator()(const WorkerDrained& drained) {
    WorkerView& worker = *core.workers_.Find(drained.worker);
    worker.drained_by_user = drained.on;
    worker.awaited = worker.awaited && !drained.on;
  }
  void operator()(const WorkerExcluded& excluded) {
    WorkerView& worker = *core.workers_.Find(excluded.worker);
    worker.excluded = excluded.on;
    worker.awaited = worker.awaited && !excluded.on;
  }
  void operator()(const WorkerForgotten& forgotten) { core.workers_.Forget(forgotten.worker); }
  void operator()(const WorkerWrongOutputs& wrong) { core.workers_.Find(wrong.worker)->wrong_outputs = wrong.count; }
  void operator()(const JournalLoss& loss) { core.TakeLoss(loss, moment.sequence); }
  void operator()(const JobPublished& published) {
    core.open_.unpublished.erase(published.job);
    if (!published.error.empty()) core.open_.uncleaned.insert(published.job);
    core.open_.ends.push_back({moment.sequence, published.job, true, published.error, published.at});
  }
  void operator()(const dfs::Record& record) { applied->blocks = core.files_->Apply(record); }
};

Applied MasterCore::Apply(Record* record, const Moment& moment) {
  Applied applied;
  std::visit(Visitor{*this, moment, &applied}, *record);
  return applied;
}

void MasterCore::ApplyEvent(EventRecord* record, const Moment& moment, Applied* applied) {
  ++events_;
  last_stamp_ = std::max(last_stamp_, record->stamped.at);
  const sched::Event& event = record->stamped.event;
  if (const auto* set = std::get_if<sched::QueueSet>(&event)) {
    if (set->defaults())
      queues_.erase(set->queue);
    else
      queues_[set->queue] = *set;
  }
  if (const auto* lease = std::get_if<sched::LeaseSet>(&event)) promised_wait_ = lease->wait;
  if (const auto* submitted = std::get_if<sched::JobSubmitted>(&event); submitted && submitted->job.epoch == epoch_) {
    next_job_ = std::max(next_job_, submitted->job.seq + 1);
  }
  std::vector<sched::Decision>& decisions = applied->decisions;
  const StepWatch watch(scheduler_->state(), event);
  if (!record->outcome) {
    decisions = scheduler_->Step(record->stamped);
    record->outcome = Promises(decisions);
    record->digest = scheduler_->Digest();
    for (const sched::Decision& decision : decisions) {
      const auto* commit = std::get_if<sched::CommitJob>(&decision);
      if (commit == nullptr || jobs_.Find(commit->job) == nullptr) continue;
      CommitOutput(*jobs_.Find(commit->job), *files_, moment.wall_ms, config_.record_bytes, record, &commit_looks_);
    }
  } else if (foreign_) {
    decisions = *record->outcome;
  } else {
    decisions = scheduler_->Step(record->stamped);
    applied->differs = DiffersFrom(*record, decisions);
    // The state is of no use any more: nothing is made of it.
    if (!applied->differs.empty()) return;
  }
  const StepChanges changes = watch.Changes(scheduler_->state(), decisions, record->stamped.at);
  applied->replicas = jobs_.Apply(*record, decisions, changes, moment.sequence);
  NoteWorkers(*record);
  NoteOperators(decisions);
  NoteOpen(*record, applied);
  NoteCommitted(*record, decisions, applied);
  NoteEnds(*record, moment, applied);
}

// Returns "" or how what this build came to differs from the recorded outcome.
std::string MasterCore::DiffersFrom(const EventRecord& record, const std::vector<sched::Decision>& decisions) const {
  std::string what = PromisesDiffer(*record.outcome, decisions);
  if (what.empty() && *record.digest == scheduler_->Digest()) return "";
  return "the replay of " + std::to_string(events_) + " events gives another state than the one that was recorded" +
         (what.empty() ? "" : " (" + what + ")") +
         ". This release does not decide as the one that wrote the journal; start that release, or report this as a "
         "bug (mrsim replay shows the place)";
}

// Workers that are alive, as a restart must know them.
void MasterCore::NoteWorkers(const EventRecord& record) {
  if (const auto* registered = std::get_if<sched::WorkerRegistered>(&record.stamped.event)) {
    WorkerView* worker = workers_.Find(registered->worker);
    if (worker == nullptr) return;
    worker->alive = true;
    worker->away = false;
    // A takeover repeats registrations that the journal knows, without this; the worker itself is not here yet.
    if (!record.extra.empty()) worker->awaited = false;
    worker->info = *registered;
    worker->info.inventory.clear();
    worker->info.running.clear();
  } else if (const auto* lost = std::get_if<sched::WorkerLost>(&record.stamped.event)) {
    WorkerView* worker = workers_.FindAlive(lost->worker, lost->incarnation);
    if (worker != nullptr) worker->alive = false;
  }
}

// The decision is a promise, so that the operator is known as long as the journal is.
void MasterCore::NoteOperators(const std::vector<sched::Decision>& decisions) {
  for (const sched::Decision& decision : decisions) {
    const auto* mark = std::get_if<sched::MarkIndeterminate>(&decision);
    if (mark == nullptr) continue;
    const JobView* job = jobs_.Find(mark->task.job);
    if (job == nullptr || mark->task.stage >= job->spec.stages.size()) continue;
    random_operators_.Add(job->spec.OperatorOf(job->spec.stages[mark->task.stage]), mark->task.job);
  }
}

void MasterCore::NoteOpen(const EventRecord& record, Applied* applied) {
  const sched::Event& event = record.stamped.event;
  if (const auto* planned = std::get_if<sched::StagePlanned>(&event)) {
    open_.unplanned.erase({planned->job, planned->stage});
  } else if (const auto* due = std::get_if<sched::TimerDue>(&event)) {
    open_.timers.Over(*due);
  } else if (const auto* submitted = std::get_if<sched::JobSubmitted>(&event)) {
    // Before its stages are planned: the first of their tasks is cloned, or not, at once.
    applied->follow_ups.push_back({FollowUp::Kind::kOperators, {submitted->job, 0}});
  }
  for (const sched::Decision& decision : applied->decisions) {
    if (const auto* plan = std::get_if<sched::PlanStage>(&decision)) {
      open_.unplanned.insert({plan->job, plan->stage});
      applied->follow_ups.push_back({FollowUp::Kind::kPlanStage, {plan->job, plan->stage}});
    } else if (const auto* wake = std::get_if<sched::WakeAt>(&decision)) {
      open_.timers.Set(*wake);
    } else if (const auto* failed = std::get_if<sched::FailJob>(&decision)) {
      open_.Forget(failed->job);
    }
  }
}

// Adds what the report of a task's winner says of its output: hot keys, sizes, bad records, inputs that grew.
void MasterCore::NoteCommitted(const EventRecord& record, const std::vector<sched::Decision>& decisions,
                               Applied* applied) {
  const auto* finished = std::get_if<sched::AttemptFinished>(&record.stamped.event);
  if (finished == nullptr || WinnerOf(finished->attempt, decisions) == nullptr) return;
  const TaskId& task = finished->attempt.task;
  JobView* job = jobs_.Find(task.job);
  if (job == nullptr || job->brief) return;
  const FinishedExtra& extra = applied->replicas.output;
  for (const std::string& uri : record.beside.grown) {
    if (job->notes.grown.size() < kMaxGrownListed) job->notes.grown.insert(uri);
  }
  bad_records_.Committed(*job, task, extra, record.beside.bad_records);
  const Manifest& total = finished->manifest;
  if (skew_.Committed(task, job->plan.stages[task.stage], total.records, total.bytes, extra,
                      record.beside.partition_kib, applied->replicas.hot)) {
    job->notes.skew = skew_.Of(job->id);
  }
  if (!record.beside.partition_kib.empty() && SizesWanted(*job, task.stage)) {
    partition_sizes_.Note(task, record.beside.partition_kib);
  }
  // A stage that waited for the sizes of its inputs may be planned.
  for (const FollowUp& late : Unanswered(task.job)) applied->follow_ups.push_back(late);
}

void MasterCore::NoteEnds(const EventRecord& record, const Moment& moment, Applied* applied) {
  for (const sched::Decision& decision : applied->decisions) {
    if (const auto* failed = std::get_if<sched::FailJob>(&decision)) {
      open_.uncleaned.insert(failed->job);
      open_.ends.push_back({moment.sequence, failed->job, false, "", {}});
    }
    const auto* commit = std::get_if<sched::CommitJob>(&decision);
    JobView* job = commit == nullptr ? nullptr : jobs_.Find(commit->job);
    if (job == nullptr) continue;
    if (!job->in_dfs()) {
      open_.unpublished.insert(job->id);
      continue;
    }
    FinishedExtra finished;
    dfs::Record visible;
    // CommitOutput wrote them, or Check has read them.
    MR_CHECK(DecodeFinished(record.extra, &finished));
    job->publish_error = finished.dfs_error;
    if (!finished.dfs_commit.empty()) {
      MR_CHECK(dfs::Decode(finished.dfs_commit, &visible));
      for (dfs::Effect& effect : files_->Apply(visible)) applied->blocks.push_back(std::move(effect));
    }
    open_.ends.push_back({moment.sequence, job->id, true, finished.dfs_error, {}});
  }
}

std::vector<JobId> MasterCore::NoteDurable(uint64_t sequence) {
  std::vector<JobId> ended;
  while (!open_.ends.empty() && open_.ends.front().sequence <= sequence) {
    const JobEnd end = std::move(open_.ends.front());
    open_.ends.pop_front();
    JobView* job = jobs_.Find(end.job);
    if (job == nullptr) continue;
    if (end.committed) {
      job->state = end.error.empty() ? JobState::kSucceeded : JobState::kFailed;
      job->error = end.error;
    }
    if (end.at != Instant{}) job->ended = end.at;
    jobs_.Settle(end.job);
    bad_records_.Forget(end.job);
    partition_sizes_.Forget(end.job);
    skew_.Forget(end.job);
    ended.push_back(end.job);
  }
  return ended;
}

void MasterCore::BeginEpoch(const EpochStarted& epoch, uint64_t sequence) {
  epochs_.Began({epoch.epoch, epoch.wall_ms, sequence, files_->NextBlock()});
  epoch_ = epoch.epoch;
  next_job_ = 1;
  AwaitAlive();
  const bool other = epoch.scheduler_version != config_.scheduler_version;
  if (other && !foreign_) scheduler_ = std::make_unique<sched::Scheduler>();
  if (!other && foreign_) {
    // Whatever the other build had under way is not known here. What it took over comes as events.
    open_.unplanned.clear();
    open_.timers.Clear();
    jobs_.ForgetReads();
  }
  foreign_ = other;
}

Duration MasterCore::TimeAway(uint64_t wall_ms) const {
  constexpr Duration kMostAway = Seconds(30 * 86400);  // a guess: a wall clock that jumped further is wrong
  const auto& jobs = jobs_.jobs();
  if (jobs.empty()) return {};
  const JobView& newest = jobs.rbegin()->second;
  if (newest.wall_ms == 0 || wall_ms <= newest.wall_ms) return {};
  const uint64_t since_ms = std::min<uint64_t>(wall_ms - newest.wall_ms, INT64_MAX / 2'000'000);
  const Duration away = Millis(static_cast<int64_t>(since_ms)) - (last_stamp_ - newest.submitted);
  return std::clamp(away, Duration{}, kMostAway);
}

void MasterCore::AwaitAlive() {
  for (auto& [id, worker] : workers_.all()) {
    if (worker.alive && !worker.drained_by_user && !worker.excluded) worker.awaited = true;
  }
}

void MasterCore::TakeLoss(const JournalLoss& loss, uint64_t sequence) {
  loss_.Take(loss, sequence);
  epochs_.Began({loss.raised, loss.wall_ms, sequence, files_->NextBlock()});
  epochs_.Settle(loss.raised);
  epoch_ = std::max(epoch_, loss.raised);
}

Status MasterCore::Check(const Record& record) const {
  const auto known = [this](WorkerId id, const char* what) {
    return workers_.all().contains(id) ? Status::Ok() : Corrupted(std::string(what) + " of an unknown worker");
  };
  if (const auto* drained = std::get_if<WorkerDrained>(&record)) return known(drained->worker, "a drain");
  if (const auto* excluded = std::get_if<WorkerExcluded>(&record)) return known(excluded->worker, "an exclusion");
  if (const auto* forgotten = std::get_if<WorkerForgotten>(&record)) return known(forgotten->worker, "a removal");
  if (const auto* wrong = std::get_if<WorkerWrongOutputs>(&record)) return known(wrong->worker, "wrong outputs");
  if (const auto* published = std::get_if<JobPublished>(&record)) {
    return open_.unpublished.contains(published->job) ? Status::Ok()
                                                      : Corrupted("a publication of a job that waits for none");
  }
  const auto* event = std::get_if<EventRecord>(&record);
  return event == nullptr ? Status::Ok() : CheckEvent(*event);
}

// Returns whether the projection has the task that a promise of another version names, or has it after the event.
bool MasterCore::HasTaskOf(const sched::Decision& promise, const sched::Event& event) const {
  const auto* accept = std::get_if<sched::Accept>(&promise);
  const auto* mark = std::get_if<sched::MarkIndeterminate>(&promise);
  if (accept == nullptr && mark == nullptr) return true;
  const TaskId& id = accept != nullptr ? accept->attempt.task : mark->task;
  const auto job = jobs_.jobs().find(id.job);
  if (job == jobs_.jobs().end() || job->second.brief) return true;  // passed over
  if (id.stage >= job->second.stages.size()) return false;
  size_t tasks = job->second.stages[id.stage].tasks.size();
  const auto planned = [&](const sched::StagePlanned& plan) {
    if (plan.job == id.job && plan.stage == id.stage) tasks = plan.tasks.size();
  };
  if (const auto* plan = std::get_if<sched::StagePlanned>(&event)) planned(*plan);
  if (const auto* taken = std::get_if<sched::JobTakenOver>(&event)) {
    for (const sched::StagePlanned& plan : taken->plans) planned(plan);
  }
  return id.task < tasks;
}

Status MasterCore::CheckEvent(const EventRecord& record) const {
  const sched::Event& event = record.stamped.event;
  if (!record.outcome) return Corrupted("an event without its outcome");
  // Behind another version's part the scheduler is a fresh one, and the soft events that it passed over may be later.
  if (!foreign_ && !record.digest) return Corrupted("an event without its digest");
  if (!foreign_ && record.stamped.at < last_stamp_)
    return Corrupted("an event that is stamped earlier than the one before it");
  const auto* config = std::get_if<sched::ConfigChanged>(&event);
  if (!foreign_ && config == nullptr && !scheduler_->state().config().known) {
    return Corrupted("an event before the configuration");
  }
  if (!foreign_ && config != nullptr) {
    const Status list = sched::Scheduler::CheckPolicies(config->policies);
    if (!list.ok())
      return Rejected("the list '" + config->policies + "', which is none of this release: " + list.message());
  }
  if (const auto* submitted = std::get_if<sched::JobSubmitted>(&event)) {
    SubmitExtra extra;
    const bool whole = record.spec != nullptr && DecodeSubmit(record.extra, &extra) &&
                       extra.plan.stages.size() == record.spec->stages.size() &&
                       submitted->graph.stages.size() == record.spec->stages.size();
    if (!whole) return Corrupted(Name(submitted->job) + " without its spec");
  }
  if (const auto* taken = std::get_if<sched::JobTakenOver>(&event)) {
    const auto job = jobs_.jobs().find(taken->submitted.job);
    const size_t stages = taken->submitted.graph.stages.size();
    if (taken->plans.size() > stages || (job != jobs_.jobs().end() && job->second.stages.size() != stages)) {
      return Corrupted("a takeover of " + Name(taken->submitted.job) + " with other stages");
    }
  }
  for (const sched::Decision& decision : *record.outcome) {
    if (!IsPromise(decision)) return Corrupted("an outcome with a decision that is no promise");
    if (foreign_ && !HasTaskOf(decision, event)) return Corrupted("a promise about a task that does not exist");
    const auto* commit = std::get_if<sched::CommitJob>(&decision);
    if (commit == nullptr) continue;
    const auto job = jobs_.jobs().find(commit->job);
    FinishedExtra finished;
    dfs::Record visible;
    if (job == jobs_.jobs().end() || !job->second.in_dfs()) continue;
    if (!DecodeFinished(record.extra, &finished) ||
        (!finished.dfs_commit.empty() && !dfs::Decode(finished.dfs_commit, &visible))) {
      return Corrupted("the commit of " + Name(commit->job) + " cannot be read; start the release that wrote it");
    }
  }
  return Status::Ok();
}

}  // namespace mr::master
