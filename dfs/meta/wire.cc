// Converts plain structs of the block store to and from Cap'n Proto. A reader of a pointer field is taken once and
// kept, since each get counts against the message's traversal limit.
#include "dfs/meta/service.h"

namespace mr::dfs {

void ToWire(const FileInfo& info, rpc::FileStatus::Builder out) {
  out.setId(info.id);
  out.setPath(info.path.c_str());
  out.setIsDirectory(info.is_directory);
  out.setBytes(info.bytes);
  out.setReplication(info.replication);
  out.setBlockBytes(info.block_bytes);
  out.setBlocks(info.blocks);
  out.setModifiedUnixMs(info.modified_unix_ms);
  out.setMissingBlocks(info.missing_blocks);
  out.setLeastReplicas(info.least_replicas);
}

FileInfo FromWire(rpc::FileStatus::Reader in) {
  FileInfo out;
  out.id = in.getId();
  out.path = in.getPath().cStr();
  out.is_directory = in.getIsDirectory();
  out.bytes = in.getBytes();
  out.replication = in.getReplication();
  out.block_bytes = in.getBlockBytes();
  out.blocks = in.getBlocks();
  out.modified_unix_ms = in.getModifiedUnixMs();
  out.missing_blocks = in.getMissingBlocks();
  out.least_replicas = in.getLeastReplicas();
  return out;
}

void ToWire(const StoreHealth& health, rpc::StoreHealth::Builder out) {
  out.setSafeMode(health.safe_mode);
  out.setFiles(health.files);
  out.setMissingFiles(health.missing_files);
  out.setCorruptFiles(health.corrupt_files);
  out.setUnderReplicatedFiles(health.under_replicated_files);
  auto troubles = out.initTroubles(static_cast<uint>(health.troubles.size()));
  for (uint i = 0; i < troubles.size(); ++i) {
    const StoreHealth::Trouble& t = health.troubles[i];
    troubles[i].setPath(t.path.c_str());
    troubles[i].setBlocks(t.blocks);
    troubles[i].setMissing(t.missing);
    troubles[i].setCorrupt(t.corrupt);
    troubles[i].setUnderReplicated(t.under_replicated);
    auto damaged = troubles[i].initDamaged(static_cast<uint>(t.damaged.size()));
    for (uint d = 0; d < damaged.size(); ++d) damaged.set(d, t.damaged[d].c_str());
  }
  auto disks = out.initFailedDisks(static_cast<uint>(health.failed_disks.size()));
  for (uint i = 0; i < disks.size(); ++i) {
    disks[i].setWorker(health.failed_disks[i].worker.value);
    disks[i].setAddress(health.failed_disks[i].address.c_str());
    disks[i].setWhy(health.failed_disks[i].why.c_str());
  }
  auto awaited = out.initAwaited(static_cast<uint>(health.awaited.size()));
  for (uint i = 0; i < awaited.size(); ++i) awaited.set(i, health.awaited[i].value);
}

StoreHealth FromWire(rpc::StoreHealth::Reader in) {
  StoreHealth out;
  out.safe_mode = in.getSafeMode();
  out.files = in.getFiles();
  out.missing_files = in.getMissingFiles();
  out.corrupt_files = in.getCorruptFiles();
  out.under_replicated_files = in.getUnderReplicatedFiles();
  for (const auto t : in.getTroubles()) {
    StoreHealth::Trouble trouble{t.getPath().cStr(), t.getBlocks(),          t.getMissing(),
                                 t.getCorrupt(),     t.getUnderReplicated(), {}};
    for (const auto replica : t.getDamaged()) trouble.damaged.emplace_back(replica.cStr());
    out.troubles.push_back(std::move(trouble));
  }
  for (const auto disk : in.getFailedDisks()) {
    out.failed_disks.push_back({{disk.getWorker()}, disk.getAddress().cStr(), disk.getWhy().cStr()});
  }
  for (const uint32_t worker : in.getAwaited()) out.awaited.push_back({worker});
  return out;
}

EffectTarget TargetOf(const Effect& effect) {
  struct Visitor {
    EffectTarget operator()(const ReplicateBlock& e) const { return {e.from, e.from_incarnation}; }
    EffectTarget operator()(const DeleteReplica& e) const { return {e.worker, e.incarnation}; }
    EffectTarget operator()(const EmptyQuarantine& e) const { return {e.worker, e.incarnation}; }
  };
  return std::visit(Visitor{}, effect);
}

void ToCommand(const Effect& effect, rpc::Command::Builder out) {
  struct Visitor {
    rpc::Command::Builder out;
    void operator()(const ReplicateBlock& e) {
      auto command = out.initReplicateBlock();
      ToWire(e.block, command.initBlock());
      command.setToAddress(e.to_address.c_str());
    }
    void operator()(const DeleteReplica& e) { ToWire(e.block, out.initDeleteBlock()); }
    void operator()(const EmptyQuarantine& e) { ToWire(e.block, out.initEmptyQuarantine()); }
  };
  std::visit(Visitor{out}, effect);
}

}  // namespace mr::dfs
