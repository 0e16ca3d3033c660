#include "worker/daemon/directory.h"

#include <set>

namespace mr::worker {

Directory::Key Directory::KeyOf(const Replica& replica) {
  return {replica.output.task.task, replica.attempt, replica.worker.value, replica.incarnation};
}

void Directory::Tell(const Stage& stage, const ReplicaPtr& replica, bool added) {
  for (const auto& [id, listener] : stage.listeners) listener(replica, added);
}

bool Directory::Apply(const DirectoryDelta& delta) {
  Stage& stage = stages_[delta.stage];
  const bool complete = stage.complete_next;
  if (!complete && delta.version <= stage.version) return false;
  stage.complete_next = false;
  stage.version = delta.version;
  if (complete) {
    std::set<Key> named;
    for (const ReplicaPtr& replica : delta.added) named.insert(KeyOf(NameOf(*replica)));
    for (auto it = stage.replicas.begin(); it != stage.replicas.end();) {
      if (named.contains(it->first)) {
        ++it;
        continue;
      }
      const ReplicaPtr gone = it->second;
      it = stage.replicas.erase(it);
      Tell(stage, gone, false);
    }
  }
  for (const Replica& replica : delta.removed) {
    const auto it = stage.replicas.find(KeyOf(replica));
    if (it == stage.replicas.end()) continue;
    const ReplicaPtr gone = it->second;
    stage.replicas.erase(it);
    Tell(stage, gone, false);
  }
  for (const ReplicaPtr& replica : delta.added) {
    stage.replicas[KeyOf(NameOf(*replica))] = replica;
    Tell(stage, replica, true);
  }
  return true;
}

void Directory::ExpectComplete() {
  for (auto& [id, stage] : stages_) stage.complete_next = true;
}

void Directory::EndJob(JobId job) {
  std::erase_if(stages_, [&](const auto& entry) { return entry.first.job == job; });
}

uint64_t Directory::Subscribe(StageId id, Listener listener) {
  Stage& stage = stages_[id];
  for (const auto& [key, replica] : stage.replicas) listener(replica, true);
  const uint64_t subscription = next_subscription_++;
  stage.listeners.emplace(subscription, std::move(listener));
  return subscription;
}

void Directory::Unsubscribe(StageId id, uint64_t subscription) {
  const auto it = stages_.find(id);
  if (it != stages_.end()) it->second.listeners.erase(subscription);
}

size_t Directory::replicas() const {
  size_t n = 0;
  for (const auto& [id, stage] : stages_) n += stage.replicas.size();
  return n;
}

}  // namespace mr::worker
