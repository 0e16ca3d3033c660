// Decisions of the scheduler: a closed vocabulary, returned by Step. The host carries them out in order, once the
// event that caused them is as durable as each needs. Launches do not wait for a sync; Accept and CommitJob do.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "master/sched/model.h"
#include "master/sched/reason.h"

namespace mr::sched {

// Starts this attempt on this worker. generation: of the output that it makes. by_bind: it reads the replicas that
// Bind names, not those of the directory.
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

// Makes this reader read this upstream output from this replica, not from the one that the directory gives. exclusive:
// no other clone of its task was bound to it. Sent again when its worker comes back; a repeat changes nothing.
struct Bind {
  AttemptId reader;
  Replica replica;
  Reason reason;
  bool exclusive = false;
  template <class V>
  static void Fields(V&& v) {
    v(&Bind::reader, &Bind::replica, &Bind::reason, &Bind::exclusive);
  }
};

// Ends a live attempt, or one that a worker runs and the state no longer has (kStale). Not a failure. The attempt keeps
// its slot until AttemptKilled, or until another report or the loss of its worker ends it. Journals have events and no
// kills: a replay makes them again.
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

// Ends a live attempt that lacks inputs and only waits for them. Otherwise the same as Kill.
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

// Accepts an AttemptFinished report. winner: it is the task's commit; otherwise its output is one more replica of the
// committed content. Either way readers may use `replica` from here on.
struct Accept {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  bool winner = true;
  Replica replica;
  Manifest manifest;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    using T = Accept;
    v(&T::attempt, &T::worker, &T::incarnation, &T::winner, &T::replica, &T::manifest, &T::reason);
  }
};

// Refuses an AttemptFinished report: the worker drops the attempt's output. reason: kEqualDigest (a surplus replica),
// kDifferentDigest, kStale, kConsumedStale or kJobEnded.
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

struct ReplicateOutput {
  Replica from;
  WorkerId to;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicateOutput::from, &ReplicateOutput::to, &ReplicateOutput::reason);
  }
};

// Ends reads of this replica: its worker is gone, or no task needs it.
struct DropReplica {
  Replica replica;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&DropReplica::replica, &DropReplica::reason);
  }
};

// Asks the host to compute this stage's tasks and to answer with StagePlanned.
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

// Commits the job: all tasks of all final stages are committed. Its output becomes visible with the record of the
// event that caused this.
struct CommitJob {
  JobId job;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&CommitJob::job, &CommitJob::reason);
  }
};

// Ends the job without output. killed: a user asked for it.
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

// Reports that this task's operator gave different content for the same input.
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

// Changes a policy's fact. The policy chooses scope, id and name. The host does nothing.
struct Remember {
  std::string policy, scope;
  uint64_t id = 0;
  std::string name;
  std::variant<int64_t, double> value;
  bool forgotten = false;  // the fact is erased; `value` has no meaning
  template <class V>
  static void Fields(V&& v) {
    using T = Remember;
    v(&T::policy, &T::scope, &T::id, &T::name, &T::value, &T::forgotten);
  }
};

// Asks for TimerDue{policy, id} at this instant, or at once if it has passed.
struct WakeAt {
  std::string policy;
  uint64_t id = 0;
  Instant at;
  template <class V>
  static void Fields(V&& v) {
    v(&WakeAt::policy, &WakeAt::id, &WakeAt::at);
  }
};

// Reports why this slow attempt is left alone. The host does nothing; `mrctl why` shows it.
struct Spare {
  AttemptId attempt;
  WorkerId worker;
  Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&Spare::attempt, &Spare::worker, &Spare::reason);
  }
};

using Decision = std::variant<Launch, Bind, Kill, TakeBack, Accept, Refuse, ReplicateOutput, DropReplica, PlanStage,
                              SetShare, CommitJob, FailJob, MarkIndeterminate, Remember, WakeAt, Spare>;

}  // namespace mr::sched
