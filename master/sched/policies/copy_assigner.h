// What delay_assignment makes of the readers of clones' outputs and of who makes these outputs, at one trigger.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "master/sched/plan.h"
#include "master/sched/policies/omega.h"
#include "master/sched/view.h"

namespace mr::sched {

// Scope of the facts that name outputs of which some readers still wait for a copy of their own: by "stage/task", the
// instant until which.
inline constexpr char kOpenOutputs[] = "open";
TaskId ParseOpen(JobId job, const std::string& name);

// What one trigger makes of the bindings: those of the state and those that it drafts.
class CopyAssigner {
 public:
  CopyAssigner(const View& view, const Omega& omega, Plan* plan) : view_(view), omega_(omega), plan_(*plan) {}

  // A copy was made, or an attempt that would have made one ended.
  void OutputMoved(const Job& job, const TaskId& id, bool committed_now);
  // It may have outputs to read that it was not told of.
  void ReaderMoved(const Job& job, const AttemptId& id);
  // It could not read the copy that it was told to: it is told another, where there is one, its own or not.
  void ReadFailed(const Job& job, const AttemptId& id, const Copy& from);
  // Where something waits for the slot of an attempt that only makes a further copy, it may be had.
  void GiveWay(const Job& job, const TaskId& id);
  // omega is over for these outputs, or will be. By then each reader that lacked a copy shares one: none waits for what
  // the siblings would make.
  void TimerDue(const Job& job);

 private:
  bool IsOpen(const TaskId& id) const;
  void Open(const Job& job, const TaskId& id);
  void Close(const TaskId& id);
  void EndSiblings(const Job& job, const TaskId& id);
  // How many tasks wait for the slot of one of the attempts that would make a further copy, where the output's first
  // copy was a clone's on an idle slot. What is lent is to cost nobody a slot, and now the original does what the
  // clone was to do.
  size_t WantedOfSpares(const TaskId& id) const;
  void EndSpares(const TaskId& id, size_t waiting);
  static Instant FirstCopyAt(const Task& task);
  void BindReaders(const Job& job, uint32_t stage, const TaskId& output);
  void BindReader(const Job& job, const AttemptId& reader, const TaskId& output);

  struct Best {
    const CopyPlace* copy = nullptr;  // null: there is none
    uint32_t readers = 0;
    bool own = false;  // no other clone of the reader's task reads it
  };

  // Of the output's copies, without `but`.
  Best BestCopy(const Job& job, const TaskId& reader, const TaskId& output, const CopyPlace* but) const;
  void Tell(const Job& job, const AttemptId& reader, const TaskId& output, const Best& best);
  bool UsedByGroup(const Job& job, const TaskId& reader, const TaskId& output, const CopyPlace& copy) const;
  uint32_t Readers(const Job& job, const TaskId& output, const CopyPlace& copy) const;
  static size_t PlaceOf(const Job& job, const TaskId& output, const CopyPlace& copy);

  const View& view_;
  const Omega& omega_;
  Plan& plan_;
  std::map<TaskId, bool> open_;  // as this plan changes it
  Instant woken_;
  size_t coming_ = 0;                                      // slots that it gives back
  std::set<std::pair<AttemptId, TaskId>> told_;            // by this plan,
  std::map<std::pair<TaskId, size_t>, uint32_t> drafted_;  // and how many of each copy
  std::set<std::tuple<TaskId, TaskId, size_t>> groups_;
};

}  // namespace mr::sched
