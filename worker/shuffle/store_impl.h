// The shuffle store's own bookkeeping: which copy lies in which cohort, and when a cohort is closed
// to new outputs. A cohort lives as long as somebody points to it (a copy in the index, a read or a
// write under way, being the one that takes new outputs); the last one gone, the background thread
// closes it and removes its directory. For store*.cc only.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "worker/shuffle/background.h"
#include "worker/shuffle/store.h"
#include "worker/shuffle/store_cohort.h"

namespace mr::worker {

class StoreImpl : public ShuffleStore {
 public:
  explicit StoreImpl(const Options& options);
  ~StoreImpl() override;
  Status Start();

  Result<std::unique_ptr<Writer>> Begin(const CopyKey& key, uint32_t partitions) override;
  Result<StoredChunk> Get(const CopyKey& key, uint32_t partition, uint32_t chunk) override;
  Result<std::vector<PartitionRow>> Table(const CopyKey& key) override;
  bool Has(const CopyKey& key) override;
  std::vector<CopyKey> Inventory() override;
  void Drop(const CopyKey& key) override;
  uint64_t drops() const override { return drops_.load(); }
  void EndJob(JobId job) override;
  uint64_t bytes() const override;
  void Settle() override { background_->Settle(); }

  // For writers. Exactly one of entries and sst holds the output.
  Status Commit(const CopyKey& key, uint64_t stored_bytes, const std::vector<StoreEntry>& entries, SstFile* sst);
  Result<std::unique_ptr<SstFile>> NewSstFile();
  const Options& options() const { return options_; }

 private:
  using CohortPtr = std::shared_ptr<Cohort>;
  struct Copy {
    CohortPtr cohort;
    uint64_t bytes = 0;
  };
  struct Job {
    uint64_t bytes = 0;  // written so far, also what was dropped since
    CohortPtr own;
    bool own_asked = false;
  };

  Result<CohortPtr> OpenCohort();
  CohortPtr Find(const CopyKey& key);
  Status CheckNew(const CopyKey& key);  // mutex_ held
  Result<CohortPtr> Reserve(JobId job, uint64_t bytes);
  void AskForNext();                                                                      // mutex_ held
  void AskForOwn(JobId job);                                                              // mutex_ held
  static bool TakesNew(const Cohort& cohort) { return !cohort.bad() && !cohort.closed; }  // mutex_ held
  bool SharedIsFull() const;                                                              // mutex_ held
  void RotateIfDue();                                                                     // mutex_ held
  void Forget(std::map<CopyKey, Copy>::iterator copy);                                    // mutex_ held
  void SweepBad();

  const Options options_;
  const std::shared_ptr<RocksShared> rocks_;
  const std::shared_ptr<Background> background_;
  std::atomic<uint64_t> next_file_ = 1;
  std::atomic<uint64_t> live_bytes_ = 0;
  std::atomic<uint64_t> drops_ = 0;

  std::mutex mutex_;  // guards what is below; never held during I/O
  std::map<CopyKey, Copy> copies_;
  std::map<JobId, Job> jobs_;
  std::set<JobId> ended_;
  CohortPtr shared_;  // takes the outputs of small jobs
  CohortPtr next_;    // opened ahead; null while that is under way
  bool next_asked_ = false;
};

}  // namespace mr::worker
