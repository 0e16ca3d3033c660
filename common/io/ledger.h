// The ledger of bytes: how many bytes each place of the data path copies, checks, compresses, writes or reads. A pass
// over bytes counts once, also a copy that the kernel makes; what a device reads from or writes to memory does not
// count. Off by default (mrworker --ledger): then a place costs one load of a flag.
//
// One per process. A task process has one attempt at a time, and reports its counts with it as job counters of the
// group "ledger"; the counts of a worker are among its metrics. Thread: any.
#pragma once

#include <atomic>
#include <cstdint>

namespace mr {

// The places, in the order in which bytes meet them. (name, what happens there)
#define MR_LEDGER_PLACES(X)                                                \
  X(verify_read, "the worker reads an input block to verify it")           \
  X(verify_crc, "the CRC-32C of input blocks")                             \
  X(task_read, "the task reads its split")                                 \
  X(task_batch, "and copies records into batches")                         \
  X(emit, "the operator's records are copied into batches")                \
  X(collect, "the task collects records to sort or partition them")        \
  X(gather, "and writes them in order into chunks")                        \
  X(spill, "runs are written to a file, or read back")                     \
  X(merge, "sorted inputs are merged into batches")                        \
  X(format, "records are written as bytes of a file")                      \
  X(to_worker, "a chunk is copied into shared memory")                     \
  X(take_output, "the worker copies a chunk out of shared memory")         \
  X(content_digest, "the digest of a partition's content")                 \
  X(wire_digest, "the digest of a chunk")                                  \
  X(compress, "zstd: compression or decompression")                        \
  X(table_copy, "a chunk is copied into a table")                          \
  X(table_sum, "the checksums of tables")                                  \
  X(table_write, "tables are written")                                     \
  X(table_read, "tables are read")                                         \
  X(chunk_copy, "a chunk is copied out of a table's block")                \
  X(message, "chunks and pieces are copied into messages, or out of them") \
  X(socket, "and by the kernel to and from sockets")                       \
  X(give_input, "a chunk is copied into shared memory for a task")         \
  X(take_input, "and by the task out of it")                               \
  X(file_digest, "digests of output files and their blocks")               \
  X(block_crc, "CRC-32C of output blocks")                                 \
  X(block_copy, "pieces of blocks are copied")                             \
  X(block_write, "blocks are written through the page cache")

class Ledger {
 public:
  enum Place : uint8_t {
#define MR_PLACE(name, what) name,
    MR_LEDGER_PLACES(MR_PLACE)
#undef MR_PLACE
        kPlaces
  };

  static void Enable(bool on) { on_.store(on, std::memory_order_relaxed); }
  static bool on() { return on_.load(std::memory_order_relaxed); }
  static void Count(Place place, uint64_t bytes) {
    if (on()) counts_[place].fetch_add(bytes, std::memory_order_relaxed);
  }
  static uint64_t count(Place place) { return counts_[place].load(std::memory_order_relaxed); }
  static const char* Name(Place place);
  static const char* What(Place place);
  static void Clear();

 private:
  inline static std::atomic<bool> on_ = false;
  inline static std::atomic<uint64_t> counts_[kPlaces] = {};
};

}  // namespace mr
