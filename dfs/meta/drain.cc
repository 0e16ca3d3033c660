// Decides whether a worker can be stopped without a block losing its last replicas. Repair (repair.cc) makes the
// copies. This file only reads the state, so its answer is correct whether or not a copy has begun.
#include "dfs/meta/drain.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dfs/meta/state.h"

namespace mr::dfs {
namespace {

uint64_t FreeOn(const State& s, const Worker& w) {
  if (w.full) return 0;
  if (w.capacity_bytes == 0) return std::numeric_limits<uint64_t>::max();
  const uint64_t used = w.used_bytes + w.open_blocks * s.config.block_bytes;
  return used < w.capacity_bytes ? w.capacity_bytes - used : 0;
}

class Look {
 public:
  Look(const State& s, WorkerId worker) : s_(s), worker_(worker) {
    out_.safe_mode = s.safe_mode.on;
    for (const auto& [id, w] : s.workers.all()) {
      if (id != worker && w.Eligible()) others_.push_back({FreeOn(s, w), id});
    }
    std::sort(others_.rbegin(), others_.rend());
  }

  DrainBlocks All() {
    uint64_t open = 0;
    if (const auto it = s_.on_worker.find(worker_); it != s_.on_worker.end()) {
      for (const BlockId id : it->second) {
        const Block& block = *s_.blocks.Find(id);
        ++out_.blocks;
        out_.bytes += block.length;
        if (block.node == 0) {
          ++open;
        } else {
          Add(id, block);
        }
      }
    }
    // open_blocks includes blocks that no target has reported yet. A registration sets it to 0.
    const Worker* worker = s_.workers.Find(worker_);
    out_.being_written = std::max<uint64_t>(open, worker == nullptr ? 0 : worker->open_blocks);
    return std::move(out_);
  }

 private:
  void Add(BlockId id, const Block& block) {
    const std::vector<WorkerId> placed = s_.PlacedHolders(id);
    const auto elsewhere = static_cast<size_t>(std::count_if(
        placed.begin(), placed.end(), [&](WorkerId w) { return w != worker_ && s_.workers.Find(w)->Eligible(); }));
    const size_t wanted = s_.WantedOf(block);
    if (elsewhere >= std::max<size_t>(1, std::min(wanted, others_.size()))) {
      if (elsewhere >= wanted) return;
      ++out_.thin_blocks;
      NameFile(block.node, &out_.thin_files, &last_thin_);
      return;
    }
    ++out_.left_blocks;
    out_.left_bytes += block.length;
    NameFile(block.node, &out_.left_files, &last_left_);
    ++WaitsFor(id, block, placed);
  }

  uint64_t& WaitsFor(BlockId id, const Block& block, const std::vector<WorkerId>& placed) {
    if (s_.GoodHolders(id).empty()) return out_.damaged;
    if (others_.empty()) return out_.without_worker;
    if (!HasRoom(block, placed)) return out_.without_room;
    if (s_.copies.Has(id)) return out_.copying;
    const Tried* tried = s_.tried.Find(id);
    return tried != nullptr && tried->failures > 0 ? out_.failing : in_turn_;
  }

  // The first of the others without a placed replica has the most space. Cost: as many steps as there are replicas.
  bool HasRoom(const Block& block, const std::vector<WorkerId>& placed) const {
    for (const auto& [free, other] : others_) {
      if (std::find(placed.begin(), placed.end(), other) == placed.end()) return free >= block.length;
    }
    return false;
  }

  // Blocks of one file have adjacent ids, so a file is mostly the one named last.
  void NameFile(uint64_t node, std::vector<std::string>* names, uint64_t* last) {
    if (node == *last || names->size() == kDrainFiles) return;
    *last = node;
    std::string path = s_.PathOf(node);
    if (std::find(names->begin(), names->end(), path) == names->end()) names->push_back(std::move(path));
  }

  const State& s_;
  const WorkerId worker_;
  std::vector<std::pair<uint64_t, WorkerId>> others_;  // eligible workers by free bytes, most first
  uint64_t last_left_ = 0, last_thin_ = 0;
  uint64_t in_turn_ = 0;
  DrainBlocks out_;
};

}  // namespace

LastReplicas Namespace::LastReplicasOn(WorkerId worker) const {
  const State& s = impl_->state;
  LastReplicas last;
  uint64_t named = 0;
  for (const auto& [id, block] : s.blocks.all()) {
    if (block.node == 0 || !s.GoodHolders(id).empty()) continue;
    const Placed* placed = s.placed.Find(id);
    // Nobody noted where the replicas of an older release are.
    if (placed != nullptr && !Contains(placed->workers, worker)) continue;
    ++last.blocks;
    last.bytes += block.length;
    if (block.node == named || last.files.size() == kDrainFiles) continue;
    named = block.node;
    last.files.push_back(s.PathOf(block.node));
  }
  return last;
}

DrainBlocks Namespace::DrainOf(WorkerId worker) const { return Look(impl_->state, worker).All(); }

}  // namespace mr::dfs
