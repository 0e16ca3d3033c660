#include "master/sim/traces/rows.h"

#include <algorithm>

namespace mr::sim {

Status SortJobs(const std::string& name, std::vector<JobModel>* jobs) {
  if (jobs->empty()) return InvalidArgument(name + ": no job in it");
  std::stable_sort(jobs->begin(), jobs->end(),
                   [](const JobModel& x, const JobModel& y) { return x.submit < y.submit; });
  const double first = jobs->front().submit;
  for (JobModel& job : *jobs) job.submit -= first;
  return Status::Ok();
}

Status OrderStages(const std::string& where, std::vector<StageModel>* stages) {
  constexpr uint32_t kNotYet = ~0u;
  std::vector<uint32_t> place(stages->size(), kNotYet);
  std::vector<uint32_t> order;
  const auto ready = [&](const StageModel& s) {
    return std::all_of(s.inputs.begin(), s.inputs.end(),
                       [&](const auto& in) { return !in.is_edge || place[in.upstream] != kNotYet; });
  };
  while (order.size() < stages->size()) {
    const size_t before = order.size();
    for (uint32_t s = 0; s < stages->size(); ++s) {
      if (place[s] != kNotYet || !ready((*stages)[s])) continue;
      place[s] = static_cast<uint32_t>(order.size());
      order.push_back(s);
    }
    if (order.size() == before) return InvalidArgument(where + ": its stages wait for each other in a circle");
  }
  std::vector<StageModel> ordered;
  for (const uint32_t s : order) {
    ordered.push_back(std::move((*stages)[s]));
    for (sched::StageInput& in : ordered.back().inputs) {
      if (in.is_edge) in.upstream = place[in.upstream];
    }
  }
  *stages = std::move(ordered);
  return Status::Ok();
}

}  // namespace mr::sim
