#include "worker/shuffle/replicate.h"

#include <atomic>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "worker/shuffle/fetch_pool.h"

namespace mr::worker {
namespace {

struct Piece {
  uint32_t partition = 0;
  uint64_t expected_bytes = 0;
  StoredChunk chunk;
};

// Writes the chunks to the store, in its order. Used by one task of the pool at a time.
struct ReplicaSink {
  std::shared_ptr<ShuffleStore> store;  // outlives the writer
  ReplicaLocation from;
  Table table;
  std::atomic<bool> cancelled = false;
  std::unique_ptr<ShuffleStore::Writer> writer;
  std::optional<uint32_t> partition;
  PartitionCheck check;
  bool failed_here = false;  // the cause is not the source

  ReplicaKey key() const { return {from.output.task, from.attempt}; }

  Status Open() {
    if (writer != nullptr) return Status::Ok();
    auto begun = store->Begin(key(), from.partitions);
    if (!begun.ok()) return Here(begun.status());
    writer = *std::move(begun);
    return Status::Ok();
  }

  Status Here(Status status) {
    failed_here = !status.ok();
    return status;
  }

  Status Store(std::vector<Piece> pieces) {
    MR_RETURN_IF_ERROR(Open());
    for (Piece& piece : pieces) {
      if (partition != piece.partition) {
        partition = piece.partition;
        check = {};
        check.row = (*table)[piece.partition];
      }
      const uint64_t records = check.records;
      std::vector<StoredChunk> one;
      one.push_back(std::move(piece.chunk));
      MR_ASSIGN_OR_RETURN(const auto batches, CheckChunks(one, &check));
      one[0].records = static_cast<uint32_t>(check.records - records);
      MR_RETURN_IF_ERROR(Here(writer->AddStored(piece.partition, one[0], batches[0])));
    }
    return Status::Ok();
  }

  Result<uint64_t> Finish() {
    MR_RETURN_IF_ERROR(Open());
    const auto rows = writer->Finish();
    if (!rows.ok()) return Here(rows.status());
    writer.reset();
    uint64_t bytes = 0;
    for (const PartitionRow& row : *rows) bytes += row.bytes;
    const bool same = TableDigest(*rows) == from.content;
    // A cancel drops the replica, too. What is stored after that is dropped here.
    if (!same || cancelled.load()) store->Drop(key());
    if (!same) return Corrupted("the bytes that arrived differ from the committed digest");
    return bytes;
  }
};

}  // namespace

// One replica in progress.
class Replicator::Transfer final : public std::enable_shared_from_this<Transfer>, private kj::TaskSet::ErrorHandler {
 public:
  using OnEnd = std::function<void(const Result<uint64_t>&, bool here)>;

  Transfer(std::shared_ptr<FetchPool::State> pool, std::shared_ptr<ShuffleStore> store, const ReplicaLocation& from,
           uint64_t window, OnEnd on_end)
      : pool_(std::move(pool)), window_(window), on_end_(std::move(on_end)), sink_(std::make_shared<ReplicaSink>()) {
    sink_->store = std::move(store);
    sink_->from = from;
  }
  ~Transfer() noexcept {}

  void Start() {
    channel_ = pool_->ChannelTo(from());
    tasks_.add(kj::evalLater([this] { FindTable(); }));
  }

  void Cancel() {
    if (over_) return;
    sink_->cancelled = true;
    Close();
  }

 private:
  const ReplicaLocation& from() const { return sink_->from; }
  void taskFailed(kj::Exception&& e) override { End(Internal(e.getDescription().cStr())); }

  void FindTable() {
    if (over_) return;
    if (from().incarnation == pool_->context->options.incarnation) {
      return End(InvalidArgument("a replica on this worker cannot be the source of another one here"));
    }
    if (!from().table.empty() || from().partitions == 0) {
      const Status status = CheckTable(from().table, from().partitions, from().content);
      if (!status.ok()) return End(status);
      return Begin(Table(sink_, &sink_->from.table));
    }
    if (Table known = pool_->tables.Find(from())) return Begin(std::move(known));
    ChunkWant want = Want(kTablePartition, 0);
    want.expected_bytes = uint64_t{40} * from().partitions;
    want.done = [weak = weak_from_this()](Result<StoredChunk> chunk, uint32_t) {
      const auto self = weak.lock();
      if (self == nullptr || self->over_) return;
      if (!chunk.ok()) return self->End(chunk.status());
      self->UnpackOnPool(*std::move(chunk));
    };
    channel_->Submit(std::move(want));
  }

  void UnpackOnPool(StoredChunk chunk) {
    tasks_.add(OnPool(pool_->context->post, [chunk = std::move(chunk), partitions = from().partitions,
                                             content = from().content] {
                 return UnpackTable(chunk, partitions, content);
               }).then([this](Result<Table> table) {
      if (over_) return;
      if (!table.ok()) return End(table.status());
      pool_->tables.Add(from(), *table);
      Begin(*std::move(table));
    }));
  }

  void Begin(Table table) {
    // If the table belongs to the sink, the sink must not own itself.
    sink_->table = Table(Table(), table.get());
    if (table.get() != &sink_->from.table) table_ = std::move(table);
    for (const PartitionRow& row : *sink_->table) chunks_ += row.chunks;
    Pump();
  }

  ChunkWant Want(uint32_t partition, uint32_t chunk) {
    ChunkWant want;
    want.replica = sink_->key();
    want.worker = from().worker;
    want.incarnation = from().incarnation;
    want.grant = from().grant;
    want.generation = from().output.generation;
    want.partition = partition;
    want.chunk = chunk;
    want.wanted = [weak = weak_from_this()] {
      const auto self = weak.lock();
      return self != nullptr && !self->over_;
    };
    return want;
  }

  // Requests as much as the window has room for, in the order of the store.
  void Pump() {
    while (!over_ && asked_ < chunks_) {
      while (next_chunk_ == (*sink_->table)[next_partition_].chunks) {
        ++next_partition_;
        next_chunk_ = 0;
      }
      const PartitionRow& row = (*sink_->table)[next_partition_];
      const uint64_t expected = (row.bytes + row.chunks - 1) / row.chunks;
      if (used_ != 0 && used_ + expected > window_) break;
      used_ += expected;
      ChunkWant want = Want(next_partition_, next_chunk_++);
      want.expected_bytes = expected;
      want.done = [weak = weak_from_this(), number = asked_++, partition = next_partition_, expected](
                      Result<StoredChunk> chunk, uint32_t) {
        const auto self = weak.lock();
        if (self == nullptr || self->over_) return;
        if (!chunk.ok()) return self->End(chunk.status());
        self->arrived_[number] = {partition, expected, *std::move(chunk)};
        self->StoreNext();
      };
      channel_->Submit(std::move(want));
    }
    if (stored_ == chunks_) FinishOnPool();
  }

  // Passes the next pieces to the pool, in order and as far as they have arrived.
  void StoreNext() {
    if (storing_) return;
    std::vector<Piece> pieces;
    uint64_t bytes = 0;
    for (auto it = arrived_.begin(); it != arrived_.end() && it->first == stored_ + pieces.size();
         it = arrived_.erase(it)) {
      bytes += it->second.expected_bytes;
      pieces.push_back(std::move(it->second));
    }
    if (pieces.empty()) return;
    storing_ = true;
    const size_t count = pieces.size();
    tasks_.add(OnPool(pool_->context->post, [sink = sink_, table = table_, pieces = std::move(pieces)]() mutable {
                 return sink->Store(std::move(pieces));
               }).then([this, count, bytes](const Status& stored) {
      if (over_) return;
      storing_ = false;
      if (!stored.ok()) return End(stored, true);
      stored_ += count;
      used_ -= bytes;
      StoreNext();
      Pump();
    }));
  }

  void FinishOnPool() {
    if (over_ || finishing_) return;
    finishing_ = true;
    tasks_.add(OnPool(pool_->context->post, [sink = sink_] {
                 return sink->Finish();
               }).then([this](const Result<uint64_t>& bytes) { End(bytes, true); }));
  }

  void Close() {
    over_ = true;
    channel_ = nullptr;
    arrived_.clear();
  }

  // from_pool: the sink returned this result.
  void End(const Result<uint64_t>& bytes, bool from_pool = false) {
    if (over_) return;
    Close();
    // No task of the pool runs at this moment, so nobody writes failed_here.
    on_end_(bytes, from_pool && sink_->failed_here);
  }

  const std::shared_ptr<FetchPool::State> pool_;
  const uint64_t window_;
  const OnEnd on_end_;
  const std::shared_ptr<ReplicaSink> sink_;
  Table table_;  // null if it belongs to the sink
  std::shared_ptr<FetchChannel> channel_;
  uint64_t chunks_ = 0, asked_ = 0, stored_ = 0;
  uint32_t next_partition_ = 0, next_chunk_ = 0;
  uint64_t used_ = 0;                  // of the window
  std::map<uint64_t, Piece> arrived_;  // by number in the order of the store
  bool storing_ = false, finishing_ = false, over_ = false;
  kj::TaskSet tasks_{*this};  // last: its promises use what is above
};

Replicator::Replicator(rpc::KjThread& loop, FetchPool& fetches, std::shared_ptr<ShuffleStore> store,
                       const Options& options)
    : loop_(loop), fetches_(fetches), store_(std::move(store)), options_(options) {}

Replicator::~Replicator() noexcept {
  for (auto& [key, entry] : entries_) {
    if (entry.transfer != nullptr) entry.transfer->Cancel();
  }
}

void Replicator::taskFailed(kj::Exception&& e) { std::fprintf(stderr, "replicator: %s\n", e.getDescription().cStr()); }

void Replicator::Add(const ReplicaLocation& from) {
  const ReplicaKey key{from.output.task, from.attempt};
  if (entries_.contains(key)) return;
  const uint64_t round = ++last_round_;
  entries_[key] = {from, 0, round, nullptr};
  queue_.emplace_back(key, round);
  Pump();
}

void Replicator::Erase(std::map<ReplicaKey, Entry>::iterator entry) {
  if (entry->second.transfer != nullptr) {
    entry->second.transfer->Cancel();
    --running_;
  }
  entries_.erase(entry);
}

void Replicator::Cancel(const ReplicaKey& replica) {
  const auto entry = entries_.find(replica);
  if (entry == entries_.end()) return;
  Erase(entry);
  Pump();
}

void Replicator::EndJob(JobId job) {
  auto entry = entries_.lower_bound(ReplicaKey{TaskId{job, 0, 0}, 0});
  while (entry != entries_.end() && entry->first.task.job == job) Erase(entry++);
  Pump();
}

void Replicator::CancelAll() {
  while (!entries_.empty()) Erase(entries_.begin());
}

void Replicator::Pump() {
  while (running_ < options_.at_once && !queue_.empty()) {
    const auto [key, round] = queue_.front();
    queue_.pop_front();
    const auto entry = entries_.find(key);
    if (entry == entries_.end() || entry->second.round != round) continue;
    ++running_;
    ++entry->second.tries;
    entry->second.transfer = MakeLoopOwned<Transfer>(
        loop_, fetches_.state(), store_, entry->second.from, options_.window_bytes,
        [this, key = key, round = round](const Result<uint64_t>& bytes, bool here) { Ended(key, round, bytes, here); });
    entry->second.transfer->Start();
  }
}

// Called by a transfer that was not cancelled, so its entry exists.
void Replicator::Ended(const ReplicaKey& replica, uint64_t round, const Result<uint64_t>& bytes, bool here) {
  const auto it = entries_.find(replica);
  if (it == entries_.end() || it->second.round != round) return;
  Entry& entry = it->second;
  entry.transfer = nullptr;
  --running_;
  if (!bytes.ok() && bytes.status().code() == Code::kUnavailable && entry.tries < options_.tries) {
    const Duration pause = options_.first_pause * (1 << (entry.tries - 1));
    tasks_.add(loop_.timer().afterDelay(pause.ns * kj::NANOSECONDS).then([this, replica, round] {
      queue_.emplace_back(replica, round);
      Pump();
    }));
    return Pump();
  }
  if (bytes.ok()) {
    ++counters_.made;
    counters_.bytes += *bytes;
  } else {
    ++counters_.failed;
  }
  const ReplicaLocation from = std::move(entry.from);
  entries_.erase(it);
  if (on_done_) on_done_(from, bytes, here);
  Pump();
}

}  // namespace mr::worker
