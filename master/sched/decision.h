// Everything the scheduler can ask for: a closed vocabulary, the outbox of Step. The host carries
// decisions out in their order, once the event that caused them is where it must be (launches do
// not wait for a sync, Accept and CommitJob do).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "master/sched/model.h"
#include "master/sched/reason.h"

namespace mr::sched {

// Start this attempt on this worker. generation: that of the output it is to make. by_bind: it is to read the
// copies that Bind names, not those of the directory.
struct Launch {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  Cause cause = Cause::kFirst;
  uint32_t generation = 1;
  Reason reason;
  bool by_bind = false;
  template <class V>
  static void Fields(V&& v) {
    using T = Launch;
    v(&T::attempt, &T::worker, &T::incarnation, &T::cause, &T::generation, &T::reason, &T::by_bind);
  }
};

// This reader is to read this upstream output from this copy, not from the directory's. exclusive: no other
// clone of its task was told the same. Repeated after its worker came back: it changes nothing then.
struct Bind {
  AttemptId reader;
  Copy copy;
  Reason reason;
  bool exclusive = false;
  template <class V>
  static void Fields(V&& v) {
    v(&Bind::reader, &Bind::copy, &Bind::reason, &Bind::exclusive);
  }
};

struct Kill {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&Kill::attempt, &Kill::worker, &Kill::incarnation, &Kill::reason);
  }
};

// Ends a waiting attempt (one that does not have all of its inputs): not a failure.
struct TakeBack {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&TakeBack::attempt, &TakeBack::worker, &TakeBack::incarnation, &TakeBack::reason);
  }
};

// The answer to AttemptFinished. winner: it is the task's commit. Otherwise its output is one more
// copy of the committed content. In both cases readers may use `copy` from now on.
struct Accept {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  bool winner = true;
  Copy copy;
  Manifest manifest;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    using T = Accept;
    v(&T::attempt, &T::worker, &T::incarnation, &T::winner, &T::copy, &T::manifest, &T::reason);
  }
};

// The other answer: the worker drops what the attempt made. reason: kEqualDigest (copy dropped),
// kDifferentDigest, kStale, kConsumedStale, kJobEnded.
struct Refuse {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&Refuse::attempt, &Refuse::worker, &Refuse::incarnation, &Refuse::reason);
  }
};

struct ReplicateCopy {
  Copy from;
  WorkerId to;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicateCopy::from, &ReplicateCopy::to, &ReplicateCopy::reason);
  }
};

// Readers must not use this copy any more (its worker is gone, or nobody needs it).
struct DropCopy {
  Copy copy;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&DropCopy::copy, &DropCopy::reason);
  }
};

// Work out this stage's tasks and answer with StagePlanned.
struct PlanStage {
  JobId job;
  uint32_t stage = 0;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&PlanStage::job, &PlanStage::stage, &PlanStage::reason);
  }
};

struct SetShare {
  JobId job;
  uint32_t slots = 0;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&SetShare::job, &SetShare::slots, &SetShare::reason);
  }
};

// All tasks of all final stages are committed: the job's output becomes visible in the record of
// the event that caused this.
struct CommitJob {
  JobId job;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&CommitJob::job, &CommitJob::reason);
  }
};

// The job ends without output; killed: because somebody asked.
struct FailJob {
  JobId job;
  bool killed = false;
  std::string message;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&FailJob::job, &FailJob::killed, &FailJob::message, &FailJob::reason);
  }
};

// This task's operator gave other content for the same input.
struct MarkIndeterminate {
  TaskId task;
  Digest128 committed, other;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    using T = MarkIndeterminate;
    v(&T::task, &T::committed, &T::other, &T::reason);
  }
};

// A policy's fact changed (scope, id and name as the policy chose them). Nothing to carry out.
struct Remember {
  std::string policy, scope;
  uint64_t id = 0;
  std::string name;
  std::variant<int64_t, double> value;
  bool forgotten = false;  // the fact is gone; `value` means nothing
  template <class V>
  static void Fields(V&& v) {
    using T = Remember;
    v(&T::policy, &T::scope, &T::id, &T::name, &T::value, &T::forgotten);
  }
};

// Send TimerDue{policy, id} at this instant, or at once where it has passed.
struct WakeAt {
  std::string policy;
  uint64_t id = 0;
  Instant at;
  template <class V>
  static void Fields(V&& v) {
    v(&WakeAt::policy, &WakeAt::id, &WakeAt::at);
  }
};

// This attempt is slow and is left alone all the same. Nothing to carry out: it is for who asks why.
struct Spare {
  AttemptId attempt;
  WorkerId worker;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&Spare::attempt, &Spare::worker, &Spare::reason);
  }
};

using Decision = std::variant<Launch, Bind, Kill, TakeBack, Accept, Refuse, ReplicateCopy, DropCopy, PlanStage,
                              SetShare, CommitJob, FailJob, MarkIndeterminate, Remember, WakeAt, Spare>;

}  // namespace mr::sched
