#include "master/host/snapshots.h"

#include <glog/logging.h>

#include <memory>
#include <utility>

#include "common/io/clock.h"
#include "master/host/read_journal.h"
#include "master/journal/journal.h"

namespace mr::master {

Snapshots::Snapshots(MasterCore::Config config, Loop& loop, Outlets& outlets)
    : config_(std::move(config)), loop_(loop), outlets_(outlets) {}

void Snapshots::Begin(uint64_t snapshot_at, uint64_t closed) {
  snapshot_at_ = snapshot_at;
  if (closed > 0) closed_ = closed;
  Make();
}

void Snapshots::Closed(uint64_t sequence) {
  closed_ = sequence;
  Make();
}

void Snapshots::Make() {
  if (making_ || closed_ <= snapshot_at_) return;
  making_ = true;
  outlets_.InPool([this, config = config_, until = closed_] {
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
  });
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
