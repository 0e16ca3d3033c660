// Fetches segments of upstream outputs for one reading attempt, over Cap'n Proto.
//
// The reader names what it wants (segment: input, upstream task, partition) and, as the directory
// or a bind says so, where it is. Four calls are in flight per peer connection, small segments
// share a call; a window bounds the bytes that have arrived and were not taken. Every chunk is
// checked against its wire digest, every finished segment against its row of the table, and the
// table against the committed digest; only then is it delivered as complete. A copy on this very
// worker is read from the store without a connection.
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
#include "worker/shuffle/store.h"

namespace mr::worker {

struct CopyLocation {
  OutputId output;
  uint32_t attempt = 0;
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string address;  // data server
  Digest128 content;    // committed table digest
  std::vector<PartitionRow> table;  // empty: asked from the copy and checked against content
  uint32_t partitions = 0;
};

struct SegmentRequest {
  uint32_t input = 0;
  uint32_t partition_begin = 0, partition_end = 0;
  CopyLocation from;
};

class FetchObserver {
 public:
  virtual ~FetchObserver() = default;
  // One uncompressed batch, or none with last for an empty segment. Call `taken` (any thread) when
  // it no longer counts against the window.
  virtual void OnBatch(uint32_t input, uint32_t upstream_task, uint32_t partition, std::string batch,
                       bool last, std::function<void()> taken) = 0;
  // All partitions of the request are delivered and verified.
  virtual void OnSegmentDone(const CopyLocation& from, uint64_t bytes, Duration took) = 0;
  // This copy cannot be read (unreachable, gone, damaged). Nothing of the failing partition has
  // been delivered as `last`; what was delivered of it must be forgotten by the reader, which is
  // why fetchers deliver a partition's batches only once all of them have been verified, or, for
  // partitions above the window, fail the attempt.
  virtual void OnSegmentFailed(const CopyLocation& from, const Status& why) = 0;
};

// One per reading attempt.
class Fetcher {
 public:
  virtual ~Fetcher() = default;  // cancels; no call to the observer afterwards
  virtual void Request(SegmentRequest request) = 0;
};

}  // namespace mr::worker
