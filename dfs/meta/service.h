// Implements the FileSystem interface of dfs.capnp over a Namespace with another owner, and converts effects to
// commands of control.capnp. The master implements FsHost and hands out the capability:
//
//   MasterForClient.files  ->  results.setFiles(MakeFileSystem(host, guard()));
//   effects of Apply       ->  for each: send CommandOf(effect) to TargetOf(effect)
//                              if its incarnation is the current one, else drop it.
//
// Workers that write job outputs get the same capability over a separate connection with hello role `client`
// (MasterForClient.files), so that many metadata calls do not delay control.
#pragma once

#include <kj/async.h>

#include <functional>
#include <vector>

#include "common/base/status.h"
#include "common/model/changed.h"
#include "common/rpc/control_wire.h"
#include "common/rpc/guarded.h"
#include "common/secure/grant.h"
#include "dfs/meta/assigned_attempts.h"
#include "dfs/meta/namespace.h"
#include "schema/control.capnp.h"
#include "schema/dfs.capnp.h"

namespace mr::dfs {

// The daemon's side of the service. Thread: called on the KJ loop; promises resolve there. Closures run on the thread
// that owns the namespace and must not keep references into it.
class FsHost {
 public:
  using PrepareFn = std::function<Namespace::Prepared(const Namespace&, const Stamp& now)>;
  // Runs `prepare` on the owner's thread with the present time. Appends its record to the journal and applies it; then
  // `then` (may be empty) reads the answer's values. Dispatches the effects. Resolves with the status of prepare, after
  // the record is durable (for a soft record or none: at once), and with the number of its record. Runs to its end even
  // if the promise is dropped.
  virtual kj::Promise<Changed> Mutate(PrepareFn prepare, std::function<void(const Namespace&)> then) = 0;
  // Does what Mutate does for each change, in their order. Each succeeds or fails on its own. Resolves when the records
  // of all are durable. A host may do all of them in one turn of the owner's thread. Here: a Mutate of each.
  struct Change {
    PrepareFn prepare;
    std::function<void(const Namespace&)> then;  // may be empty
  };
  virtual kj::Promise<std::vector<Changed>> MutateAll(std::vector<Change> changes);
  // Runs fn on the owner's thread.
  virtual kj::Promise<void> Query(std::function<void(const Namespace&)> fn) = 0;
  // Fills in the grants of a block's places, where peers need them. Thread: the KJ loop. Here: none.
  virtual void Grant(secure::Right::Kind, LocatedBlock*) {}
  // Returns the attempts that workers were given, for use in closures on the owner's thread. It lives as long as the
  // host. Here: null, no worker writes. Thread: the KJ loop.
  virtual const AssignedAttempts* attempts() { return nullptr; }

 protected:
  ~FsHost() = default;  // no owner uses this base
};

// Files of one createFiles or completeFiles. Measured: a file costs the master 46 us of CPU in both calls, so that one
// call holds the owner's thread for at most 3 ms.
inline constexpr size_t kMostFilesOfCall = 128;

// Makes the capability of a host's namespace for the peer of a connection. Requires: host outlives the capability and
// all calls.
rpc::FileSystem::Client MakeFileSystem(FsHost& host, rpc::GuardPtr guard);

// Convert plain structs to and from the wire.
void ToWire(const FileInfo& info, rpc::FileStatus::Builder out);
FileInfo FromWire(rpc::FileStatus::Reader in);
void ToWire(const StoreHealth& health, rpc::StoreHealth::Builder out);
StoreHealth FromWire(rpc::StoreHealth::Reader in);

// The worker, with its incarnation, that executes an effect.
struct EffectTarget {
  WorkerId worker;
  Incarnation incarnation = 0;
};
EffectTarget TargetOf(const Effect& effect);
Command CommandOf(const Effect& effect);

}  // namespace mr::dfs
