#include "worker/shuffle/verify.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "common/rpc/wire.h"
#include "worker/shuffle/fetch_check.h"

namespace mr::worker {

const char* FindingName(Finding finding) {
  switch (finding) {
    case Finding::kUnknown: return "unknown";
    case Finding::kWhole: return "whole";
    case Finding::kDamaged: return "damaged";
    case Finding::kOtherContent: return "other content";
    case Finding::kGone: return "gone";
  }
  return "?";
}

// One verification. Used by one task of the pool at a time.
struct Verifier::Run {
  std::shared_ptr<ShuffleStore> store;
  ReplicaKey key;
  Digest128 content;
  uint32_t partitions = 0;

  bool begun = false;
  std::vector<PartitionRow> table;
  uint32_t partition = 0, chunk = 0;
  PartitionCheck check;

  // Reads about `budget` further bytes and adds their number to *bytes. Returns nothing before the end.
  std::optional<Verification> Step(uint64_t budget, uint64_t* bytes) {
    if (!begun) {
      begun = true;
      auto rows = store->Table(key);
      if (!rows.ok()) return Unreadable(rows.status());
      table = *std::move(rows);
      // The wire digest is right, so the bytes are as they were stored: the table was already wrong then.
      const Status status = CheckTable(table, partitions, content);
      if (!status.ok()) return Verification{Finding::kOtherContent, status.message()};
      BeginPartition();
    }
    while (*bytes < budget) {
      while (partition < table.size() && chunk == table[partition].chunks) {
        ++partition;
        BeginPartition();
      }
      if (partition == table.size()) return Verification{store->Has(key) ? Finding::kWhole : Finding::kGone, ""};
      auto got = store->Get(key, partition, chunk);
      if (!got.ok()) return Unreadable(got.status());
      *bytes += got->bytes.size();
      std::vector<StoredChunk> one;
      one.push_back(*std::move(got));
      const auto batches = CheckChunks(one, &check);
      if (!batches.ok()) {
        return Verification{Finding::kOtherContent, "partition " + std::to_string(partition) + ", chunk " +
                                                        std::to_string(chunk) + ": " + batches.status().message()};
      }
      ++chunk;
    }
    return std::nullopt;
  }

  void BeginPartition() {
    chunk = 0;
    check = {};
    if (partition < table.size()) check.row = table[partition];
  }

  // Judges the store's error for a chunk that must exist. It never means that the output ends here. If this process has
  // too many files open, the error says nothing about the bytes.
  Verification Unreadable(const Status& status) const {
    if (!store->Has(key)) return {Finding::kGone, status.message()};
    if (status.code() == Code::kOverloaded) return {Finding::kUnknown, status.message()};
    return {Finding::kDamaged, status.message()};
  }
};

Verifier::Verifier(rpc::KjThread& loop, std::shared_ptr<ShuffleStore> store, PostToPool post_to_pool,
                   Incarnation incarnation, const Options& options)
    : loop_(loop),
      store_(std::move(store)),
      post_(std::move(post_to_pool)),
      incarnation_(incarnation),
      options_(options) {}

Verifier::~Verifier() noexcept {}

void Verifier::taskFailed(kj::Exception&& e) { std::fprintf(stderr, "verifier: %s\n", e.getDescription().cStr()); }

kj::Promise<Verification> Verifier::Check(const ReplicaKey& key, const Digest128& content, uint32_t partitions) {
  if (!store_->Has(key)) return Verification{Finding::kGone, "no such output is on this worker"};
  if (queue_.size() > options_.queue) return Verification{Finding::kUnknown, "too many verifications are waiting"};
  auto paf = kj::newPromiseAndFulfiller<Verification>();
  auto run = std::make_shared<Run>();
  run->store = store_;
  run->key = key;
  run->content = content;
  run->partitions = partitions;
  queue_.push_back({std::move(run), kj::mv(paf.fulfiller)});
  Pump();
  return kj::mv(paf.promise);
}

void Verifier::Pump() {
  if (running_) return;
  // Callers may have gone.
  while (!queue_.empty() && !queue_.front().done->isWaiting()) queue_.pop_front();
  if (queue_.empty()) return;
  running_ = true;
  Slice();
}

void Verifier::Slice() {
  struct Done {
    std::optional<Verification> end;
    uint64_t bytes = 0;
  };
  const Instant began = Now();
  tasks_.add(OnPool(post_,
                    [run = queue_.front().run, budget = options_.slice_bytes] {
                      Done done;
                      done.end = run->Step(budget, &done.bytes);
                      return done;
                    })
                 .then([this, began](Done done) -> kj::Promise<void> {
                   if (done.end.has_value() || !queue_.front().done->isWaiting()) {
                     auto fulfiller = kj::mv(queue_.front().done);
                     queue_.pop_front();
                     running_ = false;
                     fulfiller->fulfill(done.end.has_value() ? *std::move(done.end) : Verification{});
                     Pump();
                     return kj::READY_NOW;
                   }
                   const Duration due =
                       FromSeconds(static_cast<double>(done.bytes) / static_cast<double>(options_.bytes_per_second));
                   const Duration left = std::max(due - (Now() - began), Duration{});
                   return loop_.timer().afterDelay(left.ns * kj::NANOSECONDS).then([this] { Slice(); });
                 })
                 .catch_([this](kj::Exception&& e) {
                   // The pool has no memory, or stops.
                   auto first = std::move(queue_.front());
                   queue_.pop_front();
                   running_ = false;
                   first.done->fulfill({Finding::kUnknown, e.getDescription().cStr()});
                   Pump();
                 }));
}

kj::Promise<void> Verifier::Answer(Context context) {
  const auto params = context.getParams();
  const auto replica = params.getReplica();
  const ReplicaKey key{rpc::FromWire(replica.getTask()), replica.getAttempt()};
  const Digest128 content = rpc::FromWire(params.getContent());
  const uint32_t partitions = params.getPartitions();
  const bool ours = replica.getWorker().getIncarnation() == incarnation_;
  context.releaseParams();
  kj::Promise<Verification> checked =
      ours ? Check(key, content, partitions)
           : kj::Promise<Verification>(Verification{Finding::kGone, "this worker has restarted since"});
  return checked.then([context](const Verification& v) mutable {
    auto results = context.getResults();
    results.setFinding(static_cast<rpc::Finding>(v.finding));
    results.setWhy(capnp::Text::Reader(v.why.c_str(), v.why.size()));
  });
}

}  // namespace mr::worker
