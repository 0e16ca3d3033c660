#include "dfs/block/pipeline.h"

#include "common/io/crc32c.h"
#include "common/rpc/kj_status.h"
#include "dfs/meta/service.h"

namespace mr::dfs {
namespace {

// Returns the status of a failed or overdue call, and drops the connection. A peer that hangs does not end the
// connection itself, and neither does one that broke the protocol.
Status GiveUp(Peers& peers, const std::string& address, size_t hops, const kj::Exception& e) {
  peers.Forget(address, hops);
  return Unavailable("data server " + address + ": " + rpc::FromException(e).message());
}

// A pipeline whose first server is at the other end of a connection.
class RemotePipe final : public BlockPipe {
 public:
  // hops: number of servers after the one at `address`.
  RemotePipe(Peers& peers, std::string address, size_t hops, rpc::BlockWriter::Client writer)
      : peers_(peers), address_(std::move(address)), hops_(hops), writer_(kj::mv(writer)) {}

  kj::Promise<Status> Write(const Piece& piece) override;
  kj::Promise<Result<std::vector<WorkerId>>> Finish(uint64_t length, uint64_t digest) override;

 private:
  Peers& peers_;
  std::string address_;
  size_t hops_;
  rpc::BlockWriter::Client writer_;
  uint64_t offset_ = 0;
};

}  // namespace

kj::Promise<Result<kj::Own<BlockPipe>>> BlockPipe::Open(Peers& peers, BlockRef block,
                                                        std::vector<std::string> addresses,
                                                        std::vector<std::string> grants) {
  using Opened = Result<kj::Own<BlockPipe>>;
  const std::string head = addresses.front();
  const size_t hops = addresses.size() - 1;
  return peers.Get(head, hops)
      .then([&peers, block, addresses = std::move(addresses), grants = std::move(grants), head,
             hops](Result<rpc::DataServer::Client> server) -> kj::Promise<Opened> {
        if (!server.ok()) return Opened(server.status());
        auto request = server->writeBlockRequest();
        ToWire(block, request.initBlock());
        auto downstream = request.initDownstream(static_cast<uint>(hops));
        for (uint i = 0; i < downstream.size(); ++i) downstream.set(i, addresses[i + 1].c_str());
        auto given = request.initGrants(static_cast<uint>(grants.size()));
        for (uint i = 0; i < given.size(); ++i) {
          given.set(i, kj::arrayPtr(reinterpret_cast<const kj::byte*>(grants[i].data()), grants[i].size()));
        }
        auto call = request.send().then([&peers, head, hops](auto response) -> Opened {
          const Status status = rpc::FromOutcome(response.getOutcome());
          if (!status.ok()) return status.With("data server " + head);
          return kj::Own<BlockPipe>(kj::heap<RemotePipe>(peers, head, hops, response.getWriter()));
        });
        return peers.Limit(kj::mv(call)).catch_([&peers, head, hops](kj::Exception&& e) -> Opened {
          return GiveUp(peers, head, hops, e);
        });
      });
}

kj::Promise<Status> RemotePipe::Write(const Piece& piece) {
  auto request = writer_.writeRequest();
  request.setOffset(offset_);
  request.setData(kj::arrayPtr(reinterpret_cast<const kj::byte*>(piece->data()), piece->size()));
  request.setCrc32c(Crc32c(*piece));
  offset_ += piece->size();
  auto call = request.send().then([](auto response) -> Status { return rpc::FromOutcome(response.getOutcome()); });
  return peers_.Limit(kj::mv(call))
      .catch_([&peers = peers_, address = address_, hops = hops_](kj::Exception&& e) -> Status {
        return GiveUp(peers, address, hops, e);
      });
}

kj::Promise<Result<std::vector<WorkerId>>> RemotePipe::Finish(uint64_t length, uint64_t digest) {
  using Durable = Result<std::vector<WorkerId>>;
  auto request = writer_.finishRequest();
  request.setLength(length);
  request.setDigest(digest);
  auto call = request.send().then([](auto response) -> Durable {
    const Status status = rpc::FromOutcome(response.getOutcome());
    if (!status.ok()) return status;
    std::vector<WorkerId> durable;
    for (const uint32_t worker : response.getDurable()) durable.push_back({worker});
    return durable;
  });
  return peers_.Limit(kj::mv(call))
      .catch_([&peers = peers_, address = address_, hops = hops_](kj::Exception&& e) -> Durable {
        return GiveUp(peers, address, hops, e);
      });
}

kj::Promise<Result<std::vector<StoredBlock>>> SendBlocks(Peers& peers, SmallBlocks blocks,
                                                         std::vector<std::string> addresses) {
  using Sent = Result<std::vector<StoredBlock>>;
  const std::string head = addresses.front();
  const size_t hops = addresses.size() - 1;
  return peers.Get(head, hops)
      .then([&peers, blocks = std::move(blocks), addresses = std::move(addresses), head,
             hops](Result<rpc::DataServer::Client> server) -> kj::Promise<Sent> {
        if (!server.ok()) return Sent(server.status());
        uint64_t bytes = 0;
        for (const SmallBlock& block : *blocks) bytes += block.bytes.size();
        auto request = server->writeBlocksRequest(capnp::MessageSize{bytes / 8 + 64 * blocks->size(), 0});
        auto list = request.initBlocks(static_cast<uint>(blocks->size()));
        for (uint i = 0; i < list.size(); ++i) {
          const SmallBlock& from = (*blocks)[i];
          ToWire(from.block, list[i].initBlock());
          list[i].setData(kj::StringPtr(from.bytes.c_str(), from.bytes.size()).asBytes());
          list[i].setCrc32c(from.crc32c);
          auto grants = list[i].initGrants(static_cast<uint>(from.grants.size()));
          for (uint g = 0; g < grants.size(); ++g) {
            grants.set(g, kj::StringPtr(from.grants[g].c_str(), from.grants[g].size()).asBytes());
          }
        }
        auto downstream = request.initDownstream(static_cast<uint>(hops));
        for (uint i = 0; i < downstream.size(); ++i) downstream.set(i, addresses[i + 1].c_str());
        auto call = request.send().then([n = blocks->size(), head](auto response) -> Sent {
          std::vector<StoredBlock> stored;
          for (const auto block : response.getBlocks()) {
            stored.push_back({rpc::FromOutcome(block.getOutcome()), {}});
            for (const uint32_t worker : block.getDurable()) stored.back().durable.push_back({worker});
          }
          if (stored.size() != n) return Unavailable("data server " + head + " answers for other blocks");
          return stored;
        });
        return peers.Limit(kj::mv(call)).catch_([&peers, head, hops](kj::Exception&& e) -> Sent {
          return GiveUp(peers, head, hops, e);
        });
      });
}

}  // namespace mr::dfs
