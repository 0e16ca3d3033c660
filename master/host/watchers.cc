#include "master/host/watchers.h"

#include <memory>
#include <utility>

#include "common/io/clock.h"
#include "common/rpc/client_wire.h"

namespace mr::master {
namespace {

// The time between two pushes to a watcher, unless the job has ended.
constexpr Duration kPushEvery = Millis(50);

}  // namespace

Watchers::Watchers(MasterCore& core, HostClock& clock, Loop& loop, Outlets& outlets, const JobReader& reader)
    : core_(core), clock_(clock), loop_(loop), outlets_(outlets), reader_(reader) {}

Status Watchers::Watch(uint64_t watcher, JobId id, const Caller& caller) {
  MR_RETURN_IF_ERROR(core_.jobs().Find(id, caller).status());
  watchers_[watcher].job = id;
  changed_.insert(id);
  return Status::Ok();
}

void Watchers::Pushed(uint64_t watcher) {
  const auto it = watchers_.find(watcher);
  if (it == watchers_.end()) return;
  it->second.in_flight = false;
  if (it->second.dirty) changed_.insert(it->second.job);
}

void Watchers::Unwatch(uint64_t watcher) { watchers_.erase(watcher); }

void Watchers::PushDue() {
  if (changed_.empty()) return;
  const auto changed = std::move(changed_);
  changed_.clear();
  const Instant now = Now();
  clock_.Stamp();
  for (auto& [id, watcher] : watchers_) {
    if (!changed.contains(watcher.job)) continue;
    watcher.dirty = true;
    if (watcher.in_flight) continue;
    const JobView* job = core_.jobs().Find(watcher.job);
    if (job == nullptr) continue;  // ended so long ago that it is forgotten
    const bool last = Ended(ShownState(*job));
    if (!last && now - watcher.last_push < kPushEvery) {
      if (!push_timer_) {
        push_timer_ = true;
        loop_.At(watcher.last_push + kPushEvery, [this] {
          push_timer_ = false;
          for (const auto& [w, state] : watchers_) {
            if (state.dirty) changed_.insert(state.job);
          }
        });
      }
      continue;
    }
    watcher.dirty = false;
    watcher.in_flight = true;
    watcher.last_push = now;
    auto message = std::make_shared<capnp::MallocMessageBuilder>();
    rpc::ToWire(reader_.StatusOf(*job), message->initRoot<rpc::JobStatus>());
    outlets_.PushStatus(id, std::move(message));
  }
}

}  // namespace mr::master
