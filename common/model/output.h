// Outputs of tasks: what an attempt made, where it can be read, and what a reader consumed of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/model/block.h"

namespace mr {

// Totals of an attempt's output, and the digest over all its partitions. Small enough for a journal record, unlike the
// rows of the partitions.
struct Manifest {
  uint64_t records = 0;
  uint64_t bytes = 0;  // uncompressed
  Digest128 content;   // digest of the partition table: counts and content digests, in order
  template <class V>
  static void Fields(V&& v) {
    v(&Manifest::records, &Manifest::bytes, &Manifest::content);
  }
  bool operator==(const Manifest&) const = default;
};

// One row of an output's partition table.
struct PartitionRow {
  uint64_t records = 0;
  uint64_t bytes = 0;   // uncompressed: sum of batch sizes
  Digest128 content;    // XXH3-128 over the partition's batches in order
  uint32_t chunks = 0;  // no part of Manifest::content
  template <class V>
  static void Fields(V&& v) {
    v(&PartitionRow::records, &PartitionRow::bytes, &PartitionRow::content, &PartitionRow::chunks);
  }
  bool operator==(const PartitionRow&) const = default;
};

// A file that an attempt of a final stage made under a private name.
struct FileOutput {
  std::string name;    // part-r-00000
  std::string staged;  // file://: path of the private file; empty in the block store
  uint64_t bytes = 0, records = 0;
  Digest128 content;
  std::vector<StagedBlock> blocks;  // in the block store
  template <class V>
  static void Fields(V&& v) {
    using T = FileOutput;
    v(&T::name, &T::staged, &T::bytes, &T::records, &T::content, &T::blocks);
  }
  bool operator==(const FileOutput&) const = default;
};

// An attempt's output as it reports it.
struct TaskOutput {
  Manifest manifest;
  uint32_t partitions = 0;              // over all ports
  std::vector<PartitionRow> rows;       // for up to kInlineRows partitions; readers fetch larger tables from a replica
  std::vector<uint32_t> partition_kib;  // for more, up to kSizedRows: KiB of each partition, rounded up
  std::vector<FileOutput> files;        // of a final stage
  bool operator==(const TaskOutput&) const = default;
};
// Most rows of a partition table in a report.
inline constexpr size_t kInlineRows = 64;
// Most sizes of partitions in a report. A guess: they take 4 KiB. A stage that gets its tasks by bytes has at most
// 1,000.
inline constexpr size_t kSizedRows = 1024;

// A place where an output can be read.
struct Replica {
  OutputId output;
  uint32_t attempt = 0;  // number of the attempt that made the output
  WorkerId worker;
  Incarnation incarnation = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&Replica::output, &Replica::attempt, &Replica::worker, &Replica::incarnation);
  }
  bool operator==(const Replica&) const = default;
};

// A replica, and what its reader needs to reach and check it.
struct ReplicaLocation {
  OutputId output;
  uint32_t attempt = 0;
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string address;              // host:port of the data server
  Digest128 content;                // committed table digest
  std::vector<PartitionRow> table;  // empty: fetched from the replica and checked against content
  uint32_t partitions = 0;
  std::string grant;  // to read outputs of the job there (common/secure/grant.h); may be empty
  bool operator==(const ReplicaLocation&) const = default;
};
inline Replica NameOf(const ReplicaLocation& replica) {
  return {replica.output, replica.attempt, replica.worker, replica.incarnation};
}

// One task's read of one edge: partitions [partition_begin, partition_end) of the outputs of upstream tasks
// [task_begin, task_end). Partition numbers span all ports of the upstream stage.
struct Slice {
  uint32_t input = 0;  // index of the reading stage's input
  uint32_t partition_begin = 0, partition_end = 0;
  uint32_t task_begin = 0, task_end = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&Slice::input, &Slice::partition_begin, &Slice::partition_end, &Slice::task_begin, &Slice::task_end);
  }
  bool operator==(const Slice&) const = default;
};

// An attempt's report of the output that it consumed of one upstream task.
struct Consumed {
  uint32_t stage = 0, task = 0;
  uint32_t generation = 0;
  Digest128 content;  // Manifest::content of the output that it read
  template <class V>
  static void Fields(V&& v) {
    v(&Consumed::stage, &Consumed::task, &Consumed::generation, &Consumed::content);
  }
  bool operator==(const Consumed&) const = default;
};

// The value of one of an operator's counters.
struct CounterValue {
  std::string group, name;
  int64_t value = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&CounterValue::group, &CounterValue::name, &CounterValue::value);
  }
  bool operator==(const CounterValue&) const = default;
};

}  // namespace mr
