// Makes whole replicas of other workers' outputs in this worker's store.
//
// Fetches each chunk in its stored form, over the channels of readers and with their checks: table against the
// committed digest, chunks against their wire digest, partitions against their rows. Stores it in the same form. At the
// end the store has the committed content, or nothing: a failed or cancelled replica leaves nothing behind.
//
// Memory: two transfers at a time, each with a window of chunks that are requested and not stored yet. Lives on the
// worker's KJ loop; checks and writes run on the pool.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include <kj/async.h>

#include "worker/shuffle/fetch.h"

namespace mr::worker {

class Replicator final : private kj::TaskSet::ErrorHandler {
 public:
  struct Options {
    uint32_t at_once = 2;                // guess: replicas must not take the links from readers
    uint64_t window_bytes = 4ull << 20;  // of one transfer
    uint32_t tries = 4;                  // if the source cannot be reached
    Duration first_pause = Millis(100);  // between tries; doubled each time
  };
  // bytes: uncompressed. here: the cause is on this worker, such as a full disk; the source is not in doubt. Called on
  // the loop, never from within a call of this class, and not after Cancel or EndJob.
  using OnDone = std::function<void(const ReplicaLocation& from, const Result<uint64_t>& bytes, bool here)>;

  // fetches and store belong to this worker.
  Replicator(rpc::KjThread& loop, FetchPool& fetches, std::shared_ptr<ShuffleStore> store, const Options& options);
  Replicator(rpc::KjThread& loop, FetchPool& fetches, std::shared_ptr<ShuffleStore> store)
      : Replicator(loop, fetches, std::move(store), Options()) {}
  ~Replicator() noexcept;
  void set_on_done(OnDone on_done) { on_done_ = std::move(on_done); }

  // Starts a replica under the name of its source: task and attempt. Has no effect while that replica is in progress.
  void Add(const ReplicaLocation& from);
  // Stops this replica: nothing more of it is stored. The caller must drop what is stored already.
  void Cancel(const ReplicaKey& replica);
  void EndJob(JobId job);
  void CancelAll();

  size_t under_way() const { return entries_.size(); }
  struct Counters {
    uint64_t made = 0, bytes = 0, failed = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  class Transfer;
  struct Entry {
    ReplicaLocation from;
    uint32_t tries = 0;
    uint64_t round = 0;                  // detects pauses and transfers of a cancelled entry
    std::shared_ptr<Transfer> transfer;  // null while it waits
  };
  void taskFailed(kj::Exception&& exception) override;
  void Pump();
  void Ended(const ReplicaKey& replica, uint64_t round, const Result<uint64_t>& bytes, bool here);
  void Erase(std::map<ReplicaKey, Entry>::iterator entry);

  rpc::KjThread& loop_;
  FetchPool& fetches_;
  const std::shared_ptr<ShuffleStore> store_;
  const Options options_;
  OnDone on_done_;
  std::map<ReplicaKey, Entry> entries_;
  std::deque<std::pair<ReplicaKey, uint64_t>> queue_;  // with rounds; those of erased entries are skipped
  uint32_t running_ = 0;
  uint64_t last_round_ = 0;
  Counters counters_;
  kj::TaskSet tasks_{*this};  // last: its promises use what is above
};

}  // namespace mr::worker
