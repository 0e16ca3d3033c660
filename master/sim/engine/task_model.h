// The model of tasks: what they cost, how their times scatter, how they report. Plain data. Where they are doubles,
// times are in seconds.
//
// An attempt takes its work, times three factors: *machine* stays with the worker for a while, *skew* stays with the
// task, also for its clones and re-runs, and *luck* is drawn per attempt. Only luck, and a slow machine, can be escaped
// by another attempt.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "common/base/time.h"

namespace mr::sim {

// A random factor: lognormal(0, sigma), times min(Pareto(2, tail_alpha), tail_cap) with probability tail.
struct FactorModel {
  double sigma = 0, tail = 0;
  double tail_alpha = 1.26;  // GRASS (NSDI'14)
  double tail_cap = 8;       // fitted to Dolly's potential, with tail_alpha (TaskModel::luck)
  bool none() const { return sigma == 0 && tail == 0; }
};
// Draws from the model. Returns 1 without a draw if there is none.
double Draw(const FactorModel& model, Rng rng);

struct TaskModel {
  // Seconds per byte at speed 1. Map and reduce: 10 MB/s, a guess near Hadoop's of 2010. The merge is four times as
  // fast.
  double map_cost = 1e-7, sort_cost = 2.5e-8, reduce_cost = 1e-7;

  // Luck alone gives Dolly's potential of 49 % for jobs of 1 to 10 tasks.
  FactorModel luck{.15, .05};
  FactorModel skew, machine;
  double machine_lasts = 0;    // mean time for which a machine keeps its factor; 0: for ever
  std::vector<float> factors;  // if not empty, an attempt's luck is a random one of these
  // Recorded times: share of the variance of log times that stays with the task. 0: another attempt takes the time of a
  // random task. 1: it takes the time of its own.
  double skew_share = 0;

  // From an attempt's start to its first byte: lognormal with this median. It is longer on a slow machine.
  double startup = 0, startup_sigma = 0;
  // An attempt stands still now and then: mean times between two stalls, and of a stall. 0: never.
  double stall_every = 0, stall_lasts = 0;

  // Bytes of disk per byte of each phase; 0: no disk. read: of a block. map: writing a map's output. copy, sort and
  // reduce: the phases of a reduce. output: writing its output locally. replica: writing each further output replica.
  double read_disk = 1, map_disk = 0, copy_disk = 0, sort_disk = 0, reduce_disk = 0, output_disk = 0, replica_disk = 0;
  uint32_t output_replicas = 1;
  // Bytes of disk per byte that readers copy, on the disks that keep the outputs; 0: none (adr/0004).
  double serve_disk = 0;
  // Bytes of a worker's memory that keep the outputs that it wrote last. Readers of these use no disk. 0: none.
  double cache = 0;

  // P(an attempt of recorded time fails through no fault of its own), at a random instant of that time.
  double fails = 0;
  Duration launch_delay = Millis(10);  // from the decision to the first byte: a guess
  Duration kill_delay = Millis(10);

  Duration report_period = Seconds(1);  // 0: no progress reports
  // Share of an attempt's work that is reported in a period. Less is reported after ten periods. 0: an attempt that has
  // moved at all is reported in each period, as by the worker (worker/daemon/progress.h).
  double report_share = 0;
  // Reported progress is what the attempt has done, to the power of a lognormal(0, report_noise): bytes and work
  // differ.
  double report_noise = 0;
  // P(a worker's frame of reports does not arrive), and P(it is late), by up to report_late_by.
  double report_lost = 0, report_late = 0;
  Duration report_late_by = Seconds(10);
};

// Returns the model without straggler factors, stalls, and faults of reports.
TaskModel Steady(TaskModel model);
// Returns the default model without chance and delays, for examples worked by hand.
TaskModel Exact();

// Numbers of any of the model's types, as files write them: durations are in seconds.
inline double AsNumber(double value) { return value; }
inline double AsNumber(uint32_t value) { return value; }
inline double AsNumber(Duration value) { return value.seconds(); }
inline void SetNumber(double number, double* value) { *value = number; }
inline void SetNumber(double number, uint32_t* value) { *value = static_cast<uint32_t>(number); }
inline void SetNumber(double number, Duration* value) { *value = FromSeconds(number); }

// Calls visit(name, value, lowest, highest) for each number of the model, as model and study files name it. The value
// is a reference to a double, a uint32_t or a Duration; limits of a Duration are in seconds.
template <class Visit>
void VisitNumbers(TaskModel* m, Visit visit) {
  // Guesses: an hour, a second per byte, and factors beyond which times no longer differ.
  constexpr double kHour = 3600, kCost = 1, kSigma = 10, kFactor = 1e6, kDisk = 1e3, kBytes = 1e18, kLongest = 1e9;
  // With a higher loss, reports and attempts repeat almost without end.
  constexpr double kLost = .9;
  visit("map_cost", m->map_cost, 0, kCost);
  visit("sort_cost", m->sort_cost, 0, kCost);
  visit("reduce_cost", m->reduce_cost, 0, kCost);
  visit("sigma", m->luck.sigma, 0, kSigma);
  visit("tail", m->luck.tail, 0, 1);
  visit("tail_alpha", m->luck.tail_alpha, 1e-3, kFactor);
  visit("tail_cap", m->luck.tail_cap, 1, kFactor);
  visit("skew_sigma", m->skew.sigma, 0, kSigma);
  visit("skew_tail", m->skew.tail, 0, 1);
  visit("skew_tail_alpha", m->skew.tail_alpha, 1e-3, kFactor);
  visit("skew_tail_cap", m->skew.tail_cap, 1, kFactor);
  visit("skew_share", m->skew_share, 0, 1);
  visit("machine_sigma", m->machine.sigma, 0, kSigma);
  visit("machine_tail", m->machine.tail, 0, 1);
  visit("machine_tail_alpha", m->machine.tail_alpha, 1e-3, kFactor);
  visit("machine_tail_cap", m->machine.tail_cap, 1, kFactor);
  visit("machine_lasts", m->machine_lasts, 0, kLongest);
  visit("startup", m->startup, 0, kHour);
  visit("startup_sigma", m->startup_sigma, 0, kSigma);
  visit("stall_every", m->stall_every, 0, kLongest);
  visit("stall_lasts", m->stall_lasts, 0, kHour);
  visit("read_disk", m->read_disk, 0, kDisk);
  visit("map_disk", m->map_disk, 0, kDisk);
  visit("copy_disk", m->copy_disk, 0, kDisk);
  visit("sort_disk", m->sort_disk, 0, kDisk);
  visit("reduce_disk", m->reduce_disk, 0, kDisk);
  visit("output_disk", m->output_disk, 0, kDisk);
  visit("replica_disk", m->replica_disk, 0, kDisk);
  visit("output_replicas", m->output_replicas, 1, 10);
  visit("serve_disk", m->serve_disk, 0, kDisk);
  visit("cache", m->cache, 0, kBytes);
  visit("fails", m->fails, 0, kLost);
  visit("launch_delay", m->launch_delay, 0, kHour);
  visit("kill_delay", m->kill_delay, 0, kHour);
  visit("report_period", m->report_period, 0, kHour);
  visit("report_share", m->report_share, 0, 1);
  visit("report_noise", m->report_noise, 0, kSigma);
  visit("report_lost", m->report_lost, 0, kLost);
  visit("report_late", m->report_late, 0, 1);
  visit("report_late_by", m->report_late_by, 0, kHour);
}
// Returns the numbers of the model with their names, in the order of VisitNumbers.
std::vector<std::pair<std::string_view, double>> NumbersOf(TaskModel model);

}  // namespace mr::sim
