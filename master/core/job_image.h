// The structs of the jobs' image in a snapshot, and of the tails behind it. Stored structs: see common/base/fields.h
// for how to add a field. What the scheduler's image has is written as 0 and skipped here; release 0.1 kept it twice.
// Private to job_image.cc and to the test of stored structs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/fields.h"
#include "master/core/jobs.h"

namespace mr::master {

struct TableHead {
  JobTotals::Attempts counts;
  JobId newest_forgotten;
  std::vector<JobId> whole, brief;
  template <class V>
  static void Fields(V&& v) {
    using T = TableHead;
    v(&T::counts, &T::newest_forgotten, &T::whole, &T::brief);
  }
};

// A replica that was requested and not made yet.
struct Replication {
  Replica from;
  WorkerId to;
  sched::Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&Replication::from, &Replication::to, &Replication::reason);
  }
};

// Stands behind the head in images of releases that can replicate outputs.
struct ReplicasTail {
  JobTotals::Replicas counts;
  std::vector<Replication> replications;  // of 0.1
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicasTail::counts, &ReplicasTail::replications);
  }
};

struct ReplicaImage {
  Replica replica;
  Manifest manifest;
  std::optional<FinishedExtra> extra;  // none: that of the commit
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicaImage::replica, &ReplicaImage::manifest, &ReplicaImage::extra);
  }
};

struct TaskImage {
  bool committed = false;
  uint32_t generation = 1, attempts = 0, live = 0, refused = 0, winner = 0;  // attempts, live: of 0.1
  WorkerId worker;
  std::optional<FinishedExtra> output;
  Manifest manifest;
  std::vector<ReplicaImage> replicas;
  template <class V>
  static void Fields(V&& v) {
    using T = TaskImage;
    v(&T::committed, &T::generation, &T::attempts, &T::live, &T::winner, &T::worker, &T::output, &T::manifest,
      &T::replicas, &T::refused);
  }
};

struct StageImage {
  bool planned = false, started = false;
  std::vector<TaskImage> tasks;
  uint32_t committed = 0, running = 0, waiting = 0, failed = 0;  // running, waiting: of 0.1
  uint64_t taken_bytes = 0, output_bytes = 0, output_records = 0;
  Instant first_launch, last_commit;
  template <class V>
  static void Fields(V&& v) {
    using T = StageImage;
    v(&T::planned, &T::started, &T::tasks, &T::committed, &T::running, &T::waiting, &T::failed, &T::taken_bytes,
      &T::output_bytes, &T::output_records, &T::first_launch, &T::last_commit);
  }
};

// Release 0.1 filled the fields from worker to total_bytes. They are 0 now, but for state.
struct AttemptImage {
  AttemptId id;
  WorkerId worker;
  Incarnation incarnation = 0;
  Cause cause = Cause::kFirst;
  uint32_t generation = 1;
  AttemptState state = AttemptState::kRunning;  // kRunning where it did not end by its own report
  bool stop_asked = false;
  Instant launched, ended;
  uint64_t taken_bytes = 0, total_bytes = 0;
  sched::Reason reason;
  std::string message, record, stderr_tail;
  uint64_t sequence = 0;
  template <class V>
  static void Fields(V&& v) {
    using T = AttemptImage;
    v(&T::id, &T::worker, &T::incarnation, &T::cause, &T::generation, &T::state, &T::stop_asked, &T::launched,
      &T::ended, &T::taken_bytes, &T::total_bytes, &T::reason, &T::message, &T::record, &T::stderr_tail, &T::sequence);
  }
};

struct WhyImage {
  uint32_t stage = 0, task = 0;
  bool of_job = false;
  Instant at;
  What what = What::kLaunched;
  AttemptId attempt;
  WorkerId worker;
  sched::Reason reason;
  template <class V>
  static void Fields(V&& v) {
    using T = WhyImage;
    v(&T::stage, &T::task, &T::of_job, &T::at, &T::what, &T::attempt, &T::worker, &T::reason);
  }
};

struct JobImage {
  JobId id;
  std::string spec_bytes, submission_id;
  uint64_t wall_ms = 0;
  JobPlan plan;
  JobState state = JobState::kPending;
  bool told = false, brief = false, rolled_back = false;
  OutputTotals totals;
  std::string error, publish_error, last_failure;
  Instant submitted, ended;
  uint64_t submit_sequence = 0;
  std::vector<StageImage> stages;
  std::vector<AttemptImage> attempts;
  std::vector<WhyImage> why;
  template <class V>
  static void Fields(V&& v) {
    using T = JobImage;
    v(&T::id, &T::spec_bytes, &T::submission_id, &T::wall_ms, &T::plan, &T::state, &T::told, &T::brief, &T::rolled_back,
      &T::totals, &T::error, &T::publish_error, &T::submitted, &T::ended, &T::submit_sequence, &T::stages, &T::attempts,
      &T::why, &T::last_failure);
  }
};

// The counts of causes stand behind the image without their number. Images of earlier releases lack them.
inline constexpr size_t kFirstCauses = 5;  // that these releases knew; the others stand in LentTail

// Behind the clones, from the release on that lends idle slots.
struct LentTail {
  LentCounts counts;
  std::vector<sched::CauseCount> causes;  // from the first that the tail of causes lacks
  LentTail() = default;
  LentTail(const LentCounts& lent, const CauseCounts& all)
      : counts(lent), causes(all.begin() + kFirstCauses, all.end()) {}
  void Into(CauseCounts* all) const {
    const size_t known = std::min(causes.size(), all->size() - kFirstCauses);
    std::copy_n(causes.begin(), known, all->begin() + kFirstCauses);
  }
  template <class V>
  static void Fields(V&& v) {
    v(&LentTail::counts, &LentTail::causes);
  }
};

// Behind the causes and the texts, from the release on whose jobs run as clones.
struct CloneTail {
  struct Read {
    AttemptId reader;
    Replica replica;
    template <class V>
    static void Fields(V&& v) {
      v(&Read::reader, &Read::replica);
    }
  };
  struct Warning {
    uint32_t stage = 0;
    std::string text;
    template <class V>
    static void Fields(V&& v) {
      v(&Warning::stage, &Warning::text);
    }
  };
  CloneCounts counts;
  std::vector<Read> reads;
  std::vector<Warning> warnings;
  template <class V>
  static void Fields(V&& v) {
    v(&CloneTail::counts, &CloneTail::reads, &CloneTail::warnings);
  }
};

// Behind the steering, from the release on that steers jobs by their deadlines; priority and deadline may have been
// changed since the spec was written.
struct DeadlineTail {
  int32_t priority = 0;
  Duration deadline;
  template <class V>
  static void Fields(V&& v) {
    v(&DeadlineTail::priority, &DeadlineTail::deadline);
  }
};
// Behind it: whether the spec's utility counts still. Earlier releases do not say, and compared deadlines.
using UtilityTail = bool;

// Behind the causes: texts of reasons, by their place in the image's list.
struct WhyText {
  uint32_t line = 0;
  std::string text;
  template <class V>
  static void Fields(V&& v) {
    v(&WhyText::line, &WhyText::text);
  }
};

}  // namespace mr::master
