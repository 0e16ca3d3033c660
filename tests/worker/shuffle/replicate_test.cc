// Replicas over loopback: what is there afterwards is what was stored elsewhere, or nothing.
#include "worker/shuffle/replicate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "tests/worker/shuffle/fetch_testing.h"

namespace mr::worker {
namespace {

class ReplicateTest : public testing::Test {
 protected:
  ReplicateTest() : held_(OpenStore("held")), own_(OpenStore("own")) {}
  ~ReplicateTest() noexcept override { Stop(); }

  void Serve(TamperingStore::Tamper tamper = nullptr) {
    std::shared_ptr<ShuffleStore> served = held_;
    if (tamper) served = std::make_shared<TamperingStore>(held_, tamper);
    server_ = std::make_unique<TestDataServer>(served, threads_.poster(), kServer);
  }
  void Start(Replicator::Options options = {}, FetchPool::Options fetch = {}) {
    fetch.incarnation = kReader;
    loop_.Run([&] {
      pool_ = std::make_unique<FetchPool>(loop_, own_, threads_.poster(), fetch);
      replicator_ = std::make_unique<Replicator>(loop_, *pool_, own_, options);
      replicator_->set_on_done([this](const ReplicaLocation& from, const Result<uint64_t>& bytes, bool here) {
        std::lock_guard lock(mutex_);
        if (here) failed_here_.insert(from.output.task.task);
        ended_.emplace(ReplicaKey{from.output.task, from.attempt}, bytes);
        order_.push_back({from.output.task, from.attempt});
        changed_.notify_all();
      });
    });
  }
  void Stop() {
    loop_.Run([&] {
      replicator_.reset();
      pool_.reset();
    });
  }
  std::shared_ptr<ShuffleStore> OpenStore(const std::string& name) {
    auto opened = ShuffleStore::Open({.directory = directory_.path() + "/" + name});
    MR_CHECK(opened.ok(), opened.status().ToString());
    return *std::move(opened);
  }
  // Stored at the server; where it can be read.
  ReplicaLocation Store(uint32_t task, const TestOutput& output, bool inline_table) {
    const auto rows = StoreOutput(*held_, Replica(1, task), output);
    return LocationOf(Replica(1, task), rows, server_->address(), kServer, inline_table);
  }
  void Ask(const ReplicaLocation& from) {
    loop_.Run([&] { replicator_->Add(from); });
  }
  Result<uint64_t> WaitFor(uint32_t task) {
    std::unique_lock lock(mutex_);
    const auto ended = [&] { return ended_.contains(Replica(1, task)); };
    const bool there = changed_.wait_for(lock, std::chrono::seconds(30), ended);
    if (!there) return Internal("the replica did not end");
    return ended_.at(Replica(1, task));
  }
  // Each chunk as it is held, under a table of the same digest.
  void ExpectSame(uint32_t task, const TestOutput& output) {
    const auto table = own_->Table(Replica(1, task)), held = held_->Table(Replica(1, task));
    ASSERT_TRUE(table.ok() && held.ok()) << table.status().ToString();
    EXPECT_TRUE(*table == *held);
    for (uint32_t p = 0; p < output.size(); ++p) {
      for (uint32_t c = 0; c < output[p].size(); ++c) {
        const auto a = own_->Get(Replica(1, task), p, c), b = held_->Get(Replica(1, task), p, c);
        ASSERT_TRUE(a.ok() && b.ok()) << task << " " << p << " " << c << a.status().ToString();
        EXPECT_TRUE(a->bytes.view() == b->bytes.view() && a->codec == b->codec && a->raw_bytes == b->raw_bytes &&
                    a->records == b->records && a->wire_digest == b->wire_digest);
      }
    }
  }

  TempDirectory directory_;
  const std::shared_ptr<ShuffleStore> held_;
  std::shared_ptr<ShuffleStore> own_;
  TestPool threads_;
  std::unique_ptr<TestDataServer> server_;
  rpc::KjThread loop_{"replicas"};
  std::unique_ptr<FetchPool> pool_;
  std::unique_ptr<Replicator> replicator_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ReplicaKey, Result<uint64_t>> ended_;
  std::vector<ReplicaKey> order_;   // in which they ended
  std::set<uint32_t> failed_here_;  // tasks
};

TEST_F(ReplicateTest, OutputsOfAllShapesBecomeTheSameReplicas) {
  Serve();
  Start();
  std::map<uint32_t, TestOutput> outputs;
  for (uint32_t task = 0; task < 20; ++task) outputs[task] = MakeOutput(task, 7, 1 + task % 3, 100);
  outputs[20] = MakeOutput(20, 3, 8, 4000, 256);         // 16 MiB, a file of its own
  outputs[21] = MakeOutput(21, 40'000, 1, 1);            // a table above one message
  outputs[22] = MakeOutput(22, 2, 1, 2, 15 << 20 >> 1);  // chunks above one message and the window
  outputs[23] = TestOutput(5);                           // nothing in it
  for (const auto& [task, output] : outputs) Ask(Store(task, output, task % 2 == 0));
  for (const auto& [task, output] : outputs) {
    const auto bytes = WaitFor(task);
    ASSERT_TRUE(bytes.ok()) << task << ": " << bytes.status().ToString();
    uint64_t expected = 0;
    for (const auto& partition : output) {
      for (const auto& batch : partition) expected += batch.size();
    }
    EXPECT_EQ(*bytes, expected);
    ExpectSame(task, output);
  }
  EXPECT_EQ(replicator_->counters().made, outputs.size());
}

TEST_F(ReplicateTest, WhatIsDamagedAnywhereBecomesNoReplica) {
  std::optional<uint32_t> bad_partition;
  Serve([&](uint32_t partition, uint32_t chunk, StoredChunk* stored) {
    if (partition != bad_partition || chunk != 0) return;
    FlipBit(stored->bytes.size() / 2, stored);
    stored->wire_digest = Hash64(stored->bytes);  // only the content's digest shows it
  });
  Start();
  const TestOutput output = MakeOutput(3, 7, 2, 100, 64);
  for (const uint32_t bad : {1u, kTablePartition}) {
    bad_partition = bad;
    const uint32_t task = bad == 1 ? 1 : 2;
    Ask(Store(task, output, false));
    const auto bytes = WaitFor(task);
    EXPECT_EQ(bytes.status().code(), Code::kCorrupted) << bytes.status().ToString();
    EXPECT_FALSE(own_->Has(Replica(1, task)));
  }
  bad_partition.reset();
  ReplicaLocation other = Store(3, output, true);
  other.table[1].records += 1;
  Ask(other);
  EXPECT_EQ(WaitFor(3).status().code(), Code::kCorrupted);
  EXPECT_EQ(replicator_->counters().failed, 3u);
  EXPECT_EQ(own_->bytes(), 0u);
}

TEST_F(ReplicateTest, AHolderThatIsGoneIsTriedAFewTimesAndOneWithoutTheOutputOnce) {
  Serve();
  Start({.tries = 3, .first_pause = Millis(1)});
  ReplicaLocation from = Store(1, MakeOutput(1, 3, 1, 10), true);
  held_->Drop(Replica(1, 1));
  Ask(from);
  EXPECT_EQ(WaitFor(1).status().code(), Code::kNotFound);
  from = Store(2, MakeOutput(2, 3, 1, 10), true);
  server_->Kill();
  Ask(from);
  EXPECT_EQ(WaitFor(2).status().code(), Code::kUnavailable);
  EXPECT_EQ(own_->bytes(), 0u);
}

TEST_F(ReplicateTest, OneAtATimeWithinItsWindow) {
  Serve();
  Start({.at_once = 1, .window_bytes = 100 << 10});
  const TestOutput output = MakeOutput(1, 1, 30, 200, 256);  // chunks of 55 KiB
  const ReplicaLocation large = Store(1, output, true), small = Store(2, MakeOutput(2, 1, 1, 1), true);
  loop_.Run([&] {
    replicator_->Add(large);
    replicator_->Add(small);
    replicator_->Add(large);  // asked for again
  });
  ASSERT_TRUE(WaitFor(1).ok());
  ASSERT_TRUE(WaitFor(2).ok());
  ExpectSame(1, output);
  EXPECT_THAT(order_, testing::ElementsAre(Replica(1, 1), Replica(1, 2)));
  EXPECT_GE(server_->replies(), 31u) << "two chunks do not fit into the window, so each has a reply of its own";
}

TEST_F(ReplicateTest, WhatIsCancelledOrOfAnEndedJobIsNotStored) {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false, reading = false;
  Serve([&](uint32_t, uint32_t, StoredChunk*) {
    std::unique_lock lock(mutex);
    reading = true;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
  });
  Start({.at_once = 1});
  const TestOutput output = MakeOutput(1, 3, 2, 100);
  for (uint32_t task = 1; task <= 4; ++task) Ask(Store(task, output, true));
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return reading; }));
  }
  loop_.Run([&] {
    replicator_->Cancel(Replica(1, 1));  // it is on its way
    replicator_->Cancel(Replica(1, 3));  // it waits
  });
  {
    std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  ASSERT_TRUE(WaitFor(2).ok());
  ASSERT_TRUE(WaitFor(4).ok());
  loop_.Run([&] {
    EXPECT_EQ(replicator_->under_way(), 0u);
    replicator_->Add(Store(5, output, true));
    replicator_->EndJob({1, 1});
    EXPECT_EQ(replicator_->under_way(), 0u);
  });
  EXPECT_FALSE(own_->Has(Replica(1, 1)));
  EXPECT_FALSE(own_->Has(Replica(1, 3)));
  std::lock_guard lock(mutex_);
  EXPECT_THAT(ended_, testing::SizeIs(2)) << "nothing is said of what was cancelled";
}

// The last step of a replication is on the pool when its job ends.
TEST_F(ReplicateTest, WhatIsCancelledWhileItIsStoredIsDropped) {
  // Calls `before` ahead of the end of each output.
  class WatchedStore : public TamperingStore {
   public:
    WatchedStore(std::shared_ptr<ShuffleStore> store, std::function<void()> before)
        : TamperingStore(std::move(store), [](uint32_t, uint32_t, StoredChunk*) {}), before_(std::move(before)) {}
    Result<std::unique_ptr<Writer>> Begin(const ReplicaKey& key, uint32_t partitions) override {
      MR_ASSIGN_OR_RETURN(auto writer, TamperingStore::Begin(key, partitions));
      return std::unique_ptr<Writer>(std::make_unique<Watched>(std::move(writer), before_));
    }
    void Drop(const ReplicaKey& key) override {
      TamperingStore::Drop(key);
      ++dropped;
    }
    std::atomic<int> dropped = 0;

   private:
    class Watched : public Writer {
     public:
      Watched(std::unique_ptr<Writer> writer, std::function<void()> before)
          : writer_(std::move(writer)), before_(std::move(before)) {}
      Status Add(uint32_t partition, uint32_t records, std::string_view batch, std::string* memory) override {
        return writer_->Add(partition, records, batch, memory);
      }
      Status AddStored(uint32_t partition, const StoredChunk& chunk, std::string_view batch) override {
        return writer_->AddStored(partition, chunk, batch);
      }
      Result<std::vector<PartitionRow>> Finish() override {
        before_();
        return writer_->Finish();
      }

     private:
      std::unique_ptr<Writer> writer_;
      std::function<void()> before_;
    };
    std::function<void()> before_;
  };
  const auto real = own_;
  const auto watched =
      std::make_shared<WatchedStore>(real, [this] { loop_.Run([this] { replicator_->Cancel(Replica(1, 1)); }); });
  own_ = watched;
  Serve();
  Start();
  Ask(Store(1, MakeOutput(1, 3, 2, 100), true));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (watched->dropped == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(watched->dropped, 1);
  EXPECT_FALSE(real->Has(Replica(1, 1)));
  EXPECT_EQ(real->bytes(), 0u);
  // Its place is free.
  Ask(Store(2, MakeOutput(2, 3, 2, 100), true));
  EXPECT_TRUE(WaitFor(2).ok());
}

// A first try that waits for its next one, is cancelled and asked for again with another source.
TEST_F(ReplicateTest, AnEarlierTryOfWhatWasCancelledBeginsNothing) {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false, reading = false;
  Serve([&](uint32_t, uint32_t, StoredChunk*) {
    std::unique_lock lock(mutex);
    reading = true;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
  });
  Start({.at_once = 2, .tries = 100, .first_pause = Millis(50)});
  const TestOutput output = MakeOutput(1, 3, 2, 100);
  const ReplicaLocation good = Store(1, output, true);
  ReplicaLocation bad = good;
  bad.address = "127.0.0.1:1";
  Ask(bad);
  // Nothing of it is running between two tries; the first pause is the shortest.
  loop_.Run([&] {
    replicator_->Cancel(Replica(1, 1));
    replicator_->Add(bad);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  loop_.Run([&] {
    replicator_->Cancel(Replica(1, 1));
    replicator_->Add(good);
  });
  {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return reading; }));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the tries of the others are due
  {
    std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  ASSERT_TRUE(WaitFor(1).ok());
  ExpectSame(1, output);
  // Both places are free.
  for (uint32_t task = 2; task <= 5; ++task) Ask(Store(task, output, true));
  for (uint32_t task = 2; task <= 5; ++task) ASSERT_TRUE(WaitFor(task).ok()) << task;
  EXPECT_EQ(replicator_->counters().made, 5u);
}

// A file system of its own, of 12 MiB: a real "no space left on device". Needs the right to mount one.
class FullDiskTest : public ReplicateTest {
 protected:
  FullDiskTest() : small_(directory_.path() + "/small") {
    MR_CHECK(::mkdir(small_.c_str(), 0755) == 0);
    mounted_ = ::mount("shuffle_test", small_.c_str(), "tmpfs", 0, "size=12m") == 0;
  }
  ~FullDiskTest() noexcept override {
    Stop();
    own_ = nullptr;
    if (mounted_) ::umount2(small_.c_str(), MNT_DETACH);
  }
  const std::string small_;
  bool mounted_ = false;
};

TEST_F(FullDiskTest, AReplicaForWhichThereIsNoRoomIsSaidAndLeavesRoomForSmallerOnes) {
  if (!mounted_) GTEST_SKIP() << "no right to mount a small file system";
  own_ = OpenStore("small/own");
  Serve();
  Start();
  Ask(Store(1, MakeOutput(1, 3, 12, 4000, 256), true));  // 24 MiB that cannot be compressed
  const auto full = WaitFor(1);
  ASSERT_FALSE(full.ok());
  EXPECT_THAT(full.status().ToString(), testing::HasSubstr("No space left on device"));
  EXPECT_THAT(failed_here_, testing::ElementsAre(1)) << "it is no fault of the source";
  EXPECT_FALSE(own_->Has(Replica(1, 1)));
  EXPECT_THAT(own_->Inventory(), testing::IsEmpty());
  const TestOutput small = MakeOutput(2, 3, 3, 1000, 256), tiny = MakeOutput(3, 3, 1, 10);
  Ask(Store(2, small, false));
  ASSERT_TRUE(WaitFor(2).ok()) << WaitFor(2).status().ToString();
  ExpectSame(2, small);
  Ask(Store(3, tiny, false));
  ASSERT_TRUE(WaitFor(3).ok()) << WaitFor(3).status().ToString();
  ExpectSame(3, tiny);
}

}  // namespace
}  // namespace mr::worker
