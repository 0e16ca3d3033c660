// Lets a thread wait for a promise of the KJ loop: at the start of a daemon, or in a pool. The opposite
// direction is OnPool of worker/shuffle/on_pool.h.
#pragma once

#include <kj/async.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/kj_thread.h"

namespace mr::rpc {

// Runs start() on the loop and waits for the Result<T> or Status of its promise. Requires: the promise
// does not wait for this thread's pool. Thread: any but the loop's.
template <class R, class F>
R WaitForLoop(KjThread& loop, F start) {
  struct Shared {
    std::mutex mutex;  // a thread without a loop cannot wait for a promise
    std::condition_variable ready;
    std::optional<R> value;
  };
  auto shared = std::make_shared<Shared>();
  auto put = [shared](R value) {
    std::lock_guard lock(shared->mutex);
    shared->value = std::move(value);
    shared->ready.notify_one();
  };
  loop.Post([&loop, put, start = std::move(start)]() mutable {
    loop.Spawn(
        kj::evalNow([&]() -> kj::Promise<R> {
          return start();
        }).then([put](R value) { put(std::move(value)); }, [put](kj::Exception&& e) { put(R(FromException(e))); }));
  });
  std::unique_lock lock(shared->mutex);
  shared->ready.wait(lock, [&] { return shared->value.has_value(); });
  return std::move(*shared->value);
}

}  // namespace mr::rpc
