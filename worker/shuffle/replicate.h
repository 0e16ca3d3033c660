// Makes replicas: further copies of outputs that other workers hold, whole, in this worker's store.
//
// Each chunk is fetched in its stored form, over the channels that readers use, checked as a reader
// checks it (table against the committed digest, chunks against their wire digest, partitions
// against their rows), and stored as it came. What can be read here afterwards is the committed
// content, or nothing: a replica that ends early leaves nothing behind.
//
// Memory: two at a time, each with a window of chunks that are asked for and not stored yet. Lives
// on the worker's KJ loop; checking and storing run on the pool.
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
    uint32_t at_once = 2;                // guess: a replica must not take the links from readers
    uint64_t window_bytes = 4ull << 20;  // of one
    uint32_t tries = 4;                  // where the holder cannot be reached
    Duration first_pause = Millis(100);  // between them; doubled each time
  };
  // bytes: uncompressed. here: it failed for what is this worker's own, as a full disk is; the source is in no doubt.
  // On the loop, never from within a call of ours; not after Cancel or EndJob.
  using OnDone = std::function<void(const CopyLocation& from, const Result<uint64_t>& bytes, bool here)>;

  // fetches and store are those of this worker.
  Replicator(rpc::KjThread& loop, FetchPool& fetches, std::shared_ptr<ShuffleStore> store, const Options& options);
  Replicator(rpc::KjThread& loop, FetchPool& fetches, std::shared_ptr<ShuffleStore> store)
      : Replicator(loop, fetches, std::move(store), Options()) {}
  ~Replicator() noexcept;
  void set_on_done(OnDone on_done) { on_done_ = std::move(on_done); }

  // The replica gets the name of the copy: its task and attempt. One that is under way goes on.
  void Add(const CopyLocation& from);
  // After it nothing of this replica is stored any more, but perhaps for what the caller drops.
  void Cancel(const CopyKey& replica);
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
    CopyLocation from;
    uint32_t tries = 0;
    uint64_t round = 0;                  // tells a pause or a transfer from one that was cancelled
    std::shared_ptr<Transfer> transfer;  // null while it waits
  };
  void taskFailed(kj::Exception&& exception) override;
  void Pump();
  void Ended(const CopyKey& replica, uint64_t round, const Result<uint64_t>& bytes, bool here);
  void Erase(std::map<CopyKey, Entry>::iterator entry);

  rpc::KjThread& loop_;
  FetchPool& fetches_;
  const std::shared_ptr<ShuffleStore> store_;
  const Options options_;
  OnDone on_done_;
  std::map<CopyKey, Entry> entries_;
  std::deque<std::pair<CopyKey, uint64_t>> queue_;  // with rounds; those of erased entries are skipped
  uint32_t running_ = 0;
  uint64_t last_round_ = 0;
  Counters counters_;
  kj::TaskSet tasks_{*this};  // last: its promises use what is above
};

}  // namespace mr::worker
