#include "master/sched/index/local_lists.h"

#include <algorithm>

namespace mr::sched {

void LocalLists::Build(std::vector<std::pair<uint32_t, uint32_t>> pairs, uint32_t limit) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  *this = {};
  tasks_.reserve(pairs.size());
  for (const auto& [place, task] : pairs) {
    if (places_.empty() || places_.back() != place) {
      places_.push_back(place);
      rows_.push_back({static_cast<uint32_t>(tasks_.size()), 0});
    }
    tasks_.push_back(task);
  }
  rows_.push_back({static_cast<uint32_t>(tasks_.size()), 0});
  places_.shrink_to_fit();
  rows_.shrink_to_fit();
  spots_of_.assign(tasks_.empty() ? 0 : limit + 1, 0);
  for (const uint32_t task : tasks_) ++spots_of_[task + 1];
  for (size_t t = 1; t < spots_of_.size(); ++t) spots_of_[t] += spots_of_[t - 1];
  spots_.resize(tasks_.size());
  std::vector<uint32_t> next = spots_of_;
  for (uint32_t number = 0; number < places_.size(); ++number) {
    for (uint32_t i = rows_[number].begin; i < rows_[number + 1].begin; ++i) spots_[next[tasks_[i]]++] = {i, number};
  }
  pending_ = IndexSet(static_cast<uint32_t>(tasks_.size()));
}

}  // namespace mr::sched
