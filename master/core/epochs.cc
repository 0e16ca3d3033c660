#include "master/core/epochs.h"

#include <algorithm>

namespace mr::master {

void Epochs::Began(const EpochBegun& epoch) {
  if (!begun_.empty() && begun_.back().epoch >= epoch.epoch) return;
  begun_.push_back(epoch);
  if (begun_.size() > kEpochsKept) begun_.erase(begun_.begin());
}

void Epochs::Settle(uint32_t below) { settled_below_ = std::max(settled_below_, below); }

bool Epochs::Lacks(const Durable& seen, uint64_t end) const {
  if (seen.epoch == 0 || seen.epoch < settled_below_ || begun_.empty()) return false;
  if (seen.epoch > begun_.back().epoch) return true;
  const auto it =
      std::find_if(begun_.begin(), begun_.end(), [&](const EpochBegun& e) { return e.epoch == seen.epoch; });
  // Before those that are known, or of a journal that was begun by an older release.
  if (it == begun_.end()) return false;
  if (it->life != seen.life) return true;
  const auto next = std::next(it);
  return seen.sequence > (next == begun_.end() ? end : next->first - 1);
}

uint64_t Epochs::DoubtFrom(const Durable& seen) const {
  const auto apart = std::find_if(begun_.begin(), begun_.end(), [&seen](const EpochBegun& e) {
    return e.epoch == seen.epoch ? e.life != seen.life : e.epoch > seen.epoch || e.life > seen.life;
  });
  if (apart != begun_.end()) return apart->next_block;
  return begun_.empty() ? 0 : begun_.back().next_block;
}

std::vector<uint64_t> Epochs::NextBlocks() const {
  std::vector<uint64_t> blocks;
  for (const EpochBegun& epoch : begun_) blocks.push_back(epoch.next_block);
  return blocks;
}

void Epochs::SetNextBlocks(const std::vector<uint64_t>& blocks) {
  for (size_t i = 0; i < std::min(blocks.size(), begun_.size()); ++i) begun_[i].next_block = blocks[i];
}

Durable Epochs::At(uint64_t durable) const {
  if (begun_.empty()) return {};
  return {begun_.back().epoch, begun_.back().life, durable};
}

}  // namespace mr::master
