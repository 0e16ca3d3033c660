// The shuffle store: what was written is what is read, by both ways in; and what lives how long.
#include "worker/shuffle/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "common/io/bulk_digest.h"
#include "common/io/codec.h"
#include "common/io/files.h"
#include "common/io/ledger.h"
#include "tests/worker/shuffle/shuffle_testing.h"
#include "worker/shuffle/format.h"

namespace mr::worker {
namespace {

using testing::ElementsAre;

std::string Unpack(const StoredChunk& chunk) {
  std::string raw;
  const Status status = Decompress(static_cast<Codec>(chunk.codec), chunk.bytes, chunk.raw_bytes, kMaxRawChunk, &raw);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return raw;
}

std::vector<std::string> NamesIn(const std::string& directory) {
  auto names = ListDirectory(directory);
  MR_CHECK(names.ok(), names.status().ToString());
  return *std::move(names);
}

size_t CohortDirectories(const std::string& directory) {
  const auto names = NamesIn(directory);
  return std::count_if(names.begin(), names.end(), [](const std::string& n) { return n.starts_with("cohort-"); });
}

class StoreTest : public testing::Test {
 protected:
  void Open(ShuffleStore::Options options = {}) {
    store_.reset();  // two stores cannot have one directory
    options.directory = shuffle_directory();
    auto store = ShuffleStore::Open(options);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
  }
  std::string shuffle_directory() const { return directory_.path() + "/shuffle"; }

  TempDirectory directory_;
  std::unique_ptr<ShuffleStore> store_;
};

TEST_F(StoreTest, BothWaysInGiveBackTheSameChunksAndRows) {
  const TestOutput output = MakeOutput(/*seed=*/7, /*partitions=*/9, /*batches=*/3, /*records=*/200);
  std::vector<std::vector<PartitionRow>> tables;
  for (const uint64_t sst_bytes : {uint64_t{64} << 20, uint64_t{1}}) {
    Open({.sst_bytes = sst_bytes});
    const ReplicaKey key = Replica(1, 5);
    const auto rows = StoreOutput(*store_, key, output);
    ASSERT_EQ(rows.size(), output.size());
    const auto table = store_->Table(key);
    ASSERT_TRUE(table.ok()) << table.status().ToString();
    EXPECT_EQ(*table, rows);
    for (uint32_t p = 0; p < output.size(); ++p) {
      EXPECT_EQ(rows[p].chunks, output[p].size());
      std::string all;
      for (uint32_t c = 0; c < rows[p].chunks; ++c) {
        const auto chunk = store_->Get(key, p, c);
        ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
        EXPECT_EQ(Unpack(*chunk), output[p][c]);
        EXPECT_EQ(chunk->wire_digest, Hash64(chunk->bytes));
        all += output[p][c];
      }
      EXPECT_EQ(rows[p].content, Hash128(all));
      EXPECT_EQ(rows[p].bytes, all.size());
      EXPECT_EQ(store_->Get(key, p, rows[p].chunks).status().code(), Code::kNotFound);
    }
    tables.push_back(rows);
  }
  EXPECT_EQ(tables[0], tables[1]);
}

TEST_F(StoreTest, ALargeBatchIsReadInPlaceWhereItIsAligned) {
  const TestOutput output = MakeOutput(/*seed=*/7, /*partitions=*/2, /*batches=*/3, /*records=*/200, 1024);
  for (const uint64_t sst_bytes : {uint64_t{64} << 20, uint64_t{1}}) {
    Open({.sst_bytes = sst_bytes, .codec = {CodecChoice::kNone}});
    const auto rows = StoreOutput(*store_, Replica(1, 5), output);
    Ledger::Enable(true);
    Ledger::Clear();
    for (uint32_t p = 0; p < 2; ++p) {
      for (uint32_t c = 0; c < rows[p].chunks; ++c) {
        const auto chunk = store_->Get(Replica(1, 5), p, c);
        ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
        BatchView view;
        EXPECT_EQ(BatchView::Parse(chunk->bytes.data(), chunk->bytes.size(), &view), nullptr);
        EXPECT_EQ(chunk->bytes.view(), output[p][c]);
      }
    }
    Ledger::Enable(false);
    // A memtable has its values anywhere.
    if (sst_bytes == 1) {
      EXPECT_EQ(Ledger::count(Ledger::chunk_copy), 0u);
    }
  }
}

TEST_F(StoreTest, AChunkThatWasReadOutlivesItsReplicaItsJobAndTheStore) {
  const TestOutput output = MakeOutput(/*seed=*/7, /*partitions=*/1, /*batches=*/2, /*records=*/200, 1024);
  for (const uint64_t sst_bytes : {uint64_t{64} << 20, uint64_t{1}}) {
    Open({.sst_bytes = sst_bytes, .own_cohort_bytes = 1, .idle_cohort_bytes = 1});
    StoreOutput(*store_, Replica(1, 5), output);
    std::vector<StoredChunk> chunks;
    for (uint32_t c = 0; c < 2; ++c) {
      auto chunk = store_->Get(Replica(1, 5), 0, c);
      ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
      chunks.push_back(*std::move(chunk));
    }
    store_->Drop(Replica(1, 5));
    store_->EndJob({1, 1});
    store_->Settle();
    EXPECT_FALSE(store_->Has(Replica(1, 5)));
    for (uint32_t c = 0; c < 2; ++c) EXPECT_EQ(Unpack(chunks[c]), output[0][c]);
    store_.reset();
    for (uint32_t c = 0; c < 2; ++c) EXPECT_EQ(Unpack(chunks[c]), output[0][c]);
  }
}

TEST_F(StoreTest, TheTableIsAChunkOfItsOwnPartition) {
  Open();
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 5, 1, 10));
  const auto chunk = store_->Get(Replica(1, 1), kTablePartition, 0);
  ASSERT_TRUE(chunk.ok());
  const auto decoded = DecodeTable(Unpack(*chunk));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(*decoded, rows);
  EXPECT_EQ(DecodeTable(std::string(41, 'x')).status().code(), Code::kCorrupted);
}

TEST_F(StoreTest, AnOutputWithoutChunksHasItsTableAndTakesNoSpace) {
  Open();
  auto writer = store_->Begin(Replica(1, 1), 3);
  ASSERT_TRUE(writer.ok());
  const auto rows = (*writer)->Finish();
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 3u);
  for (const PartitionRow& row : *rows) EXPECT_EQ(row, (PartitionRow{0, 0, BulkHasher128().Finish(), 0}));
  EXPECT_TRUE(store_->Has(Replica(1, 1)));
  EXPECT_THAT(store_->Inventory(), ElementsAre(Replica(1, 1)));
  const auto table = store_->Table(Replica(1, 1));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(*table, *rows);
  EXPECT_EQ(store_->Get(Replica(1, 1), 0, 0).status().code(), Code::kNotFound);
  EXPECT_EQ(store_->Get(Replica(1, 1), kTablePartition, 1).status().code(), Code::kNotFound);
  EXPECT_EQ(store_->bytes(), 0u);
  EXPECT_EQ(store_->Begin(Replica(1, 1), 3).status().code(), Code::kRejected);
  store_->Drop(Replica(1, 1));
  EXPECT_FALSE(store_->Has(Replica(1, 1)));
  EXPECT_EQ(store_->Table(Replica(1, 1)).status().code(), Code::kNotFound);
  EXPECT_EQ(store_->drops(), 1u);
}

TEST_F(StoreTest, NothingOfAnUnfinishedOutputCanBeRead) {
  for (const uint64_t sst_bytes : {uint64_t{64} << 20, uint64_t{1}}) {
    Open({.sst_bytes = sst_bytes});
    {
      auto writer = store_->Begin(Replica(1, 1), 2);
      ASSERT_TRUE(writer.ok());
      ASSERT_TRUE((*writer)->Add(0, 3, MakeOutput(1, 1, 1, 3)[0][0]).ok());
    }
    EXPECT_FALSE(store_->Has(Replica(1, 1)));
    EXPECT_EQ(store_->Get(Replica(1, 1), 0, 0).status().code(), Code::kNotFound);
    EXPECT_THAT(NamesIn(shuffle_directory() + "/files"), ElementsAre());
  }
}

TEST_F(StoreTest, PartitionsMustAscendAndABatchMustFit) {
  Open();
  const std::string batch = MakeOutput(1, 1, 1, 3)[0][0];
  auto late = store_->Begin(Replica(1, 1), 3);
  ASSERT_TRUE((*late)->Add(2, 3, batch).ok());
  EXPECT_EQ((*late)->Add(1, 3, batch).code(), Code::kInvalidArgument);
  EXPECT_FALSE((*late)->Finish().ok()) << "a writer that failed must not publish";
  auto outside = store_->Begin(Replica(1, 1), 3);
  EXPECT_EQ((*outside)->Add(3, 3, batch).code(), Code::kInvalidArgument);
  auto empty = store_->Begin(Replica(1, 1), 3);
  EXPECT_EQ((*empty)->Add(0, 0, "").code(), Code::kInvalidArgument);
}

TEST_F(StoreTest, AReplicaIsStoredOnce) {
  Open();
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 2, 1, 10));
  EXPECT_EQ(store_->Begin(Replica(1, 1), 2).status().code(), Code::kRejected);
  auto first = store_->Begin(Replica(1, 2), 1), second = store_->Begin(Replica(1, 2), 1);
  EXPECT_TRUE((*first)->Finish().ok());
  EXPECT_EQ((*second)->Finish().status().code(), Code::kRejected);
}

TEST_F(StoreTest, DroppedAndEndedReplicasAreGone) {
  Open();
  for (uint32_t task : {1, 2}) StoreOutput(*store_, Replica(1, task), MakeOutput(task, 2, 1, 10));
  StoreOutput(*store_, Replica(2, 1), MakeOutput(9, 2, 1, 10));
  EXPECT_THAT(store_->Inventory(), ElementsAre(Replica(1, 1), Replica(1, 2), Replica(2, 1)));
  store_->Drop(Replica(1, 1));
  EXPECT_FALSE(store_->Has(Replica(1, 1)));
  EXPECT_EQ(store_->Get(Replica(1, 1), 0, 0).status().code(), Code::kNotFound);
  EXPECT_EQ(store_->Table(Replica(1, 1)).status().code(), Code::kNotFound);
  store_->EndJob(Replica(1, 1).task.job);
  EXPECT_THAT(store_->Inventory(), ElementsAre(Replica(2, 1)));
  EXPECT_GT(store_->bytes(), 0u);
  store_->EndJob(Replica(2, 1).task.job);
  EXPECT_EQ(store_->bytes(), 0u);
}

TEST_F(StoreTest, AnEndedJobStoresNothingMore) {
  Open();
  auto straggler = store_->Begin(Replica(1, 1), 1);
  store_->EndJob(Replica(1, 1).task.job);
  EXPECT_EQ((*straggler)->Finish().status().code(), Code::kCancelled);
  EXPECT_EQ(store_->Begin(Replica(1, 2), 1).status().code(), Code::kCancelled);
  EXPECT_FALSE(store_->Has(Replica(1, 1)));
}

// A writer that straggles behind its job must not bring it back.
TEST_F(StoreTest, OfVeryManyEndedJobsTheLastOnesAreRemembered) {
  Open();
  constexpr uint32_t kJobs = 5000, kRemembered = 4096;
  for (uint32_t job = 1; job <= kJobs; ++job) store_->EndJob({1, job});
  for (const uint32_t job : {kJobs, kJobs - 1, kJobs - kRemembered + 1}) {
    EXPECT_EQ(store_->Begin(Replica(job, 1), 1).status().code(), Code::kCancelled) << job;
  }
}

TEST_F(StoreTest, ACohortGoesWithItsLastReplica) {
  Open({.cohort_bytes = 1, .idle_cohort_bytes = 1});  // a cohort per output, once one is ready
  for (uint32_t task : {1, 2, 3}) {
    StoreOutput(*store_, Replica(task, task), MakeOutput(task, 2, 1, 50));
    store_->Settle();
  }
  EXPECT_EQ(CohortDirectories(shuffle_directory()), 3u + 2u) << "three full, one open, one ahead";
  store_->Drop(Replica(2, 2));
  store_->Settle();
  EXPECT_EQ(CohortDirectories(shuffle_directory()), 4u);
  EXPECT_TRUE(store_->Get(Replica(1, 1), 0, 0).ok());
  EXPECT_TRUE(store_->Get(Replica(3, 3), 0, 0).ok());
  store_->EndJob(Replica(1, 1).task.job);
  store_->EndJob(Replica(3, 3).task.job);
  store_->Settle();
  EXPECT_EQ(CohortDirectories(shuffle_directory()), 2u);
}

TEST_F(StoreTest, ALargeJobGetsACohortOfItsOwn) {
  Open({.own_cohort_bytes = 1});
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 2, 1, 50));
  store_->Settle();
  EXPECT_EQ(CohortDirectories(shuffle_directory()), 3u) << "shared, ahead, own";
  StoreOutput(*store_, Replica(1, 2), MakeOutput(2, 2, 1, 50));
  EXPECT_TRUE(store_->Get(Replica(1, 1), 0, 0).ok());
  EXPECT_TRUE(store_->Get(Replica(1, 2), 1, 0).ok());
  store_->EndJob(Replica(1, 1).task.job);
  store_->Settle();
  EXPECT_EQ(CohortDirectories(shuffle_directory()), 2u);
}

TEST_F(StoreTest, OpeningWipesWhatAnEarlierLifeLeft) {
  Open();
  StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 2, 1, 50));
  store_.reset();
  MR_CHECK(MakeDirectories(shuffle_directory() + "/cohort-77/deeper").ok());
  Open();
  EXPECT_FALSE(store_->Has(Replica(1, 1)));
  EXPECT_TRUE(store_->Inventory().empty());
  EXPECT_FALSE(PathExists(shuffle_directory() + "/cohort-77"));
}

TEST_F(StoreTest, DamagedBytesAreCorruptedNeverWrong) {
  Open({.sst_bytes = 1});
  const TestOutput output = MakeOutput(3, 4, 2, 500);
  const auto rows = StoreOutput(*store_, Replica(1, 1), output);
  size_t damaged_files = 0;
  for (const std::string& cohort : NamesIn(shuffle_directory())) {
    const std::string in = shuffle_directory() + "/" + cohort;
    for (const std::string& name : NamesIn(in)) {
      if (!name.ends_with(".sst")) continue;
      std::fstream file(in + "/" + name, std::ios::in | std::ios::out | std::ios::binary);
      for (uint64_t at = 64; at < *FileSize(in + "/" + name) / 2; at += 512) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put('\x5a');
      }
      ++damaged_files;
    }
  }
  ASSERT_EQ(damaged_files, 1u);
  size_t corrupted = 0;
  for (uint32_t p = 0; p < output.size(); ++p) {
    for (uint32_t c = 0; c < rows[p].chunks; ++c) {
      const auto chunk = store_->Get(Replica(1, 1), p, c);
      if (chunk.ok()) {
        EXPECT_EQ(Unpack(*chunk), output[p][c]);
      } else {
        EXPECT_EQ(chunk.status().code(), Code::kCorrupted) << chunk.status().ToString();
        ++corrupted;
      }
    }
  }
  EXPECT_GT(corrupted, 0u);
}

// Damage of each kind and at each part of a table file (data, index, filter, properties, footer): the outputs in it are
// damaged or right, the store goes on with all others.
TEST_F(StoreTest, WhateverBecomesOfATableFileItsOutputsAreDamagedAndNoOthers) {
  const TestOutput output = MakeOutput(3, 4, 2, 300), small = MakeOutput(4, 2, 1, 20);
  constexpr int kPlaces = 40;
  for (int round = 0; round < kPlaces + 8; ++round) {
    Open({.sst_bytes = 5000});
    const auto rows = StoreOutput(*store_, Replica(1, 1), output);
    const auto small_rows = StoreOutput(*store_, Replica(2, 1), small);
    std::string path;
    for (const std::string& cohort : NamesIn(shuffle_directory())) {
      for (const std::string& name : NamesIn(shuffle_directory() + "/" + cohort)) {
        if (name.ends_with(".sst")) path = shuffle_directory() + "/" + cohort + "/" + name;
      }
    }
    ASSERT_FALSE(path.empty());
    const uint64_t size = *FileSize(path);
    std::string what;
    if (round < kPlaces) {
      // Half of them in the last 4 KiB, where everything but data stands.
      const uint64_t at = round % 2 == 0 ? size * static_cast<uint64_t>(round) / kPlaces
                                         : size - 1 - 4096 * static_cast<uint64_t>(round) / kPlaces;
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(static_cast<std::streamoff>(at));
      const int byte = file.get();
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(byte ^ 0x10));
      what = "byte " + std::to_string(at) + " of " + std::to_string(size);
    } else if (round < kPlaces + 7) {
      const uint64_t length = size * static_cast<uint64_t>(round - kPlaces) / 7;
      ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(length)), 0);
      what = "cut to " + std::to_string(length) + " of " + std::to_string(size);
    } else {
      ASSERT_EQ(::unlink(path.c_str()), 0);
      what = "removed";
    }
    size_t failed = 0, chunks = 0;
    for (uint32_t p = 0; p < output.size(); ++p) {
      for (uint32_t c = 0; c < rows[p].chunks; ++c) {
        const auto chunk = store_->Get(Replica(1, 1), p, c);
        ++chunks;
        failed += !chunk.ok();
        if (chunk.ok()) {
          EXPECT_EQ(Unpack(*chunk), output[p][c]) << what;
        }
        const Code code = chunk.ok() ? Code::kOk : chunk.status().code();
        EXPECT_TRUE(code == Code::kOk || code == Code::kCorrupted || code == Code::kInternal)
            << what << ": " << chunk.status().ToString();
      }
    }
    if (what.starts_with("cut")) {
      EXPECT_EQ(failed, chunks) << what;
    } else if (what == "removed") {
      EXPECT_TRUE(failed == 0 || failed == chunks) << "one that is still open can be read: " << failed;
    }
    EXPECT_TRUE(store_->Has(Replica(1, 1))) << "still told of, so that a reader's complaint finds it: " << what;
    for (uint32_t p = 0; p < small.size(); ++p) {
      for (uint32_t c = 0; c < small_rows[p].chunks; ++c) {
        const auto chunk = store_->Get(Replica(2, 1), p, c);
        ASSERT_TRUE(chunk.ok()) << what << ": " << chunk.status().ToString();
        EXPECT_EQ(Unpack(*chunk), small[p][c]);
      }
    }
    StoreOutput(*store_, Replica(3, 1), output);
    EXPECT_TRUE(store_->Table(Replica(3, 1)).ok()) << what;
  }
}

// RocksDB reads the neighbours of a file that it takes over: damage in one of them costs no output but its own.
TEST_F(StoreTest, ADamagedTableRefusesNoOutputsBesideIt) {
  Open({.sst_bytes = 5000});
  const TestOutput output = MakeOutput(3, 6, 2, 900);
  for (const uint32_t task : {1, 3, 5}) StoreOutput(*store_, Replica(1, task), output);
  size_t damaged = 0;
  for (const std::string& cohort : NamesIn(shuffle_directory())) {
    for (const std::string& name : NamesIn(shuffle_directory() + "/" + cohort)) {
      if (!name.ends_with(".sst")) continue;
      std::fstream file(shuffle_directory() + "/" + cohort + "/" + name,
                        std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(100);
      file.put('\x5a');
      ++damaged;
    }
  }
  ASSERT_EQ(damaged, 3u);
  for (const uint32_t task : {2, 4, 6}) {
    const auto rows = StoreOutput(*store_, Replica(1, task), output);
    for (uint32_t p = 0; p < output.size(); ++p) {
      for (uint32_t c = 0; c < rows[p].chunks; ++c) {
        const auto chunk = store_->Get(Replica(1, task), p, c);
        ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
        EXPECT_EQ(Unpack(*chunk), output[p][c]);
      }
    }
  }
  size_t corrupted = 0, whole = 0;
  const auto rows = store_->Table(Replica(1, 3));
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  for (uint32_t p = 0; p < output.size(); ++p) {
    for (uint32_t c = 0; c < (*rows)[p].chunks; ++c) {
      const auto chunk = store_->Get(Replica(1, 3), p, c);
      ++(chunk.ok() ? whole : corrupted);
    }
  }
  EXPECT_GT(corrupted, 0u);
  EXPECT_GT(whole, 0u) << "what is whole of a damaged output is still read";
}

TEST_F(StoreTest, WhereTheNextDatabaseDoesNotOpenThePresentOneTakesTheOutputs) {
  Open({.cohort_bytes = 1, .memtable_bytes = 1 << 16});
  store_->Settle();
  const TestOutput output = MakeOutput(1, 2, 1, 50);
  StoreOutput(*store_, Replica(1, 1), output);
  // Wherever the next ones would be, something else is already.
  for (int i = 0; i < 64; ++i) {
    const std::string path = shuffle_directory() + "/cohort-" + std::to_string(i);
    if (!PathExists(path)) std::ofstream(path) << "in the way";
  }
  for (uint32_t task = 2; task < 12; ++task) {
    StoreOutput(*store_, Replica(1, task), output);
    store_->Settle();
  }
  EXPECT_TRUE(store_->Get(Replica(1, 1), 0, 0).ok()) << "what was there is still there";
  for (int i = 0; i < 64; ++i) ::unlink((shuffle_directory() + "/cohort-" + std::to_string(i)).c_str());
  store_->Settle();
  StoreOutput(*store_, Replica(1, 50), output);
  EXPECT_TRUE(store_->Table(Replica(1, 50)).ok()) << "and later ones find one again";
}

TEST(StoreFormatTest, AChunkWithAFlippedBitIsCorrupted) {
  std::string value;
  EncodeChunk(MakeOutput(3, 1, 1, 40)[0][0], 40, 1, &value);
  ASSERT_TRUE(DecodeChunk(value).ok());
  for (size_t at : {size_t{0}, sizeof(ChunkHeader), value.size() - 1}) {
    std::string flipped = value;
    flipped[at] ^= 4;
    EXPECT_EQ(DecodeChunk(flipped).status().code(), Code::kCorrupted);
  }
  EXPECT_EQ(DecodeChunk(value.substr(0, 10)).status().code(), Code::kCorrupted);
}

TEST(StoreFormatTest, KeysSortAsTheirNumbersDo) {
  const std::vector<std::string> ascending = {
      EncodeStoreKey({{{1, 1}, 0, 0}, 1}, 0, 0),    EncodeStoreKey({{{1, 1}, 0, 0}, 1}, 0, 256),
      EncodeStoreKey({{{1, 1}, 0, 0}, 1}, 1, 0),    EncodeStoreKey({{{1, 1}, 0, 0}, 1}, 255, 9),
      EncodeStoreKey({{{1, 1}, 0, 0}, 1}, 256, 0),  EncodeStoreKey({{{1, 1}, 0, 0}, 1}, kTablePartition, 0),
      EncodeStoreKey({{{1, 1}, 0, 0}, 1000}, 0, 0), EncodeStoreKey({{{1, 1}, 0, 1}, 1}, 0, 0),
      EncodeStoreKey({{{1, 1}, 256, 0}, 1}, 0, 0),  EncodeStoreKey({{{1, 256}, 0, 0}, 1}, 0, 0),
      EncodeStoreKey({{{2, 1}, 0, 0}, 1}, 0, 0)};
  EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
  EXPECT_EQ(std::adjacent_find(ascending.begin(), ascending.end()), ascending.end());
}

TEST_F(StoreTest, ReadersWritersAndEndingJobsDoNotDisturbEachOther) {
  // Cohorts as small as can be, so that they are opened, closed and removed all the time.
  Open({.sst_bytes = 8 << 10, .own_cohort_bytes = 64 << 10, .cohort_bytes = 32 << 10, .idle_cohort_bytes = 1});
  constexpr uint32_t kJobs = 8, kTasks = 12;
  std::atomic<uint32_t> stored[kJobs + 1] = {};
  std::atomic<bool> wrong = false, done = false;
  std::thread reader([&] {
    for (uint32_t turn = 0; !done; ++turn) {
      const uint32_t job = turn % kJobs + 1, count = stored[job];
      if (count == 0) continue;
      const uint32_t task = turn % count + 1;
      const auto chunk = store_->Get(Replica(job, task), 1, 0);
      if (chunk.ok() && Unpack(*chunk) != MakeOutput(job * 100 + task, 3, 1, 60)[1][0]) wrong = true;
      if (!chunk.ok() && chunk.status().code() != Code::kNotFound) wrong = true;
    }
  });
  std::vector<std::thread> writers;
  for (uint32_t first : {1, 2}) {
    writers.emplace_back([&, first] {
      for (uint32_t job = first; job <= kJobs; job += 2) {
        for (uint32_t task = 1; task <= kTasks; ++task) {
          StoreOutput(*store_, Replica(job, task), MakeOutput(job * 100 + task, 3, 1, 60));
          stored[job] = task;
        }
        store_->EndJob(Replica(job, 1).task.job);
      }
    });
  }
  for (auto& writer : writers) writer.join();
  done = true;
  reader.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(store_->bytes(), 0u);
  store_->Settle();
  EXPECT_EQ(CohortDirectories(shuffle_directory()), 2u);
}

// A file system of its own with no byte left. Needs the right to mount one.
TEST_F(StoreTest, ADiskWithoutAnyRoomIsSaidAndEndsNothing) {
  if (::mount("store_test", directory_.path().c_str(), "tmpfs", 0, "size=24m") != 0) {
    GTEST_SKIP() << "no right to mount a small file system";
  }
  Open({.sst_bytes = 64 << 20, .memtable_bytes = 1 << 20});
  {
    std::ofstream filler(directory_.path() + "/filler", std::ios::binary);
    const std::string page(4096, 'x');
    while (filler.write(page.data(), 4096).flush()) {
    }
  }
  Status full;
  for (uint32_t task = 1; task <= 200 && full.ok(); ++task) {
    auto writer = store_->Begin(Replica(1, task), 1);
    full = writer.status();
    const TestOutput output = MakeOutput(task, 1, 1, 1000, 256);
    if (full.ok()) full = (*writer)->Add(0, 1000, output[0][0]);
    if (full.ok()) full = (*writer)->Finish().status();
  }
  EXPECT_FALSE(full.ok());
  EXPECT_NE(full.message().find("No space left on device"), std::string::npos) << full.ToString();
  // Time for the threads of RocksDB to meet the full disk.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  store_.reset();
  ::umount2(directory_.path().c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace mr::worker
