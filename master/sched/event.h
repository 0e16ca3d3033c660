// Events of the scheduler: a closed vocabulary. A new kind goes to the end of `Event`; the code compiles only once
// each std::visit handles it.
//
// The host (master, simulator, test) stamps them. Instants are the host's; durations inside an event were measured by
// the worker. Stale messages (epoch, incarnation) are delivered, too: the core answers them with Refuse, so that the
// answer is part of the history that is replayed.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "common/model/report.h"
#include "master/sched/model.h"
#include "master/sched/prediction.h"

namespace mr::sched {

// A worker came, or came back. Equal incarnation: the same process, for example after a master restart. Its attempts
// that `running` does not list are gone, and replicas that `inventory` does not list are lost. Another incarnation:
// everything of the old one is lost first.
struct WorkerRegistered {
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string address;  // host:port of its data server
  std::string rack;     // "" = the default rack
  Slots slots;
  uint64_t memory_bytes = 0;
  std::vector<std::string> labels;  // "k=v"
  std::vector<Replica> inventory;   // outputs it can serve
  std::vector<AttemptId> running;   // attempts it still runs
  bool draining = false;            // it drains from the start: no new attempts there
  template <class V>
  static void Fields(V&& v) {
    using T = WorkerRegistered;
    v(&T::worker, &T::incarnation, &T::address, &T::rack, &T::slots, &T::memory_bytes, &T::labels, &T::inventory,
      &T::running, &T::draining);
  }
};

// The host gave up on this incarnation of the worker: its attempts and replicas are gone.
struct WorkerLost {
  WorkerId worker;
  Incarnation incarnation = 0;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerLost::worker, &WorkerLost::incarnation, &WorkerLost::why);
  }
};

// The worker starts to drain (on: no new attempts there) or stops draining.
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

// The answer to PlanStage: the stage's tasks, fixed from here on. error not empty: the stage cannot be planned (an
// input vanished), and the job fails.
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

// One frame of a worker: reports of all its attempts that moved.
struct AttemptProgress {
  WorkerId worker;
  Incarnation incarnation = 0;
  std::vector<ProgressReport> reports;
  template <class V>
  static void Fields(V&& v) {
    v(&AttemptProgress::worker, &AttemptProgress::incarnation, &AttemptProgress::reports);
  }
};

// The attempt's bytes are durable or servable under its private name. The first valid report commits.
struct AttemptFinished {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  Manifest manifest;
  std::vector<Consumed> consumed;
  Duration ran, waited;  // time computing; time waiting for inputs
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

// The worker did not start the attempt (no slot, draining, or the launch did not arrive). Not a failure.
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

// The attempt is gone and its slot free. The answer to Kill or TakeBack. A worker that ends an attempt unasked, such as
// when it stops, sends it, too. Such a kill counts as a loss against the task's limit of losses (adr/0005).
struct AttemptKilled {
  AttemptId attempt;
  WorkerId worker;
  Incarnation incarnation = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&AttemptKilled::attempt, &AttemptKilled::worker, &AttemptKilled::incarnation);
  }
};

// A reader has all bytes of one upstream output. readers: readers of this replica meanwhile, with this one.
struct FetchDone {
  AttemptId reader;
  Replica from;
  uint64_t bytes = 0;
  Duration took;
  uint32_t readers = 1;
  template <class V>
  static void Fields(V&& v) {
    using T = FetchDone;
    v(&T::reader, &T::from, &T::bytes, &T::took, &T::readers);
  }
};

// A reader could not read a replica. This alone loses nothing: the host probes the replica, and sends ReplicaLost if
// it is gone.
struct FetchFailed {
  AttemptId reader;
  Replica from;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&FetchFailed::reader, &FetchFailed::from, &FetchFailed::why);
  }
};

struct ReplicaMade {
  Replica replica;
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicaMade::replica);
  }
};

// The host found that the replica cannot be read any more.
struct ReplicaLost {
  Replica replica;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicaLost::replica, &ReplicaLost::why);
  }
};

using mr::UtilityPoint;

// Prediction for a job from earlier runs of its name and shape. utility: the worth of its end over time, in place of
// a deadline. Ignored unless the prediction is Valid.
struct ProfileLoaded {
  JobId job;
  Prediction prediction;
  std::vector<UtilityPoint> utility;  // times ascend; empty: the deadline decides
  template <class V>
  static void Fields(V&& v) {
    v(&ProfileLoaded::job, &ProfileLoaded::prediction, &ProfileLoaded::utility);
  }
};

// The policy list with its parameters, and the seed. The first event of every history.
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

// The answer to WakeAt: `policy`'s timer `id` is due.
struct TimerDue {
  std::string policy;
  uint64_t id = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&TimerDue::policy, &TimerDue::id);
  }
};

// A committed output that this scheduler takes over.
struct KeptOutput {
  uint32_t stage = 0, task = 0, generation = 1;
  uint32_t attempt = 0;  // the attempt that committed it
  Manifest manifest;
  std::vector<Replica> replicas;
  template <class V>
  static void Fields(V&& v) {
    using T = KeptOutput;
    v(&T::stage, &T::task, &T::generation, &T::attempt, &T::manifest, &T::replicas);
  }
};

// A job that ran under another kSchedulerVersion goes on from its committed outputs; its attempts are gone. It is one
// event, so that the job is never restored in part. restarts: at least the number of master restarts since the job was
// first submitted, so that no attempt number is used twice.
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

// An operator's settings for the queue of this name, with or without jobs; each event sets all of them. Shares are
// slots of both kinds. weight > 0; min_share: below it the queue is served first; max_share: 0 = no limit.
struct QueueSet {
  std::string queue;
  double weight = 1;
  uint32_t min_share = 0, max_share = 0;
  // Returns true for the settings that a queue has without being set.
  bool defaults() const { return weight == 1 && min_share == 0 && max_share == 0; }
  template <class V>
  static void Fields(V&& v) {
    using T = QueueSet;
    v(&T::queue, &T::weight, &T::min_share, &T::max_share);
  }
};

// The worker reports that it will not make the replica of `from` that it was asked for. For a lost worker, WorkerLost
// implies this.
struct ReplicaNotMade {
  Replica from;
  WorkerId worker;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicaNotMade::from, &ReplicaNotMade::worker, &ReplicaNotMade::why);
  }
};

// Operators of these stages gave different content for equal input in an earlier job. Sent before the stages are
// planned, so that none of their tasks is cloned.
struct OperatorsKnown {
  JobId job;
  std::vector<uint32_t> indeterminate;  // stages
  template <class V>
  static void Fields(V&& v) {
    v(&OperatorsKnown::job, &OperatorsKnown::indeterminate);
  }
};

// The worker takes nothing now: it has not registered again after a master restart, its control loop is stuck, or its
// disk is full. It gets no new attempts until WorkerRegistered or WorkerDraining{off}; its attempts may run on.
struct WorkerAway {
  WorkerId worker;
  Incarnation incarnation = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&WorkerAway::worker, &WorkerAway::incarnation);
  }
};

// A user's settings for a running job; each event sets all of them. A changed deadline replaces the utility that the
// job was submitted with.
struct JobSet {
  JobId job;
  int32_t priority = 0;
  Duration deadline;  // from submission; 0 = none
  Duration elapsed;   // of a job that was taken over: since its submission; 0: as known here
  template <class V>
  static void Fields(V&& v) {
    v(&JobSet::job, &JobSet::priority, &JobSet::deadline, &JobSet::elapsed);
  }
};

// How long an attempt of a lost worker may still run there: its lease and a margin (worker/adr/0003). For tasks with
// side effects: no other attempt of such a task is launched before.
struct LeaseSet {
  Duration wait;  // from WorkerLost on; > 0
  template <class V>
  static void Fields(V&& v) {
    v(&LeaseSet::wait);
  }
};

// The job fails, for a reason that the host found. why: for users.
struct JobGivenUp {
  JobId job;
  std::string why;
  template <class V>
  static void Fields(V&& v) {
    v(&JobGivenUp::job, &JobGivenUp::why);
  }
};

// Blocks that these tasks read have no replica on a live worker, as the host found. No attempt of them is launched for
// `hold`; 0: the blocks are there again. attempts: launched by the scheduler, and not sent to a worker; they end
// without a failure.
struct InputsMissing {
  JobId job;
  uint32_t stage = 0;
  std::vector<uint32_t> tasks;
  std::vector<AttemptId> attempts;
  Duration hold;    // from this event on; >= 0
  std::string why;  // for people
  template <class V>
  static void Fields(V&& v) {
    using T = InputsMissing;
    v(&T::job, &T::stage, &T::tasks, &T::attempts, &T::hold, &T::why);
  }
};

// An operator drains this worker for good (on), or wants it again: outputs there that unfinished jobs read are
// replicated on workers that stay. WorkerDraining alone moves nothing: a worker that is distrusted or about to stop
// drains, too. Sent again after each WorkerRegistered of a drained worker.
struct OutputsLeaving {
  WorkerId worker;
  Incarnation incarnation = 0;
  bool on = true;
  template <class V>
  static void Fields(V&& v) {
    v(&OutputsLeaving::worker, &OutputsLeaving::incarnation, &OutputsLeaving::on);
  }
};

using Event = std::variant<ConfigChanged, WorkerRegistered, WorkerLost, WorkerDraining, JobSubmitted, JobKillAsked,
                           StagePlanned, AttemptStarted, AttemptProgress, AttemptFinished, AttemptFailed,
                           AttemptRefused, AttemptKilled, FetchDone, FetchFailed, ReplicaMade, ReplicaLost,
                           ProfileLoaded, TimerDue, JobTakenOver, QueueSet, ReplicaNotMade, OperatorsKnown, WorkerAway,
                           JobSet, LeaseSet, JobGivenUp, InputsMissing, OutputsLeaving>;

// Instants never decrease from one event to the next. Events with equal instants keep their order.
struct StampedEvent {
  Instant at;
  Event event;
  template <class V>
  static void Fields(V&& v) {
    v(&StampedEvent::at, &StampedEvent::event);
  }
};

}  // namespace mr::sched
