#include "master/core/open_work.h"

namespace mr::master {

void Timers::Set(const sched::WakeAt& wake) {
  by_time_.emplace(std::pair(wake.at, ++set_), Key{wake.policy, wake.id});
  by_key_[{wake.policy, wake.id}].insert({wake.at, set_});
}

void Timers::Over(const sched::TimerDue& due) {
  const auto it = by_key_.find({due.policy, due.id});
  if (it == by_key_.end()) return;
  by_time_.erase(*it->second.begin());
  it->second.erase(it->second.begin());
  if (it->second.empty()) by_key_.erase(it);
}

void Timers::Clear() {
  by_time_.clear();
  by_key_.clear();
}

const std::pair<const std::pair<Instant, uint64_t>, std::pair<std::string, uint64_t>>* Timers::First() const {
  return by_time_.empty() ? nullptr : &*by_time_.begin();
}

std::vector<Timers::Timer> Timers::All() const {
  std::vector<Timer> all;
  for (const auto& [time, key] : by_time_) all.push_back({time.first, key.first, key.second});
  return all;
}

void OpenWork::Forget(JobId job) {
  unplanned.erase(unplanned.lower_bound({job, 0}), unplanned.upper_bound({job, UINT32_MAX}));
}

}  // namespace mr::master
