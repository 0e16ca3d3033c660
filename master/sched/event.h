// Everything that can happen to the scheduler: a closed vocabulary. A new kind is added at the end
// of `Event` and does not compile until each std::visit has dealt with it.
//
// Who stamps: the host (master, simulator, test). Instants are the host's; durations inside an
// event were measured by the worker. Stale messages (epoch, incarnation) are still delivered: the
// core answers them with Refuse, so that the answer is part of the replayable history.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "master/sched/model.h"
#include "master/sched/prediction.h"

namespace mr::sched {

// A worker came, or came back. Equal incarnation: the same process, e.g. after a master restart;
// its running attempts that `running` does not list are gone, copies that `inventory` does not
// list are lost. Another incarnation: first everything of the old one is lost.
struct WorkerRegistered {
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string address;  // host:port of its data server
  std::string rack;     // "" = the default rack
  Slots slots;
  uint64_t memory_bytes = 0;
  std::vector<std::string> labels;  // "k=v"
  std::vector<Copy> inventory;      // outputs it can serve
  std::vector<AttemptId> running;   // attempts it still runs
  bool draining = false;            // no new attempts there, from the first
  template <class V>
  static void Fields(V&& v) {
    using T = WorkerRegistered;
    v(&T::worker, &T::incarnation, &T::address, &T::rack, &T::slots, &T::memory_bytes, &T::labels, &T::inventory,
      &T::running, &T::draining);
  }
};

// The host gave up on this life of the worker: its attempts and copies are gone.
struct WorkerLost {
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerLost::worker, &WorkerLost::incarnation, &WorkerLost::why);
  }
};

// on: no new attempts there; off: again.
struct WorkerDraining {
  WorkerId worker;
  Incarnation incarnation = 0;
  bool on = true;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerDraining::worker, &WorkerDraining::incarnation, &WorkerDraining::on);
  }
};

struct JobSubmitted {
  JobId job;
  std::string name;
  std::string queue;
  int32_t priority = 0;
  Duration deadline;                  // from submission; 0 = none
  uint32_t max_attempts = 0;          // 0 = each stage's max_failures
  std::vector<std::string> policies;  // job-scope overrides, in order; empty = the cluster's list
  JobGraph graph;
  template <class V>
  static void Fields(V&& v) {
    using T = JobSubmitted;
    v(&T::job, &T::name, &T::queue, &T::priority, &T::deadline, &T::max_attempts, &T::policies, &T::graph);
  }
};

struct JobKillAsked {
  JobId job;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&JobKillAsked::job, &JobKillAsked::why);
  }
};

// Answer to PlanStage: the stage's tasks, fixed from here on. error not empty: it cannot be
// planned (an input vanished), and the job fails.
struct StagePlanned {
  JobId job;
  uint32_t stage = 0;
  uint32_t partitions = 0;  // of each task's output, over all ports
  std::vector<TaskPlan> tasks;
  std::string error;
  template <class V>
  static void Fields(V&& v) {
    using T = StagePlanned;
    v(&T::job, &T::stage, &T::partitions, &T::tasks, &T::error);
  }
};

struct AttemptStarted {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&AttemptStarted::attempt, &AttemptStarted::worker, &AttemptStarted::incarnation);
  }
};

struct ProgressReport {
  AttemptId attempt;
  uint8_t phase = 0;         // 0 read/map, 1 shuffle, 2 merge, 3 reduce, 4 write
  uint64_t taken_bytes = 0;  // by the operator, of what it reads in this phase
  uint64_t total_bytes = 0;  // of this phase, expected; 0 where not known
  uint64_t records = 0;
  bool inputs_done = false;
  template <class V>
  static void Fields(V&& v) {
    using T = ProgressReport;
    v(&T::attempt, &T::phase, &T::taken_bytes, &T::total_bytes, &T::records, &T::inputs_done);
  }
};

// One frame of a worker for all of its attempts that moved.
struct AttemptProgress {
  WorkerId worker;
  Incarnation incarnation = 0;
  std::vector<ProgressReport> reports;
  template <class V>
  static void Fields(V&& v) {
    v(&AttemptProgress::worker, &AttemptProgress::incarnation, &AttemptProgress::reports);
  }
};

// The attempt's bytes are durable or servable under its private name; the first valid one commits.
struct AttemptFinished {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  Manifest manifest;
  std::vector<Consumed> consumed;
  Duration ran, waited;  // computing; waiting for inputs
  template <class V>
  static void Fields(V&& v) {
    using T = AttemptFinished;
    v(&T::attempt, &T::worker, &T::incarnation, &T::manifest, &T::consumed, &T::ran, &T::waited);
  }
};

struct AttemptFailed {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  FailureKind kind = FailureKind::kUser;
  std::string message;
  template <class V>
  static void Fields(V&& v) {
    using T = AttemptFailed;
    v(&T::attempt, &T::worker, &T::incarnation, &T::kind, &T::message);
  }
};

// The worker did not start it (no slot, draining, the launch did not reach it): not a failure.
struct AttemptRefused {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    using T = AttemptRefused;
    v(&T::attempt, &T::worker, &T::incarnation, &T::why);
  }
};

// Answer to Kill or TakeBack: the attempt is gone and its slot free.
struct AttemptKilled {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&AttemptKilled::attempt, &AttemptKilled::worker, &AttemptKilled::incarnation);
  }
};

// A reader has all bytes of one upstream output: how many, how long, beside how many readers.
struct FetchDone {
  AttemptId reader;
  Copy from;
  uint64_t bytes = 0;
  Duration took;
  uint32_t readers = 1;
  template <class V>
  static void Fields(V&& v) {
    using T = FetchDone;
    v(&T::reader, &T::from, &T::bytes, &T::took, &T::readers);
  }
};

// A reader could not read a copy. Alone it condemns nothing: the host probes, and says CopyLost.
struct FetchFailed {
  AttemptId reader;
  Copy from;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&FetchFailed::reader, &FetchFailed::from, &FetchFailed::why);
  }
};

struct CopyMade {
  Copy copy;
  template <class V>
  static void Fields(V&& v) {
    v(&CopyMade::copy);
  }
};

// By the host's own evidence the copy cannot be read any more.
struct CopyLost {
  Copy copy;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&CopyLost::copy, &CopyLost::why);
  }
};

// What it is worth to end at this time after the submission; between two points in proportion.
struct UtilityPoint {
  Duration at;
  double utility = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&UtilityPoint::at, &UtilityPoint::utility);
  }
  bool operator==(const UtilityPoint&) const = default;
};

// What earlier runs of jobs of this name and shape say of this one, and what its end is worth where no deadline says
// that. One that is not Valid changes nothing.
struct ProfileLoaded {
  JobId job;
  Prediction prediction;
  std::vector<UtilityPoint> utility;  // of rising times; empty: the deadline says it
  template <class V>
  static void Fields(V&& v) {
    v(&ProfileLoaded::job, &ProfileLoaded::prediction, &ProfileLoaded::utility);
  }
};

// The policy list, its parameters and the seed; the first event of every history.
struct ConfigChanged {
  std::string policies;  // "fifo" or "fair,dolly,late(cap=0.2)"
  uint64_t seed = 0;
  uint32_t scheduler_version = 0;
  Duration offer_period = Millis(100);
  template <class V>
  static void Fields(V&& v) {
    using T = ConfigChanged;
    v(&T::policies, &T::seed, &T::scheduler_version, &T::offer_period);
  }
};

// Answer to WakeAt: `policy`'s timer `id` is due.
struct TimerDue {
  std::string policy;
  uint64_t id = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&TimerDue::policy, &TimerDue::id);
  }
};

// A committed output that is taken over.
struct KeptOutput {
  uint32_t stage = 0, task = 0, generation = 1;
  uint32_t attempt = 0;  // the one that committed it
  Manifest manifest;
  std::vector<Copy> copies;
  template <class V>
  static void Fields(V&& v) {
    using T = KeptOutput;
    v(&T::stage, &T::task, &T::generation, &T::attempt, &T::manifest, &T::copies);
  }
};

// A job that ran under another kSchedulerVersion goes on from its committed outputs; its attempts are
// gone. In one event, since half of it would be another job. restarts: at least as many as the master
// had since the job was submitted first, so that no attempt's number comes twice.
struct JobTakenOver {
  JobSubmitted submitted;
  std::vector<StagePlanned> plans;  // by stage
  uint32_t restarts = 0;
  std::vector<KeptOutput> outputs;
  template <class V>
  static void Fields(V&& v) {
    using T = JobTakenOver;
    v(&T::submitted, &T::plans, &T::restarts, &T::outputs);
  }
};

// An operator's wishes for a queue of this name, whether it has jobs yet or not; all of them, each time.
// Slots of both kinds. weight > 0; min_share: served first below it; max_share: 0 = no limit.
struct QueueSet {
  std::string queue;
  double weight = 1;
  uint32_t min_share = 0, max_share = 0;
  template <class V>
  static void Fields(V&& v) {
    using T = QueueSet;
    v(&T::queue, &T::weight, &T::min_share, &T::max_share);
  }
};

// The copy of `from` that this worker was asked to make is not coming, by its word. That of one that is lost is not
// either, which WorkerLost says.
struct CopyNotMade {
  Copy from;
  WorkerId worker;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&CopyNotMade::from, &CopyNotMade::worker, &CopyNotMade::why);
  }
};

// Of these stages' operators an earlier job showed that they give other content for equal input: said before the stages
// are planned, so that none of their tasks is cloned.
struct OperatorsKnown {
  JobId job;
  std::vector<uint32_t> indeterminate;  // stages
  template <class V>
  static void Fields(V&& v) {
    v(&OperatorsKnown::job, &OperatorsKnown::indeterminate);
  }
};

// The worker does not take anything now: after a restart of the master it has not registered again, or its control loop
// does not move, or its disk has no room. Until WorkerRegistered or WorkerDraining{off}: no new attempts there; those
// that it had may run on.
struct WorkerAway {
  WorkerId worker;
  Incarnation incarnation = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerAway::worker, &WorkerAway::incarnation);
  }
};

// A user's wishes for a running job; all of them, each time. Another deadline than the one that it has replaces the
// utility that it was submitted with.
struct JobSet {
  JobId job;
  int32_t priority = 0;
  Duration deadline;  // from submission; 0 = none
  Duration elapsed;   // of a job that was taken over: since its submission; 0: as it is known
  template <class V>
  static void Fields(V&& v) {
    v(&JobSet::job, &JobSet::priority, &JobSet::deadline, &JobSet::elapsed);
  }
};

// How long an attempt of a lost worker may still run there: its lease and a margin (worker/adr/0003). For tasks with
// side effects; no other attempt of such a task is launched before.
struct LeaseSet {
  Duration wait;  // from WorkerLost on; > 0
  template <class V>
  static void Fields(V&& v) {
    v(&LeaseSet::wait);
  }
};

// The host found that the job cannot go on, for a reason of its own (why: for people): it fails.
struct JobGivenUp {
  JobId job;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&JobGivenUp::job, &JobGivenUp::why);
  }
};

using Event =
    std::variant<ConfigChanged, WorkerRegistered, WorkerLost, WorkerDraining, JobSubmitted, JobKillAsked, StagePlanned,
                 AttemptStarted, AttemptProgress, AttemptFinished, AttemptFailed, AttemptRefused, AttemptKilled,
                 FetchDone, FetchFailed, CopyMade, CopyLost, ProfileLoaded, TimerDue, JobTakenOver, QueueSet,
                 CopyNotMade, OperatorsKnown, WorkerAway, JobSet, LeaseSet, JobGivenUp>;

// Instants never go back from one event to the next; equal instants keep their given order.
struct StampedEvent {
  Instant at;
  Event event;
  template <class V>
  static void Fields(V&& v) {
    v(&StampedEvent::at, &StampedEvent::event);
  }
};

}  // namespace mr::sched
