#include "master/sim/replay/replay.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "common/io/files.h"
#include "master/core/master_core.h"
#include "master/host/read_journal.h"
#include "master/journal/directory.h"
#include "master/sched/state/state.h"
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
  Replayer(const std::string& directory, const OnStep& on_step, uint64_t stop_at, Divergence* look)
      : on_step_(on_step), stop_at_(stop_at), look_(look), core_({.directory = directory}, master::SpecOf) {}

  // Takes a record. Ends the pass at a divergence. Errors: kCorrupted or kRejected: the record cannot be replayed.
  Status On(const journal::Record& record, uint64_t offset) {
    Status status = Take(record, offset);
    if (!status.ok()) stopped_ = true;
    return status;
  }
  bool stopped() const { return stopped_; }  // by On, not by the reading
  bool foreign() const { return core_.Foreign(); }
  Replayed& out() { return out_; }
  uint64_t Digest() const { return core_.scheduler().Digest(); }

 private:
  Status Take(const journal::Record& read, uint64_t offset) {
    const auto kind = static_cast<RecordKind>(read.kind);
    if (master::IsImage(kind)) return TakeImage(read);
    ++out_.records;
    if (kind == RecordKind::kEvent && core_.Foreign()) ++out_.skipped;
    auto read_record = master::ReadRecord(core_, read);
    // Only the release that wrote it needs to read it.
    const bool unread = !read_record.ok() && kind == RecordKind::kEvent && core_.Foreign();
    if (!unread && !read_record.ok()) return read_record.status();
    if (unread || !*read_record) {
      core_.PassOver();
      return Status::Ok();
    }
    std::optional<master::Record>& record = *read_record;
    if (const auto* epoch = std::get_if<master::EpochStarted>(&*record)) {
      ++out_.epochs;
      NoteVersion(epoch->scheduler_version);
    }
    if (auto* event = std::get_if<master::EventRecord>(&*record); event != nullptr && !core_.Foreign()) {
      MR_RETURN_IF_ERROR(Step(&*record, read, offset));
    } else {
      (void)core_.Apply(&*record, {read.sequence, 0});
    }
    (void)core_.NoteDurable(read.sequence);
    core_.Shrink();
    return Status::Ok();
  }

  Status TakeImage(const journal::Record& part) {
    master::SnapshotHead head;
    FieldReader reader(part.payload);
    if (static_cast<RecordKind>(part.kind) == RecordKind::kSnapshotHead) {
      reader.Get(head);
      if (reader.ok() && head.scheduler_version != 0) NoteVersion(head.scheduler_version);
    }
    return core_.Restore(static_cast<RecordKind>(part.kind), part.payload, part.sequence);
  }

  void NoteVersion(uint32_t version) {
    if (std::find(out_.versions.begin(), out_.versions.end(), version) == out_.versions.end()) {
      out_.versions.push_back(version);
    }
  }

  // Applies an event of this version, and compares the digest.
  Status Step(master::Record* record, const journal::Record& read, uint64_t offset) {
    const auto& event = std::get<master::EventRecord>(*record);
    const sched::Event& e = event.stamped.event;
    what_ = Describe(e);
    Entities before;
    if (read.sequence == stop_at_) before = core_.scheduler().state().Entities();
    const master::Applied applied = core_.Apply(record, {read.sequence, 0});
    ++out_.events;
    ++out_.by_kind[EventName(e)];
    Count(e, applied.decisions);
    if (read.sequence == stop_at_) {
      Explain(before, core_.scheduler().state().Entities(), look_);
      return Rejected("seen");
    }
    if (on_step_) on_step_(event.stamped, applied.decisions, core_.scheduler());
    if (!event.digest) return Status::Ok();
    return Compare(read, offset, *event.digest, master::PromisesDiffer(*event.outcome, applied.decisions));
  }

  void Count(const sched::Event& e, const std::vector<sched::Decision>& decisions) {
    out_.jobs += std::holds_alternative<sched::JobSubmitted>(e) || std::holds_alternative<sched::JobTakenOver>(e);
    for (const sched::Decision& d : decisions) {
      out_.succeeded += std::holds_alternative<sched::CommitJob>(d);
      const auto* failed = std::get_if<sched::FailJob>(&d);
      if (failed != nullptr) ++(failed->killed ? out_.killed : out_.failed);
    }
  }

  Status Compare(const journal::Record& record, uint64_t offset, uint64_t recorded, const std::string& promises) {
    ++out_.compared;
    const uint64_t replayed = Digest();
    if (recorded == replayed && promises.empty()) return Status::Ok();
    out_.divergence = Divergence{record.sequence, offset, core_.events(), recorded, replayed, what_, {}, {}, promises};
    return Rejected("diverged");
  }

  const OnStep& on_step_;
  const uint64_t stop_at_;
  Divergence* look_;
  master::MasterCore core_;
  Replayed out_;
  std::string what_;
  bool stopped_ = false;
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
  Replayer replayer(directory, on_step, 0, nullptr);
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
    // A later release wrote an unknown file format, record kind or policy.
    const bool later = read.status().code() == Code::kRejected || replayer.stopped();
    if (!damaged && !later) return read.status();
    out.verdict = damaged ? Verdict::kDamaged : Verdict::kOtherVersion;
    out.damage = read.status().message();
    return out;
  }
  out.verdict = Verdict::kDiverged;
  // Replay up to that record again, to examine the state on both sides of the event.
  Divergence& d = *out.divergence;
  const OnStep none;
  Replayer second(directory, none, d.record, &d);
  (void)journal::ReadDirectory(
      directory, 0, UINT64_MAX,
      [&second](const journal::Record& record, uint64_t offset) { return second.On(record, offset); },
      journal::From::kOldest);
  return out;
}

}  // namespace mr::sim
