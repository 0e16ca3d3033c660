// The index of the shuffle store. It maps replicas to cohorts and decides when a cohort takes no new outputs. A cohort
// lives as long as something refers to it: a replica in the index, a read or write in progress, or its role as the
// cohort for new outputs. Then the background thread closes it and removes its directory. For store*.cc only.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/exec/pool.h"
#include "worker/shuffle/store.h"
#include "worker/shuffle/store_cohort.h"

namespace mr::worker {

class StoreImpl : public ShuffleStore {
 public:
  explicit StoreImpl(const Options& options);
  ~StoreImpl() override;
  Status Start();

  Result<std::unique_ptr<Writer>> Begin(const ReplicaKey& key, uint32_t partitions) override;
  Result<StoredChunk> Get(const ReplicaKey& key, uint32_t partition, uint32_t chunk) override;
  Result<std::vector<PartitionRow>> Table(const ReplicaKey& key) override;
  bool Has(const ReplicaKey& key) override;
  std::vector<ReplicaKey> Inventory() override;
  void Drop(const ReplicaKey& key) override;
  uint64_t drops() const override { return drops_.load(); }
  void EndJob(JobId job) override;
  uint64_t bytes() const override;
  void Trim() override;
  void Settle() override { background_->Settle(); }

  // For writers. Either entries or sst holds the output.
  Status Commit(const ReplicaKey& key, uint64_t stored_bytes, const std::vector<StoreEntry>& entries, SstFile* sst);
  // The same for an output without chunks. It needs no cohort: its table follows from the number of partitions.
  Status CommitEmpty(const ReplicaKey& key, uint32_t partitions);
  Result<std::unique_ptr<SstFile>> NewSstFile();
  const Options& options() const { return options_; }

 private:
  using CohortPtr = std::shared_ptr<Cohort>;
  struct Replica {
    CohortPtr cohort;  // null for an output without chunks
    uint64_t bytes = 0;
    uint32_t partitions = 0;  // of an output without chunks
    bool bad() const { return cohort != nullptr && cohort->bad(); }
  };
  struct Job {
    uint64_t bytes = 0;  // written so far, including dropped outputs
    CohortPtr own;
    bool own_asked = false;
  };

  Result<CohortPtr> OpenCohort();
  // Returns nothing if there is no such replica, or its bytes are lost.
  std::optional<Replica> Find(const ReplicaKey& key);
  Status CheckNew(const ReplicaKey& key);  // mutex_ held
  Result<CohortPtr> Reserve(JobId job, uint64_t bytes);
  void AskForNext();                                                                      // mutex_ held
  void AskForOwn(JobId job);                                                              // mutex_ held
  static bool TakesNew(const Cohort& cohort) { return !cohort.bad() && !cohort.closed; }  // mutex_ held
  bool SharedIsFull() const;                                                              // mutex_ held
  void RotateIfDue();                                                                     // mutex_ held
  void Forget(std::map<ReplicaKey, Replica>::iterator replica);                           // mutex_ held
  void SweepBad();

  const Options options_;
  const std::shared_ptr<RocksShared> rocks_;
  const std::shared_ptr<Pool> background_;  // one thread: opens the next cohort, closes and removes old ones
  std::atomic<uint64_t> next_file_ = 1;
  std::atomic<uint64_t> live_bytes_ = 0;
  std::atomic<uint64_t> drops_ = 0;

  std::mutex mutex_;  // guards what is below; never held during I/O
  std::map<ReplicaKey, Replica> replicas_;
  std::map<JobId, Job> jobs_;
  std::set<JobId> ended_;
  CohortPtr shared_;  // takes the outputs of small jobs
  CohortPtr next_;    // opened ahead; null while one is being opened
  bool next_asked_ = false;
};

}  // namespace mr::worker
