#include "master/host/why.h"

#include <algorithm>
#include <sstream>

#include "common/base/text.h"
#include "common/io/local_time.h"
#include "master/core/failure_text.h"
#include "master/host/disk_room.h"
#include "master/host/pending.h"
#include "master/host/standing_still.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

constexpr size_t kWorkerLines = 256;      // about a worker
constexpr size_t kLinesWalked = 200'000;  // for them: about a millisecond; a guess

// Adds the name of the reason's code: "the job has ended (job_ended)".
std::string WithCode(const std::string& text, const sched::Reason& reason) {
  if (reason.code == sched::ReasonCode::kNone) return text;
  return text + " (" + sched::ReasonName(reason.code) + ")";
}

uint64_t WallOf(const JobView& job, const WhyLine& line) {
  return job.wall_ms + static_cast<uint64_t>(std::max<int64_t>((line.at - job.submitted).millis(), 0));
}

std::string WhatHappened(const JobView& job, const WhyLine& line) {
  std::string text;
  const TaskId& task = line.attempt.task;
  const bool stage = line.what == What::kStagePlanned && task.job == job.id && task.stage < job.spec.stages.size();
  text += stage ? "stage '" + job.spec.stages[task.stage].name + "' planned" : Word(line.what);
  if (line.attempt.number != 0)
    text += " " + Name(line.attempt, job.letter(task.stage));
  else if (line.what == What::kOtherContent)
    text += " of " + Name(task, job.letter(task.stage));
  if (line.worker.valid()) text += " on " + Name(line.worker);
  return text + ": " + WithCode(line.text.empty() ? Explain(line.reason) : line.text, line.reason);
}

std::string Line(const JobView& job, const WhyLine& line) {
  const Duration after = line.at - job.submitted;
  return (after.ns == 0 ? "at its submission" : "at " + HumanDuration(after)) + ": " + WhatHappened(job, line);
}

// Returns since when the worker is registered, and when and why this master last lost it; "" for what is not known.
std::string LivesOf(const WorkerView& worker) {
  const std::string gone = worker.drained_by_user ? "was stopped after a drain" : "was lost";
  std::string text;
  if (worker.registered_unix_ms != 0) text = "it registered at " + LocalDateTime(worker.registered_unix_ms);
  if (worker.lost_unix_ms == 0) {
    if (!worker.alive) return "it " + gone + " before this master started; its log and the master's have the cause";
    return text;
  }
  const std::string lost = LocalDateTime(worker.lost_unix_ms) + ": " + worker.lost_why;
  if (!worker.alive) return (text.empty() ? "it " : text + ", and ") + gone + " at " + lost;
  return text + "; before that it was lost at " + lost;
}

std::string InASentence(const JobView& job, const Pending& pending) {
  return "stage '" + job.spec.stages[pending.stage].name + "' has tasks that could run and do not: " + pending.why;
}

}  // namespace

WhyReader::WhyReader(MasterCore& core, HostClock& clock, DrainReader& drains, const InputWaits& inputs)
    : core_(core), clock_(clock), drains_(drains), inputs_(inputs) {}

// A name without the stage, such as task_1_0001_m_000000, is valid where the job has one stage of this letter.
Result<std::string> WhyReader::WithStage(const std::string& subject, const Caller& caller) const {
  std::vector<std::string> parts;
  std::istringstream in(subject);
  for (std::string part; std::getline(in, part, '_');) parts.push_back(part);
  const size_t short_of = parts.empty() ? 0 : parts[0] == "task" ? 5 : parts[0] == "attempt" ? 6 : 0;
  if (parts.size() != short_of || short_of == 0 || (parts[3] != "m" && parts[3] != "r")) return subject;
  const auto id = ParseJobId("job_" + parts[1] + "_" + parts[2]);
  if (!id) return subject;
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(*id, caller));
  std::vector<std::string> names;
  for (uint32_t s = 0; s < job->spec.stages.size(); ++s) {
    if (static_cast<char>(job->letter(s)) != parts[3][0]) continue;
    names.push_back(parts[0] + "_" + parts[1] + "_" + parts[2] + "_" + std::to_string(s));
    for (size_t i = 3; i < parts.size(); ++i) names.back() += "_" + parts[i];
  }
  if (names.empty()) return NotFound("there is no " + subject + ": the job has no stage of this kind");
  if (names.size() == 1) return names[0];
  return InvalidArgument("'" + subject + "' does not name a stage: " + names.front() + " to " + names.back());
}

Result<std::vector<std::string>> WhyReader::Why(const std::string& subject, const Caller& caller) {
  if (const auto worker = ParseWorkerId(subject)) return WhyWorker(*worker, caller);
  if (const auto job = ParseJobId(subject)) return WhyJob(subject, *job, caller);
  return WhyTask(subject, caller);
}

Result<std::vector<std::string>> WhyReader::WhyWorker(WorkerId id, const Caller& caller) {
  MR_ASSIGN_OR_RETURN(std::vector<std::string> lines, WhyNow(id));
  // From the newest job back, since a worker is known by what it did last.
  std::vector<std::pair<const JobView*, WhyLine>> found;
  size_t walked = 0;
  const auto& jobs = core_.jobs().jobs();
  for (auto job = jobs.rbegin(); job != jobs.rend() && found.size() < kWorkerLines && walked < kLinesWalked; ++job) {
    if (!caller.Reaches(job->second.owner)) continue;
    const auto& tasks = job->second.notes.why;
    for (auto task = tasks.rbegin(); task != tasks.rend() && walked < kLinesWalked; ++task) {
      walked += task->second.size();
      std::vector<WhyLine> here = task->second.On(id);
      for (auto line = here.rbegin(); line != here.rend() && found.size() < kWorkerLines; ++line) {
        found.emplace_back(&job->second, std::move(*line));
      }
    }
  }
  std::reverse(found.begin(), found.end());
  // Each job counts from its own submission, so the lines of several have the time of day.
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return WallOf(*a.first, a.second) < WallOf(*b.first, b.second);
  });
  for (const auto& [job, line] : found)
    lines.push_back("at " + LocalDateTime(WallOf(*job, line)) + ": " + WhatHappened(*job, line));
  return lines;
}

Result<std::vector<std::string>> WhyReader::WhyNow(WorkerId id) {
  const WorkerView* worker = core_.workers().Find(id);
  if (worker == nullptr) return NotFound("there is no worker " + Name(id));
  std::string first = Name(id) + " at " + worker->info.address + " is " + worker->Word();
  const sched::Worker* known = core_.scheduler().state().FindWorker(id);
  if (known != nullptr && known->refused > 0) {
    first += "; it did not start " + std::to_string(known->refused) + " of the attempts that it was given, " +
             std::to_string(known->refused_in_row) + " of them since it last started one";
  }
  std::vector<std::string> head = {first};
  if (const std::string lives = LivesOf(*worker); !lives.empty()) head.push_back(lives);
  if (worker->unfit) head.push_back(DescribeUnfit(*worker));
  if (worker->full) {
    head.push_back(DescribeFull(*worker) + ": it gets neither blocks nor attempts until it has room again");
  }
  if (worker->drained_by_user && worker->alive) {
    const DrainReport report = *drains_.DrainOf(id);
    for (const std::string& line : WaitsFor(report)) head.push_back("it cannot be stopped yet: " + line);
    if (report.Safe()) head.push_back("it is safe to stop");
    if (const std::string thin = StaysThin(report); !thin.empty()) head.push_back(thin);
  }
  if (worker->reports_given_up > 0) {
    head.push_back("it gave up " + std::to_string(worker->reports_given_up) +
                   " reports that broke the connection whenever they were sent; their attempts failed, and its log "
                   "names them");
  }
  if (known != nullptr && known->held_until.ns != 0) {
    head.push_back("it gets nothing for another " +
                   HumanDuration(std::max(Duration{}, known->held_until - clock_.Stamp())) +
                   ", since it did not start what it was given");
  }
  for (const sched::Reason& reason : core_.scheduler().WhyShuns(id, clock_.Stamp()))
    head.push_back(WithCode(Explain(reason), reason));
  return head;
}

Result<std::vector<std::string>> WhyReader::WhyJob(const std::string& subject, JobId id, const Caller& caller) {
  std::vector<std::string> lines;
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(id, caller));
  lines.push_back(subject + " is " + Word(ShownState(*job)) + (job->error.empty() ? "" : ": " + job->error));
  for (const Pending& p : WhyPending(core_, clock_, *job)) lines.push_back(InASentence(*job, p));
  for (std::string& line : inputs_.Why(id)) lines.push_back(std::move(line));
  for (const TaskId& task : core_.scheduler().state().unended()) {
    if (task.job != job->id) continue;
    for (const std::string& line : WhyUnended(core_, *job, task, clock_.Present())) lines.push_back(line);
  }
  for (const auto& [hung, text] : Hung(core_, *job, clock_.Present())) lines.push_back(text);
  for (const auto& [stage, text] : job->notes.warnings) lines.push_back("warning: " + text);
  for (const std::string& uri : job->notes.grown) lines.push_back("warning: " + GrownText(uri));
  for (const Skew& s : job->notes.skew) lines.push_back("skew: " + SkewText(s, job->spec.stages[s.stage].name));
  for (const auto& line : job->notes.why_job) lines.push_back(Line(*job, line));
  for (const auto& [task, why] : job->notes.why) {
    if (lines.size() > 256) break;
    for (const auto& line : why.Of(What::kOutputLost)) {
      if (lines.size() <= 256) lines.push_back(Line(*job, line));
    }
  }
  for (const auto& [attempt, note] : job->notes.attempts) {
    if (!note.failed || lines.size() > 256) continue;
    lines.push_back(NameOf(attempt, *job) + " failed: " + WithPlace(note));
  }
  return lines;
}

Result<std::vector<std::string>> WhyReader::WhyTask(const std::string& subject, const Caller& caller) {
  std::vector<std::string> lines;
  MR_ASSIGN_OR_RETURN(const std::string name, WithStage(subject, caller));
  // A task's name is an attempt's name without its number.
  auto attempt = ParseAttemptId(name);
  const bool is_task = !attempt && name.starts_with("task_");
  if (is_task) attempt = ParseAttemptId("attempt_" + name.substr(5) + "_1");
  if (!attempt) return InvalidArgument("'" + subject + "' is no name of a job, task, attempt or worker");
  MR_ASSIGN_OR_RETURN(const JobView* job, core_.jobs().Find(attempt->task.job, caller));
  if (job->brief) return OnlyBrief(*job);
  if (attempt->task.stage >= job->stages.size()) return NotFound("there is no " + subject);
  const auto warning = job->notes.warnings.find(attempt->task.stage);
  if (warning != job->notes.warnings.end()) lines.push_back("warning: " + warning->second);
  const auto it = job->notes.why.find({attempt->task.stage, attempt->task.task});
  if (it != job->notes.why.end()) {
    for (const auto& line : it->second.All()) {
      if (is_task || line.attempt == *attempt) lines.push_back(Line(*job, line));
    }
  }
  if (std::string waits = inputs_.Why(attempt->task); !waits.empty()) lines.push_back(std::move(waits));
  for (const std::string& line : WhyUnended(core_, *job, attempt->task, clock_.Present())) lines.push_back(line);
  for (const auto& [id, text] : Hung(core_, *job, clock_.Present())) {
    if (is_task ? id.task == attempt->task : id == *attempt) lines.push_back(text);
  }
  const auto alone = [&](const AttemptId& id) {
    for (const sched::Reason& reason : core_.scheduler().WhyAlone(id, clock_.Stamp())) {
      lines.push_back(core_.jobs().NameOf(id) + " is " + WithCode(Explain(reason), reason));
    }
  };
  if (is_task) {
    for (const AttemptView& a : core_.attempts().Of(attempt->task)) {
      if (Live(a.state)) alone(a.id);
    }
  } else {
    alone(*attempt);
  }
  if (is_task) {
    for (const AttemptView& a : core_.attempts().Of(attempt->task)) {
      if (a.note->message.empty() || lines.size() > 256) continue;
      lines.push_back(NameOf(a.id, *job) + " is " + Word(a.state) + ": " + WithPlace(*a.note));
    }
  }
  if (const auto view = core_.attempts().Find(*attempt); view && !is_task) {
    const std::string message = WithPlace(*view->note);
    lines.push_back(std::string("it is ") + Word(view->state) + (message.empty() ? "" : ": " + message));
  }
  if (lines.empty() && is_task && attempt->task.task < job->stages[attempt->task.stage].tasks.size()) {
    lines.push_back(subject + " has not been launched yet");
    for (const Pending& p : WhyPending(core_, clock_, *job)) lines.push_back(InASentence(*job, p));
  }
  if (lines.empty()) return NotFound("nothing was decided about " + subject);
  return lines;
}

}  // namespace mr::master
