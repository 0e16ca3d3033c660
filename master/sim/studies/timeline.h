// The timeline of one job: which attempt ran on which worker's slot. It watches a simulation through Experiment::watch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "master/sim/engine/simulation.h"
#include "master/sim/studies/svg.h"

namespace mr::sim {

enum class AttemptEnd : uint8_t {
  kCommitted,
  kKilled,  // or too late, or refused: its slot's time is wasted
  kLost,    // it failed, or its worker was lost
};

struct AttemptBar {
  AttemptId id;
  WorkerId worker;
  uint32_t slot = 0;  // slot of the worker, from 1: the lowest that was free
  Cause cause = Cause::kFirst;
  AttemptEnd end = AttemptEnd::kKilled;
  Instant from, to;  // launched; ended, as the scheduler noticed
};

// Thread: any one. Cost: a map entry per running attempt of any job, and a bar per attempt of the job.
class Timeline {
 public:
  explicit Timeline(JobId job) : job_(job) {}
  // Takes each event with its decisions, in order.
  void See(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions);
  const std::vector<AttemptBar>& bars() const { return bars_; }  // in order of their ends
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

// Draws one row per slot that the job had. Times count from its submission.
Chart TimelineChart(const std::string& title, const Timeline& timeline);

}  // namespace mr::sim
