// A worker's data server as the master meets it: says whether outputs are here, and what a verification finds.
#pragma once

#include <map>
#include <string>

#include "common/rpc/server.h"
#include "common/rpc/wire.h"
#include "schema/data.capnp.h"
#include "tests/master/host/fake_worker.h"

namespace mr::test {

class FakeData {
 public:
  FakeData(TestIo& io, uint64_t incarnation) {
    rpc::Hello own;
    own.role = rpc::Role::kDataServer;
    own.incarnation = incarnation;
    server_ = kj::heap<rpc::RpcServer>(
        io.io, own,
        [this](const rpc::Hello&, const rpc::PeerInfo&) -> Result<capnp::Capability::Client> {
          return capnp::Capability::Client(kj::heap<Server>(*this));
        },
        rpc::MakeAuthenticator({}).value());
    address_ = "127.0.0.1:" + std::to_string(io.Wait(server_->Listen("127.0.0.1", 0)).value());
  }
  const std::string& address() const { return address_; }

  std::map<AttemptId, rpc::Finding> findings;  // of verifications; others are whole
  std::map<AttemptId, int> probed, verified;   // calls
  Digest128 content;                           // that the last verification was to compare with
  uint32_t partitions = 0;

 private:
  class Server final : public rpc::DataServer::Server {
   public:
    explicit Server(FakeData& d) : d_(d) {}
    kj::Promise<void> probe(ProbeContext context) override {
      ++d_.probed[Of(context.getParams().getReplica())];
      context.getResults().setPresent(true);
      return kj::READY_NOW;
    }
    kj::Promise<void> verify(VerifyContext context) override {
      const AttemptId id = Of(context.getParams().getReplica());
      ++d_.verified[id];
      d_.content = rpc::FromWire(context.getParams().getContent());
      d_.partitions = context.getParams().getPartitions();
      const auto found = d_.findings.find(id);
      context.getResults().setFinding(found == d_.findings.end() ? rpc::Finding::WHOLE : found->second);
      context.getResults().setWhy("partition 1, chunk 0: a stored chunk differs from its digest");
      return kj::READY_NOW;
    }

   private:
    static AttemptId Of(rpc::Replica::Reader replica) {
      return {rpc::FromWire(replica.getTask()), replica.getAttempt()};
    }
    FakeData& d_;
  };

  kj::Own<rpc::RpcServer> server_;
  std::string address_;
};

}  // namespace mr::test
