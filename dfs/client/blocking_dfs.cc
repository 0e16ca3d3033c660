#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include "common/exec/pool.h"
#include "common/io/clock.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "dfs/client/dfs_client.h"
#include "schema/client.capnp.h"

namespace mr::dfs {
namespace {

// How long a call that was given up waits for the master to forget its files.
constexpr Duration kFarewell = Millis(300);

// A source with an exact size. Too few or too many bytes are an error.
class ExactSource final : public ByteSource {
 public:
  ExactSource(kj::Own<ByteSource> from, uint64_t bytes) : from_(kj::mv(from)), left_(bytes) {}
  ~ExactSource() noexcept override {}
  kj::Promise<Result<std::string>> Next(size_t max) override {
    return from_->Next(max).then([this](Result<std::string> got) -> Result<std::string> {
      if (!got.ok()) return got;
      if (got->size() > left_) return Internal("the source has more bytes than it should");
      if (got->empty() && left_ > 0) {
        return Unavailable("the source ended " + std::to_string(left_) + " bytes early");
      }
      left_ -= got->size();
      return got;
    });
  }

 private:
  kj::Own<ByteSource> from_;
  uint64_t left_;
};

template <class T>
struct ValueOf;
template <class T>
struct ValueOf<kj::Promise<T>> {
  using Type = T;
};

// A call that runs on the loop while another thread waits for its value. Shared by both, since the loop may still be
// inside Put when that thread has the value.
template <class T>
struct Call {
  void Put(T v) {
    {
      std::lock_guard lock(mutex);
      value = std::move(v);
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(ready.get(), &one, sizeof one);
  }
  std::optional<T> Take() {
    std::lock_guard lock(mutex);
    return std::exchange(value, std::nullopt);
  }
  UniqueFd ready{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // readable when there is a value
  std::mutex mutex;
  std::optional<T> value;  // guarded by mutex
  kj::Canceler canceler;   // on the loop
};

// Starts a promise on the loop. Requires: start lives until the call has a value or is dropped.
template <class F>
auto StartOn(rpc::KjThread& loop, F& start) {
  using Value = typename ValueOf<std::invoke_result_t<F&>>::Type;
  auto call = std::make_shared<Call<Value>>();
  loop.Post([&loop, &start, call] {
    loop.Spawn(
        call->canceler.wrap(start()).then([call](Value value) { call->Put(std::move(value)); },
                                          [call](kj::Exception&& e) { call->Put(Value(rpc::FromException(e))); }));
  });
  return call;
}

Status WaitForEver(int fd) {
  pollfd at{fd, POLLIN, 0};
  while (::poll(&at, 1, -1) < 0 && errno == EINTR) {
  }
  return Status::Ok();
}

// Returns a wait of at most this time.
BlockingDfs::Wait Within(Duration limit) {
  return [end = Now() + limit](int fd) -> Status {
    pollfd at{fd, POLLIN, 0};
    while (true) {
      const Duration left = end - Now();
      const int n = ::poll(&at, 1, left.ns <= 0 ? 0 : static_cast<int>(left.millis() + 1));
      if (n > 0) return Status::Ok();
      if (n == 0 || errno != EINTR) return {Code::kDeadline, "no answer in time"};
    }
  };
}

Peers::Tickets TicketsOf(rpc::MasterForClient::Client master) {
  // Shared, since a capability cannot be copied from a const reference.
  const auto shared = std::make_shared<rpc::MasterForClient::Client>(kj::mv(master));
  return [shared](const std::string& address) -> kj::Promise<Result<Secret<std::string>>> {
    auto request = shared->ticketRequest();
    request.setWorker(address.c_str());
    return request.send().then(
        [](auto response) -> Result<Secret<std::string>> {
          MR_RETURN_IF_ERROR(rpc::FromOutcome(response.getOutcome()));
          const auto bytes = response.getTicket();
          return Secret<std::string>(std::string(bytes.asChars().begin(), bytes.size()));
        },
        [](kj::Exception&& e) -> Result<Secret<std::string>> { return rpc::FromException(e).With("the master"); });
  };
}

}  // namespace

struct BlockingDfs::Impl {
  rpc::KjThread& loop;
  const Wait wait;
  // Ends reads and writes of the pool that block, once a call was given up.
  const std::shared_ptr<Stop> stop = std::make_shared<Stop>();
  // One thread reads the file while the other one hashes. Made on the loop by the first call that needs it: starting
  // threads takes longer than a small read.
  std::optional<mr::Pool> threads;
  kj::Own<rpc::RpcConnection> own;  // on the loop; null: the connection is another's
  kj::Own<DfsClient> client;        // on the loop

  Impl(rpc::KjThread& l, Wait w) : loop(l), wait(w ? std::move(w) : Wait(WaitForEver)) {}

  // Runs closures on the pool. Thread: the loop.
  Pool Poster() {
    return [this](std::function<void()> fn) {
      if (!threads.has_value()) threads.emplace(2);
      threads->Post(std::move(fn));
    };
  }

  ~Impl() {
    loop.Run([this] {
      client = nullptr;
      own = nullptr;
    });
  }

  // Starts a promise on the loop, and waits on this thread for its value, or for `until` to give up.
  template <class F>
  auto Await(F start, const Wait& until) {
    using Value = typename ValueOf<std::invoke_result_t<F&>>::Type;
    const auto call = StartOn(loop, start);
    const Status waited = until(call->ready.get());
    if (waited.ok()) return *call->Take();
    auto value = loop.Run([&] {
      call->canceler.cancel("the caller has given up");
      return call->Take();
    });
    // Only now: a read that ends by it would be the value, and hide the caller's reason.
    stop->Set();
    // Closures may use what the caller owns.
    if (threads.has_value()) threads->Settle();
    return value.has_value() ? *std::move(value) : Value(waited);  // a value that was there first counts
  }
  template <class F>
  auto Await(F start) {
    return Await(std::move(start), wait);
  }

  // Like Await, for calls that write. If one is given up, the master is asked to forget its unfinished files, and
  // has done so when this returns, if it answers soon.
  template <class F>
  auto AwaitWrite(F start) {
    bool given_up = false;
    auto value = Await(std::move(start), [&](int fd) {
      Status waited = wait(fd);
      given_up = !waited.ok();
      return waited;
    });
    // The master reads the calls of a connection in order: this one after those that abandon files.
    if (given_up) (void)Await([this] { return client->Stat("/"); }, Within(kFarewell));
    return value;
  }

  kj::Promise<Status> Begin(rpc::RpcConnection& connection) {
    const uint64_t cluster_id = connection.peer().cluster_id;
    const bool encrypted = (connection.peer().flags & rpc::kHelloTls) != 0;
    auto master = connection.Bootstrap<rpc::MasterForClient>();
    auto files = master.filesRequest().send();
    return files.then(
        [this, cluster_id, encrypted, master = kj::mv(master)](auto response) mutable {
          DfsClient::Options options;
          options.hello.cluster_id = cluster_id;
          if (encrypted) options.tickets = TicketsOf(kj::mv(master));
          options.pool = Poster();
          client = kj::heap<DfsClient>(loop.io(), response.getFiles(), std::move(options));
          return Status::Ok();
        },
        [](kj::Exception&& e) { return rpc::FromException(e); });
  }
};

BlockingDfs::BlockingDfs(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BlockingDfs::~BlockingDfs() = default;

Result<std::unique_ptr<BlockingDfs>> BlockingDfs::Connect(rpc::KjThread& loop, const std::string& master, Wait wait) {
  auto owned = std::make_unique<Impl>(loop, std::move(wait));
  Impl* impl = owned.get();
  MR_RETURN_IF_ERROR(impl->Await([impl, master] {
    rpc::Hello hello;
    hello.role = rpc::Role::kClient;
    return rpc::RpcConnection::Connect(impl->loop.io(), master, hello)
        .then([impl](Result<kj::Own<rpc::RpcConnection>> connection) -> kj::Promise<Status> {
          if (!connection.ok()) return connection.status();
          impl->own = *std::move(connection);
          return impl->Begin(*impl->own);
        });
  }));
  return std::unique_ptr<BlockingDfs>(new BlockingDfs(std::move(owned)));
}

Result<std::unique_ptr<BlockingDfs>> BlockingDfs::On(rpc::KjThread& loop,
                                                     const std::function<rpc::RpcConnection&()>& connection,
                                                     Wait wait) {
  auto owned = std::make_unique<Impl>(loop, std::move(wait));
  MR_RETURN_IF_ERROR(owned->Await([&] { return owned->Begin(connection()); }));
  return std::unique_ptr<BlockingDfs>(new BlockingDfs(std::move(owned)));
}

Result<WrittenFile> BlockingDfs::PutFd(const std::string& path, const PutOptions& options, int fd) {
  return impl_->AwaitWrite([&] {
    auto source = FdSource(fd, impl_->Poster(), impl_->stop);
    if (options.exact_bytes != 0) source = kj::heap<ExactSource>(kj::mv(source), options.exact_bytes);
    return impl_->client->Put(path, options, kj::mv(source));
  });
}

Status BlockingDfs::PutFiles(const std::vector<LocalFile>& files, const PutOptions& options,
                             std::vector<bool>* written) {
  written->assign(files.size(), false);
  return impl_->AwaitWrite(
      [&] { return impl_->client->PutFiles(files, options, impl_->Poster(), written, impl_->stop); });
}

Result<WrittenFile> BlockingDfs::PutBytes(const std::string& path, const PutOptions& options, std::string bytes) {
  return impl_->AwaitWrite([&] { return impl_->client->Put(path, options, StringSource(std::move(bytes))); });
}

Status BlockingDfs::GetToFd(const std::string& path, int fd, uint64_t offset, uint64_t length, uint64_t file) {
  return impl_->Await(
      [&] { return impl_->client->Get(path, FdSink(fd, impl_->Poster(), impl_->stop), offset, length, file); });
}

Result<std::string> BlockingDfs::GetBytes(const std::string& path, uint64_t offset, uint64_t length, uint64_t file) {
  std::string bytes;
  const Status status =
      impl_->Await([&] { return impl_->client->Get(path, StringSink(&bytes), offset, length, file); });
  if (!status.ok()) return status;
  return bytes;
}

Result<FileInfo> BlockingDfs::Stat(const std::string& path) {
  return impl_->Await([&] { return impl_->client->Stat(path); });
}
Result<std::vector<FileInfo>> BlockingDfs::List(const std::string& path) {
  return impl_->Await([&] { return impl_->client->List(path); });
}
Result<LocatedFile> BlockingDfs::Locate(const std::string& path, uint64_t offset, uint64_t length) {
  return impl_->Await([&] { return impl_->client->Locate(path, offset, length); });
}
Status BlockingDfs::Mkdir(const std::string& path) {
  return impl_->Await([&] { return impl_->client->Mkdir(path); });
}
Status BlockingDfs::Remove(const std::string& path, bool recursive) {
  return impl_->Await([&] { return impl_->client->Remove(path, recursive); });
}
Status BlockingDfs::RemoveWithin(const std::string& path, bool recursive, Duration limit) {
  return impl_->Await([&] { return impl_->client->Remove(path, recursive); }, Within(limit));
}
Status BlockingDfs::Rename(const std::string& from, const std::string& to) {
  return impl_->Await([&] { return impl_->client->Rename(from, to); });
}
Status BlockingDfs::SetReplication(const std::string& path, uint32_t replication) {
  return impl_->Await([&] { return impl_->client->SetReplication(path, replication); });
}
Status BlockingDfs::SetOwner(const std::string& path, const std::string& owner) {
  return impl_->Await([&] { return impl_->client->SetOwner(path, owner); });
}
Status BlockingDfs::SetReaders(const std::string& path, bool all) {
  return impl_->Await([&] { return impl_->client->SetReaders(path, all); });
}
Result<StoreHealth> BlockingDfs::Health(uint32_t max_files) {
  return impl_->Await([&] { return impl_->client->Health(max_files); });
}

}  // namespace mr::dfs
