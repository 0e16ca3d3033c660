// Recurring jobs with deadlines and one known run each, and their later runs on other days (Jockey, EuroSys'12, 4.1 and
// 5).
#pragma once

#include "master/sim/studies/jockey_runs.h"
#include "master/sim/studies/jockey_setups.h"

namespace mr::sim {

struct Recurring {
  RunProfile shape;  // shape of the later runs
  // For kJockeySlots, from an earlier run under fair. narrow: without other days, as in the paper.
  std::shared_ptr<const Prediction> prediction, narrow;
  double fastest = 0;  // seconds of a run with kJockeySlots
};

// Returns the jobs of these shapes (JockeyJob).
Result<std::vector<Recurring>> RecurringJobs(const std::vector<JockeyShape>& shapes, uint64_t seed,
                                             sched::Indicator indicator);
// Sizes of the input of TPC-H's queries, in gigabytes.
struct QuerySizes {
  double learned = 50;
  std::vector<double> run = {20, 100};
};
// Returns TPC-H's queries as measured on Spark, once for each size that is run. Their times are stretched so that the
// deadline of the learned size is an hour. As measured they end in seconds, while a lost worker's lease alone takes
// ten. Errors: kNotFound: `data` has no such files.
Result<std::vector<Recurring>> TpchJobs(const std::string& data, const QuerySizes& sizes, uint64_t seed,
                                        sched::Indicator indicator);

// A later run. Its times vary from day to day: all by one factor, and each stage by another.
struct Day {
  JobModel job;
  double deadline = 0;  // seconds
  double minute = 0;    // seconds per minute of the paper (NoisyCluster)
};
// Draws a run. The deadline is `times` the fastest run, and at least the day's longest path with Jockey's slack, since
// no sensible user promises less.
Day DayOf(const Recurring& job, uint64_t seed, uint32_t run, double times);

}  // namespace mr::sim
