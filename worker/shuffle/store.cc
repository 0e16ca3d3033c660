#include "worker/shuffle/store.h"

#include "common/io/clock.h"
#include "common/io/files.h"
#include "worker/shuffle/format.h"
#include "worker/shuffle/store_impl.h"

namespace mr::worker {
namespace {

// The outputs of a long job keep alive the whole cohort in which they are. So a cohort takes new outputs for at most
// ten minutes (guess).
constexpr Duration kCohortAge = Seconds(600);
// Number of ended jobs that are remembered, so that a late writer cannot bring one back (guess: far more than late
// attempts of one worker can need).
constexpr size_t kEndedJobs = 4096;

std::string Describe(const ReplicaKey& key) { return Name(AttemptId{key.task, key.attempt}, TaskLetter::kMap); }

// Returns the table of an output without chunks, as a chunk.
Result<StoredChunk> EmptyTable(uint32_t partitions) {
  std::string value;
  EncodeChunk(EncodeTable(EmptyRows(partitions)), 0, /*level=*/0, &value);
  return DecodeChunk(value);
}

}  // namespace

Result<std::unique_ptr<ShuffleStore>> ShuffleStore::Open(const Options& options) {
  auto store = std::make_unique<StoreImpl>(options);
  MR_RETURN_IF_ERROR(store->Start());
  return std::unique_ptr<ShuffleStore>(std::move(store));
}

StoreImpl::StoreImpl(const Options& options)
    : options_(options), rocks_(NewRocksShared(options)), background_(std::make_shared<Pool>(1)) {}

StoreImpl::~StoreImpl() {
  {
    std::lock_guard lock(mutex_);
    replicas_.clear();
    jobs_.clear();
    shared_.reset();
    next_.reset();
  }
  background_->Finish();
}

Status StoreImpl::Start() {
  MR_RETURN_IF_ERROR(RemoveTree(options_.directory));
  MR_RETURN_IF_ERROR(MakeDirectories(options_.directory + "/files"));
  MR_ASSIGN_OR_RETURN(CohortPtr first, OpenCohort());
  std::lock_guard lock(mutex_);
  shared_ = std::move(first);
  AskForNext();
  return Status::Ok();
}

Result<StoreImpl::CohortPtr> StoreImpl::OpenCohort() {
  const std::string directory = options_.directory + "/cohort-" + std::to_string(next_file_.fetch_add(1));
  MR_ASSIGN_OR_RETURN(auto cohort, Cohort::Open(directory, rocks_, [this, weak = std::weak_ptr(background_)] {
                        // The store outlives its background thread's tasks, so a posted task may use `this`.
                        if (auto background = weak.lock()) background->Post([this] { SweepBad(); });
                      }));
  return CohortPtr(cohort.release(), [background = background_](Cohort* c) {
    // Closing takes 300 ms for 2 GiB (measured): not on the thread of the last reader.
    if (!background->Post([c] { delete c; })) delete c;
  });
}

void StoreImpl::AskForNext() {
  if (next_ != nullptr || next_asked_) return;
  next_asked_ = background_->Post([this] {
    auto opened = OpenCohort();
    std::lock_guard lock(mutex_);
    next_asked_ = false;
    if (!opened.ok()) return;  // the next commit requests one again
    next_ = *std::move(opened);
    RotateIfDue();
  });
}

void StoreImpl::AskForOwn(JobId id) {
  jobs_[id].own_asked = background_->Post([this, id] {
    auto opened = OpenCohort();
    std::lock_guard lock(mutex_);
    auto job = jobs_.find(id);
    if (job == jobs_.end()) return;  // ended meanwhile
    if (opened.ok()) {
      job->second.own = *std::move(opened);
    } else {
      job->second.own_asked = false;
    }
  });
}

bool StoreImpl::SharedIsFull() const {
  if (!TakesNew(*shared_) || shared_->stored_bytes >= options_.cohort_bytes) return true;
  if (shared_->stored_bytes == 0) return false;
  if (shared_->live_replicas == 0 && shared_->writes_under_way == 0 &&
      shared_->stored_bytes >= options_.idle_cohort_bytes) {
    return true;
  }
  return Now() - shared_->opened_at > kCohortAge;
}

void StoreImpl::RotateIfDue() {
  if (shared_ != nullptr && !SharedIsFull()) return;
  if (next_ == nullptr) return AskForNext();
  shared_ = std::move(next_);
  next_.reset();
  shared_->opened_at = Now();
  AskForNext();
}

Status StoreImpl::CheckNew(const ReplicaKey& key) {
  if (ended_.contains(key.task.job)) {
    return {Code::kCancelled, "job " + Name(key.task.job) + " has ended"};
  }
  if (replicas_.contains(key)) {
    return Rejected("the output of " + Describe(key) + " is stored already");
  }
  return Status::Ok();
}

// Returns the cohort for an output of this size, and counts a write to it.
Result<StoreImpl::CohortPtr> StoreImpl::Reserve(JobId id, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  RotateIfDue();
  if (!TakesNew(*shared_)) {  // no cohort was opened ahead: waits for a new one
    lock.unlock();
    MR_ASSIGN_OR_RETURN(CohortPtr opened, OpenCohort());
    lock.lock();
    if (!TakesNew(*shared_)) shared_ = std::move(opened);
  }
  Job& job = jobs_[id];
  CohortPtr cohort = job.own != nullptr && TakesNew(*job.own) ? job.own : shared_;
  job.bytes += bytes;
  if (job.bytes > options_.own_cohort_bytes && !job.own_asked) AskForOwn(id);
  cohort->stored_bytes += bytes;
  ++cohort->writes_under_way;
  return cohort;
}

Status StoreImpl::Commit(const ReplicaKey& key, uint64_t stored_bytes, const std::vector<StoreEntry>& entries,
                         SstFile* sst) {
  {
    std::lock_guard lock(mutex_);
    MR_RETURN_IF_ERROR(CheckNew(key));
  }
  CohortPtr cohort;
  Status status;
  // Adding a file reads files with neighbouring keys, and fails if one of them is damaged. That must not fail the new
  // output. So this tries the job's own cohort, the shared one, and then a new one, which holds nothing that could be
  // damaged.
  for (int tries = 0; tries < 3; ++tries) {
    MR_ASSIGN_OR_RETURN(cohort, Reserve(key.task.job, stored_bytes));
    status = sst != nullptr ? cohort->Ingest(sst->path()) : cohort->Write(entries);
    if (status.code() != Code::kCorrupted) break;
    std::lock_guard lock(mutex_);
    --cohort->writes_under_way;
    cohort->closed = true;
    cohort = nullptr;
  }
  std::lock_guard lock(mutex_);
  if (cohort != nullptr) --cohort->writes_under_way;
  if (status.ok()) status = CheckNew(key);
  if (status.ok()) {
    replicas_[key] = {cohort, stored_bytes, 0};
    ++cohort->live_replicas;
    live_bytes_ += stored_bytes;
  } else if (ended_.contains(key.task.job)) {
    jobs_.erase(key.task.job);  // Reserve may have brought its entry back
  }
  RotateIfDue();
  return status;
}

Status StoreImpl::CommitEmpty(const ReplicaKey& key, uint32_t partitions) {
  std::lock_guard lock(mutex_);
  MR_RETURN_IF_ERROR(CheckNew(key));
  replicas_[key] = {nullptr, 0, partitions};
  return Status::Ok();
}

Result<std::unique_ptr<SstFile>> StoreImpl::NewSstFile() {
  return SstFile::Create(options_.directory + "/files/" + std::to_string(next_file_.fetch_add(1)) + ".sst", rocks_);
}

std::optional<StoreImpl::Replica> StoreImpl::Find(const ReplicaKey& key) {
  std::lock_guard lock(mutex_);
  const auto replica = replicas_.find(key);
  if (replica == replicas_.end() || replica->second.bad()) return std::nullopt;
  return replica->second;
}

Result<StoredChunk> StoreImpl::Get(const ReplicaKey& key, uint32_t partition, uint32_t chunk) {
  const auto replica = Find(key);
  if (!replica) return NotFound("no replica of " + Describe(key) + " is on this worker");
  auto got = replica->cohort != nullptr ? replica->cohort->Get(EncodeStoreKey(key, partition, chunk), replica->cohort)
             : partition == kTablePartition && chunk == 0 ? EmptyTable(replica->partitions)
                                                          : Result<StoredChunk>(NotFound("no such chunk"));
  if (got.ok()) return got;
  return got.status().With("partition " + std::to_string(partition) + ", chunk " + std::to_string(chunk) + " of " +
                           Describe(key));
}

Result<std::vector<PartitionRow>> StoreImpl::Table(const ReplicaKey& key) {
  MR_ASSIGN_OR_RETURN(const StoredChunk chunk, Get(key, kTablePartition, 0));
  return DecodeTable(chunk.bytes);  // tables are stored uncompressed
}

bool StoreImpl::Has(const ReplicaKey& key) { return Find(key).has_value(); }

std::vector<ReplicaKey> StoreImpl::Inventory() {
  std::lock_guard lock(mutex_);
  std::vector<ReplicaKey> keys;
  for (const auto& [key, replica] : replicas_) {
    if (!replica.bad()) keys.push_back(key);
  }
  return keys;
}

void StoreImpl::Forget(std::map<ReplicaKey, Replica>::iterator replica) {
  if (replica->second.cohort != nullptr) --replica->second.cohort->live_replicas;
  live_bytes_ -= replica->second.bytes;
  replicas_.erase(replica);
  ++drops_;
}

void StoreImpl::Drop(const ReplicaKey& key) {
  std::lock_guard lock(mutex_);
  const auto replica = replicas_.find(key);
  if (replica == replicas_.end()) return;
  Forget(replica);
  RotateIfDue();
}

void StoreImpl::EndJob(JobId job) {
  std::lock_guard lock(mutex_);
  auto replica = replicas_.lower_bound(ReplicaKey{TaskId{job, 0, 0}, 0});
  while (replica != replicas_.end() && replica->first.task.job == job) Forget(replica++);
  jobs_.erase(job);
  ended_.insert(job);
  if (ended_.size() > kEndedJobs) ended_.erase(ended_.begin());  // the oldest: ids ascend
  RotateIfDue();
}

void StoreImpl::SweepBad() {
  std::lock_guard lock(mutex_);
  for (auto replica = replicas_.begin(); replica != replicas_.end();) {
    const auto at = replica++;
    if (at->second.bad()) Forget(at);
  }
  for (auto& [id, job] : jobs_) {
    if (job.own != nullptr && job.own->bad()) {
      job.own.reset();
      job.own_asked = false;
    }
  }
  RotateIfDue();
}

uint64_t StoreImpl::bytes() const { return live_bytes_.load(); }

void StoreImpl::Trim() { TrimRecycled(*rocks_); }

}  // namespace mr::worker
