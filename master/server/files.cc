// The block store's brain inside the master: its records in the same journal, its effects as
// commands to workers, job outputs made visible by the very record that commits the job.
#include <fnmatch.h>
#include <glog/logging.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "dfs/meta/service.h"
#include "dfs/meta/staging.h"
#include "master/server/brain.h"

namespace mr::master {
namespace {

// A longer list of parts does not fit into the namespace's inline files; the totals always do.
constexpr size_t kMaxSuccessBytes = 32 << 10;

std::string PathOf(const std::string& uri) { return uri.substr(std::string("dfs://").size()); }

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

Status Brain::CheckRoom() const {
  if (!journal_full_) return Status::Ok();
  return Rejected("the master takes nothing new: its journal in " + options_.directory +
                  "/journal cannot grow (the "
                  "disk is full, or the master has no file descriptors left). What runs goes on, and files can be read "
                  "and removed. Make room there; the master goes on by itself");
}

uint64_t Brain::ApplyDfs(const dfs::Record& record) {
  if (dfs::IsHard(record)) {
    dfs_sequence_ = Append(journal::RecordClass::kHard, RecordKind::kDfs, dfs::Encode(record));
  }
  Dispatch(namespace_.Apply(record), dfs_sequence_);
  return dfs_sequence_;
}

void Brain::Dispatch(std::vector<dfs::Effect> effects, uint64_t sequence) {
  if (effects.empty()) return;
  outbox_.Hold(sequence, [this, effects = std::move(effects)] {
    for (const auto& effect : effects) {
      const dfs::EffectTarget target = dfs::TargetOf(effect);
      Send(workers_.FindAlive(target.worker, target.incarnation), 160,
           [effect](rpc::Command::Builder out) { dfs::ToCommand(effect, out); });
    }
  });
}

void Brain::FsMutate(const dfs::FsHost::PrepareFn& prepare, const std::function<void(const dfs::Namespace&)>& then,
                     std::function<void(Status)> reply) {
  const auto prepared = prepare(namespace_, {Stamp(), WallClockMs()});
  if (!prepared.ok()) return reply(prepared.status());
  if (prepared->has_value() && ChangesFiles(namespace_, **prepared)) {
    if (Status lost = CheckLoss(); !lost.ok()) return reply(lost);
  }
  if (prepared->has_value() && BeginsWork(**prepared)) {
    if (Status room = CheckRoom(); !room.ok()) return reply(room);
  }
  const bool soft = prepared->has_value() && !dfs::IsHard(**prepared);
  if (prepared->has_value()) ApplyDfs(**prepared);
  if (then) then(namespace_);
  if (soft) return reply(Status::Ok());
  // Also where it was so already: the record that made it so may still be on its way to the disk.
  outbox_.Hold(dfs_sequence_, [reply = std::move(reply)] { reply(Status::Ok()); });
}

void Brain::BlocksReceived(WorkerId id, Incarnation incarnation, const std::vector<BlockRef>& blocks) {
  if (workers_.FindAlive(id, incarnation) == nullptr) return;
  for (const auto& block : blocks) ApplyDfs(dfs::ReplicaDurable{Stamp(), id, incarnation, block});
}

void Brain::BlocksSuspect(WorkerId id, Incarnation incarnation, const std::vector<DamagedBlock>& blocks) {
  if (workers_.FindAlive(id, incarnation) == nullptr) return;
  for (const auto& [block, aside] : blocks) {
    if (!aside) LOG(WARNING) << "block " << block.id.value << " is damaged on " << Name(id);
    ApplyDfs(dfs::ReplicaSuspect{Stamp(), id, incarnation, block.id, block.generation, block.length, aside});
  }
}

void Brain::BlockNotCopied(WorkerId id, Incarnation incarnation, const BlockRef& block, bool source_failed,
                           const std::string& why) {
  if (workers_.FindAlive(id, incarnation) == nullptr) return;
  LOG(WARNING) << "block " << block.id.value << " was not copied from " << Name(id) << ": " << why;
  ApplyDfs(dfs::ReplicaNotCopied{Stamp(), id, incarnation, block.id, block.generation, source_failed});
}

void Brain::DiskFailed(WorkerId id, Incarnation incarnation, const std::string& why) {
  if (workers_.FindAlive(id, incarnation) == nullptr) return;
  if (why.empty()) {
    LOG(INFO) << "the disk of " << Name(id) << " works again";
  } else {
    LOG(ERROR) << "the disk of " << Name(id) << " fails: " << why
               << "; its replicas count as lost and are made elsewhere";
  }
  ApplyDfs(dfs::DiskFailed{Stamp(), id, incarnation, why});
}

void Brain::TickDfs() {
  for (const auto& record : namespace_.Due(Stamp())) ApplyDfs(record);
  if (!count_from_.valid()) CountBlocks();
  loop_.At(Now() + Seconds(1), [this] { TickDfs(); });
}

void Brain::CountBlocks() {
  constexpr Duration kBetweenSlices = Millis(50);
  if (!count_from_.valid()) counting_ = {};
  namespace_.AddCounts(&count_from_, kCountSlice, &counting_);
  if (!count_from_.valid()) {
    counted_ = counting_;
  } else {
    loop_.At(Now() + kBetweenSlices, [this] { CountBlocks(); });
  }
}

dfs::RepairCounts Brain::BlockCounts() const {
  dfs::RepairCounts exact;
  BlockId from;
  namespace_.AddCounts(&from, kCountSlice, &exact);
  return !from.valid() ? exact : counted_;
}

Result<std::vector<InputFile>> Brain::DfsFiles(const std::string& uri) const {
  const std::string path = PathOf(uri);
  if (dfs::IsStaging(path)) {
    return Rejected("input " + uri + " cannot be read: " + std::string(dfs::kStaging) +
                    " holds what running jobs are writing");
  }
  std::vector<InputFile> files;
  const auto add = [&files](const std::vector<dfs::FileInfo>& found) {
    for (const auto& file : found) files.push_back({"dfs://" + file.path, file.bytes, file.id, {}});
  };
  auto found = namespace_.FilesUnder(path);
  if (found.ok()) {
    add(*found);
    return files;
  }
  if (path.find_first_of("*?[") == std::string::npos) return Missing(namespace_, path, found.status());
  // A pattern in the last component.
  MR_ASSIGN_OR_RETURN(const auto entries, namespace_.List(ParentOf(path)));
  for (const auto& entry : entries) {
    if (fnmatch(path.c_str(), entry.path.c_str(), FNM_PATHNAME | FNM_PERIOD) != 0) continue;
    MR_ASSIGN_OR_RETURN(const auto below, namespace_.FilesUnder(entry.path));
    add(below);
  }
  if (files.empty()) {
    return NotFound("no input matches dfs://" + path + ": of the " + std::to_string(entries.size()) + " names in " +
                    ParentOf(path) + " none does (mrctl fs ls " + ParentOf(path) + ")");
  }
  return files;
}

Status Brain::CheckDfsOutput(const JobSpec& spec) {
  return namespace_.PrepareCommit({{Stamp(), WallClockMs()}, PathOf(spec.output_uri), spec.overwrite, "", 0, {}})
      .status();
}

uint64_t Brain::PinInputs(const PlanContext& context) {
  std::vector<uint64_t> ids;
  for (const auto& [uri, files] : context.dfs_files) {
    if (!files.ok()) continue;
    for (const InputFile& file : *files) ids.push_back(file.id);
  }
  if (ids.empty()) return 0;
  const auto prepared = namespace_.PreparePin({Stamp(), WallClockMs()}, std::move(ids));
  MR_CHECK(prepared.ok() && prepared->has_value(), "files that were found at this instant can be pinned");
  ApplyDfs(**prepared);
  return std::get<dfs::InputsPinned>(**prepared).pin;
}

void Brain::ReleasePin(uint64_t pin) {
  const auto prepared = namespace_.PrepareRelease(pin);
  if (prepared.ok() && prepared->has_value()) ApplyDfs(**prepared);
}

void Brain::ReleaseStrayPins() {
  std::set<uint64_t> held;
  for (const auto& [id, job] : jobs_.jobs()) {
    if (!Ended(job.state)) held.insert(job.plan.pin);
  }
  for (const uint64_t pin : namespace_.Pins()) {
    if (!held.contains(pin)) ReleasePin(pin);
  }
}

Result<dfs::LocatedFile> Brain::LocateSplit(const JobPlan& plan, const Split& split, uint64_t length,
                                            const std::string& near, uint32_t turn) const {
  if (split.file < plan.files.size() && plan.files[split.file].id != 0) {
    return namespace_.LocateFile(plan.files[split.file].id, split.offset, length, near, turn);
  }
  // Planned by a release that kept no versions.
  return namespace_.Locate(PathOf(split.uri), split.offset, length, near, turn);
}

std::vector<WorkerId> Brain::Holders(const JobPlan& plan, const Split& split) const {
  if (!split.uri.starts_with("dfs://")) return {};
  const auto located = LocateSplit(plan, split, split.length, "", 0);
  if (!located.ok() || located->blocks.empty()) return {};
  return located->blocks.front().workers;
}

std::vector<LocatedBlock> Brain::BlocksOf(const JobPlan& plan, const Split& split, const std::string& near,
                                          uint32_t attempt) const {
  if (!split.uri.starts_with("dfs://")) return {};
  // One byte more: the last record may end in the next block.
  auto located = LocateSplit(plan, split, split.length + 1, near, attempt);
  if (located.ok()) return std::move(located->blocks);
  LOG(WARNING) << split.uri << ": " << located.status().ToString();
  return {};  // the attempt says that its blocks are missing
}

// Called between Step and the journal: what makes the output visible goes into the same record. Sets record->extra; all
// else of the record stands.
void Brain::CommitToDfs(JobId id, EventRecord* record) {
  const JobView* job = jobs_.Find(id);
  if (job == nullptr || !job->in_dfs()) return;
  FinishedExtra finished;
  // Empty where the event is no report: a job taken over whose outputs were all there.
  const bool taken_over = record->extra.empty();
  std::vector<HotKey> hot;
  MR_CHECK(taken_over || DecodeFinished(record->extra, &finished, &hot),
           "a job was committed by an event of another kind");
  const std::map<std::string, FileOutput> parts = OutputsWith(*job, finished.outputs);
  PublishRequest request{Name(id), job->spec.output_uri, job->spec.overwrite, {}};
  dfs::OutputCommitted commit{
      {Stamp(), WallClockMs()}, PathOf(job->spec.output_uri), job->spec.overwrite, "/.staging/" + Name(id), 0, {}};
  for (const auto& [name, part] : parts) {
    request.parts.push_back(part);
    dfs::OutputFile file{name, {}, ""};
    for (const StagedBlock& staged : part.blocks) file.blocks.push_back(staged.block);
    commit.files.push_back(std::move(file));
  }
  commit.files.push_back({"_SUCCESS", {}, SuccessDocument(request, kMaxSuccessBytes)});
  const auto prepared = namespace_.PrepareCommit(std::move(commit));
  // At a takeover no worker has registered yet, so that nothing is known of where replicas are.
  const std::string unreadable = taken_over ? "" : UnreadableBlock(parts);
  if (!prepared.ok()) {
    finished.dfs_error = "its output was computed but could not be made visible: " + prepared.status().message();
  } else if (!unreadable.empty()) {
    finished.dfs_error = "its output was computed, and a part of it is lost: " + unreadable +
                         ", and has not come back in " + HumanDuration(namespace_.config().repair_delay) +
                         ". Start that worker again if it can be, and submit the job again; more than one replica "
                         "(mrmaster --replication) survives the loss of a worker";
  } else {
    finished.dfs_commit = dfs::Encode(**prepared);
  }
  record->extra = EncodeFinished(finished, hot);
  if (finished.dfs_commit.empty()) return;
  const uint64_t bytes = Encode(*record).size();
  if (bytes <= options_.record_bytes) return;
  finished.dfs_error =
      "its output was computed but could not be made visible: " +
      TooLong("the commit of its " + std::to_string(parts.size()) + " parts", bytes, options_.record_bytes) +
      "; run it with fewer parts (--reduces)";
  finished.dfs_commit.clear();
  record->extra = EncodeFinished(finished, hot);
}

// The other half, live and in a replay.
Status Brain::ApplyCommit(JobId id, const std::string& extra, uint64_t sequence) {
  JobView* job = jobs_.Find(id);
  if (job == nullptr || !job->in_dfs()) return Status::Ok();
  FinishedExtra finished;
  dfs::Record record;
  if (!DecodeFinished(extra, &finished) ||
      (!finished.dfs_commit.empty() && !dfs::Decode(finished.dfs_commit, &record))) {
    return Corrupted("the commit of " + Name(id) + " cannot be read; start the release that wrote it");
  }
  job->publish_error = finished.dfs_error;
  if (finished.dfs_commit.empty()) return Status::Ok();
  auto effects = namespace_.Apply(record);
  if (replaying_) return Status::Ok();
  dfs_sequence_ = sequence;
  Dispatch(std::move(effects), sequence);
  return Status::Ok();
}

}  // namespace mr::master
