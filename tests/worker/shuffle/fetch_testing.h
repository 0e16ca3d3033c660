// A data server and a reader in one process: two KJ loops, real sockets on loopback.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "common/rpc/server.h"
#include "tests/worker/shuffle/shuffle_testing.h"
#include "worker/shuffle/fetch.h"
#include "worker/shuffle/serve.h"

namespace mr::worker {

// The incarnations of the two.
inline constexpr Incarnation kServer = 77, kReader = 88;

class TestPool {
 public:
  TestPool();
  ~TestPool();
  PostToPool poster();

 private:
  void Main();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Another store's answers, changed on their way out.
class TamperingStore : public ShuffleStore {
 public:
  using Tamper = std::function<void(uint32_t partition, uint32_t chunk, StoredChunk*)>;
  TamperingStore(std::shared_ptr<ShuffleStore> store, Tamper tamper)
      : store_(std::move(store)), tamper_(std::move(tamper)) {}
  Result<std::unique_ptr<Writer>> Begin(const ReplicaKey& key, uint32_t partitions) override {
    return store_->Begin(key, partitions);
  }
  Result<StoredChunk> Get(const ReplicaKey& key, uint32_t partition, uint32_t chunk) override {
    auto got = store_->Get(key, partition, chunk);
    if (got.ok()) tamper_(partition, chunk, &*got);
    return got;
  }
  Result<std::vector<PartitionRow>> Table(const ReplicaKey& key) override { return store_->Table(key); }
  bool Has(const ReplicaKey& key) override { return store_->Has(key); }
  std::vector<ReplicaKey> Inventory() override { return store_->Inventory(); }
  void Drop(const ReplicaKey& key) override { store_->Drop(key); }
  uint64_t drops() const override { return store_->drops(); }
  void EndJob(JobId job) override { store_->EndJob(job); }
  uint64_t bytes() const override { return store_->bytes(); }
  void Trim() override { store_->Trim(); }
  void Settle() override { store_->Settle(); }

 private:
  std::shared_ptr<ShuffleStore> store_;
  Tamper tamper_;
};

class TestDataServer {
 public:
  TestDataServer(std::shared_ptr<ShuffleStore> store, PostToPool post, Incarnation incarnation);
  ~TestDataServer() { Kill(); }
  // Closes the listener and all connections.
  void Kill();
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  uint16_t port() const { return port_; }
  // With chunks.
  uint64_t replies();

 private:
  rpc::KjThread loop_{"data-server"};
  std::shared_ptr<ShuffleServing> serving_;
  std::unique_ptr<rpc::RpcServer> server_;  // on the loop
  uint16_t port_ = 0;
};

// Takes what a fetcher delivers; waits for its end. Batches are taken at once unless `hold`.
class TestObserver : public FetchObserver {
 public:
  struct Failure {
    ReplicaLocation from;
    Status why;
    bool partly_delivered;
  };
  using Name = std::pair<uint32_t, uint32_t>;  // upstream task, partition

  void OnBatch(Batch batch, std::function<void()> taken) override;
  void OnSegmentDone(const ReplicaLocation& from, const FetchMeasure& measure) override;
  void OnSegmentFailed(const ReplicaLocation& from, const Status& why, bool partly_delivered) override;

  // Until this many segments have ended or `seconds` have passed.
  bool WaitForEnds(size_t segments, int seconds = 30);
  bool WaitForBatches(size_t batches, int seconds = 30);
  // With `hold`: takes all that is there, again and again, until this many segments have ended.
  void TakeUntilEnds(size_t segments, int seconds = 30);

  std::mutex mutex;
  std::condition_variable changed;
  bool hold = false;
  std::function<void()> on_batch;  // on the loop, without the mutex
  std::map<Name, std::vector<std::string>> batches;
  std::set<Name> complete;
  std::vector<FetchMeasure> done;
  std::vector<Failure> failed;
  std::vector<std::function<void()>> held;
  size_t batches_seen = 0;
  uint64_t outstanding = 0, most_outstanding = 0;  // bytes delivered and not taken
  bool wrong_order = false;                        // a batch after the last one
};

// Flips the lowest bit of a byte of the stored bytes.
void FlipBit(size_t at, StoredChunk* stored);
// One bit of the chunk's last value is another one, and the chunk is otherwise right: stored plainly, with a digest
// that fits its bytes. Only the partition's own digest can tell.
void FlipValueBit(StoredChunk* stored);

// The location of a replica on `server`.
ReplicaLocation LocationOf(const ReplicaKey& key, const std::vector<PartitionRow>& rows, const std::string& address,
                           Incarnation incarnation, bool inline_table);

}  // namespace mr::worker
