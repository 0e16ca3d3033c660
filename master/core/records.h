// The records of the master's journal: kinds, structs and payloads. All are stored structs: their lists of fields never
// change. How to add a field: common/base/fields.h. Events that make a soft record: ClassOf in master/host/driver.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/fields.h"
#include "common/base/hot_keys.h"
#include "common/base/status.h"
#include "common/model/caller.h"
#include "common/model/job_plan.h"
#include "common/model/job_spec.h"
#include "common/model/output.h"
#include "dfs/meta/record.h"
#include "master/sched/decision.h"
#include "master/sched/event.h"

namespace mr::master {

// Numbers stand on disk: never reuse one. 0 is the journal's own.
enum class RecordKind : uint8_t {
  kEvent = 1,          // EventRecord
  kEpoch = 2,          // EpochStarted: a master process took over
  kWorker = 3,         // WorkerNamed
  kPublished = 4,      // JobPublished
  kOldDigest = 5,      // before 0.1
  kDfs = 6,            // dfs::Record
  kDrained = 7,        // WorkerDrained
  kExcluded = 8,       // WorkerExcluded
  kForgotten = 9,      // WorkerForgotten
  kWrongOutputs = 16,  // WorkerWrongOutputs
  kLoss = 32,          // JournalLoss
  // Only in snapshots, in this order.
  kSnapshotHead = 64,       // SnapshotHead
  kSnapshotScheduler = 65,  // a part of sched::Scheduler::Save
  kSnapshotJobs = 66,       // a part of Jobs::Save
  kSnapshotDfs = 67,        // dfs::Namespace::Snapshot; the last
};

// Facts that come with an event and that no record keeps: they are lost with the master. No decision that is replayed
// depends on them.
struct Beside {
  std::vector<uint32_t> partition_kib;   // sizes of the partitions of an output whose table is not inline, rounded up
  std::vector<std::string> bad_records;  // a few of those that the attempt skipped, for people
  std::vector<std::string> grown;        // URIs of local inputs that grew since the job was planned
};

// Returns whether records of this kind are parts of a snapshot.
inline bool IsImage(RecordKind kind) { return kind >= RecordKind::kSnapshotHead && kind <= RecordKind::kSnapshotDfs; }

// An event of the scheduler, its extra, and its outcome. One record, so that none of these exists without the others.
//
// The extra holds what the master keeps with the event: the bytes of the `...Extra` struct for the event's kind (at the
// end of this file), or nothing. The outcome is the core's answer to the event: the promises (IsPromise) and the digest
// of the scheduler's state after it. A build of the same kSchedulerVersion makes the outcome again and compares it.
// Another build takes the outcome from the record. The extra of an AttemptFinished that commits a job also has the
// block store's record of the job's files. If there is none, it has the reason.
struct EventRecord {
  sched::StampedEvent stamped;
  std::string extra;
  std::optional<std::vector<sched::Decision>> outcome;  // nothing: the core has not seen the event yet
  std::optional<uint64_t> digest;
  // Not in the journal. spec: of a JobSubmitted, as its extra has it in wire form.
  std::shared_ptr<const JobSpec> spec;
  Beside beside;
  template <class V>
  static void Fields(V&& v) {
    v(&EventRecord::stamped, &EventRecord::extra, &EventRecord::outcome, &EventRecord::digest);
  }
};
std::string Encode(const EventRecord& record);
bool DecodeEvent(std::string_view bytes, EventRecord* out);

// Returns whether the decision is a promise. The record of the event keeps promises, and every later release must hold
// to them.
bool IsPromise(const sched::Decision& d);

// Returns "" or how the promises among the decisions differ from the recorded ones.
std::string PromisesDiffer(const std::vector<sched::Decision>& recorded, const std::vector<sched::Decision>& decisions);

struct EpochStarted {
  uint32_t epoch = 0;
  uint32_t scheduler_version = 0;
  uint64_t wall_ms = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&EpochStarted::epoch, &EpochStarted::scheduler_version, &EpochStarted::wall_ms);
  }
};

struct WorkerNamed {
  std::string name;
  WorkerId worker;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerNamed::name, &WorkerNamed::worker);
  }
};

// An operator drained a worker, or wants it again. Holds for all lives of it until the next one.
struct WorkerDrained {
  WorkerId worker;
  bool on = true;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerDrained::worker, &WorkerDrained::on);
  }
};

// An operator gave a worker up, or lets it register again. Holds for all lives of it until the next one.
struct WorkerExcluded {
  WorkerId worker;
  bool on = true;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerExcluded::worker, &WorkerExcluded::on);
  }
};

// An operator removed a worker that is gone for good. Its id is never given again; its name may be, with a new id.
struct WorkerForgotten {
  WorkerId worker;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerForgotten::worker);
  }
};

// How many outputs a worker's memory damaged, over all of its lives; 0 from when an operator undrained it.
struct WorkerWrongOutputs {
  WorkerId worker;
  uint32_t count = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerWrongOutputs::worker, &WorkerWrongOutputs::count);
  }
};

// Records of the journal are lost: as a worker's registration showed, or as --accept_loss said. The same again with
// open = false: an operator accepted it. What was said in epochs before `raised` is settled by it.
struct JournalLoss {
  uint32_t epoch = 0;     // of the last record that is known to be lost
  uint64_t sequence = 0;  // its number
  uint64_t kept = 0;      // the last record that was there then
  uint32_t raised = 0;    // the epoch from this record on
  uint64_t wall_ms = 0;   // when it was found; also this epoch's life where this record begins it (epochs.h)
  std::string found_by;   // the worker's name; empty: the journal itself
  bool open = true;
  template <class V>
  static void Fields(V&& v) {
    using T = JournalLoss;
    v(&T::epoch, &T::sequence, &T::kept, &T::raised, &T::wall_ms, &T::found_by, &T::open);
  }
};

// The committed output of a job stands where its user expects it; or cannot: error.
struct JobPublished {
  JobId job;
  std::string error;
  Instant at;  // behind the others in the payload; 0 in records of release 0.1
  template <class V>
  static void Fields(V&& v) {
    v(&JobPublished::job, &JobPublished::error);
  }
};

// The part of a snapshot beside the scheduler, the jobs and the namespace. scheduler_version 0: the
// snapshot has no image of the scheduler.
struct SnapshotHead {
  struct Worker {
    std::string name;
    WorkerId id;
    bool alive = false, drained_by_user = false;
    sched::WorkerRegistered info;
    template <class V>
    static void Fields(V&& v) {
      using T = Worker;
      v(&T::name, &T::id, &T::alive, &T::drained_by_user, &T::info);
    }
  };
  struct Timer {
    std::string policy;
    uint64_t id = 0;
    Instant at;
    template <class V>
    static void Fields(V&& v) {
      v(&Timer::policy, &Timer::id, &Timer::at);
    }
  };
  uint32_t scheduler_version = 0;
  uint64_t events = 0;
  Instant last_stamp;
  std::vector<Worker> workers;
  std::vector<StageId> unplanned;
  std::vector<Timer> timers;
  std::vector<JobId> unpublished, uncleaned;
  template <class V>
  static void Fields(V&& v) {
    using T = SnapshotHead;
    v(&T::scheduler_version, &T::events, &T::last_stamp, &T::workers, &T::unplanned, &T::timers, &T::unpublished,
      &T::uncleaned);
  }
};

// One change of the master's state. A record of the block store that is not hard (dfs::IsHard) is no record of the
// journal: it passes through the core like the others, and is lost with the master.
using Record = std::variant<EventRecord, EpochStarted, WorkerNamed, WorkerDrained, WorkerExcluded, WorkerForgotten,
                            WorkerWrongOutputs, JournalLoss, JobPublished, dfs::Record>;

// Returns the record's kind in the journal, and its payload.
RecordKind KindOf(const Record& record);
std::string EncodeRecord(const Record& record);
// Returns the record of these bytes. The spec of a JobSubmitted is not read (EventRecord::spec). Errors: kCorrupted:
// the bytes are no such record; kRejected: a kind that only a later release knows.
Result<Record> DecodeRecord(uint8_t kind, std::string_view payload);

// ---- Extras of events ---------------------------------------------------------------------------

// Extra of JobSubmitted.
struct SubmitExtra {
  std::string spec;  // rpc::CanonicalBytes
  std::string submission_id;
  uint64_t wall_ms = 0;
  JobPlan plan;
  std::string owner = kNoOwner;  // behind the plan's inputs; older releases did not write it
  template <class V>
  static void Fields(V&& v) {
    v(&SubmitExtra::spec, &SubmitExtra::submission_id, &SubmitExtra::wall_ms, &SubmitExtra::plan);
  }
};

std::string EncodeSubmit(const SubmitExtra& extra);
bool DecodeSubmit(std::string_view bytes, SubmitExtra* out);

// Extra of AttemptFinished.
struct FinishedExtra {
  uint32_t partitions = 0;
  std::vector<PartitionRow> rows;  // inline up to 64 partitions
  std::vector<FileOutput> outputs;
  std::vector<CounterValue> counters;
  // Where this event committed a job whose output is in the block store: the dfs::Record that makes
  // it visible (or why it cannot).
  std::string dfs_commit, dfs_error;
  template <class V>
  static void Fields(V&& v) {
    using T = FinishedExtra;
    v(&T::partitions, &T::rows, &T::outputs, &T::counters, &T::dfs_commit, &T::dfs_error);
  }
};

// Encodes the extra of an AttemptFinished record: the output, then the hottest keys of its shuffle ports, if any.
// Earlier releases wrote the output alone.
std::string EncodeFinished(const FinishedExtra& extra, const std::vector<HotKey>& hot);
bool DecodeFinished(std::string_view bytes, FinishedExtra* extra, std::vector<HotKey>* hot = nullptr);

// Extra of AttemptFailed.
struct FailedExtra {
  std::string record, stderr_tail;
  template <class V>
  static void Fields(V&& v) {
    v(&FailedExtra::record, &FailedExtra::stderr_tail);
  }
};

// Extra of WorkerRegistered.
struct WorkerExtra {
  std::string name;
  uint16_t http_port = 0;
  uint64_t capacity_bytes = 0, used_bytes = 0;
  uint32_t pid = 0;
  template <class V>
  static void Fields(V&& v) {
    using T = WorkerExtra;
    v(&T::name, &T::http_port, &T::capacity_bytes, &T::used_bytes, &T::pid);
  }
};

}  // namespace mr::master
