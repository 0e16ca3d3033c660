#include "master/host/read_journal.h"

#include <utility>

namespace mr::master {
namespace {

// Reads the spec that comes with a submission. A later release may refuse what an earlier one took.
Status ReadSpecOf(EventRecord* record) {
  const auto* submitted = std::get_if<sched::JobSubmitted>(&record->stamped.event);
  if (submitted == nullptr) return Status::Ok();
  SubmitExtra extra;
  if (!DecodeSubmit(record->extra, &extra)) return Corrupted(Name(submitted->job) + " without its spec");
  auto spec = SpecOf(extra.spec);
  if (!spec.ok()) {
    return spec.status().With(Name(submitted->job) + " is not valid to this release (start the one that wrote it)");
  }
  record->spec = std::make_shared<const JobSpec>(*std::move(spec));
  return Status::Ok();
}

Status Apply(MasterCore* core, const journal::Record& read) {
  const auto kind = static_cast<RecordKind>(read.kind);
  if (IsImage(kind)) return core->Restore(kind, read.payload, read.sequence);
  auto read_record = ReadRecord(*core, read);
  if (!read_record.ok()) {
    // A master cannot pass over what only another release reads.
    const Status& why = read_record.status();
    return why.code() == Code::kRejected ? Corrupted(why.message()) : why;
  }
  std::optional<Record>& record = *read_record;
  if (!record) {
    core->PassOver();
    return Status::Ok();
  }
  const Applied applied = core->Apply(&*record, {read.sequence, 0});
  if (!applied.differs.empty()) return Corrupted(applied.differs);
  (void)core->NoteDurable(read.sequence);
  core->Shrink();
  return Status::Ok();
}

}  // namespace

Result<std::optional<Record>> ReadRecord(const MasterCore& core, const journal::Record& read) {
  // Only the promises of another build count.
  const bool event = static_cast<RecordKind>(read.kind) == RecordKind::kEvent;
  if (event && core.Foreign() && read.record_class == journal::RecordClass::kSoft) return std::optional<Record>();
  MR_ASSIGN_OR_RETURN(Record record, DecodeRecord(read.kind, read.payload));
  if (auto* e = std::get_if<EventRecord>(&record)) MR_RETURN_IF_ERROR(ReadSpecOf(e));
  MR_RETURN_IF_ERROR(core.Check(record));
  return std::optional(std::move(record));
}

Status ApplyRead(MasterCore* core, const journal::Record& record, uint64_t offset) {
  return Apply(core, record)
      .With("record " + std::to_string(record.sequence) + " at offset " + std::to_string(offset) +
            " of the journal in " + core->config().directory + "/journal");
}

Result<journal::DirectoryRead> ReadJournal(MasterCore* core, uint64_t until) {
  return journal::ReadDirectory(
      core->config().directory + "/journal", 0, until,
      [core](const journal::Record& record, uint64_t offset) { return ApplyRead(core, record, offset); });
}

}  // namespace mr::master
