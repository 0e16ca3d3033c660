#include "master/host/snapshots.h"

#include <glog/logging.h>

#include <memory>
#include <utility>

#include "common/io/clock.h"
#include "master/host/read_journal.h"
#include "master/journal/journal.h"

namespace mr::master {
namespace {

// Segments that were closed while a snapshot was made, above which the next one is made at full priority: the others
// leave so little of the processor that the journal would grow (guess).
constexpr size_t kMostBehind = 4;

}  // namespace

Snapshots::Snapshots(MasterCore::Config config, Loop& loop, Outlets& outlets)
    : config_(std::move(config)), loop_(loop), outlets_(outlets) {}

void Snapshots::Begin(uint64_t snapshot_at, uint64_t closed) {
  snapshot_at_ = snapshot_at;
  if (closed > 0) closed_ = closed;
  Make();
}

void Snapshots::Closed(uint64_t sequence) {
  closed_ = sequence;
  ++behind_;
  Make();
}

void Snapshots::Make() {
  if (making_ || closed_ <= snapshot_at_) return;
  making_ = true;
  const bool late = std::exchange(behind_, 0) > kMostBehind;
  auto make = [this, config = config_, until = closed_] {
    const Instant begin = Now();
    const auto status = std::make_shared<Status>(TakeSnapshot(config, until));
    const Duration took = Now() - begin;
    loop_.Post([this, until, status, took] {
      making_ = false;
      if (!status->ok()) {
        // Nothing is lost: the journal stays as it is, and grows until the next attempt.
        LOG(ERROR) << "journal: no snapshot was made: " << status->ToString();
        return;
      }
      snapshot_at_ = until;
      LOG(INFO) << "journal: snapshot at record " << until << " took " << took.ns / 1'000'000 << " ms";
      Make();
    });
  };
  if (late) return outlets_.InPool(std::move(make));
  outlets_.AtLowPriority(std::move(make));
}

Status TakeSnapshot(const MasterCore::Config& config, uint64_t until) {
  MasterCore core(config, SpecOf);
  const std::string directory = config.directory + "/journal";
  MR_ASSIGN_OR_RETURN(const auto read, ReadJournal(&core, until));
  MR_ASSIGN_OR_RETURN(auto writer,
                      journal::SnapshotWriter::Create(directory, read.last.header.cluster_id, read.last.end));
  Status status;
  core.Save([&](RecordKind kind, const std::string& part) {
    if (status.ok()) status = writer.Add(static_cast<uint8_t>(kind), part);
  });
  MR_RETURN_IF_ERROR(status);
  MR_RETURN_IF_ERROR(writer.Finish());
  return journal::RemoveCovered(directory, until, read.snapshot);
}

}  // namespace mr::master
