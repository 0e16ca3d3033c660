// Moves work from a KJ loop to threads that may block, and back.
#pragma once

#include <kj/async.h>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace mr::dfs {

// Runs a closure on a thread that may block. Requires: all closures have run, or have been dropped, before the objects
// that they use are destroyed. So stop the pool first, then destroy the objects on the loop.
using Pool = std::function<void(std::function<void()>)>;

// Runs fn() on the pool and resolves with its value on the loop. fn runs to its end even if the promise is dropped. A
// pool that drops the closure rejects the promise. Requires: fn does not throw, and owns all that it uses.
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
