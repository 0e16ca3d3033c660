// mrctl logs: the logs of one attempt, of a task or of a whole job.
#include "jobs/mrctl/logs.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "common/base/count.h"
#include "common/base/text.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/job_ref.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

// Lines of each of several attempts (guess: enough to choose one of them).
constexpr uint64_t kLinesOfEach = 20;
constexpr size_t kMaxAttempts = 100;

// Returns one attempt's log unchanged, for standard output, with its note.
Result<AttemptLog> OneLog(Client& client, const LogSubject& subject, const Command& command) {
  MR_ASSIGN_OR_RETURN(AttemptLog log, client.Logs(*subject.attempt));
  log.id = subject.word;
  if (log.note.empty() && log.start > 0 && !command.tail) {
    log.note = "these are the last " + HumanBytes(log.text.size()) + " of " + HumanBytes(log.start + log.text.size()) +
               "; --grep reads all of it";
  }
  if (command.tail.has_value()) log.text = LastLines(log.text, *command.tail);
  return log;
}

Status AddLogs(Client& client, const LogSubject& subject, const Command& command, const Settings& settings,
               std::vector<AttemptLog>* logs) {
  MR_ASSIGN_OR_RETURN(const auto attempts, AttemptsOf(client, subject));
  const std::string& word = subject.word;
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
    log->id = attempt.id;
    log->worker = attempt.worker;
    log->state = attempt.state;
    log->text = LastLines(log->text, command.tail.value_or(kLinesOfEach));
    logs->push_back(*std::move(log));
  }
  if (settings.quiet) return Status::Ok();
  if (silent != 0)
    PrintErr(word + ": " + std::to_string(silent) + " of " + CountOf(asked, "attempt") + " wrote nothing and " +
             (silent == 1 ? "has" : "have") + " not failed\n");
  if (asked < attempts.size()) {
    PrintErr(word + ": only the first " + std::to_string(asked) + " of " + std::to_string(attempts.size()) +
             " attempts were read; give the id of a task or an attempt for the others\n");
  }
  if (attempts.empty()) PrintErr(word + " has no attempts yet\n");
  return Status::Ok();
}

// Returns the lines of one attempt's log that match. Reads the whole log, in pieces.
Result<AttemptLog> Matches(Client& client, const AttemptStatus& attempt, const LogPattern& pattern,
                           const Command& command, const Settings& settings) {
  const bool table = settings.form == OutputForm::kTable;
  LogLines lines({table ? attempt.id + ": " : "", pattern, table && isatty(1) == 1});
  AttemptLog found{attempt.id, attempt.worker, attempt.state, "", ""};
  for (uint64_t from = 0; true;) {
    MR_ASSIGN_OR_RETURN(const AttemptLog piece, client.Logs(*ParseAttemptId(attempt.id), from));
    if (found.note.empty()) found.note = piece.note;
    if (found.worker.empty()) found.worker = piece.worker;
    if (piece.text.empty()) break;
    if (piece.start + piece.text.size() <= from) return Internal("the master repeats a part of a log");
    found.text += lines.Add(piece.text);
    from = piece.start + piece.text.size();
  }
  found.text += lines.Finish();
  if (command.tail) found.text = LastLines(found.text, *command.tail);
  return found;
}

Status AddMatches(Client& client, const LogSubject& subject, const LogPattern& pattern, const Command& command,
                  const Settings& settings, std::vector<AttemptLog>* logs) {
  std::vector<AttemptStatus> attempts;
  if (subject.attempt) {
    attempts.emplace_back().id = subject.word;
  } else {
    MR_ASSIGN_OR_RETURN(attempts, AttemptsOf(client, subject));
  }
  bool found = false;
  for (const AttemptStatus& attempt : attempts) {
    MR_ASSIGN_OR_RETURN(AttemptLog log, Matches(client, attempt, pattern, command, settings));
    if (!log.note.empty() && !settings.quiet) {
      PrintErr(attempt.id + ": " + log.note + "\n");
    }
    if (log.text.empty()) continue;
    found = true;
    if (settings.form == OutputForm::kTable)
      Print(log.text);
    else
      logs->push_back(std::move(log));
  }
  if (!found && !settings.quiet) {
    PrintErr(subject.word + ": no line of " + std::to_string(attempts.size()) +
             (attempts.size() == 1 ? " attempt" : " attempts") + " matches\n");
  }
  return Status::Ok();
}

Status AddPlain(Client& client, const LogSubject& subject, const Command& command, const Settings& settings,
                std::vector<AttemptLog>* logs) {
  const bool table = settings.form == OutputForm::kTable;
  if (!subject.attempt) {
    MR_RETURN_IF_ERROR(AddLogs(client, subject, command, settings, logs));
    if (!table) return Status::Ok();
    Print(RenderLogs(*logs, settings.form));
    logs->clear();
    return Status::Ok();
  }
  MR_ASSIGN_OR_RETURN(AttemptLog log, OneLog(client, subject, command));
  if (!table) {
    logs->push_back(std::move(log));
    return Status::Ok();
  }
  if (!log.note.empty() && !settings.quiet) PrintErr(log.id + ": " + log.note + "\n");
  Print(log.text);
  return Status::Ok();
}

}  // namespace

Result<LogSubject> FindLogSubject(Client& client, const std::string& word) {
  LogSubject subject{word, {}, ParseAttemptId(word), ""};
  if (subject.attempt) {
    subject.job = subject.attempt->task.job;
    subject.prefix = word;
    return subject;
  }
  // A task's name is an attempt's name without its number.
  const bool is_task = word.starts_with("task_");
  if (is_task) {
    subject.prefix = "attempt_" + word.substr(5) + "_";
    if (const auto any = ParseAttemptId(subject.prefix + "1")) {
      subject.job = any->task.job;
      return subject;
    }
  }
  if (is_task || word.starts_with("attempt_")) {
    return WithHint(InvalidArgument("'" + word + "' is no id of a task or attempt"),
                    "mrctl job tasks JOB and mrctl job attempts JOB list them");
  }
  MR_ASSIGN_OR_RETURN(subject.job, JobIdOf(client, word));
  return subject;
}

Result<std::vector<AttemptStatus>> AttemptsOf(Client& client, const LogSubject& subject) {
  MR_ASSIGN_OR_RETURN(auto attempts, client.Attempts(subject.job));
  std::erase_if(attempts, [&](const AttemptStatus& a) { return !subject.Has(a.id); });
  if (!subject.prefix.empty() && attempts.empty()) {
    return WithHint(NotFound("no attempt of " + subject.word + " was launched"),
                    "mrctl job tasks " + Name(subject.job) + " lists the tasks");
  }
  std::stable_partition(attempts.begin(), attempts.end(), [](const AttemptStatus& a) { return a.state == "failed"; });
  return attempts;
}

Result<int> RunLogs(const Command& command, const Settings& settings) {
  LogPattern pattern;
  if (!command.grep.empty()) {
    MR_ASSIGN_OR_RETURN(pattern, MakeLogPattern(command.grep));
  }
  if (command.follow_logs) {
    if (command.args.size() != 1) return InvalidArgument("logs -f follows one job, task or attempt");
    if (settings.form == OutputForm::kJson) {
      return WithHint(InvalidArgument("logs -f cannot print one document"), "use -o ndjson: an object per piece");
    }
    if (pattern != nullptr && command.tail) return InvalidArgument("logs -f takes --tail or --grep, not both");
  }
  for (const std::string& word : command.args)
    MR_RETURN_IF_ERROR(NotOfLocalRun(word, "its logs", settings.runs_directory));
  Client client(settings.master);
  std::vector<AttemptLog> logs;
  for (const std::string& word : command.args) {
    MR_ASSIGN_OR_RETURN(const LogSubject subject, FindLogSubject(client, word));
    if (command.follow_logs) {
      const Status followed = FollowLogs(client, subject, pattern, command, settings);
      if (followed.code() == Code::kCancelled) return kExitInterrupted;  // the normal way to end it
      MR_RETURN_IF_ERROR(followed);
      return kExitOk;
    }
    MR_RETURN_IF_ERROR(pattern != nullptr ? AddMatches(client, subject, pattern, command, settings, &logs)
                                          : AddPlain(client, subject, command, settings, &logs));
  }
  if (settings.form != OutputForm::kTable) Print(RenderLogs(logs, settings.form));
  return kExitOk;
}

}  // namespace mr::ctl
