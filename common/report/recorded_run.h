// The record of a run: all that a report needs, what the master said about the job, and its history for simulations.
// Encoded as the bytes of a file, which any later release of the same format reads.
//
// The bytes: a head of 40 bytes (magic, format version, codec, sizes, checksum), then a RecordedRun (run.capnp), flat
// and compressed by zstd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/model/command.h"
#include "common/model/stage_info.h"
#include "common/report/job_run.h"

namespace mr::report {

inline constexpr uint32_t kRecordedRunVersion = 1;
// The most uncompressed bytes of a record: about 200,000 attempts with their decisions (a guess: no local run has
// more).
inline constexpr uint64_t kMostRecordBytes = 128u << 20;

// The launch of an attempt, for its replay.
struct RecordedLaunch {
  StageInfo stage;  // without the values of environment variables once it was encoded
  LaunchCommand launch;
};

struct RecordedRun {
  JobRun run;
  std::vector<std::string> why;          // lines about the job, as `mrctl -v why` prints them
  std::vector<RecordedLaunch> launches;  // of failed attempts, and of the tasks whose output they read
  std::string history;  // a document of master/history; empty: the job did not end, or it was not known
};

// Ends what still ran when the run was read: its cluster has ended, and with it these attempts. They count as killed at
// the end of the job. DecodeRun does so too, for records of releases that did not.
void EndWork(JobRun* run);

// Returns the bytes of a record. Leaves out job.local_id, which is the name of its file, and the values of environment
// variables. Errors: kRejected: above kMostRecordBytes.
Result<std::string> EncodeRun(const RecordedRun& recorded);

// Returns the run of a record; `gone` is set. name: for messages. The bytes may be hostile. Errors: kCorrupted: no
// record, or a damaged one; kRejected: another version. Memory: at most a small multiple of kMostRecordBytes.
Result<RecordedRun> DecodeRun(std::string_view bytes, const std::string& name);

}  // namespace mr::report
