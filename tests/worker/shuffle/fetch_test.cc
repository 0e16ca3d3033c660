// Serving and fetching over loopback: what arrives is what was stored, or a clear failure.
#include "worker/shuffle/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/worker/shuffle/fetch_testing.h"

namespace mr::worker {
namespace {

class FetchTest : public testing::Test {
 protected:
  FetchTest() {
    auto opened = ShuffleStore::Open({.directory = directory_.path() + "/shuffle"});
    MR_CHECK(opened.ok(), opened.status().ToString());
    store_ = *std::move(opened);
  }
  ~FetchTest() noexcept override {
    if (pool_) StopReader();
  }

  // Serves the store, also to a reader on the same worker.
  void Serve(TamperingStore::Tamper tamper = nullptr) {
    std::shared_ptr<ShuffleStore> served = store_;
    if (tamper) served = std::make_shared<TamperingStore>(store_, tamper);
    served_ = served;
    server_ = std::make_unique<TestDataServer>(served, threads_.poster(), kServer);
  }

  void Read(FetchPool::FetcherOptions fetcher = {}, FetchPool::Options options = {}) {
    if (options.incarnation == 0) options.incarnation = kReader;
    loop_.Run([&] {
      pool_ = std::make_unique<FetchPool>(loop_, served_ == nullptr ? store_ : served_, threads_.poster(), options);
      fetcher_ = pool_->NewFetcher(&seen_, fetcher);
    });
  }
  void StopReader() {
    loop_.Run([&] {
      fetcher_.reset();
      pool_.reset();
    });
  }
  void Ask(const ReplicaLocation& from, uint32_t begin, uint32_t end) {
    loop_.Run([&] { fetcher_->Request({0, begin, end, from}); });
  }
  FetchProgress Progress() {
    return loop_.Run([&] { return fetcher_->Progress(); });
  }
  // Stores the output and asks for all of it.
  void StoreAndAsk(uint32_t task, const TestOutput& output, bool inline_table, Incarnation incarnation = kServer) {
    const auto rows = StoreOutput(*store_, Replica(1, task), output);
    stored_[task] = output;
    Ask(LocationOf(Replica(1, task), rows, server_->address(), incarnation, inline_table), 0,
        static_cast<uint32_t>(rows.size()));
  }
  // All partitions of all stored outputs have arrived, equal and complete.
  void ExpectAllArrived() {
    std::lock_guard lock(seen_.mutex);
    EXPECT_FALSE(seen_.wrong_order);
    for (const auto& failure : seen_.failed) ADD_FAILURE() << failure.why.ToString();
    for (const auto& [task, output] : stored_) {
      for (uint32_t p = 0; p < output.size(); ++p) {
        EXPECT_TRUE(seen_.complete.contains({task, p})) << task << " " << p;
        EXPECT_TRUE((seen_.batches[{task, p}] == output[p])) << task << " " << p;
      }
    }
  }
  // The only segment failed in this way.
  void ExpectFailure(Code code, const std::string& part_of_message, bool partly = false) {
    ASSERT_TRUE(seen_.WaitForEnds(1));
    std::lock_guard lock(seen_.mutex);
    ASSERT_EQ(seen_.failed.size(), 1u);
    EXPECT_EQ(seen_.failed[0].why.code(), code) << seen_.failed[0].why.ToString();
    EXPECT_THAT(seen_.failed[0].why.message(), testing::HasSubstr(part_of_message));
    EXPECT_EQ(seen_.failed[0].partly_delivered, partly);
  }

  TempDirectory directory_;
  std::shared_ptr<ShuffleStore> store_, served_;
  TestPool threads_;
  std::unique_ptr<TestDataServer> server_;
  TestObserver seen_;
  rpc::KjThread loop_{"reader"};
  std::unique_ptr<FetchPool> pool_;
  std::unique_ptr<Fetcher> fetcher_;
  std::map<uint32_t, TestOutput> stored_;
};

TEST_F(FetchTest, FiftyOutputsOfSevenPartitionsArriveAsTheyWereStored) {
  Serve();
  Read();
  for (uint32_t task = 0; task < 50; ++task) {
    StoreAndAsk(task, MakeOutput(task, 7, 1 + task % 3, 100), /*inline_table=*/task % 2 == 0);
  }
  ASSERT_TRUE(seen_.WaitForEnds(50));
  ExpectAllArrived();
  uint64_t bytes = 0, expected = 0;
  for (const auto& measure : seen_.done) {
    bytes += measure.bytes;
    EXPECT_GT(measure.took.ns, 0);
    EXPECT_EQ(measure.readers, 0u) << "a reader that is not counted gets no count";
  }
  for (const auto& [task, output] : stored_) {
    for (const auto& partition : output) {
      for (const auto& batch : partition) expected += batch.size();
    }
  }
  EXPECT_EQ(bytes, expected);
}

// One reader has a replica for itself, then two share it: readers elsewhere, and on the worker that has it.
TEST_F(FetchTest, ReadersOfOneReplicaAreCountedWhereItIsServed) {
  Serve();
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 60, 200, /*value_bytes=*/256));
  constexpr uint64_t kWindow = 256 << 10;
  for (const Incarnation reader : {kReader, kServer}) {
    Read({.window_bytes = kWindow}, {.incarnation = reader});
    SegmentRequest request{0, 0, 1, LocationOf(Replica(1, 1), rows, server_->address(), kServer, true), true};
    TestObserver alone, first, second;
    std::vector<std::unique_ptr<Fetcher>> fetchers;
    const auto ask = [&](TestObserver* observer) {
      loop_.Run([&] {
        fetchers.push_back(pool_->NewFetcher(observer, {.window_bytes = kWindow}));
        fetchers.back()->Request(request);
      });
    };
    ask(&alone);
    ASSERT_TRUE(alone.WaitForEnds(1));
    ASSERT_EQ(alone.done.size(), 1u);
    EXPECT_EQ(alone.done[0].readers, 1u);
    first.hold = second.hold = true;
    ask(&first);
    ASSERT_TRUE(first.WaitForBatches(1));
    ask(&second);
    ASSERT_TRUE(second.WaitForBatches(1));
    second.TakeUntilEnds(1);
    first.TakeUntilEnds(1);
    ASSERT_EQ(second.done.size(), 1u);
    EXPECT_EQ(second.done[0].readers, 2u);
    loop_.Run([&] { fetchers.clear(); });
    StopReader();
    pool_.reset();
  }
}

TEST_F(FetchTest, OwnReplicasAreReadWithoutAConnection) {
  Serve();
  server_->Kill();
  Read({}, {.incarnation = kServer});
  for (uint32_t task = 0; task < 10; ++task) {
    StoreAndAsk(task, MakeOutput(task, 7, 2, 100), task % 2 == 0);
  }
  ASSERT_TRUE(seen_.WaitForEnds(10));
  ExpectAllArrived();
}

TEST_F(FetchTest, PartitionsAboveTheWindowComeInOrderWithinIt) {
  Serve();
  constexpr uint64_t kWindow = 256 << 10;
  Read({.window_bytes = kWindow});
  seen_.hold = true;
  for (uint32_t task = 0; task < 3; ++task) {
    StoreAndAsk(task, MakeOutput(task, 2, 30, 200, /*value_bytes=*/256), false);
  }
  seen_.TakeUntilEnds(3);
  ExpectAllArrived();
  EXPECT_GT(seen_.most_outstanding, kWindow / 2);
  EXPECT_LE(seen_.most_outstanding, kWindow + (64 << 10));
}

TEST_F(FetchTest, ProgressIsWhatHasArrivedOfWhatIsKnown) {
  Serve();
  Read({.window_bytes = 256 << 10});
  seen_.hold = true;
  EXPECT_EQ(Progress().segments, 0u);
  StoreAndAsk(1, MakeOutput(1, 2, 30, 200, /*value_bytes=*/256), false);
  ASSERT_TRUE(seen_.WaitForBatches(1));
  const FetchProgress begun = Progress();
  EXPECT_EQ(begun.segments, 1u);
  EXPECT_GT(begun.arrived_bytes, 0u);
  EXPECT_LT(begun.arrived_bytes, begun.expected_bytes);
  seen_.TakeUntilEnds(1);
  ExpectAllArrived();
  EXPECT_EQ(Progress().arrived_bytes, begun.expected_bytes);
  EXPECT_EQ(Progress().expected_bytes, begun.expected_bytes);
  EXPECT_EQ(seen_.done.at(0).bytes, begun.expected_bytes);
}

TEST_F(FetchTest, ChunksAboveOneMessageArriveInPieces) {
  Serve();
  Read();
  StoreAndAsk(1, MakeOutput(1, 2, 1, 2, 15 << 20 >> 1), true);    // 15 MiB each, streamed
  StoreAndAsk(2, MakeOutput(2, 2, 1, 3, 1 << 20), false);         // 3 MiB each
  StoreAndAsk(3, MakeOutput(3, 1, 1, 1, (16 << 20) - 64), true);  // the largest record
  ASSERT_TRUE(seen_.WaitForEnds(3));
  ExpectAllArrived();
}

TEST_F(FetchTest, ALargeOutputAndManyPartitionsArrive) {
  Serve();
  Read();
  StoreAndAsk(1, MakeOutput(1, 3, 24, 4000, 256), false);  // 2 x 24 MiB
  StoreAndAsk(2, MakeOutput(2, 40'000, 1, 1), false);      // a table above one message
  ASSERT_TRUE(seen_.WaitForEnds(2));
  ExpectAllArrived();
}

TEST_F(FetchTest, EmptyPartitionsNeedNoServer) {
  Serve();
  Read();
  const auto rows = StoreOutput(*store_, Replica(1, 4), TestOutput(5));
  auto from = LocationOf(Replica(1, 4), rows, "127.0.0.1:1", kServer, true);
  Ask(from, 0, 5);
  Ask(from, 2, 2);
  ASSERT_TRUE(seen_.WaitForEnds(2));
  EXPECT_EQ(seen_.done.size(), 2u);
  EXPECT_EQ(seen_.complete.size(), 5u);
}

TEST_F(FetchTest, WhenThePeerDiesAllThatIsLeftFails) {
  Serve();
  Read({.window_bytes = 64 << 10});
  seen_.hold = true;  // the window stops the transfer in the middle
  for (uint32_t task = 0; task < 20; ++task) {
    StoreAndAsk(task, MakeOutput(task, 4, 1, 400), task % 2 == 0);
  }
  ASSERT_TRUE(seen_.WaitForBatches(2));
  server_->Kill();
  seen_.TakeUntilEnds(20);
  std::lock_guard lock(seen_.mutex);
  ASSERT_GT(seen_.failed.size(), 0u);
  for (const auto& failure : seen_.failed) {
    EXPECT_EQ(failure.why.code(), Code::kUnavailable) << failure.why.ToString();
    EXPECT_FALSE(failure.partly_delivered);
  }
  for (const auto& [name, batches] : seen_.batches) {
    EXPECT_TRUE((batches == stored_[name.first][name.second])) << "half a partition was delivered";
  }
}

TEST_F(FetchTest, ABrokenPartOfAStreamedPartitionFailsTheReader) {
  Serve([](uint32_t, uint32_t chunk, StoredChunk* stored) {
    if (chunk == 25) FlipBit(20, stored);
  });
  Read({.window_bytes = 128 << 10});
  StoreAndAsk(1, MakeOutput(1, 1, 30, 200, 256), true);
  ExpectFailure(Code::kCorrupted, "digest", /*partly=*/true);
}

TEST_F(FetchTest, ADamagedChunkIsCorrupted) {
  Serve([](uint32_t partition, uint32_t, StoredChunk* stored) {
    if (partition == 3) FlipBit(stored->bytes.size() / 2, stored);
  });
  Read();
  StoreAndAsk(1, MakeOutput(1, 5, 2, 200), true);
  ExpectFailure(Code::kCorrupted, "digest");
  EXPECT_FALSE(seen_.complete.contains({1, 3}));
}

TEST_F(FetchTest, ReplicasThatFailGiveTheirPartOfTheWindowBack) {
  std::atomic<bool> damage = true;
  Serve([&](uint32_t, uint32_t, StoredChunk* stored) {
    if (damage) FlipBit(stored->bytes.size() / 2, stored);
  });
  Read({.window_bytes = 256 << 10});
  constexpr uint32_t kBad = 20;
  for (uint32_t task = 0; task < kBad; ++task) {
    StoreAndAsk(task, MakeOutput(task, 2, 2, 100, /*value_bytes=*/256), true);
  }
  ASSERT_TRUE(seen_.WaitForEnds(kBad)) << "the reader asks for nothing any more";
  damage = false;
  StoreAndAsk(kBad, MakeOutput(kBad, 2, 2, 100, /*value_bytes=*/256), true);
  ASSERT_TRUE(seen_.WaitForEnds(kBad + 1));
  std::lock_guard lock(seen_.mutex);
  EXPECT_EQ(seen_.failed.size(), kBad);
  EXPECT_TRUE(seen_.complete.contains({kBad, 1}));
}

// Tests that hold for a reader elsewhere and for one on the worker that has the output, with the same bodies.
class FetchFrom : public FetchTest, public testing::WithParamInterface<bool> {
 protected:
  void ReadThere() { Read({}, {.incarnation = GetParam() ? kServer : kReader}); }
};
INSTANTIATE_TEST_SUITE_P(Twins, FetchFrom, testing::Bool(),
                         [](const auto& p) { return p.param ? "TheOwnStore" : "AnotherWorker"; });

TEST_P(FetchFrom, AFlippedValueBitIsCorruptedByThePartitionsOwnDigest) {
  Serve([](uint32_t partition, uint32_t chunk, StoredChunk* stored) {
    if (partition == 3 && chunk == 1) FlipValueBit(stored);
  });
  ReadThere();
  StoreAndAsk(1, MakeOutput(1, 5, 2, 200), true);
  ExpectFailure(Code::kCorrupted, "differs from its row");
  EXPECT_FALSE(seen_.complete.contains({1, 3}));
}

TEST_P(FetchFrom, AReplicaThatIsDroppedDuringTheReadIsNotFound) {
  Serve([this](uint32_t partition, uint32_t, StoredChunk*) {
    if (partition == 1) store_->Drop(Replica(1, 1));
  });
  ReadThere();
  StoreAndAsk(1, MakeOutput(1, 2, 1, 50), true);
  ExpectFailure(Code::kNotFound, "");
  std::lock_guard lock(seen_.mutex);
  EXPECT_TRUE(seen_.batches.empty()) << "both partitions share a call, which the drop comes before";
}

TEST_P(FetchFrom, AnErrorOfTheDiskIsAFailureAndNotTheEndOfTheData) {
  class FailingStore : public TamperingStore {
   public:
    using TamperingStore::TamperingStore;
    Result<StoredChunk> Get(const ReplicaKey& key, uint32_t partition, uint32_t chunk) override {
      if (partition == 1 && chunk == 2) return Internal("cannot read shuffle output: IO error: Input/output error");
      return TamperingStore::Get(key, partition, chunk);
    }
  };
  served_ = std::make_shared<FailingStore>(store_, [](uint32_t, uint32_t, StoredChunk*) {});
  server_ = std::make_unique<TestDataServer>(served_, threads_.poster(), kServer);
  ReadThere();
  StoreAndAsk(1, MakeOutput(1, 2, 4, 50), true);
  ExpectFailure(Code::kInternal, "Input/output error");
}

TEST_P(FetchFrom, AReaderWhoseReadFailsIsCountedNoMore) {
  class FailingStore : public TamperingStore {
   public:
    using TamperingStore::TamperingStore;
    Result<StoredChunk> Get(const ReplicaKey& key, uint32_t partition, uint32_t chunk) override {
      if (failing && chunk == 1) return Internal("cannot read shuffle output: IO error: Input/output error");
      return TamperingStore::Get(key, partition, chunk);
    }
    std::atomic<bool> failing = true;
  };
  const auto failing = std::make_shared<FailingStore>(store_, [](uint32_t, uint32_t, StoredChunk*) {});
  served_ = failing;
  server_ = std::make_unique<TestDataServer>(served_, threads_.poster(), kServer);
  ReadThere();
  // A window of less than two chunks: the last one, with which a reader ends, is never asked for.
  loop_.Run([&] { fetcher_ = pool_->NewFetcher(&seen_, {.window_bytes = 64 << 10}); });
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 1, 4, 150, /*value_bytes=*/256));
  const SegmentRequest request{0, 0, 1, LocationOf(Replica(1, 1), rows, server_->address(), kServer, true), true};
  loop_.Run([&] { fetcher_->Request(request); });
  ASSERT_TRUE(seen_.WaitForEnds(1));
  ASSERT_EQ(seen_.failed.size(), 1u);
  EXPECT_EQ(Progress().segments, 0u) << "a failed segment does not count";
  EXPECT_EQ(Progress().arrived_bytes, 0u);
  EXPECT_EQ(Progress().expected_bytes, 0u);
  failing->failing = false;
  loop_.Run([&] { fetcher_->Request(request); });
  ASSERT_TRUE(seen_.WaitForEnds(2));
  ASSERT_EQ(seen_.done.size(), 1u);
  EXPECT_EQ(Progress().segments, 1u);
  EXPECT_EQ(Progress().arrived_bytes, seen_.done[0].bytes);
  EXPECT_EQ(Progress().expected_bytes, seen_.done[0].bytes);
  EXPECT_EQ(seen_.done[0].readers, 1u);
}

// A table that was read and fits another digest stays that of this digest alone.
TEST_P(FetchFrom, ATableThatIsKnownIsNoneOfAnotherDigest) {
  Serve();
  ReadThere();
  StoreAndAsk(1, MakeOutput(1, 4, 1, 100), false);
  ASSERT_TRUE(seen_.WaitForEnds(1));
  ExpectAllArrived();
  auto other = LocationOf(Replica(1, 1), store_->Table(Replica(1, 1)).value(), server_->address(), kServer, false);
  ++other.content.low;
  Ask(other, 0, 4);
  ASSERT_TRUE(seen_.WaitForEnds(2));
  std::lock_guard lock(seen_.mutex);
  ASSERT_EQ(seen_.failed.size(), 1u);
  EXPECT_EQ(seen_.failed[0].why.code(), Code::kCorrupted) << seen_.failed[0].why.ToString();
}

// Partitions above the window, whose first chunks are far larger than the mean.
TEST_P(FetchFrom, StreamedPartitionsThatFailGiveTheirPartOfTheWindowBack) {
  std::atomic<bool> damage = true;
  Serve([&](uint32_t, uint32_t chunk, StoredChunk* stored) {
    if (damage && chunk == 2) FlipBit(stored->bytes.size() / 2, stored);
  });
  ReadThere();
  constexpr uint64_t kWindow = 64 << 10;
  loop_.Run([&] { fetcher_ = pool_->NewFetcher(&seen_, {.window_bytes = kWindow}); });
  const auto output = [](uint32_t seed) {
    TestOutput one = MakeOutput(seed, 1, 2, 150, /*value_bytes=*/256);  // 40 KiB each
    const TestOutput rest = MakeOutput(seed, 1, 8, 10);
    one[0].insert(one[0].end(), rest[0].begin(), rest[0].end());
    return one;
  };
  constexpr uint32_t kBad = 10;
  for (uint32_t task = 0; task < kBad; ++task) {
    StoreAndAsk(task, output(task), true);
    ASSERT_TRUE(seen_.WaitForEnds(task + 1)) << "the reader asks for nothing any more";
  }
  damage = false;
  seen_.batches.clear();
  stored_.clear();
  StoreAndAsk(kBad, output(kBad), true);
  ASSERT_TRUE(seen_.WaitForEnds(kBad + 1));
  std::lock_guard lock(seen_.mutex);
  EXPECT_EQ(seen_.failed.size(), kBad);
  EXPECT_TRUE((seen_.batches[{kBad, 0}] == stored_[kBad][0]));
}

TEST_F(FetchTest, AnotherPartitionsBytesAreCorrupted) {
  const TestOutput other = MakeOutput(99, 1, 1, 200);
  Serve([&](uint32_t partition, uint32_t chunk, StoredChunk* stored) {
    if (partition != 1 || chunk != 0) return;
    stored->codec = 0;
    stored->bytes = other[0][0];
    stored->raw_bytes = static_cast<uint32_t>(stored->bytes.size());
    stored->wire_digest = Hash64(stored->bytes);
  });
  Read();
  StoreAndAsk(1, MakeOutput(1, 2, 1, 200), true);
  ExpectFailure(Code::kCorrupted, "partition");
}

TEST_F(FetchTest, AWrongInlineTableIsCorrupted) {
  Serve();
  Read();
  auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 4, 1, 100));
  auto from = LocationOf(Replica(1, 1), rows, server_->address(), kServer, true);
  from.table[0].records += 1;
  Ask(from, 0, 4);
  ExpectFailure(Code::kCorrupted, "table");
}

TEST_F(FetchTest, AWrongFetchedTableIsCorrupted) {
  Serve();
  Read();
  auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 4, 1, 100));
  auto from = LocationOf(Replica(1, 1), rows, server_->address(), kServer, false);
  from.content.low ^= 1;  // what was committed is another attempt's
  Ask(from, 0, 4);
  ExpectFailure(Code::kCorrupted, "table");
}

TEST_F(FetchTest, AFetchedTableMustNotPromiseChunksWithoutEnd) {
  Serve([](uint32_t partition, uint32_t, StoredChunk* stored) {
    if (partition != kTablePartition) return;
    std::string table(stored->bytes);
    table.replace(32, 4, 4, '\xff');  // chunks of row 0
    stored->bytes = std::move(table);
    stored->wire_digest = Hash64(stored->bytes);
  });
  Read();
  StoreAndAsk(1, MakeOutput(1, 4, 1, 100), false);
  ExpectFailure(Code::kCorrupted, "inconsistent");
}

TEST_F(FetchTest, AMissingReplicaIsNotFound) {
  Serve();
  Read();
  auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 4, 1, 100));
  store_->Drop(Replica(1, 1));
  Ask(LocationOf(Replica(1, 1), rows, server_->address(), kServer, true), 0, 4);
  ExpectFailure(Code::kNotFound, "no replica");
}

TEST_F(FetchTest, ARestartedWorkerIsUnavailable) {
  Serve();
  Read();
  StoreAndAsk(1, MakeOutput(1, 4, 1, 100), true, /*incarnation=*/kServer + 5);
  ExpectFailure(Code::kUnavailable, "restarted");
}

TEST_F(FetchTest, NobodyThereIsUnavailable) {
  Serve();
  Read();
  server_->Kill();
  StoreAndAsk(1, MakeOutput(1, 4, 1, 100), true);
  ExpectFailure(Code::kUnavailable, "cannot reach");
}

TEST_F(FetchTest, APeerThatNeverAnswersIsUnavailable) {
  std::vector<std::function<void()>> kept;
  server_ = std::make_unique<TestDataServer>(
      store_, [&kept](std::function<void()> task) { kept.push_back(std::move(task)); }, kServer);
  Read({}, {.call_timeout = Millis(200)});
  StoreAndAsk(1, MakeOutput(1, 4, 1, 100), true);
  ExpectFailure(Code::kUnavailable, "in time");
  server_->Kill();
  kept.clear();  // what they hold belongs to the server's loop
}

TEST_F(FetchTest, PartitionsThatDoNotExistAreRefused) {
  Serve();
  Read();
  auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 4, 1, 100));
  Ask(LocationOf(Replica(1, 1), rows, server_->address(), kServer, true), 2, 5);
  ExpectFailure(Code::kInvalidArgument, "of 4");
}

TEST_F(FetchTest, AFetcherMayEndWithinACallAndIsSilentThen) {
  Serve();
  Read();
  size_t after_end = 0;
  seen_.on_batch = [&] {
    if (fetcher_ == nullptr) ++after_end;
    fetcher_.reset();
  };
  loop_.Run([&] {
    for (uint32_t task = 0; task < 20; ++task) {
      const auto rows = StoreOutput(*store_, Replica(1, task), MakeOutput(task, 4, 1, 100));
      fetcher_->Request({0, 0, 4, LocationOf(Replica(1, task), rows, server_->address(), kServer, task % 2 == 0)});
    }
  });
  ASSERT_TRUE(seen_.WaitForBatches(1));
  // When a second fetcher has read to the end, the first one has had time for another call.
  TestObserver second;
  std::unique_ptr<Fetcher> other;
  const auto rows = StoreOutput(*store_, Replica(1, 50), MakeOutput(50, 4, 3, 100));
  loop_.Run([&] {
    other = pool_->NewFetcher(&second);
    other->Request({0, 0, 4, LocationOf(Replica(1, 50), rows, server_->address(), kServer, false)});
  });
  ASSERT_TRUE(second.WaitForEnds(1));
  EXPECT_EQ(second.done.size(), 1u);
  loop_.Run([&] { other.reset(); });
  EXPECT_EQ(after_end, 0u);
  EXPECT_EQ(seen_.batches_seen, 1u);
}

}  // namespace
}  // namespace mr::worker
