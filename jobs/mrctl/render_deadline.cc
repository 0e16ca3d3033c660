// Deadlines, predictions and guarantees as text, for explain and job show.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "common/base/count.h"
#include "common/base/text.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

constexpr size_t kBar = 40;  // characters of the longest bar

std::string Took(uint64_t us) { return HumanDuration(Micros(static_cast<int64_t>(us))); }

std::string Bar(uint64_t value, uint64_t most, size_t cells, char c) {
  return std::string(most == 0 ? 0 : std::max<size_t>(value > 0, value * cells / most), c);
}

std::string Line(const char* name, const std::string& value) {
  std::string padded = name;
  padded.resize(12, ' ');
  return padded + value + "\n";
}

// Below this, deadlines are shown with seconds.
constexpr uint64_t kShortUs = 600'000'000;

// Returns the local time of day, with the date if that is not the day of `now_ms`.
std::string TimeOfDay(uint64_t unix_ms, uint64_t now_ms, bool seconds) {
  const auto at = static_cast<time_t>(unix_ms / 1000), now = static_cast<time_t>(now_ms / 1000);
  tm parts{}, today{};
  localtime_r(&at, &parts);
  localtime_r(&now, &today);
  const bool same_day = parts.tm_yday == today.tm_yday && parts.tm_year == today.tm_year;
  char text[48];
  const size_t day = same_day ? 0 : std::strftime(text, sizeof text, "%Y-%m-%d ", &parts);
  std::strftime(text + day, sizeof text - day, seconds ? "%H:%M:%S" : "%H:%M", &parts);
  return text;
}

// Returns a spread in whole minutes, or in seconds where the ends are shown with seconds.
std::string SpreadText(uint64_t us, bool seconds) {
  const uint64_t unit = seconds ? 1'000'000 : 60'000'000;
  return std::to_string((us + unit - 1) / unit) + (seconds ? " s" : " min");
}

}  // namespace

std::string DeadlineLine(const JobStatus& job) {
  if (!job.deadline || Ended(job.state)) return "";
  const DeadlineStatus& d = *job.deadline;
  const bool missed = d.deadline_us > 0 && job.elapsed_us > d.deadline_us;
  if (!missed && (!d.steered || (d.guaranteed == 0 && d.ends_us == 0))) return "";
  const uint64_t now_ms = job.submitted_unix_ms + job.elapsed_us / 1000;
  const bool seconds = std::max({d.deadline_us, d.ends_us, d.promised_ends_us}) < kShortUs;
  const auto at = [&](uint64_t us) { return TimeOfDay(job.submitted_unix_ms + us / 1000, now_ms, seconds); };
  const bool late = d.deadline_us > 0 && d.ends_us > d.deadline_us;
  std::string text;
  if (d.ends_us > 0) {
    text = "ends " + at(d.ends_us) + (d.spread_us > 0 ? " +- " + SpreadText(d.spread_us, seconds) : "");
    if (d.ends_us < d.promised_ends_us) text += " with the " + CountOf(d.held, "slot") + " that it holds";
    text += ", ";
  }
  if (d.deadline_us > 0) {
    text += missed ? "missed its deadline " : late ? "will probably miss its deadline " : "deadline ";
    text += at(d.deadline_us);
    if (missed) text += " by " + Took(job.elapsed_us - d.deadline_us) + " so far";
  } else {
    text += "steered by its utility";
  }
  if (!d.steered) return text;
  if (d.guaranteed == 0) return text + ", no slots guaranteed";
  text += ", " + CountOf(d.guaranteed, "slot") + " guaranteed";
  if (d.ends_us < d.promised_ends_us) text += " (ends " + at(d.promised_ends_us) + " with these alone)";
  if (d.runs == 0) return text + " by a guess from its input: no earlier run is known";
  // If it is late with more than it asks for, no number of slots is enough.
  if (!missed && !(late && d.asked <= d.guaranteed)) text += ", " + std::to_string(d.asked) + " would do";
  return text;
}

std::string DeadlineLines(const std::vector<JobStatus>& jobs) {
  std::string lines;
  for (const JobStatus& job : jobs) {
    if (const std::string line = DeadlineLine(job); !line.empty()) lines += Name(job.id) + ": " + line + "\n";
  }
  return lines.empty() ? "" : "\n" + lines;
}

std::string DeadlineText(const JobStatus& job) {
  if (!job.deadline) return "";
  const DeadlineStatus& d = *job.deadline;
  std::string when = d.deadline_us > 0 ? Took(d.deadline_us) + " after its submission" : "by its utility";
  if (d.deadline_us > 0 && Ended(job.state))
    when += job.elapsed_us <= d.deadline_us ? ", met" : ", missed";
  else if (d.deadline_us > 0 && job.elapsed_us > d.deadline_us)
    when += ", passed " + Took(job.elapsed_us - d.deadline_us) + " ago";
  else if (d.deadline_us > 0)
    when += ", in " + Took(d.deadline_us - job.elapsed_us);
  if (d.best_effort) when += " (best effort)";
  std::string text = Line("deadline", when);
  if (!d.steered) return text + Line("guaranteed", "nothing: no policy of the cluster's list steers by deadlines");
  if (d.predicted) {
    char scale[32];
    std::snprintf(scale, sizeof scale, "%.2g", d.scale);
    std::string basis = d.runs == 0 ? "not known, best effort: no earlier run (steered by a guess from its input)"
                                    : "of " + std::to_string(d.runs) + (d.runs == 1 ? " earlier run" : " earlier runs");
    if (d.runs > 0 && d.scale != 1) basis += ", with " + std::string(scale) + " times their input";
    text += Line("predicted", basis);
  } else if (!Ended(job.state)) {
    text += Line("predicted", "nothing yet: it gets slots like jobs without a deadline");
  }
  if (const std::string line = DeadlineLine(job); !line.empty() && d.ends_us > 0) text += Line("expected", line);
  if (!Ended(job.state)) {
    text += Line("guaranteed", std::to_string(d.guaranteed) + (d.guaranteed == 1 ? " slot, holds " : " slots, holds ") +
                                   std::to_string(d.held));
  }
  return text;
}

std::string ExplainText(const Explained& e, uint64_t deadline_us) {
  Table stages({"STAGE", "SLOTS", "TASKS", "INPUT", "SPLITS", "WITH A REPLICA", "ON WORKERS"});
  for (const auto& s : e.stages) {
    const bool reads = s.splits > 0;
    stages.Add({s.name, s.reduces ? "reduce" : "map", std::to_string(s.tasks),
                (reads || s.input_bytes == 0 ? "" : "<= ") + HumanBytes(s.input_bytes),
                reads ? std::to_string(s.splits) : "-", reads ? std::to_string(s.with_replica) : "-",
                reads ? std::to_string(s.workers) : "-"});
  }
  std::string text = stages.Text() + "\n";
  if (e.times.empty()) return text + "time: no prediction: " + e.basis + "\n";
  text += "time by slots, of " + std::to_string(e.slots) + " in the cluster; " + e.basis + "\n\n";
  uint64_t most = 1;
  for (const auto& t : e.times) most = std::max(most, t.median_us);
  const bool guessed = e.runs == 0;  // a guess has no spread that means anything
  Table times({"SLOTS", guessed ? "GUESS" : "MEDIAN", guessed ? "" : "19 OF 20", ""});
  for (const auto& t : e.times) {
    times.Add({std::to_string(t.slots), Took(t.median_us), guessed ? "" : Took(t.most_us),
               Bar(t.median_us, most, kBar, '=') + (!t.in_time || guessed ? ""
                                                    : e.has_admission && t.slots > e.available_slots
                                                        ? " can be promised, if it had them"
                                                        : " can be promised")});
  }
  text += times.Text();
  if (!e.has_admission) return text;
  if (e.runs == 0) {
    return text + "\ndeadline " + Took(deadline_us) +
           ": best effort, since no earlier run of this job is known to predict from\n";
  }
  text += "\ndeadline " + Took(deadline_us) + " " + e.account +
          (e.steered ? "" : " (not enforced: no policy of the cluster's list steers by deadlines)") + "\n";
  return text;
}

}  // namespace mr::ctl
