// Reads bytes of blocks in pieces, from this worker's own store or from data servers.
#include <algorithm>

#include "common/io/bulk_digest.h"
#include "dfs/client/core.h"
#include "dfs/meta/service.h"

namespace mr::dfs {
namespace {

// One range from one server, with kPiecesInFlight pieces at a time.
struct Download {
  rpc::DataServer::Client server;
  Peers& peers;
  BlockRef block;
  std::string grant;
  uint64_t begin, end;
  uint64_t next;
  std::string bytes;
  Status failed;

  kj::Promise<void> Runner() {
    if (next >= end || !failed.ok()) return kj::READY_NOW;
    const uint64_t offset = next;
    const auto want = static_cast<uint32_t>(std::min<uint64_t>(kPieceBytes, end - offset));
    next += want;
    auto request = server.readBlockRequest();
    request.setId(block.id.value);
    request.setGeneration(block.generation);
    request.setOffset(offset);
    request.setLength(want);
    request.setGrant(kj::arrayPtr(reinterpret_cast<const kj::byte*>(grant.data()), grant.size()));
    auto call = request.send().then([this, offset, want](auto response) {
      const Status status = rpc::FromOutcome(response.getOutcome());
      const auto data = response.getData();
      if (!status.ok()) {
        failed = status;
      } else if (data.size() != want) {
        failed = Corrupted("the server sent " + std::to_string(data.size()) + " bytes of " + std::to_string(want));
      } else {
        std::copy(data.begin(), data.end(), bytes.begin() + static_cast<ptrdiff_t>(offset - begin));
      }
    });
    return peers.Limit(kj::mv(call)).then([this] { return Runner(); });
  }
};

}  // namespace

kj::Promise<Result<std::string>> DfsClient::Impl::ReadFrom(const LocatedBlock& block, size_t replica, uint64_t begin,
                                                           uint64_t end) {
  using Bytes = Result<std::string>;
  const BlockRef ref = block.block;
  const std::string address = block.addresses[replica];
  if (options.own_store != nullptr && address == options.own_address) {
    return OnPool(options.pool, [store = options.own_store, ref, begin, end] {
      return store->Read(ref.id, ref.generation, begin, end - begin);
    });
  }
  return peers.Get(address).then([this, ref, grant = replica < block.grants.size() ? block.grants[replica] : "", begin,
                                  end, address](Result<rpc::DataServer::Client> server) -> kj::Promise<Bytes> {
    if (!server.ok()) return Bytes(server.status());
    auto download = kj::heap<Download>(
        Download{*server, peers, ref, grant, begin, end, begin, std::string(end - begin, '\0'), Status::Ok()});
    auto& d = *download;
    auto runners = kj::heapArrayBuilder<kj::Promise<void>>(kPiecesInFlight);
    for (size_t i = 0; i < kPiecesInFlight; ++i) runners.add(d.Runner());
    return kj::joinPromises(runners.finish())
        .then([&d]() -> Bytes {
          if (!d.failed.ok()) return d.failed;
          return std::move(d.bytes);
        })
        .catch_([this, address](kj::Exception&& e) -> Bytes {
          peers.Forget(address);
          return Unavailable(rpc::FromException(e).message());
        })
        .attach(kj::mv(download));
  });
}

// Returns why no replica could be read. failures: the answer of each one.
Status DfsClient::Impl::Unreadable(const LocatedBlock& block, const ReadFailures& failures) {
  const std::string what = "block " + std::to_string(block.block.id.value) + " cannot be read: ";
  std::string damaged;
  for (const std::string& replica : block.damaged) damaged += (damaged.empty() ? "" : ", ") + replica;
  if (block.addresses.empty() && damaged.empty()) {
    return Unavailable(what +
                       "no live worker has a replica of it; restart the worker that has one (see mrctl workers)");
  }
  std::string text = what;
  if (!damaged.empty())
    text += (block.damaged.size() == 1 ? "its replica on " : "its replicas on ") + damaged + " " +
            (block.damaged.size() == 1 ? "is" : "are") + " damaged";
  if (!failures.said.empty()) text += (damaged.empty() ? "" : "; ") + failures.said;
  if (!failures.all_corrupted) return Unavailable(text);
  return Unavailable(text +
                     "; no good replica is on a live worker: restart lost workers that have one, or "
                     "write the file again (mrctl doctor lists all such files)");
}

kj::Promise<Result<std::string>> DfsClient::Impl::TryReplicas(kj::Own<LocatedBlock> block, size_t replica,
                                                              uint64_t begin, uint64_t end, ReadFailures failures) {
  using Bytes = Result<std::string>;
  LocatedBlock& b = *block;
  if (replica >= b.addresses.size()) return Bytes(Unreadable(b, failures));
  return ReadFrom(b, replica, begin, end)
      .then([this, &b, begin, end](Bytes bytes) -> kj::Promise<Bytes> {
        if (!bytes.ok() || begin != 0 || end != b.block.length) return kj::mv(bytes);
        return OnPool(options.pool, [bytes = std::move(bytes), digest = b.block.digest]() mutable -> Bytes {
          if (BulkHash64(*bytes) != digest) return Corrupted("its bytes differ from those that were written");
          return std::move(bytes);
        });
      })
      .then([this, block = kj::mv(block), replica, begin, end,
             failures = std::move(failures)](Bytes bytes) mutable -> kj::Promise<Bytes> {
        if (bytes.ok()) return kj::mv(bytes);
        const std::string& address = block->addresses[replica];
        const bool corrupted = bytes.status().code() == Code::kCorrupted;
        if (corrupted && options.own_store != nullptr && address == options.own_address) {
          // Also covers a block with correct chunks but a wrong whole, which only a reader of the whole block detects.
          OnPool(options.pool, [store = options.own_store, ref = block->block, why = bytes.status().message()] {
            store->MarkSuspect(ref.id, ref.generation, why);
          }).detach([](kj::Exception&&) {});
        }
        if (!failures.said.empty()) failures.said += "; ";
        failures.said += address + ": " + bytes.status().message();
        failures.all_corrupted = failures.all_corrupted && corrupted;
        return TryReplicas(kj::mv(block), replica + 1, begin, end, std::move(failures));
      });
}

kj::Promise<Result<std::string>> DfsClient::Impl::ReadRange(LocatedBlock block, uint64_t begin, uint64_t end) {
  if (begin > end || end > block.block.length) {
    return Result<std::string>(InvalidArgument("the requested range ends beyond its block"));
  }
  return TryReplicas(kj::heap<LocatedBlock>(std::move(block)), 0, begin, end, {}).attach(kj::addRef(*this));
}

}  // namespace mr::dfs
