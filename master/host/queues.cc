// Queues as operators set and see them; what they mean for jobs is the scheduler's business.
#include <algorithm>
#include <cmath>

#include "common/rpc/client_wire.h"
#include "master/host/brain.h"

namespace mr::master {

void Brain::SetQueue(const QueueWish& wish, std::function<void(Status)> reply) {
  auto event = core_.PrepareQueue(wish);
  if (!event.ok()) return reply(event.status());
  driver_.Hold(driver_.Feed(*std::move(event)).sequence, [reply = std::move(reply)] { reply(Status::Ok()); });
}

void Brain::FillQueues(rpc::MasterForClient::QueuesResults::Builder out) {
  std::map<std::string, uint32_t> jobs;
  for (const auto& [id, job] : core_.scheduler().state().jobs()) jobs[job.queue] += job.running() ? 1 : 0;
  std::map<std::string, const sched::Queue*> queues;
  const sched::Queue none;
  queues["default"] = &none;
  for (const auto& [name, queue] : core_.scheduler().state().queues()) queues[name] = &queue;
  auto list = out.initQueues(static_cast<unsigned>(queues.size()));
  unsigned at = 0;
  for (const auto& [name, queue] : queues) {
    rpc::ToWire(QueueStatus{name, queue->weight, queue->min_share, queue->max_share, jobs[name], queue->held_total(),
                            queue->has_ready()},
                list[at++]);
  }
}

}  // namespace mr::master
