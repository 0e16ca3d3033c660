#include "master/host/block_store.h"

#include <glog/logging.h>

#include "common/io/clock.h"
#include "dfs/meta/staging.h"

namespace mr::master {
namespace {

// Returns whether a full disk refuses the record. Removals and the ends of running writes use the journal's reserve.
bool BeginsWork(const dfs::Record& record) {
  return std::holds_alternative<dfs::FileCreated>(record) || std::holds_alternative<dfs::DirectoryMade>(record) ||
         std::holds_alternative<dfs::Renamed>(record) || std::holds_alternative<dfs::ReplicationSet>(record) ||
         std::holds_alternative<dfs::RuleSet>(record);
}

// Returns whether safe mode refuses the record: it refuses changes that clients see, also the end of a write that began
// before. Jobs go on writing below their staging.
bool ChangesFiles(const dfs::Namespace& ns, const dfs::Record& record) {
  const auto* created = std::get_if<dfs::FileCreated>(&record);
  const auto* completed = std::get_if<dfs::FileCompleted>(&record);
  const auto* removed = std::get_if<dfs::Removed>(&record);
  if (completed != nullptr) return !dfs::IsStaging(ns.PathOfLease(completed->lease));
  if (created != nullptr) return !dfs::IsStaging(created->path);
  if (removed != nullptr) return !dfs::IsStaging(removed->path);
  return BeginsWork(record);
}

}  // namespace

BlockStore::BlockStore(Driver& driver, HostClock& clock, Loop& loop, Dispatcher& dispatcher, const SafeMode& safe_mode)
    : driver_(driver),
      core_(driver.core()),
      clock_(clock),
      loop_(loop),
      dispatcher_(dispatcher),
      safe_mode_(safe_mode) {}

// A worker that has registered again has reported its blocks anew, so that earlier decisions about them may be wrong:
// of two replicas the other one may be deleted now. So an effect is for the session in which it was decided.
void BlockStore::CarryOut(std::vector<dfs::Effect> effects, uint64_t sequence) {
  if (effects.empty()) return;
  std::vector<std::pair<dfs::Effect, uint64_t>> of_sessions;
  for (dfs::Effect& effect : effects) {
    const dfs::EffectTarget target = dfs::TargetOf(effect);
    const WorkerView* worker = core_.workers().FindAlive(target.worker, target.incarnation);
    if (worker != nullptr && worker->session != 0) of_sessions.emplace_back(std::move(effect), worker->session);
  }
  driver_.Hold(sequence, [this, of_sessions = std::move(of_sessions)] {
    for (const auto& [effect, session] : of_sessions) {
      const dfs::EffectTarget target = dfs::TargetOf(effect);
      WorkerView* worker = core_.workers().FindAlive(target.worker, target.incarnation);
      if (worker == nullptr || worker->session != session) continue;
      dispatcher_.Send(worker, 160, [effect = effect] { return dfs::CommandOf(effect); });
    }
  });
}

void BlockStore::FsMutate(const dfs::FsHost::PrepareFn& prepare, const std::function<void(const dfs::Namespace&)>& then,
                          std::function<void(Changed)> reply) {
  const auto prepared = prepare(core_.files(), {clock_.Stamp(), WallClockMs()});
  if (!prepared.ok()) return reply(prepared.status());
  if (prepared->has_value() && ChangesFiles(core_.files(), **prepared)) {
    if (Status lost = safe_mode_.Check(); !lost.ok()) return reply(lost);
  }
  if (prepared->has_value() && BeginsWork(**prepared)) {
    if (Status room = driver_.CheckRoom(); !room.ok()) return reply(room);
  }
  const bool soft = prepared->has_value() && !dfs::IsHard(**prepared);
  if (prepared->has_value()) driver_.FeedDfs(**prepared);
  if (then) then(core_.files());
  if (soft) return reply(Status::Ok());
  // Also where nothing had to change: the record of the earlier change may not be durable yet.
  const uint64_t sequence = driver_.dfs_sequence();
  driver_.Hold(sequence, [reply = std::move(reply), sequence] { reply({Status::Ok(), sequence}); });
}

void BlockStore::BlocksReceived(WorkerId id, Incarnation incarnation, const std::vector<BlockRef>& blocks) {
  if (core_.workers().FindAlive(id, incarnation) == nullptr) return;
  for (const auto& block : blocks) driver_.FeedDfs(dfs::ReplicaDurable{clock_.Stamp(), id, incarnation, block});
}

void BlockStore::BlocksSuspect(WorkerId id, Incarnation incarnation, const std::vector<DamagedBlock>& blocks) {
  if (core_.workers().FindAlive(id, incarnation) == nullptr) return;
  for (const auto& [block, aside] : blocks) {
    if (!aside) LOG(WARNING) << "block " << block.id.value << " is damaged on " << Name(id);
    driver_.FeedDfs(
        dfs::ReplicaSuspect{clock_.Stamp(), id, incarnation, block.id, block.generation, block.length, aside});
  }
}

void BlockStore::BlockNotCopied(WorkerId id, Incarnation incarnation, const BlockRef& block, bool source_failed,
                                const std::string& why) {
  if (core_.workers().FindAlive(id, incarnation) == nullptr) return;
  LOG(WARNING) << "block " << block.id.value << " was not copied from " << Name(id) << ": " << why;
  driver_.FeedDfs(dfs::ReplicaNotCopied{clock_.Stamp(), id, incarnation, block.id, block.generation, source_failed});
}

void BlockStore::DiskFailed(WorkerId id, Incarnation incarnation, const std::string& why) {
  if (core_.workers().FindAlive(id, incarnation) == nullptr) return;
  if (why.empty()) {
    LOG(INFO) << "the disk of " << Name(id) << " works again";
  } else {
    LOG(ERROR) << "the disk of " << Name(id) << " fails: " << why
               << "; its replicas count as lost and are made elsewhere";
  }
  driver_.FeedDfs(dfs::DiskFailed{clock_.Stamp(), id, incarnation, why});
}

void BlockStore::Tick() {
  for (const auto& record : core_.files().Due(clock_.Stamp())) driver_.FeedDfs(record);
  if (!count_from_.valid()) CountBlocks();
  loop_.At(Now() + Seconds(1), [this] { Tick(); });
}

void BlockStore::CountBlocks() {
  constexpr Duration kBetweenSlices = Millis(50);
  if (!count_from_.valid()) counting_ = {};
  core_.files().AddCounts(&count_from_, kCountSlice, &counting_);
  if (!count_from_.valid()) {
    counted_ = counting_;
  } else {
    loop_.At(Now() + kBetweenSlices, [this] { CountBlocks(); });
  }
}

dfs::RepairCounts BlockStore::Counts() const {
  dfs::RepairCounts exact;
  BlockId from;
  core_.files().AddCounts(&from, kCountSlice, &exact);
  return !from.valid() ? exact : counted_;
}

}  // namespace mr::master
