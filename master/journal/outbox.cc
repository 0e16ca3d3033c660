#include "master/journal/outbox.h"

#include <utility>

namespace mr::journal {

void Outbox::Hold(uint64_t sequence, std::function<void()> action) {
  if (sequence <= durable_) {
    action();
  } else {
    held_.emplace(sequence, std::move(action));
  }
}

void Outbox::Release(uint64_t sequence) {
  if (sequence > durable_) durable_ = sequence;
  while (!held_.empty() && held_.begin()->first <= durable_) {
    auto action = std::move(held_.begin()->second);
    held_.erase(held_.begin());
    action();
  }
}

}  // namespace mr::journal
