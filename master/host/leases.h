// Leases of workers: gives up workers that are silent for too long, and announces how long attempts with side effects
// of a lost worker may go on.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "master/host/dispatcher.h"
#include "master/host/driver.h"
#include "master/host/forecasts.h"
#include "master/host/host_clock.h"
#include "master/host/job_ends.h"
#include "master/host/outlets.h"
#include "master/host/watchers.h"

namespace mr::master {

// Thread: the master's.
class Leases {
 public:
  Leases(Driver& driver, HostClock& clock, Outlets& outlets, Dispatcher& dispatcher, Watchers& watchers,
         JobEnds& job_ends, Forecasts& forecasts);

  // Gives the worker up: its attempts run elsewhere, and its session ends.
  void Lose(WorkerId worker, const std::string& why);
  // Gives up the workers whose leases have run out. Called each tick, and when a connection ends.
  void Check();
  // Start: attempts of the master before this one may live for `promised`. wait: what this master promises.
  void SetEffectsWait(Duration wait, Duration promised);
  // Start: workers that the journal knows may come back for kRestartGrace from `now` (lived) on. Those that have not
  // are given up then.
  void AwaitReturns(Instant now);

 private:
  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  Outlets& outlets_;
  Dispatcher& dispatcher_;
  Watchers& watchers_;
  JobEnds& job_ends_;
  Forecasts& forecasts_;
  // The lived time from which on a shorter wait holds. Until then children live on the lease of the master before this
  // one.
  std::optional<std::pair<Instant, Duration>> shorter_wait_;
};

}  // namespace mr::master
