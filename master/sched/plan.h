// The draft that policies edit: what is to be done about one trigger. Each verb answers false where
// the state, with the rest of the draft, cannot bear it; that is normal, not an error. After the
// last policy the core folds the draft in, in its order.
#pragma once

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "master/sched/decision.h"
#include "master/sched/view.h"

namespace mr::sched {

// A task should have so many live attempts at a time, and its output so many copies before attempts that run on
// after its commit are ended; 0: as before.
struct Want {
  TaskId task;
  uint32_t attempts = 1;
  uint32_t copies = 0;
};

using Edit = std::variant<Launch, Kill, TakeBack, Bind, ReplicateCopy, SetShare, Remember, WakeAt, Want, Spare>;

// Attempts of one task that run at a time, speculative ones among them (Mantri 5.4: never more than three).
inline constexpr uint32_t kMostRunning = 3;

// As the id of a fact or a timer.
inline uint64_t FactId(JobId job) { return uint64_t{job.epoch} << 32 | job.seq; }
inline JobId JobOfFact(uint64_t id) { return {static_cast<uint32_t>(id >> 32), static_cast<uint32_t>(id)}; }

class Plan {
 public:
  explicit Plan(const View& view) : view_(view) {}

  // Which policy speaks, and for the jobs of which list (null: all); the pipeline sets it. It stands in
  // reasons, and with the list's mark in facts and timers. What it says of other jobs is refused.
  void Enter(std::string_view policy, const JobList* list = nullptr) {
    policy_ = policy;
    list_ = list;
  }

  // A new attempt. Refused: no room for it, worker draining or held, task committed or in back-off,
  // enough live attempts (a clone or restart may go one past `wanted`, a speculative or opportunistic one to
  // kMostRunning), a second live attempt of a stage with side effects, or it failed here and another worker is to
  // have it first. A clone on an idle slot runs beside another attempt, on another worker, and not where the task is
  // copied; in the count of any other attempts it has no part.
  bool Launch(const TaskId& task, WorkerId worker, Cause cause, Reason reason);
  // A further attempt of a committed task, whose output may be lost before its readers have it: its report adds
  // a copy, or is the commit if the output has gone by then. Refused: no room, files, side effects, one runs
  // already, an input cannot be read.
  bool Remake(const TaskId& task, WorkerId worker, Reason reason);
  // Takes a launch of this task out of the draft again; false where there is none.
  bool Withdraw(const TaskId& task);
  // This launch in the place of that of `drafted`. Refused, and the draft as it was, where one of the two
  // verbs is.
  bool Replace(const TaskId& drafted, const TaskId& task, WorkerId worker, Cause cause, Reason reason);
  // Says why this live attempt is left alone. Refused: it was said before.
  bool Spare(const AttemptId& attempt, Reason reason);
  // In an answer to a slot offer: withdraws this job's launches, and once more the slot is offered,
  // to the other jobs.
  bool PassOver(JobId job);
  // Ends a live attempt; not a failure.
  bool Kill(const AttemptId& attempt, Reason reason);
  // Ends a live attempt that still waits for inputs. Refused once it has, or can get, all of them.
  bool TakeBack(const AttemptId& attempt, Reason reason);
  // Refused: the reader is not live, or the copy is not known.
  bool Bind(const AttemptId& reader, const Copy& copy, Reason reason, bool exclusive = false);
  // The drafted launch of this task reads what it is told by Bind only. Refused: no such launch, or it reads no
  // outputs.
  bool ReadByBind(const TaskId& drafted);
  // Refused: the copy is not known, or `to` is gone, draining or holds one already.
  bool Replicate(const Copy& from, WorkerId to, Reason reason);
  bool SetShare(JobId job, uint32_t slots, Reason reason);
  // Refused: the task is committed, or more than one where attempts have side effects.
  bool WantAttempts(const TaskId& task, uint32_t attempts);
  // Attempts run on after the commit until its output has so many copies. Refused: the task is committed, or its
  // outputs are files.
  bool WantCopies(const TaskId& task, uint32_t copies);
  void Remember(const std::string& scope, uint64_t id, const std::string& name, FactValue value);
  void Forget(const std::string& scope, uint64_t id, const std::string& name);
  // All facts of this policy with this scope and id.
  void ForgetAll(const std::string& scope, uint64_t id);
  // TimersDue{id} at this instant; replaces an earlier wish for the same id.
  void WakeAt(uint64_t id, Instant at);

  const std::vector<Edit>& edits() const { return edits_; }
  // Something is launched.
  bool Launches() const;
  const std::set<JobId>& passed() const { return passed_; }

 private:
  bool HasCopy(const Copy& copy) const;
  // With what the draft launches there.
  bool HasRoom(const Worker& w, const StageSpec& spec) const;
  Reason Signed(Reason reason) const;
  bool Serves(JobId job) const;
  std::string Owner() const;

  const View& view_;
  std::string policy_;
  const JobList* list_ = nullptr;
  std::vector<Edit> edits_;
  std::set<AttemptId> ends_;  // by edits that kill or take back
  std::set<JobId> passed_;
};

}  // namespace mr::sched
