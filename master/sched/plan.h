// The draft that policies edit: the actions for one trigger. Each verb returns false if the state, with the rest of
// the draft, does not allow it. That is normal, not an error. After the last policy the core folds the draft in, in
// order.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "master/sched/decision.h"
#include "master/sched/view.h"

namespace mr::sched {

// A task's wanted number of live attempts, and of replicas of its output. Attempts run on after the commit until
// there are so many replicas. 0: unchanged.
struct Want {
  TaskId task;
  uint32_t attempts = 1;
  uint32_t replicas = 0;
};

using Edit = std::variant<Launch, Kill, TakeBack, Bind, ReplicateOutput, SetShare, Remember, WakeAt, Want, Spare>;

// Most attempts of one task that run at a time, with speculative ones (Mantri, OSDI'10, 5.4: never more than three).
inline constexpr uint32_t kMostRunning = 3;

// Packs a job id into the id of a fact or a timer. JobOfFact unpacks it.
inline uint64_t FactId(JobId job) { return uint64_t{job.epoch} << 32 | job.seq; }
inline JobId JobOfFact(uint64_t id) { return {static_cast<uint32_t>(id >> 32), static_cast<uint32_t>(id)}; }

class Plan {
 public:
  explicit Plan(const View& view);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  // Sets the policy that edits, and the list whose jobs it serves (null: all). The pipeline calls this. The name
  // is stored in reasons, and with the list's mark in facts and timers. Edits of other jobs are refused.
  void Enter(std::string_view policy, const JobList* list = nullptr) {
    policy_ = policy;
    list_ = list;
    signs_ = true;
  }
  // The same for a policy that is no longer in the list: reasons carry no name.
  void EnterDropped(std::string_view policy, const JobList* list) {
    Enter(policy, list);
    signs_ = false;
  }

  // Launches a new attempt. Refused: no room for it, worker draining or held, task committed or in back-off, enough
  // live attempts, or a second live attempt with side effects. Also refused: it failed here, and another worker must
  // try it first.
  //
  // The cause decides how many attempts are enough. kFirst, kRetry: Task::wanted (1, or what WantAttempts set). kClone,
  // kRestart: one more. kSpeculative: one more, and at least kMostRunning. kOpportunistic: at least kMostRunning.
  //
  // kOpportunistic is a clone on an idle slot. It runs beside another attempt, on another worker, and never beside a
  // speculative attempt. It does not count against other attempts.
  bool Launch(const TaskId& task, WorkerId worker, Cause cause, Reason reason);
  // Launches a further attempt of a committed task whose output may be lost before its readers have it. Its report
  // adds a replica, or is the commit if the output is gone by then. Refused: no room, outputs are files, side
  // effects, an attempt runs already, or an input cannot be read.
  bool Remake(const TaskId& task, WorkerId worker, Reason reason);
  // Removes a launch of this task from the draft. Returns false if there is none.
  bool Withdraw(const TaskId& task);
  // Replaces the launch of `drafted` by this one. If one of the two verbs is refused, returns false and leaves the
  // draft unchanged. The new launch reads what the directory names: Launch::by_bind of the old one is lost. A policy
  // that exchanges a task for a similar one leaves launches with by_bind alone.
  bool Replace(const TaskId& drafted, const TaskId& task, WorkerId worker, Cause cause, Reason reason);
  // Reports why this live attempt is left alone. Refused: it was reported before.
  bool Spare(const AttemptId& attempt, Reason reason);
  // In an answer to a slot offer: withdraws this job's launches. The slot is then offered again, to the other jobs.
  bool PassOver(JobId job);
  // Ends a live attempt; not a failure.
  bool Kill(const AttemptId& attempt, Reason reason);
  // Ends a live attempt that still waits for inputs. Refused once it has, or can get, all of them.
  bool TakeBack(const AttemptId& attempt, Reason reason);
  // Makes the reader read this replica. Refused: the reader is not live, or the replica is not known.
  bool Bind(const AttemptId& reader, const Replica& replica, Reason reason, bool exclusive = false);
  // Makes the drafted launch of this task read only what Bind names. Refused: no such launch, or it reads no outputs.
  bool ReadByBind(const TaskId& drafted);
  // Makes `to` copy this replica. Refused: the replica is not known, or `to` is gone, draining or holds one already.
  bool Replicate(const Replica& from, WorkerId to, Reason reason);
  bool SetShare(JobId job, uint32_t slots, Reason reason);
  // Sets the number of attempts that should be live. Refused: the task is committed, or more than one with side
  // effects.
  bool WantAttempts(const TaskId& task, uint32_t attempts);
  // Sets how many replicas the output needs before attempts that run on after the commit end. Refused: more than one
  // and the task is committed, or its outputs are files.
  bool WantReplicas(const TaskId& task, uint32_t replicas);
  void Remember(const std::string& scope, uint64_t id, const std::string& name, FactValue value);
  void Forget(const std::string& scope, uint64_t id, const std::string& name);
  // Forgets all facts of this policy with this scope and id.
  void ForgetAll(const std::string& scope, uint64_t id);
  // Asks for TimersDue{id} at this instant. Replaces an earlier timer of this id.
  void WakeAt(uint64_t id, Instant at);

  const std::vector<Edit>& edits() const { return edits_; }
  // Returns true if the draft launches an attempt.
  bool Launches() const;
  const std::set<JobId>& passed() const { return passed_; }

 private:
  bool HasReplica(const Replica& replica) const;
  // Counts what the draft launches on the worker, too.
  bool HasRoom(const Worker& w, const StageSpec& spec) const;
  Reason Signed(Reason reason) const;
  bool Serves(JobId job) const;
  std::string Owner() const;

  const View& view_;
  std::string policy_;
  bool signs_ = true;
  const JobList* list_ = nullptr;
  std::vector<Edit> edits_;
  std::set<AttemptId> ends_;  // ended by edits (Kill, TakeBack)
  std::set<JobId> passed_;
};

}  // namespace mr::sched
