// Converts plain structs of the block store to and from Cap'n Proto, and effects to commands.
#include "common/rpc/wire_walk.h"
#include "dfs/meta/service.h"

namespace mr::rpc {

template <class W>
void Walk(W& w, Is<dfs::FileInfo> auto& info) {
  MR_WIRE(w, info.id, Id);
  MR_WIRE(w, info.path, Path);
  MR_WIRE(w, info.is_directory, IsDirectory);
  MR_WIRE(w, info.bytes, Bytes);
  MR_WIRE(w, info.replication, Replication);
  MR_WIRE(w, info.block_bytes, BlockBytes);
  MR_WIRE(w, info.blocks, Blocks);
  MR_WIRE(w, info.modified_unix_ms, ModifiedUnixMs);
  MR_WIRE(w, info.missing_blocks, MissingBlocks);
  MR_WIRE(w, info.least_replicas, LeastReplicas);
  MR_WIRE(w, info.owner, Owner);
  MR_WIRE(w, info.read_by_all, ReadByAll);
}

template <class W>
void Walk(W& w, Is<dfs::StoreHealth::Trouble> auto& trouble) {
  MR_WIRE(w, trouble.path, Path);
  MR_WIRE(w, trouble.blocks, Blocks);
  MR_WIRE(w, trouble.missing, Missing);
  MR_WIRE(w, trouble.corrupt, Corrupt);
  MR_WIRE(w, trouble.under_replicated, UnderReplicated);
  MR_WIRE(w, trouble.damaged, Damaged);
}

template <class W>
void Walk(W& w, Is<dfs::StoreHealth::Disk> auto& disk) {
  MR_WIRE(w, disk.worker, Worker);
  MR_WIRE(w, disk.address, Address);
  MR_WIRE(w, disk.why, Why);
}

template <class W>
void Walk(W& w, Is<dfs::StoreHealth> auto& health) {
  MR_WIRE(w, health.safe_mode, SafeMode);
  MR_WIRE(w, health.files, Files);
  MR_WIRE(w, health.missing_files, MissingFiles);
  MR_WIRE(w, health.corrupt_files, CorruptFiles);
  MR_WIRE(w, health.under_replicated_files, UnderReplicatedFiles);
  MR_WIRE(w, health.troubles, Troubles);
  MR_WIRE(w, health.failed_disks, FailedDisks);
  MR_WIRE(w, health.awaited, Awaited);
}

}  // namespace mr::rpc

namespace mr::dfs {

void ToWire(const FileInfo& info, rpc::FileStatus::Builder out) { rpc::WriteWire(info, out); }
FileInfo FromWire(rpc::FileStatus::Reader in) { return rpc::ReadWire<FileInfo>(in); }
void ToWire(const StoreHealth& health, rpc::StoreHealth::Builder out) { rpc::WriteWire(health, out); }
StoreHealth FromWire(rpc::StoreHealth::Reader in) { return rpc::ReadWire<StoreHealth>(in); }

EffectTarget TargetOf(const Effect& effect) {
  struct Visitor {
    EffectTarget operator()(const ReplicateBlock& e) const { return {e.from, e.from_incarnation}; }
    EffectTarget operator()(const DeleteReplica& e) const { return {e.worker, e.incarnation}; }
    EffectTarget operator()(const EmptyQuarantine& e) const { return {e.worker, e.incarnation}; }
  };
  return std::visit(Visitor{}, effect);
}

Command CommandOf(const Effect& effect) {
  struct Visitor {
    Command operator()(const ReplicateBlock& e) const {
      return command::ReplicateBlock{e.block, e.to_address, e.to, ""};
    }
    Command operator()(const DeleteReplica& e) const { return command::DeleteBlock{e.block}; }
    Command operator()(const EmptyQuarantine& e) const { return command::EmptyQuarantine{e.block}; }
  };
  return std::visit(Visitor{}, effect);
}

}  // namespace mr::dfs
