#include "jobs/mrctl/local_end.h"

#include <filesystem>
#include <sstream>

#include "common/io/attempt_log.h"
#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/local_names.h"
#include "jobs/mrctl/terminal_text.h"

namespace mr::ctl {
namespace {

// Numbers of records to print, and of attempts to ask (guesses: enough to see the fault).
constexpr size_t kShown = 3, kAsked = 20;
constexpr std::string_view kSkipped = "bad record, skipped: ";  // worker/task/runner.cc
constexpr std::string_view kUnmatched = "unmatched line: ";     // jobs/builtin/parse.cc

Status CopyTo(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code error;
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error);
  if (!error) return Status::Ok();
  return ErrnoStatus(error.value(), "--keep-logs: cannot copy to " + to.string());
}

// Returns up to `most` lines with a prefix in the logs of the job's attempts, without the prefix.
std::vector<std::string> LinesOfLogs(Client& client, JobId id, std::string_view prefix, size_t most) {
  std::vector<std::string> records;
  const auto attempts = client.Attempts(id);
  if (!attempts.ok()) return records;
  size_t asked = 0;
  for (const AttemptStatus& attempt : *attempts) {
    if (attempt.state != "committed") continue;
    if (++asked > kAsked) break;
    const auto log = client.Logs(*ParseAttemptId(attempt.id));
    if (!log.ok()) continue;
    std::istringstream lines(log->text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(prefix)) records.push_back(line.substr(prefix.size()));
      if (records.size() == most) return records;
    }
  }
  return records;
}

}  // namespace

Status KeepLogs(const std::string& cluster_directory, const std::string& directory, JobId job,
                const std::string& local) {
  if (Status made = MakeDirectories(directory); !made.ok()) return made.With("--keep-logs");
  MR_ASSIGN_OR_RETURN(const auto members, ListDirectory(cluster_directory));
  for (const std::string& member : members) {
    const std::string path = cluster_directory + "/" + member;
    if (member.ends_with(".log")) MR_RETURN_IF_ERROR(CopyTo(path, directory + "/" + member));
    if (!PathExists(path + "/log")) continue;
    MR_ASSIGN_OR_RETURN(const auto logs, ListDirectory(path + "/log"));
    for (const std::string& log : logs) {
      bool failed = false;
      const bool of_attempt = AttemptOfLog(log, &failed).has_value();
      // Under the attempt's name, whether it failed or not.
      const std::string name = log.substr(0, log.size() - (of_attempt && failed ? kFailedLog.size() : 0));
      MR_RETURN_IF_ERROR(CopyTo(path + "/log/" + log, directory + "/" + WithLocalNames(name, job, local)));
    }
  }
  return Status::Ok();
}

std::vector<std::string> SkippedRecords(Client& client, JobId id) { return LinesOfLogs(client, id, kSkipped, kShown); }

std::string UnmatchedText(Client& client, const JobSpec& spec, JobId id, const std::string& output_uri) {
  const auto counters = client.Counters(id);
  std::string text = counters.ok() ? UnmatchedNote(spec, *counters, output_uri) : "";
  if (text.empty()) return text;
  for (const std::string& line : LinesOfLogs(client, id, kUnmatched, 1)) text += TerminalText("  " + line + "\n");
  return text;
}

Status WithRunningOperator(const Status& broken, Client& client, JobId id, const std::string& local) {
  const auto spec = client.Spec(id);
  const auto attempts = client.Attempts(id);
  if (!spec.ok() || !attempts.ok()) return broken;
  std::string ran;
  size_t named = 0;
  for (auto at = attempts->rbegin(); at != attempts->rend() && named < kShown; ++at) {
    const auto attempt = ParseAttemptId(at->id);
    if ((at->state != "running" && at->failure != "lost") || !attempt) continue;
    if (attempt->task.stage >= spec->stages.size()) continue;
    ran += (ran.empty() ? "" : ", ") + WithLocalNames(at->id, id, local) + " of operator " +
           spec->stages[attempt->task.stage].operator_name;
    ++named;
  }
  if (ran.empty()) return broken;
  return WithHint(Status(broken.code(), "the local cluster ended while it ran " + ran + ": " + broken.message()),
                  "an operator must not end its parent process, which is the worker; if the machine ran out of memory, "
                  "use --memory");
}

}  // namespace mr::ctl
