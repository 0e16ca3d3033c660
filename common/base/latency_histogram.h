// Counts latencies in buckets, for histograms of /metrics.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "common/base/time.h"

namespace mr {

// Bounds of calls, syncs and fetches: 50 us to 10 s.
inline constexpr std::array<Duration, 15> kCallBounds = {
    Micros(50), Micros(100), Micros(250), Micros(500), Millis(1),  Millis(2),  Millis(5),  Millis(10),
    Millis(25), Millis(50),  Millis(100), Millis(250), Seconds(1), Seconds(3), Seconds(10)};
// Bounds of attempts: 10 ms to an hour.
inline constexpr std::array<Duration, 15> kAttemptBounds = {
    Millis(10),  Millis(30),   Millis(100),  Millis(300),  Seconds(1),    Seconds(3),    Seconds(10),  Seconds(30),
    Seconds(60), Seconds(120), Seconds(300), Seconds(600), Seconds(1200), Seconds(1800), Seconds(3600)};

// Thread: any. No locks. Cost of Add: a search of four steps and two relaxed additions.
class LatencyHistogram {
 public:
  // bounds: ascending, at most kMostBounds; outlive this.
  explicit LatencyHistogram(std::span<const Duration> bounds) : bounds_(bounds) {
    MR_CHECK(bounds.size() <= kMostBounds, "too many bounds");
  }

  // latency: a negative one counts as 0.
  void Add(Duration latency) {
    latency = std::max(latency, Duration{});
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), latency) - bounds_.begin();
    counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(latency.ns, std::memory_order_relaxed);
  }

  // counts[i]: latencies of at most bounds()[i]; the last: all. Values that are added meanwhile may be missing.
  struct Totals {
    std::vector<uint64_t> counts;
    Duration sum;
  };
  Totals Read() const {
    Totals out{{}, Nanos(sum_ns_.load(std::memory_order_relaxed))};
    uint64_t total = 0;
    for (size_t i = 0; i <= bounds_.size(); ++i) {
      out.counts.push_back(total += counts_[i].load(std::memory_order_relaxed));
    }
    return out;
  }
  std::span<const Duration> bounds() const { return bounds_; }

 private:
  static constexpr size_t kMostBounds = 15;
  const std::span<const Duration> bounds_;
  std::array<std::atomic<uint64_t>, kMostBounds + 1> counts_{};  // not summed up
  std::atomic<int64_t> sum_ns_{0};
};

}  // namespace mr
