#include <future>
#include <optional>

#include "common/exec/pool.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "dfs/client/dfs_client.h"
#include "schema/client.capnp.h"

namespace mr::dfs {
namespace {

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

// Starts a promise on the loop, and waits on this thread for its value.
template <class F>
auto Await(rpc::KjThread& loop, F start) {
  using Value = typename ValueOf<std::invoke_result_t<F>>::Type;
  // Shared: the loop may still be inside set_value when this thread has the value.
  auto done = std::make_shared<std::promise<Value>>();
  loop.Post([&, done] {
    loop.Spawn(start().then([done](Value value) { done->set_value(std::move(value)); },
                            [done](kj::Exception&& e) { done->set_value(rpc::FromException(e)); }));
  });
  return done->get_future().get();
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
  // One thread reads the file while the other one hashes. Made on the loop by the first call that needs it: starting
  // threads takes longer than a small read.
  std::optional<mr::Pool> threads;
  kj::Own<rpc::RpcConnection> own;  // on the loop; null: the connection is another's
  kj::Own<DfsClient> client;        // on the loop

  explicit Impl(rpc::KjThread& l) : loop(l) {}

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

Result<std::unique_ptr<BlockingDfs>> BlockingDfs::Connect(rpc::KjThread& loop, const std::string& master) {
  auto owned = std::make_unique<Impl>(loop);
  Impl* impl = owned.get();
  MR_RETURN_IF_ERROR(Await(loop, [impl, master] {
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
                                                     const std::function<rpc::RpcConnection&()>& connection) {
  auto owned = std::make_unique<Impl>(loop);
  MR_RETURN_IF_ERROR(Await(loop, [&] { return owned->Begin(connection()); }));
  return std::unique_ptr<BlockingDfs>(new BlockingDfs(std::move(owned)));
}

Result<WrittenFile> BlockingDfs::PutFd(const std::string& path, const PutOptions& options, int fd) {
  return Await(impl_->loop, [&] {
    auto source = FdSource(fd, impl_->Poster());
    if (options.exact_bytes != 0) source = kj::heap<ExactSource>(kj::mv(source), options.exact_bytes);
    return impl_->client->Put(path, options, kj::mv(source));
  });
}

Status BlockingDfs::PutFiles(const std::vector<LocalFile>& files, const PutOptions& options,
                             std::vector<bool>* written) {
  written->assign(files.size(), false);
  return Await(impl_->loop, [&] { return impl_->client->PutFiles(files, options, impl_->Poster(), written); });
}

Result<WrittenFile> BlockingDfs::PutBytes(const std::string& path, const PutOptions& options, std::string bytes) {
  return Await(impl_->loop, [&] { return impl_->client->Put(path, options, StringSource(std::move(bytes))); });
}

Status BlockingDfs::GetToFd(const std::string& path, int fd, uint64_t offset, uint64_t length, uint64_t file) {
  return Await(impl_->loop,
               [&] { return impl_->client->Get(path, FdSink(fd, impl_->Poster()), offset, length, file); });
}

Result<std::string> BlockingDfs::GetBytes(const std::string& path, uint64_t offset, uint64_t length, uint64_t file) {
  std::string bytes;
  const Status status =
      Await(impl_->loop, [&] { return impl_->client->Get(path, StringSink(&bytes), offset, length, file); });
  if (!status.ok()) return status;
  return bytes;
}

Result<FileInfo> BlockingDfs::Stat(const std::string& path) {
  return Await(impl_->loop, [&] { return impl_->client->Stat(path); });
}
Result<std::vector<FileInfo>> BlockingDfs::List(const std::string& path) {
  return Await(impl_->loop, [&] { return impl_->client->List(path); });
}
Result<LocatedFile> BlockingDfs::Locate(const std::string& path, uint64_t offset, uint64_t length) {
  return Await(impl_->loop, [&] { return impl_->client->Locate(path, offset, length); });
}
Status BlockingDfs::Mkdir(const std::string& path) {
  return Await(impl_->loop, [&] { return impl_->client->Mkdir(path); });
}
Status BlockingDfs::Remove(const std::string& path, bool recursive) {
  return Await(impl_->loop, [&] { return impl_->client->Remove(path, recursive); });
}
Status BlockingDfs::Rename(const std::string& from, const std::string& to) {
  return Await(impl_->loop, [&] { return impl_->client->Rename(from, to); });
}
Status BlockingDfs::SetReplication(const std::string& path, uint32_t replication) {
  return Await(impl_->loop, [&] { return impl_->client->SetReplication(path, replication); });
}
Status BlockingDfs::SetOwner(const std::string& path, const std::string& owner) {
  return Await(impl_->loop, [&] { return impl_->client->SetOwner(path, owner); });
}
Status BlockingDfs::SetReaders(const std::string& path, bool all) {
  return Await(impl_->loop, [&] { return impl_->client->SetReaders(path, all); });
}
Result<StoreHealth> BlockingDfs::Health(uint32_t max_files) {
  return Await(impl_->loop, [&] { return impl_->client->Health(max_files); });
}

}  // namespace mr::dfs
