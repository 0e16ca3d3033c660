// Binds readers of clones' outputs to replicas, and ends attempts that would make further replicas: the work of
// delay_assignment at one trigger.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "master/sched/plan.h"
#include "master/sched/policies/dolly/omega.h"
#include "master/sched/view.h"

namespace mr::sched {

// Scope of the facts on open outputs: some of their readers still wait for a replica of their own. Name: "stage/task".
// Value: the instant until which they wait.
inline constexpr char kOpenOutputs[] = "open";
TaskId ParseOpen(JobId job, const std::string& name);

// Drafts the changes of one trigger, on top of the bindings of the state and of its own draft.
class ReplicaAssigner {
 public:
  ReplicaAssigner(const View& view, const Omega& omega, Plan* plan) : view_(view), omega_(omega), plan_(*plan) {}

  // Handles a new replica, or the end of an attempt that would have made one.
  void OutputMoved(const Job& job, const TaskId& id, bool committed_now);
  // Binds a reader that may have outputs to read for which it has no binding.
  void ReaderMoved(const Job& job, const AttemptId& id);
  // Binds a reader that could not read its replica to another one, if there is one, its own or shared.
  void ReadFailed(const Job& job, const AttemptId& id, const Replica& from);
  // Ends attempts that only make a further replica, if a waiting task needs their slot.
  void GiveWay(const Job& job, const TaskId& id);
  // Closes the outputs of the job whose omega is over; called again for the others. Each reader without a replica of
  // its own shares one by then, so that none waits for those that the siblings would make.
  void TimerDue(const Job& job);

 private:
  bool IsOpen(const TaskId& id) const;
  void Open(const Job& job, const TaskId& id);
  void Close(const TaskId& id);
  void EndSiblings(const Job& job, const TaskId& id);
  // Returns how many tasks wait for the slot of an attempt that would make a further replica. Returns 0 unless a clone
  // on an idle slot made the first replica: the remaining attempt then only does the clone's work, and lent slots must
  // not delay other work.
  size_t WantedOfSpares(const TaskId& id) const;
  void EndSpares(const TaskId& id, size_t waiting);
  static Instant FirstReplicaAt(const Task& task);
  void BindReaders(const Job& job, uint32_t stage, const TaskId& output);
  void BindReader(const Job& job, const AttemptId& reader, const TaskId& output);

  struct Best {
    const ReplicaPlace* replica = nullptr;  // null: there is none
    uint32_t readers = 0;
    bool own = false;     // no other clone of the reader's task reads it
    bool leaves = false;  // an operator drains its worker
  };

  // Returns the best of the output's replicas, without `but`.
  Best BestReplica(const Job& job, const TaskId& reader, const TaskId& output, const ReplicaPlace* but) const;
  void Tell(const Job& job, const AttemptId& reader, const TaskId& output, const Best& best);
  bool UsedByGroup(const Job& job, const TaskId& reader, const TaskId& output, const ReplicaPlace& replica) const;
  uint32_t Readers(const Job& job, const TaskId& output, const ReplicaPlace& replica) const;
  static size_t PlaceOf(const Job& job, const TaskId& output, const ReplicaPlace& replica);

  const View& view_;
  const Omega& omega_;
  Plan& plan_;
  std::map<TaskId, bool> open_;  // as this plan changes it
  Instant woken_;
  size_t coming_ = 0;                                      // slots that it gives back
  std::set<std::pair<AttemptId, TaskId>> told_;            // bindings of this plan
  std::map<std::pair<TaskId, size_t>, uint32_t> drafted_;  // their number per replica
  std::set<std::tuple<TaskId, TaskId, size_t>> groups_;
};

}  // namespace mr::sched
