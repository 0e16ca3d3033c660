// The newest record of the master's journal that this worker was sent as durable. It shows it when it registers, in
// this life and in later ones: a journal that lacks the record has lost some (master/server/safe_mode.cc).
//
// A file of one line with a checksum. One that is missing, damaged or of another cluster says nothing. A record of
// another epoch or cluster than the file's is written within kNewEpochDelay, later ones at most each kSeenPeriod; a
// write that fails is tried again after kSeenPeriod. Thread: the loop.
#pragma once

#include <kj/async.h>

#include <cstdint>
#include <string>

#include "common/base/time.h"
#include "common/rpc/kj_thread.h"
#include "schema/control.capnp.h"
#include "worker/shuffle/on_pool.h"

namespace mr::worker {

// What the end of this process forgets at most (guess): a few seconds, where copies of the master's directory that
// somebody restores are minutes old. Each write makes the file system sync its own journal twice: with a write each
// 500 ms, three workers on one disk with their master ran 3 % fewer short tasks (measured).
inline constexpr Duration kSeenPeriod = Seconds(5);
inline constexpr Duration kNewEpochDelay = Millis(500);

struct JournalRecord {
  uint32_t epoch = 0;  // 0: none is known
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
  // What is not newer changes nothing.
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
