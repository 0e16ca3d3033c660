#include "master/core/random_operators.h"

namespace mr::master {

void RandomOperators::Add(const std::string& op, JobId job) {
  if (!jobs_.emplace(op, job).second) return;
  order_.push_back(op);
  if (order_.size() <= kMost) return;
  jobs_.erase(order_.front());
  order_.pop_front();
}

const JobId* RandomOperators::Find(const std::string& op) const {
  const auto it = jobs_.find(op);
  return it == jobs_.end() ? nullptr : &it->second;
}

std::vector<RandomOperators::Found> RandomOperators::All() const {
  std::vector<Found> all;
  for (const std::string& op : order_) all.push_back({op, jobs_.at(op)});
  return all;
}

}  // namespace mr::master
