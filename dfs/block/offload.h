// From a KJ loop to threads that may block, and back.
#pragma once

#include <kj/async.h>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace mr::dfs {

// Runs a closure on some thread that may block. Closures must have run, or been dropped, before the
// objects that they use are destroyed: stop the pool, then destroy what lives on the loop.
using Pool = std::function<void(std::function<void()>)>;

// fn() on the pool; its value on the loop. fn must not throw and must own what it uses: it runs to
// its end even where the promise is dropped. A pool that drops the closure rejects the promise.
template <class F>
kj::Promise<std::invoke_result_t<F>> OnPool(const Pool& pool, F fn) {
  using R = std::invoke_result_t<F>;
  struct Job {
    F fn;
    kj::Own<kj::CrossThreadPromiseFulfiller<R>> fulfiller;
  };
  auto paf = kj::newPromiseAndCrossThreadFulfiller<R>();
  auto job = std::make_shared<Job>(Job{std::move(fn), kj::mv(paf.fulfiller)});
  pool([job = std::move(job)] {
    if constexpr (std::is_void_v<R>) {
      job->fn();
      job->fulfiller->fulfill();
    } else {
      job->fulfiller->fulfill(job->fn());
    }
  });
  return kj::mv(paf.promise);
}

}  // namespace mr::dfs
