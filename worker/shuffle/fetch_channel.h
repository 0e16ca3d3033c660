// One way to read chunks of one peer's copies, shared by all fetchers of the worker: over a
// connection, or from this worker's own store. Hands out stored chunks whole and unchecked; the
// fetcher checks. Lives on the loop. For fetch*.cc and replicate.cc only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/rpc/connection.h"
#include "worker/shuffle/copy_readers.h"
#include "worker/shuffle/fetch.h"

namespace mr::worker {

struct ChunkWant {
  CopyKey copy;
  WorkerId worker;
  Incarnation incarnation = 0;
  uint32_t generation = 0;
  uint32_t partition = 0;
  uint32_t chunk = 0;
  uint64_t expected_bytes = 0;  // roughly, to fill calls
  uint64_t reader = 0;          // among the pool's; 0: not counted
  bool last = false;            // of this reader, of this copy
  // False: nobody waits for it any more; it is dropped without `done`.
  std::function<bool()> wanted;
  // On the loop, never from within Submit. readers: of the copy, as its worker counts them; 0 where it does not.
  std::function<void(Result<StoredChunk>, uint32_t readers)> done;
};

class FetchChannel {
 public:
  virtual ~FetchChannel() = default;
  virtual void Submit(ChunkWant want) = 0;
  // No further want can succeed: take a new channel.
  virtual bool broken() const = 0;
};

struct ChannelContext {
  rpc::KjThread* loop = nullptr;
  PostToPool post;
  std::shared_ptr<ShuffleStore> store;
  std::shared_ptr<CopyReaders> readers;  // of the store's copies
  FetchPool::Options options;
};

std::shared_ptr<FetchChannel> NewRemoteChannel(std::shared_ptr<const ChannelContext> context,
                                               const std::string& address, Incarnation incarnation);
std::shared_ptr<FetchChannel> NewLocalChannel(std::shared_ptr<const ChannelContext> context);

}  // namespace mr::worker
