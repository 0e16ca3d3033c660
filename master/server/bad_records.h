// Records that operators could not use and skipped, of jobs that run: how many in all tasks together, against the limit
// that the job was submitted with. What committed attempts counted (counter "mr", "bad_records") is in the journal with
// their commits; this adds it up, and keeps a few in words. Of the master's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "master/server/job_table.h"

namespace mr::master {

class BadRecords {
 public:
  // Of one attempt, as its counters say.
  static uint64_t CountOf(const FinishedExtra& extra);

  // What is wrong if this attempt of a task that is not committed commits with what it counted; empty: nothing.
  // samples: of this attempt, in words.
  std::string Excess(const JobView& job, TaskId task, const FinishedExtra& extra,
                     const std::vector<std::string>& samples);
  // It did commit.
  void Committed(const JobView& job, TaskId task, const FinishedExtra& extra, const std::vector<std::string>& samples);
  void Forget(JobId job) { jobs_.erase(job); }

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
