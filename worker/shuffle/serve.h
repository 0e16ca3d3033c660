// Serves this worker's shuffle outputs to readers: the shuffle methods of data.capnp's DataServer.
//
// The data server of the worker daemon passes its fetch, table, openFetch and probe calls to one ShuffleServing. Lives
// on the KJ loop of the data server; the store is read on the pool. All input is checked: a replica of another
// incarnation, an unknown chunk or an offset past the end is an error in the reply's outcome. A replica that is dropped
// while a reply is made is not in that reply.
#pragma once

#include <kj/async.h>

#include <memory>

#include "common/base/ids.h"
#include "common/rpc/guarded.h"
#include "schema/data.capnp.h"
#include "worker/shuffle/on_pool.h"
#include "worker/shuffle/replica_readers.h"
#include "worker/shuffle/store.h"

namespace mr::worker {

// Most data bytes of one reply: a usual chunk with its last record (task/protocol.h), so that it needs no second call.
inline constexpr uint64_t kMaxReplyBytes = (1u << 20) + (128u << 10);
// Most requests of one call that are considered. The rest stays unanswered, as any suffix may (guess: with 4 KiB
// segments a reply still fills up).
inline constexpr uint32_t kMaxRequestsPerCall = 256;
// Most rows that `table` sends. Larger tables are read as chunk 0 of kTablePartition, in pieces.
inline constexpr uint32_t kMaxTableRows = 20'000;

class ShuffleServing {
 public:
  ShuffleServing(std::shared_ptr<ShuffleStore> store, PostToPool post_to_pool, Incarnation incarnation);
  ~ShuffleServing();  // open sessions continue until their connections end

  // Names for the contexts of DataServer::Server, whose own names are protected.
  using Wire = rpc::DataServer;
  using FetchContext = capnp::CallContext<Wire::FetchParams, Wire::FetchResults>;
  using TableContext = capnp::CallContext<Wire::TableParams, Wire::TableResults>;
  using OpenFetchContext = capnp::CallContext<Wire::OpenFetchParams, Wire::OpenFetchResults>;
  using ProbeContext = capnp::CallContext<Wire::ProbeParams, Wire::ProbeResults>;
  // guard: of the connection, which needs a grant for the outputs of each job; a session is for its peer.
  kj::Promise<void> Fetch(FetchContext context, const rpc::GuardPtr& guard);
  kj::Promise<void> Table(TableContext context, const rpc::GuardPtr& guard);
  kj::Promise<void> OpenFetch(OpenFetchContext context, rpc::GuardPtr guard);
  kj::Promise<void> Probe(ProbeContext context);

  struct Counters {
    uint64_t replies = 0;
    uint64_t bytes = 0;  // of chunks, as sent
  };
  Counters counters() const;
  // The readers of local replicas. Also counts those without a connection.
  std::shared_ptr<ReplicaReaders> readers() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace mr::worker
