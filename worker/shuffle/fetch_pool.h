// The resources that fetchers share: channels to peers, and fetched tables. Lives on the loop. For fetch*.cc and
// replicate.cc only.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "worker/shuffle/fetch_channel.h"
#include "worker/shuffle/fetch_check.h"

namespace mr::worker {

// Posts to the loop from any thread, as long as there is a loop.
class LoopHandle {
 public:
  explicit LoopHandle(rpc::KjThread* loop) : loop_(loop) {}
  void Post(kj::Function<void()> fn) {
    std::lock_guard lock(mutex_);
    if (loop_ != nullptr) loop_->Post(kj::mv(fn));
  }
  void Close() {
    std::lock_guard lock(mutex_);
    loop_ = nullptr;
  }

 private:
  std::mutex mutex_;
  rpc::KjThread* loop_;
};

// Cache of replicas' tables, with LRU eviction.
class TableCache {
 public:
  explicit TableCache(uint64_t capacity_bytes) : capacity_(capacity_bytes) {}
  Table Find(const ReplicaLocation& replica);
  void Add(const ReplicaLocation& replica, Table table);

 private:
  using Key = std::tuple<TaskId, uint32_t, Incarnation, Digest128>;
  static Key KeyOf(const ReplicaLocation& replica) {
    return {replica.output.task, replica.attempt, replica.incarnation, replica.content};
  }
  static uint64_t Cost(const Table& table) { return 200 + table->size() * sizeof(PartitionRow); }
  struct Entry {
    Table table;
    std::list<Key>::iterator use;
  };
  const uint64_t capacity_;
  uint64_t bytes_ = 0;
  std::list<Key> uses_;  // most recent first
  std::map<Key, Entry> entries_;
};

struct FetchPool::State {
  State(rpc::KjThread& loop, std::shared_ptr<ShuffleStore> store, PostToPool post, const Options& options);
  ~State();
  std::shared_ptr<FetchChannel> ChannelTo(const ReplicaLocation& replica);

  std::shared_ptr<ChannelContext> context;
  std::shared_ptr<LoopHandle> handle;
  TableCache tables;
  std::map<std::pair<std::string, Incarnation>, std::shared_ptr<FetchChannel>> channels;
  std::shared_ptr<FetchChannel> local;
  uint64_t last_reader = 0;  // number of the last segment that is counted
};

std::unique_ptr<Fetcher> MakeFetcher(std::shared_ptr<FetchPool::State> pool, FetchObserver* observer,
                                     const FetchPool::FetcherOptions& options);

}  // namespace mr::worker
