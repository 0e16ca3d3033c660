// A cluster in virtual time for tests of what policies do over minutes: map-only jobs whose tasks take
// drawn or fixed times, no faults. Kills are answered at once.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "master/sched/scheduler.h"
#include "master/sched/state/state.h"

namespace mr::sched {

class TimedCluster {
 public:
  struct JobText {
    std::string queue;
    uint32_t maps = 1;
    std::vector<WorkerId> prefer;  // of task i: element i modulo size; empty: none
    double seconds = 1;            // of a task
    bool exponential = false;      // with that mean
  };

  TimedCluster(uint64_t seed, const std::string& policies, Duration offer_period = Millis(100));
  void AddWorkers(uint32_t count, uint32_t slots);  // w1, w2, ...
  void Send(Event event) { At(now_, std::move(event)); }
  JobId Submit(const JobText& job);
  // All events until then.
  void RunUntil(Instant until);
  // Until no attempt runs; the instant of the last event.
  Instant RunToEnd();

  Instant now() const { return now_; }
  const State& state() const { return scheduler_.state(); }
  uint32_t Held(const std::string& queue) const;
  uint32_t Busy() const;
  // After each step, with its decisions.
  std::function<void(const std::vector<Decision>&)> watch;

 private:
  void At(Instant at, Event event);
  void Step(Event event);

  Rng rng_;
  Scheduler scheduler_;
  Instant now_;
  uint64_t order_ = 0;
  uint32_t workers_ = 0;
  std::map<std::pair<Instant, uint64_t>, Event> agenda_;
  std::map<JobId, JobText> jobs_;
  std::set<AttemptId> gone_;  // killed; their ends on the agenda are void
};

}  // namespace mr::sched
