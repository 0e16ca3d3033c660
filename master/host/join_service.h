// The bootstrap of workers that ask for a certificate (join.capnp), at a master with the cluster's authority.
#pragma once

#include <capnp/capability.h>

#include <memory>

#include "common/rpc/node_identity.h"
#include "common/rpc/server.h"

namespace mr::master {

class Shell;

// Thread: made, used and destroyed on the KJ loop. It outlives the capabilities that it has made.
class JoinDesk {
 public:
  JoinDesk(Shell& shell, std::shared_ptr<const rpc::NodeIdentity> node);
  ~JoinDesk() noexcept(false);
  // Returns the bootstrap capability of a peer that has proved a join token or a certificate.
  capnp::Capability::Client Serve(const rpc::PeerInfo& peer);

  struct Impl;

 private:
  kj::Own<Impl> impl_;
};

}  // namespace mr::master
