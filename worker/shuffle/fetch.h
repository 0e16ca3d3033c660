// Fetches segments of upstream outputs for one reading attempt, over Cap'n Proto.
//
// A request names a segment (input, upstream task, partitions) and its replica, which comes from the directory or from
// a bind. Four calls are in flight per peer connection, and small segments share a call. A window bounds the bytes that
// are requested, or have arrived but are not taken yet.
//
// The table is checked against the committed digest, every chunk against its wire digest, every partition against its
// row. A partition that fits into the window is delivered after all of it has been checked. A larger one is delivered
// batch by batch, and its last batch only after the whole check. A replica on this worker is read from the store,
// without a connection.
//
// Lives on the worker's KJ loop. Disk reads and decompression run on the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/latency_histogram.h"
#include "common/base/shared_bytes.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/model/output.h"
#include "common/rpc/kj_thread.h"
#include "worker/shuffle/on_pool.h"
#include "worker/shuffle/replica_readers.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

struct SegmentRequest {
  uint32_t input = 0;
  uint32_t partition_begin = 0, partition_end = 0;
  ReplicaLocation from;
  bool counted = false;  // its worker counts this reader among the replica's readers
};

// Measurements of one segment's transfer.
struct FetchMeasure {
  uint64_t bytes = 0;    // of batches, uncompressed
  Duration took;         // from the first request for it to the last verified byte
  uint32_t readers = 0;  // of the replica, as its worker counted them; mean over the bytes; 0: not counted
};

// Progress of a fetcher over all segments that were requested and have not failed. Bytes are uncompressed.
struct FetchProgress {
  uint64_t arrived_bytes = 0;   // of chunks
  uint64_t expected_bytes = 0;  // of the segments whose table is known, in all
  uint32_t segments = 0;        // whose table is known
};

// Receives what a fetcher delivers. All calls come on the loop, and none from within a call of the fetcher. They may
// destroy the fetcher.
class FetchObserver {
 public:
  virtual ~FetchObserver() = default;
  struct Batch {
    uint32_t input = 0, upstream_task = 0, partition = 0;
    SharedBytes bytes;
    bool last = false;   // of its partition
    bool whole = false;  // all of the partition is checked, and its other batches are delivered in the same turn
  };
  // Delivers one uncompressed batch, or none with `last` for an empty partition. Call `taken` when it no longer counts
  // against the window: once, on any thread, also after the fetcher's end.
  virtual void OnBatch(Batch batch, std::function<void()> taken) = 0;
  // All partitions of the request have been delivered and verified.
  virtual void OnSegmentDone(const ReplicaLocation& from, const FetchMeasure& measure) = 0;
  // This replica cannot be read (unreachable, gone or damaged): request the rest from another one. Partitions with a
  // delivered `last` are good and stay delivered. partly_delivered: batches of a partition above the window were
  // delivered before it failed; a new request delivers it again from its beginning. Otherwise nothing of the failing
  // partitions was delivered.
  virtual void OnSegmentFailed(const ReplicaLocation& from, const Status& why, bool partly_delivered) = 0;
};

// Fetches the segments of one slice of a reading attempt.
class Fetcher {
 public:
  virtual ~Fetcher() = default;  // cancels all requests; the observer is not called afterwards
  // Delivers the partitions of a segment in any order, and the batches of each in their order.
  virtual void Request(SegmentRequest request) = 0;
  virtual FetchProgress Progress() const = 0;
};

// The resources that a worker's fetchers share: connections to peers, one per (address, incarnation), and partition
// tables. Lives on the loop, which outlives it. Fetchers must be destroyed first.
class FetchPool {
 public:
  struct Options {
    Incarnation incarnation = 0;  // of this worker: its own replicas are read from the store
    uint64_t cluster_id = 0;      // for the hello; 0: any
    Duration connect_timeout = Seconds(5);
    Duration call_timeout = Seconds(10);
    uint32_t calls_in_flight = 4;  // per connection (limits of the session, data.capnp)
    uint64_t table_cache_bytes = 64ull << 20;
    size_t idle_connections = 64;  // kept for the next fetcher
  };
  struct FetcherOptions {
    uint64_t window_bytes = 8ull << 20;  // requested or delivered, and not taken
  };
  // store may be null: then no replica is local.
  FetchPool(rpc::KjThread& loop, std::shared_ptr<ShuffleStore> store, PostToPool post_to_pool, const Options& options);
  ~FetchPool();

  void SetClusterId(uint64_t cluster_id);  // for new connections
  // Sets the place where local readers are counted, together with readers from other workers. Call it before the first
  // fetcher.
  void CountReadersIn(std::shared_ptr<ReplicaReaders> readers);
  std::unique_ptr<Fetcher> NewFetcher(FetchObserver* observer, const FetcherOptions& options);
  std::unique_ptr<Fetcher> NewFetcher(FetchObserver* observer) { return NewFetcher(observer, {}); }

  // Returns how long calls for chunks to other workers took, until their answers.
  const LatencyHistogram& call_times() const;

  struct State;
  // For code that shares its channels and tables (replicate.cc).
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace mr::worker
