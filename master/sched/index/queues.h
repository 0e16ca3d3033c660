// Indexes queues by the slots that their jobs want and hold, and jobs with guaranteed slots.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "master/sched/index/workers.h"

namespace mr::sched {

class QueueIndex : public WorkerIndex {
 public:
  // Queues with jobs that run or hold slots, by number.
  const std::map<uint64_t, const Queue*>& busy_queues() const { return busy_queues_; }
  JobRank RankOf(const Job& job, size_t kind) const;
  // Returns true if the job's queue is at its max share and attempts of this kind count against it.
  bool QueueFull(const Job& job, SlotKind kind) const;

  // Running jobs with a Job::share, the earliest deadline first. wanting: those with a stage in `ready` that hold
  // fewer slots. spare: those with such a stage that hold at least their guarantee.
  using ByDeadline = std::set<std::pair<Instant, JobId>>;
  const ByDeadline& guaranteed() const { return guaranteed_; }
  const ByDeadline& wanting() const { return wanting_; }
  const ByDeadline& spare() const { return spare_; }
  // Rises whenever a job enters wanting().
  uint64_t wants_count() const { return wants_count_; }
  // Guaranteed slots that these jobs hold.
  uint32_t within_guarantees() const { return within_guarantees_; }

  void SetQueue(const QueueSet& event);
  std::string CheckGuarantees() const;  // part of CheckState

 protected:
  void JoinQueue(Job& job);
  void LeaveQueue(Job& job);  // no-op if it has left
  // Removes the job from its queue's indexes (-1), or adds it by its current values (+1).
  void RankJob(const Job& job, int direction);
  // Updates the counts from the job's current values. No-op if they are equal.
  void CountGuarantee(Job& job);

 private:
  Queue& PutQueue(const std::string& name);
  void DropIdle(const Queue& queue);  // if it has neither jobs nor settings

  std::map<uint64_t, const Queue*> busy_queues_;
  ByDeadline guaranteed_, wanting_, spare_;
  uint32_t within_guarantees_ = 0;
  uint64_t wants_count_ = 0;
};

}  // namespace mr::sched
