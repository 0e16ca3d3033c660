#include "jobs/mrctl/check_attempts.h"

#include <algorithm>
#include <set>
#include <string>

#include "common/base/count.h"
#include "jobs/mrctl/stack_text.h"
#include "jobs/mrctl/terminal_text.h"

namespace mr::ctl {
namespace {

constexpr size_t kMostLogs = 20;                // a guess: the longest-running attempts of a job
constexpr uint64_t kLongAttemptUs = 1'000'000;  // a worker samples none before
constexpr Duration kLogsTime = Seconds(10);     // a guess, for all jobs

}  // namespace

std::vector<Check> CheckAttempts(const AttemptSources& from, const std::vector<JobStatus>& jobs,
                                 const std::string& prefix) {
  std::vector<Check> checks;
  const Instant end = from.now() + kLogsTime;
  std::set<std::string> silent;
  size_t skipped_jobs = 0, skipped_logs = 0;
  for (const JobStatus& job : jobs) {
    if (Ended(job.state)) continue;
    if (from.now() >= end) {
      ++skipped_jobs;
      continue;
    }
    auto attempts = from.attempts(job.id);
    if (!attempts.ok()) continue;
    std::erase_if(*attempts, [](const AttemptStatus& a) { return a.state != "running" || a.ran_us < kLongAttemptUs; });
    std::stable_sort(attempts->begin(), attempts->end(),
                     [](const AttemptStatus& a, const AttemptStatus& b) { return a.ran_us > b.ran_us; });
    attempts->resize(std::min(attempts->size(), kMostLogs));
    for (const AttemptStatus& attempt : *attempts) {
      if (from.now() >= end || silent.contains(attempt.worker)) {
        ++skipped_logs;
        continue;
      }
      const auto log = from.log(*ParseAttemptId(attempt.id));
      if (!log.ok() && log.status().code() != Code::kNotFound && log.status().code() != Code::kNotAllowed) {
        silent.insert(attempt.worker);
        ++skipped_logs;
      }
      const LoggedStack stack = log.ok() ? StackOf(log->text) : LoggedStack();
      if (stack.lines.empty() || stack.crashed) continue;
      std::string text = attempt.id + " on " + attempt.worker + ": " + stack.lines[0];
      if (stack.lines.size() > 1) text += stack.lines[1].substr(1);
      checks.push_back({"attempts", Verdict::kWarn, TerminalText(text), prefix + "why " + attempt.id});
    }
  }
  if (skipped_jobs + skipped_logs == 0) return checks;
  std::string text = "not all were checked for stacks without progress: the logs of " +
                     CountOf(skipped_logs, "attempt") + " and " + CountOf(skipped_jobs, "job") + " were left out";
  if (!silent.empty()) text += "; no answer from " + UpTo({silent.begin(), silent.end()});
  checks.push_back({"attempts", Verdict::kWarn, text, prefix + "logs ATTEMPT shows one of them"});
  return checks;
}

}  // namespace mr::ctl
