#include "jobs/mrctl/job_ref.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/base/text.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/local_names.h"
#include "jobs/mrctl/local_runs.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

constexpr size_t kCandidates = 10;  // jobs that a hint names (a guess: a screen has room for them)

std::optional<uint32_t> JobNumber(const std::string& word) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// Returns "job_1_0009 (SUCCEEDED), job_1_0007 (FAILED)", the newest first.
std::string Candidates(std::vector<const JobStatus*> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const JobStatus* a, const JobStatus* b) { return a->id > b->id; });
  std::string text;
  for (size_t i = 0; i < std::min(jobs.size(), kCandidates); ++i) {
    text += (i == 0 ? "" : ", ") + Name(jobs[i]->id) + " (" + Word(jobs[i]->state) + ")";
  }
  return jobs.size() <= kCandidates ? text : text + " and " + std::to_string(jobs.size() - kCandidates) + " more";
}

Status NoSuchJob(const std::string& word, const std::vector<JobStatus>& jobs) {
  if (const auto part = ParseLocalPart(word)) {
    return WithHint(InvalidArgument("'" + word + "' is a part of a local run, and a job is needed"),
                    "mrctl why " + word + " explains it; its run is " + LocalName(part->run));
  }
  for (const char* other : {"task_", "attempt_"}) {
    if (word.starts_with(other)) {
      return WithHint(InvalidArgument("'" + word + "' is the id of a task or an attempt, and a job is needed"),
                      "give the job's id, number or name");
    }
  }
  if (ParseWorkerId(word)) {
    return WithHint(InvalidArgument("'" + word + "' is the id of a worker, and a job is needed"),
                    "mrctl worker show " + word + " shows the worker, mrctl jobs lists the jobs");
  }
  if (word.starts_with("job_")) {
    return WithHint(InvalidArgument("'" + word + "' is not a job id such as job_1_0001"), "mrctl jobs lists them");
  }
  std::vector<std::string_view> names = {"last"};
  for (const JobStatus& job : jobs) names.push_back(job.name);
  return WithHint(NotFound("no job has the name '" + word + "'" + DidYouMean(word, names)),
                  "mrctl jobs lists the jobs; a job is named by its id, its number, its name, or `last`");
}

}  // namespace

Result<JobId> FindJob(const std::string& word, const std::vector<JobStatus>& jobs) {
  std::vector<const JobStatus*> found;
  const auto number = JobNumber(word);
  for (const JobStatus& job : jobs) {
    if (number ? job.id.seq == *number : job.name == word) found.push_back(&job);
  }
  if (number && found.empty()) {
    return WithHint(NotFound("no job has the number " + word), "mrctl jobs lists them");
  }
  if (found.empty()) return NoSuchJob(word, jobs);
  if (!number && found.size() > 1) {
    return WithHint(InvalidArgument(std::to_string(found.size()) + " jobs have the name '" + word + "'"),
                    "give the id of one of them: " + Candidates(found));
  }
  return (*std::max_element(found.begin(), found.end(), [](auto a, auto b) { return a->id < b->id; }))->id;
}

Status NotOfLocalRun(const std::string& word, const std::string& what, const std::string& runs_directory) {
  std::string name = word;
  if (const auto last = word == "last" ? Last() : Result<LastJob>(NotFound("")); last.ok()) name = last->id;
  const auto part = ParseLocalPart(name);
  const auto run = part ? std::optional(part->run) : ParseLocalId(name);
  if (!run) return Status::Ok();
  const auto recorded = LocalRuns(runs_directory).Find(*run);
  if (recorded.ok() && !recorded->run.kept_logs.empty()) {
    // Files have the run's number with its zeros, which are optional in names.
    const std::string file =
        part && part->attempt ? "/" + WithLocalNames(part->NameIn({1, 1}), {1, 1}, LocalName(*run)) : "";
    return WithHint(InvalidArgument(name + " belongs to a local run, and its cluster is gone"),
                    "mrctl why " + name + " explains it; " +
                        (file.empty() ? "the logs of its attempts are in " : "its log is ") + recorded->run.kept_logs +
                        file);
  }
  return WithHint(InvalidArgument(name + " belongs to a local run: its cluster is gone, and " + what + " with it"),
                  "mrctl why " + name +
                      " explains it; run it again with --keep-logs DIRECTORY to keep logs, or on a "
                      "cluster");
}

Result<JobId> LastOf(const LastJob& last, const std::string& master) {
  const auto id = ParseJobId(last.id);
  if (!id) {
    return WithHint(InvalidArgument("the last job is " + last.id + ", which is not a job of a cluster"),
                    "name a job of the cluster; mrctl jobs lists them");
  }
  if (last.master == master) return *id;
  return WithHint(InvalidArgument("the last job, " + last.id + ", was submitted to the master at " + last.master +
                                  ", and this command asks the one at " + master),
                  "add --master " + last.master + ", or name a job of this master");
}

Result<std::vector<JobId>> JobIdsOf(Client& client, const std::vector<std::string>& words) {
  std::vector<JobId> ids;
  std::optional<std::vector<JobStatus>> jobs;
  for (const std::string& word : words) {
    if (const auto id = ParseJobId(word)) {
      ids.push_back(*id);
      continue;
    }
    if (word == "last") {
      MR_ASSIGN_OR_RETURN(const LastJob last, Last());
      MR_ASSIGN_OR_RETURN(const JobId id, LastOf(last, client.address()));
      ids.push_back(id);
      continue;
    }
    if (ParseLocalId(word)) {
      return WithHint(InvalidArgument(word + " is the record of a local run, and this command needs a job of a master"),
                      "why, report, trace, job show, job attempts, job tasks, job counters and whatif take it");
    }
    if (!jobs) {
      MR_ASSIGN_OR_RETURN(jobs, client.Jobs());
    }
    MR_ASSIGN_OR_RETURN(const JobId id, FindJob(word, *jobs));
    ids.push_back(id);
  }
  return ids;
}

Result<JobId> JobIdOf(Client& client, const std::string& word) {
  MR_ASSIGN_OR_RETURN(const auto ids, JobIdsOf(client, {word}));
  return ids[0];
}

}  // namespace mr::ctl
