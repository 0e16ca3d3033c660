// The time axes of one master: lived time, on which leases are measured, and stamps, which events carry.
//
// Lived time is the clock, less the periods in which this master did not run (SIGSTOP, a suspended machine). Stamps go
// on from the newest one in the journal, at the rate of lived time, and never go back. A start moves them on by the
// time that has passed since by the wall clock, so that deadlines and ages count it (MasterCore::TimeAway).
#pragma once

#include <functional>

#include "common/base/lived_clock.h"
#include "common/base/time.h"
#include "common/exec/loop.h"

namespace mr::master {

// Thread: the master's. Lived must be called each kTick at least (workers.h), which the host's tick does.
class HostClock {
 public:
  // now: the host's monotonic clock. loop: runs the timers; must outlive this.
  HostClock(std::function<Instant()> now, Loop& loop);

  // Returns the lived time. Logs a period in which this master stood still.
  Instant Lived();
  // Returns the lived time without noting a stall: a stall that Lived() has not noted yet counts as lived.
  Instant LivedBy() const { return Instant{now_().ns - lived_.stood_still().ns}; }
  // Runs `fn` on the master's thread when the lived time has reached `at`.
  void AtLived(Instant at, std::function<void()> fn);
  // Returns whether messages that waited while this master stood still have not all been read yet. Nobody is declared
  // lost for silence then. now: lived.
  bool CatchesUp(Instant now) const { return now < caught_up_at_; }

  // Returns the stamp of an event of this instant.
  Instant Stamp();
  // Returns the present time on the axis of stamps, without stamping anything.
  Instant Present() const { return stamp_base_ + (LivedBy() - stamp_start_); }
  // Returns the newest stamp.
  Instant last_stamp() const { return last_stamp_; }
  // Returns the lived time at which this stamp is due.
  Instant LivedAt(Instant stamp) const { return stamp_start_ + (stamp - stamp_base_); }

  // Goes on behind the newest stamp of the journal, by the time for which no master ran. Called once, at the end of the
  // replay. away: >= 0.
  void ResumeAfter(Instant last_stamp, Duration away);

 private:
  const std::function<Instant()> now_;
  Loop& loop_;
  LivedClock lived_;
  Instant caught_up_at_;   // lived
  bool replaying_ = true;  // a replay reads no messages, so that it stands still for nobody
  Instant stamp_base_{1'000'000'000}, stamp_start_, last_stamp_;  // stamp_start_: lived
};

}  // namespace mr::master
