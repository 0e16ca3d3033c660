#include "tests/support/scenario.h"

#include <algorithm>
#include <sstream>

#include "common/base/fields.h"
#include "common/base/text.h"
#include "master/sched/job_graph.h"

namespace mr::sched {

namespace {

EdgeKind ParseEdge(const std::string& word) {
  if (word == "many_to_one") return EdgeKind::kManyToOne;
  if (word == "one_to_one") return EdgeKind::kOneToOne;
  if (word == "broadcast") return EdgeKind::kBroadcast;
  return EdgeKind::kAllToAll;
}

FailureKind ParseKind(const std::string& word) {
  if (word == "environment") return FailureKind::kEnvironment;
  if (word == "lost") return FailureKind::kLost;
  if (word == "killed") return FailureKind::kKilled;
  if (word == "preempted") return FailureKind::kPreempted;
  if (word == "final") return FailureKind::kUserFinal;
  return FailureKind::kUser;
}

std::vector<std::string> SplitAt(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

uint32_t Number(const std::string& text) { return static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10)); }

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string OptionOf(const std::vector<std::string>& words, const std::string& key, const std::string& otherwise) {
  for (const std::string& word : words) {
    if (word.rfind(key + "=", 0) == 0) return word.substr(key.size() + 1);
  }
  return otherwise;
}

std::vector<std::string> SplitWords(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Scenario::Scenario(std::string name, std::string policies) : name_(std::move(name)), policies_(std::move(policies)) {}

bool Scenario::NamesPolicies(std::string_view text) { return text.find("\npolicies ") != std::string_view::npos; }

void Scenario::Broken(const std::string& what) {
  if (error_.empty()) error_ = name_ + ":" + std::to_string(line_) + ": " + what;
}

std::string Scenario::Run(std::string_view text) {
  strict_ = NamesPolicies(text);
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line) && error_.empty();) {
    ++line_;
    line = line.substr(0, line.find('#') == 0 ? 0 : line.find(" # "));
    if (!SplitWords(line).empty()) Line(line);
  }
  if (error_.empty() && !open_job_.empty()) SendJob();
  if (error_.empty()) NothingLeft();
  return error_;
}

void Scenario::Line(const std::string& line) {
  Words words = SplitWords(line);
  const std::string verb = words[0];
  if (verb == "stage") return StageLine(words);
  if (!open_job_.empty()) SendJob();
  if (verb == "policies") {
    policies_ = words.at(1);
  } else if (verb == "seed") {
    if (configured_) return Broken("the seed stands before the first worker and event");
    seed_ = Number(words.at(1));
  } else if (verb == "workers") {
    Workers(words);
  } else if (verb == "expect") {
    Expect(line.substr(line.find("expect") + 6));
  } else if (verb == "ensure") {
    Ensure(words);
  } else if (verb == "at" && words.size() > 2) {
    const auto at = words[1] == "0s" ? Result<Duration>(Duration{}) : ParseDuration(words[1]);
    if (!at.ok()) return Broken(at.status().ToString());
    NothingLeft();
    RunTimers({at->ns});
    if (words[2] != "tick") NothingLeft();
    if (Instant{at->ns} < now_) return Broken("time runs back");
    now_ = {at->ns};
    words.erase(words.begin(), words.begin() + 2);
    Event_(words);
  } else {
    Broken("no such line: " + line);
  }
}

void Scenario::Event_(const Words& w) {
  const std::string& verb = w[0];
  if (verb == "submit") return Submit(w);
  if (verb == "finished") return Finished(w);
  if (verb == "finish_all") return FinishAll();
  if (verb == "tick") return;  // only the timers
  if (verb == "restart") {
    policies_ = OptionOf(w, "policies", policies_);
    return Send(ConfigChanged{policies_, seed_, kSchedulerVersion, Millis(100)});
  }
  const std::string subject = w.size() > 1 ? w[1] : "";
  if (verb == "queue") {
    return Send(QueueSet{subject, std::atof(OptionOf(w, "weight", "1").c_str()), Number(OptionOf(w, "min", "0")),
                         Number(OptionOf(w, "max", "0"))});
  }
  if (verb == "forecast") return Forecast(w);
  if (verb == "random") {
    const JobText& job = texts_.at(subject);
    OperatorsKnown known{job.submitted.job, {}};
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      if (job.stages[s].name == w.at(2)) known.indeterminate.push_back(s);
    }
    return Send(known);
  }
  if (verb == "kill") return Send(JobKillAsked{ParseJob(subject), "asked"});
  if (verb == "leaves" || verb == "stays") {
    const WorkerId id = ParseWorker(subject);
    return Send(OutputsLeaving{id, workers_[id].incarnation, verb == "leaves"});
  }
  if (verb == "lost" || verb == "drain" || verb == "undrain" || verb == "away" || verb == "register") {
    const WorkerId id = ParseWorker(subject);
    const Incarnation life = workers_[id].incarnation;
    if (verb == "lost") return Send(WorkerLost{id, life, "lease"});
    if (verb == "away") return Send(WorkerAway{id, life});
    if (verb == "register") {
      workers_[id].draining = Has(w, "draining");
      return Register(id, Has(w, "new"), OptionOf(w, "running", ""));
    }
    return Send(WorkerDraining{id, life, verb == "drain"});
  }
  const AttemptId id = ParseAttempt(subject);
  const Attempt* a = scheduler_.state().FindAttempt(id);
  if (a == nullptr) return Broken("there is no attempt " + subject);
  const WorkerId worker = a->worker;
  const Incarnation life = a->incarnation;
  if (verb == "started") return Send(AttemptStarted{id, worker, life});
  if (verb == "killed") return Send(AttemptKilled{id, worker, life});
  if (verb == "refused") return Send(AttemptRefused{id, worker, life, "no slot"});
  if (verb == "missing") {
    const Duration hold = Seconds(static_cast<int64_t>(Number(OptionOf(w, "hold", "1"))));
    return Send(InputsMissing{id.task.job, id.task.stage, {id.task.task}, {id}, hold, "no replica"});
  }
  if (verb == "failed") {
    return Send(
        AttemptFailed{id, worker, life, ParseKind(OptionOf(w, "kind", "user")), OptionOf(w, "message", "exit-1")});
  }
  if (verb == "progress") {
    const uint64_t taken = Number(OptionOf(w, "taken", "0"));
    const auto phase = static_cast<uint8_t>(Number(OptionOf(w, "phase", "0")));
    const uint64_t total = Number(OptionOf(w, "total", "100"));
    return Send(AttemptProgress{worker, life, {{id, phase, taken, total, 0, false}}});
  }
  if (verb == "read") {
    Consume(id);
    return Send(AttemptProgress{worker, life, {{id, 1, 1, 100, 0, true}}});
  }
  if (verb == "fetched") {
    const TaskId up = ParseTask(w.at(2));
    const BoundRead* read = scheduler_.state().FindJob(id.task.job)->bindings.Find(id, up.stage, up.task);
    if (read == nullptr) return Broken("it was not told to read " + w[2]);
    return Send(FetchDone{id, scheduler_.state().MakeReplica(up, read->replica), 1, Millis(1), 1});
  }
  if (verb == "copy_lost" || verb == "fetch_failed" || verb == "copy_made" || verb == "copy_not_made") {
    Replica replica{{id.task, a->generation}, id.number, worker, life};
    if (verb == "copy_not_made") return Send(ReplicaNotMade{replica, ParseWorker(w.at(2)), "no space left"});
    if (w.size() > 2) replica.worker = ParseWorker(w[2]), replica.incarnation = workers_[replica.worker].incarnation;
    if (verb == "copy_made") return Send(ReplicaMade{replica});
    if (verb == "copy_lost") return Send(ReplicaLost{replica, "probe"});
    const std::string reader = OptionOf(w, "reader", "");
    return Send(FetchFailed{reader.empty() ? id : ParseAttempt(reader), replica, "reset"});
  }
  Broken("no such event: " + verb);
}

void Scenario::Workers(const Words& w) {
  const std::string& range = w.at(1);
  const size_t dots = range.find("..");
  const uint32_t first = Number(range.substr(1));
  const uint32_t last = dots == std::string::npos ? first : Number(range.substr(dots + 3));
  for (uint32_t i = first; i <= last; ++i) {
    WorkerRegistered& e = workers_[WorkerId{i}];
    e.worker = {i};
    e.rack = OptionOf(w, "rack", "");
    e.slots.total = Number(OptionOf(w, "slots", "1"));
    e.slots.map = Number(OptionOf(w, "map_slots", "0"));
    e.slots.reduce = Number(OptionOf(w, "reduce_slots", "0"));
    e.memory_bytes = Number(OptionOf(w, "memory", "0"));
    e.draining = Has(w, "draining");
    Register(e.worker, true);
  }
}

void Scenario::Register(WorkerId id, bool new_life, const std::string& running) {
  WorkerRegistered& e = workers_.at(id);
  e.inventory.clear();
  e.running.clear();
  if (new_life) {
    e.incarnation += 10 + id.value;
  } else if (const Worker* w = scheduler_.state().FindWorker(id)) {
    e.running.assign(w->attempts.begin(), w->attempts.end());
    for (const auto& [task, number] : w->replicas) {
      const mr::sched::Task& t = *scheduler_.state().FindTask(task);
      e.inventory.push_back({{task, t.generation}, number, id, e.incarnation});
    }
  }
  if (!running.empty()) e.running.push_back(ParseAttempt(running));
  Send(e);
}

void Scenario::Submit(const Words& w) {
  const std::string& name = w.at(1);
  JobText& text = texts_[name];
  JobSubmitted& e = text.submitted;
  e.job = {1, static_cast<uint32_t>(names_.size()) + 1};
  e.name = name;
  e.priority = std::atoi(OptionOf(w, "priority", "0").c_str());
  e.queue = OptionOf(w, "queue", "");
  e.deadline = Seconds(static_cast<int64_t>(Number(OptionOf(w, "deadline", "0"))));
  if (const std::string list = OptionOf(w, "policies", ""); !list.empty()) e.policies = {list};
  text.random = SplitAt(OptionOf(w, "random", ""), ',');
  names_[e.job] = name;
  open_job_ = name;
  const std::string maps = OptionOf(w, "maps", "");
  if (maps.empty()) return;  // stages follow
  const std::string reduces = OptionOf(w, "reduces", "0");
  const std::string rest =
      " max_failures=" + OptionOf(w, "max_failures", "4") + " memory=" + OptionOf(w, "memory", "0");
  const std::string prefer = OptionOf(w, "prefer", "");
  StageLine(SplitWords("stage map tasks=" + maps + " partitions=" + std::max<std::string>(reduces, "1") + rest +
                       (prefer.empty() ? "" : " prefer=" + prefer) + " bytes=" + OptionOf(w, "bytes", "")));
  if (reduces != "0") {
    StageLine(SplitWords("stage reduce tasks=" + reduces + " from=map:all_to_all" + rest));
  }
  SendJob();
}

void Scenario::StageLine(const Words& w) {
  if (open_job_.empty()) return Broken("a stage belongs after `submit`");
  JobText& job = texts_[open_job_];
  StageText text;
  text.name = w.at(1);
  text.tasks = Number(OptionOf(w, "tasks", "1"));
  text.partitions = Number(OptionOf(w, "partitions", "1"));
  text.plan_error = OptionOf(w, "plan_error", "");
  StageSpec spec;
  spec.name = text.name;
  spec.side_effects = Has(w, "side_effects");
  spec.max_failures = Number(OptionOf(w, "max_failures", "4"));
  spec.memory_bytes = Number(OptionOf(w, "memory", "0"));
  for (const std::string& workers : SplitAt(OptionOf(w, "prefer", ""), ',')) {
    text.prefer.emplace_back();
    for (const std::string& worker : SplitAt(workers, '+')) text.prefer.back().push_back(ParseWorker(worker));
  }
  for (const std::string& bytes : SplitAt(OptionOf(w, "bytes", ""), ',')) text.bytes.push_back(Number(bytes));
  const std::vector<std::string> edges = SplitAt(OptionOf(w, "from", ""), ',');
  if (edges.empty() || Has(w, "files")) spec.inputs.push_back({});
  for (const std::string& edge : edges) {
    const size_t colon = edge.find(':');
    for (uint32_t u = 0; u < job.stages.size(); ++u) {
      if (job.stages[u].name != edge.substr(0, colon)) continue;
      spec.inputs.push_back({true, ParseEdge(edge.substr(colon + 1)), u});
      job.submitted.graph.stages[u].is_final = false;
    }
  }
  spec.slot_kind = spec.inputs[0].is_edge ? SlotKind::kReduce : SlotKind::kMap;
  spec.is_final = true;  // until a later stage reads it
  job.submitted.graph.stages.push_back(spec);
  job.stages.push_back(text);
}

void Scenario::SendJob() {
  const JobText& job = texts_[open_job_];
  open_job_.clear();
  Send(job.submitted);
}

// Sends a prediction: this many slot-seconds, shared evenly by up to all slots of the cluster.
void Scenario::Forecast(const Words& w) {
  const JobId id = ParseJob(w.at(1));
  const Job& job = *scheduler_.state().FindJob(id);
  const double work = std::atof(OptionOf(w, "work", "1").c_str());
  Prediction p;
  p.buckets = 10;
  p.quantiles = 1;
  p.runs = 1;
  p.stages.resize(job.stages.size());
  for (size_t s = 0; s < job.stages.size(); ++s) {
    p.stages[s].tasks = static_cast<uint32_t>(job.stages[s].tasks.size());
    p.stages[s].run = work / static_cast<double>(job.stages.size());
  }
  for (uint32_t a = 1; a <= scheduler_.state().slots().total; ++a) {
    p.slots.push_back(a);
    for (uint32_t b = 0; b <= p.buckets; ++b)
      p.left.push_back(static_cast<float>(work * (p.buckets - b) / p.buckets / a));
  }
  Send(ProfileLoaded{id, p, {}});
}

// Sends OperatorsKnown before the first stage is planned, as a master does.
void Scenario::TellOfOperators(const JobText& job) {
  OperatorsKnown known{job.submitted.job, {}};
  for (uint32_t s = 0; s < job.stages.size(); ++s) {
    if (Has(job.random, job.stages[s].name)) known.indeterminate.push_back(s);
  }
  if (!known.indeterminate.empty()) Send(known);
}

void Scenario::Answer(const PlanStage& ask) {
  const JobText& job = texts_.at(names_.at(ask.job));
  if (ask.stage == 0) TellOfOperators(job);
  const StageText& text = job.stages[ask.stage];
  const StageSpec& spec = job.submitted.graph.stages[ask.stage];
  StagePlanned e{ask.job, ask.stage, text.partitions, {}, text.plan_error};
  for (uint32_t t = 0; t < text.tasks; ++t) {
    TaskPlan plan;
    if (!text.bytes.empty()) plan.input_bytes = text.bytes[t % text.bytes.size()];
    if (!text.prefer.empty()) plan.preferred = text.prefer[t % text.prefer.size()];
    for (uint32_t i = 0; i < spec.inputs.size(); ++i) {
      if (!spec.inputs[i].is_edge) continue;
      const StageText& up = job.stages[spec.inputs[i].upstream];
      plan.slices.push_back(SliceOf({spec.inputs[i].edge, i, up.tasks, 0, up.partitions, text.tasks}, t));
    }
    e.tasks.push_back(plan);
  }
  Send(e);
}

// Sets the outputs that the attempt has consumed to all of its inputs as they are now.
void Scenario::Consume(const AttemptId& id) {
  const Job& job = *scheduler_.state().FindJob(id.task.job);
  std::vector<Consumed>& consumed = consumed_[id];
  consumed.clear();
  for (const Slice& s : scheduler_.state().FindTask(id.task)->plan.slices) {
    const uint32_t up = job.graph.stages[id.task.stage].inputs[s.input].upstream;
    for (uint32_t t = s.task_begin; t < s.task_end; ++t) {
      const Output& out = outputs_[{id.task.job, up, t}];
      consumed.push_back({up, t, out.generation, out.content});
    }
  }
}

void Scenario::Finished(const Words& w) {
  const AttemptId id = ParseAttempt(w.at(1));
  if (Has(w, "again")) return Send(reports_.at(id));
  const Attempt* a = scheduler_.state().FindAttempt(id);
  if (a == nullptr) return Broken("there is no attempt " + w.at(1));
  AttemptFinished e;
  e.attempt = id;
  e.worker = a->worker;
  e.incarnation = a->incarnation;
  if (consumed_.count(id) == 0) Consume(id);
  e.consumed = consumed_[id];
  if (Has(w, "forgets_input")) e.consumed.pop_back();
  if (Has(w, "invents_input")) e.consumed.push_back({1000, 1000, 1, {1, 1}});
  const uint64_t content = HashFields(id.task) + Number(OptionOf(w, "content", "0"));
  e.manifest = {10, Number(OptionOf(w, "bytes", "100")), {content, content}};
  e.waited = Seconds(static_cast<int64_t>(Number(OptionOf(w, "waited", "0"))));
  reports_[id] = e;
  Send(e);
}

// Runs everything to its end: answers kills, and finishes attempts that have all inputs.
void Scenario::FinishAll() {
  for (int round = 0; round < 10'000 && error_.empty(); ++round) {
    std::vector<AttemptId> holding;
    for (const auto& [id, worker] : scheduler_.state().workers()) {
      holding.insert(holding.end(), worker.attempts.begin(), worker.attempts.end());
    }
    bool moved = false;
    for (const AttemptId& id : holding) {
      const Attempt& a = *scheduler_.state().FindAttempt(id);
      if (!a.holds_slot()) continue;
      const std::string name = Label(id.task) + "#" + std::to_string(id.number);
      if (!a.live()) {
        Send(AttemptKilled{id, a.worker, a.incarnation});
      } else if (!scheduler_.state().Waiting(id)) {
        Finished({"finished", name});
      } else {
        continue;
      }
      moved = true;
    }
    if (!moved && timers_.empty()) return;
    if (moved) continue;
    const auto next =
        std::min_element(timers_.begin(), timers_.end(), [](const WakeAt& a, const WakeAt& b) { return a.at < b.at; });
    RunTimers(std::max(now_ + Seconds(10), next->at));
  }
  Broken("finish_all does not come to an end");
}

void Scenario::RunTimers(Instant until) {
  while (error_.empty()) {
    const auto it =
        std::min_element(timers_.begin(), timers_.end(), [](const WakeAt& a, const WakeAt& b) { return a.at < b.at; });
    if (it == timers_.end() || it->at > until) return;
    const WakeAt timer = *it;
    timers_.erase(it);
    now_ = std::max(now_, timer.at);
    Send(TimerDue{timer.policy, timer.id});
  }
}

void Scenario::Send(sched::Event event) {
  if (!configured_) {
    configured_ = true;
    Send(ConfigChanged{policies_, seed_, kSchedulerVersion, Millis(100)});
  }
  const std::vector<Decision> decisions = scheduler_.Step({now_, std::move(event)});
  if (const std::string wrong = CheckState(scheduler_.state()); !wrong.empty()) Broken(wrong);
  std::vector<PlanStage> asks;
  for (const Decision& d : decisions) {
    Note(d);
    decisions_.push_back(d);
    if (const auto* ask = std::get_if<PlanStage>(&d)) asks.push_back(*ask);
  }
  for (const PlanStage& ask : asks) {
    if (scheduler_.state().FindJob(ask.job)->running()) Answer(ask);
  }
}

void Scenario::Note(const Decision& decision) {
  if (const auto* d = std::get_if<Launch>(&decision)) ++launches_[d->attempt.task];
  if (const auto* d = std::get_if<WakeAt>(&decision)) timers_.push_back(*d);
  if (const auto* d = std::get_if<Accept>(&decision)) {
    Output& out = outputs_[d->attempt.task];
    if (out.generation != d->replica.output.generation) ++commits_[d->attempt.task];
    out = {d->manifest.content, d->replica.output.generation};
  }
}

}  // namespace mr::sched
