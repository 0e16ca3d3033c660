// mrctl logs: the logs of one attempt, of a task or of a whole job.
#include <algorithm>
#include <cstdio>
#include <optional>

#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/job_ref.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// Lines of each of several attempts (guess: enough to choose one of them).
constexpr uint64_t kLinesOfEach = 20;
constexpr size_t kMaxAttempts = 100;

std::string LastLines(const std::string& text, uint64_t lines) {
  if (lines == 0) return "";
  size_t at = text.size();
  if (at != 0 && text[at - 1] == '\n') --at;
  for (; lines > 0; --lines) {
    const size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    if (before == std::string::npos) return text;
    at = before;
  }
  return text.substr(at + 1);
}

// Returns the attempts of a job or of one task: failed ones first, each group sorted by task.
Result<std::vector<AttemptStatus>> AttemptsOf(Client& client, const std::string& word) {
  std::optional<JobId> job;
  // A task's name is an attempt's name without its number.
  const bool is_task = word.starts_with("task_");
  const std::string prefix = is_task ? "attempt_" + word.substr(5) + "_" : "";
  if (is_task) {
    if (const auto any = ParseAttemptId(prefix + "1")) job = any->task.job;
  }
  if (!job.has_value() && (is_task || word.starts_with("attempt_"))) {
    return WithHint(InvalidArgument("'" + word + "' is no id of a task or attempt"),
                    "mrctl job tasks JOB and mrctl job attempts JOB list them");
  }
  if (!job.has_value()) {
    MR_ASSIGN_OR_RETURN(job, JobIdOf(client, word));
  }
  MR_ASSIGN_OR_RETURN(auto attempts, client.Attempts(*job));
  std::erase_if(attempts, [&](const AttemptStatus& a) { return !a.id.starts_with(prefix); });
  if (is_task && attempts.empty()) {
    return WithHint(NotFound("no attempt of " + word + " was launched"),
                    "mrctl job tasks " + Name(*job) + " lists the tasks");
  }
  std::stable_partition(attempts.begin(), attempts.end(), [](const AttemptStatus& a) { return a.state == "failed"; });
  return attempts;
}

// Returns one attempt's log unchanged, for standard output, with its note.
Result<AttemptLog> OneLog(Client& client, const std::string& word, AttemptId id, const Command& command) {
  MR_ASSIGN_OR_RETURN(AttemptLog log, client.Logs(id));
  log.id = word;
  if (command.tail.has_value()) log.text = LastLines(log.text, *command.tail);
  return log;
}

Status AddLogs(Client& client, const std::string& word, const Command& command, const Settings& settings,
               std::vector<AttemptLog>* logs) {
  MR_ASSIGN_OR_RETURN(const auto attempts, AttemptsOf(client, word));
  size_t asked = 0, silent = 0;
  for (const AttemptStatus& attempt : attempts) {
    if (asked == kMaxAttempts) break;
    auto log = client.Logs(*ParseAttemptId(attempt.id));
    if (!log.ok()) return log.status();
    ++asked;
    if (log->text.empty() && log->note.empty()) {
      ++silent;
      continue;
    }
    logs->push_back({attempt.id, attempt.worker, attempt.state,
                     LastLines(log->text, command.tail.value_or(kLinesOfEach)), log->note});
  }
  if (settings.quiet) return Status::Ok();
  if (silent != 0) std::fprintf(stderr, "%s: %zu of %zu attempts wrote nothing\n", word.c_str(), silent, asked);
  if (asked < attempts.size()) {
    std::fprintf(
        stderr,
        "%s: only the first %zu of %zu attempts were read; give the id of a task or an attempt for the others\n",
        word.c_str(), asked, attempts.size());
  }
  if (attempts.empty()) std::fprintf(stderr, "%s has no attempts yet\n", word.c_str());
  return Status::Ok();
}

}  // namespace

Result<int> RunLogs(const Command& command, const Settings& settings) {
  Client client(settings.master);
  std::vector<AttemptLog> logs;
  for (const std::string& word : command.args) {
    if (const auto id = ParseAttemptId(word)) {
      MR_ASSIGN_OR_RETURN(AttemptLog log, OneLog(client, word, *id, command));
      if (settings.form != OutputForm::kTable) {
        logs.push_back(std::move(log));
        continue;
      }
      if (!log.note.empty() && !settings.quiet) std::fprintf(stderr, "%s: %s\n", word.c_str(), log.note.c_str());
      Print(log.text);
      continue;
    }
    MR_RETURN_IF_ERROR(AddLogs(client, word, command, settings, &logs));
    if (settings.form != OutputForm::kTable) continue;
    Print(RenderLogs(logs, settings.form));
    logs.clear();
  }
  if (settings.form != OutputForm::kTable) Print(RenderLogs(logs, settings.form));
  return kExitOk;
}

}  // namespace mr::ctl
