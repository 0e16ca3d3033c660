// Reads chunks of one peer's replicas, over a connection or from this worker's own store. All fetchers of the worker
// share it. It returns stored chunks whole and unchecked; the fetcher checks them. Lives on the loop. For fetch*.cc and
// replicate.cc only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/rpc/connection.h"
#include "worker/shuffle/fetch.h"
#include "worker/shuffle/replica_readers.h"

namespace mr::worker {

struct ChunkWant {
  ReplicaKey replica;
  WorkerId worker;
  Incarnation incarnation = 0;
  uint32_t generation = 0;
  uint32_t partition = 0;
  uint32_t chunk = 0;
  uint64_t expected_bytes = 0;  // approximate: decides how many wants share a call
  uint64_t reader = 0;          // number among the pool's readers; 0: not counted
  bool last = false;            // this reader's last request to this replica
  std::string grant;            // ReplicaLocation::grant
  // Returns false if nobody waits for it any more. It is then dropped without `done`.
  std::function<bool()> wanted;
  // Called on the loop, never from within Submit. readers: of the replica, as its worker counts them; 0 if it does not.
  std::function<void(Result<StoredChunk>, uint32_t readers)> done;
};

class FetchChannel {
 public:
  virtual ~FetchChannel() = default;
  virtual void Submit(ChunkWant want) = 0;
  // Returns whether the channel is broken: no further want can succeed, and a new channel is needed.
  virtual bool broken() const = 0;
};

struct ChannelContext {
  rpc::KjThread* loop = nullptr;
  PostToPool post;
  std::shared_ptr<ShuffleStore> store;
  std::shared_ptr<ReplicaReaders> readers;  // of the replicas in the store
  FetchPool::Options options;
  std::shared_ptr<LatencyHistogram> call_times = std::make_shared<LatencyHistogram>(kCallBounds);  // to other workers
};

std::shared_ptr<FetchChannel> NewRemoteChannel(std::shared_ptr<const ChannelContext> context,
                                               const std::string& address, Incarnation incarnation);
std::shared_ptr<FetchChannel> NewLocalChannel(std::shared_ptr<const ChannelContext> context);

}  // namespace mr::worker
