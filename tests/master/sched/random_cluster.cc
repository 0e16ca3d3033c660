#include "tests/master/sched/random_cluster.h"

#include <algorithm>

#include "common/base/fields.h"
#include "master/sched/job_graph.h"
#include "master/sched/plan.h"

namespace mr::sched {

namespace {
constexpr uint32_t kWorkers = 5;
constexpr uint32_t kMaxJobs = 60;
constexpr const char* kRacks[] = {"", "a", "b"};
constexpr const char* kQueues[] = {"q1", "q2", "q3"};
}  // namespace

RandomCluster::RandomCluster(uint64_t seed, std::string policies, bool roomy)
    : policies_(std::move(policies)),
      roomy_(roomy),
      rng_(Rng::Stream(seed, "cluster")),
      decisions_(std::variant_size_v<Decision>, 0) {
  for (uint32_t w = 1; w <= kWorkers; ++w) {
    Worker& worker = workers_[WorkerId{w}];
    worker.rack = kRacks[rng_.Below(3)];
    worker.slots.total = (roomy_ ? 3u : 1u) + static_cast<uint32_t>(rng_.Below(3));
    if (Chance(0.3)) worker.slots.map = 1;
    if (Chance(0.3)) worker.slots.reduce = 1;
  }
  Step(ConfigChanged{policies_, seed, kSchedulerVersion, Millis(100)});
}

void RandomCluster::Broken(const std::string& what) {
  if (error_.empty()) error_ = "step " + std::to_string(digests_.size()) + ": " + what;
}

void RandomCluster::Step(Event event) {
  const StampedEvent stamped{now_, std::move(event)};
  const std::vector<Decision> decisions = scheduler_.Step(stamped);
  digests_.push_back(scheduler_.Digest());
  if (twin_every_ > 0) StepTwin(stamped, decisions);
  if (digests_.size() % static_cast<size_t>(check_every_) == 0) {
    if (const std::string wrong = CheckState(scheduler_.state()); !wrong.empty()) Broken(wrong);
  }
  for (const Decision& d : decisions) Carry(d);
}

void RandomCluster::StepTwin(const StampedEvent& event, const std::vector<Decision>& decisions) {
  if (twin_ != nullptr) {
    const std::vector<Decision> same = twin_->Step(event);
    if (twin_->Digest() != scheduler_.Digest()) Broken("the restored scheduler comes to another state");
    if (HashFields(same) != HashFields(decisions)) Broken("the restored scheduler decides otherwise");
  }
  if (digests_.size() % static_cast<size_t>(twin_every_) != 0) return;
  twin_ = std::make_unique<Scheduler>();
  Status status;
  scheduler_.Save([&](std::string part) {
    if (status.ok()) status = twin_->RestorePart(part);
  });
  if (status.ok()) status = twin_->FinishRestore();
  if (!status.ok()) Broken(status.ToString());
  if (const std::string wrong = CheckState(twin_->state()); !wrong.empty()) Broken("restored: " + wrong);
}

void RandomCluster::Carry(const Decision& decision) {
  ++decisions_[decision.index()];
  if (const auto* d = std::get_if<Launch>(&decision)) Do(*d);
  if (const auto* d = std::get_if<Accept>(&decision)) Do(*d);
  if (const auto* d = std::get_if<DropReplica>(&decision)) Do(*d);
  if (const auto* d = std::get_if<CommitJob>(&decision)) Do(*d);
  if (const auto* d = std::get_if<Kill>(&decision)) EndAttempt(d->attempt, d->worker, d->incarnation);
  if (const auto* d = std::get_if<TakeBack>(&decision)) EndAttempt(d->attempt, d->worker, d->incarnation);
  if (const auto* d = std::get_if<PlanStage>(&decision)) plans_.push_back(*d);
  if (const auto* d = std::get_if<ReplicateOutput>(&decision)) replicas_.push_back(*d);
  if (const auto* d = std::get_if<WakeAt>(&decision)) timers_.push_back(*d);
  if (const auto* d = std::get_if<FailJob>(&decision)) {
    if (jobs_[d->job].over) Broken("a job ends twice");
    jobs_[d->job].over = true;
  }
  if (const auto* d = std::get_if<MarkIndeterminate>(&decision)) {
    if (!jobs_[d->task.job].indeterminate) Broken("a deterministic job is called indeterminate");
  }
}

void RandomCluster::Do(const Launch& d) {
  Worker& w = workers_.at(d.worker);
  if (!w.alive || w.incarnation != d.incarnation) Broken("a launch on a lost worker");
  const Job& job = jobs_.at(d.attempt.task.job);
  if (job.over) Broken("a launch of an ended job");
  const auto& stages = job.submitted.graph.stages;
  const StageSpec& spec = stages[d.attempt.task.stage];
  remakes_ += scheduler_.state().FindTask(d.attempt.task)->state == TaskState::kCommitted;
  uint32_t total = 1, same = 1;
  for (const auto& [id, a] : w.attempts) {
    ++total;
    same += jobs_.at(id.task.job).submitted.graph.stages[id.task.stage].slot_kind == spec.slot_kind;
    if (spec.side_effects && id.task == d.attempt.task) Broken("two attempts with side effects");
  }
  if (d.cause == Cause::kOpportunistic) {
    ++lent_;
    const mr::sched::Task& task = *scheduler_.state().FindTask(d.attempt.task);
    if (!scheduler_.state().FindAttempt(d.attempt)->live()) Broken("a slot is lent and taken back in one step");
    // The attempt beside it may have been ended in this very step, for pending tasks.
    if (task.holding < 2 || spec.side_effects) Broken("a clone on an idle slot that is none");
    for (const auto& other : task.attempts) {
      if (other.live() && other.number != d.attempt.number && other.worker == d.worker)
        Broken("two clones on one worker");
    }
  }
  if (d.cause == Cause::kSpeculative) {
    ++speculative_;
    const mr::sched::Task& task = *scheduler_.state().FindTask(d.attempt.task);
    const bool mantri = policies_.find("mantri") != std::string::npos;
    if (OwnLive(task) > (mantri ? kMostRunning : 2)) Broken("too many attempts of a task");
    if (spec.side_effects) Broken("a speculative attempt with side effects");
    for (const auto& other : task.attempts) {
      if (other.number != d.attempt.number && other.worker == d.worker)
        Broken("a speculative attempt where the task ran");
    }
  }
  const uint32_t cap = spec.slot_kind == SlotKind::kMap ? w.slots.map : w.slots.reduce;
  if (total > w.slots.total || (cap != 0 && same > cap)) Broken("a slot is used twice");
  if (!w.attempts.emplace(d.attempt, Attempt{d.attempt, d.generation, false, false, false, {}}).second) {
    Broken("an attempt number is used twice");
  }
}

void RandomCluster::Do(const Accept& d) {
  const TaskId& task = d.attempt.task;
  Output& out = outputs_[task];
  const uint32_t generation = d.replica.output.generation;
  const AttemptFinished& report = reports_[task];
  const auto serve = [&] {
    Worker& w = workers_.at(d.worker);
    if (!w.alive || w.incarnation != d.incarnation) return;
    w.replicas[{task, d.attempt.number}] = d.replica;
    out.replicas.emplace(d.worker, d.attempt.number);
  };
  if (!d.winner) {
    if (out.generation != generation || out.content != d.manifest.content)
      Broken("a replica of another output is kept");
    ++kept_;
    return serve();
  }
  if (!won_.insert({task, generation}).second) {
    if (out.generation != generation || out.attempt != d.attempt.number) Broken("two winners");
    return;
  }
  out = {generation, d.attempt.number, d.manifest.content, {}, report.consumed};
  const auto& attempts = scheduler_.state().FindTask(task)->attempts;
  cloned_commits_ += std::any_of(attempts.begin(), attempts.end(), [](const auto& a) {
    return a.cause == Cause::kClone || a.cause == Cause::kOpportunistic;
  });
  serve();
}

// Some are never made, some by a worker that has had another life since.
void RandomCluster::MakeReplica() {
  const ReplicateOutput ask = replicas_.front();
  replicas_.pop_front();
  Worker& to = workers_.at(ask.to);
  const TaskId& task = ask.from.output.task;
  if (jobs_.at(task.job).over) return;
  if (!to.alive || Chance(0.2)) return Step(ReplicaNotMade{ask.from, ask.to, to.alive ? "a full disk" : "lost"});
  Replica replica = ask.from;
  replica.worker = ask.to;
  replica.incarnation = to.incarnation;
  Output& out = outputs_[task];
  to.replicas[{task, replica.attempt}] = replica;
  out.replicas.emplace(ask.to, replica.attempt);  // unless the scheduler drops it
  Step(ReplicaMade{replica});
}

void RandomCluster::Do(const DropReplica& d) {
  const TaskId& task = d.replica.output.task;
  const auto it = outputs_.find(task);
  if (it != outputs_.end()) it->second.replicas.erase({d.replica.worker, d.replica.attempt});
  workers_.at(d.replica.worker).replicas.erase({task, d.replica.attempt});
}

std::set<std::pair<uint32_t, uint32_t>> RandomCluster::Reads(const TaskId& id) const {
  const auto& inputs = jobs_.at(id.job).submitted.graph.stages[id.stage].inputs;
  std::set<std::pair<uint32_t, uint32_t>> reads;
  for (const Slice& s : scheduler_.state().FindTask(id)->plan.slices) {
    for (uint32_t t = s.task_begin; t < s.task_end; ++t) reads.insert({inputs[s.input].upstream, t});
  }
  return reads;
}

// Whether each committed task consumed exactly what its upstream tasks committed in the end: each of them, once.
bool RandomCluster::Consistent(const TaskId& id) {
  std::set<std::pair<uint32_t, uint32_t>> reads;
  for (const Consumed& c : outputs_.at(id).consumed) {
    const TaskId up{id.job, c.stage, c.task};
    if (outputs_.at(up).content != c.content || !Consistent(up)) return false;
    if (!reads.insert({c.stage, c.task}).second) return false;  // twice
  }
  return reads == Reads(id);
}

void RandomCluster::Do(const CommitJob& d) {
  Job& job = jobs_.at(d.job);
  if (job.over) Broken("a job ends twice");
  job.over = true;
  ++succeeded_;
  for (uint32_t s = 0; s < job.tasks.size(); ++s) {
    if (!job.submitted.graph.stages[s].is_final) continue;
    for (uint32_t t = 0; t < job.tasks[s]; ++t) {
      if (outputs_.count({d.job, s, t}) == 0)
        Broken("a job commits without one of its outputs");
      else if (!Consistent({d.job, s, t}))
        Broken("a job commits an inconsistent cut");
    }
  }
}

void RandomCluster::EndAttempt(const AttemptId& id, WorkerId worker, Incarnation incarnation) {
  Worker& w = workers_.at(worker);
  if (!w.alive || w.incarnation != incarnation) return;
  const auto it = w.attempts.find(id);
  if (it != w.attempts.end()) it->second.ending = true;
  // A worker that does not have the attempt reports at once that it has ended.
  else if (scheduler_.state().unended().count(id.task) != 0)
    strangers_.push_back({id, worker, incarnation});
}

void RandomCluster::Submit() {
  if (next_job_ > kMaxJobs || (roomy_ && !jobs_.empty() && !jobs_.rbegin()->second.over)) return;
  JobSubmitted e;
  e.job = {1, next_job_++};
  e.name = "j" + std::to_string(e.job.seq);
  e.priority = static_cast<int32_t>(rng_.Below(3)) - 1;
  if (policies_ != "fifo") {
    static const std::vector<std::string> kLists[] = {
        {},
        {},
        {"none"},
        {"late(min_age=0s,cap=1)"},
        {"dryad_speculation(done=0.5)", "hadoop_speculation(min_age=1s)"}};
    e.queue = kQueues[rng_.Below(3)];
    if (!roomy_) e.policies = kLists[rng_.Below(std::size(kLists))];
  }
  Job& job = jobs_[e.job];
  job.indeterminate = Chance(0.2);
  const uint32_t stages = 1 + static_cast<uint32_t>(rng_.Below(5));
  for (uint32_t s = 0; s < stages; ++s) {
    StageSpec spec;
    spec.name = "s" + std::to_string(s);
    spec.max_failures = 4;
    spec.side_effects = Chance(0.1);
    if (s == 0 || Chance(0.2)) spec.inputs.push_back({});
    for (uint32_t u = 0; u < s; ++u) {
      const bool only = u + 1 == s && spec.inputs.empty();
      if (!only && !Chance(0.4)) continue;
      spec.inputs.push_back({true, static_cast<EdgeKind>(1 + rng_.Below(4)), u});
    }
    spec.slot_kind = spec.inputs[0].is_edge ? SlotKind::kReduce : SlotKind::kMap;
    e.graph.stages.push_back(spec);
  }
  for (uint32_t s = 0; s < stages; ++s) {
    bool read = false;
    for (const StageSpec& spec : e.graph.stages) {
      for (const StageInput& i : spec.inputs) read = read || (i.is_edge && i.upstream == s);
    }
    e.graph.stages[s].is_final = !read;
  }
  const bool steered = policies_.find("jockey") != std::string::npos;
  if (steered && Chance(0.7)) e.deadline = Millis(20 + static_cast<int64_t>(rng_.Below(3000)));
  job.submitted = e;
  job.tasks.assign(stages, 0);
  job.partitions.assign(stages, 0);
  Step(e);
  if (steered && Chance(0.7)) Predict(e.job, stages);
}

// A prediction of any numbers, now and then of invalid ones.
void RandomCluster::Predict(JobId job, uint32_t stages) {
  ProfileLoaded e{job, {}};
  Prediction& p = e.prediction;
  for (uint32_t a = 1; a <= 20; a += 1 + static_cast<uint32_t>(rng_.Below(4))) p.slots.push_back(a);
  p.buckets = 1 + static_cast<uint32_t>(rng_.Below(5));
  p.quantiles = 1 + static_cast<uint32_t>(rng_.Below(3));
  p.left.resize(p.slots.size() * (p.buckets + 1) * p.quantiles - (Chance(0.1) ? 1 : 0));
  for (float& left : p.left) left = static_cast<float>(3 * rng_.Uniform());
  p.indicator = static_cast<Indicator>(rng_.Below(6));
  p.stages.resize(stages);
  for (StageProfile& stage : p.stages) {
    stage.tasks = static_cast<uint32_t>(rng_.Below(7));
    stage.run = rng_.Uniform();
    stage.queue = rng_.Uniform();
    stage.longest = rng_.Uniform();
    stage.behind = rng_.Uniform();
  }
  Step(e);
}

void RandomCluster::ChangeWishes() {
  if (jobs_.empty()) return;
  const JobId job{1, 1 + static_cast<uint32_t>(rng_.Below(jobs_.size()))};
  Step(JobSet{job, static_cast<int32_t>(rng_.Below(5)) - 2,
              Chance(0.7) ? Millis(20 + static_cast<int64_t>(rng_.Below(3000))) : Duration{}});
}

void RandomCluster::Plan(const PlanStage& ask) {
  Job& job = jobs_.at(ask.job);
  const StageSpec& spec = job.submitted.graph.stages[ask.stage];
  StagePlanned e;
  e.job = ask.job;
  e.stage = ask.stage;
  // All-to-all readers read partition j modulo what there is; one-to-one fixes the number of tasks.
  e.partitions = 1 + static_cast<uint32_t>(rng_.Below(3));
  uint32_t tasks = static_cast<uint32_t>(rng_.Below(7));
  for (const StageInput& i : spec.inputs) {
    if (i.is_edge && i.edge == EdgeKind::kOneToOne) tasks = job.tasks[i.upstream];
  }
  for (uint32_t t = 0; t < tasks; ++t) {
    TaskPlan plan;
    for (uint32_t i = 0; i < spec.inputs.size(); ++i) {
      const StageInput& input = spec.inputs[i];
      if (!input.is_edge) {
        for (int n = 0; n < 2; ++n) {
          if (Chance(0.7)) plan.preferred.push_back({1 + static_cast<uint32_t>(rng_.Below(kWorkers))});
        }
        continue;
      }
      const uint32_t up = job.tasks[input.upstream], parts = job.partitions[input.upstream];
      if (input.edge == EdgeKind::kOneToOne && t >= up) continue;  // two such edges
      Slice slice = SliceOf({input.edge, i, up, 0, parts, tasks}, t);
      if (input.edge == EdgeKind::kAllToAll) {
        slice.partition_begin = t % parts;
        slice.partition_end = slice.partition_begin + 1;
        if (t == 0 && up > 1) slice.task_end = up / 2;  // a fat partition, split
      }
      plan.slices.push_back(slice);
    }
    e.tasks.push_back(plan);
  }
  job.tasks[ask.stage] = tasks;
  job.partitions[ask.stage] = e.partitions;
  if (Chance(0.01)) e.error = "an input vanished";
  Step(e);
}

void RandomCluster::Register(WorkerId id) {
  Worker& w = workers_.at(id);
  if (!w.alive || Chance(0.2)) {  // a new life
    w.incarnation = next_incarnation_++;
    w.attempts.clear();
    w.replicas.clear();
    w.alive = true;
    if (Chance(0.1)) w.rack = kRacks[rng_.Below(3)];
  }
  WorkerRegistered e;
  e.worker = id;
  e.incarnation = w.incarnation;
  e.rack = w.rack;
  e.slots = w.slots;
  for (auto it = w.replicas.begin(); it != w.replicas.end();) {
    if (Chance(0.05)) {
      it = w.replicas.erase(it);
    } else {
      e.inventory.push_back((it++)->second);
    }
  }
  for (auto it = w.attempts.begin(); it != w.attempts.end();) {
    if (Chance(0.1)) {
      it = w.attempts.erase(it);
    } else {
      e.running.push_back((it++)->first);
    }
  }
  Step(e);
}

void RandomCluster::LoseWorker() {
  const WorkerId id{1 + static_cast<uint32_t>(rng_.Below(kWorkers))};
  Worker& w = workers_.at(id);
  if (!w.alive) return;
  w.alive = false;
  w.attempts.clear();
  w.replicas.clear();
  Step(WorkerLost{id, w.incarnation, "lease"});
}

void RandomCluster::ToggleDrain() {
  const WorkerId id{1 + static_cast<uint32_t>(rng_.Below(kWorkers))};
  const Worker& w = workers_.at(id);
  if (!w.alive) return;
  const bool on = Chance(0.5);
  Step(WorkerDraining{id, w.incarnation, on});
  if (operators_) Step(OutputsLeaving{id, w.incarnation, on});
}

void RandomCluster::Restart() {
  Step(ConfigChanged{policies_, 1, kSchedulerVersion, Millis(100)});
  for (const auto& [id, w] : workers_) {
    if (w.alive) Step(WorkerAway{id, w.incarnation});
  }
  for (auto& [id, w] : workers_) {
    if (w.alive) Register(id);
  }
}

void RandomCluster::LoseReplica() {
  for (auto& [id, w] : workers_) {
    if (w.replicas.empty() || !Chance(0.5)) continue;
    const Replica replica = w.replicas.begin()->second;
    Step(FetchFailed{{replica.output.task, 1}, replica, "reset"});
    Step(ReplicaLost{replica, "the digest is bad"});
    return;
  }
}

bool RandomCluster::DeliverTimers() {
  if (timers_.empty()) return false;
  const auto it =
      std::min_element(timers_.begin(), timers_.end(), [](const WakeAt& a, const WakeAt& b) { return a.at < b.at; });
  const WakeAt timer = *it;
  timers_.erase(it);
  now_ = std::max(now_, timer.at);
  Step(TimerDue{timer.policy, timer.id});
  return true;
}

bool RandomCluster::TakeInputs(Attempt& a) {
  a.consumed.clear();
  for (const auto& [stage, t] : Reads(a.id.task)) {
    const auto out = outputs_.find({a.id.task.job, stage, t});
    if (out == outputs_.end() || !out->second.readable()) return false;
    a.consumed.push_back({stage, t, out->second.generation, out->second.content});
  }
  a.inputs_done = true;
  return true;
}

void RandomCluster::Finish(WorkerId id, const Attempt& a) {
  const Job& job = jobs_.at(a.id.task.job);
  uint64_t content = HashFields(a.id.task);
  for (const Consumed& c : a.consumed) content = MixHash(content, c.content.low);
  if (job.indeterminate && Chance(0.5)) content = MixHash(content, rng_.Next());
  AttemptFinished e;
  e.attempt = a.id;
  e.worker = id;
  e.incarnation = workers_.at(id).incarnation;
  e.manifest = {content % 1000, content % 100'000, {content, ~content}};
  e.consumed = a.consumed;
  workers_.at(id).attempts.erase(a.id);
  const AttemptFinished before = reports_[e.attempt.task];
  reports_[e.attempt.task] = e;
  Step(e);
  // The winner's report is what Consistent looks at; a refused one is not.
  const Output& out = outputs_[e.attempt.task];
  if (out.attempt != e.attempt.number) reports_[e.attempt.task] = before;
  if (Chance(0.1)) sent_.push_back(e);
}

void RandomCluster::ActOn(WorkerId id, Attempt& a, bool faults) {
  const Incarnation life = workers_.at(id).incarnation;
  const AttemptId attempt = a.id;
  if (a.ending && Chance(0.7)) {
    workers_.at(id).attempts.erase(attempt);
    Step(AttemptKilled{attempt, id, life});
  } else if (!a.started && faults && Chance(0.05)) {
    workers_.at(id).attempts.erase(attempt);
    Step(AttemptRefused{attempt, id, life, "no slot"});
  } else if (!a.started) {
    a.started = true;
    Step(AttemptStarted{attempt, id, life});
  } else if (faults && Chance(0.04)) {
    workers_.at(id).attempts.erase(attempt);
    const auto kind = static_cast<FailureKind>(1 + rng_.Below(5));
    Step(AttemptFailed{attempt, id, life, kind, "exit 1"});
  } else if (!a.inputs_done) {
    const bool done = TakeInputs(a);
    Step(AttemptProgress{id, life, {{attempt, 1, 10, 100, 1, done}}});
  } else if (Chance(0.3)) {
    Step(AttemptProgress{id, life, {{attempt, 3, 50, 100, 5, true}}});
  } else {
    const Attempt finished = a;
    Finish(id, finished);
  }
}

void RandomCluster::Act(bool faults) {
  std::vector<std::pair<WorkerId, AttemptId>> all;
  for (const auto& [id, w] : workers_) {
    for (const auto& [attempt, a] : w.attempts) all.emplace_back(id, attempt);
  }
  if (all.empty()) return;
  const auto [worker, attempt] = all[rng_.Below(all.size())];
  ActOn(worker, workers_.at(worker).attempts.at(attempt), faults);
}

void RandomCluster::RandomEvent(bool faults) {
  now_ = now_ + Millis(static_cast<int64_t>(rng_.Below(30)));
  if (!strangers_.empty()) {
    const AttemptKilled killed = strangers_.front();
    strangers_.pop_front();
    return Step(killed);
  }
  if (faults && lying_ && Chance(0.2)) return Lie();
  if (faults && Chance(0.02)) return LoseWorker();
  if (faults && Chance(0.05)) return Register({1 + static_cast<uint32_t>(rng_.Below(kWorkers))});
  if (faults && Chance(0.02)) return ToggleDrain();
  if (faults && Chance(0.01)) return LoseReplica();
  if (faults && Chance(0.003)) return Restart();
  if (faults && Chance(0.03)) return Submit();
  if (faults && policies_ != "fifo" && Chance(0.02)) {
    const uint32_t least = static_cast<uint32_t>(rng_.Below(4));
    const uint32_t most = Chance(0.5) ? 0 : 1 + static_cast<uint32_t>(rng_.Below(6));
    return Step(QueueSet{kQueues[rng_.Below(3)], 0.5 + static_cast<double>(rng_.Below(4)), least, most});
  }
  if (faults && policies_.find("jockey") != std::string::npos && Chance(0.03)) return ChangeWishes();
  if (faults && Chance(0.002) && !jobs_.empty()) {
    return Step(JobKillAsked{{1, 1 + static_cast<uint32_t>(rng_.Below(next_job_ - 1))}, "asked"});
  }
  if (!sent_.empty() && Chance(0.05)) {  // a late or repeated report
    const AttemptFinished e = sent_.front();
    sent_.pop_front();
    return Step(e);
  }
  if (!plans_.empty() && Chance(0.5)) {
    const PlanStage ask = plans_.front();
    plans_.pop_front();
    if (!jobs_.at(ask.job).over) Plan(ask);
    return;
  }
  if (!replicas_.empty() && Chance(0.3)) return MakeReplica();
  if (Chance(0.05) && DeliverTimers()) return;
  Act(faults);
}

std::string RandomCluster::Run(int events, int check_every) {
  check_every_ = check_every;
  for (auto& [id, w] : workers_) Register(id);
  for (int i = 0; i < events && error_.empty(); ++i) RandomEvent(true);
  for (auto& [id, w] : workers_) Register(id);
  for (int i = 0; i < 200'000 && error_.empty(); ++i) {
    bool over = true;
    for (const auto& [id, job] : jobs_) over = over && job.over;
    if (over) break;
    RandomEvent(false);
  }
  check_every_ = 1;
  Step(TimerDue{"core", 0});
  for (const auto& [id, job] : jobs_) {
    if (!job.over) Broken(Name(id) + " never ends though all faults are over");
  }
  return error_;
}

}  // namespace mr::sched
