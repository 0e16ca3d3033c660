// The connection of Client: a KJ loop on its own thread, and the transfer of its answers to the waiting thread. For
// client*.cc only.
#pragma once

#include <capnp/any.h>
#include <capnp/capability.h>
#include <capnp/message.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/wire.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/client_wire.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/no_master.h"
#include "jobs/mrctl/step_times.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"
#include "schema/client.capnp.h"

namespace mr::ctl {

using Master = rpc::MasterForClient::Client;

inline constexpr uint64_t kPieceBytes = 1u << 20;  // of libraries; the limit of the schema

// Passes results of the loop to the waiting thread: a lock and an eventfd. Shared by both sides, since the waiting side
// may give up first.
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
  std::mutex mutex;  // guards the values beside the mailbox

 private:
  UniqueFd fd_;
};

template <class T>
struct Slot : Mailbox {
  std::optional<Result<T>> value;
  // The first value counts.
  void Put(Result<T> v) {
    {
      std::lock_guard lock(mutex);
      if (!value.has_value()) value = std::move(v);
    }
    Wake();
  }
};

// A reply of the master, copied out of the connection so that any thread can read it. No capabilities.
struct Reply {
  std::shared_ptr<capnp::MallocMessageBuilder> message;  // null: the master does not have the method
  Status missing;                                        // and says so
};

template <class Request>
struct ResultsOf;
template <class Params, class Results>
struct ResultsOf<capnp::Request<Params, Results>> {
  using type = Results;
};

struct WatchState : Mailbox {
  std::optional<JobStatus> newest;
  bool broken = false;
};

struct LogAnswers : Mailbox {
  std::deque<LogAnswer> answers;
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

// Prints a line about a master with --insecure, once per process, unless the user asked for quiet.
void WarnInsecure(const std::string& address);

struct Client::Impl {
  // Touched on the loop's thread only.
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
                               NoteStep("connected");
                               if (result.ok()) {
                                 Adopt(*std::move(result));
                               } else {
                                 answer = result.status();
                               }
                               slot->Put(std::move(answer));
                             })
                             .eagerlyEvaluate(nullptr);
    });
  }

  void Adopt(kj::Own<rpc::RpcConnection> connection) {
    insecure = connection->insecure();
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

  // Waits for the value. `fd` of the slot wakes it.
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
    if (result.ok() && insecure) WarnInsecure(address);
    return result.ok() ? Status::Ok() : NoMaster(address, result.status());
  }

  // Sends the request that make(master) returns on the loop, and waits for a copy of the reply.
  Result<Reply> Exchange(std::function<kj::Own<capnp::RequestHook>(Master&)> make);

  // Names the master in an error of the connection.
  Status OfMaster(const Status& status) const {
    return status.code() == Code::kUnavailable ? status.With("the master at " + address) : status;
  }

  // Sends the request that make(master) returns, on the loop, and reads its reply on this thread. read: returns a
  // Result<T>. missing: the value if the master does not have this method. Exchange() is the same code for all methods:
  // compiled per method, the promises and the passing of results would be most of the compile time of this file.
  template <class T, class Make, class Read>
  Result<T> Call(Make make, Read read, std::optional<T> missing = std::nullopt) {
    using Results = typename ResultsOf<std::invoke_result_t<Make&, Master&>>::type;
    MR_ASSIGN_OR_RETURN(const Reply reply, Exchange([make = std::move(make)](Master& master) {
                          return capnp::RequestHook::from(make(master));
                        }));
    if (reply.message == nullptr) return missing.has_value() ? Result<T>(*missing) : Result<T>(OfMaster(reply.missing));
    try {
      Result<T> result = read(reply.message->template getRoot<Results>().asReader());
      if (!result.ok()) return OfMaster(result.status());
      return result;
    } catch (const kj::Exception& malformed) {
      return OfMaster(rpc::FromException(malformed));
    }
  }

  // Like Call, for a reply with an outcome: read runs only after success.
  template <class T, class Make, class Read>
  Result<T> Ask(Make make, Read read) {
    return Call<T>(std::move(make), [read = std::move(read)](auto reply) -> Result<T> {
      MR_RETURN_IF_ERROR(rpc::FromOutcome(reply.getOutcome()));
      return read(reply);
    });
  }

  // Like Ask, for a reply that has nothing else.
  template <class Make>
  Status Order(Make make) {
    const auto done = Ask<bool>(std::move(make), [](auto) -> Result<bool> { return true; });
    return done.ok() ? Status::Ok() : done.status();
  }

  // Sends the request that make(master) returns, and calls one of the other functions. All run on the loop. failed:
  // with the error, and whether the master does not have the method.
  void Start(std::function<kj::Own<capnp::RequestHook>(Master&)> make,
             std::function<void(capnp::AnyPointer::Reader)> done, std::function<void(const Status&, bool)> failed);

  const std::string address;
  std::shared_ptr<Slot<bool>> connected;
  bool insecure = false;                 // the master lets in anybody; written before `connected` has its value
  std::shared_ptr<WatchState> watching;  // used by the waiting thread
  std::shared_ptr<LogAnswers> logs = std::make_shared<LogAnswers>();
  std::unique_ptr<OnLoop> loop;  // touched on the loop only
  rpc::KjThread thread;
};

}  // namespace mr::ctl
