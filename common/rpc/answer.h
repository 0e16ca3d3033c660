// How a KJ loop waits for another thread: a promise on the loop, and a function for any thread
// that fulfils it. Dropping the function without calling it breaks the promise.
#pragma once

#include <functional>
#include <memory>

#include "common/rpc/kj_thread.h"

namespace mr::rpc {

template <class T>
struct PromisedValue {
  kj::Promise<T> promise;
  std::function<void(T)> fulfill;
};

// On the loop of `kj`, which must outlive the function.
template <class T>
PromisedValue<T> MakeAnswer(KjThread& kj) {
  auto paf = kj::newPromiseAndFulfiller<T>();
  using Fulfiller = kj::Own<kj::PromiseFulfiller<T>>;
  // KJ's reference counts are not atomic: the fulfiller is used and destroyed on its loop only.
  std::shared_ptr<Fulfiller> holder(new Fulfiller(kj::mv(paf.fulfiller)), [&kj](Fulfiller* fulfiller) {
    kj.Post([owned = std::unique_ptr<Fulfiller>(fulfiller)] {});
  });
  return {kj::mv(paf.promise), [&kj, holder](T value) {
            kj.Post([holder, value = std::make_unique<T>(std::move(value))]() mutable {
              (*holder)->fulfill(std::move(*value));
            });
          }};
}

}  // namespace mr::rpc
