// Codecs of the large records. Here, and not in the header: each file that uses them would compile the codec of every
// event and decision again.
#include "master/core/records.h"

namespace mr::master {

namespace {

template <class T>
Result<Record> Decoded(std::string_view payload, const char* what) {
  T record;
  if (!DecodeFields(payload, &record)) return Corrupted(std::string("not ") + what);
  return Record(std::move(record));
}

Result<Record> DecodedPublished(std::string_view payload) {
  JobPublished published;
  FieldReader reader(payload);
  reader.Get(published);
  if (reader.ok() && !reader.AtEnd()) reader.Get(published.at);
  if (!reader.ok() || !reader.AtEnd()) return Corrupted("not a publication");
  return Record(std::move(published));
}

}  // namespace

RecordKind KindOf(const Record& record) {
  struct Visitor {
    RecordKind operator()(const EventRecord&) { return RecordKind::kEvent; }
    RecordKind operator()(const EpochStarted&) { return RecordKind::kEpoch; }
    RecordKind operator()(const WorkerNamed&) { return RecordKind::kWorker; }
    RecordKind operator()(const WorkerDrained&) { return RecordKind::kDrained; }
    RecordKind operator()(const WorkerExcluded&) { return RecordKind::kExcluded; }
    RecordKind operator()(const WorkerForgotten&) { return RecordKind::kForgotten; }
    RecordKind operator()(const WorkerWrongOutputs&) { return RecordKind::kWrongOutputs; }
    RecordKind operator()(const JournalLoss&) { return RecordKind::kLoss; }
    RecordKind operator()(const JobPublished&) { return RecordKind::kPublished; }
    RecordKind operator()(const dfs::Record&) { return RecordKind::kDfs; }
  };
  return std::visit(Visitor{}, record);
}

std::string EncodeRecord(const Record& record) {
  struct Visitor {
    std::string operator()(const EventRecord& r) { return Encode(r); }
    std::string operator()(const JobPublished& r) { return EncodeFields(r) + EncodeFields(r.at); }
    std::string operator()(const dfs::Record& r) { return dfs::Encode(r); }
    std::string operator()(const EpochStarted& r) { return EncodeFields(r); }
    std::string operator()(const WorkerNamed& r) { return EncodeFields(r); }
    std::string operator()(const WorkerDrained& r) { return EncodeFields(r); }
    std::string operator()(const WorkerExcluded& r) { return EncodeFields(r); }
    std::string operator()(const WorkerForgotten& r) { return EncodeFields(r); }
    std::string operator()(const WorkerWrongOutputs& r) { return EncodeFields(r); }
    std::string operator()(const JournalLoss& r) { return EncodeFields(r); }
  };
  return std::visit(Visitor{}, record);
}

Result<Record> DecodeRecord(uint8_t kind, std::string_view payload) {
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::kEvent: {
      EventRecord event;
      if (DecodeEvent(payload, &event)) return Record(std::move(event));
      return Rejected("no event that this release knows; start the release that wrote it");
    }
    case RecordKind::kEpoch: return Decoded<EpochStarted>(payload, "an epoch");
    case RecordKind::kWorker: return Decoded<WorkerNamed>(payload, "a worker's name");
    case RecordKind::kDrained: return Decoded<WorkerDrained>(payload, "a worker's drain");
    case RecordKind::kExcluded: return Decoded<WorkerExcluded>(payload, "a worker's exclusion");
    case RecordKind::kForgotten: return Decoded<WorkerForgotten>(payload, "a forgotten worker");
    case RecordKind::kWrongOutputs: return Decoded<WorkerWrongOutputs>(payload, "a worker's count of wrong outputs");
    case RecordKind::kLoss: return Decoded<JournalLoss>(payload, "a loss");
    case RecordKind::kPublished: return DecodedPublished(payload);
    case RecordKind::kDfs: {
      dfs::Record change;
      if (!dfs::Decode(payload, &change)) return Corrupted("not a change of the block store");
      return Record(std::move(change));
    }
    case RecordKind::kOldDigest:
      return Rejected("a record that releases before 0.1 wrote; this release does not read it");
    case RecordKind::kSnapshotHead:
    case RecordKind::kSnapshotScheduler:
    case RecordKind::kSnapshotJobs:
    case RecordKind::kSnapshotDfs: break;
  }
  return Rejected("an unknown kind (" + std::to_string(kind) + "); a later release wrote it, start that one");
}

std::string Encode(const EventRecord& record) { return EncodeFields(record); }

bool DecodeEvent(std::string_view bytes, EventRecord* out) {
  FieldReader reader(bytes);
  reader.Get(out->stamped);
  reader.Get(out->extra);
  reader.Get(out->outcome);
  reader.Get(out->digest);
  return reader.ok() && reader.AtEnd();
}

std::string EncodeFinished(const FinishedExtra& extra, const std::vector<HotKey>& hot) {
  return hot.empty() ? EncodeFields(extra) : EncodeFields(extra) + EncodeFields(hot);
}

bool DecodeFinished(std::string_view bytes, FinishedExtra* extra, std::vector<HotKey>* hot) {
  FieldReader reader(bytes);
  reader.Get(*extra);
  std::vector<HotKey> keys;
  if (reader.ok() && !reader.AtEnd()) reader.Get(keys);
  if (!reader.ok() || !reader.AtEnd()) return false;
  if (hot != nullptr) *hot = std::move(keys);
  return true;
}

bool IsPromise(const sched::Decision& d) {
  return std::holds_alternative<sched::Accept>(d) || std::holds_alternative<sched::DropReplica>(d) ||
         std::holds_alternative<sched::CommitJob>(d) || std::holds_alternative<sched::FailJob>(d) ||
         std::holds_alternative<sched::MarkIndeterminate>(d);
}

std::string PromisesDiffer(const std::vector<sched::Decision>& recorded,
                           const std::vector<sched::Decision>& decisions) {
  std::vector<std::string> here, there;
  for (const sched::Decision& d : decisions) {
    if (IsPromise(d)) here.push_back(EncodeFields(d));
  }
  for (const sched::Decision& d : recorded) there.push_back(EncodeFields(d));
  if (here == there) return "";
  return "it recorded " + std::to_string(there.size()) +
         " promises (commits, dropped replicas, ends of jobs), the replay made " + std::to_string(here.size()) +
         (here.size() == there.size() ? ", others" : "");
}

std::string EncodeSubmit(const SubmitExtra& extra) {
  return EncodeFields(extra) + EncodeFields(InputsOf(extra.plan)) + EncodeFields(extra.owner);
}

bool DecodeSubmit(std::string_view bytes, SubmitExtra* out) {
  FieldReader reader(bytes);
  reader.Get(*out);
  PlannedInputs inputs;
  reader.Get(inputs);
  out->owner = kNoOwner;
  if (reader.ok() && !reader.AtEnd()) reader.Get(out->owner);
  return reader.ok() && reader.AtEnd() && TakeInputs(std::move(inputs), &out->plan);
}

}  // namespace mr::master
