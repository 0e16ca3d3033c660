#include "common/exec/service_manager.h"

#include <pthread.h>
#include <systemd/sd-daemon.h>

#include <chrono>
#include <cstdlib>
#include <utility>

namespace mr {
namespace {

// systemd advises at least two; more bridge a turn of a thread that takes long.
constexpr int kMealsPerPeriod = 4;

Duration WatchdogPeriod() {
  uint64_t micros = 0;
  return sd_watchdog_enabled(/*unset_environment=*/0, &micros) > 0 ? Micros(static_cast<int64_t>(micros)) : Duration{};
}

}  // namespace

ThreadsAlive::ThreadsAlive(std::vector<PostTo> threads) {
  for (PostTo& post : threads) threads_.push_back({std::move(post), std::make_shared<std::atomic<bool>>(true)});
}

bool ThreadsAlive::Ask() {
  bool all = true;
  for (const Asked& thread : threads_) {
    if (!thread.moved->exchange(false)) {
      all = false;
      continue;
    }
    thread.post([moved = thread.moved] { moved->store(true); });
  }
  return all;
}

ServiceManager::ServiceManager() : heard_(std::getenv("NOTIFY_SOCKET") != nullptr), watchdog_(WatchdogPeriod()) {}

ServiceManager::~ServiceManager() { Stopping(); }

void ServiceManager::Ready(const std::string& status, std::vector<PostTo> threads) {
  if (!heard_) return;
  sd_notify(/*unset_environment=*/0, ("READY=1\nSTATUS=" + status).c_str());
  if (watchdog_.ns <= 0) return;
  feeder_ = std::thread([this, alive = ThreadsAlive(std::move(threads))]() mutable {
    pthread_setname_np(pthread_self(), "watchdog");
    Feed(&alive);
  });
}

// On a thread of its own, because a message to the manager may wait for it.
void ServiceManager::Feed(ThreadsAlive* alive) {
  const auto pause = std::chrono::nanoseconds(watchdog_.ns / kMealsPerPeriod);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    if (alive->Ask()) sd_notify(0, "WATCHDOG=1");
    lock.lock();
    stop_.wait_for(lock, pause, [this] { return stopping_; });
  }
}

void ServiceManager::Stopping() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  stop_.notify_all();
  if (feeder_.joinable()) feeder_.join();
  if (heard_) sd_notify(0, "STOPPING=1");
}

}  // namespace mr
