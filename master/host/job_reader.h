// Reads the status of a job: what `mrctl job` and watchers are shown. Changes nothing.
#pragma once

#include <optional>
#include <string>

#include "common/model/status.h"
#include "master/core/master_core.h"
#include "master/host/host_clock.h"
#include "master/host/input_waits.h"

namespace mr::master {

// Thread: the master's.
class JobReader {
 public:
  // policies: the cluster's list.
  JobReader(const MasterCore& core, const HostClock& clock, const InputWaits& inputs, std::string policies);

  // Returns the status as of the newest stamp.
  JobStatus StatusOf(const JobView& job) const;

 private:
  // Returns nothing if none of its tasks ran as clones and none of its readers got a bind.
  std::optional<CloneStatus> ClonesOf(const JobView& job) const;
  // Returns nothing if no policy steered it by a deadline.
  std::optional<SteeringStatus> SteeringOf(const JobView& job) const;
  // Returns nothing if it has neither a deadline nor a utility.
  std::optional<DeadlineStatus> DeadlineOf(const JobView& job) const;

  const MasterCore& core_;
  const HostClock& clock_;
  const InputWaits& inputs_;
  const std::string policies_;
};

}  // namespace mr::master
