// Counts the records that operators of running jobs skipped because they could not use them, over all tasks of a job,
// against the job's limit. The counts of committed attempts (counter "mr", "bad_records") are in the journal with their
// commits. This class adds them up, and keeps the text of a few. Thread: the master's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "master/core/jobs.h"

namespace mr::master {

class BadRecords {
 public:
  // Returns the number of one attempt, from its counters.
  static uint64_t CountOf(const std::vector<CounterValue>& counters);

  // Returns why this attempt must not commit with its count, or "". samples: some of its bad records, for people.
  // Requires: the task is not committed.
  std::string Excess(const JobView& job, TaskId task, const FinishedExtra& extra,
                     const std::vector<std::string>& samples);
  // Adds the count of an attempt that committed.
  void Committed(const JobView& job, TaskId task, const FinishedExtra& extra, const std::vector<std::string>& samples);
  void Forget(JobId job);

 private:
  static constexpr size_t kSamples = 3;
  struct OfJob {
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> tasks;  // by (stage, task), those that have any
    uint64_t total = 0;
    std::vector<std::string> samples;
  };
  // After a restart of the master the commits are known before anybody asks.
  OfJob& Of(const JobView& job);

  std::map<JobId, OfJob> jobs_;
};

}  // namespace mr::master
