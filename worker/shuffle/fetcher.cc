#include <kj/async.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "worker/shuffle/fetch_pool.h"

namespace mr::worker {
namespace {

struct Segment {
  SegmentRequest request;
  std::shared_ptr<FetchChannel> channel;
  Table table;
  uint32_t next_partition = 0;  // the first that has not begun
  uint32_t under_way = 0;       // partitions
  bool over = false;            // done or failed
  Instant began;
  FetchMeasure measure;
  uint64_t reader = 0;         // number under which it is counted; 0: not counted
  uint64_t chunks_to_ask = 0;  // chunks still to request; only if it is counted
  uint64_t counted_bytes = 0;  // that came with a number of readers
  FetchProgress progress;
  double readers_by_bytes = 0;
};
using SegmentPtr = std::shared_ptr<Segment>;

// One partition in progress.
struct Partition {
  SegmentPtr segment;
  uint64_t order = 0;  // sequence number of its start
  uint32_t number = 0;
  bool streamed = false;  // above the window: delivered batch by batch
  uint32_t asked = 0;     // chunks
  uint32_t checked = 0;   // chunks
  uint64_t expected_chunk = 0;
  std::map<uint32_t, StoredChunk> arrived;  // and not checked
  bool checking = false;
  // Bytes that count against the window and are not delivered.
  uint64_t reserved = 0;
  std::shared_ptr<PartitionCheck> check = std::make_shared<PartitionCheck>();

  const PartitionRow& row() const { return (*segment->table)[number]; }
};
using PartitionPtr = std::shared_ptr<Partition>;

// The requests of one fetcher to one peer.
struct Peer {
  std::shared_ptr<FetchChannel> channel;
  std::deque<SegmentPtr> segments;  // with partitions that have not begun
  uint64_t reserved = 0;
};

// Frees window space from any thread, and wakes the fetcher once for many frees.
class TakenBytes : public std::enable_shared_from_this<TakenBytes> {
 public:
  TakenBytes(std::shared_ptr<LoopHandle> loop, std::function<void(uint64_t)> on_loop)
      : loop_(std::move(loop)), on_loop_(std::move(on_loop)) {}
  void Add(uint64_t bytes) {
    if (bytes == 0 || sum_.fetch_add(bytes) != 0) return;
    loop_->Post([self = shared_from_this()] { self->on_loop_(self->sum_.exchange(0)); });
  }

 private:
  std::shared_ptr<LoopHandle> loop_;
  std::function<void(uint64_t)> on_loop_;
  std::atomic<uint64_t> sum_ = 0;
};

class FetcherImpl final : public std::enable_shared_from_this<FetcherImpl>, private kj::TaskSet::ErrorHandler {
 public:
  FetcherImpl(std::shared_ptr<FetchPool::State> pool, FetchObserver* observer, const FetchPool::FetcherOptions& options)
      : pool_(std::move(pool)), observer_(observer), window_(std::max<uint64_t>(1, options.window_bytes)) {}
  ~FetcherImpl() noexcept {}

  void Begin() {
    taken_ = std::make_shared<TakenBytes>(pool_->handle, [weak = weak_from_this()](uint64_t bytes) {
      if (auto self = weak.lock()) {
        self->used_ -= bytes;
        self->PumpSoon();
      }
    });
  }

  // Makes no further call to the observer, and no further request.
  void Cancel() {
    observer_ = nullptr;
    for (const SegmentPtr& segment : live_) {
      segment->over = true;
    }
    live_.clear();
    new_.clear();
    partitions_.clear();
    streams_.clear();
    peers_.clear();
  }

  void Request(SegmentRequest request) {
    auto segment = std::make_shared<Segment>();
    segment->request = std::move(request);
    segment->channel = pool_->ChannelTo(segment->request.from);
    segment->next_partition = segment->request.partition_begin;
    if (segment->request.counted) segment->reader = ++pool_->last_reader;
    live_.insert(segment);
    new_.push_back(std::move(segment));
    PumpSoon();
  }

  FetchProgress Progress() const { return progress_; }

 private:
  void taskFailed(kj::Exception&& e) override { std::fprintf(stderr, "fetcher: %s\n", e.getDescription().cStr()); }

  void PumpSoon() {
    if (pump_asked_) return;
    pump_asked_ = true;
    tasks_.add(kj::evalLater([this] {
      pump_asked_ = false;
      while (observer_ != nullptr && !new_.empty()) {
        const SegmentPtr segment = new_.front();
        new_.pop_front();
        BeginSegment(segment);
      }
      Pump();
    }));
  }

  void BeginSegment(const SegmentPtr& segment) {
    segment->began = Now();
    const SegmentRequest& r = segment->request;
    if (r.partition_begin > r.partition_end || r.partition_end > r.from.partitions) {
      return Fail(segment,
                  InvalidArgument("partitions " + std::to_string(r.partition_begin) + " to " +
                                  std::to_string(r.partition_end) + " of " + std::to_string(r.from.partitions)));
    }
    if (!r.from.table.empty() || r.from.partitions == 0) {
      const Status status = CheckTable(r.from.table, r.from.partitions, r.from.content);
      if (!status.ok()) return Fail(segment, status);
      // Not owned: the table belongs to the segment.
      return SetTable(segment, Table(Table(), &segment->request.from.table));
    }
    if (Table known = pool_->tables.Find(r.from)) return SetTable(segment, std::move(known));
    AskForTable(segment);
  }

  ChunkWant Want(const SegmentPtr& segment, uint32_t partition, uint32_t chunk) {
    const ReplicaLocation& from = segment->request.from;
    ChunkWant want;
    want.replica = {from.output.task, from.attempt};
    want.worker = from.worker;
    want.incarnation = from.incarnation;
    want.grant = from.grant;
    want.generation = from.output.generation;
    want.partition = partition;
    want.chunk = chunk;
    want.wanted = [weak = std::weak_ptr(segment)] {
      const auto s = weak.lock();
      return s != nullptr && !s->over;
    };
    return want;
  }

  void AskForTable(const SegmentPtr& segment) {
    ChunkWant want = Want(segment, kTablePartition, 0);
    want.expected_bytes = uint64_t{40} * segment->request.from.partitions;
    want.done = [weak = weak_from_this(), segment](Result<StoredChunk> chunk, uint32_t) {
      const auto self = weak.lock();
      if (self == nullptr || segment->over) return;
      if (!chunk.ok()) return self->Fail(segment, chunk.status());
      self->CheckTableOnPool(segment, *std::move(chunk));
    };
    segment->channel->Submit(std::move(want));
  }

  void CheckTableOnPool(const SegmentPtr& segment, StoredChunk chunk) {
    const ReplicaLocation& from = segment->request.from;
    tasks_.add(
        OnPool(pool_->context->post, [chunk = std::move(chunk), partitions = from.partitions,
                                      content = from.content] { return UnpackTable(chunk, partitions, content); })
            .then([this, segment](Result<Table> table) {
              if (segment->over) return;
              if (!table.ok()) return Fail(segment, table.status());
              pool_->tables.Add(segment->request.from, *table);
              SetTable(segment, *std::move(table));
              PumpSoon();
            })
            .catch_([this, segment](kj::Exception&& e) { FailByPool(segment, e); }));
  }

  void SetTable(const SegmentPtr& segment, Table table) {
    segment->table = std::move(table);
    uint64_t expected = 0;
    for (uint32_t p = segment->next_partition; p < segment->request.partition_end; ++p) {
      expected += (*segment->table)[p].bytes;
    }
    Count(segment, 0, expected, 1);
    if (segment->reader != 0) {
      for (uint32_t p = segment->next_partition; p < segment->request.partition_end; ++p) {
        segment->chunks_to_ask += (*segment->table)[p].chunks;
      }
    }
    for (Peer& peer : peers_) {
      if (peer.channel == segment->channel) {
        peer.segments.push_back(segment);
        return;
      }
    }
    peers_.push_back({segment->channel, {segment}, 0});
  }

  // Requests as much as the window has room for: first large partitions in progress, then new ones, a partition of each
  // peer in turn.
  void Pump() {
    for (const PartitionPtr& p : streams_) {
      if (!AskForMore(p)) return;
    }
    size_t idle_turns = 0;
    while (observer_ != nullptr && idle_turns < peers_.size()) {
      if (next_peer_ >= peers_.size()) next_peer_ = 0;
      Peer& peer = peers_[next_peer_];
      while (!peer.segments.empty() && peer.segments.front()->over) peer.segments.pop_front();
      if (peer.segments.empty() && peer.reserved == 0) {
        peers_.erase(peers_.begin() + static_cast<ptrdiff_t>(next_peer_));
        continue;
      }
      // A peer that does not answer must not hold the whole window while others could use it.
      const bool share = peers_.size() > 1 && peer.reserved > window_ / 2;
      if (peer.segments.empty() || share) {
        ++next_peer_;
        ++idle_turns;
        continue;
      }
      idle_turns = 0;
      const SegmentPtr segment = peer.segments.front();
      if (!BeginPartition(peer, segment)) return;  // the window is full
      ++next_peer_;
    }
  }

  // Returns false if the window has no room for it. May call the observer.
  bool BeginPartition(Peer& peer, const SegmentPtr& segment) {
    if (segment->next_partition == segment->request.partition_end) {
      peer.segments.pop_front();
      EndIfDone(segment);
      return true;
    }
    const PartitionRow& row = (*segment->table)[segment->next_partition];
    const bool streamed = row.bytes > window_;
    if (row.chunks != 0 && !streamed && !HasRoom(row.bytes)) return false;
    const uint32_t number = segment->next_partition++;
    const bool all_begun = segment->next_partition == segment->request.partition_end;
    if (all_begun) peer.segments.pop_front();
    if (row.chunks == 0) {
      observer_->OnBatch({segment->request.input, segment->request.from.output.task.task, number, {}, true, true},
                         [] {});
      if (observer_ != nullptr && all_begun) EndIfDone(segment);
      return true;
    }
    auto p = std::make_shared<Partition>();
    p->segment = segment;
    p->number = number;
    p->streamed = streamed;
    p->order = ++last_order_;
    p->check->row = row;
    p->expected_chunk = (row.bytes + row.chunks - 1) / row.chunks;
    ++segment->under_way;
    partitions_[p->order] = p;
    if (!streamed) {
      Reserve(p, row.bytes);
      while (p->asked < row.chunks) AskForChunk(p);
      return true;
    }
    streams_.push_back(p);
    return AskForMore(p);
  }

  bool HasRoom(uint64_t bytes) const { return used_ == 0 || used_ + bytes <= window_; }

  void Reserve(const PartitionPtr& p, uint64_t bytes) {
    used_ += bytes;
    p->reserved += bytes;
    PeerOf(p).reserved += bytes;
  }
  void Unreserve(const PartitionPtr& p, uint64_t bytes) {
    p->reserved -= bytes;
    PeerOf(p).reserved -= bytes;
  }
  Peer& PeerOf(const PartitionPtr& p) {
    for (Peer& peer : peers_) {
      if (peer.channel == p->segment->channel) return peer;
    }
    return peers_.emplace_back(Peer{p->segment->channel, {}, 0});
  }

  // Requests more of a streamed partition. Returns false if the window has no room.
  bool AskForMore(const PartitionPtr& p) {
    while (p->asked < p->row().chunks) {
      if (!HasRoom(p->expected_chunk)) return false;
      Reserve(p, p->expected_chunk);
      AskForChunk(p);
    }
    return true;
  }

  void AskForChunk(const PartitionPtr& p) {
    const uint32_t chunk = p->asked++;
    ChunkWant want = Want(p->segment, p->number, chunk);
    want.expected_bytes = p->expected_chunk;
    if (p->segment->reader != 0) {
      want.reader = p->segment->reader;
      want.last = --p->segment->chunks_to_ask == 0;
    }
    want.done = [weak = weak_from_this(), p, chunk](Result<StoredChunk> got, uint32_t readers) {
      const auto self = weak.lock();
      if (self == nullptr || p->segment->over) return;
      if (!got.ok()) return self->Fail(p->segment, got.status());
      if (readers > 0) {
        p->segment->counted_bytes += got->bytes.size();
        p->segment->readers_by_bytes += static_cast<double>(readers) * static_cast<double>(got->bytes.size());
      }
      const uint64_t before = chunk * p->expected_chunk;
      self->Count(p->segment, std::min(p->expected_chunk, p->row().bytes - std::min(p->row().bytes, before)), 0, 0);
      p->arrived[chunk] = *std::move(got);
      self->Check(p);
    };
    p->segment->channel->Submit(std::move(want));
  }

  // Passes to the pool what can be checked now: the next chunks of a streamed partition, or all chunks of another one.
  void Check(const PartitionPtr& p) {
    if (p->checking || p->arrived.empty()) return;
    if (!p->streamed && p->arrived.size() < p->row().chunks) return;
    std::vector<StoredChunk> chunks;
    for (auto it = p->arrived.begin(); it != p->arrived.end() && it->first == p->checked + chunks.size();
         it = p->arrived.erase(it)) {
      chunks.push_back(std::move(it->second));
    }
    if (chunks.empty()) return;
    p->checking = true;
    const size_t count = chunks.size();
    tasks_.add(OnPool(pool_->context->post,
                      [chunks = std::move(chunks), check = p->check]() mutable {
                        return CheckChunks(std::move(chunks), check.get());
                      })
                   .then([this, p, count](Result<std::vector<SharedBytes>> batches) {
                     if (p->segment->over) return;
                     p->checking = false;
                     if (!batches.ok()) {
                       return Fail(p->segment, batches.status().With("partition " + std::to_string(p->number)));
                     }
                     p->checked += static_cast<uint32_t>(count);
                     Deliver(p, *std::move(batches));
                   })
                   .catch_([this, p](kj::Exception&& e) { FailByPool(p->segment, e); }));
  }

  void Deliver(const PartitionPtr& p, std::vector<SharedBytes> batches) {
    const SegmentPtr& segment = p->segment;
    const bool all = p->checked == p->row().chunks;
    for (const SharedBytes& batch : batches) {
      segment->measure.bytes += batch.size();
      if (p->streamed) {  // replaces the expected bytes by the real ones
        Unreserve(p, p->expected_chunk);
        used_ += batch.size();
        used_ -= p->expected_chunk;
      } else {
        Unreserve(p, batch.size());
      }
    }
    for (size_t i = 0; i < batches.size() && observer_ != nullptr && !segment->over; ++i) {
      const bool last = all && i + 1 == batches.size();
      const uint64_t size = batches[i].size();
      observer_->OnBatch({segment->request.input, segment->request.from.output.task.task, p->number,
                          std::move(batches[i]), last, !p->streamed},
                         [taken = taken_, size] { taken->Add(size); });
    }
    if (observer_ == nullptr) return;
    if (!all) {
      Check(p);
    } else {
      Erase(p);
      --segment->under_way;
      EndIfDone(segment);
    }
    PumpSoon();
  }

  void EndIfDone(const SegmentPtr& segment) {
    if (segment->over || segment->under_way != 0 || segment->next_partition != segment->request.partition_end) {
      return;
    }
    End(segment);
    segment->measure.took = Now() - segment->began;
    if (segment->counted_bytes > 0) {
      const double mean = segment->readers_by_bytes / static_cast<double>(segment->counted_bytes);
      segment->measure.readers = static_cast<uint32_t>(std::lround(mean));
    }
    observer_->OnSegmentDone(segment->request.from, segment->measure);
  }

  void Fail(const SegmentPtr& segment, const Status& why) {
    if (segment->over || observer_ == nullptr) return;
    End(segment);
    Count(segment, -segment->progress.arrived_bytes, -segment->progress.expected_bytes, -segment->progress.segments);
    bool partly_delivered = false;
    for (auto it = partitions_.begin(); it != partitions_.end();) {
      const PartitionPtr p = (it++)->second;
      if (p->segment != segment) continue;
      if (p->streamed && p->checked > 0) partly_delivered = true;
      used_ -= p->reserved;
      Unreserve(p, p->reserved);
      Erase(p);
    }
    observer_->OnSegmentFailed(segment->request.from, why, partly_delivered);
    if (observer_ != nullptr) PumpSoon();
  }

  // Adds to the progress of the segment and of all. Differences may be negative, modulo 2^n.
  void Count(const SegmentPtr& segment, uint64_t arrived, uint64_t expected, uint32_t segments) {
    for (FetchProgress* progress : {&segment->progress, &progress_}) {
      progress->arrived_bytes += arrived;
      progress->expected_bytes += expected;
      progress->segments += segments;
    }
  }

  // The pool has dropped a task, because it stops or has no memory.
  void FailByPool(const SegmentPtr& segment, const kj::Exception& e) {
    Fail(segment, Internal(e.getDescription().cStr()));
  }

  void Erase(const PartitionPtr& p) {
    if (p->streamed) std::erase(streams_, p);
    partitions_.erase(p->order);
  }

  void End(const SegmentPtr& segment) {
    segment->over = true;
    live_.erase(segment);
  }

  const std::shared_ptr<FetchPool::State> pool_;
  FetchObserver* observer_;  // null after Cancel
  const uint64_t window_;
  uint64_t used_ = 0;  // of the window
  std::shared_ptr<TakenBytes> taken_;
  std::set<SegmentPtr> live_;
  std::deque<SegmentPtr> new_;
  std::map<uint64_t, PartitionPtr> partitions_;  // in progress, by order
  std::vector<PartitionPtr> streams_;            // the streamed ones among them
  uint64_t last_order_ = 0;
  std::deque<Peer> peers_;
  size_t next_peer_ = 0;
  bool pump_asked_ = false;
  FetchProgress progress_;
  kj::TaskSet tasks_{*this};  // last: its promises use what is above
};

class FetcherHandle final : public Fetcher {
 public:
  explicit FetcherHandle(std::shared_ptr<FetcherImpl> impl) : impl_(std::move(impl)) {}
  ~FetcherHandle() override { impl_->Cancel(); }
  void Request(SegmentRequest request) override { impl_->Request(std::move(request)); }
  FetchProgress Progress() const override { return impl_->Progress(); }

 private:
  std::shared_ptr<FetcherImpl> impl_;
};

}  // namespace

std::unique_ptr<Fetcher> MakeFetcher(std::shared_ptr<FetchPool::State> pool, FetchObserver* observer,
                                     const FetchPool::FetcherOptions& options) {
  rpc::KjThread& loop = *pool->context->loop;
  auto impl = MakeLoopOwned<FetcherImpl>(loop, std::move(pool), observer, options);
  impl->Begin();
  return std::make_unique<FetcherHandle>(std::move(impl));
}

}  // namespace mr::worker
