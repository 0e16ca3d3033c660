// Connections to data servers, made at the first use and kept until they break. Lives on a KJ loop.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/rpc/connection.h"
#include "schema/data.capnp.h"

namespace mr::dfs {

// Time after which a data server without an answer counts as gone (guess): 30 times what the slowest measured disk
// needs for an fsync of 64 MiB.
inline constexpr Duration kDataCallTimeout = Seconds(20);
inline constexpr Duration kDataConnectTimeout = Seconds(3);
// Bytes of one message, and calls in flight. 1 MiB and 4 calls measured best.
inline constexpr size_t kPieceBytes = 1 << 20;
inline constexpr size_t kPiecesInFlight = 4;

class Peers : private kj::TaskSet::ErrorHandler {
 public:
  // Returns what to show the server at an address, from the master.
  using Tickets = std::function<kj::Promise<Result<Secret<std::string>>>(const std::string& address)>;
  // hello: sent on each connection, with role kData. tickets: null: this process has credentials for data servers.
  Peers(kj::AsyncIoContext& io, rpc::Hello hello, Tickets tickets = nullptr);
  ~Peers() noexcept(false);

  // Returns a connection for calls that wait for `hops` further servers after this one (0: for none). Calls with
  // different numbers of hops never share a connection. A server reads a bounded number of unanswered calls per
  // connection, so on a shared one, pipelines that form a ring would deadlock. Errors: kUnavailable if nothing answers.
  kj::Promise<Result<rpc::DataServer::Client>> Get(std::string address, size_t hops = 0);
  // Drops a connection that hangs. The next Get makes a new one.
  void Forget(const std::string& address, size_t hops = 0);
  // Ends all connections. From then on Get returns kUnavailable.
  void Close();

  // Fails with OVERLOADED if the call takes longer than kDataCallTimeout.
  template <class T>
  kj::Promise<T> Limit(kj::Promise<T> call) {
    return io_.provider->getTimer().timeoutAfter(kDataCallTimeout.ns * kj::NANOSECONDS, kj::mv(call));
  }
  kj::Timer& timer() { return io_.provider->getTimer(); }

 private:
  using Key = std::pair<std::string, size_t>;  // address, hops
  // Shared, since a capability cannot be copied from a const reference, which a fork requires.
  using Connected = std::shared_ptr<Result<rpc::DataServer::Client>>;
  struct Entry {
    kj::ForkedPromise<Connected> client;
    kj::Own<rpc::RpcConnection> connection;  // once connected
    uint64_t number;
  };
  void taskFailed(kj::Exception&&) override {}
  kj::Promise<Result<kj::Own<rpc::RpcConnection>>> Connect(const std::string& address);
  Result<rpc::DataServer::Client> Connection(const Key& key, uint64_t number,
                                             Result<kj::Own<rpc::RpcConnection>> connection);
  void Remove(const Key& key, uint64_t number);

  kj::AsyncIoContext& io_;
  rpc::Hello hello_;
  const Tickets tickets_;
  uint64_t next_number_ = 1;
  std::map<Key, Entry> entries_;
  kj::Own<kj::TaskSet> tasks_;  // null once closed
};

}  // namespace mr::dfs
