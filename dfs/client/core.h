// Shared by the parts of the client: the master's interface, connections to data servers, and reading bytes of blocks.
// Private to dfs/client. Lives on a KJ loop.
#pragma once

#include <kj/async-io.h>

#include <string>

#include "common/rpc/kj_status.h"
#include "dfs/block/offload.h"
#include "dfs/block/peers.h"
#include "dfs/client/dfs_client.h"

namespace mr::dfs {

// Reference-counted: the client's calls and writers may outlive it.
struct DfsClient::Impl : kj::Refcounted {
  rpc::FileSystem::Client files;
  Options options;
  Peers peers;

  Impl(kj::AsyncIoContext& io, rpc::FileSystem::Client f, Options o)
      : files(kj::mv(f)), options(std::move(o)), peers(io, options.hello, options.tickets) {}

  // Waits until the master is connected, or does not come back (Options::reconnected).
  kj::Promise<void> Reconnected();

  // Reads bytes [begin, end) of a block from the first replica that has them. Checks a whole block against its digest.
  // Errors: contain the answer of each replica.
  kj::Promise<Result<std::string>> ReadRange(LocatedBlock block, uint64_t begin, uint64_t end);

 private:
  kj::Promise<Result<std::string>> ReadFrom(const LocatedBlock& block, size_t replica, uint64_t begin, uint64_t end);
  struct ReadFailures {
    std::string said;           // the answer of each replica
    bool all_corrupted = true;  // every answer so far was kCorrupted
  };
  kj::Promise<Result<std::string>> TryReplicas(kj::Own<LocatedBlock> block, size_t replica, uint64_t begin,
                                               uint64_t end, ReadFailures failures);
  static Status Unreadable(const LocatedBlock& block, const ReadFailures& failures);
};

// Turns a broken connection to the master into a status.
template <class T>
kj::Promise<T> Guard(kj::Promise<T> call) {
  return call.catch_([](kj::Exception&& e) -> T { return rpc::FromException(e).With("the master"); });
}

kj::Promise<Result<kj::Own<FileWriter>>> OpenWriter(DfsClient::Impl& client, std::string path, PutOptions options);

}  // namespace mr::dfs
