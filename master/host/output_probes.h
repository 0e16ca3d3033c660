// Probes of outputs that readers complain about. A complaint alone condemns nothing: the worker that holds the replica
// checks it, and its bytes where these are in doubt.
#pragma once

#include <set>

#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/outlets.h"

namespace mr::master {

// Thread: the master's.
class OutputProbes {
 public:
  OutputProbes(Driver& driver, HostClock& clock, Outlets& outlets);

  // Probes the replica, unless a probe of it is under way. verify: its worker reads all of it.
  void Suspect(const Replica& replica, bool verify);

 private:
  void TakeFinding(const Replica& replica, const Looked& looked);
  // Returns whether the worker's loop has not moved for a while, or this master did not run. A missing answer says
  // nothing about its outputs then.
  bool StandsStill(const WorkerView& worker);
  // The worker's memory damaged an output that it made. A worker in which this happens often gets nothing new.
  void NoteWrongOutput(WorkerId worker);

  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  Outlets& outlets_;
  std::set<Replica, bool (*)(const Replica&, const Replica&)> under_way_;
};

}  // namespace mr::master
