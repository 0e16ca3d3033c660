// One thread that runs closures, timers and callbacks of descriptors, one at a time. Code that makes decisions lives on
// such a thread. It never blocks on a disk, a socket or another thread.
//
// Threads: Post, Run, TakeMaxLag and GetWaits may be called on any thread; At, After and watches on the loop's own, or
// before Start(). Calls of Post from one thread keep their order. Ownership: the loop owns closures and timers until
// they have run. Stop() destroys what has not run, so what it holds need not outlive Stop(). Descriptors are borrowed.
// Errors: closures must not throw.
// Bounds: the queue itself has no bound, because each of its sources has one: unanswered calls and connections
// (rpc::ServerLimits), one answer per closure of a pool, one release per group of journal records.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/time.h"

namespace mr {

class Loop {
 public:
  // Readiness of one borrowed descriptor. Made, used and destroyed on the loop's thread. A callback that is pending at
  // the destruction is not called.
  class Watch {
   public:
    virtual ~Watch() = default;
    // Calls `call` once, when the descriptor is readable (writable). Call this again for the next time.
    virtual void WhenReadable(std::function<void()> call) = 0;
    virtual void WhenWritable(std::function<void()> call) = 0;
  };

  // after_turn runs on the thread after each batch of closures, timers and callbacks. It sends what the turn has
  // gathered (commands, status pushes). name: of the thread, at most 15 characters.
  explicit Loop(
      std::function<void()> after_turn = [] {}, std::string name = "loop");
  ~Loop();  // Stop()
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Start();
  // Ends the thread after the closure that runs now. Drops what is queued or comes later.
  void Stop();

  void Post(std::function<void()> fn);
  // Runs fn on the thread and waits for its end. Must not be called on the thread itself.
  void Run(const std::function<void()>& fn);
  // Runs fn at `at` (Now() axis) or soon after.
  void At(Instant at, std::function<void()> fn);
  void After(Duration delay, std::function<void()> fn);
  std::unique_ptr<Watch> MakeWatch(int fd);

  // Returns the longest time that a closure waited in the queue since the last call.
  Duration TakeMaxLag();

  // How long the oldest closure of each batch waited, since the start. counts[i]: those that waited at most
  // kWaitBounds[i]; the last: all.
  static constexpr std::array<Duration, 9> kWaitBounds = {Micros(100), Micros(500), Millis(1),  Millis(2),  Millis(5),
                                                          Millis(10),  Millis(20),  Millis(50), Millis(250)};
  struct Waits {
    std::array<uint64_t, kWaitBounds.size() + 1> counts{};
    Duration sum;
  };
  Waits GetWaits() const;

 private:
  struct Reactor;  // Asio

  void Main();
  void Wait();
  void Wake();

  std::function<void()> after_turn_;
  const std::string name_;
  const std::unique_ptr<Reactor> reactor_;
  std::mutex mutex_;  // guards the queue and the three below it
  std::vector<std::function<void()>> queue_;
  Instant oldest_;        // when the first closure in the queue came
  bool waiting_ = false;  // the thread waits, and must be woken for a closure
  bool stopping_ = false;
  std::multimap<Instant, std::function<void()>> timers_;  // used on the thread only
  void NoteWait(Duration wait);

  std::atomic<int64_t> max_lag_ns_{0}, sum_wait_ns_{0};
  std::array<std::atomic<uint64_t>, kWaitBounds.size() + 1> waits_{};  // not summed up
  std::thread thread_;
};

}  // namespace mr
