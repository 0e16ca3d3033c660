// The connection behind Client: a KJ loop on a thread of its own, and how its answers reach the thread that waits.
// For client.cc alone.
#pragma once

#include <capnp/message.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

#include "common/base/version.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/wire.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/client_wire.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"
#include "schema/client.capnp.h"

namespace mr::ctl {

using Master = rpc::MasterForClient::Client;

inline constexpr uint64_t kPieceBytes = 1u << 20;  // of libraries; the schema's limit

// Where results of the loop meet the waiting thread: a lock and an eventfd. Shared by both sides,
// since the waiting one may give up first.
class Mailbox {
 public:
  Mailbox() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return fd_.get(); }
  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(fd_.get(), &one, sizeof one);
  }
  void Drain() {
    uint64_t count;
    [[maybe_unused]] const ssize_t n = read(fd_.get(), &count, sizeof count);
  }
  std::mutex mutex;  // guards what is built around the mailbox

 private:
  UniqueFd fd_;
};

template <class T>
struct Slot : Mailbox {
  std::optional<Result<T>> value;
};

struct WatchState : Mailbox {
  std::optional<JobStatus> newest;
  bool broken = false;
};

class Watcher final : public rpc::JobWatcher::Server {
 public:
  explicit Watcher(std::shared_ptr<WatchState> state) : state_(std::move(state)) {}
  kj::Promise<void> changed(ChangedContext context) override {
    JobStatus status = FromWire(context.getParams().getStatus());
    {
      std::lock_guard lock(state_->mutex);
      state_->newest = std::move(status);
    }
    state_->Wake();
    return kj::READY_NOW;
  }

 private:
  std::shared_ptr<WatchState> state_;
};

inline Status NoMaster(const std::string& address, const Status& why) {
  if (why.code() != Code::kUnavailable) return why;
  // The text of common/rpc/hello.cc: a master answers, so the hint must not suggest to start one.
  if (why.message().find("speaks protocol") != std::string::npos) {
    return WithHint(Unavailable("the master at " + why.message()),
                    "use the mrctl of that master's release, or name a master of this one (" + std::string(kVersion) +
                        ") with --master HOST:PORT or MR_MASTER");
  }
  return WithHint(Unavailable("no master: " + why.message()),
                  "start one (mrmaster --data DIR), name another with --master HOST:PORT or MR_MASTER (now " + address +
                      "), or run here with submit --local");
}

struct Client::Impl {
  // Touched on the loop only.
  struct OnLoop {
    kj::Own<rpc::RpcConnection> connection;
    std::optional<Master> master;
    std::optional<rpc::Handle::Client> watch;
    std::shared_ptr<WatchState> watching;
    kj::Maybe<kj::Promise<void>> connecting, disconnect;
  };

  explicit Impl(std::string a) : address(std::move(a)), thread("mrctl-rpc") {}

  void Connect() {
    connected = std::make_shared<Slot<bool>>();
    thread.Post([this, slot = connected] {
      loop = std::make_unique<OnLoop>();
      rpc::Hello hello;
      hello.role = rpc::Role::kClient;
      loop->connecting = rpc::RpcConnection::Connect(thread.io(), address, hello)
                             .then([this, slot](Result<kj::Own<rpc::RpcConnection>> result) {
                               Result<bool> answer = true;
                               if (result.ok()) {
                                 Adopt(*std::move(result));
                               } else {
                                 answer = result.status();
                               }
                               {
                                 std::lock_guard lock(slot->mutex);
                                 slot->value = std::move(answer);
                               }
                               slot->Wake();
                             })
                             .eagerlyEvaluate(nullptr);
    });
  }

  void Adopt(kj::Own<rpc::RpcConnection> connection) {
    loop->connection = kj::mv(connection);
    loop->master = loop->connection->Bootstrap<rpc::MasterForClient>();
    loop->disconnect = loop->connection->OnDisconnect()
                           .then([this] {
                             if (auto state = loop->watching) {
                               std::lock_guard lock(state->mutex);
                               state->broken = true;
                               state->Wake();
                             }
                           })
                           .eagerlyEvaluate([](kj::Exception&&) {});
  }

  // Waits for the value; `fd` of the slot wakes it.
  template <class T>
  Result<T> Await(const std::shared_ptr<Slot<T>>& slot) {
    while (true) {
      {
        std::lock_guard lock(slot->mutex);
        if (slot->value.has_value()) return *slot->value;
      }
      switch (WaitFor(slot->fd(), TimeLimit())) {
        case Woken::kReady: slot->Drain(); break;
        case Woken::kTimeout: return TimeoutStatus();
        case Woken::kInterrupted: return InterruptedStatus();
      }
    }
  }

  Status WaitConnected() {
    auto result = Await(connected);
    return result.ok() ? Status::Ok() : NoMaster(address, result.status());
  }

  // fn(master) on the loop gives a promise of T or Result<T>.
  template <class T, class F>
  Result<T> Call(F fn) {
    MR_RETURN_IF_ERROR(WaitConnected());
    auto slot = std::make_shared<Slot<T>>();
    const auto put = [slot](Result<T> value) {
      {
        std::lock_guard lock(slot->mutex);
        if (!slot->value.has_value()) slot->value = std::move(value);
      }
      slot->Wake();
    };
    thread.Post([this, fn = std::move(fn), put]() mutable {
      thread.Spawn(fn(*loop->master)
                       .then([put](Result<T> value) { put(std::move(value)); },
                             [put](kj::Exception&& e) { put(rpc::FromException(e)); }));
    });
    auto result = Await(slot);
    if (result.ok()) return result;
    return result.status().code() == Code::kUnavailable ? result.status().With("the master at " + address)
                                                        : result.status();
  }

  const std::string address;
  std::shared_ptr<Slot<bool>> connected;
  std::shared_ptr<WatchState> watching;  // of the waiting thread
  std::unique_ptr<OnLoop> loop;          // touched on the loop only
  rpc::KjThread thread;
};

}  // namespace mr::ctl
