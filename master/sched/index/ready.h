// Indexes the tasks that can be launched, the attempts that wait for inputs, and the stages that are worth an offer.
#pragma once

#include <array>
#include <set>
#include <utility>

#include "master/sched/index/changed.h"
#include "master/sched/index/locality.h"

namespace mr::sched {

class ReadyIndex : public LocalityIndex {
 public:
  // ready: stages with a task whose inputs are all there. early: stages with a task that may wait for its inputs on a
  // slot (EarlyDue). starved: ready stages of jobs with attempts that wait for inputs.
  const std::set<StageKey>& ready(SlotKind kind) const { return ready_[KindIndex(kind)]; }
  const std::set<StageKey>& early(SlotKind kind) const { return early_[KindIndex(kind)]; }
  // Ready stages with tasks whose inputs have a place. The others must not cost a round anything: they may be many.
  const std::set<StageKey>& placed(SlotKind kind) const { return placed_[KindIndex(kind)]; }
  const std::set<StageKey>& starved() const { return starved_; }
  const std::set<std::pair<Instant, TaskId>>& held_tasks() const { return held_tasks_; }
  // Tasks with Task::unended.
  const std::set<TaskId>& unended() const { return unended_; }
  // Rises whenever a task becomes schedulable or a stage ready.
  uint64_t work_count() const { return work_count_; }

  // Returns true if all upstream tasks that class `c` reads in full are committed.
  static bool FullReady(const Job& job, uint32_t stage, const TaskClass& c);
  static bool InputsComplete(const Job& job, uint32_t stage, const Task& task);
  // Returns true if some task of the stage may have all of its inputs. False means that each task lacks one.
  static bool AnyFullReady(const Job& job, uint32_t stage);
  // Returns true if some task's input has a place.
  static bool HasPlaces(const Stage& stage);
  // Returns true for a live attempt that lacks inputs and cannot get all of them yet.
  bool Waiting(const AttemptId& id) const;
  // UpstreamUnfinished: upstream tasks that are not committed. UpstreamPending: those without a live attempt.
  static uint32_t UpstreamUnfinished(const Job& job, uint32_t stage);
  static uint32_t UpstreamPending(const Job& job, uint32_t stage);
  // Returns true if tasks of the stage may start early (Sharing::slow_start).
  bool EarlyDue(const Job& job, uint32_t stage) const;
  // Returns true if some reader of this output is not committed (waits: and does not run), or its stage is not
  // planned yet.
  static bool Needed(const Job& job, const TaskId& id, bool waits = false);
  // Returns "pending", "running", "waiting", "committed", "failed" or "killed".
  const char* Word(const AttemptId& id) const;

 protected:
  void Index(const EntityChanged& change);
  // Index(in) for all tasks of a stage whose lists have just been built.
  void IndexStage(Job& job, uint32_t stage);
  // Updates readers by partial slices after a task's commit came or went: they miss one input less or more.
  void CommitMoved(const TaskId& id);
  void Refresh(Job& job, uint32_t stage);
  void RefreshAll(Job& job);
  static void ListReaders(Job& job);
  static void BuildPartialReaders(Job& job, uint32_t stage);
  void BuildClasses(Job& job, uint32_t stage) const;
  void RebuildLists();

  std::set<std::pair<Instant, TaskId>> held_tasks_;
  std::set<TaskId> unended_;

 private:
  static bool Schedulable(const Job& job, const StageSpec& spec, const Task& task);

  std::array<std::set<StageKey>, 2> ready_, early_, placed_;
  std::set<StageKey> starved_;
  uint64_t work_count_ = 0;
};

}  // namespace mr::sched
