#include "tests/worker/shuffle/fetch_testing.h"

#include <gtest/gtest.h>

#include <future>

#include "common/io/codec.h"
#include "tests/support/anybody.h"

namespace mr::worker {

TestPool::TestPool() {
  for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { Main(); });
}

TestPool::~TestPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (auto& thread : threads_) thread.join();
}

PostToPool TestPool::poster() {
  return [this](std::function<void()> task) {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  };
}

void TestPool::Main() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

namespace {

class DataServerImpl final : public rpc::DataServer::Server {
 public:
  explicit DataServerImpl(std::shared_ptr<ShuffleServing> serving) : serving_(std::move(serving)) {}
  kj::Promise<void> fetch(FetchContext context) override { return serving_->Fetch(context, mr::test::Anybody()); }
  kj::Promise<void> table(TableContext context) override { return serving_->Table(context, mr::test::Anybody()); }
  kj::Promise<void> openFetch(OpenFetchContext context) override {
    return serving_->OpenFetch(context, mr::test::Anybody());
  }
  kj::Promise<void> probe(ProbeContext context) override { return serving_->Probe(context); }

 private:
  std::shared_ptr<ShuffleServing> serving_;
};

}  // namespace

TestDataServer::TestDataServer(std::shared_ptr<ShuffleStore> store, PostToPool post, Incarnation incarnation)
    : serving_(std::make_shared<ShuffleServing>(std::move(store), std::move(post), incarnation)) {
  std::promise<uint16_t> port;
  loop_.Post([this, incarnation, &port] {
    rpc::Hello own;
    own.role = rpc::Role::kDataServer;
    own.incarnation = incarnation;
    server_ = std::make_unique<rpc::RpcServer>(
        loop_.io(), own,
        [this](const rpc::Hello&, const rpc::PeerInfo&) -> Result<capnp::Capability::Client> {
          return capnp::Capability::Client(kj::heap<DataServerImpl>(serving_));
        },
        rpc::MakeAuthenticator({}).value());
    loop_.Spawn(server_->Listen("127.0.0.1", 0).then([&port](Result<uint16_t> bound) {
      MR_CHECK(bound.ok(), bound.status().ToString());
      port.set_value(*bound);
    }));
  });
  port_ = port.get_future().get();
}

uint64_t TestDataServer::replies() {
  uint64_t replies = 0;
  loop_.Run([&] { replies = serving_->counters().replies; });
  return replies;
}

void TestDataServer::Kill() {
  loop_.Run([this] { server_.reset(); });
}

void TestObserver::OnBatch(Batch batch, std::function<void()> taken) {
  const uint64_t size = batch.bytes.size();
  bool take = false;
  {
    std::lock_guard lock(mutex);
    const Name name{batch.upstream_task, batch.partition};
    if (complete.contains(name)) wrong_order = true;
    auto& of_partition = batches[name];
    if (size > 0) of_partition.emplace_back(batch.bytes.view());
    if (batch.last) complete.insert(name);
    outstanding += size;
    most_outstanding = std::max(most_outstanding, outstanding);
    ++batches_seen;
    take = !hold;
    if (take) outstanding -= size;
    if (!take) held.push_back(taken);
    changed.notify_all();
  }
  if (take) taken();
  if (on_batch) on_batch();
}

void TestObserver::OnSegmentDone(const ReplicaLocation&, const FetchMeasure& measure) {
  std::lock_guard lock(mutex);
  done.push_back(measure);
  changed.notify_all();
}

void TestObserver::OnSegmentFailed(const ReplicaLocation& from, const Status& why, bool partly_delivered) {
  std::lock_guard lock(mutex);
  failed.push_back({from, why, partly_delivered});
  changed.notify_all();
}

bool TestObserver::WaitForEnds(size_t segments, int seconds) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, std::chrono::seconds(seconds), [&] { return done.size() + failed.size() >= segments; });
}

bool TestObserver::WaitForBatches(size_t count, int seconds) {
  std::unique_lock lock(mutex);
  return changed.wait_for(lock, std::chrono::seconds(seconds), [&] { return batches_seen >= count; });
}

void TestObserver::TakeUntilEnds(size_t segments, int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (true) {
    std::vector<std::function<void()>> all;
    {
      std::unique_lock lock(mutex);
      const bool woken =
          changed.wait_until(lock, deadline, [&] { return !held.empty() || done.size() + failed.size() >= segments; });
      ASSERT_TRUE(woken) << "only " << done.size() << " done, " << failed.size() << " failed";
      all.swap(held);
      outstanding = 0;
      if (all.empty()) return;
    }
    for (auto& taken : all) taken();
  }
}

void FlipBit(size_t at, StoredChunk* stored) {
  std::string bytes(stored->bytes);
  bytes.at(at) ^= 1;
  stored->bytes = std::move(bytes);
}

void FlipValueBit(StoredChunk* stored) {
  std::string raw;
  MR_CHECK(Decompress(static_cast<Codec>(stored->codec), stored->bytes, stored->raw_bytes, kMaxRawChunk, &raw).ok());
  raw.back() ^= 1;  // values stand last
  BatchView view;
  MR_CHECK(BatchView::Parse(raw.data(), raw.size(), &view) == nullptr);
  stored->codec = static_cast<uint8_t>(Codec::kStored);
  stored->raw_bytes = static_cast<uint32_t>(raw.size());
  stored->wire_digest = Hash64(raw);
  stored->bytes = std::move(raw);
}

ReplicaLocation LocationOf(const ReplicaKey& key, const std::vector<PartitionRow>& rows, const std::string& address,
                           Incarnation incarnation, bool inline_table) {
  ReplicaLocation at;
  at.output = {key.task, 1};
  at.attempt = key.attempt;
  at.worker = WorkerId{1};
  at.incarnation = incarnation;
  at.address = address;
  at.content = TableDigest(rows);
  at.partitions = static_cast<uint32_t>(rows.size());
  if (inline_table) at.table = rows;
  return at;
}

}  // namespace mr::worker
