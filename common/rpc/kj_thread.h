// A KJ event loop on a thread of its own, with a queue for closures of other threads.
//
// Every KJ object (promise, capability, connection) lives on the loop's thread. Other threads post
// closures, which pass results back by their own means. Nothing that runs on the loop may block.
#pragma once

#include <kj/async-io.h>
#include <kj/function.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace mr::rpc {

class KjThread final : private kj::TaskSet::ErrorHandler {
 public:
  // Starts the thread and returns when its loop runs. name: at most 15 characters.
  explicit KjThread(const std::string& name);
  // Stops the loop and joins. Posted closures that did not run are dropped on the loop's thread.
  // Requires: objects that live on the loop have been destroyed there (by Run).
  ~KjThread();
  KjThread(const KjThread&) = delete;
  KjThread& operator=(const KjThread&) = delete;

  // Runs fn on the loop later. Calls from one thread keep their order. Thread: any, also the loop's.
  void Post(kj::Function<void()> fn);

  // Runs fn on the loop and waits for its value. fn must not throw. Thread: any but the loop's.
  template <class F>
  std::invoke_result_t<F> Run(F fn) {
    using R = std::invoke_result_t<F>;
    std::mutex mutex;
    std::condition_variable done_cv;
    bool done = false;
    std::conditional_t<std::is_void_v<R>, std::unique_ptr<int>, std::unique_ptr<R>> result;
    Post([&]() {
      if constexpr (std::is_void_v<R>) {
        fn();
      } else {
        result = std::make_unique<R>(fn());
      }
      std::lock_guard lock(mutex);
      done = true;
      done_cv.notify_one();
    });
    std::unique_lock lock(mutex);
    done_cv.wait(lock, [&] { return done; });
    if constexpr (!std::is_void_v<R>) return std::move(*result);
  }

  // Thread: the functions below only on the loop, except OnLoop.
  kj::AsyncIoContext& io() { return *io_; }
  kj::Timer& timer() { return io_->provider->getTimer(); }
  // Keeps a promise alive until it is done. Logs its failure.
  void Spawn(kj::Promise<void> promise) { tasks_->add(kj::mv(promise)); }
  bool OnLoop() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void Main(const std::string& name);
  void taskFailed(kj::Exception&& exception) override;

  std::mutex mutex_;  // guards the four below
  std::vector<kj::Function<void()>> queue_;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> wake_;
  bool stopping_ = false;
  bool started_ = false;
  std::condition_variable started_cv_;

  kj::AsyncIoContext* io_ = nullptr;
  kj::TaskSet* tasks_ = nullptr;
  std::thread thread_;
};

}  // namespace mr::rpc
