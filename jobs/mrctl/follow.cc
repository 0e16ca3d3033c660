#include "jobs/mrctl/follow.h"

#include <algorithm>

#include "common/base/count.h"
#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/model/attempt.h"
#include "jobs/mrctl/argv_split.h"
#include "jobs/mrctl/local_names.h"
#include "jobs/mrctl/progress.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/status_lines.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

constexpr Duration kTick = Millis(500);
constexpr Duration kQuiet = Seconds(10);  // a line is printed at least so often
constexpr Duration kRetryPause = Millis(200);
constexpr int kErrorLines = 8;  // of at most ten lines

}  // namespace

Status TryAgain(Client& client, Status broken, const Settings& settings, const std::function<Status()>& ask) {
  const Instant limit = TimeLimit().value_or(Now() + Seconds(kMasterGraceSeconds));
  if (!settings.quiet) {
    const std::string how_long = TimeLimit() ? "until --timeout" : "for " + std::to_string(kMasterGraceSeconds) + " s";
    PrintErr("mrctl: " + ToFailure(broken).message + "; trying again " + how_long + "\n");
  }
  while (broken.code() == Code::kUnavailable && Now() < limit) {
    if (WaitFor(-1, Earlier(Now() + kRetryPause, limit)) == Woken::kInterrupted) return InterruptedStatus();
    if (Now() >= limit) break;
    client.Reconnect();
    broken = ask();
  }
  const bool expired = TimeLimit().has_value() && Now() >= *TimeLimit();
  if (expired && (broken.code() == Code::kUnavailable || broken.code() == Code::kDeadline)) {
    return {Code::kDeadline, TimeoutStatus().message() + " while no master answered at " + client.address()};
  }
  return broken;
}

Result<JobStatus> Follow(Client& client, JobId id, const Settings& settings,
                         const std::function<Status()>& still_possible, const std::string& local_id) {
  Progress progress(ProgressOfStderr(settings.progress && settings.form == OutputForm::kTable, settings.verbose),
                    stderr);
  StatusLines lines(settings.status_fd);
  Status watching = client.Watch(id);
  Instant checked = Now(), shown = checked;
  while (true) {
    if (!watching.ok()) {
      if (watching.code() != Code::kUnavailable) return watching;
      MR_RETURN_IF_ERROR(still_possible());
      watching = TryAgain(client, watching, settings, [&] { return client.Watch(id); });
      if (!watching.ok()) return watching;
    }
    auto status = client.NextStatus(Now() + kTick);
    if (!status.ok()) {
      watching = status.status();
      continue;
    }
    if (status->has_value()) {
      UseLocalNames(&**status, local_id);
      progress.Show(**status, Now());
      shown = Now();
      MR_RETURN_IF_ERROR(lines.Show(**status));
      if (Ended((*status)->state)) return **std::move(status);
    } else if (Now() - shown >= kQuiet) {
      // The master reports changes only. Why a job waits may be another reason by now.
      if (auto job = client.Job(id); job.ok() && !Ended(job->state)) {
        UseLocalNames(&*job, local_id);
        progress.Show(*job, Now());
      }
      shown = Now();
    }
    if (Now() - checked >= kTick) {
      checked = Now();
      MR_RETURN_IF_ERROR(lines.Check());
      MR_RETURN_IF_ERROR(still_possible());
    }
  }
}

std::string ReplayOfFailure(const JobStatus& job, const std::optional<std::string>& library) {
  static const std::string kAttempt = ", the last time as ";  // master/sched/fold/apply_attempt.cc
  const size_t at = job.error.find(kAttempt), begin = at + kAttempt.size(), end = job.error.find(" on ", begin);
  if (job.state != JobState::kFailed || at == std::string::npos || end == std::string::npos) return "";
  const std::string line = job.error.substr(end, job.error.find('\n', end) - end);
  const bool crashed = line.find(" crashed: SIG") != std::string::npos;  // worker/host/running.cc
  // The SDK's words for an exception (adapter.h). Built-in jobs explain their failures in the message.
  const bool threw = line.find(": operator ") != std::string::npos && line.find(" failed: ") != std::string::npos;
  if (!crashed && !(threw && library.has_value() && !library->empty())) return "";
  const std::string attempt = job.error.substr(begin, end - begin);
  if (!ParseAttemptId(attempt) && !ParseLocalPart(attempt)) return "";
  const std::string lib = library.value_or("LIB.so");
  return "task replay " + attempt + (lib.empty() ? "" : " --lib " + ShellWords({lib})) + (crashed ? " --gdb" : "");
}

std::string NoCloneNote(const JobStatus& job, Wish wish, const std::string& master) {
  const auto cloned = [](const CauseStatus& cause) {
    return cause.launched > 0 &&
           (cause.cause == CauseName(Cause::kClone) || cause.cause == CauseName(Cause::kOpportunistic));
  };
  if (wish != Wish::kOn || std::any_of(job.causes.begin(), job.causes.end(), cloned)) return "";
  return "mrctl: --clone on: no clone was launched; " + CommandPrefix(master.empty() ? kDefaultMaster : master) +
         "why " + Name(job) +
         " says more. To check that an operator is deterministic, use mr::ExpectDeterministic (docs/sdk.md)\n";
}

std::string CommandPrefix(const std::string& master) {
  return master == kDefaultMaster ? "mrctl " : "mrctl --master " + master + " ";
}

namespace {

// Returns the master's error. Its command for the log gets the address `master`, or is removed if no cluster is left.
std::string ErrorText(const JobStatus& job, const std::string& master) {
  static const std::string kBegin = " (its log: mrctl ";  // master/sched/fold/apply_attempt.cc
  std::string text = job.error;
  if (master.empty()) return WithoutLogCommand(std::move(text));
  const size_t at = text.find(kBegin);
  const size_t end = text.find(')', std::min(at, text.size()));
  if (end == std::string::npos) return text;
  const size_t command = at + kBegin.size() - std::string("mrctl ").size();
  return text.replace(command, std::string("mrctl ").size(), CommandPrefix(master));
}

// Returns what a killed job has left.
std::string LeftByKilled(const JobStatus& job) {
  return job.output_uri.empty() ? "nothing was written" : "nothing was written to " + job.output_uri;
}

// Returns what to do after a job that did not succeed.
std::string NextStep(const JobStatus& job, const std::string& master, const std::string& next,
                     const std::optional<std::string>& library) {
  if (master.empty()) return next;
  const std::string replay = ReplayOfFailure(job, library);
  if (!replay.empty()) return CommandPrefix(master) + replay;
  if (job.state != JobState::kKilled) return CommandPrefix(master) + "job attempts " + Name(job);
  return "submit it again to get its output; " + CommandPrefix(master) + "why " + Name(job) + " shows how far it came";
}

bool IsParse(const StageSpec& stage) {
  return stage.operator_name == "parse.lines" || stage.operator_name == "parse.rows";
}

}  // namespace

std::string EndText(const JobStatus& job, const std::string& master, const std::string& next,
                    const std::optional<std::string>& library) {
  const std::string took = HumanDuration(Micros(static_cast<int64_t>(job.elapsed_us)));
  if (job.state == JobState::kSucceeded) {
    std::string extra;
    for (const std::string& line : ExtraAttempts(job)) extra += "  " + line + "\n";
    for (const std::string& warning : job.warnings) extra += "  warning: " + warning + "\n";
    const std::string parts =
        " in " + std::to_string(job.output_parts) + (job.output_parts == 1 ? " part of " : " parts of ");
    const std::string where = job.output_uri.empty() ? " to standard output" : parts + job.output_uri;
    return TerminalText(Name(job) + " succeeded in " + took + ": " + Grouped(job.output_records) +
                        (job.output_records == 1 ? " record, " : " records, ") + HumanBytes(job.output_bytes) + where +
                        "\n" + extra);
  }
  const bool killed = job.state == JobState::kKilled;
  std::string text = Name(job) + (killed ? " was killed after " : " failed after ") + took + "\n";
  const std::string error = ErrorText(job, master);
  size_t at = 0;
  for (int i = 0; i < (killed ? kErrorLines - 1 : kErrorLines) && at < error.size(); ++i) {
    const size_t end = std::min(error.find('\n', at), error.size());
    text += "  " + error.substr(at, end - at) + "\n";
    at = end + 1;
  }
  if (killed) text += "  " + LeftByKilled(job) + "\n";
  const std::string then = NextStep(job, master, next, library);
  return TerminalText(then.empty() ? text : text + "next: " + then + "\n");
}

bool HasParse(const JobSpec& spec) { return std::any_of(spec.stages.begin(), spec.stages.end(), IsParse); }

std::string UnmatchedNote(const JobSpec& spec, const std::vector<CounterValue>& counters,
                          const std::string& output_uri) {
  int64_t matched = 0, unmatched = 0;
  for (const StageSpec& stage : spec.stages) {
    if (!IsParse(stage)) continue;
    for (const CounterValue& counter : counters) {
      if (counter.group != stage.name) continue;
      if (counter.name == "lines") matched += counter.value;
      if (counter.name == "unmatched lines") unmatched += counter.value;
    }
  }
  if (unmatched == 0) return "";
  const bool one = unmatched == 1;
  const std::string lines = matched == 0
                                ? "parse matched no line (" + CountOf(static_cast<uint64_t>(unmatched), "line") + ")"
                                : "parse matched " + Grouped(static_cast<uint64_t>(matched)) + " of " +
                                      CountOf(static_cast<uint64_t>(matched + unmatched), "line");
  const std::string they = matched == 0 ? (one ? "; it is " : "; they are ")
                           : one        ? "; the other is "
                                        : "; the others are ";
  return TerminalText("mrctl: warning: " + lines + they +
                      (output_uri.empty() ? "not in the output: with --output DIRECTORY " +
                                                std::string(one ? "it is" : "they are") + " in its files _unmatched-*"
                                          : "in " + output_uri + "/_unmatched-*") +
                      "\n");
}

Failure EndFailure(const JobStatus& job, const std::string& master, const std::string& next,
                   const std::optional<std::string>& library) {
  const bool killed = job.state == JobState::kKilled;
  return {ExitOf(job), killed ? "job_killed" : "job_failed", ErrorText(job, master),
          NextStep(job, master, next, library)};
}

Status GoesOn(const Status& status, JobId id, const std::string& master) {
  if (status.code() != Code::kCancelled && status.code() != Code::kDeadline) return status;
  const std::string prefix = CommandPrefix(master);
  return WithHint(Status(status.code(), status.message() + ": " + Name(id) + " goes on"),
                  "follow it again with `" + prefix + "attach " + Name(id) + "`, end it with `" + prefix + "kill " +
                      Name(id) + "`");
}

}  // namespace mr::ctl
