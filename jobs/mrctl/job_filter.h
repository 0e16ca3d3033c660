// Which jobs `mrctl jobs` lists: by state, by name, by owner, by time. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

struct JobFilter {
  std::set<JobState> states;      // empty: all
  std::string name;               // a glob, as for fnmatch(3); empty: all
  std::string owner;              // empty: all
  std::optional<Duration> since;  // leaves out jobs that ended before; nullopt: all
};

// states: words such as "running", each possibly several with commas. since: a duration such as "2h", or "".
// Errors: kInvalidArgument, with the nearest state.
Result<JobFilter> MakeJobFilter(const std::vector<std::string>& states, const std::string& name,
                                const std::string& owner, const std::string& since);

// Returns the jobs that the filter lets through, in their order. now_unix_ms: the master's clock; used by `since` only.
std::vector<JobStatus> FilterJobs(std::vector<JobStatus> jobs, const JobFilter& filter, uint64_t now_unix_ms);

}  // namespace mr::ctl
