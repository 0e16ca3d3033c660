#include "jobs/mrctl/job_filter.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>

#include "common/base/text.h"
#include "common/model/job_state.h"

namespace mr::ctl {
namespace {

constexpr JobState kStates[] = {JobState::kPending, JobState::kRunning, JobState::kCommitting, JobState::kSucceeded,
                                JobState::kFailed,  JobState::kKilling, JobState::kKilled};

std::string LowerWord(JobState state) {
  std::string word = Word(state);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word;
}

Result<JobState> StateOf(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  std::vector<std::string> words;
  for (const JobState state : kStates) {
    words.push_back(LowerWord(state));
    if (words.back() == word) return state;
  }
  std::string all;
  for (const std::string& known : words) all += (all.empty() ? "" : ", ") + known;
  return InvalidArgument("--state: no job has the state '" + word + "'" +
                         DidYouMean(word, std::vector<std::string_view>(words.begin(), words.end())) + "; there are " +
                         all);
}

}  // namespace

Result<JobFilter> MakeJobFilter(const std::vector<std::string>& states, const std::string& name,
                                const std::string& owner, const std::string& since) {
  JobFilter filter;
  for (const std::string& list : states) {
    for (size_t at = 0; at <= list.size();) {
      const size_t end = std::min(list.find(',', at), list.size());
      MR_ASSIGN_OR_RETURN(const JobState state, StateOf(list.substr(at, end - at)));
      filter.states.insert(state);
      at = end + 1;
    }
  }
  filter.name = name;
  filter.owner = owner;
  if (since.empty()) return filter;
  auto duration = ParseDuration(since);
  if (!duration.ok()) return duration.status().With("--since");
  filter.since = *duration;
  return filter;
}

std::vector<JobStatus> FilterJobs(std::vector<JobStatus> jobs, const JobFilter& filter, uint64_t now_unix_ms) {
  std::erase_if(jobs, [&](const JobStatus& job) {
    if (!filter.states.empty() && !filter.states.contains(job.state)) return true;
    if (!filter.name.empty() && fnmatch(filter.name.c_str(), job.name.c_str(), 0) != 0) return true;
    if (!filter.owner.empty() && filter.owner != job.owner) return true;
    if (!filter.since || !Ended(job.state)) return false;
    const uint64_t ended_ms = job.submitted_unix_ms + job.elapsed_us / 1000;
    return ended_ms + static_cast<uint64_t>(filter.since->millis()) < now_unix_ms;
  });
  return jobs;
}

}  // namespace mr::ctl
