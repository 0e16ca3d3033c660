#include "common/exec/loop.h"

#include <pthread.h>

#include <algorithm>
#include <asio.hpp>
#include <chrono>
#include <condition_variable>
#include <utility>

#include "common/io/clock.h"

namespace mr {

// Waits for descriptors and for wakes. The loop has its own queue and timers, so that Stop() can drop them, a turn has
// an end, and time is that of Now().
struct Loop::Reactor {
  asio::io_context context{1};
  // Without the guard, a context with nothing to do would return instead of waiting.
  asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
  size_t watches = 0;  // of the loop's thread
};

namespace {

class AsioWatch final : public Loop::Watch {
 public:
  AsioWatch(asio::io_context& context, int fd, size_t* watches) : descriptor_(context, fd), watches_(watches) {
    ++*watches_;
  }
  ~AsioWatch() override {
    --*watches_;
    *alive_ = false;
    descriptor_.cancel();
    descriptor_.release();  // the owner closes it
  }
  void WhenReadable(std::function<void()> call) override {
    When(asio::posix::descriptor_base::wait_read, std::move(call));
  }
  void WhenWritable(std::function<void()> call) override {
    When(asio::posix::descriptor_base::wait_write, std::move(call));
  }

 private:
  void When(asio::posix::descriptor_base::wait_type type, std::function<void()> call) {
    descriptor_.async_wait(type, [alive = alive_, call = std::move(call)](const asio::error_code& error) {
      if (*alive && !error) call();
    });
  }

  asio::posix::stream_descriptor descriptor_;
  size_t* const watches_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

Loop::Loop(std::function<void()> after_turn, std::string name)
    : after_turn_(std::move(after_turn)), name_(std::move(name)), reactor_(std::make_unique<Reactor>()) {}

Loop::~Loop() { Stop(); }

void Loop::Start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), name_.c_str());
    Main();
  });
}

void Loop::Stop() {
  bool wake;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake = std::exchange(waiting_, false);
  }
  if (wake) Wake();
  if (thread_.joinable()) thread_.join();
  // Destroyed here and not with the loop: closures and timers may hold objects of threads that end before the loop
  // does.
  const auto dropped_timers = std::exchange(timers_, {});
  std::vector<std::function<void()>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(queue_);
}

void Loop::Wake() {
  asio::post(reactor_->context, [] {});
}

void Loop::Post(std::function<void()> fn) {
  bool wake;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (queue_.empty()) oldest_ = Now();
    queue_.push_back(std::move(fn));
    wake = std::exchange(waiting_, false);
  }
  if (wake) Wake();
}

void Loop::Run(const std::function<void()>& fn) {
  std::mutex mutex;
  std::condition_variable cv;
  bool done = false;
  Post([&] {
    fn();
    const std::lock_guard lock(mutex);
    done = true;
    cv.notify_one();
  });
  std::unique_lock lock(mutex);
  cv.wait(lock, [&] { return done; });
}

void Loop::At(Instant at, std::function<void()> fn) { timers_.emplace(at, std::move(fn)); }

void Loop::After(Duration delay, std::function<void()> fn) { At(Now() + delay, std::move(fn)); }

std::unique_ptr<Loop::Watch> Loop::MakeWatch(int fd) {
  return std::make_unique<AsioWatch>(reactor_->context, fd, &reactor_->watches);
}

void Loop::NoteWait(Duration wait) {
  if (wait.ns > max_lag_ns_.load()) max_lag_ns_.store(wait.ns);
  sum_wait_ns_.fetch_add(wait.ns, std::memory_order_relaxed);
  const auto bound = std::lower_bound(kWaitBounds.begin(), kWaitBounds.end(), wait);
  waits_[static_cast<size_t>(bound - kWaitBounds.begin())].fetch_add(1, std::memory_order_relaxed);
}

Loop::Waits Loop::GetWaits() const {
  Waits out;
  out.sum = Nanos(sum_wait_ns_.load(std::memory_order_relaxed));
  uint64_t total = 0;
  for (size_t i = 0; i < waits_.size(); ++i) {
    out.counts[i] = total += waits_[i].load(std::memory_order_relaxed);
  }
  return out;
}

Duration Loop::TakeMaxLag() { return Nanos(max_lag_ns_.exchange(0)); }

// Waits until there may be something to do, and runs the callbacks of ready descriptors.
void Loop::Wait() {
  // Bounds one wait, because CLOCK_BOOTTIME goes on while Asio's clock sleeps.
  Duration left = Seconds(1);
  if (!timers_.empty()) left = std::min(timers_.begin()->first - Now(), left);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    waiting_ = queue_.empty() && left.ns > 0;
    if (!waiting_) left = {};
  }
  if (left.ns > 0) reactor_->context.run_one_for(std::chrono::nanoseconds(left.ns));
  if (reactor_->watches > 0) reactor_->context.poll();
}

void Loop::Main() {
  while (true) {
    Wait();
    std::vector<std::function<void()>> batch;
    Instant oldest;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      waiting_ = false;
      batch.swap(queue_);
      oldest = oldest_;
    }
    if (!batch.empty()) NoteWait(Now() - oldest);
    for (auto& fn : batch) {
      fn();
      fn = nullptr;
    }
    const Instant now = Now();
    while (!timers_.empty() && timers_.begin()->first <= now) {
      auto fn = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      fn();
    }
    after_turn_();
  }
}

}  // namespace mr
