#include "jobs/mrctl/run_source.h"

#include <algorithm>
#include <utility>

#include "common/report/report.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/job_ref.h"
#include "jobs/mrctl/last_job.h"
#include "jobs/mrctl/local_runs.h"
#include "jobs/mrctl/read_run.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {

std::string HistoryOf(const report::RecordedRun& recorded) {
  std::string text = recorded.history;
  text.insert(std::min(text.find('\n'), text.size() - 1) + 1, "run\t" + Name(recorded.run.job) + "\n");
  return text;
}

Result<RunSource> RunSource::Open(const std::string& word, const Settings& settings) {
  RunSource source;
  std::string name = word;
  if (word == "last") {
    MR_ASSIGN_OR_RETURN(const LastJob last, Last());
    if (ParseLocalId(last.id)) name = last.id;
  }
  if (const auto part = ParseLocalPart(name)) name = LocalName(part->run);
  if (const auto number = ParseLocalId(name)) {
    MR_ASSIGN_OR_RETURN(source.recorded_, LocalRuns(settings.runs_directory).Find(*number));
    source.id_ = source.recorded_->run.job.id;
    source.name_ = LocalName(*number);
    return source;
  }
  source.client_ = std::make_unique<Client>(settings.master);
  MR_ASSIGN_OR_RETURN(source.id_, JobIdOf(*source.client_, name));
  source.name_ = Name(source.id_);
  return source;
}

Result<JobStatus> RunSource::Job() {
  if (client_ != nullptr) return client_->Job(id_);
  return recorded_->run.job;
}

Result<JobSpec> RunSource::Spec() {
  if (client_ != nullptr) return client_->Spec(id_);
  return recorded_->run.spec;
}

Result<std::vector<TaskStatus>> RunSource::Tasks() {
  if (client_ != nullptr) return client_->Tasks(id_);
  std::vector<TaskStatus> tasks = recorded_->run.tasks;
  UseLocalNames(&tasks, id_, name_);
  return tasks;
}

Result<std::vector<AttemptStatus>> RunSource::Attempts() {
  if (client_ != nullptr) return client_->Attempts(id_);
  std::vector<AttemptStatus> attempts = recorded_->run.attempts;
  UseLocalNames(&attempts, id_, name_);
  return attempts;
}

Result<std::vector<CounterValue>> RunSource::Counters() {
  if (client_ != nullptr) return client_->Counters(id_);
  return recorded_->run.job.counters.value_or(std::vector<CounterValue>());
}

Result<report::JobRun> RunSource::Run(bool counters) {
  if (client_ != nullptr) return ReadRun(*client_, id_, counters);
  return recorded_->run;
}

Result<std::vector<std::string>> RunSource::Why() {
  if (client_ != nullptr) return client_->Why(name_);
  return recorded_->why;
}

Result<std::vector<std::string>> RunSource::Why(const LocalPart& part) {
  MR_CHECK(recorded());
  std::vector<std::string> lines = report::WhyOf(recorded_->run, part.NameIn(id_), part.attempt);
  for (std::string& line : lines) line = WithLocalNames(line, id_, name_);
  if (!lines.empty()) return lines;
  return WithHint(NotFound(name_ + " has no such " + (part.attempt ? "attempt" : "task")),
                  std::string("mrctl job ") + (part.attempt ? "attempts " : "tasks ") + name_ + " lists them");
}

Result<std::string> RunSource::History() {
  if (client_ == nullptr) {
    if (recorded_->history.empty()) return Rejected(name_ + " did not run to its end: there is nothing to simulate");
    return HistoryOf(*recorded_);
  }
  MR_ASSIGN_OR_RETURN(JobHistory history, client_->History(id_));
  std::string text = std::move(history.head) + std::move(history.text);
  for (const JobId other : history.beside) {
    if (text.size() > kEnoughHistory) break;
    auto beside = client_->History(other);
    if (beside.ok())
      text += beside->text;
    else if (beside.status().code() != Code::kNotFound)
      return beside.status();
  }
  return text;
}

}  // namespace mr::ctl
