// Calls of workers and their answers as plain structs: registrations and reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/hot_keys.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "dfs/meta/record.h"
#include "master/sched/event.h"
#include "master/server/epochs.h"
#include "master/server/outlets.h"
#include "master/server/records.h"
#include "schema/control.capnp.h"

namespace mr::master {

// A worker's report of one attempt.
struct ReportIn {
  uint64_t number = 0;
  enum class Kind {
    kStarted,
    kFinished,
    kFailed,
    kRefused,
    kKilled,
    kFetchFailed,
    kFetchDone,
    kReplicaMade,
    kReplicaNotMade,
    kUnknown
  };
  Kind kind = Kind::kUnknown;
  AttemptId attempt;
  sched::AttemptFinished finished;
  FinishedExtra finished_extra;
  std::vector<std::string> bad_records;  // of kFinished: the first few that were skipped, in words
  std::vector<uint32_t> partition_kib;   // of kFinished, where the table is not inline
  std::vector<HotKey> hot_keys;          // of kFinished: of what it gave to the shuffle
  std::vector<std::string> grown;        // of kFinished: URIs of local inputs that are longer than planned
  FailureKind failure = FailureKind::kUser;
  std::string message;
  FailedExtra failed_extra;
  // From: also of kFetchFailed and kReplicaNotMade, with message; of kReplicaMade the new one.
  sched::FetchDone fetch;
  bool own_fault = false;    // of kReplicaNotMade: the worker's own, not the source's
  bool unreachable = false;  // of kFetchFailed: the source did not answer, nothing is said of its bytes
};
// kLater: its record is not on disk yet; another one follows in a batch of commands.
enum class Verdict : uint8_t { kNoted, kWinner, kReplicaKept, kReplicaDropped, kDiffers, kStale, kLater };
void ToWire(Verdict verdict, rpc::Reply::Builder out);
// The answer to a call with reports: one verdict each, and what the worker is to do next.
struct ReportOut {
  std::vector<Verdict> verdicts;
  Message batch;  // root rpc::CommandBatch; null = nothing to do
};

struct RegisterIn {
  sched::WorkerRegistered info;  // worker is filled in here
  WorkerExtra extra;
  std::vector<BlockRef> blocks;
  bool leaving = false;
  uint32_t reports_given_up = 0;  // by this life of it
  Durable seen;                   // the newest that it was sent by any master of this cluster
};
struct RegisterOut {
  Status status;
  WorkerId worker;
  std::vector<Replica> drop;
  bool start_over = false;  // this life was given up meanwhile
  uint32_t epoch = 0;
  Durable durable;
};

}  // namespace mr::master
