// Threads for work that waits for disks. Any thread may hand work in; the order is kept per thread
// only, so work that has an order is chained by whoever knows it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace mr::master {

class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Main(); });
  }
  ~Pool() { Stop(); }

  // The queue needs no bound of its own: it holds one planning or publication for each job (--open_jobs), one piece of
  // a library for each unanswered call (rpc::ServerLimits), one snapshot, and one profile for each job that ended.
  void Post(std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      queue_.push_back(std::move(work));
    }
    wake_.notify_one();
  }
  // Finishes what runs; what is still queued or comes later is dropped.
  void Stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
    // Now, and not with the pool: what they hold may belong to threads that end before it.
    std::deque<std::function<void()>> dropped;
    {
      std::lock_guard lock(mutex_);
      dropped.swap(queue_);
    }
  }

 private:
  void Main() {
    while (true) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        if (stopping_) return;
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      work();
    }
  }

  std::mutex mutex_;  // guards the two below
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace mr::master
