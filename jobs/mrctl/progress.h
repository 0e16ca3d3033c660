// What following a job looks like on stderr: on a terminal one line per stage, redrawn; elsewhere a
// line when a stage moves on by a tenth or changes, and at least one every 10 s. Below them the last
// failure of an attempt, where there was one: at once, and a later one after 10 s.
#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "common/base/time.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// One stage as a line of at most `width` columns, without newline. Pure.
std::string StageLine(const StageStatus& stage, int width);

struct ProgressOptions {
  bool on = true;  // false: nothing at all is printed
  bool terminal = false;
  int width = 80;
};
// From the terminal behind stderr and COLUMNS, TERM.
ProgressOptions ProgressOfStderr(bool on);

class Progress {
 public:
  Progress(ProgressOptions options, std::FILE* out) : options_(options), out_(out) {}

  void Show(const JobStatus& status, Instant now);
  // No more lines; what is drawn stays.
  void Finish();

 private:
  void Redraw(const JobStatus& status);
  void Append(const JobStatus& status, Instant now);
  // Lines for the warnings that were not printed before.
  std::string NewWarnings(const JobStatus& status);

  const ProgressOptions options_;
  std::FILE* const out_;
  int drawn_ = 0;  // lines on the terminal that the next drawing overwrites
  bool failure_drawn_ = false;
  Instant last_{};
  bool shown_ = false;
  JobState last_state_ = JobState::kUnknown;
  std::string last_failure_;
  std::set<std::string> warned_;
  Instant told_failure_{};
  std::vector<uint32_t> last_tenths_;  // per stage: tenths done + 1, 0 = not yet planned
};

}  // namespace mr::ctl
