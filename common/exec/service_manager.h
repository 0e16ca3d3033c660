// Reports the state of this daemon to the service manager that started it, such as systemd: ready, alive, stopping
// (sd_notify(3)). Does nothing where none listens (NOTIFY_SOCKET is not set): in tests, containers and local clusters.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/time.h"

namespace mr {

// Runs a closure later on a thread, such as Loop::Post.
using PostTo = std::function<void(std::function<void()>)>;

// Finds out whether threads move: each must have run the closure of the last question before the next one.
class ThreadsAlive {
 public:
  // threads: outlive the calls of Ask.
  explicit ThreadsAlive(std::vector<PostTo> threads);

  // Returns whether all threads have run their last closure, and gives one to each thread that has. So a thread has one
  // closure at most. The first call returns true. Thread: always the same one.
  bool Ask();

 private:
  struct Asked {
    PostTo post;
    std::shared_ptr<std::atomic<bool>> moved;
  };
  std::vector<Asked> threads_;
};

class ServiceManager {
 public:
  // Reads NOTIFY_SOCKET and WATCHDOG_USEC.
  ServiceManager();
  ~ServiceManager();  // as Stopping
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // Reports that the daemon serves, with a line for `systemctl status`. Where the manager has a watchdog (WatchdogSec),
  // a thread feeds it four times per period, while all these threads move. If one stands still, the manager restarts
  // the daemon after the period. Requires: called once; the threads live until Stopping.
  void Ready(const std::string& status, std::vector<PostTo> threads);
  // Reports that the daemon stops, and no longer asks its threads. May be called repeatedly.
  void Stopping();

 private:
  void Feed(ThreadsAlive* alive);

  const bool heard_;         // there is a manager that listens
  const Duration watchdog_;  // its period; 0: none
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread feeder_;
};

}  // namespace mr
