// The master's own thread: a queue of closures and timers, run one at a time. Everything that
// decides lives on it; it never blocks on a disk, a socket or another thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/time.h"

namespace mr::master {

class Loop {
 public:
  // after_turn runs on the thread after each batch of closures and timers: what a turn has gathered
  // (commands, status pushes) leaves there.
  explicit Loop(std::function<void()> after_turn);
  ~Loop();  // Stop()

  void Start();
  // Ends the thread after the closure that runs now; what is still queued or comes later is dropped.
  void Stop();

  // Any thread; calls from one thread keep their order. The queue needs no bound of its own, since each of its sources
  // has one: unanswered calls and connections (rpc::ServerLimits), one answer for each work of a pool, one release for
  // each group of the journal.
  void Post(std::function<void()> fn);
  // Runs fn on the thread and waits. Never from the thread itself.
  void Run(const std::function<void()>& fn);
  // On the thread only: fn runs at `at` (Now() axis) or soon after.
  void At(Instant at, std::function<void()> fn);

  // The longest time that a closure stood in the queue since the last call. Any thread.
  Duration TakeMaxLag();

 private:
  void Main();

  std::function<void()> after_turn_;
  std::mutex mutex_;  // guards the queue, oldest_ and stopping_
  std::condition_variable wake_;
  std::vector<std::function<void()>> queue_;
  Instant oldest_;  // when the first closure in the queue came
  bool stopping_ = false;
  std::multimap<Instant, std::function<void()>> timers_;  // of the thread
  std::atomic<int64_t> max_lag_ns_{0};
  std::thread thread_;
};

}  // namespace mr::master
