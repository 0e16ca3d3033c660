// Serves a worker's block store over data.capnp. The worker's DataServer::Server delegates
//
//   kj::Promise<void> writeBlock(WriteBlockContext c) override { return blocks_.WriteBlock(c, guard()); }
//   kj::Promise<void> writeBlocks(WriteBlocksContext c) override { return blocks_.WriteBlocks(c, guard()); }
//   kj::Promise<void> readBlock(ReadBlockContext c) override { return blocks_.ReadBlock(c, guard()); }
//
// and carries out the master's commands with Replicate and Delete. Writes are pipelines: each member passes pieces on
// while it writes them to disk. A failed member downstream is dropped, and the others go on. `finish` answers which
// workers have the block on disk. The writer decides whether these are enough (dfs/client: min(2, length of the
// pipeline)).
//
// Lives on a KJ loop. All disk accesses run on `pool`.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <string>

#include "common/rpc/guarded.h"
#include "common/rpc/hello.h"
#include "dfs/block/block_store.h"
#include "dfs/block/offload.h"
#include "dfs/block/pipeline.h"
#include "schema/data.capnp.h"

namespace mr::dfs {

class BlockServer {
 public:
  struct Options {
    WorkerId worker;   // 0 until registered: see set_worker
    rpc::Hello hello;  // role kData, the cluster id, our incarnation: for connections downstream
    Pool pool;
    // Called on the loop when a block is durable here: send MasterForWorker.blockReceived. Must not block.
    std::function<void(const BlockRef&)> on_durable;
  };
  // Requires: io, store and pool outlive the loop's last turn. Destroying this object, on the loop, makes the calls
  // under way fail. Their work on the pool runs to its end, and its result is dropped.
  BlockServer(kj::AsyncIoContext& io, BlockStore& store, Options options);
  ~BlockServer();

  // Sets the id that `durable` of finish contains; known from the registration on.
  void set_worker(WorkerId worker);

  using WriteContext = capnp::CallContext<rpc::DataServer::WriteBlockParams, rpc::DataServer::WriteBlockResults>;
  using GroupContext = capnp::CallContext<rpc::DataServer::WriteBlocksParams, rpc::DataServer::WriteBlocksResults>;
  using ReadContext = capnp::CallContext<rpc::DataServer::ReadBlockParams, rpc::DataServer::ReadBlockResults>;
  // guard: of the connection, which needs a grant for each block; a writer is for its peer.
  kj::Promise<void> WriteBlock(WriteContext context, rpc::GuardPtr guard);
  kj::Promise<void> WriteBlocks(GroupContext context, const rpc::GuardPtr& guard);
  kj::Promise<void> ReadBlock(ReadContext context, const rpc::GuardPtr& guard);

  // Opens a pipeline that begins with this server, for a writer on the same loop: its pieces are not copied, and need
  // no connection. downstream, grants: of the other servers. Errors: that of the own store.
  kj::Promise<Result<kj::Own<BlockPipe>>> OpenHere(BlockRef block, std::vector<std::string> downstream,
                                                   std::vector<std::string> grants);

  // Commands of the master. Replicate reads the local replica (verified) and writes it to the data server at
  // to_address. That worker reports the new replica. The caller reports a failure (MasterForWorker.blockNotCopied).
  // Delete and EmptyQuarantine call BlockStore on the pool.
  struct Copied {
    Status status;
    bool source_failed = false;  // the local replica could not be read
  };
  kj::Promise<Copied> Replicate(BlockRef block, std::string to_address, std::string grant);
  kj::Promise<Status> Delete(BlockRef block);
  kj::Promise<Status> EmptyQuarantine(BlockRef block);
  // Runs one scrubber step on the pool; the store's observers receive the findings. The worker calls it from a timer.
  kj::Promise<void> Scrub(uint64_t max_bytes);

  struct Impl;

 private:
  kj::Own<Impl> impl_;
};

}  // namespace mr::dfs
