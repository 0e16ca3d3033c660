// Remembers the run of a local job before its cluster is gone.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/report/recorded_run.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/config.h"

namespace mr::ctl {

// Reads all that the local master knows about the job. Its error then names no commands that need this master. A job
// that has not ended has no history, and counts as killed, since its cluster ends. Errors: those of Client.
Result<report::RecordedRun> ReadRecord(Client& client, JobId id);

// Kills a job whose user does not wait for it any more, and waits for its end, for at most a second. why: for the
// record.
void StopLocalJob(Client& client, JobId id, const std::string& why);

// The name of a local run while it runs, and the place of its record.
class LocalRunName {
 public:
  // Reserves the next number. A failure to do so is a warning on stderr, since the job's result does not depend on it.
  // settings: keep_runs 0 reserves none.
  explicit LocalRunName(const Settings& settings);
  // Gives the number back where nothing was stored.
  ~LocalRunName();
  LocalRunName(const LocalRunName&) = delete;
  LocalRunName& operator=(const LocalRunName&) = delete;

  // Returns local_0007; kUnrememberedRun without a number.
  std::string text() const;
  // Returns whether commands find the run under its name: it was stored.
  bool stored() const { return stored_; }
  // Stores the run. A failure is a warning on stderr.
  void Store(const report::RecordedRun& recorded);

 private:
  void Warn(const Status& why) const;

  const Settings& settings_;
  uint32_t number_ = 0;  // 0: none
  bool stored_ = false;
};

}  // namespace mr::ctl
