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

}  // namespace mr::master
