#include "master/sim/studies/dolly_swim.h"

#include <cstdio>

#include "master/sim/studies/dolly_setups.h"
#include "master/sim/traces/workload.h"

namespace mr::sim {

// The scales let LATE hold half of the slots from the first submit to the last end (seed 1); the figures show the
// actual share. SWIM itself scales bytes by the size of the cluster.
const SwimDay kSwim2009{"FB-2009_samples_24_times_1hr_0.tsv", 5, 11, 5.25,
                        "the whole day takes minutes; 94 % of hour 4 is one job, in hour 11 there is none"};
const SwimDay kSwim2010{"FB-2010_samples_24_times_1hr_0.tsv", 0, 6, .345, "the whole day takes minutes"};

namespace {
constexpr double kHour = 3600;  // seconds
}  // namespace

Result<Experiment> SwimRun(const SwimDay& day, const std::string& data, const std::string& policies, uint64_t seed) {
  MR_ASSIGN_OR_RETURN(Trace trace, LoadTrace({day.file, data, "swim", seed, day.scale}));
  Experiment e = DollyCluster(policies, seed);
  for (JobModel& job : trace.jobs) {
    if (job.submit < day.from * kHour || job.submit >= day.to * kHour) continue;
    job.submit -= day.from * kHour;
    e.jobs.push_back(std::move(job));
  }
  return e;
}

std::string Describe(const SwimDay& day, const Experiment& run) {
  char text[400];
  std::snprintf(text, sizeof text,
                "%s: hours %g to %g (%s), %zu jobs submitted as recorded; bytes x %g, 128 MiB a map, 1 GiB a reduce",
                day.file, day.from, day.to, day.why, run.jobs.size(), day.scale);
  return text;
}

}  // namespace mr::sim
