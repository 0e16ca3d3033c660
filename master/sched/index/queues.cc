// Queues come with their first setting or job, and go with their last job unless an operator set them.
#include "master/sched/state/state.h"

namespace mr::sched {

void State::SetQueue(const QueueSet& e) {
  Queue& q = PutQueue(e.queue);
  digest_ -= Hash(q);
  q.set = true;
  q.weight = e.weight;
  q.min_share = e.min_share;
  q.max_share = e.max_share;
  digest_ += Hash(q);
}

Queue& State::PutQueue(const std::string& name) {
  const auto [it, added] = queues_.try_emplace(name);
  if (added) {
    digest_ -= HashCounters();
    ++queue_numbers_;
    digest_ += HashCounters();
    it->second.name = name;
    it->second.number = queue_numbers_;
    digest_ += Hash(it->second);
  }
  return it->second;
}

void State::JoinQueue(Job& job) {
  Queue& q = PutQueue(job.queue);
  job.in_queue = &q;
  ++q.jobs;
  busy_queues_[q.number] = &q;
}

void State::LeaveQueue(Job& job) {
  if (job.in_queue == nullptr) return;
  Queue& q = *job.in_queue;
  job.in_queue = nullptr;
  if (--q.jobs > 0) return;
  busy_queues_.erase(q.number);
  if (q.set) return;
  digest_ -= Hash(q);
  queues_.erase(job.queue);
}

}  // namespace mr::sched
