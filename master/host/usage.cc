#include "master/host/usage.h"

#include "common/io/clock.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

constexpr Duration kUsagePeriod = Seconds(1);
constexpr size_t kUsagePoints = 600;  // ten minutes; a guess

}  // namespace

void Usage::Tick() {
  const Instant now = Now();
  if (due_ == Instant{}) due_ = now;
  // After a stall the samples that were missed have the value of now, so that each stands for a second.
  size_t missed = 0;
  for (; due_ <= now; due_ = due_ + kUsagePeriod) {
    if (missed++ <= kUsagePoints) Sample(WallClockMs());
  }
  loop_.At(due_, [this] { Tick(); });
}

void Usage::Sample(uint64_t unix_ms) {
  Point point;
  point.slots = core_.workers().TotalSlots();
  for (const auto& [id, worker] : core_.scheduler().state().workers()) point.busy += worker.used_total();
  point.jobs = static_cast<uint32_t>(core_.jobs().open());
  points_.push_back(point);
  if (points_.size() > kUsagePoints) points_.pop_front();
  last_unix_ms_ = unix_ms;
}

web::UsageView Usage::View() const {
  web::UsageView out;
  out.period_ms = static_cast<uint64_t>(kUsagePeriod.ns / 1'000'000);
  out.to_unix_ms = last_unix_ms_;
  for (const Point& p : points_) {
    out.slots.push_back(p.slots);
    out.busy.push_back(p.busy);
    out.jobs.push_back(p.jobs);
  }
  return out;
}

}  // namespace mr::master
