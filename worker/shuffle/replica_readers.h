// Counts the concurrent readers of each replica on this worker. The throughput of a transfer depends on it (Dolly,
// NSDI'13: bandwidth under contention). Only readers that send a number are counted: those to which the master has
// bound a replica.
//
// A reader counts from its first request until the answer to its last one, the end of its session, or kIdle without a
// request (for readers that were killed). Lives on the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "common/base/time.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

class ReplicaReaders {
 public:
  // Guess: many times the duration of a chunk on a slow link. A reader that takes longer does not compete for
  // bandwidth.
  static constexpr Duration kIdle = Seconds(2);
  // Bounds the memory that peers can use; more readers are not counted. Guess: far above slots x inputs in flight.
  static constexpr size_t kMost = 65536;

  // Returns a number for a new session, under which its readers are counted.
  uint64_t NewSession() { return ++last_session_; }
  // Records that the reader requests something of this replica.
  void Asks(const ReplicaKey& replica, uint64_t session, uint64_t reader, Instant now);
  uint32_t Count(const ReplicaKey& replica, Instant now);
  void Ends(const ReplicaKey& replica, uint64_t session, uint64_t reader);
  void SessionEnds(uint64_t session);
  size_t size() const { return asked_.size(); }

 private:
  using Key = std::tuple<ReplicaKey, uint64_t, uint64_t>;
  std::map<Key, Instant> asked_;  // time of the last request
  uint64_t last_session_ = 0;
};

}  // namespace mr::worker
