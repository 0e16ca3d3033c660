// Progress of a job on stderr. On a terminal: one line per stage that users know, redrawn; below them the predicted end
// of a job with a deadline, why nothing runs, and the most recent failure of an attempt. Elsewhere: one line about all
// stages when the job begins to run, and then one every 10 s, each with the predicted end; failures as they come, but
// no more than one in 10 s.
#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "common/base/time.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// Returns the stages without those that the engine adds to the user's work, such as the samples of a sort; all: with
// them. Pure.
std::vector<StageStatus> ShownStages(const std::vector<StageStatus>& stages, bool all);

// Returns one stage as a line of at most `width` columns, without newline. Pure.
std::string StageLine(const StageStatus& stage, int width);

// Returns the job's state and its stages that are neither done nor waiting for inputs, as one line without newline.
// Pure.
std::string ProgressLine(const JobStatus& status, bool all_stages);

struct ProgressOptions {
  bool on = true;  // false: prints nothing
  bool terminal = false;
  int width = 80;
  bool all_stages = false;  // internal ones, too
};
// Returns the options for stderr: whether it is a terminal, COLUMNS and TERM.
ProgressOptions ProgressOfStderr(bool on, bool all_stages = false);

class Progress {
 public:
  Progress(ProgressOptions options, std::FILE* out) : options_(options), out_(out) {}

  void Show(const JobStatus& status, Instant now);
  // Ends the progress; drawn lines stay.
  void Finish();

 private:
  void Redraw(const JobStatus& status);
  void Append(const JobStatus& status, Instant now);
  // Requires: no control characters in the text but those with which mrctl moves the cursor.
  void Write(const std::string& text);
  // Returns a line for each warning that was not printed yet.
  std::vector<std::string> NewWarnings(const JobStatus& status);

  const ProgressOptions options_;
  std::FILE* const out_;
  int drawn_ = 0;  // lines on the terminal that the next drawing overwrites
  bool failure_drawn_ = false, wait_drawn_ = false, deadline_drawn_ = false;
  Instant last_{};
  bool shown_ = false;
  bool began_ = false;  // seen, but not yet printed
  std::string last_failure_;
  std::set<std::string> warned_;
  Instant told_failure_{};
};

}  // namespace mr::ctl
