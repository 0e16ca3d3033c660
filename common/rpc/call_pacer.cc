#include "common/rpc/call_pacer.h"

#include <kj/debug.h>

#include <algorithm>
#include <utility>

namespace mr::rpc {
namespace {

constexpr size_t kManySubjects = 1000;

Duration TimeFor(Duration cost) { return {static_cast<int64_t>(static_cast<double>(cost.ns) / CallPacer::kShare)}; }

// A whole burst, as the time in which it is earned.
constexpr Duration kReserve{static_cast<int64_t>(static_cast<double>(CallPacer::kBurst.ns) / CallPacer::kShare)};

}  // namespace

Duration CallPacer::Take(const std::string& subject, Instant now) {
  if (paid_at_.size() > kManySubjects) {
    std::erase_if(paid_at_, [now](const auto& entry) { return entry.second + kReserve < now; });
  }
  const Instant full{now.ns - kReserve.ns};
  Instant& paid = paid_at_.try_emplace(subject, full).first->second;
  paid = std::max(paid, full);
  if (last_.subject != subject) last_other_ = std::exchange(last_, {subject, now});
  last_.at = now;
  const bool alone = last_other_.subject.empty() || last_other_.at + kPresent < now;
  if (alone) paid = std::min(paid, now);
  const Duration wait = paid > now ? paid - now : Duration{};
  paid = paid + TimeFor(kCall);
  return wait;
}

void CallPacer::Charge(const std::string& subject, Duration cost) {
  const auto it = paid_at_.find(subject);
  if (it != paid_at_.end() && cost > kCall) it->second = it->second + TimeFor(cost - kCall);
}

kj::Promise<void> CallPacer::Wait(const std::string& subject, Duration wait) {
  size_t& waiting = waiting_[subject];
  if (waiting >= kMostWaiting) {
    return KJ_EXCEPTION(OVERLOADED, "too many of your calls wait for their turn: make fewer at a time");
  }
  ++waiting;
  auto done = kj::defer([this, subject] {
    if (--waiting_[subject] == 0) waiting_.erase(subject);
  });
  return timer_.afterDelay(wait.ns * kj::NANOSECONDS).attach(kj::mv(done));
}

}  // namespace mr::rpc
