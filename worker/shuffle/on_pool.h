// Runs functions on the worker's thread pool for code on a KJ loop, and makes objects that live on the loop.
#pragma once

#include <kj/async.h>
#include <kj/string.h>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/rpc/kj_thread.h"

namespace mr::worker {

// Runs a task on a thread of the pool, soon. Any thread may call it. A pool that stops drops its tasks.
using PostToPool = std::function<void(std::function<void()>)>;

// Runs fn on the pool. The promise fails if the task throws or is dropped. Dropping the promise does not stop the task,
// so fn must own what it uses. The value is passed under a mutex, because the thread sanitizer does not see KJ's own
// hand-off.
template <class F, class T = std::invoke_result_t<F>>
kj::Promise<T> OnPool(const PostToPool& post, F fn) {
  struct Box {
    std::mutex mutex;
    std::optional<T> value;
  };
  struct Task {
    F fn;
    std::shared_ptr<Box> box;
    kj::Own<kj::CrossThreadPromiseFulfiller<void>> done;
  };
  auto paf = kj::newPromiseAndCrossThreadFulfiller<void>();
  auto box = std::make_shared<Box>();
  post([task = std::make_shared<Task>(Task{std::move(fn), box, kj::mv(paf.fulfiller)})] {
    try {
      T value = task->fn();
      {
        std::lock_guard lock(task->box->mutex);
        task->box->value.emplace(std::move(value));
      }
      task->done->fulfill();
    } catch (const std::exception& e) {
      task->done->reject(kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__,
                                       kj::str("a task on the pool failed: ", e.what())));
    }
  });
  return paf.promise.then([box]() -> T {
    std::lock_guard lock(box->mutex);
    return *std::move(box->value);
  });
}

// Makes an object that the loop deletes in a turn of its own. So a promise that the object owns may release the last
// reference, which KJ does not survive otherwise.
template <class T, class... Args>
std::shared_ptr<T> MakeLoopOwned(rpc::KjThread& loop, Args&&... args) {
  return std::shared_ptr<T>(new T(std::forward<Args>(args)...), [&loop](T* object) {
    loop.Post([owned = std::unique_ptr<T>(object)]() mutable { owned.reset(); });
  });
}

}  // namespace mr::worker
