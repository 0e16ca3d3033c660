#include <algorithm>

#include "master/sim/traces/rows.h"

namespace mr::sim {

Result<Trace> ParseGoogle(const TraceText& file, bool observe) {
  // The file prints the mean with as many digits as the durations.
  constexpr double kMeanOff = 1e-4;
  Trace trace;
  for (Rows row(file, ' '); row.Next();) {
    double submit = 0, mean = 0, sum = 0;
    uint32_t tasks = 0;
    if (!row.GetSeconds(0, &submit) || !row.Get(1, &tasks) || !row.GetSeconds(2, &mean) || tasks == 0) {
      return row.Wrong(
          "not a job of Google's trace: submit, tasks, mean, then a duration per task, separated by "
          "blanks");
    }
    size_t fields = row.size();
    while (fields > 3 && row[fields - 1].empty()) --fields;
    if (fields != size_t{tasks} + 3) {
      return row.Wrong("it says " + std::to_string(tasks) + " tasks and has " + std::to_string(fields - 3) +
                       " durations");
    }
    JobModel job = MapReduce(submit, "g" + std::to_string(trace.jobs.size()), tasks, 0, 0, 0, 0);
    for (uint32_t t = 0; t < tasks; ++t) {
      double seconds = 0;
      if (!row.GetSeconds(t + 3, &seconds)) return row.Wrong("'" + row.Text(t + 3) + "' is not a duration in seconds");
      job.stages[0].durations.push_back(static_cast<float>(seconds));
      sum += seconds;
    }
    if (std::abs(sum / tasks - mean) > kMeanOff * (1 + mean)) {
      return row.Wrong("its durations have a mean of " + std::to_string(sum / tasks) + " s, not " +
                       std::to_string(mean));
    }
    if (observe) {
      ObservedStage& stage = trace.observed.emplace_back();
      stage.job = job.name;
      stage.name = "tasks";
      for (const float seconds : job.stages[0].durations) stage.attempts.push_back({.seconds = seconds});
    }
    trace.jobs.push_back(std::move(job));
  }
  MR_RETURN_IF_ERROR(SortJobs(file.name, &trace.jobs));
  return trace;
}

}  // namespace mr::sim
