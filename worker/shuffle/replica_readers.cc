#include "worker/shuffle/replica_readers.h"

namespace mr::worker {

void ReplicaReaders::Asks(const ReplicaKey& replica, uint64_t session, uint64_t reader, Instant now) {
  if (asked_.size() >= kMost) std::erase_if(asked_, [now](const auto& entry) { return now - entry.second > kIdle; });
  const Key key{replica, session, reader};
  if (asked_.size() < kMost || asked_.contains(key)) asked_[key] = now;
}

uint32_t ReplicaReaders::Count(const ReplicaKey& replica, Instant now) {
  uint32_t n = 0;
  for (auto it = asked_.lower_bound({replica, 0, 0}); it != asked_.end() && std::get<0>(it->first) == replica;) {
    if (now - it->second > kIdle) {
      it = asked_.erase(it);
    } else {
      ++n;
      ++it;
    }
  }
  return n;
}

void ReplicaReaders::Ends(const ReplicaKey& replica, uint64_t session, uint64_t reader) {
  asked_.erase({replica, session, reader});
}

void ReplicaReaders::SessionEnds(uint64_t session) {
  std::erase_if(asked_, [session](const auto& entry) { return std::get<1>(entry.first) == session; });
}

}  // namespace mr::worker
