// Placed replicas: the workers on which the master itself ordered a replica of a block. Any worker can report any
// block, so a report alone is no proof of a replica (adr/0004).
#include <algorithm>

#include "dfs/meta/state.h"

namespace mr::dfs {
namespace {

// Workers of a block beyond what its file asks for that stay placed while they have no good replica (guess). Lost
// workers return, and with each repair one more worker is placed.
constexpr size_t kMostAway = 8;

// Returns whether the master ordered a copy of the block to this worker, for a repair that has not ended.
bool Ordered(const State& s, BlockId id, WorkerId worker) {
  const Copying* copy = s.copies.Find(id);
  const Tried* tried = s.tried.Find(id);
  return (copy != nullptr && copy->to == worker) || (tried != nullptr && Contains(tried->ordered, worker));
}

std::optional<Record> PlacedAt(const State& s, WorkerId worker, const BlockRef& said) {
  const Placed* placed = s.placed.Find(said.id);
  if (placed == nullptr || Contains(placed->workers, worker) || !Ordered(s, said.id, worker)) return std::nullopt;
  const Block& block = *s.blocks.Find(said.id);
  if (!s.Matches(block, said)) return std::nullopt;
  ReplicasPlaced record{said.id, placed->workers};
  if (record.workers.size() >= s.WantedOf(block) + kMostAway) {
    const std::vector<WorkerId> good = s.GoodHolders(said.id);
    std::erase_if(record.workers, [&](WorkerId w) { return !Contains(good, w); });
  }
  record.workers.push_back(worker);
  return record;
}

}  // namespace

bool State::IsPlaced(BlockId id, WorkerId worker) const {
  const Placed* found = placed.Find(id);
  return found == nullptr || Contains(found->workers, worker);
}

std::vector<WorkerId> State::PlacedHolders(BlockId id) const {
  std::vector<WorkerId> good = GoodHolders(id);
  const Placed* found = placed.Find(id);
  if (found != nullptr) std::erase_if(good, [&](WorkerId w) { return !Contains(found->workers, w); });
  return good;
}

std::vector<Record> Namespace::PlacedBy(const Record& report) const {
  const State& s = impl_->state;
  std::vector<Record> records;
  const auto add = [&](WorkerId worker, const BlockRef& said) {
    if (auto record = PlacedAt(s, worker, said)) records.push_back(*std::move(record));
  };
  if (const auto* durable = std::get_if<ReplicaDurable>(&report)) {
    const Worker* worker = s.workers.Find(durable->worker);
    if (worker != nullptr && worker->incarnation == durable->incarnation) add(durable->worker, durable->block);
  } else if (const auto* joined = std::get_if<WorkerJoined>(&report)) {
    for (const BlockRef& said : joined->blocks) add(joined->worker, said);
  }
  return records;
}

std::vector<Record> Namespace::UnplacedBy(const std::vector<Effect>& effects) const {
  const State& s = impl_->state;
  std::map<BlockId, std::vector<WorkerId>> left;
  for (const Effect& effect : effects) {
    const auto* gone = std::get_if<DeleteReplica>(&effect);
    const Placed* placed = gone == nullptr ? nullptr : s.placed.Find(gone->block.id);
    if (placed == nullptr || !Contains(placed->workers, gone->worker)) continue;
    std::erase(left.try_emplace(gone->block.id, placed->workers).first->second, gone->worker);
  }
  std::vector<Record> records;
  for (auto& [id, workers] : left) records.emplace_back(ReplicasPlaced{id, std::move(workers)});
  return records;
}

}  // namespace mr::dfs
