// Reports a followed job to another program (--status-fd N): one line of JSON for each change, as gpg and apt do with
// their status descriptors. The lines are those of `mrctl job show -o ndjson`.
#pragma once

#include "common/base/status.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

class StatusLines {
 public:
  // fd: borrowed; -1: reports nothing.
  explicit StatusLines(int fd);

  // Reports the job. Leaves a change out while the reader has not taken the one before: the next one has all of it. The
  // end of a job is always reported, unless an interrupt ends the wait for the reader. Errors: kCancelled if the reader
  // has closed its end, and after an interrupt.
  Status Show(const JobStatus& job);
  // Errors: kCancelled if the reader has closed its end.
  Status Check() const;

 private:
  const int fd_;
};

}  // namespace mr::ctl
