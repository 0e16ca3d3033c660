// The capability that a client holds while it watches a job: dropping it ends the watch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "master/host/shell.h"

namespace mr::master {

// Thread: the KJ loop.
class WatchHandle final : public rpc::Handle::Server {
 public:
  // watches: of its connection; this is one of them until it goes.
  WatchHandle(Shell& shell, uint64_t watcher, std::shared_ptr<void> hold, std::shared_ptr<size_t> watches)
      : shell_(shell), watcher_(watcher), hold_(std::move(hold)), watches_(std::move(watches)) {
    ++*watches_;
  }
  ~WatchHandle() noexcept(false) {
    --*watches_;
    shell_.watchers().erase(watcher_);
    shell_.PostToMaster([&master = shell_.client_parts(), watcher = watcher_] { master.watchers.Unwatch(watcher); });
  }

 private:
  Shell& shell_;
  const uint64_t watcher_;
  const std::shared_ptr<void> hold_;  // a connection that watches is not idle
  const std::shared_ptr<size_t> watches_;
};

}  // namespace mr::master
