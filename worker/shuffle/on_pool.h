// Running a function on the worker's thread pool and taking its value back to the KJ loop that
// asked, and objects that live there. For code that lives on a KJ loop.
#pragma once

#include <kj/async.h>
#include <kj/string.h>

#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "common/rpc/kj_thread.h"

namespace mr::worker {

// Runs a task on some pool thread, soon. Any thread may call it. A pool that stops drops its tasks.
using PostToPool = std::function<void(std::function<void()>)>;

// The promise fails where the task throws or is dropped. Dropping the promise does not stop the
// task: fn must own what it uses.
template <class F, class T = std::invoke_result_t<F>>
kj::Promise<T> OnPool(const PostToPool& post, F fn) {
  auto paf = kj::newPromiseAndCrossThreadFulfiller<T>();
  using Fulfiller = kj::Own<kj::CrossThreadPromiseFulfiller<T>>;
  auto task = std::make_shared<std::pair<F, Fulfiller>>(std::move(fn), kj::mv(paf.fulfiller));
  post([task] {
    try {
      task->second->fulfill(task->first());
    } catch (const std::exception& e) {
      task->second->reject(kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__,
                                          kj::str("a task on the pool failed: ", e.what())));
    }
  });
  return kj::mv(paf.promise);
}

// An object that is deleted by the loop in a turn of its own: the last reference may be let go from
// within a promise that the object itself owns, which KJ does not survive otherwise.
template <class T, class... Args>
std::shared_ptr<T> MakeLoopOwned(rpc::KjThread& loop, Args&&... args) {
  return std::shared_ptr<T>(new T(std::forward<Args>(args)...), [&loop](T* object) {
    loop.Post([owned = std::unique_ptr<T>(object)]() mutable { owned.reset(); });
  });
}

}  // namespace mr::worker
