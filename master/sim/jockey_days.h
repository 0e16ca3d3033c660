// Recurring jobs with deadlines, of which one run is known, and the days of others (papers.md 4.1 and 4.4).
#pragma once

#include "master/sim/jockey_runs.h"

namespace mr::sim {

struct Recurring {
  RunProfile shape;  // of the runs to come
  // For kJockeySlots, of a run under fair that came before; narrow: as the paper's, which know no other days.
  std::shared_ptr<const Prediction> prediction, narrow;
  double fastest = 0;  // seconds of a run of that shape with kJockeySlots
};

// Jobs A to G (JockeyJob).
Result<std::vector<Recurring>> PaperJobs(uint64_t seed, sched::Indicator indicator);
// The queries of TPC-H as they were measured on Spark, twice each: learned with 50 GB, run with 20 and with 100. All
// times of a query are stretched so that an hour is the deadline of the size that is learned: as measured they end in
// seconds, of which the lease after which a worker counts as lost is ten.
// kNotFound where `data` has no such files.
Result<std::vector<Recurring>> TpchJobs(const std::string& data, uint64_t seed, sched::Indicator indicator);

// A run to come. Times differ from day to day: all alike, and those of each stage besides.
struct Day {
  JobModel job;
  double deadline = 0;  // seconds
  double minute = 0;    // seconds that stand for the paper's minute (NoisyCluster)
};
// The deadline: so many times the fastest; no less than the day's longest path with Jockey's slack, since nobody
// promises less.
Day DayOf(const Recurring& job, uint64_t seed, uint32_t run, double times);

}  // namespace mr::sim
