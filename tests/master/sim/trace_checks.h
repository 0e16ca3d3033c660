// Helpers for the tests of readers of recorded workloads.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "master/sim/traces/workload.h"

// Skips the test if MR_DATA is not set.
#define NEEDS_DATA() \
  if (std::getenv("MR_DATA") == nullptr) GTEST_SKIP() << "MR_DATA is not set: it says where the traces are"

namespace mr::sim {

// Expects kInvalidArgument with this part in its message.
inline void ExpectRefused(const Result<Trace>& trace, const char* part) {
  ASSERT_FALSE(trace.ok()) << part;
  EXPECT_EQ(trace.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(trace.status().message(), testing::HasSubstr(part));
}

// Loads a real record, if it is there.
inline Result<Trace> Real(const char* file, const char* format = "") {
  const char* data = std::getenv("MR_DATA");
  return LoadTrace({file, data != nullptr ? data : "", format, 1});
}

// Returns the number of tasks of one kind.
inline uint64_t Tasks(const Trace& trace, sched::SlotKind kind) {
  uint64_t n = 0;
  for (const JobModel& job : trace.jobs) {
    for (const StageModel& s : job.stages) n += s.kind == kind ? s.tasks : 0;
  }
  return n;
}
// Returns the sum of the recorded durations.
inline double Seconds(const Trace& trace) {
  double sum = 0;
  for (const JobModel& job : trace.jobs) {
    for (const StageModel& s : job.stages) sum = std::accumulate(s.durations.begin(), s.durations.end(), sum);
  }
  return sum;
}

}  // namespace mr::sim
