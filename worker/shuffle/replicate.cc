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

// Where the chunks go, in the order of the store: used by one task of the pool at a time.
struct ReplicaSink {
  std::shared_ptr<ShuffleStore> store;  // outlives the writer
  CopyLocation from;
  Table table;
  std::atomic<bool> cancelled = false;
  std::unique_ptr<ShuffleStore::Writer> writer;
  std::optional<uint32_t> partition;
  PartitionCheck check;
  bool failed_here = false;  // for what is not the source's

  CopyKey key() const { return {from.output.task, from.attempt}; }

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
    // Whoever cancels drops the copy as well; what is stored after that is dropped here.
    if (!same || cancelled.load()) store->Drop(key());
    if (!same) return Corrupted("what was copied differs from the committed digest");
    return bytes;
  }
};

}  // namespace

// One replica on its way.
class Replicator::Transfer final : public std::enable_shared_from_this<Transfer>, private kj::TaskSet::ErrorHandler {
 public:
  using OnEnd = std::function<void(const Result<uint64_t>&, bool here)>;

  Transfer(std::shared_ptr<FetchPool::State> pool, std::shared_ptr<ShuffleStore> store, const CopyLocation& from,
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
  const CopyLocation& from() const { return sink_->from; }
  void taskFailed(kj::Exception&& e) override { End(Internal(e.getDescription().cStr())); }

  void FindTable() {
    if (over_) return;
    if (from().incarnation == pool_->context->options.incarnation) {
      return End(InvalidArgument("a copy on this worker is no source for another one here"));
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
    // The sink must not own itself where the table is its own.
    sink_->table = Table(Table(), table.get());
    if (table.get() != &sink_->from.table) table_ = std::move(table);
    for (const PartitionRow& row : *sink_->table) chunks_ += row.chunks;
    Pump();
  }

  ChunkWant Want(uint32_t partition, uint32_t chunk) {
    ChunkWant want;
    want.copy = sink_->key();
    want.worker = from().worker;
    want.incarnation = from().incarnation;
    want.generation = from().output.generation;
    want.partition = partition;
    want.chunk = chunk;
    want.wanted = [weak = weak_from_this()] {
      const auto self = weak.lock();
      return self != nullptr && !self->over_;
    };
    return want;
  }

  // Asks for as much as the window has room for, in the order of the store.
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

  // Takes what is next for the store, as far as it has arrived, to the pool.
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

  // from_pool: it is what the sink said.
  void End(const Result<uint64_t>& bytes, bool from_pool = false) {
    if (over_) return;
    Close();
    // Between two tasks of the pool, or after the last: nobody writes it.
    on_end_(bytes, from_pool && sink_->failed_here);
  }

  const std::shared_ptr<FetchPool::State> pool_;
  const uint64_t window_;
  const OnEnd on_end_;
  const std::shared_ptr<ReplicaSink> sink_;
  Table table_;  // null where it is the sink's own
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

void Replicator::Add(const CopyLocation& from) {
  const CopyKey key{from.output.task, from.attempt};
  if (entries_.contains(key)) return;
  const uint64_t round = ++last_round_;
  entries_[key] = {from, 0, round, nullptr};
  queue_.emplace_back(key, round);
  Pump();
}

void Replicator::Erase(std::map<CopyKey, Entry>::iterator entry) {
  if (entry->second.transfer != nullptr) {
    entry->second.transfer->Cancel();
    --running_;
  }
  entries_.erase(entry);
}

void Replicator::Cancel(const CopyKey& replica) {
  const auto entry = entries_.find(replica);
  if (entry == entries_.end()) return;
  Erase(entry);
  Pump();
}

void Replicator::EndJob(JobId job) {
  auto entry = entries_.lower_bound(CopyKey{TaskId{job, 0, 0}, 0});
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

// By a transfer that was not cancelled: so its entry is there.
void Replicator::Ended(const CopyKey& replica, uint64_t round, const Result<uint64_t>& bytes, bool here) {
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
  const CopyLocation from = std::move(entry.from);
  entries_.erase(it);
  if (on_done_) on_done_(from, bytes, here);
  Pump();
}

}  // namespace mr::worker
