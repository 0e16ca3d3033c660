// Stores the newest journal record that the master has reported to this worker as durable. The worker sends it with
// each registration, also after a restart: a journal that lacks the record has lost some (master/host/safe_mode.cc).
//
// Stored as a file of one line with a checksum. A missing or damaged file, or one of another cluster, counts as none.
// The first record of an epoch or cluster is written within kNewEpochDelay, later ones at most once per kSeenPeriod. A
// failed write is retried after kSeenPeriod. Thread: the loop.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <string>

#include "common/base/time.h"
#include "common/rpc/kj_thread.h"
#include "schema/control.capnp.h"
#include "worker/shuffle/on_pool.h"

namespace mr::worker {

// The longest period that is lost when this process ends. A few seconds are enough (guess): restored backups of the
// master's directory are minutes old. Each write makes the file system sync its own journal twice. With a write per 500
// ms, three workers on one disk with their master ran 3 % fewer short tasks (measured).
inline constexpr Duration kSeenPeriod = Seconds(5);
inline constexpr Duration kNewEpochDelay = Millis(500);

struct JournalRecord {
  uint32_t epoch = 0;  // 0: no record
  uint64_t life = 0, sequence = 0;
  bool operator==(const JournalRecord&) const = default;
};
JournalRecord FromWire(rpc::Durable::Reader in);
void ToWire(const JournalRecord& record, rpc::Durable::Builder out);

class JournalSeen final : kj::TaskSet::ErrorHandler {
 public:
  // Reads the file. Blocks.
  JournalSeen(rpc::KjThread& loop, PostToPool post, std::string path);

  JournalRecord Of(uint64_t cluster_id) const { return cluster_id == cluster_id_ ? newest_ : JournalRecord{}; }
  // Ignores a record that is not newer.
  void Note(uint64_t cluster_id, const JournalRecord& record);

 private:
  void taskFailed(kj::Exception&& e) override;
  void WriteSoon();

  rpc::KjThread& loop_;
  const PostToPool post_;
  const std::string path_;
  uint64_t cluster_id_ = 0, written_cluster_ = 0;
  JournalRecord newest_, written_;
  bool writing_ = false;
  bool failing_ = false;  // the last write failed
  kj::TaskSet tasks_;
};

}  // namespace mr::worker
