// The block store's brain inside the master: its records in the same journal, its effects as
// commands to workers, job outputs made visible by the very record that commits the job.
#include <fnmatch.h>
#include <glog/logging.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "dfs/meta/service.h"
#include "dfs/meta/staging.h"
#include "master/core/input_places.h"
#include "master/host/brain.h"

namespace mr::master {
namespace {

// Returns whether a full disk refuses the record. Removals and the ends of running writes use the journal's reserve.
bool BeginsWork(const dfs::Record& record) {
  return std::holds_alternative<dfs::FileCreated>(record) || std::holds_alternative<dfs::DirectoryMade>(record) ||
         std::holds_alternative<dfs::Renamed>(record) || std::holds_alternative<dfs::ReplicationSet>(record);
}

// Returns whether safe mode refuses the record: a change that clients see, also the end of a write that began before.
// Jobs go on writing below their staging.
bool ChangesFiles(const dfs::Namespace& ns, const dfs::Record& record) {
  const auto* created = std::get_if<dfs::FileCreated>(&record);
  const auto* completed = std::get_if<dfs::FileCompleted>(&record);
  const auto* removed = std::get_if<dfs::Removed>(&record);
  if (completed != nullptr) return !dfs::IsStaging(ns.PathOfLease(completed->lease));
  if (created != nullptr) return !dfs::IsStaging(created->path);
  if (removed != nullptr) return !dfs::IsStaging(removed->path);
  return BeginsWork(record);
}

Status Missing(const dfs::Namespace& ns, const std::string& path, const Status& why) {
  if (why.code() != Code::kNotFound) return why;
  std::string message = "input dfs://" + path + " does not exist";
  if (const auto entries = ns.List(ParentOf(path)); entries.ok()) {
    std::vector<std::string> names;
    for (const auto& entry : *entries) names.push_back(entry.path.substr(entry.path.rfind('/') + 1));
    const std::vector<std::string_view> views(names.begin(), names.end());
    message += DidYouMean(path.substr(path.rfind('/') + 1), views);
  }
  return NotFound(message);
}

}  // namespace

// A worker that has registered again meanwhile has reported its blocks, and whatever was decided before may be decided
// otherwise now: of two replicas the other one may go. So an effect is for the session in which it was decided.
void Brain::CarryOutBlocks(std::vector<dfs::Effect> effects, uint64_t sequence) {
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

void Brain::FsMutate(const dfs::FsHost::PrepareFn& prepare, const std::function<void(const dfs::Namespace&)>& then,
                     std::function<void(Status)> reply) {
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
  // Also where it was so already: the record that made it so may still be on its way to the disk.
  driver_.Hold(driver_.dfs_sequence(), [reply = std::move(reply)] { reply(Status::Ok()); });
}

void Brain::BlocksReceived(WorkerId id, Incarnation incarnation, const std::vector<BlockRef>& blocks) {
  if (core_.workers().FindAlive(id, incarnation) == nullptr) return;
  for (const auto& block : blocks) driver_.FeedDfs(dfs::ReplicaDurable{clock_.Stamp(), id, incarnation, block});
}

void Brain::BlocksSuspect(WorkerId id, Incarnation incarnation, const std::vector<DamagedBlock>& blocks) {
  if (core_.workers().FindAlive(id, incarnation) == nullptr) return;
  for (const auto& [block, aside] : blocks) {
    if (!aside) LOG(WARNING) << "block " << block.id.value << " is damaged on " << Name(id);
    driver_.FeedDfs(
        dfs::ReplicaSuspect{clock_.Stamp(), id, incarnation, block.id, block.generation, block.length, aside});
  }
}

void Brain::BlockNotCopied(WorkerId id, Incarnation incarnation, const BlockRef& block, bool source_failed,
                           const std::string& why) {
  if (core_.workers().FindAlive(id, incarnation) == nullptr) return;
  LOG(WARNING) << "block " << block.id.value << " was not copied from " << Name(id) << ": " << why;
  driver_.FeedDfs(dfs::ReplicaNotCopied{clock_.Stamp(), id, incarnation, block.id, block.generation, source_failed});
}

void Brain::DiskFailed(WorkerId id, Incarnation incarnation, const std::string& why) {
  if (core_.workers().FindAlive(id, incarnation) == nullptr) return;
  if (why.empty()) {
    LOG(INFO) << "the disk of " << Name(id) << " works again";
  } else {
    LOG(ERROR) << "the disk of " << Name(id) << " fails: " << why
               << "; its replicas count as lost and are made elsewhere";
  }
  driver_.FeedDfs(dfs::DiskFailed{clock_.Stamp(), id, incarnation, why});
}

void Brain::TickDfs() {
  for (const auto& record : core_.files().Due(clock_.Stamp())) driver_.FeedDfs(record);
  if (!count_from_.valid()) CountBlocks();
  loop_.At(Now() + Seconds(1), [this] { TickDfs(); });
}

void Brain::CountBlocks() {
  constexpr Duration kBetweenSlices = Millis(50);
  if (!count_from_.valid()) counting_ = {};
  core_.files().AddCounts(&count_from_, kCountSlice, &counting_);
  if (!count_from_.valid()) {
    counted_ = counting_;
  } else {
    loop_.At(Now() + kBetweenSlices, [this] { CountBlocks(); });
  }
}

dfs::RepairCounts Brain::BlockCounts() const {
  dfs::RepairCounts exact;
  BlockId from;
  core_.files().AddCounts(&from, kCountSlice, &exact);
  return !from.valid() ? exact : counted_;
}

Result<std::vector<InputFile>> Brain::DfsFiles(const std::string& uri) const {
  const std::string path = DfsPath(uri);
  if (dfs::IsStaging(path)) {
    return Rejected("input " + uri + " cannot be read: " + std::string(dfs::kStaging) +
                    " holds what running jobs are writing");
  }
  std::vector<InputFile> files;
  const auto add = [&files](const std::vector<dfs::FileInfo>& found) {
    for (const auto& file : found) files.push_back({"dfs://" + file.path, file.bytes, file.id, {}});
  };
  auto found = core_.files().FilesUnder(path);
  if (found.ok()) {
    add(*found);
    return files;
  }
  if (path.find_first_of("*?[") == std::string::npos) return Missing(core_.files(), path, found.status());
  // A pattern in the last component.
  MR_ASSIGN_OR_RETURN(const auto entries, core_.files().List(ParentOf(path)));
  for (const auto& entry : entries) {
    if (fnmatch(path.c_str(), entry.path.c_str(), FNM_PATHNAME | FNM_PERIOD) != 0) continue;
    MR_ASSIGN_OR_RETURN(const auto below, core_.files().FilesUnder(entry.path));
    add(below);
  }
  if (files.empty()) {
    return NotFound("no input matches dfs://" + path + ": of the " + std::to_string(entries.size()) + " names in " +
                    ParentOf(path) + " none does (mrctl fs ls " + ParentOf(path) + ")");
  }
  return files;
}

Status Brain::CheckDfsOutput(const JobSpec& spec) {
  return core_.files()
      .PrepareCommit({{clock_.Stamp(), WallClockMs()}, DfsPath(spec.output_uri), spec.overwrite, "", 0, {}})
      .status();
}

uint64_t Brain::PinInputs(const PlanContext& context) {
  std::vector<uint64_t> ids;
  for (const auto& [uri, files] : context.dfs_files) {
    if (!files.ok()) continue;
    for (const InputFile& file : *files) ids.push_back(file.id);
  }
  if (ids.empty()) return 0;
  const auto prepared = core_.files().PreparePin({clock_.Stamp(), WallClockMs()}, std::move(ids));
  MR_CHECK(prepared.ok() && prepared->has_value(), "files that were found at this instant can be pinned");
  driver_.FeedDfs(**prepared);
  return std::get<dfs::InputsPinned>(**prepared).pin;
}

void Brain::ReleasePin(uint64_t pin) {
  const auto prepared = core_.files().PrepareRelease(pin);
  if (prepared.ok() && prepared->has_value()) driver_.FeedDfs(**prepared);
}

void Brain::ReleaseStrayPins() {
  std::set<uint64_t> held;
  for (const auto& [id, job] : core_.jobs().jobs()) {
    if (!Ended(job.state)) held.insert(job.plan.pin);
  }
  for (const uint64_t pin : core_.files().Pins()) {
    if (!held.contains(pin)) ReleasePin(pin);
  }
}

}  // namespace mr::master
