// Queues as operators set and see them; what they mean for jobs is the scheduler's business.
#include <algorithm>
#include <cmath>

#include "common/rpc/client_wire.h"
#include "master/server/brain.h"

namespace mr::master {

void Brain::NoteQueue(const sched::Event& event) {
  if (const auto* set = std::get_if<sched::QueueSet>(&event)) queues_[set->queue] = *set;
}

Status Brain::CheckQueueName(const std::string& queue) {
  const bool printable = std::all_of(queue.begin(), queue.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!queue.empty() && queue.size() <= 200 && printable) return Status::Ok();
  return InvalidArgument("a queue's name must be 1 to 200 printable bytes");
}

void Brain::SetQueue(const QueueWish& wish, std::function<void(Status)> reply) {
  sched::QueueSet set{wish.queue};
  if (const auto it = queues_.find(wish.queue); it != queues_.end()) set = it->second;
  set.weight = wish.weight.value_or(set.weight);
  set.min_share = wish.min_share.value_or(set.min_share);
  set.max_share = wish.max_share.value_or(set.max_share);
  const auto refuse = [&](const std::string& why) {
    reply(InvalidArgument("queue '" + wish.queue + "' cannot be set: " + why + "; it stays as it was"));
  };
  if (const Status status = CheckQueueName(wish.queue); !status.ok()) return reply(status);
  // Far beyond every use, and far from where doubles lose count.
  if (!(set.weight >= 1e-3 && set.weight <= 1e6)) return refuse("its weight must be from 0.001 to 1000000");
  if (set.max_share != 0 && set.max_share < set.min_share) {
    return refuse("its max share of " + std::to_string(set.max_share) + " is below its min share of " +
                  std::to_string(set.min_share));
  }
  outbox_.Hold(Feed(set).sequence, [reply = std::move(reply)] { reply(Status::Ok()); });
}

void Brain::FillQueues(rpc::MasterForClient::QueuesResults::Builder out) {
  std::map<std::string, uint32_t> jobs;
  for (const auto& [id, job] : scheduler_->state().jobs()) jobs[job.queue] += job.running() ? 1 : 0;
  std::map<std::string, const sched::Queue*> queues;
  const sched::Queue none;
  queues["default"] = &none;
  for (const auto& [name, queue] : scheduler_->state().queues()) queues[name] = &queue;
  auto list = out.initQueues(static_cast<unsigned>(queues.size()));
  unsigned at = 0;
  for (const auto& [name, queue] : queues) {
    rpc::ToWire(QueueStatus{name, queue->weight, queue->min_share, queue->max_share, jobs[name], queue->held_total(),
                            queue->has_ready()},
                list[at++]);
  }
}

}  // namespace mr::master
