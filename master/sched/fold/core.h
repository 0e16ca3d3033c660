// Folds events and plans into the state and emits the decisions that follow. It holds the rules that no policy
// decides: what commits, what is lost, when a job ends.
//
// One Core per Scheduler. Begin sets the instant and the outbox of a step, and Fold applies the event. The public
// members then hold what changed, and the Scheduler makes triggers from them. Files, by the event's subject: core.cc
// (configuration, jobs, plans), apply_worker, apply_attempt, apply_commit.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "master/sched/decision.h"
#include "master/sched/event.h"
#include "master/sched/fold/output_moves.h"
#include "master/sched/fold/unended.h"
#include "master/sched/plan.h"
#include "master/sched/state/state.h"

namespace mr::sched {

// Owner of the timers that belong to no policy. No policy may have this name.
inline constexpr char kCoreTimer[] = "core";
// The core's timer with this id runs for kRestartQuiet after a restart. Meanwhile no policy judges an attempt that has
// not reported since: it looks silent or slow because the master was away. A guess: as long as a master waits for its
// workers.
inline constexpr uint64_t kRestartTimer = 1;
inline constexpr Duration kRestartQuiet = Seconds(10);

class Core {
 public:
  explicit Core(State* state) : state_(*state), unended_(state, [this](Instant at) { WakeCoreAt(at); }) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void Begin(Instant now, std::vector<Decision>* out);
  void Fold(const Event& event);
  void Fold(const Plan& plan);
  // Arms the core timer for this instant, unless it is due earlier.
  void WakeCoreAt(Instant at);

  // Changes of this step.
  std::vector<AttemptId> changed;
  FlatSet<WorkerId> freed;  // workers with a slot that fell free, or that may be offered again
  std::vector<std::pair<std::string, uint64_t>> due;  // policies' timers
  // Replicas that this reader could not read. Attempt number 0: the replica is lost.
  std::vector<std::pair<Replica, AttemptId>> suspected;
  std::vector<ReplicaNotMade> not_made;  // replicas not made, of outputs that still have another one
  MovesDue moves;
  std::vector<JobId> ended;
  std::vector<AttemptId> to_tell;  // readers launched by_bind in this step; they need binds
  std::vector<JobId> forecast;     // jobs with a new prediction, new user settings, or policies that judge them anew
  bool offer_all = false;
  bool config_changed = false;
  bool shares_changed = false;  // a job's guaranteed slots

 private:
  void On(const ConfigChanged& e);
  void On(const WorkerRegistered& e);
  void On(const WorkerLost& e);
  void On(const WorkerDraining& e);
  void On(const JobSubmitted& e);
  void On(const JobKillAsked& e);
  void On(const StagePlanned& e);
  void On(const AttemptStarted& e);
  void On(const AttemptProgress& e);
  void On(const AttemptFinished& e);
  void On(const AttemptFailed& e);
  void On(const AttemptRefused& e);
  void On(const AttemptKilled& e);
  void On(const FetchDone& e);
  void On(const FetchFailed& e);
  void On(const ReplicaMade& e);
  void On(const ReplicaLost& e);
  void On(const ReplicaNotMade& e);
  void On(const ProfileLoaded& e);
  void On(const TimerDue& e);
  void On(const JobTakenOver& e);
  void On(const QueueSet& e);
  void On(const OperatorsKnown& e);
  void On(const WorkerAway& e);
  void On(const JobSet& e);
  void On(const LeaseSet& e);
  void On(const JobGivenUp& e);
  void On(const InputsMissing& e);
  void On(const OutputsLeaving& e);

  void Do(const Launch& edit);
  void Do(const Kill& edit);
  void Do(const TakeBack& edit);
  void Do(const Bind& edit);
  void Do(const ReplicateOutput& edit);
  void Do(const SetShare& edit);
  void Do(const Remember& edit);
  void Do(const WakeAt& edit);
  void Do(const Want& edit);
  void Do(const Spare& edit);

  template <class D>
  void Emit(D decision) {
    out_->push_back(std::move(decision));
  }

  // Workers.
  void DropWorker(WorkerId id);
  void Reconcile(const WorkerRegistered& e);
  // Ends clones on lent slots of a draining worker. The drain waits for its attempts, and other attempts do the same
  // work.
  void EndLentOn(WorkerId id);
  // Returns true if another live attempt of the task than `but` runs on a worker that does not drain.
  bool RunsWhereItStays(const Task& task, const Attempt& but) const;
  void EndStrangers(const WorkerRegistered& e);
  void EndAskedOf(WorkerId worker, const std::string& why);
  // Adds a replica that its worker was asked to make. Returns false if it was not asked, or if the output has changed
  // since.
  bool TakeMade(const Replica& replica);
  bool Current(WorkerId worker, Incarnation incarnation) const;

  // Jobs.
  void PlanReadyStages(JobId id);
  void CommitIfComplete(JobId id);
  void Fail(JobId id, bool killed, const std::string& message, Reason reason);
  void End(JobId id, JobState state, const std::string& message);

  // Attempts.
  // Returns the attempt that holds a slot under this id, worker and incarnation, else null.
  const Attempt* Holding(const AttemptId& id, WorkerId worker, Incarnation incarnation) const;
  void Fetch(const AttemptProgress& e) const;  // prefetches into the CPU cache
  void Fetch(const AttemptId& id, WorkerId worker) const;
  void KillNow(const AttemptId& id, Reason reason);
  void EndAttempt(const AttemptId& id, AttemptState state, FailureKind kind);
  // Counts an attempt's failure against its task's budget for this kind. Fails the job beyond the budget.
  void Charge(const AttemptId& attempt, FailureKind kind, const std::string& message);
  // Returns true if the environment fails this task on every worker tried, and no other worker is left.
  bool Hopeless(const StageSpec& spec, const Task& task) const;
  // Records where the attempt failed, so that its task goes to another worker first.
  void NoteFailedOn(const AttemptId& attempt, FailureKind kind);
  // Backs off: the task is not launched for a while, except after the loss of a worker, which cannot repeat at once.
  void HoldBack(const TaskId& id, FailureKind kind);
  void StartsAgain(WorkerId id);
  void Answer(const AttemptFinished& e, ReasonCode code, std::vector<double> numbers = {});

  // Outputs.
  void CommitTask(const AttemptFinished& e);
  void LateReport(const AttemptFinished& e);
  void KeepReplica(const AttemptFinished& e);
  std::string CheckConsumed(const AttemptFinished& e) const;
  void LoseReplica(const TaskId& id, const ReplicaPlace& place, ReasonCode code);
  // Removes the replica from the state. Readers that have not finished reading it count as changed.
  void TakeReplica(const TaskId& id, const ReplicaPlace& place);
  // Drops surplus replicas made by clones, all but one per output, once every reader is done.
  void DropSpares();
  // Ends further cloning of its tasks and of their readers, since clones would make or read different content.
  void MarkIndeterminateStage(StageId id);
  // Ends the live attempts of a committed task that has all wanted replicas.
  void EndSiblings(const TaskId& id, uint32_t winner);
  void BindAgain(WorkerId worker);
  void ReturnTask(const TaskId& id);
  // Ends attempts that remake an output and wait for this input, which no task makes again.
  void EndRemakesOf(const TaskId& input);
  void NeedInputs(const TaskId& id);
  uint32_t RollBackReaders(const TaskId& id);
  uint32_t RollBack(const TaskId& id);

  State& state_;
  UnendedAttempts unended_;
  Instant now_;
  std::vector<Decision>* out_ = nullptr;
};

}  // namespace mr::sched
