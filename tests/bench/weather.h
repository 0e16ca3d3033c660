// Times of a benchmark's load: jobs that are submitted, and workers that get slow, at set times after its begin.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/time.h"
#include "common/io/clock.h"

namespace mr::bench {

// Sleeps until this many seconds after the begin.
inline void Until(Instant begin, double at) {
  const Duration left = begin + FromSeconds(at) - Now();
  if (left.ns > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(left.ns));
}

// A change of a worker, to slow or to fast again.
struct Spell {
  double at = 0;  // seconds after the begin
  int worker = 0;
  bool slow = false;
};

// A thread that makes these changes, in ascending order of time, until the destructor.
class Weather {
 public:
  Weather(std::vector<Spell> spells, Instant begin, std::function<void(const Spell&)> set)
      : thread_([this, spells = std::move(spells), begin, set = std::move(set)] {
          for (const Spell& spell : spells) {
            while (!stop_ && Now() < begin + FromSeconds(spell.at))
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
            if (stop_) return;
            set(spell);
          }
        }) {}
  ~Weather() {
    stop_ = true;
    thread_.join();
  }
  Weather(const Weather&) = delete;
  Weather& operator=(const Weather&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace mr::bench
