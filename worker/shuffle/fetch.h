// Fetches segments of upstream outputs for one reading attempt, over Cap'n Proto.
//
// The reader names what it wants (segment: input, upstream task, partition) and, as the directory
// or a bind says so, where it is. Four calls are in flight per peer connection, small segments
// share a call; a window bounds the bytes that are asked for or have arrived and were not taken. The
// table is checked against the committed digest, every chunk against its wire digest, every
// partition against its row. A partition that fits into the window is delivered when all of it has
// been checked; a larger one batch by batch, its last batch only then. A copy on this very worker
// is read from the store without a connection.
//
// Lives on the worker's KJ loop; disk and decompression run on the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/rpc/kj_thread.h"
#include "worker/shuffle/copy_readers.h"
#include "worker/shuffle/on_pool.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

struct CopyLocation {
  OutputId output;
  uint32_t attempt = 0;
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string address;              // host:port of the data server
  Digest128 content;                // committed table digest
  std::vector<PartitionRow> table;  // empty: asked from the copy and checked against content
  uint32_t partitions = 0;
};

struct SegmentRequest {
  uint32_t input = 0;
  uint32_t partition_begin = 0, partition_end = 0;
  CopyLocation from;
  bool counted = false;  // its worker is to count it among the copy's readers
};

// How one segment's transfer went.
struct FetchMeasure {
  uint64_t bytes = 0;    // of batches, uncompressed
  Duration took;         // from the first request for it to the last verified byte
  uint32_t readers = 0;  // of the copy, as its worker counted them, in the mean over the bytes; 0: not counted
};

// All calls come on the loop, none from within a call of the fetcher, which they may destroy.
class FetchObserver {
 public:
  virtual ~FetchObserver() = default;
  // One uncompressed batch, or none with last for an empty partition. Call `taken` (any thread,
  // once, also after the fetcher's end) when it no longer counts against the window.
  virtual void OnBatch(uint32_t input, uint32_t upstream_task, uint32_t partition, std::string batch, bool last,
                       std::function<void()> taken) = 0;
  // All partitions of the request are delivered and verified.
  virtual void OnSegmentDone(const CopyLocation& from, const FetchMeasure& measure) = 0;
  // This copy cannot be read (unreachable, gone, damaged); ask for it elsewhere. Partitions whose
  // `last` was delivered are good and stay delivered: ask only for the others. partly_delivered:
  // batches of a partition above the window were handed out before it failed; asked for elsewhere,
  // it comes from its begin again. Otherwise nothing of the failing partitions was delivered.
  virtual void OnSegmentFailed(const CopyLocation& from, const Status& why, bool partly_delivered) = 0;
};

// One per reading attempt.
class Fetcher {
 public:
  virtual ~Fetcher() = default;  // cancels; no call to the observer afterwards
  // Partitions of one segment are delivered in any order, the batches of one in theirs.
  virtual void Request(SegmentRequest request) = 0;
};

// What the fetchers of a worker share: connections to peers, one per (address, incarnation), and
// partition tables. Lives on the loop, which outlives it; fetchers go first.
class FetchPool {
 public:
  struct Options {
    Incarnation incarnation = 0;  // of this worker: copies of it are read from the store
    uint64_t cluster_id = 0;      // for the hello; 0: any
    Duration connect_timeout = Seconds(5);
    Duration call_timeout = Seconds(10);
    uint32_t calls_in_flight = 4;  // per connection (limits of the session, data.capnp)
    uint64_t table_cache_bytes = 64ull << 20;
    size_t idle_connections = 64;  // kept for the next fetcher
  };
  struct FetcherOptions {
    uint64_t window_bytes = 8ull << 20;  // asked for or delivered, and not taken
  };
  // store may be null: then nothing is local.
  FetchPool(rpc::KjThread& loop, std::shared_ptr<ShuffleStore> store, PostToPool post_to_pool, const Options& options);
  ~FetchPool();

  void SetClusterId(uint64_t cluster_id);  // for connections from now on
  // Where readers from elsewhere are counted; before the first fetcher.
  void CountReadersIn(std::shared_ptr<CopyReaders> readers);
  std::unique_ptr<Fetcher> NewFetcher(FetchObserver* observer, const FetcherOptions& options);
  std::unique_ptr<Fetcher> NewFetcher(FetchObserver* observer) { return NewFetcher(observer, {}); }

  struct State;
  // For those who share its channels and tables (replicate.cc).
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace mr::worker
