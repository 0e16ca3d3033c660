// The FileSystem interface of dfs.capnp over a Namespace that somebody else owns, and the effects
// as commands of control.capnp. The master implements FsHost and hands out the capability:
//
//   MasterForClient.files  ->  results.setFiles(MakeFileSystem(host));
//   effects of Apply       ->  for each: ToCommand(effect, commands[i]); send to TargetOf(effect)
//                              if its incarnation is the current one, else forget it.
//
// Workers that write job outputs take the same capability over a connection of their own with hello
// role `client` (MasterForClient.files): bulk of metadata calls then does not delay control.
#pragma once

#include <kj/async.h>

#include <functional>

#include "common/base/status.h"
#include "dfs/meta/namespace.h"
#include "schema/control.capnp.h"
#include "schema/dfs.capnp.h"

namespace mr::dfs {

// What the service needs of its daemon. Called on the KJ loop; closures run on the thread that owns
// the namespace and must not keep references into it; promises resolve on the KJ loop.
class FsHost {
 public:
  using PrepareFn = std::function<Namespace::Prepared(const Namespace&, const Stamp& now)>;
  // On the owner's thread: runs `prepare` with the present time; a record is appended to the journal
  // and applied, then `then` (may be empty) reads what it needs for the answer. Resolves with the
  // status of prepare, after the record is durable (a soft record or none: at once). Dispatches the
  // effects. Must not be cancelled half-way when the promise is dropped.
  virtual kj::Promise<Status> Mutate(PrepareFn prepare, std::function<void(const Namespace&)> then) = 0;
  // On the owner's thread: runs fn.
  virtual kj::Promise<void> Query(std::function<void(const Namespace&)> fn) = 0;

 protected:
  ~FsHost() = default;  // nobody owns it by this base
};

// host must outlive the capability and all calls.
rpc::FileSystem::Client MakeFileSystem(FsHost& host);

// Plain structs to and from the wire.
void ToWire(const BlockRef& block, rpc::BlockReport::Builder out);
BlockRef FromWire(rpc::BlockReport::Reader in);
void ToWire(const LocatedBlock& block, rpc::BlockLocation::Builder out);
LocatedBlock FromWire(rpc::BlockLocation::Reader in);  // for Split.blocks too; without worker ids
void ToWire(const FileInfo& info, rpc::FileStatus::Builder out);
FileInfo FromWire(rpc::FileStatus::Reader in);
void ToWire(const StoreHealth& health, rpc::StoreHealth::Builder out);
StoreHealth FromWire(rpc::StoreHealth::Reader in);
void ToWire(const StagedBlock& block, rpc::StagedBlock::Builder out);
StagedBlock FromWire(rpc::StagedBlock::Reader in);

// A part of a job's output as it stands in a task's manifest, for PrepareCommit.
OutputFile FromWire(rpc::FileOutput::Reader in);

// The worker (and its life) that an effect is for, and the command that it gets.
struct EffectTarget {
  WorkerId worker;
  Incarnation incarnation = 0;
};
EffectTarget TargetOf(const Effect& effect);
void ToCommand(const Effect& effect, rpc::Command::Builder out);

}  // namespace mr::dfs
