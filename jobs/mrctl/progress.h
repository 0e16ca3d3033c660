// Progress of a job on stderr. On a terminal: one line per stage, redrawn. Elsewhere: a line when a stage advances by a
// tenth or changes, and at least one every 10 s. Below them are the predicted end of a job with a deadline, and the
// most recent failure of an attempt: the first at once, later ones after 10 s.
#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "common/base/time.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// Returns one stage as a line of at most `width` columns, without newline. Pure.
std::string StageLine(const StageStatus& stage, int width);

struct ProgressOptions {
  bool on = true;  // false: prints nothing
  bool terminal = false;
  int width = 80;
};
// Returns the options for stderr: whether it is a terminal, COLUMNS and TERM.
ProgressOptions ProgressOfStderr(bool on);

class Progress {
 public:
  Progress(ProgressOptions options, std::FILE* out) : options_(options), out_(out) {}

  void Show(const JobStatus& status, Instant now);
  // Ends the progress; drawn lines stay.
  void Finish();

 private:
  void Redraw(const JobStatus& status);
  void Append(const JobStatus& status, Instant now);
  // Returns lines for warnings that were not printed yet.
  std::string NewWarnings(const JobStatus& status);

  const ProgressOptions options_;
  std::FILE* const out_;
  int drawn_ = 0;  // lines on the terminal that the next drawing overwrites
  bool failure_drawn_ = false, wait_drawn_ = false, deadline_drawn_ = false;
  Instant last_{};
  bool shown_ = false;
  JobState last_state_ = JobState::kUnknown;
  std::string last_failure_, last_wait_, last_deadline_;
  std::set<std::string> warned_;
  Instant told_failure_{};
  std::vector<uint32_t> last_tenths_;  // per stage: completed tenths + 1; 0 = not yet planned
};

}  // namespace mr::ctl
