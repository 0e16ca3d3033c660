#include "jobs/mrctl/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "common/base/text.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

constexpr Duration kRepeat = Seconds(10);
constexpr int kBarWidth = 20;

// Returns the progress of the stage, 0 to 1: by bytes if they are known, which is finer than by tasks.
double Fraction(const StageStatus& s) {
  if (s.tasks == 0) return 0;
  if (s.done >= s.tasks) return 1;
  const double tasks = static_cast<double>(s.done) / s.tasks;
  if (s.input_bytes == 0) return tasks;
  return std::clamp(std::max(tasks, static_cast<double>(s.taken_bytes) / static_cast<double>(s.input_bytes)), 0.0, 1.0);
}

uint32_t Tenths(const StageStatus& s) {
  if (!s.planned) return 0;
  return 1 + (s.tasks == 0 ? 10 : s.done * 10 / s.tasks);
}

std::string Bar(double fraction) {
  const int full = static_cast<int>(fraction * kBarWidth);
  return "[" + std::string(static_cast<size_t>(full), '=') + std::string(static_cast<size_t>(kBarWidth - full), ' ') +
         "]";
}

std::string FailureLine(const std::string& failure) { return "last failure: " + failure; }

}  // namespace

std::string StageLine(const StageStatus& s, int width) {
  std::string name = s.name;
  if (name.size() > 16) name = name.substr(0, 15) + "~";
  name.resize(16, ' ');
  if (!s.planned) return (name + " waits for its inputs").substr(0, static_cast<size_t>(std::max(width, 20)));
  const double fraction = Fraction(s);
  std::string line = name + " ";
  if (width >= 72) line += Bar(fraction) + " ";
  line += std::to_string(s.done) + "/" + std::to_string(s.tasks);
  if (s.running > 0) line += "  " + std::to_string(s.running) + " running";
  if (s.waiting > 0) line += "  " + std::to_string(s.waiting) + " waiting";
  if (s.failed > 0) line += "  " + std::to_string(s.failed) + " failed";
  if (s.taken_bytes > 0) line += "  " + HumanBytes(s.taken_bytes);
  const Duration elapsed = Micros(static_cast<int64_t>(s.elapsed_us));
  if (s.done == s.tasks) {
    line += "  in " + HumanDuration(elapsed);
  } else if (fraction > 0.05 && elapsed >= Seconds(1)) {
    // Below a twentieth or a second the estimate is noise (a guess).
    line += "  ETA " + HumanDuration(FromSeconds(elapsed.seconds() * (1 - fraction) / fraction));
  }
  return line.substr(0, static_cast<size_t>(std::max(width, 20)));
}

ProgressOptions ProgressOfStderr(bool on) {
  ProgressOptions options;
  options.on = on;
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

std::string Progress::NewWarnings(const JobStatus& status) {
  std::string text;
  for (const std::string& warning : status.warnings) {
    if (warned_.insert(warning).second) text += (text.empty() ? "warning: " : "\nwarning: ") + warning;
  }
  return text;
}

void Progress::Redraw(const JobStatus& status) {
  std::string text;
  if (drawn_ > 0) text += "\x1b[" + std::to_string(drawn_) + "A";
  // Warnings stay above the lines that are redrawn.
  if (const std::string warnings = NewWarnings(status); !warnings.empty()) text += "\r" + warnings + "\x1b[K\n";
  // One column stays free: a full line makes some terminals wrap.
  for (const StageStatus& stage : status.stages) text += "\r" + StageLine(stage, options_.width - 1) + "\x1b[K\n";
  drawn_ = static_cast<int>(status.stages.size());
  if (const std::string line = DeadlineLine(status); !line.empty() || deadline_drawn_) {
    text += "\r" + line.substr(0, static_cast<size_t>(std::max(options_.width - 1, 20))) + "\x1b[K\n";
    deadline_drawn_ = true;
    ++drawn_;
  }
  if (const std::string why = WhyNoneRuns(status); !why.empty() || wait_drawn_) {
    text += "\r" + why.substr(0, static_cast<size_t>(std::max(options_.width - 1, 20))) + "\x1b[K\n";
    wait_drawn_ = true;
    ++drawn_;
  }
  if (!status.last_failure.empty() || failure_drawn_) {
    const std::string line = status.last_failure.empty() ? "" : FailureLine(status.last_failure);
    text += "\r" + line.substr(0, static_cast<size_t>(std::max(options_.width - 1, 20))) + "\x1b[K\n";
    failure_drawn_ = true;
    ++drawn_;
  }
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

void Progress::Append(const JobStatus& status, Instant now) {
  const bool late = shown_ && now - last_ >= kRepeat;
  bool printed = false;
  if (!shown_ || status.state != last_state_) {
    std::fprintf(out_, "%s %s\n", Name(status.id).c_str(), Word(status.state));
    printed = true;
  }
  if (const std::string warnings = NewWarnings(status); !warnings.empty()) {
    std::fprintf(out_, "%s %s\n", Name(status.id).c_str(), warnings.c_str());
    printed = true;
  }
  last_tenths_.resize(status.stages.size(), 0);
  for (size_t i = 0; i < status.stages.size(); ++i) {
    const uint32_t tenths = Tenths(status.stages[i]);
    const bool open = status.stages[i].planned && status.stages[i].done < status.stages[i].tasks;
    if (tenths == last_tenths_[i] && !(late && open)) continue;
    last_tenths_[i] = tenths;
    std::fprintf(out_, "%s %s\n", Name(status.id).c_str(), StageLine(status.stages[i], 1 << 10).c_str());
    printed = true;
  }
  const bool news = !status.last_failure.empty() && status.last_failure != last_failure_;
  if (news && (last_failure_.empty() || now - told_failure_ >= kRepeat)) {
    std::fprintf(out_, "%s %s\n", Name(status.id).c_str(), FailureLine(status.last_failure).c_str());
    last_failure_ = status.last_failure;
    told_failure_ = now;
    printed = true;
  }
  if (const std::string line = DeadlineLine(status); !line.empty() && (late || last_deadline_.empty())) {
    std::fprintf(out_, "%s %s\n", Name(status.id).c_str(), line.c_str());
    last_deadline_ = line;
    printed = true;
  }
  if (const std::string why = WhyNoneRuns(status); !why.empty() && (late || last_wait_.empty())) {
    std::fprintf(out_, "%s %s\n", Name(status.id).c_str(), why.c_str());
    last_wait_ = why;
    printed = true;
  }
  if (late && !printed) std::fprintf(out_, "%s %s\n", Name(status.id).c_str(), Word(status.state));
  if (printed || late) last_ = now;
  last_state_ = status.state;
  shown_ = true;
  std::fflush(out_);
}

void Progress::Finish() { drawn_ = 0; }

}  // namespace mr::ctl
