#include "master/sim/swarm/core_world.h"

#include <algorithm>

#include "common/base/fields.h"
#include "master/sched/state/state.h"
#include "master/sim/swarm/core_checks.h"
#include "master/sim/swarm/swarm.h"

namespace mr::sim {

namespace {

constexpr uint64_t kFaultySteps = 600, kCalmSteps = 20'000;
constexpr size_t kTrace = 40;
constexpr Duration kSilence = Seconds(5);

JobSpec RandomSpec(Rng& rng, uint64_t seed, uint32_t n) {
  JobSpec spec;
  spec.name = "j" + std::to_string(n);
  spec.queue = rng.Below(2) == 0 ? "default" : "night";
  spec.output_uri = (rng.Below(3) == 0 ? "file:///out" : "dfs:///out") + std::to_string(seed) + "_" + std::to_string(n);
  spec.max_failures = 4;
  const auto stages = static_cast<uint32_t>(1 + rng.Below(3));
  for (uint32_t s = 0; s < stages; ++s) {
    StageSpec& stage = spec.stages.emplace_back();
    stage.name = "s" + std::to_string(s);
    stage.operator_name = "op" + std::to_string(rng.Below(4));
    InputSpec input;
    if (s == 0) {
      input.files.uris = {"file:///in"};
    } else {
      input.is_edge = true;
      input.stage = s - 1;
      input.kind = rng.Below(3) == 0 ? EdgeKind::kOneToOne : EdgeKind::kAllToAll;
      // The stage has no tasks before the sizes of its inputs are known.
      input.splits = input.kind == EdgeKind::kAllToAll && rng.Below(2) == 0;
    }
    stage.inputs.push_back(input);
    PortSpec port;
    port.files = s + 1 == stages;
    stage.ports.push_back(port);
  }
  return spec;
}

JobPlan PlanOf(Rng& rng, const JobSpec& spec) {
  JobPlan plan;
  for (size_t s = 0; s < spec.stages.size(); ++s) {
    StagePlan& stage = plan.stages.emplace_back();
    stage.tasks = static_cast<uint32_t>(1 + rng.Below(5));
    if (s > 0 && spec.stages[s].inputs[0].kind == EdgeKind::kOneToOne) stage.tasks = plan.stages[s - 1].tasks;
    stage.port_partitions = {1};
    stage.input_bytes = 1000;
    for (uint32_t t = 0; s == 0 && t < stage.tasks; ++t) {
      stage.splits.push_back({0, "file:///in", uint64_t{t} * 100, 100, uint64_t{stage.tasks} * 100});
    }
    if (s > 0 && spec.stages[s].inputs[0].kind == EdgeKind::kAllToAll) {
      plan.stages[s - 1].port_partitions = {stage.tasks};
    }
  }
  return plan;
}

}  // namespace

void CoreWorld::Counts::Add(const Counts& o) {
  records += o.records;
  restarts += o.restarts;
  snapshots += o.snapshots;
  jobs += o.jobs;
  succeeded += o.succeeded;
  killed += o.killed;
  failed += o.failed;
  repeats += o.repeats;
  lost_workers += o.lost_workers;
  lost_records += o.lost_records;
  deleted_blocks += o.deleted_blocks;
}

CoreWorld::CoreWorld(uint64_t seed) : seed_(seed), rng_(Rng::Stream(seed, "core_world")) {
  config_.directory = "/master";
  config_.policies = RandomPolicies(seed);
  config_.replication = static_cast<uint32_t>(1 + rng_.Below(3));
  config_.fat_partition_bytes = 200;  // two rows of the outputs of this world
  config_.ended_jobs = Chance(.3) ? 2 : master::kEndedJobs;
  const size_t workers = 1 + rng_.Below(4);
  for (size_t w = 0; w < workers; ++w) {
    Worker worker;
    worker.name = "w" + std::to_string(w);
    worker.slots = static_cast<uint32_t>(1 + rng_.Below(3));
    worker.incarnation = 100 * (w + 1);
    workers_.push_back(std::move(worker));
  }
  const size_t jobs = 1 + rng_.Below(4);
  for (uint32_t n = 0; n < jobs; ++n) {
    Submitted& job = jobs_.emplace_back();
    job.spec = RandomSpec(rng_, seed, n);
    job.plan = PlanOf(rng_, job.spec);
    job.id = "id" + std::to_string(n);
    job.random = Chance(.2);
    if (Chance(.3)) job.from = rng_.Below(kFaultySteps);
  }
}

std::string CoreWorld::Run() {
  Restart();
  for (step_ = 0; step_ < kFaultySteps && error_.empty(); ++step_) Step(true);
  // From here on nothing fails, and all operators' settings are undone, so every job must end.
  process_->Feed(master::Record(dfs::Record(dfs::SafeModeHeld{now_, false})));
  for (Worker& worker : workers_) {
    worker.up = true;
    if (!worker.id.valid() || !error_.empty()) continue;
    for (auto records : {process_->core().PrepareExclude(worker.id, false, now_),
                         process_->core().PrepareDrain(worker.id, false, now_)}) {
      if (records.ok()) process_->FeedAll(*std::move(records));
    }
  }
  const auto done = [this] {
    return std::all_of(jobs_.begin(), jobs_.end(), [](const Submitted& job) { return !job.told.empty(); });
  };
  for (; step_ < kFaultySteps + kCalmSteps && error_.empty() && !done(); ++step_) Step(false);
  if (error_.empty() && !done()) Broken("the faults are over, and a job does not end" + Stuck());
  counts_.records = journal_.last();
  return error_;
}

// Returns the jobs that have not ended, their attempts, and the workers.
std::string CoreWorld::Stuck() const {
  std::string text;
  for (const Submitted& job : jobs_) {
    const auto view = process_->core().jobs().jobs().find(job.job);
    if (!job.told.empty()) continue;
    text += "; " + (view == process_->core().jobs().jobs().end() ? std::string("a job was never submitted") : "");
    if (view == process_->core().jobs().jobs().end()) continue;
    text += Name(job.job) + " is " + mr::Word(ShownState(view->second));
    for (const master::AttemptView& attempt : process_->core().attempts().Of(job.job)) {
      if (!master::Live(attempt.state)) continue;
      text += ", " + NameOf(attempt.id, view->second) + " is " + master::Word(attempt.state) + " on " +
              Name(attempt.worker);
      for (const Worker& worker : workers_) {
        if (worker.id != attempt.worker) continue;
        text += worker.running.contains(attempt.id) ? " (it runs)" : " (it does not run)";
      }
    }
  }
  for (const auto& [id, worker] : process_->core().workers().all()) text += "; " + Name(id) + " is " + worker.Word();
  return text;
}

void CoreWorld::Note(const std::string& what) {
  trace_.push_back(std::to_string(step_) + ": " + what);
  if (trace_.size() > kTrace) trace_.pop_front();
}

void CoreWorld::Broken(const std::string& what) {
  if (!error_.empty()) return;
  error_ = "seed " + std::to_string(seed_) + ", step " + std::to_string(step_) + ": " + what + "\n  list " +
           config_.policies + ", replication " + std::to_string(config_.replication) + "; the last steps:";
  for (const std::string& line : trace_) error_ += "\n    " + line;
}

CoreWorld::Worker* CoreWorld::Of(WorkerId id) {
  for (Worker& worker : workers_) {
    if (worker.id == id) return &worker;
  }
  return nullptr;
}

const CoreWorld::Submitted* CoreWorld::SubmittedOf(JobId id) const {
  for (const Submitted& job : jobs_) {
    if (job.job == id) return &job;
  }
  return nullptr;
}

void CoreWorld::Step(bool faults) {
  const uint64_t what = rng_.Below(100);
  Worker& worker = workers_[rng_.Below(workers_.size())];
  if (what < 25) {
    Deliver(&worker.to_worker);
  } else if (what < 50) {
    Deliver(&worker.to_master);
  } else if (what < 70) {
    Work(&worker);
  } else if (what < 80) {
    const uint64_t behind = journal_.last() - journal_.durable();
    process_->Sync(journal_.durable() + (faults && behind > 0 ? 1 + rng_.Below(behind) : behind));
  } else if (what < 88) {
    PassTime(Millis(static_cast<int64_t>(1 + rng_.Below(faults ? 1500 : 300))));
  } else if (what < 92) {
    if (worker.up && !worker.registered) Register(&worker);
  } else if (what < 95) {
    Submit();
  } else if (faults && what < 97) {
    Ask();
  } else if (faults) {
    Fault();
  }
  // A worker that has no session comes back soon.
  if (!faults && worker.up && !worker.registered) Register(&worker);
  if (step_ % 8 == 0) Check();
}

void CoreWorld::Fault() {
  Worker& worker = workers_[rng_.Below(workers_.size())];
  switch (rng_.Below(6)) {
    case 0: return Restart();
    case 1: return Break(&worker);
    case 2:
      EndProcess(&worker);
      worker.up = !Chance(.3);
      return;
    case 3:
      worker.up = !worker.up;
      if (!worker.up) Break(&worker);
      return Note(worker.name + (worker.up ? " is heard again" : " is silent"));
    case 4: return Snapshot();
    default: return PassTime(Seconds(static_cast<int64_t>(1 + rng_.Below(20))));
  }
}

// Makes a random request of an operator or a user.
void CoreWorld::Ask() {
  Worker& worker = workers_[rng_.Below(workers_.size())];
  master::MasterCore& core = process_->core();
  switch (rng_.Below(7)) {
    case 6: return (void)process_->Feed(master::Record(dfs::Record(dfs::SafeModeHeld{now_, Chance(.2)})));
    case 0: {
      auto event = core.PrepareQueue({"night", 1.0 + static_cast<double>(rng_.Below(3)), 0, 0});
      if (event.ok()) process_->Feed(*std::move(event));
      return;
    }
    case 1: {
      const Submitted& job = jobs_[rng_.Below(jobs_.size())];
      auto event = core.PrepareKill(job.job, Everything(), "asked");
      if (!event.ok() || !Chance(.3)) return;
      Note("kill " + Name(job.job));
      process_->Feed(*std::move(event));
      return;
    }
    case 2: {
      const Submitted& job = jobs_[rng_.Below(jobs_.size())];
      auto event = core.PrepareJobSet(job.job, Everything(), {static_cast<int32_t>(rng_.Below(5)), std::nullopt});
      if (event.ok()) process_->Feed(*std::move(event));
      return;
    }
    case 3:
    case 4: {
      if (!worker.id.valid()) return;
      const bool on = Chance(.4);
      Note((on ? "drain " : "undrain ") + worker.name);
      if (on) awaited_.erase(worker.id);
      auto records = core.PrepareDrain(worker.id, on, now_);
      if (records.ok()) process_->FeedAll(*std::move(records));
      return;
    }
    default: {
      if (!worker.id.valid()) return;
      const bool on = Chance(.2);
      Note((on ? "exclude " : "include ") + worker.name);
      if (on) awaited_.erase(worker.id);
      auto records = core.PrepareExclude(worker.id, on, now_);
      if (records.ok()) process_->FeedAll(*std::move(records));
      if (on && core.workers().Find(worker.id)->alive) {
        Break(&worker);
        process_->FeedAll(core.PrepareLost(worker.id, "excluded", now_));
      }
    }
  }
}

void CoreWorld::Submit() {
  Submitted& job = jobs_[rng_.Below(jobs_.size())];
  if (step_ < job.from) return;
  master::MasterCore& core = process_->core();
  if (const master::JobView* known = core.jobs().FindSubmission(kNoOwner, job.id)) {
    // Submitted again, since the answer was lost: the master must return the same job.
    ++counts_.repeats;
    if (job.acked && known->id != job.job) Broken("a submission that was acknowledged has another job now");
    return;
  }
  if (job.acked) {
    // It ended long ago, and is forgotten.
    if (config_.ended_jobs > 10) Broken("a job that was acknowledged is unknown");
    return;
  }
  auto record =
      core.PrepareSubmit({std::make_shared<const JobSpec>(job.spec), {SpecBytes(job.spec), job.id, 1, job.plan}}, now_);
  if (!record.ok()) return Broken("a submit is refused: " + record.status().ToString());
  job.job = std::get<sched::JobSubmitted>(record->stamped.event).job;
  Note("submit " + Name(job.job));
  const uint64_t sequence = process_->Feed(*std::move(record)).sequence;
  ++counts_.jobs;
  CheckKnownOperators(job);
  process_->Hold(sequence, [&job] { job.acked = true; });
}

void CoreWorld::Restart() {
  if (process_ != nullptr) {
    counts_.lost_records += journal_.last() - journal_.durable();
    ++counts_.restarts;
    process_ = nullptr;
    journal_.Cut();
    for (Submitted& job : jobs_) {
      if (!job.acked) job.job = {};
    }
  }
  Note("the master starts behind record " + std::to_string(journal_.durable()));
  for (Worker& worker : workers_) Break(&worker);
  const uint64_t before = shadow_ != nullptr && shadow_at_ == journal_.durable() ? shadow_->Digest() : 0;
  if (shadow_ != nullptr) {
    master::MasterCore recovered(config_, SpecOfBytes);
    if (const std::string wrong = journal_.ReadInto(&recovered, journal_.last()); !wrong.empty()) return Broken(wrong);
    if (before != 0 && recovered.Digest() != before) {
      return Broken("the state that was recovered is not the one that was durable");
    }
  }
  process_ = std::make_unique<CoreProcess>(journal_, config_, *this);
  if (const std::string wrong = process_->Start(now_, ++seeds_); !wrong.empty()) return Broken(wrong);
  now_ = std::max(now_, process_->now());
  if (process_->core().epoch() <= epoch_) Broken("two processes of the master have the same epoch");
  epoch_ = process_->core().epoch();
  for (const auto& [id, worker] : process_->core().workers().all()) {
    if (worker.alive && !worker.drained_by_user && !worker.excluded) awaited_.insert(id);
  }
  if (shadow_ == nullptr) shadow_ = std::make_unique<master::MasterCore>(config_, SpecOfBytes);
}

// Takes a snapshot of the durable state, at any record.
void CoreWorld::Snapshot() {
  if (const std::string wrong = journal_.ReadInto(shadow_.get(), shadow_at_, journal_.durable()); !wrong.empty()) {
    return Broken("a replay: " + wrong);
  }
  shadow_at_ = journal_.durable();
  ++counts_.snapshots;
  std::vector<std::pair<master::RecordKind, std::string>> parts;
  shadow_->Save([&](master::RecordKind kind, std::string part) { parts.emplace_back(kind, std::move(part)); });
  const uint64_t before = shadow_->Digest();
  journal_.TakeSnapshot(std::move(parts));
  const auto saved = std::exchange(shadow_, std::make_unique<master::MasterCore>(config_, SpecOfBytes));
  if (const std::string wrong = journal_.ReadInto(shadow_.get(), shadow_at_); !wrong.empty()) return Broken(wrong);
  std::vector<std::string> ids;
  for (const Submitted& job : jobs_) ids.push_back(job.id);
  if (const std::string wrong = CheckRestored(*saved, *shadow_, ids); !wrong.empty()) {
    return Broken("a snapshot restores another state than it was made of: " + wrong);
  }
  if (shadow_->Digest() != before) Broken("a snapshot restores another state than it was made of");
}

void CoreWorld::Break(Worker* worker) {
  worker->to_master.clear();
  worker->to_worker.clear();
  if (worker->registered) worker->silent_since = now_;
  worker->registered = false;
  worker->session = 0;
  if (process_ == nullptr || !worker->id.valid()) return;
  if (master::WorkerView* view = process_->core().workers().Find(worker->id)) view->session = 0;
}

// Ends the worker's process: attempts and shuffle outputs are lost, blocks stay.
void CoreWorld::EndProcess(Worker* worker) {
  Note(worker->name + " ends");
  Break(worker);
  ++worker->incarnation;
  worker->running.clear();
  worker->outputs.clear();
  worker->unanswered.clear();
}

void CoreWorld::Register(Worker* worker) {
  master::Registration in;
  in.info.incarnation = worker->incarnation;
  in.info.address = worker->name + ":1";
  in.info.slots.total = worker->slots;
  in.extra.name = worker->name;
  in.extra.capacity_bytes = uint64_t{1} << 40;
  for (const auto& [key, made] : worker->outputs) {
    in.info.inventory.push_back({{key.task, made.generation}, key.number, {}, worker->incarnation});
  }
  for (const auto& [id, generation] : worker->running) in.info.running.push_back(id);
  for (const auto& [id, block] : worker->disk) in.blocks.push_back(block);
  master::MasterCore& core = process_->core();
  const WorkerId id =
      core.workers().Named(worker->name).valid() ? core.workers().Named(worker->name) : core.workers().NextId();
  for (Replica& replica : in.info.inventory) replica.worker = id;
  const auto inventory = in.info.inventory;
  const auto running = in.info.running;
  auto records = core.PrepareRegister(std::move(in), now_, now_);
  if (!records.ok()) return;  // excluded
  worker->id = id;
  if (records->named) process_->Feed(master::Record(*std::move(records->named)));
  master::WorkerView& view = *core.workers().Find(id);
  const bool start_over = !view.alive && view.info.incarnation == worker->incarnation;
  Note(worker->name + " registers, with " + std::to_string(running.size()) + " attempts");
  worker->registered = true;
  worker->session = ++sessions_;
  awaited_.erase(id);
  view.BeginSession(worker->session, core.epoch(), now_);
  const auto fed = process_->Feed(master::Record(std::move(records->event)));
  process_->Feed(master::Record(std::move(records->joined)));
  if (records->leaving) process_->Feed(master::Record(*std::move(records->leaving)));
  const master::Greeting greeting = core.GreetingOf(id, inventory, running);
  CheckGreeting(greeting);
  // The answer is sent when the registration is durable, and the worker acts on it at once.
  process_->Sync(fed.sequence);
  if (start_over) {
    worker->running.clear();
    worker->outputs.clear();
    worker->unanswered.clear();
  }
  for (const sched::Decision& decision : fed.decisions) {
    const auto* drop = std::get_if<sched::DropReplica>(&decision);
    if (drop == nullptr || drop->replica.worker != id) continue;
    worker->outputs.erase({drop->replica.output.task, drop->replica.attempt});
  }
  for (const AttemptId& attempt : greeting.kill) {
    if (worker->running.erase(attempt) > 0) Send(worker, {attempt, report::Killed{}});
  }
  for (const JobId job : greeting.forgotten) {
    std::erase_if(worker->outputs, [job](const auto& o) { return o.first.task.job == job; });
  }
  const auto again = worker->unanswered;
  for (const auto& [number, report] : again) {
    worker->to_master.emplace_back([this, worker, session = worker->session, number = number, report = report] {
      Arrived(worker, session, number, report);
    });
  }
}

void CoreWorld::Deliver(std::deque<std::function<void()>>* queue) {
  for (uint64_t n = 1 + rng_.Below(4); n > 0 && !queue->empty(); --n) {
    const auto message = std::move(queue->front());
    queue->pop_front();
    message();
  }
}

void CoreWorld::PassTime(Duration time) {
  now_ = now_ + time;
  process_->Pass(now_);
  now_ = std::max(now_, process_->now());
  for (Worker& worker : workers_) {
    if (!worker.id.valid()) continue;
    // For each worker anew: what the loss of one brings about may end the process of the master.
    master::MasterCore& core = process_->core();
    const master::WorkerView* view = core.workers().Find(worker.id);
    if (view == nullptr || !view->alive || worker.registered || now_ - worker.silent_since < kSilence) continue;
    Note(worker.name + " is lost");
    ++counts_.lost_workers;
    process_->FeedAll(core.PrepareLost(worker.id, "silent", now_));
  }
}

void CoreWorld::Ended(JobId id) {
  const master::JobView* view = process_->core().jobs().Find(id);
  for (Submitted& job : jobs_) {
    if (job.job != id || view == nullptr) continue;
    const std::string state = Word(view->state);
    if (!job.told.empty() && job.told != state) Broken(Name(id) + " was reported as " + job.told + " and is " + state);
    if (job.told.empty()) {
      ++(view->state == JobState::kSucceeded ? counts_.succeeded
         : view->state == JobState::kKilled  ? counts_.killed
                                             : counts_.failed);
    }
    job.told = state;
    Note(Name(id) + " is " + state + (view->error.empty() ? "" : ": " + view->error));
    if (view->state != JobState::kSucceeded || !view->in_dfs()) continue;
    const auto files = process_->core().files().FilesUnder(view->spec.output_uri.substr(6));
    if (!files.ok()) return Broken(Name(id) + " has succeeded, and its files cannot be listed");
    for (const dfs::FileInfo& file : *files) visible_[file.path] = file.id;
  }
  for (Worker& worker : workers_) {
    if (!worker.registered) continue;
    worker.to_worker.emplace_back(
        [w = &worker, id] { std::erase_if(w->outputs, [id](const auto& o) { return o.first.task.job == id; }); });
  }
}

void CoreWorld::Publish(JobId job) {
  const master::JobView* view = process_->core().jobs().Find(job);
  if (view == nullptr || !process_->core().open().unpublished.contains(job)) return;
  process_->Feed(master::Record(master::JobPublished{job, "", now_}));
}

void CoreWorld::Check() {
  if (!error_.empty()) return;
  const master::MasterCore& core = process_->core();
  if (const std::string wrong = CheckCore(core); !wrong.empty()) return Broken(wrong);
  for (const Worker& worker : workers_) {
    if (worker.running.size() > worker.slots) return Broken(worker.name + " runs more attempts than it has slots");
  }
  // A replay of the durable records gives the live state, if no record follows them.
  if (const std::string wrong = journal_.ReadInto(shadow_.get(), shadow_at_, journal_.durable()); !wrong.empty()) {
    return Broken("a replay: " + wrong);
  }
  shadow_at_ = journal_.durable();
  if (shadow_at_ == journal_.last() && step_ % 64 == 0 && shadow_->Digest() != core.Digest()) {
    return Broken("a replay of the whole journal gives another state than the live master has");
  }
  CheckFiles();
}

// Checks rule D4: each block of a job that becomes visible is on a worker that can be read.
void CoreWorld::CheckCommit(JobId id) {
  const master::MasterCore& core = process_->core();
  const master::JobView& job = core.jobs().jobs().at(id);
  if (!job.in_dfs() || !job.publish_error.empty()) return;
  for (const FileOutput& part : job.Outputs()) {
    for (const StagedBlock& staged : part.blocks) {
      const BlockId block = staged.block.id;
      const bool stands = std::any_of(workers_.begin(), workers_.end(),
                                      [block](const Worker& w) { return w.disk.contains(block.value); });
      if (!stands || core.files().Unreadable(block)) return Broken(Name(id) + " commits a part that nobody can read");
    }
  }
}

// Checks rule D4: a write is acknowledged on two workers if there are two, even if one of them has not come back to a
// restarted master.
void CoreWorld::CheckAcknowledged(const StagedBlock& block) {
  size_t known = awaited_.size();
  for (const Worker& worker : workers_) {
    if (!worker.registered) continue;
    const master::WorkerView& view = *process_->core().workers().Find(worker.id);
    if (view.alive && !view.drained_by_user && !view.leaving) ++known;
  }
  const size_t wanted = std::max<size_t>(1, std::min<size_t>({2, config_.replication, known}));
  if (block.workers.size() >= wanted) return;
  Broken("a write is acknowledged on " + std::to_string(block.workers.size()) + " workers of " +
         std::to_string(wanted));
}

// Checks that a worker goes on only with attempts that the scheduler expects there.
void CoreWorld::CheckGreeting(const master::Greeting& greeting) {
  for (const AttemptId& id : greeting.go_on) {
    const sched::Attempt* attempt = process_->core().scheduler().state().FindAttempt(id);
    if (attempt == nullptr || !attempt->live()) return Broken("a worker goes on with an attempt that has ended");
  }
}

// Checks that later jobs know all operators that durable records show to be random.
void CoreWorld::CheckKnownOperators(const Submitted& job) {
  const sched::Job* known = process_->core().scheduler().state().FindJob(job.job);
  if (known == nullptr || !known->running()) return;
  for (size_t s = 0; s < known->stages.size(); ++s) {
    const std::string op = job.spec.OperatorOf(job.spec.stages[s]);
    if (random_.contains(op) && !known->stages[s].indeterminate) {
      return Broken(Name(job.job) + " does not know that " + op + " is not deterministic");
    }
  }
}

// Checks that visible files stay as they are, and that attempts have read what was committed in the end.
void CoreWorld::CheckFiles() {
  const dfs::Namespace& files = process_->core().files();
  for (const auto& [path, id] : visible_) {
    const auto file = files.Stat(path);
    if (!file.ok() || file->id != id) return Broken(path + " was visible, and is gone or another file now");
  }
  for (const Submitted& job : jobs_) {
    const master::JobView* view = process_->core().jobs().Find(job.job);
    const bool ended = view != nullptr && mr::Ended(view->state);
    if (view == nullptr || view->brief) continue;
    if (ended && view->state != JobState::kSucceeded && view->in_dfs() &&
        files.FilesUnder(view->spec.output_uri.substr(6)).ok()) {
      return Broken(Name(job.job) + " has failed, and its output can be seen");
    }
    if (view->state != JobState::kSucceeded) continue;
    for (uint32_t s = 0; s < view->stages.size(); ++s) {
      for (uint32_t t = 0; t < view->stages[s].tasks.size(); ++t) {
        const master::TaskView& task = view->stages[s].tasks[t];
        // An output that others have read may be in the process of being made again when the job ends.
        if (!task.committed && view->spec.stages[s].is_final()) {
          return Broken(Name(job.job) + " has succeeded without one of its tasks");
        }
        const auto read = consumed_.find({{job.job, s, t}, task.winner});
        if (read == consumed_.end()) continue;
        for (const Consumed& c : read->second) {
          if (view->stages[c.stage].tasks[c.task].manifest.content == c.content) continue;
          return Broken(Name(TaskId{job.job, s, t}, view->letter(s)) + " has read what was not committed in the end");
        }
      }
    }
  }
}

}  // namespace mr::sim
