#include "jobs/mrctl/exit_code.h"

#include "common/base/text.h"
#include "jobs/mrctl/refused_action.h"
#include "jobs/mrctl/terminal_text.h"

namespace mr::ctl {
namespace {
// Marks the begin of the hint. Ordinary messages do not contain it.
constexpr char kHintMark[] = "\x1fhint:";
}  // namespace

ExitCode ExitCodeFor(Code code) {
  switch (code) {
    case Code::kOk: return kExitOk;
    case Code::kInvalidArgument: return kExitUsage;
    case Code::kNotFound: return kExitNotFound;
    case Code::kRejected: return kExitRejected;
    case Code::kOverloaded: return kExitRejected;
    case Code::kUnavailable: return kExitNoMaster;
    case Code::kCorrupted: return kExitInternal;
    case Code::kDeadline: return kExitTimeout;
    case Code::kCancelled: return kExitInterrupted;
    case Code::kNotAllowed: return kExitNotAllowed;
    case Code::kInternal: return kExitInternal;
  }
  return kExitInternal;
}

ExitCode ExitOf(const JobStatus& job) {
  switch (job.state) {
    case JobState::kSucceeded: return kExitOk;
    case JobState::kKilled: return kExitJobKilled;
    default: return kExitJobFailed;
  }
}

ExitCode ExitOf(const std::vector<JobStatus>& jobs) {
  for (const JobStatus& job : jobs) {
    if (ExitOf(job) != kExitOk) return ExitOf(job);
  }
  return kExitOk;
}

Status WithHint(const Status& status, const std::string& hint) {
  if (status.ok() || hint.empty() || status.message().find(kHintMark) != std::string::npos) return status;
  return {status.code(), status.message() + kHintMark + hint};
}

Status WithLocalWay(const Status& status, std::string_view verb) {
  struct Way {
    std::string_view verb, text;
  };
  static constexpr Way kWays[] = {
      {"submit", "or run here, without a cluster: mrctl submit --local"},
      {"explain", "or show the plan alone, without a cluster: mrctl explain --local"},
      {"jobs", "or list the local runs: mrctl jobs --local"},
      {"history", "or list the local runs: mrctl history --local"},
      {"whatif", "or name a local run (mrctl history --local lists them)"},
      {"why", "or name a local run (mrctl history --local lists them)"},
      {"report", "or name a local run (mrctl history --local lists them)"},
      {"trace", "or name a local run (mrctl history --local lists them)"},
      {"job", "or name a local run (mrctl history --local lists them)"},
      {"fs", "or name local files as file:///path (ls, cat, text, getmerge)"},
  };
  const size_t mark = status.message().find(kHintMark);
  // The text of no_master.cc.
  if (status.code() != Code::kUnavailable || mark == std::string::npos ||
      !status.message().starts_with("no master: ")) {
    return status;
  }
  for (const Way& way : kWays) {
    if (way.verb == verb) return {status.code(), status.message() + "; " + std::string(way.text)};
  }
  return status;
}

Failure ToFailure(const Status& status) {
  Failure failure{ExitCodeFor(status.code()), CodeName(status.code()), status.message(), ""};
  const size_t mark = failure.message.find(kHintMark);
  if (mark != std::string::npos) {
    failure.hint = failure.message.substr(mark + sizeof kHintMark - 1);
    failure.message.resize(mark);
  }
  if (status.code() == Code::kNotAllowed) failure.message = InWords(std::move(failure.message));
  return failure;
}

std::string FailureText(const Failure& failure) {
  std::string text = "mrctl: " + failure.message;
  if (text.back() != '\n') text += '\n';
  if (!failure.hint.empty()) text += "  " + failure.hint + "\n";
  return TerminalText(text);
}

std::string FailureJson(const Failure& failure) {
  return "{\"version\":1,\"error\":{\"code\":\"" + JsonEscape(failure.code) + "\",\"message\":\"" +
         JsonEscape(failure.message) + "\",\"hint\":\"" + JsonEscape(failure.hint) + "\"}}\n";
}

}  // namespace mr::ctl
