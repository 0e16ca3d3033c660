#include "master/sim/replay/replay.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "common/io/files.h"
#include "master/journal/directory.h"
#include "master/sched/state/state.h"
#include "master/server/records.h"
#include "master/sim/swarm/describe.h"

namespace mr::sim {

namespace {

using master::RecordKind;

using Entities = std::map<std::string, uint64_t>;

// Finds what the step changed, and which of these changes would explain the difference if it were left out. The digest
// is a sum over entities, so one or two unchanged entities account for it exactly.
void Explain(const Entities& before, const Entities& after, Divergence* d) {
  std::vector<std::pair<std::string, uint64_t>> trace;  // entity, old hash - new hash
  const auto hash = [](const Entities& e, const std::string& name) {
    const auto it = e.find(name);
    return it == e.end() ? uint64_t{0} : it->second;
  };
  for (const auto& [name, h] : after) {
    if (hash(before, name) != h) trace.emplace_back(name, hash(before, name) - h);
  }
  for (const auto& [name, h] : before) {
    if (after.count(name) == 0) trace.emplace_back(name, h);
  }
  const uint64_t missing = d->recorded - d->replayed;
  for (size_t i = 0; i < trace.size(); ++i) {
    d->changed.push_back(trace[i].first);
    for (size_t j = i; j < trace.size() && d->unchanged.empty(); ++j) {
      const uint64_t sum = i == j ? trace[i].second : trace[i].second + trace[j].second;
      if (sum != missing) continue;
      d->unchanged.push_back(trace[i].first);
      if (i != j) d->unchanged.push_back(trace[j].first);
    }
  }
}

// One pass over the journal.
class Replayer {
 public:
  // stop_at: examine this record instead of stepping over it; 0: none.
  Replayer(const OnStep& on_step, uint64_t stop_at, Divergence* look)
      : on_step_(on_step), stop_at_(stop_at), look_(look) {}

  // Takes a record. Ends the pass at a divergence. Errors: kCorrupted or kRejected: the record cannot be replayed.
  Status On(const journal::Record& record, uint64_t offset) {
    const Status status = Take(record, offset);
    if (!status.ok()) stopped_ = true;
    return status;
  }
  bool stopped() const { return stopped_; }  // by On, not by the reading
  bool foreign() const { return foreign_; }
  Replayed& out() { return out_; }
  uint64_t Digest() const { return scheduler_->Digest(); }

 private:
  Status Take(const journal::Record& record, uint64_t offset) {
    const auto kind = static_cast<RecordKind>(record.kind);
    const bool image = kind >= RecordKind::kSnapshotHead;
    if (!image) ++out_.records;
    switch (kind) {
      case RecordKind::kEpoch: return OnEpoch(record);
      case RecordKind::kEvent: return OnEvent(record, offset);
      case RecordKind::kDigest: {
        master::DigestTaken taken;
        if (foreign_) return Status::Ok();
        if (!DecodeFields(record.payload, &taken)) return Corrupted("not a digest");
        events_ = taken.events;
        return Compare(record, offset, taken.digest, "");
      }
      case RecordKind::kSnapshotHead: {
        master::SnapshotHead head;
        FieldReader reader(record.payload);
        reader.Get(head);
        if (!reader.ok()) return Corrupted("a snapshot's head cannot be read");
        events_ = head.events;
        last_ = head.last_stamp;
        foreign_ = head.scheduler_version != sched::kSchedulerVersion;
        if (head.scheduler_version != 0) NoteVersion(head.scheduler_version);
        return Status::Ok();
      }
      case RecordKind::kSnapshotScheduler:
        if (foreign_) return Status::Ok();
        restored_ = true;
        return scheduler_->RestorePart(record.payload);
      case RecordKind::kSnapshotDfs: return restored_ ? scheduler_->FinishRestore() : Status::Ok();
      case RecordKind::kWorker:
      case RecordKind::kPublished:
      case RecordKind::kDfs:
      case RecordKind::kDrained:
      case RecordKind::kExcluded:
      case RecordKind::kWrongOutputs:
      case RecordKind::kLoss:
      case RecordKind::kSnapshotJobs: return Status::Ok();
    }
    return Rejected("a record of kind " + std::to_string(record.kind) + ", which this release does not know");
  }

  void NoteVersion(uint32_t version) {
    if (std::find(out_.versions.begin(), out_.versions.end(), version) == out_.versions.end()) {
      out_.versions.push_back(version);
    }
  }

  // Another release's part leaves a fresh scheduler behind, as in a master.
  Status OnEpoch(const journal::Record& record) {
    master::EpochStarted epoch;
    if (!DecodeFields(record.payload, &epoch)) return Corrupted("not an epoch");
    ++out_.epochs;
    NoteVersion(epoch.scheduler_version);
    const bool other = epoch.scheduler_version != sched::kSchedulerVersion;
    if (other && !foreign_) scheduler_ = std::make_unique<sched::Scheduler>();
    foreign_ = other;
    return Status::Ok();
  }

  Status OnEvent(const journal::Record& record, uint64_t offset) {
    ++events_;
    if (foreign_) {
      ++out_.skipped;
      return Status::Ok();
    }
    master::EventRecord event;
    if (!master::DecodeEvent(record.payload, &event)) {
      return Rejected("record " + std::to_string(record.sequence) + " at offset " + std::to_string(offset) +
                      " is no event that this release knows");
    }
    const sched::Event& e = event.stamped.event;
    what_ = Describe(e);
    const auto* config = std::get_if<sched::ConfigChanged>(&e);
    if (config == nullptr && !scheduler_->state().config().known) return Corrupted(what_ + " before the configuration");
    if (config != nullptr) {
      const Status list = sched::Scheduler::CheckPolicies(config->policies);
      if (!list.ok()) return list.With("the journal's list '" + config->policies + "' is none of this release");
    }
    if (event.stamped.at < last_) return Corrupted(what_ + " is stamped earlier than the event before it");
    last_ = event.stamped.at;
    Entities before;
    if (record.sequence == stop_at_) before = scheduler_->state().Entities();
    const auto decisions = scheduler_->Step(event.stamped);
    ++out_.events;
    ++out_.by_kind[EventName(e)];
    Count(e, decisions);
    if (record.sequence == stop_at_) {
      Explain(before, scheduler_->state().Entities(), look_);
      return Rejected("seen");
    }
    if (on_step_) on_step_(event.stamped, decisions, *scheduler_);
    if (!event.digest) return Status::Ok();
    return Compare(record, offset, *event.digest, PromisesDiffer(event, decisions));
  }

  void Count(const sched::Event& e, const std::vector<sched::Decision>& decisions) {
    out_.jobs += std::holds_alternative<sched::JobSubmitted>(e) || std::holds_alternative<sched::JobTakenOver>(e);
    for (const sched::Decision& d : decisions) {
      out_.succeeded += std::holds_alternative<sched::CommitJob>(d);
      const auto* failed = std::get_if<sched::FailJob>(&d);
      if (failed != nullptr) ++(failed->killed ? out_.killed : out_.failed);
    }
  }

  // Compares the recorded decisions with the replayed ones. Returns "" or the difference.
  static std::string PromisesDiffer(const master::EventRecord& event, const std::vector<sched::Decision>& decisions) {
    if (!event.outcome) return "";
    std::vector<std::string> here, there;
    for (const sched::Decision& d : decisions) {
      if (master::IsPromise(d)) here.push_back(EncodeFields(d));
    }
    for (const sched::Decision& d : *event.outcome) there.push_back(EncodeFields(d));
    if (here == there) return "";
    return "it recorded " + std::to_string(there.size()) +
           " promises (commits, dropped replicas, ends of jobs), the replay made " + std::to_string(here.size()) +
           (here.size() == there.size() ? ", others" : "");
  }

  Status Compare(const journal::Record& record, uint64_t offset, uint64_t recorded, const std::string& promises) {
    ++out_.compared;
    const uint64_t replayed = scheduler_->Digest();
    if (recorded == replayed && promises.empty()) return Status::Ok();
    out_.divergence = Divergence{record.sequence, offset, events_, recorded, replayed, what_, {}, {}, promises};
    return Rejected("diverged");
  }

  const OnStep& on_step_;
  const uint64_t stop_at_;
  Divergence* look_;
  std::unique_ptr<sched::Scheduler> scheduler_ = std::make_unique<sched::Scheduler>();
  Replayed out_;
  std::string what_;
  uint64_t events_ = 0;
  Instant last_;
  bool foreign_ = false, restored_ = false, stopped_ = false;
};

Result<std::string> FindJournal(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return NotFound("there is no journal at " + path);
  if (!S_ISDIR(info.st_mode)) {
    return InvalidArgument(path + " is a file; name the directory that it is in, or a master's --data");
  }
  for (const std::string& directory : {path + "/journal", path}) {
    if (stat(directory.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    MR_ASSIGN_OR_RETURN(const auto files, journal::ListFiles(directory));
    if (!files.segments.empty() || !files.snapshots.empty()) return directory;
  }
  return NotFound("there is no journal in " + path + "; it is the directory 'journal' in a master's --data");
}

}  // namespace

Result<Replayed> ReplayJournal(const std::string& path, const OnStep& on_step) {
  MR_ASSIGN_OR_RETURN(const std::string directory, FindJournal(path));
  Replayer replayer(on_step, 0, nullptr);
  const auto read = journal::ReadDirectory(
      directory, 0, UINT64_MAX,
      [&replayer](const journal::Record& record, uint64_t offset) { return replayer.On(record, offset); },
      journal::From::kOldest);
  Replayed out = std::move(replayer.out());
  out.directory = directory;
  out.digest = replayer.Digest();
  if (read.ok()) {
    out.snapshot = read->snapshot;
    out.cut_bytes = read->last.cut_bytes;
    out.cut_records = read->last.cut_records;
    out.cut_offset = read->last.end.offset;
    out.verdict = replayer.foreign() ? Verdict::kOtherVersion : out.cut_bytes > 0 ? Verdict::kTorn : Verdict::kEqual;
    return out;
  }
  if (!out.divergence) {
    const bool damaged = read.status().code() == Code::kCorrupted;
    // An unknown file format, record kind or policy comes from a later release.
    const bool later = read.status().code() == Code::kRejected || replayer.stopped();
    if (!damaged && !later) return read.status();
    out.verdict = damaged ? Verdict::kDamaged : Verdict::kOtherVersion;
    out.damage = read.status().message();
    return out;
  }
  out.verdict = Verdict::kDiverged;
  // Replay up to that record again, to examine the state on both sides of the event.
  Divergence& d = *out.divergence;
  Replayer second(nullptr, d.record, &d);
  (void)journal::ReadDirectory(
      directory, 0, UINT64_MAX,
      [&second](const journal::Record& record, uint64_t offset) { return second.On(record, offset); },
      journal::From::kOldest);
  return out;
}

}  // namespace mr::sim
