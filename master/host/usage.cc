#include "master/host/usage.h"

#include <algorithm>
#include <map>

#include "common/io/clock.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

constexpr Duration kUsagePeriod = Seconds(1);
constexpr size_t kUsagePoints = 600;  // ten minutes; a guess
// Per sample: open jobs that are looked at, and those that are kept. Per view: jobs with a series. Guesses: some 0.1
// ms.
constexpr size_t kJobsLookedAt = 2000, kJobsPerPoint = 8, kJobsInView = 8;

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
  point.held = HeldByJobs();
  points_.push_back(std::move(point));
  if (points_.size() > kUsagePoints) points_.pop_front();
  last_unix_ms_ = unix_ms;
}

std::vector<std::pair<JobId, uint32_t>> Usage::HeldByJobs() const {
  std::vector<std::pair<JobId, uint32_t>> held;
  std::vector<JobId> open = core_.jobs().OpenJobs();
  if (open.size() > kJobsLookedAt) open.resize(kJobsLookedAt);
  for (const JobId id : open) {
    const sched::Job* job = core_.scheduler().state().FindJob(id);
    if (job != nullptr && job->holding > 0) held.emplace_back(id, job->holding);
  }
  const auto middle = held.begin() + static_cast<ptrdiff_t>(std::min(held.size(), kJobsPerPoint));
  std::partial_sort(held.begin(), middle, held.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  held.resize(std::min(held.size(), kJobsPerPoint));
  return held;
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
  std::map<JobId, uint64_t> sums;
  for (const Point& p : points_) {
    for (const auto& [id, slots] : p.held) sums[id] += slots;
  }
  std::vector<std::pair<uint64_t, JobId>> most;
  most.reserve(sums.size());
  for (const auto& [id, sum] : sums) most.emplace_back(sum, id);
  std::sort(most.rbegin(), most.rend());
  most.resize(std::min(most.size(), kJobsInView));
  for (const auto& [sum, id] : most) {
    const JobView* job = core_.jobs().Find(id);
    web::JobUsage usage{id, job == nullptr ? "" : job->spec.name, std::vector<uint32_t>(points_.size(), 0)};
    for (size_t i = 0; i < points_.size(); ++i) {
      for (const auto& [holder, slots] : points_[i].held) {
        if (holder == id) usage.busy[i] = slots;
      }
    }
    out.by_job.push_back(std::move(usage));
  }
  return out;
}

}  // namespace mr::master
