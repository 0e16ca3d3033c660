// Reports of a worker on its attempts and replicas. control.capnp has their wire form (common/rpc/control_wire.h).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "common/base/hot_keys.h"
#include "common/base/ids.h"
#include "common/base/time.h"
#include "common/model/attempt.h"
#include "common/model/output.h"

namespace mr {

// Limits of the lists in one report; guesses, but for the hot keys: as many as mr::HotKeys counts.
inline constexpr size_t kMaxBadRecords = 16, kMaxHotKeys = 64, kMaxGrown = 16;

// Most bytes of the end of a log that the master keeps. A guess: some 500 lines, and a thousand failures in a second
// cost less than a tenth of a network of 1 GB/s.
inline constexpr size_t kKeptLogBytes = 64 << 10;

namespace report {

// A kind that only a later release knows.
struct Unknown {
  bool operator==(const Unknown&) const = default;
};
struct Started {
  bool operator==(const Started&) const = default;
};
// The attempt succeeded: its output is durable, or can be read, under its private name.
struct Finished {
  TaskOutput output;
  std::vector<Consumed> consumed;
  Duration ran, waited;
  std::vector<CounterValue> counters;
  std::vector<std::string> bad_records;  // messages about the first few skipped records
  std::vector<HotKey> hot_keys;          // of what it gave to the shuffle
  std::vector<std::string> grown;        // URIs of local inputs that are longer than planned
  bool operator==(const Finished&) const = default;
};
struct Failed {
  FailureKind kind = FailureKind::kUser;
  std::string message;
  std::string record;  // the place in the input, for people
  std::string stderr_tail;
  std::string log;         // the end of its log, at most kKeptLogBytes
  uint64_t log_bytes = 0;  // of its whole log
  bool operator==(const Failed&) const = default;
};
struct Refused {
  std::string why;
  bool operator==(const Refused&) const = default;
};
struct Killed {
  bool operator==(const Killed&) const = default;
};
// A replica could not be read. unreachable: its worker did not answer, so its bytes are not in doubt.
struct FetchFailed {
  Replica replica;
  std::string why;
  bool unreachable = false;
  bool operator==(const FetchFailed&) const = default;
};
// Uncompressed bytes and time of reads from a replica. For an attempt by bind: one read. For others: all reads from
// this replica's worker since the last such report. readers: of this replica at the same time, this one included; 0:
// not counted.
struct FetchDone {
  Replica replica;
  uint64_t bytes = 0;
  Duration took;
  uint32_t readers = 0;
  bool operator==(const FetchDone&) const = default;
};
struct ReplicaMade {
  Replica replica;
  bool operator==(const ReplicaMade&) const = default;
};
// A requested replica could not be made. here: the cause is on this worker, so the source is not in doubt.
struct ReplicaNotMade {
  Replica from;
  std::string why;
  bool here = false;
  bool operator==(const ReplicaNotMade&) const = default;
};

}  // namespace report

struct Report {
  AttemptId attempt;  // for a replica: the attempt that made the output
  std::variant<report::Unknown, report::Started, report::Finished, report::Failed, report::Refused, report::Killed,
               report::FetchFailed, report::FetchDone, report::ReplicaMade, report::ReplicaNotMade>
      what;
  bool operator==(const Report&) const = default;
};

inline constexpr uint8_t kShufflePhase = 1;

// The progress of one attempt.
struct ProgressReport {
  AttemptId attempt;
  uint8_t phase = 0;         // 0 read/map, 1 shuffle, 2 merge, 3 reduce, 4 write
  uint64_t taken_bytes = 0;  // taken by the operator from this phase's input; in the shuffle: arrived
  uint64_t total_bytes = 0;  // expected of this phase, in the shuffle an estimate; 0 if not known
  uint64_t records = 0;
  bool inputs_done = false;
  template <class V>
  static void Fields(V&& v) {
    using T = ProgressReport;
    v(&T::attempt, &T::phase, &T::taken_bytes, &T::total_bytes, &T::records, &T::inputs_done);
  }
  bool operator==(const ProgressReport&) const = default;
};

}  // namespace mr
