// A copy of a master's data directory, made while a master uses it: mrmaster --backup.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace mr::master {

struct BackupMade {
  uint64_t records = 0;  // the last record of the journal in the copy
  uint32_t epoch = 0;    // of that record
  uint64_t bytes = 0;    // of all files
};

// Copies the cluster id, credentials, journal with its snapshots, profiles, audit log, libraries and kept logs from
// `directory` to `to`, which must not exist or be empty. All records that were durable before the call are in the copy.
// The journal of the copy is replayed as a check. Nothing in `directory` is changed. A copy that was not completed is
// named `to`.part, and the next backup to `to` replaces it. Cost: reads all files; the replay needs the time and memory
// of a master's start. Errors: kInvalidArgument, kRejected: `to` or `to`.part; kNotFound: no master's data; kCorrupted:
// the journal cannot be read, or a record that was durable is missing; those of the file systems.
Result<BackupMade> MakeBackup(const std::string& directory, const std::string& to);

}  // namespace mr::master
