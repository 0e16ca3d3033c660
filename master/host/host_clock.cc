#include "master/host/host_clock.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "common/base/text.h"
#include "master/core/workers.h"

namespace mr::master {
namespace {

// The host's tick reads the clock each kTick: a gap of more than kStall means that this thread did not run (SIGSTOP, a
// suspended machine, a closure that took as long). After kHear the messages that waited in the sockets have been read
// (a guess; half a lease is far).
constexpr Duration kStall = Seconds(1);
constexpr Duration kHear = Millis(500);

}  // namespace

HostClock::HostClock(std::function<Instant()> now, Loop& loop)
    : now_(std::move(now)), loop_(loop), lived_(now_(), kTick, kStall), stamp_start_(Lived()) {}

Instant HostClock::Lived() {
  const Instant lived = lived_.Read(now_());
  if (const Duration gap = lived_.last_gap(); gap.ns > 0) {
    caught_up_at_ = lived + kHear;
    LOG_IF(WARNING, !replaying_) << "this master stood still for " << HumanDuration(gap)
                                 << ": leases of workers and files are longer by that";
  }
  return lived;
}

void HostClock::AtLived(Instant at, std::function<void()> fn) {
  loop_.At(at + lived_.stood_still(), [this, at, fn = std::move(fn)]() mutable {
    if (Lived() < at) return AtLived(at, std::move(fn));  // it stood still meanwhile
    fn();
  });
}

Instant HostClock::Stamp() {
  const Instant now = stamp_base_ + (Lived() - stamp_start_);
  if (now > last_stamp_) last_stamp_ = now;
  return last_stamp_;
}

void HostClock::ResumeAfter(Instant last_stamp, Duration away) {
  replaying_ = false;
  last_stamp_ = last_stamp;
  stamp_base_ = std::max(stamp_base_, last_stamp_ + std::max(away, Millis(1)));
  stamp_start_ = Lived();
}

}  // namespace mr::master
