// Work that records have begun and not finished: timers of policies, stages without tasks, ended jobs whose end is not
// durable yet, outputs to publish, staging to remove. A restart takes all of it up again. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/time.h"
#include "master/sched/decision.h"
#include "master/sched/event.h"

namespace mr::master {

// The timers that policies wait for (sched::WakeAt). Due ones come in the order of their times, equal times in the
// order in which they were set.
class Timers {
 public:
  struct Timer {
    Instant at;
    std::string policy;
    uint64_t id = 0;
  };
  void Set(const sched::WakeAt& wake);
  // The event arrived: the first of its timers is over.
  void Over(const sched::TimerDue& due);
  size_t size() const { return by_time_.size(); }
  void Clear();
  // Returns the first one, or null.
  const std::pair<const std::pair<Instant, uint64_t>, std::pair<std::string, uint64_t>>* First() const;
  std::vector<Timer> All() const;

 private:
  using Key = std::pair<std::string, uint64_t>;
  std::map<std::pair<Instant, uint64_t>, Key> by_time_;
  std::map<Key, std::set<std::pair<Instant, uint64_t>>> by_key_;
  uint64_t set_ = 0;
};

// The end of a job, which nobody hears of before its record is durable.
struct JobEnd {
  uint64_t sequence = 0;
  JobId job;
  bool committed = false;  // else it has failed or was killed, and its state says so already
  std::string error;       // of a committed one: why its output is not where its user expects it
  Instant at;              // when it was published; 0: it ended with its commit
};

struct OpenWork {
  Timers timers;
  std::set<StageId> unplanned;  // PlanStage was decided, and StagePlanned has not come
  std::deque<JobEnd> ends;      // in the order of their records; not in snapshots, whose records are durable
  std::set<JobId> unpublished;  // committed, and their file:// output is not in its place yet
  std::set<JobId> uncleaned;    // failed, and what they keep beside their output may still be there

  void Forget(JobId job);
};

}  // namespace mr::master
