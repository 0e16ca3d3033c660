// One thread for work that callers of the shuffle store must not wait for: opening the next cohort, closing and
// removing old ones. Tasks run in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace mr::worker {

class Background {
 public:
  Background() : thread_([this] { Main(); }) {}
  ~Background() { Stop(); }

  // Returns false, without taking the task, after Stop.
  bool Post(std::function<void()> task) {
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
    tasks_.push_back(std::move(task));
    changed_.notify_all();
    return true;
  }

  // Returns when all tasks, and those that they have posted, are done.
  void Settle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !busy_; });
  }

  // Runs the queued tasks, then ends the thread.
  void Stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Main() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      {
        std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        busy_ = true;
        lock.unlock();
        task();
      }
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses what is above
};

}  // namespace mr::worker
