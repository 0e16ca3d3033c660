#include "master/core/workers.h"

#include <algorithm>

#include "common/base/text.h"

namespace mr::master {

const char* WorkerView::Word() const {
  if (excluded) return "excluded";
  if (!alive) return drained_by_user ? "stopped" : "lost";
  if (away) return "away";
  if (distrusted()) return "distrusted";
  if (loop_stalled) return "stalled";
  if (drained_by_user || leaving) return "draining";
  if (unfit) return "unfit";
  return full ? "full" : "live";
}

WorkerId WorkerTable::Named(const std::string& name) const {
  const auto it = names_.find(name);
  return it == names_.end() ? WorkerId{} : it->second;
}

void WorkerTable::Restore(const std::string& name, WorkerId id) {
  names_[name] = id;
  workers_[id].id = id;
  workers_[id].name = name;
}

void WorkerTable::Forget(WorkerId id) {
  const auto it = workers_.find(id);
  if (it == workers_.end()) return;
  names_.erase(it->second.name);
  workers_.erase(it);
  last_forgotten_ = std::max(last_forgotten_, id);
}

WorkerView* WorkerTable::Find(WorkerId id) {
  const auto it = workers_.find(id);
  return it == workers_.end() ? nullptr : &it->second;
}

WorkerView* WorkerTable::FindAlive(WorkerId id, Incarnation incarnation) {
  WorkerView* worker = Find(id);
  return worker != nullptr && worker->alive && worker->info.incarnation == incarnation ? worker : nullptr;
}

WorkerView* WorkerTable::FindIncarnation(Incarnation incarnation) {
  for (auto& [id, worker] : workers_) {
    if (worker.info.incarnation == incarnation) return &worker;
  }
  return nullptr;
}

WorkerView* WorkerTable::FindSession(uint64_t session) {
  for (auto& [id, worker] : workers_) {
    if (session != 0 && worker.session == session) return &worker;
  }
  return nullptr;
}

Status WorkerTable::MayRegister(const WorkerView& worker, Incarnation incarnation, Instant now) const {
  if (worker.excluded) {
    return Rejected("an operator excluded " + worker.name + "; `mrctl worker include " + Name(worker.id) +
                    "` lets it back");
  }
  const bool in_use =
      worker.alive && worker.session != 0 && worker.info.incarnation != incarnation && now - worker.last_beat < kLease;
  if (!in_use) return Status::Ok();
  return Rejected("a live worker at " + worker.info.address + " already uses the name " + worker.name +
                  ": each worker needs a --data and a --name of its own, and a copied --data has the name of its "
                  "original; stop the other one, or start this one with an empty --data and another --name");
}

std::vector<std::pair<WorkerId, std::string>> WorkerTable::Expired(Instant now) const {
  std::vector<std::pair<WorkerId, std::string>> expired;
  for (const auto& [id, worker] : workers_) {
    if (!worker.alive || worker.away) continue;
    const Duration silent = now - worker.last_beat;
    if (silent >= kLease) {
      expired.emplace_back(id, "no heartbeat for " + HumanDuration(silent));
    } else if (now - worker.loop_moved >= kLoopLease) {
      expired.emplace_back(
          id, "it beats, but its control loop has not moved for " + HumanDuration(now - worker.loop_moved));
    } else if (worker.session == 0 && worker.heartbeat_connections == 0) {
      expired.emplace_back(id, "its connections broke");
    } else if (worker.session == 0 && now - worker.session_lost >= kReconnectGrace) {
      expired.emplace_back(
          id, "its control connection broke and it did not come back in " + HumanDuration(kReconnectGrace));
    }
  }
  return expired;
}

uint32_t WorkerTable::TotalSlots() const {
  uint32_t slots = 0;
  for (const auto& [id, worker] : workers_) {
    if (worker.alive) slots += worker.info.slots.total;
  }
  return slots;
}

bool WorkerTable::NoneToCome() const {
  return std::none_of(workers_.begin(), workers_.end(),
                      [](const auto& worker) { return worker.second.alive || worker.second.away; });
}

}  // namespace mr::master
