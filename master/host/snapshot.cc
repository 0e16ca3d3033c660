// Snapshots, made by a replay of the closed part of the journal beside the running master. So the
// master's thread neither waits nor copies its state, and the snapshot is the state that a restart reads.
#include <glog/logging.h>

#include "common/io/clock.h"
#include "master/host/brain.h"
#include "master/host/read_journal.h"

namespace mr::master {

void Brain::MakeSnapshot() {
  if (making_snapshot_ || closed_ <= snapshot_at_) return;
  making_snapshot_ = true;
  outlets_.InPool([this, config = core_.config(), until = closed_] {
    const Instant begin = Now();
    const auto status = std::make_shared<Status>(TakeSnapshot(config, until));
    const Duration took = Now() - begin;
    loop_.Post([this, until, status, took] {
      making_snapshot_ = false;
      if (!status->ok()) {
        // Nothing is lost: the journal stays as it is, and grows until the next attempt.
        LOG(ERROR) << "journal: no snapshot was made: " << status->ToString();
        return;
      }
      snapshot_at_ = until;
      LOG(INFO) << "journal: snapshot at record " << until << " took " << took.ns / 1'000'000 << " ms";
      MakeSnapshot();
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
