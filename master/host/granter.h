// Makes the grants that go with places of blocks and outputs (common/adr/0019-grants.md).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/model/command.h"
#include "common/model/split.h"
#include "common/rpc/server.h"
#include "common/secure/grant.h"

namespace mr::master {

// Thread: any. What names a worker by a number with which none has registered at this master gets no grant for it.
class Granter {
 public:
  explicit Granter(secure::GrantKey key) : key_(std::move(key)) {}
  // Reads the key of the cluster whose credentials are in this directory, and makes it where there is none. Blocks.
  // Errors: those of files.
  static Result<std::shared_ptr<Granter>> Load(const std::string& credentials);

  // Returns the key of a worker that registers, for its answer. address: of its data server.
  Secret<std::string> Registered(WorkerId worker, const std::string& name, const std::string& address);
  // Returns a ticket for the worker with this address: it says who the caller is, as long as the caller's token is
  // good. Errors: kUnavailable: no such worker has registered with this master.
  Result<Secret<std::string>> TicketFor(const std::string& address, const rpc::PeerInfo& caller) const;
  // Fills in the grants of a block's places.
  void Fill(secure::Right::Kind kind, LocatedBlock* block) const;
  // Fills in the grants for blocks that a worker needs to carry a command out.
  void Fill(Command* command) const;
  // Returns the grant for a right at a worker; "" for one that is not known.
  std::string At(WorkerId worker, const secure::Right& right) const;
  // Returns the grant for a right at the worker of this name, which may have to register first.
  std::string At(const std::string& name, const secure::Right& right) const;

 private:
  const secure::GrantKey key_;
  mutable std::mutex mutex_;
  struct Registration {
    std::shared_ptr<const secure::GrantKey> key;
    std::string address;
  };
  std::map<WorkerId, Registration> workers_;
};

}  // namespace mr::master
