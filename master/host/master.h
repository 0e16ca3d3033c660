// One master: data directory, journal, host and sockets, started and stopped as a whole. mrmaster_main.cc runs it, and
// tests run it in their own process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/retention.h"
#include "common/rpc/entry_options.h"
#include "common/url/reader.h"
#include "master/core/fat_partitions.h"
#include "master/core/owner_limits.h"
#include "master/core/record_size.h"
#include "master/sched/scheduler.h"

namespace mr::master {

class Master {
 public:
  struct Options {
    std::string directory;
    std::string bind = "127.0.0.1";
    std::string advertise;             // host by which others reach it; empty = bind
    uint16_t port = 0, http_port = 0;  // 0 = any
    std::string http_bind = "127.0.0.1";
    std::string file_roots;               // rpc::FileRootsFor
    url::Settings urls;                   // which URLs jobs may read, and how
    rpc::EntryOptions entry;              // who may connect to the RPC port
    std::vector<std::string> http_hosts;  // names by which people reach its pages, beside those of the machine
    std::string policies = sched::kPlainPolicies;
    uint64_t seed = 1;
    uint32_t replication = 3;
    uint64_t block_bytes = 64ull << 20;
    uint64_t snapshot_bytes = 64ull << 20;     // of journal, after which a snapshot is made
    size_t ended_jobs = 10'000;                // that are kept; the oldest are forgotten
    uint64_t fat_partition_bytes = kFatBytes;  // a partition above it may be shared by tasks (fat_partitions.h)
    uint32_t scheduler_version = sched::kSchedulerVersion;          // tests say another one
    Duration effects_lease = Seconds(10);                           // of attempts with side effects; at least 1 s
    Duration input_wait = Seconds(600);                             // for input blocks that no worker has; > 0
    uint64_t descriptors = 1024;                                    // open files that this process may have
    Duration idle_timeout = Seconds(3600);                          // of a client's connection (rpc::ServerLimits)
    Duration send_timeout = Seconds(30);                            // of peers that do not read (rpc::ServerLimits)
    size_t open_jobs = 10'000;                                      // planned or unfinished; more are refused
    RetentionLimits libraries = {8ull << 30, Seconds(30 * 86400)};  // operator libraries and side files
    RetentionLimits logs = {256ull << 20, Seconds(7 * 86400)};      // kept ends of logs of attempts
    Duration staging_age = Seconds(600);  // after a job's end, until what is left of its staging goes
    Duration housekeeping = Seconds(60);  // between two looks at both
    bool learns = true;                   // keeps profiles of jobs for later ones
    size_t record_bytes = kRecordBytes;   // of the journal, at most, for a job's plan or its commit; tests say less
    std::optional<uint64_t> accept_loss;  // of journal records, by the number that a refused start named
    OwnerLimits owner;                    // what one owner may have at a time; 0 = no limit
    bool audits = true;                   // keeps the audit log, below DIRECTORY/audit
    uint64_t audit_bytes = 64ull << 20;   // of one of its files
    size_t audit_files = 10;              // that are kept
  };
  // Replays the journal and serves. Blocks until then.
  static Result<std::unique_ptr<Master>> Start(Options options);
  // Stops serving, syncs the journal. Jobs go on at the next start.
  ~Master();
  // Stops, and removes what jobs that have not ended keep beside their outputs: there is no next start.
  void EndForGood();

  uint16_t port() const;
  uint16_t http_port() const;
  uint64_t cluster_id() const;
  // Returns functions that run a closure on each thread that must not stand still: the deciding one, and that of RPC.
  // They live until this master ends.
  std::vector<std::function<void(std::function<void()>)>> threads();
  // Returns a digest of the scheduler's state now. A replay of the journal has the same one.
  uint64_t StateDigest();

 private:
  struct Impl;
  explicit Master(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Replays the journal below `directory` without starting anything, and gives the digest of the state
// that comes out. Changes nothing; also while a master uses it (kNotFound where that one has just
// replaced files by a snapshot: try again).
Result<uint64_t> ReplayedDigest(const std::string& directory);

// Checks the audit log below `directory`, also while a master uses it: see CheckAudit in audit_log.h. Returns the
// result in a sentence. Errors: kCorrupted, with the first line that does not follow from the one before it; kNotFound.
Result<std::string> CheckedAudit(const std::string& directory);

}  // namespace mr::master
