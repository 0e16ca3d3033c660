// Options of a master's host: what `Master` and tests choose. Plain values with their defaults.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/io/clock.h"
#include "common/io/file_roots.h"
#include "common/io/retention.h"
#include "master/core/jobs.h"
#include "master/core/master_core.h"

namespace mr::url {
class Reader;
}

namespace mr::master {

class Granter;
class ProfileStore;

// Default of --open_jobs. A guess: at about 30 KiB each, far below the memory of any master.
inline constexpr size_t kOpenJobs = 10'000;

struct HostOptions {
  std::string directory;
  uint64_t cluster_id = 0;
  std::string policies = sched::kPlainPolicies;
  uint64_t seed = 1;
  uint64_t block_bytes = 64ull << 20;
  uint32_t replication = 3;
  uint64_t snapshot_bytes = 64ull << 20;  // of journal, after which a snapshot is made
  size_t ended_jobs = kEndedJobs;         // that are kept
  uint64_t fat_partition_bytes = kFatBytes;
  uint32_t scheduler_version = sched::kSchedulerVersion;          // tests set another one
  std::shared_ptr<ProfileStore> profiles;                         // of earlier runs; null: none are kept
  Duration effects_lease = kEffectsLease;                         // of attempts with side effects
  Duration input_wait = Seconds(600);                             // for input blocks that no worker has; > 0
  size_t open_jobs = kOpenJobs;                                   // planned or unfinished; more are refused
  RetentionLimits libraries = {8ull << 30, Seconds(30 * 86400)};  // operator libraries and side files
  RetentionLimits logs = {256ull << 20, Seconds(7 * 86400)};      // kept ends of logs of attempts
  Duration staging_age = Seconds(600);      // since the end of its job, after which what is left of its staging goes
  Duration housekeeping = Seconds(60);      // between two runs of the housekeeping
  bool cluster_known = false;               // it has been before: a missing journal is a loss
  std::optional<uint64_t> accept_loss;      // the number that a refused start printed
  size_t record_bytes = kRecordBytes;       // of the journal, at most, for a job's plan or its commit; tests set less
  std::shared_ptr<Granter> granter;         // null: nothing needs a grant
  FileRoots file_roots = FileRoots::Any();  // Master sets what --file_roots allows
  OwnerLimits owner;                        // what one owner may have at a time
  bool insecure = false;                    // anybody may connect (--insecure): pages show it
  std::shared_ptr<const url::Reader> urls;  // what --url_roots allows; null: nothing
  std::function<Instant()> clock = Now;     // of the host; a test has its own
  std::function<uint64_t()> wall_clock = WallClockMs;  // as a start reads it, ms since 1970; a test has its own
};

}  // namespace mr::master
