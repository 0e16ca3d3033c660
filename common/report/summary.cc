// The five lines of `mrctl why JOB`.
#include <algorithm>

#include "common/base/text.h"
#include "common/model/attempt.h"
#include "common/report/internal_stages.h"
#include "common/report/one_line.h"
#include "common/report/phrases.h"
#include "common/report/report.h"

namespace mr::report {
namespace {

constexpr double kWorthNaming = 0.03;  // of the job's time; a guess
constexpr size_t kNowNamed = 3;        // a guess
constexpr double kKnownRate = 0.05;    // progress below which a remaining time is a guess

uint64_t SlotTime(const Report& report) {
  uint64_t sum = 0;
  for (const Interval& at : report.timeline.attempts()) sum += at.ran();
  return sum;
}

std::string Outcome(const Report& report) {
  const JobRun& run = report.run;
  size_t workers = 0;
  for (const Lanes& worker : report.timeline.workers()) workers += worker.lanes > 0;
  std::string line = Name(run.job) + " (" + run.job.name + ") " + (Ended(run.job.state) ? "" : "is ") +
                     Word(run.job.state) + (Ended(run.job.state) ? " after " : " for ") + Us(run.job.elapsed_us);
  if (const uint64_t late = LateUs(run.job); late > 0) {
    line += ", " + Us(late) + " after its deadline of " + Us(run.job.deadline->deadline_us);
  } else if (run.job.deadline && run.job.deadline->deadline_us > 0 && run.job.state == JobState::kSucceeded) {
    line += ", within its deadline of " + Us(run.job.deadline->deadline_us);
  }
  if (!run.job.error.empty()) line += ": " + OneLine(run.job.error);
  return Sentence(line) + " " + CountOf(run.tasks.size(), "task") + ", " +
         CountOf(report.timeline.attempts().size(), "attempt") + " on " + CountOf(workers, "worker") + ", " +
         Us(SlotTime(report)) + " of slot time.";
}

std::string WhereTheTimeWent(const Report& report, bool all_stages) {
  std::vector<std::string> names;
  for (const StageSpec& stage : report.run.spec.stages) names.push_back(stage.name);
  std::vector<Share> shares;
  Share prepared;  // all internal stages together
  for (const Share& s : report.path.shares) {
    if (all_stages || s.stage >= names.size() || !IsInternalStage(names[s.stage], names)) {
      shares.push_back(s);
      continue;
    }
    prepared.stage = s.stage;
    prepared.us += s.us;
    prepared.share += s.share;
  }
  if (prepared.stage != kNoStage) shares.push_back(prepared);
  std::stable_sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) { return a.us > b.us; });
  std::string line;
  for (const Share& s : shares) {
    if (s.share < kWorthNaming && !line.empty()) break;
    const bool joined = prepared.stage != kNoStage && s.stage == prepared.stage;
    const std::string name = joined ? "preparation (stages that the job adds)" : Describe(s.kind, s.stage, report.run);
    line += (line.empty() ? "" : "; ") + name + " " + Percent(s.share);
  }
  return "Time (critical path): " + (line.empty() ? std::string("none yet") : line) + ".";
}

// Returns how much later the task would have ended without this attempt, by the progress of those launched before it
// when they were stopped; 0: not known, or there were none.
uint64_t Saved(const Report& report, const Interval& winner) {
  uint64_t saved = 0;
  for (const size_t i : report.timeline.Of(winner.id.task.stage, winner.id.task.task)) {
    const Interval& other = report.timeline.attempts()[i];
    if (&other == &winner || other.status->failure != "killed" || other.launched > winner.launched) continue;
    if (other.status->progress < kKnownRate) continue;
    const double end = static_cast<double>(other.launched) + static_cast<double>(other.ran()) / other.status->progress;
    saved = std::max(saved, static_cast<uint64_t>(std::max(0.0, end - static_cast<double>(winner.ended))));
  }
  return saved;
}

// "3 clones on idle slots"; empty for attempts that are no remedy against stragglers.
std::string Remedies(const CauseStatus& cause) {
  const auto is = [&cause](Cause c) { return cause.cause == CauseName(c); };
  if (is(Cause::kSpeculative)) return CountOf(cause.launched, "speculative attempt");
  if (is(Cause::kRestart)) return CountOf(cause.launched, "restart");
  if (is(Cause::kClone)) return CountOf(cause.launched, "clone");
  if (!is(Cause::kOpportunistic)) return "";
  return CountOf(cause.launched, "clone") + (cause.launched == 1 ? " on an idle slot" : " on idle slots");
}

std::string AgainstStragglers(const Report& report) {
  std::string counts;
  uint64_t cost = 0, saved = 0;
  for (const CauseStatus& cause : report.run.job.causes) {
    const std::string remedies = Remedies(cause);
    if (remedies.empty() || cause.launched == 0) continue;
    counts += (counts.empty() ? "" : ", ") + remedies + " (" + Grouped(cause.won) + " won)";
    cost += cause.wasted_us;
  }
  if (counts.empty()) {
    const bool asked = report.run.spec.clones == Wish::kOn;
    return std::string("Against stragglers: no speculative attempt, clone or restart was launched") +
           (asked
                ? "; --clone on allows clones, and its policy launched none: it found them useless for so few workers "
                  "or such rare stragglers, or had no slots for them."
                : ".");
  }
  for (const Interval& at : report.timeline.attempts()) {
    if (at.status->won) saved += Saved(report, at);
  }
  const uint64_t all = SlotTime(report);
  std::string line = "Against stragglers: " + counts + "; " + Us(cost) + " of slot time did not win";
  if (all > 0) line += " (" + Percent(static_cast<double>(cost) / static_cast<double>(all)) + ")";
  if (saved > 0) line += ", and the attempts that were overtaken would have run about " + Us(saved) + " longer";
  return line + ".";
}

// Returns why a job that has not ended makes no progress; empty where it does, or nothing is known.
std::string Now(const JobRun& run) {
  std::vector<std::string> lines = run.job.hung;
  lines.insert(lines.end(), run.job.waits.begin(), run.job.waits.end());
  if (Ended(run.job.state) || lines.empty()) return "";
  std::string line = "Now: " + lines.front();
  for (size_t i = 1; i < std::min<size_t>(lines.size(), kNowNamed); ++i) line += "; " + lines[i];
  if (lines.size() > kNowNamed) line += "; and " + Grouped(lines.size() - kNowNamed) + " more";
  return Sentence(line);
}

std::string WhatWouldHelp(const Report& report) {
  const JobRun& run = report.run;
  if (std::string now = Now(run); !now.empty()) return now;
  if (report.findings.empty()) {
    if (run.job.state == JobState::kKilled)
      return "What would help: nothing failed, it was killed. It has no output; submit it again to get one.";
    if (run.job.state == JobState::kFailed) return "What would help: the first line has its error.";
    return "What would help: nothing stands out.";
  }
  const Finding& first = report.findings.front();
  std::string line = "What would help: " + first.text + " " + first.advice;
  if (!first.command.empty() && !run.gone) line += " (" + first.command + ")";
  if (report.findings.size() > 1)
    line += " The report has " + CountOf(report.findings.size() - 1, "more finding") + ".";
  return line;
}

std::string Next(const Report& report) {
  const std::string id = Name(report.run.job);
  if (report.run.job.state == JobState::kFailed && !report.run.gone) {
    for (auto at = report.timeline.attempts().rbegin(); at != report.timeline.attempts().rend(); ++at) {
      if (at->status->state == "failed") return "Next: mrctl logs " + at->status->id;
    }
  }
  return "Next: mrctl report " + id + " > " + id + ".html";
}

}  // namespace

std::vector<std::string> Summary(const Report& report, bool all_stages) {
  std::vector<std::string> lines = {Outcome(report), WhereTheTimeWent(report, all_stages), AgainstStragglers(report),
                                    WhatWouldHelp(report)};
  if (!report.run.gone || !report.run.job.local_id.empty()) lines.push_back(Next(report));
  return lines;
}

std::vector<std::string> WhyOf(const JobRun& run, const std::string& name, bool attempt) {
  // An attempt's name is its task's name with a number behind it: task_1_0001_0_m_000000, attempt_1_0001_0_m_000000_1.
  const std::string task = attempt ? "" : "attempt" + name.substr(std::min(name.find('_'), name.size())) + "_";
  const auto concerns = [&](const std::string& other) { return attempt ? other == name : other.starts_with(task); };
  std::vector<std::pair<uint64_t, std::string>> timed;
  for (const DecisionStatus& d : run.decisions) {
    if (!concerns(d.attempt)) continue;
    timed.emplace_back(d.at_us, d.what + " " + d.attempt + (d.worker.empty() ? "" : " on " + d.worker) +
                                    (d.reason.empty() ? "" : ": " + d.reason));
  }
  for (const AttemptStatus& at : run.attempts) {
    if (!concerns(at.id) || at.ended_us == 0) continue;
    timed.emplace_back(at.ended_us, at.state + " " + at.id + (at.worker.empty() ? "" : " on " + at.worker) + " after " +
                                        Us(at.ran_us) + (at.message.empty() ? "" : ": " + OneLine(at.message)));
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lines;
  lines.reserve(timed.size());
  for (const auto& [at_us, text] : timed) lines.push_back("at " + Us(at_us) + ": " + text);
  return lines;
}

}  // namespace mr::report
