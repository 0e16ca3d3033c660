// Connections to data servers, made when first asked for and kept until they break. Lives on a KJ loop.
#pragma once

#include <kj/async-io.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/rpc/connection.h"
#include "schema/data.capnp.h"

namespace mr::dfs {

// A data server that has not answered one piece by then counts as gone: 30 times what the slowest
// disk that we measured needs for an fsync of 64 MiB (guess).
inline constexpr Duration kDataCallTimeout = Seconds(20);
inline constexpr Duration kDataConnectTimeout = Seconds(3);
// Data of one message, and calls in flight: measured best at 1 MiB and 4.
inline constexpr size_t kPieceBytes = 1 << 20;
inline constexpr size_t kPiecesInFlight = 4;

class Peers : private kj::TaskSet::ErrorHandler {
 public:
  // hello: sent to each; its role is set to kData.
  Peers(kj::AsyncIoContext& io, rpc::Hello hello);
  ~Peers() noexcept(false);

  // Returns a connection for calls that wait for `hops` further servers behind this one (0: for none).
  // Calls with different numbers of hops never share a connection: a server reads a bounded number of unanswered calls
  // per connection, so on a shared one the calls of pipelines in a ring would wait for each other for ever.
  // Errors: kUnavailable where nobody answers there.
  kj::Promise<Result<rpc::DataServer::Client>> Get(std::string address, size_t hops = 0);
  // Its connection hangs: the next Get makes a new one.
  void Forget(const std::string& address, size_t hops = 0);
  // Ends all connections, and makes no new ones: Get is kUnavailable from now on.
  void Close();

  // Fails with OVERLOADED when the call takes longer than kDataCallTimeout.
  template <class T>
  kj::Promise<T> Limit(kj::Promise<T> call) {
    return io_.provider->getTimer().timeoutAfter(kDataCallTimeout.ns * kj::NANOSECONDS, kj::mv(call));
  }
  kj::Timer& timer() { return io_.provider->getTimer(); }

 private:
  using Key = std::pair<std::string, size_t>;  // address, hops
  // Shared, since a capability cannot be copied from a const reference, as a fork would.
  using Connected = std::shared_ptr<Result<rpc::DataServer::Client>>;
  struct Entry {
    kj::ForkedPromise<Connected> client;
    kj::Own<rpc::RpcConnection> connection;  // once connected
    uint64_t number;
  };
  void taskFailed(kj::Exception&&) override {}
  Result<rpc::DataServer::Client> Connection(const Key& key, uint64_t number,
                                             Result<kj::Own<rpc::RpcConnection>> connection);
  void Remove(const Key& key, uint64_t number);

  kj::AsyncIoContext& io_;
  rpc::Hello hello_;
  uint64_t next_number_ = 1;
  std::map<Key, Entry> entries_;
  kj::Own<kj::TaskSet> tasks_;  // null once closed
};

}  // namespace mr::dfs
