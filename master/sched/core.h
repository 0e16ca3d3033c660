// Folds events and plans into the state, and says what must be done about them: the rules of the
// engine, as far as no policy decides them (what a commit is, what is lost, when a job ends).
//
// One Core per Scheduler. Begin names the instant and the outbox of a step; Fold takes the event;
// what it touched is then in the public members, from which the Scheduler makes triggers.
// Files: apply_worker, apply_job, apply_attempt, apply_commit, by the event's subject.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "master/sched/decision.h"
#include "master/sched/event.h"
#include "master/sched/plan.h"
#include "master/sched/state.h"

namespace mr::sched {

// Owner of the timers that are no policy's. No policy may have this name.
inline constexpr char kCoreTimer[] = "core";

class Core {
 public:
  explicit Core(State* state) : state_(*state) {}

  void Begin(Instant now, std::vector<Decision>* out);
  void Fold(const Event& event);
  void Fold(const Plan& plan);
  // No policy clones the tasks of this running job any more, or none tells its readers what to read: then readers that
  // lack inputs end, no failure, and their tasks run again from the directory. Walks the job's tasks.
  void EndClonesOf(JobId id, bool cloned, bool told);
  // No policy sets guarantees any more.
  void EndShares();
  // Asks for a core timer at this instant, unless one comes earlier anyway.
  void WakeCoreAt(Instant at);

  // What this step touched.
  std::vector<AttemptId> changed;
  FlatSet<WorkerId> freed;                            // a slot fell free, or the worker may be offered again
  std::vector<std::pair<std::string, uint64_t>> due;  // policies' timers
  std::vector<std::pair<Copy, AttemptId>> suspected;  // could not be read by this reader, or (number 0) are lost
  std::vector<CopyNotMade> not_made;                  // of outputs that could still be copied
  std::vector<JobId> ended;
  std::vector<AttemptId> to_tell;  // launched by_bind
  std::vector<JobId> forecast;     // what is predicted or wished of them is new
  bool offer_all = false;
  bool config_changed = false;
  bool shares_changed = false;  // slots that jobs are guaranteed

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
  void On(const CopyMade& e);
  void On(const CopyLost& e);
  void On(const CopyNotMade& e);
  void On(const ProfileLoaded& e);
  void On(const TimerDue& e);
  void On(const JobTakenOver& e);
  void On(const QueueSet& e);
  void On(const OperatorsKnown& e);
  void On(const WorkerAway& e);
  void On(const JobSet& e);
  void On(const LeaseSet& e);
  void On(const JobGivenUp& e);

  void Do(const Launch& edit);
  void Do(const Kill& edit);
  void Do(const TakeBack& edit);
  void Do(const Bind& edit);
  void Do(const ReplicateCopy& edit);
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
  // Clones on lent slots of a worker that drains: it is waited for, and what they do is done elsewhere, too.
  void EndLentOn(WorkerId id);
  // An attempt of the task but this one runs on a worker that does not drain.
  bool RunsWhereItStays(const Task& task, const Attempt& but) const;
  void EndStrangers(const WorkerRegistered& e);
  void EndAskedOf(WorkerId worker, const std::string& why);
  // A copy that its worker was asked to make can be read now; false: it was not, or the output is another by now.
  bool TakeMade(const Copy& copy);
  bool Current(WorkerId worker, Incarnation incarnation) const;
  // Attempts with side effects that nobody counts and that may still run (apply_unended.cc).
  // This one may: until `until`, or (0) until its worker reports its end. Ignored where its task needs no other
  // attempt.
  void MayStillRun(const AttemptId& id, WorkerId worker, Incarnation incarnation, Instant until);
  // By its worker's word this one has ended.
  void HasEnded(const AttemptId& id, WorkerId worker, Incarnation incarnation);
  // Nothing is heard of this life of the worker any more: its leases run out.
  void LeasesRunOut(WorkerId worker, Incarnation incarnation);
  // The worker registered and listed what it runs.
  void SettleUnended(const WorkerRegistered& e);
  // Those whose time has come; arms the timer for the next.
  void ReleaseUnended();
  void ForgetUnended(JobId id);

  // Jobs.
  void PlanReadyStages(JobId id);
  void CommitIfComplete(JobId id);
  void Fail(JobId id, bool killed, const std::string& message, Reason reason);
  void End(JobId id, JobState state, const std::string& message);

  // Attempts.
  // The attempt that holds a slot under this id, worker and incarnation, else null.
  const Attempt* Holding(const AttemptId& id, WorkerId worker, Incarnation incarnation) const;
  void Fetch(const AttemptProgress& e) const;  // into the cache
  void Fetch(const AttemptId& id, WorkerId worker) const;
  void KillNow(const AttemptId& id, Reason reason);
  void EndAttempt(const AttemptId& id, AttemptState state, FailureKind kind);
  // Counts the failure of an attempt against its task's budget of this kind; fails the job past it.
  void Charge(const AttemptId& attempt, FailureKind kind, const std::string& message);
  // The environment fails this task wherever it is tried, and no worker is left to try it on.
  bool Hopeless(const StageSpec& spec, const Task& task) const;
  // Remembers where it failed: its task goes to another worker first.
  void NoteFailedOn(const AttemptId& attempt, FailureKind kind);
  // No launch of the task for a while, where repeating at once could spin (the loss of a worker
  // cannot).
  void HoldBack(const TaskId& id, FailureKind kind);
  void StartsAgain(WorkerId id);
  void Answer(const AttemptFinished& e, ReasonCode code, std::vector<double> numbers = {});

  // Outputs.
  void CommitTask(const AttemptFinished& e);
  void LateReport(const AttemptFinished& e);
  void KeepCopy(const AttemptFinished& e);
  std::string CheckConsumed(const AttemptFinished& e) const;
  void LoseCopy(const TaskId& id, const CopyPlace& place, ReasonCode code);
  // From the state; readers that were told to read it count as changed.
  void TakeCopy(const TaskId& id, const CopyPlace& place);
  // Clones' copies of outputs that nobody is to read any more, but for one each.
  void DropSpares();
  // Of its tasks, and of their readers, no more clones are launched: they would read or make different content.
  void MarkIndeterminateStage(StageId id);
  // Attempts of a committed task that would make a copy more than is wanted.
  void EndSiblings(const TaskId& id, uint32_t winner);
  void BindAgain(WorkerId worker);
  void ReturnTask(const TaskId& id);
  // Attempts that make an output a second time, and would wait for this input, which nobody makes again.
  void EndRemakesOf(const TaskId& input);
  void NeedInputs(const TaskId& id);
  uint32_t RollBackReaders(const TaskId& id);
  uint32_t RollBack(const TaskId& id);

  State& state_;
  Instant now_;
  std::vector<Decision>* out_ = nullptr;
};

}  // namespace mr::sched
