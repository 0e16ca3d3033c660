// The annotations of a job: what people see of it and the scheduler does not keep. Reasons, messages of attempts,
// warnings, counts and times. Made from records, their decisions and the changes of attempts. No decision reads them;
// the answer to a repeated report does (AttemptNote::verdict). Bounded. Kept in snapshots.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/model/attempt.h"
#include "master/core/attempts.h"
#include "master/core/job_projection.h"
#include "master/core/skew.h"
#include "master/core/steering.h"
#include "master/core/why_lines.h"
#include "master/sched/decision.h"
#include "master/sched/event.h"

namespace mr::master {

// Counts of clones and of reads that are bound to replicas.
struct CloneCounts {
  uint64_t killed = 0;  // clones
  Duration extra;       // slot time of attempts of tasks with clones that ended and did not commit
  // Reads that were bound to a replica of their own; to a shared one; and those of both that were bound again.
  uint64_t exclusive = 0, contended = 0, rebound = 0;
  template <class V>
  static void Fields(V&& v) {
    using T = CloneCounts;
    v(&T::killed, &T::extra, &T::exclusive, &T::contended, &T::rebound);
  }
};

// Clones on lent slots (Cause::kOpportunistic).
struct LentCounts {
  uint64_t killed = 0;
  Duration extra;  // as CloneCounts::extra, of tasks with such clones and no others
  template <class V>
  static void Fields(V&& v) {
    v(&LentCounts::killed, &LentCounts::extra);
  }
};

// By CauseIndex. won: committed their task. An attempt whose output is kept as a further replica has not won.
using CauseCounts = std::array<sched::CauseCount, kCauses>;

struct StageNotes {
  uint32_t failed = 0;       // attempts
  uint64_t taken_bytes = 0;  // by operators, of attempts that run or have committed
  bool started = false;
  Instant first_launch, last_commit;
  std::map<uint32_t, uint32_t> refused;  // by task: launches that their worker did not start
};

struct JobNotes {
  std::string last_failure;  // one line: attempt, worker, why; empty where none failed yet
  CauseCounts causes{};
  CloneCounts clones;
  LentCounts lent;
  Steering steering;
  std::map<std::pair<AttemptId, TaskId>, Replica> reads;  // last bind of live readers, by output
  std::map<uint32_t, std::string> warnings;               // by stage: one line for the job's user
  // URIs of local inputs that grew since the job was planned, as far as this process of the master knows.
  std::set<std::string> grown;
  std::vector<Skew> skew;  // hot keys
  std::map<AttemptId, AttemptNote> attempts;
  std::map<std::pair<uint32_t, uint32_t>, WhyLines> why;  // by (stage, task)
  std::vector<WhyLine> why_job;                           // those of no attempt
  std::vector<StageNotes> stages;

  // Adds a line. Requires: the attempt is one of a task that exists, or zero.
  void Add(WhyLine line);
  // Returns the attempt's note, or null.
  AttemptNote* Find(const AttemptId& attempt);
  const AttemptNote* Find(const AttemptId& attempt) const { return const_cast<JobNotes*>(this)->Find(attempt); }
};

struct JobView : JobProjection {
  JobNotes notes;
};

// Totals over all jobs since the master's first start, for metrics.
struct JobTotals {
  struct Attempts {
    uint64_t launched = 0, committed = 0, failed = 0, killed = 0, refused = 0;
    template <class V>
    static void Fields(V&& v) {
      using T = Attempts;
      v(&T::launched, &T::committed, &T::failed, &T::killed, &T::refused);
    }
  };
  struct Replicas {
    uint64_t made = 0, bytes = 0;  // requested replicas that were made; uncompressed
    template <class V>
    static void Fields(V&& v) {
      v(&Replicas::made, &Replicas::bytes);
    }
  };
  Attempts attempts;
  Replicas replicas;
  CauseCounts causes{};
  CloneCounts clones;
  LentCounts lent;
};

// Returns the attempt's name for people. An attempt of an unknown stage is named as a map.
std::string NameOf(const AttemptId& id, const JobProjection& job);

}  // namespace mr::master
