#include "worker/daemon/directory.h"

#include <set>

namespace mr::worker {

Directory::Key Directory::KeyOf(const CopyLocation& copy) {
  return {copy.output.task.task, copy.attempt, copy.worker.value, copy.incarnation};
}

void Directory::Tell(const Stage& stage, const CopyPtr& copy, bool added) {
  for (const auto& [id, listener] : stage.listeners) listener(copy, added);
}

bool Directory::Apply(const DirectoryDelta& delta) {
  Stage& stage = stages_[delta.stage];
  const bool complete = stage.complete_next;
  if (!complete && delta.version <= stage.version) return false;
  stage.complete_next = false;
  stage.version = delta.version;
  if (complete) {
    std::set<Key> named;
    for (const CopyPtr& copy : delta.added) named.insert(KeyOf(*copy));
    for (auto it = stage.copies.begin(); it != stage.copies.end();) {
      if (named.contains(it->first)) {
        ++it;
        continue;
      }
      const CopyPtr gone = it->second;
      it = stage.copies.erase(it);
      Tell(stage, gone, false);
    }
  }
  for (const CopyPtr& copy : delta.removed) {
    const auto it = stage.copies.find(KeyOf(*copy));
    if (it == stage.copies.end()) continue;
    const CopyPtr gone = it->second;
    stage.copies.erase(it);
    Tell(stage, gone, false);
  }
  for (const CopyPtr& copy : delta.added) {
    stage.copies[KeyOf(*copy)] = copy;
    Tell(stage, copy, true);
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
  for (const auto& [key, copy] : stage.copies) listener(copy, true);
  const uint64_t subscription = next_subscription_++;
  stage.listeners.emplace(subscription, std::move(listener));
  return subscription;
}

void Directory::Unsubscribe(StageId id, uint64_t subscription) {
  const auto it = stages_.find(id);
  if (it != stages_.end()) it->second.listeners.erase(subscription);
}

size_t Directory::copies() const {
  size_t n = 0;
  for (const auto& [id, stage] : stages_) n += stage.copies.size();
  return n;
}

}  // namespace mr::worker
