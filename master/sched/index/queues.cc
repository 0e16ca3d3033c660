// Creates queues with their first setting or job, and removes them with their last job unless an operator set them.
#include "master/sched/index/queues.h"

#include <algorithm>

namespace mr::sched {

void QueueIndex::SetQueue(const QueueSet& e) {
  Queue& q = PutQueue(e.queue);
  digest_ -= Hash(q);
  q.set = !e.defaults();
  q.weight = e.weight;
  q.min_share = e.min_share;
  q.max_share = e.max_share;
  digest_ += Hash(q);
  DropIdle(q);
}

void QueueIndex::DropIdle(const Queue& queue) {
  if (queue.set || queue.jobs > 0) return;
  digest_ -= Hash(queue);
  queues_.erase(queues_.find(queue.name));
}

Queue& QueueIndex::PutQueue(const std::string& name) {
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

void QueueIndex::JoinQueue(Job& job) {
  Queue& q = PutQueue(job.queue);
  job.in_queue = &q;
  ++q.jobs;
  busy_queues_[q.number] = &q;
}

void QueueIndex::LeaveQueue(Job& job) {
  if (job.in_queue == nullptr) return;
  Queue& q = *job.in_queue;
  job.in_queue = nullptr;
  if (--q.jobs > 0) return;
  busy_queues_.erase(q.number);
  DropIdle(q);
}

void QueueIndex::RankJob(const Job& job, int direction) {
  if (job.in_queue == nullptr) return;
  Queue& queue = *job.in_queue;
  const bool spare = sharing_.spare_last && AtGuarantee(job);
  for (const size_t kind : {0, 1}) {
    const JobRank rank = RankOf(job, kind);
    const auto move = [&](bool in, Ranked<JobRank>* index, uint32_t* spares) {
      if (!in) return;
      if (spare)
        *spares += static_cast<uint32_t>(direction);
      else if (direction > 0)
        index->Insert(rank);
      else
        index->Erase(rank);
    };
    move(job.ready_stages[kind] > 0, &queue.ready[kind], &queue.spare_ready[kind]);
    move(job.early_stages[kind] > 0, &queue.early[kind], &queue.spare_early[kind]);
  }
}

JobRank QueueIndex::RankOf(const Job& job, size_t kind) const {
  const uint32_t held = sharing_.by_kind ? job.held[kind] : job.holding;
  return {-int64_t{job.priority}, sharing_.by_held ? held : 0, job.arrival, job.id};
}

bool QueueIndex::QueueFull(const Job& job, SlotKind kind) const {
  if (job.in_queue == nullptr) return false;
  const Queue& q = *job.in_queue;
  if (!sharing_.max_shares || q.max_share == 0) return false;
  if (!sharing_.by_kind) return q.held_total() >= q.max_share;
  return kind == SlotKind::kMap && q.held[KindIndex(kind)] >= q.max_share;
}

}  // namespace mr::sched
