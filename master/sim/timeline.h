// Who ran what on which worker's slot: the attempts of one job, seen from outside a simulation through
// Experiment::watch, and drawn.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "master/sim/simulation.h"
#include "master/sim/svg.h"

namespace mr::sim {

enum class AttemptEnd : uint8_t {
  kCommitted,
  kKilled,  // or too late, or refused: its slot's time is wasted
  kLost,    // failed, or its worker did
};

struct AttemptBar {
  AttemptId id;
  WorkerId worker;
  uint32_t slot = 0;  // of the worker's, from 1: the lowest that was free
  sched::Cause cause = sched::Cause::kFirst;
  AttemptEnd end = AttemptEnd::kKilled;
  Instant from, to;  // launched; ended, as the scheduler learned of it
};

// Thread: any one. Cost: one map entry per attempt that lives, of any job; a bar per attempt of the job.
class Timeline {
 public:
  explicit Timeline(JobId job) : job_(job) {}
  // Each event with its decisions, in their order.
  void See(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions);
  const std::vector<AttemptBar>& bars() const { return bars_; }  // in the order in which they ended
  Instant submitted() const { return submitted_; }

 private:
  void End(const AttemptId& id, AttemptEnd how, Instant at);
  void EndAll(WorkerId worker, Instant at);

  JobId job_;
  Instant submitted_;
  std::map<AttemptId, AttemptBar> live_;
  std::map<WorkerId, std::vector<bool>> taken_;  // slots
  std::vector<AttemptBar> bars_;
};

// One row per slot that the job had; time from its submission.
Chart TimelineChart(const std::string& title, const Timeline& timeline);

}  // namespace mr::sim
