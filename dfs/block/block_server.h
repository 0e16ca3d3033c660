// Serves a worker's block store over data.capnp: the worker's DataServer::Server delegates
//
//   kj::Promise<void> writeBlock(WriteBlockContext c) override { return blocks_.WriteBlock(c); }
//   kj::Promise<void> readBlock(ReadBlockContext c) override { return blocks_.ReadBlock(c); }
//
// and carries out the master's commands with Replicate and Delete. Writes are pipelines: each
// member passes pieces on while it writes them to disk; a member downstream that fails is dropped,
// the others go on, and `finish` answers which workers have the block on disk. The writer decides
// whether these are enough (dfs/client does: min(2, length of the pipeline)).
//
// Lives on a KJ loop; every touch of the disk runs on `pool`.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <string>

#include "common/rpc/hello.h"
#include "dfs/block/block_store.h"
#include "dfs/block/offload.h"
#include "schema/data.capnp.h"

namespace mr::dfs {

class BlockServer {
 public:
  struct Options {
    WorkerId worker;   // 0 until registered: see set_worker
    rpc::Hello hello;  // role kData, the cluster id, our incarnation: for connections downstream
    Pool pool;
    // On the loop. A block is durable here: send MasterForWorker.blockReceived. Must not block.
    std::function<void(const BlockRef&)> on_durable;
  };
  // io, store and pool must outlive the loop's last turn. The end of this object, on the loop, ends the calls under
  // way: they fail, and what they had begun on the pool runs to its end and reports to nobody.
  BlockServer(kj::AsyncIoContext& io, BlockStore& store, Options options);
  ~BlockServer();

  // The id that `durable` of finish says; given at registration.
  void set_worker(WorkerId worker);

  using WriteContext = capnp::CallContext<rpc::DataServer::WriteBlockParams, rpc::DataServer::WriteBlockResults>;
  using ReadContext = capnp::CallContext<rpc::DataServer::ReadBlockParams, rpc::DataServer::ReadBlockResults>;
  kj::Promise<void> WriteBlock(WriteContext context);
  kj::Promise<void> ReadBlock(ReadContext context);

  // Commands of the master. Replicate reads the replica here (verified) and writes it to the data
  // server at to_address; that worker reports it, and a failure is the caller's to report
  // (MasterForWorker.blockNotCopied). Delete and EmptyQuarantine: those of BlockStore, on the pool.
  struct Copied {
    Status status;
    bool source_failed = false;  // the replica here could not be read
  };
  kj::Promise<Copied> Replicate(BlockRef block, std::string to_address);
  kj::Promise<Status> Delete(BlockRef block);
  kj::Promise<Status> EmptyQuarantine(BlockRef block);
  // One scrubber step on the pool; the store's observer hears of what it finds. The worker calls it from a timer.
  kj::Promise<void> Scrub(uint64_t max_bytes);

  struct Impl;

 private:
  kj::Own<Impl> impl_;
};

}  // namespace mr::dfs
