// spark_speculation: speculative attempts of attempts that have run much longer than the median, late in a stage.
//
// Apache Spark, TaskSetManager.checkSpeculatableTasks: once max(1, floor(quantile * tasks)) of a stage have finished,
//   threshold = max(multiplier * median duration, min_age)
// An attempt that has run longer gets a speculative attempt if its rate of processing is below efficiency times the
// mean. So does each that has run longer than long_run * threshold (SPARK-32170, since 3.4).
//
// Parameters: quantile (0.9; before Spark 4: 0.75), multiplier (3; before: 1.5), min_age (100ms), efficiency (0.75; 0 =
// no such test), long_run (2), skew_check (on|off).
//
// Departures: rates are bytes of input, not records; without them the test is passed, as in Spark.
// spark.speculation.task.duration.threshold, for stages of few tasks, is not offered.
#pragma once

#include <memory>

#include "master/sched/pipeline.h"

namespace mr::sched {

Result<std::unique_ptr<Policy>> MakeSparkSpeculation(PolicyParams* params);

}  // namespace mr::sched
