// Serves shuffle chunks and blocks to other daemons and clients. One object per connection; it passes each method to
// the component that implements it. Thread: the KJ loop.
#pragma once

#include <utility>

#include "common/rpc/guarded.h"
#include "dfs/block/block_server.h"
#include "schema/data.capnp.h"
#include "worker/shuffle/serve.h"
#include "worker/shuffle/verify.h"

namespace mr::worker {

class DataServer final : public rpc::Guarded<rpc::DataServer> {
 public:
  DataServer(rpc::GuardPtr guard, ShuffleServing& shuffle, Verifier& verifier, dfs::BlockServer& blocks)
      : Guarded(std::move(guard)), shuffle_(shuffle), verifier_(verifier), blocks_(blocks) {}

  kj::Promise<void> fetch(FetchContext c) override { return shuffle_.Fetch(c, guard()); }
  kj::Promise<void> table(TableContext c) override { return shuffle_.Table(c, guard()); }
  kj::Promise<void> openFetch(OpenFetchContext c) override { return shuffle_.OpenFetch(c, guard()); }
  kj::Promise<void> probe(ProbeContext c) override { return shuffle_.Probe(c); }
  kj::Promise<void> verify(VerifyContext c) override { return verifier_.Answer(c); }
  kj::Promise<void> writeBlock(WriteBlockContext c) override { return blocks_.WriteBlock(c, guard()); }
  kj::Promise<void> writeBlocks(WriteBlocksContext c) override { return blocks_.WriteBlocks(c, guard()); }
  kj::Promise<void> readBlock(ReadBlockContext c) override { return blocks_.ReadBlock(c, guard()); }

 private:
  ShuffleServing& shuffle_;
  Verifier& verifier_;
  dfs::BlockServer& blocks_;
};

}  // namespace mr::worker
