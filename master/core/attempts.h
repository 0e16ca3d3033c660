// Attempts as people see them: the scheduler's facts, with what the master keeps beside them for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "common/model/attempt.h"
#include "common/model/output.h"
#include "master/core/rare_text.h"
#include "master/core/why_lines.h"
#include "master/sched/decision.h"
#include "master/sched/event.h"
#include "master/sched/state/state.h"

namespace mr::master {

// kReplica: finished, and its output is a further replica of the committed one.
enum class AttemptState : uint8_t { kRunning, kWaiting, kCommitted, kReplica, kFailed, kKilled };
const char* Word(AttemptState state);
bool Live(AttemptState state);

// The part of an attempt that the scheduler does not keep.
struct AttemptNote {
  PackedReason reason;                    // of its launch
  RareText message, record, stderr_tail;  // of its end
  bool failed = false;                    // it ended by a failure that its worker reported
  Verdict verdict = Verdict::kNoted;      // kWinner, kReplicaKept: the answer to its report, also to repeats
  uint64_t sequence = 0;                  // of the record of its end
};

// An attempt that the scheduler knows.
struct AttemptView {
  AttemptId id;
  WorkerId worker;
  Incarnation incarnation = 0;
  Cause cause = Cause::kFirst;
  AttemptState state = AttemptState::kRunning;
  FailureKind failure = FailureKind::kUser;                     // where state is kFailed or kKilled
  bool stop_asked = false;                                      // live, and Kill or TakeBack was decided
  Instant launched, started, inputs_done, sort, reduce, ended;  // 0: not yet, or not known; as in sched::Attempt
  uint64_t taken_bytes = 0, total_bytes = 0;
  const AttemptNote* note = nullptr;  // never null
};

// Returns the attempt with its note. note: null where there is none.
AttemptView ViewOf(const AttemptId& id, const sched::Attempt& attempt, const AttemptNote* note);

// A change of an attempt by one step.
struct AttemptChange {
  AttemptId id;
  Cause cause = Cause::kFirst;
  bool ended = false;
  bool asked = false;                           // a Kill or a TakeBack asked for its end, before this step
  AttemptState state = AttemptState::kRunning;  // after the step
  Duration held;                                // ended: its slot time
  int64_t taken_bytes = 0;                      // change of what it adds to StageNotes::taken_bytes
  bool cloned = false, lent = false;            // its task has or had clones; clones on lent slots
};

// The changes of the scheduler's state by one step that its decisions do not name.
struct StepChanges {
  std::vector<AttemptChange> attempts;
  std::vector<Replica> made;      // replicas that were requested and that a registering worker has
  std::vector<Replica> not_made;  // the sources of replicas that were requested of a worker which is lost
};

// Finds the changes of a step, from the scheduler's state before and after it.
class StepWatch {
 public:
  // Before the step. Cost: the attempts that the event names, or those of its worker.
  StepWatch(const sched::State& state, const sched::Event& event);
  // Returns the changes. After the step with these decisions, at this time.
  StepChanges Changes(const sched::State& state, const std::vector<sched::Decision>& decisions, Instant at) const;

 private:
  struct Before {
    AttemptId id;
    uint64_t taken_bytes = 0;
    bool asked = false;
  };
  void Add(const sched::State& state, const AttemptId& id, WorkerId worker);
  void AddWorker(const sched::State& state, WorkerId worker);

  std::vector<Before> attempts_;    // those with a slot
  std::vector<Replica> asked_;      // of the event's worker, as RequestedReplicas returns them
  std::vector<Replica> inventory_;  // of a worker that registers, with its id and incarnation
  WorkerId lost_;                   // the worker of a WorkerLost event; else invalid
  AttemptId failed_;                // the attempt of an AttemptFailed event; else zero
};

// Returns the sources of the replicas that were requested of this worker and are not made yet: output and attempt; the
// worker is not known.
std::vector<Replica> RequestedReplicas(const sched::State& state, WorkerId of);
// Returns whether a replica of this output was requested of this worker and is not made yet.
bool Requested(const sched::State& state, WorkerId of, const OutputId& output);

}  // namespace mr::master
