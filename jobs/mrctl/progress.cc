#include "jobs/mrctl/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/base/text.h"
#include "common/report/internal_stages.h"
#include "jobs/mrctl/columns.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/terminal_text.h"

namespace mr::ctl {
namespace {

constexpr Duration kRepeat = Seconds(10);
constexpr int kBarWidth = 20;
constexpr size_t kNameOfLine = 40;  // columns of a stage's name off a terminal

// Returns the progress of the stage, 0 to 1: by bytes if they are known, which is finer than by tasks.
double Fraction(const StageStatus& s) {
  if (s.tasks == 0) return 0;
  if (s.done >= s.tasks) return 1;
  const double tasks = static_cast<double>(s.done) / s.tasks;
  if (s.input_bytes == 0) return tasks;
  return std::clamp(std::max(tasks, static_cast<double>(s.taken_bytes) / static_cast<double>(s.input_bytes)), 0.0, 1.0);
}

std::string Bar(double fraction) {
  const int full = static_cast<int>(fraction * kBarWidth);
  return "[" + std::string(static_cast<size_t>(full), '=') + std::string(static_cast<size_t>(kBarWidth - full), ' ') +
         "]";
}

// Returns "10/40  3 running  ETA 6.0 s".
std::string StageNumbers(const StageStatus& s, const char* between) {
  std::string text = std::to_string(s.done) + "/" + std::to_string(s.tasks);
  if (s.running > 0) text += between + std::to_string(s.running) + " running";
  if (s.waiting > 0) text += between + std::to_string(s.waiting) + " waiting";
  if (s.failed > 0) text += between + std::to_string(s.failed) + " failed";
  if (s.taken_bytes > 0) text += between + HumanBytes(s.taken_bytes);
  const Duration elapsed = Micros(static_cast<int64_t>(s.elapsed_us));
  const double fraction = Fraction(s);
  if (s.done == s.tasks) {
    text += between + ("in " + HumanDuration(elapsed));
  } else if (fraction > 0.05 && fraction < 1 && elapsed >= Seconds(1)) {
    // Below a twentieth or a second the estimate is noise (a guess).
    text += between + ("ETA " + HumanDuration(FromSeconds(elapsed.seconds() * (1 - fraction) / fraction)));
  }
  return text;
}

std::string FailureLine(const std::string& failure) { return TerminalText("last failure: " + failure); }

}  // namespace

std::vector<StageStatus> ShownStages(const std::vector<StageStatus>& stages, bool all) {
  std::vector<std::string> names;
  names.reserve(stages.size());
  for (const StageStatus& stage : stages) names.push_back(stage.name);
  std::vector<StageStatus> shown;
  for (const StageStatus& stage : stages) {
    if (all || !report::IsInternalStage(stage.name, names)) shown.push_back(stage);
  }
  return shown;
}

std::string StageLine(const StageStatus& s, int width) {
  const auto columns = static_cast<size_t>(std::max(width, 20));
  const std::string name = FitToColumns(s.name, 16);
  if (!s.planned) return CutToColumns(name + " waits for its inputs", columns);
  return CutToColumns(name + " " + (width >= 72 ? Bar(Fraction(s)) + " " : "") + StageNumbers(s, "  "), columns);
}

std::string ProgressLine(const JobStatus& status, bool all) {
  const auto stages = ShownStages(status.stages, all);
  std::string open;
  size_t done = 0;
  for (const StageStatus& s : stages) {
    const bool ended = s.planned && s.done >= s.tasks;
    done += ended ? 1 : 0;
    if (!s.planned || ended) continue;
    open += (open.empty() ? "" : "; ") + CutToColumns(s.name, kNameOfLine) + " " + StageNumbers(s, ", ");
  }
  std::string line = Name(status) + " " + Word(status.state);
  const bool runs = status.state == JobState::kRunning &&
                    std::any_of(stages.begin(), stages.end(), [](const StageStatus& s) { return s.running > 0; });
  const std::string why = WhyItWaits(status);
  if (!open.empty() && (runs || why.empty())) line += ": " + open;
  if (!why.empty()) line += (runs && !open.empty() ? "; " : ": ") + why;
  if (stages.size() > 1 && done > 0) {
    line += " (" + std::to_string(done) + " of " + std::to_string(stages.size()) + " stages done)";
  }
  return line;
}

ProgressOptions ProgressOfStderr(bool on, bool all_stages) {
  ProgressOptions options;
  options.on = on;
  options.all_stages = all_stages;
  const char* term = std::getenv("TERM");
  options.terminal = isatty(2) == 1 && (term == nullptr || std::strcmp(term, "dumb") != 0);
  const char* columns = std::getenv("COLUMNS");
  winsize size{};
  if (columns != nullptr && std::atoi(columns) > 0) {
    options.width = std::atoi(columns);
  } else if (ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
  }
  return options;
}

void Progress::Show(const JobStatus& status, Instant now) {
  if (!options_.on) return;
  if (options_.terminal) {
    Redraw(status);
  } else {
    Append(status, now);
  }
}

std::vector<std::string> Progress::NewWarnings(const JobStatus& status) {
  std::vector<std::string> lines;
  for (const std::string& warning : status.warnings) {
    if (warned_.insert(warning).second) lines.push_back(TerminalText("warning: " + warning));
  }
  return lines;
}

void Progress::Redraw(const JobStatus& status) {
  std::string text;
  if (drawn_ > 0) text += "\x1b[" + std::to_string(drawn_) + "A";
  // One column stays free: a full line makes some terminals wrap.
  const int width = options_.width - 1;
  const auto add = [&](const std::string& line) {
    text += "\r" + CutToColumns(line, static_cast<size_t>(std::max(width, 20))) + "\x1b[K\n";
  };
  // Warnings stay above the lines that are redrawn.
  for (const std::string& warning : NewWarnings(status)) text += "\r" + warning + "\x1b[K\n";
  const auto stages = ShownStages(status.stages, options_.all_stages);
  for (const StageStatus& stage : stages) add(StageLine(stage, width));
  drawn_ = static_cast<int>(stages.size());
  if (const std::string line = DeadlineLine(status); !line.empty() || deadline_drawn_) {
    add(line);
    deadline_drawn_ = true;
    ++drawn_;
  }
  if (const std::string why = WhyItWaits(status); !why.empty() || wait_drawn_) {
    add(why);
    wait_drawn_ = true;
    ++drawn_;
  }
  if (!status.last_failure.empty() || failure_drawn_) {
    add(status.last_failure.empty() ? "" : FailureLine(status.last_failure));
    failure_drawn_ = true;
    ++drawn_;
  }
  Write(text);
}

void Progress::Append(const JobStatus& status, Instant now) {
  const std::string name = Name(status) + " ";
  std::string text;
  for (const std::string& warning : NewWarnings(status)) text += name + warning + "\n";
  const bool news = !status.last_failure.empty() && status.last_failure != last_failure_;
  if (news && (last_failure_.empty() || now - told_failure_ >= kRepeat)) {
    text += name + FailureLine(status.last_failure) + "\n";
    last_failure_ = status.last_failure;
    told_failure_ = now;
  }
  // A job that was just accepted is about to run, and the end has a line of its own.
  const bool begins = status.state == JobState::kPending && WhyItWaits(status).empty();
  if (!shown_ && begins) {
    last_ = now;
    shown_ = true;
    began_ = true;
  }
  const bool due = !shown_ || (began_ && !begins) || now - last_ >= kRepeat;
  if (due && !Ended(status.state)) {
    text += ProgressLine(status, options_.all_stages) + "\n";
    if (const std::string line = DeadlineLine(status); !line.empty()) text += name + line + "\n";
    last_ = now;
    shown_ = true;
    began_ = false;
  }
  Write(TerminalText(text));
}

void Progress::Write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void Progress::Finish() { drawn_ = 0; }

}  // namespace mr::ctl
