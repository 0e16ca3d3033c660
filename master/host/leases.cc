#include "master/host/leases.h"

#include <glog/logging.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "master/sched/state/state.h"

namespace mr::master {

Leases::Leases(Driver& driver, HostClock& clock, Outlets& outlets, Dispatcher& dispatcher, Watchers& watchers,
               JobEnds& job_ends, Forecasts& forecasts)
    : driver_(driver),
      core_(driver.core()),
      clock_(clock),
      outlets_(outlets),
      dispatcher_(dispatcher),
      watchers_(watchers),
      job_ends_(job_ends),
      forecasts_(forecasts) {}

void Leases::Lose(WorkerId id, const std::string& why) {
  WorkerView* worker = core_.workers().Find(id);
  if (worker == nullptr || !worker->alive) return;
  LOG(WARNING) << Name(id) << " (" << worker->info.address << ") is lost: " << why;
  std::vector<Record> records = core_.PrepareLost(id, why, clock_.Stamp());
  worker->alive = false;
  worker->away = false;
  worker->lost = clock_.Lived();
  worker->lost_unix_ms = WallClockMs();
  worker->lost_why = (worker->leaving ? "its process was stopped (SIGTERM); " : "") + why;
  if (worker->session != 0) outlets_.CloseSession(worker->session);
  worker->session = 0;
  worker->heartbeat_connections = 0;
  dispatcher_.Forget(id);
  driver_.FeedAll(std::move(records));
  for (const JobId job : std::set<JobId>(core_.open().uncleaned)) job_ends_.CleanUp(job);
  for (auto& [job_id, job] : core_.jobs().jobs()) {
    if (!Ended(job.state)) watchers_.MarkChanged(job_id);
  }
  forecasts_.Settle();
}

void Leases::Check() {
  const Instant now = clock_.Lived();
  if (clock_.CatchesUp(now)) return;  // the next tick
  for (const auto& [id, why] : core_.workers().Expired(now)) Lose(id, why);
  if (shorter_wait_ && now >= shorter_wait_->first) {
    driver_.Feed(sched::LeaseSet{shorter_wait_->second});
    shorter_wait_.reset();
  }
}

void Leases::SetEffectsWait(Duration wait, Duration promised) {
  const Duration now = std::max(wait, promised);
  if (core_.scheduler().state().config().lost_wait != now) driver_.Feed(sched::LeaseSet{now});
  if (wait < now) shorter_wait_ = {clock_.Lived() + now, wait};
}

void Leases::AwaitReturns(Instant now) {
  clock_.AtLived(now + kRestartGrace, [this] {
    for (auto& [id, worker] : core_.workers().all()) {
      if (worker.away) Lose(id, "it did not come back after the master's restart");
    }
  });
}

}  // namespace mr::master
