#include "dfs/block/peers.h"

#include "common/rpc/kj_status.h"
#include "common/rpc/tls_credentials.h"

namespace mr::dfs {

Peers::Peers(kj::AsyncIoContext& io, rpc::Hello hello, Tickets tickets)
    : io_(io),
      hello_(hello),
      tickets_(std::move(tickets)),
      tasks_(kj::heap<kj::TaskSet>(static_cast<kj::TaskSet::ErrorHandler&>(*this))) {
  hello_.role = rpc::Role::kData;
}
Peers::~Peers() noexcept(false) = default;

kj::Promise<Result<kj::Own<rpc::RpcConnection>>> Peers::Connect(const std::string& address) {
  if (tickets_ == nullptr) return rpc::RpcConnection::Connect(io_, address, hello_, kDataConnectTimeout);
  // A master that hangs must not hang a read that has other replicas.
  auto asked = Limit(tickets_(address)).catch_([address](kj::Exception&& e) -> Result<Secret<std::string>> {
    return Unavailable("the master makes no ticket for " + address + ": " + rpc::FromException(e).message());
  });
  return asked.then(
      [this, address](Result<Secret<std::string>> ticket) -> kj::Promise<Result<kj::Own<rpc::RpcConnection>>> {
        if (!ticket.ok()) return Result<kj::Own<rpc::RpcConnection>>(ticket.status());
        auto credentials = rpc::ProcessCredentials();
        if (!ticket->Reveal().empty()) {
          credentials = std::make_shared<rpc::TicketCredentials>(*std::move(ticket), std::move(credentials));
        }
        return rpc::RpcConnection::Connect(io_, address, hello_, kDataConnectTimeout, std::move(credentials));
      });
}

kj::Promise<Result<rpc::DataServer::Client>> Peers::Get(std::string address, size_t hops) {
  using Client = Result<rpc::DataServer::Client>;
  if (tasks_.get() == nullptr) return Client(Unavailable("connections to data servers are closed"));
  const Key key(std::move(address), hops);
  if (!entries_.contains(key)) {
    const uint64_t number = next_number_++;
    auto connecting = Connect(key.first).then([this, key, number](Result<kj::Own<rpc::RpcConnection>> connection) {
      return std::make_shared<Client>(Connection(key, number, std::move(connection)));
    });
    entries_.emplace(key, Entry{connecting.fork(), kj::Own<rpc::RpcConnection>(), number});
  }
  return entries_.at(key).client.addBranch().then([](const Connected& client) -> Client {
    if (!client->ok()) return client->status();
    return rpc::DataServer::Client(**client);
  });
  // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): KJ counts the references of a fork
}

Result<rpc::DataServer::Client> Peers::Connection(const Key& key, uint64_t number,
                                                  Result<kj::Own<rpc::RpcConnection>> connection) {
  if (tasks_.get() == nullptr) return Unavailable("connections to data servers are closed");
  const auto remove = [this, key, number] {
    // Later, because a connection must not be destroyed within its own event.
    tasks_->add(kj::evalLater([this, key, number] { Remove(key, number); }));
  };
  if (!connection.ok()) {
    remove();
    return connection.status();
  }
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.number != number) {
    return Unavailable(key.first + " was dropped while it was being connected");
  }
  it->second.connection = *std::move(connection);
  // Passes a copy, because KJ would keep a reference to a named function.
  tasks_->add(it->second.connection->OnDisconnect().then(kj::cp(remove)));
  return it->second.connection->Bootstrap<rpc::DataServer>();
}

void Peers::Forget(const std::string& address, size_t hops) {
  const Key key(address, hops);
  const auto it = entries_.find(key);
  if (it == entries_.end()) return;  // also after Close
  const uint64_t number = it->second.number;
  tasks_->add(kj::evalLater([this, key, number] { Remove(key, number); }));
}

void Peers::Close() {
  tasks_ = nullptr;
  entries_.clear();
}

void Peers::Remove(const Key& key, uint64_t number) {
  const auto it = entries_.find(key);
  if (it != entries_.end() && it->second.number == number) entries_.erase(it);
}

}  // namespace mr::dfs
