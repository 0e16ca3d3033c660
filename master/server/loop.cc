#include "master/server/loop.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "common/io/clock.h"

namespace mr::master {

Loop::Loop(std::function<void()> after_turn) : after_turn_(std::move(after_turn)) {}

Loop::~Loop() { Stop(); }

void Loop::Start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "master");
    Main();
  });
}

void Loop::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  // Now, and not with the loop: what they hold may belong to threads that end before it.
  std::vector<std::function<void()>> dropped;
  {
    std::lock_guard lock(mutex_);
    dropped.swap(queue_);
  }
  timers_.clear();
}

void Loop::Post(std::function<void()> fn) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    first = queue_.empty();
    if (first) oldest_ = Now();
    queue_.push_back(std::move(fn));
  }
  if (first) wake_.notify_one();
}

void Loop::Run(const std::function<void()>& fn) {
  std::mutex mutex;
  std::condition_variable cv;
  bool done = false;
  Post([&] {
    fn();
    std::lock_guard lock(mutex);
    done = true;
    cv.notify_one();
  });
  std::unique_lock lock(mutex);
  cv.wait(lock, [&] { return done; });
}

void Loop::At(Instant at, std::function<void()> fn) { timers_.emplace(at, std::move(fn)); }

Duration Loop::TakeMaxLag() { return Nanos(max_lag_ns_.exchange(0)); }

void Loop::Main() {
  while (true) {
    std::vector<std::function<void()>> batch;
    Instant oldest;
    {
      std::unique_lock lock(mutex_);
      const auto ready = [this] { return stopping_ || !queue_.empty(); };
      if (timers_.empty()) {
        wake_.wait(lock, ready);
      } else {
        // A bound on one wait: CLOCK_BOOTTIME goes on while the condition variable's clock sleeps.
        const Duration left = std::min(timers_.begin()->first - Now(), Seconds(1));
        if (left.ns > 0) wake_.wait_for(lock, std::chrono::nanoseconds(left.ns), ready);
      }
      if (stopping_) return;
      batch.swap(queue_);
      oldest = oldest_;
    }
    if (!batch.empty()) {
      const int64_t lag = (Now() - oldest).ns;
      if (lag > max_lag_ns_.load()) max_lag_ns_.store(lag);
    }
    for (auto& fn : batch) fn();
    const Instant now = Now();
    while (!timers_.empty() && timers_.begin()->first <= now) {
      auto fn = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      fn();
    }
    after_turn_();
  }
}

}  // namespace mr::master
