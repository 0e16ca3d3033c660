// Plain structs of the block store to and from Cap'n Proto. A reader of a pointer field is taken
// once and kept: each get counts against the message's traversal limit.
#include "common/rpc/wire.h"

#include "dfs/meta/service.h"

namespace mr::dfs {

void ToWire(const BlockRef& block, rpc::BlockReport::Builder out) {
  out.setId(block.id.value);
  out.setGeneration(block.generation);
  out.setLength(block.length);
  out.setDigest(block.digest);
}

BlockRef FromWire(rpc::BlockReport::Reader in) {
  return {{in.getId()}, in.getGeneration(), in.getLength(), in.getDigest()};
}

void ToWire(const LocatedBlock& block, rpc::BlockLocation::Builder out) {
  out.setId(block.block.id.value);
  out.setGeneration(block.block.generation);
  out.setOffset(block.offset);
  out.setLength(block.block.length);
  out.setDigest(block.block.digest);
  auto addresses = out.initAddresses(static_cast<uint>(block.addresses.size()));
  for (uint i = 0; i < addresses.size(); ++i) addresses.set(i, block.addresses[i].c_str());
}

LocatedBlock FromWire(rpc::BlockLocation::Reader in) {
  LocatedBlock out;
  out.block = {{in.getId()}, in.getGeneration(), in.getLength(), in.getDigest()};
  out.offset = in.getOffset();
  for (const auto address : in.getAddresses()) out.addresses.emplace_back(address.cStr());
  return out;
}

void ToWire(const FileInfo& info, rpc::FileStatus::Builder out) {
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

void ToWire(const StagedBlock& block, rpc::StagedBlock::Builder out) {
  out.setId(block.block.id.value);
  out.setGeneration(block.block.generation);
  out.setLength(block.block.length);
  out.setDigest(block.block.digest);
  auto workers = out.initWorkers(static_cast<uint>(block.workers.size()));
  for (uint i = 0; i < workers.size(); ++i) workers.set(i, block.workers[i].value);
}

StagedBlock FromWire(rpc::StagedBlock::Reader in) {
  StagedBlock out;
  out.block = {{in.getId()}, in.getGeneration(), in.getLength(), in.getDigest()};
  for (const uint32_t worker : in.getWorkers()) out.workers.push_back({worker});
  return out;
}

OutputFile FromWire(rpc::FileOutput::Reader in) {
  OutputFile out;
  out.name = in.getName().cStr();
  for (const auto block : in.getBlocks()) out.blocks.push_back(FromWire(block).block);
  return out;
}

EffectTarget TargetOf(const Effect& effect) {
  struct Visitor {
    EffectTarget operator()(const ReplicateBlock& e) const { return {e.from, e.from_incarnation}; }
    EffectTarget operator()(const DeleteReplica& e) const { return {e.worker, e.incarnation}; }
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
  };
  std::visit(Visitor{out}, effect);
}

}  // namespace mr::dfs
