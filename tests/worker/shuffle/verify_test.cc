// A holder's look at an output that a reader complained about: by its digests, not by its presence.
#include "worker/shuffle/verify.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>

#include "common/rpc/wire.h"
#include "tests/worker/shuffle/fetch_testing.h"

namespace mr::worker {
namespace {

constexpr Incarnation kSelf = 5;

class VerifyTest : public testing::Test {
 protected:
  VerifyTest() {
    auto opened = ShuffleStore::Open({.directory = directory_.path() + "/shuffle", .sst_bytes = 1});
    MR_CHECK(opened.ok(), opened.status().ToString());
    store_ = *std::move(opened);
  }
  ~VerifyTest() noexcept override { Stop(); }

  void Use(std::shared_ptr<ShuffleStore> store, Verifier::Options options = {}) {
    Stop();
    loop_.Run([&] { verifier_ = std::make_unique<Verifier>(loop_, store, threads_.poster(), kSelf, options); });
  }
  void Stop() {
    loop_.Run([&] { verifier_.reset(); });
  }
  Verification Look(const ReplicaKey& key, const std::vector<PartitionRow>& rows) {
    std::promise<Verification> got;
    loop_.Post([&] {
      loop_.Spawn(
          verifier_->Check(key, TableDigest(rows), static_cast<uint32_t>(rows.size())).then([&](Verification v) {
            got.set_value(std::move(v));
          }));
    });
    return got.get_future().get();
  }
  std::string SstFile() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path() + "/shuffle")) {
      if (entry.path().extension() == ".sst") return entry.path();
    }
    return "";
  }

  TempDirectory directory_;
  std::shared_ptr<ShuffleStore> store_;
  TestPool threads_;
  rpc::KjThread loop_{"verifier"};
  std::unique_ptr<Verifier> verifier_;
};

TEST_F(VerifyTest, WholeOutputsOfAllShapesAreWholeInSlicesOfAnySize) {
  for (const uint64_t slice : {uint64_t{1}, uint64_t{5000}, uint64_t{4} << 20}) {
    Use(store_, {.bytes_per_second = 1ull << 40, .slice_bytes = slice});
    for (const uint32_t partitions : {1u, 3u, 7u}) {
      const ReplicaKey key = Replica(static_cast<uint32_t>(slice % 1000) + 1, partitions);
      const auto rows = StoreOutput(*store_, key, MakeOutput(partitions, partitions, 3, 100));
      const Verification v = Look(key, rows);
      EXPECT_EQ(v.finding, Finding::kWhole) << FindingName(v.finding) << ": " << v.why;
    }
  }
  const auto none = StoreOutput(*store_, Replica(7, 7), TestOutput(4));
  EXPECT_EQ(Look(Replica(7, 7), none).finding, Finding::kWhole) << "one without any records";
}

TEST_F(VerifyTest, WhatTheDiskDamagedIsDamaged) {
  Use(store_);
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 4, 2, 500));
  const std::string path = SstFile();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(2000);
  const int byte = file.get();
  file.seekp(2000);
  file.put(static_cast<char>(byte ^ 1));
  file.close();
  const Verification v = Look(Replica(1, 1), rows);
  EXPECT_EQ(v.finding, Finding::kDamaged) << FindingName(v.finding);
  EXPECT_NE(v.why.find("partition 0"), std::string::npos) << v.why;
}

TEST_F(VerifyTest, ACutFileIsDamagedAndNotTheEndOfTheData) {
  Use(store_);
  for (uint32_t job = 1; job <= 3; ++job) {
    const auto rows = StoreOutput(*store_, Replica(job, 1), MakeOutput(1, 4, 2, 500));
    const std::string path = SstFile();
    std::filesystem::resize_file(path, std::filesystem::file_size(path) * (job - 1) / 3);
    const Verification v = Look(Replica(job, 1), rows);
    EXPECT_EQ(v.finding, Finding::kDamaged) << FindingName(v.finding) << v.why;
    ::unlink(path.c_str());  // the next one is found
  }
}

TEST_F(VerifyTest, AnErrorOfTheDiskIsDamage) {
  class FailingStore : public TamperingStore {
   public:
    using TamperingStore::TamperingStore;
    Result<StoredChunk> Get(const ReplicaKey& key, uint32_t partition, uint32_t chunk) override {
      if (partition == 1) return Internal("cannot read shuffle output: IO error: Input/output error");
      return TamperingStore::Get(key, partition, chunk);
    }
  };
  Use(std::make_shared<FailingStore>(store_, [](uint32_t, uint32_t, StoredChunk*) {}));
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 3, 2, 100));
  const Verification v = Look(Replica(1, 1), rows);
  EXPECT_EQ(v.finding, Finding::kDamaged) << FindingName(v.finding);
  EXPECT_NE(v.why.find("Input/output error"), std::string::npos) << v.why;
}

// D12: the file could not be opened, which says nothing of its bytes.
TEST_F(VerifyTest, TooManyOpenFilesAreNoDamage) {
  class BusyStore : public TamperingStore {
   public:
    using TamperingStore::TamperingStore;
    Result<StoredChunk> Get(const ReplicaKey& key, uint32_t partition, uint32_t chunk) override {
      if (partition == 1) return ErrnoStatus(EMFILE, "cannot read shuffle output");
      return TamperingStore::Get(key, partition, chunk);
    }
  };
  Use(std::make_shared<BusyStore>(store_, [](uint32_t, uint32_t, StoredChunk*) {}));
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 3, 2, 100));
  const Verification v = Look(Replica(1, 1), rows);
  EXPECT_EQ(v.finding, Finding::kUnknown) << FindingName(v.finding);
  EXPECT_NE(v.why.find("Too many open files"), std::string::npos) << v.why;
}

// X8: the chunk was digested after its memory had been damaged, so that it is as it was stored.
TEST_F(VerifyTest, WhatMemoryDamagedBeforeItWasStoredHasOtherContent) {
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 5, 2, 100));
  Use(std::make_shared<TamperingStore>(store_, [](uint32_t partition, uint32_t chunk, StoredChunk* stored) {
    if (partition == 3 && chunk == 1) FlipValueBit(stored);
  }));
  const Verification v = Look(Replica(1, 1), rows);
  EXPECT_EQ(v.finding, Finding::kOtherContent) << FindingName(v.finding);
  EXPECT_NE(v.why.find("partition 3, chunk 1"), std::string::npos) << v.why;
  // The table, too: another one than the committed.
  auto other = rows;
  ++other[0].records;
  Use(store_);
  EXPECT_EQ(Look(Replica(1, 1), other).finding, Finding::kOtherContent);
}

TEST_F(VerifyTest, WhatIsNotHereOrGoesMeanwhileIsGone) {
  Use(store_);
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 3, 2, 100));
  EXPECT_EQ(Look(Replica(1, 2), rows).finding, Finding::kGone);
  Use(std::make_shared<TamperingStore>(store_, [this](uint32_t partition, uint32_t, StoredChunk*) {
    if (partition == 1) store_->Drop(Replica(1, 1));
  }));
  EXPECT_EQ(Look(Replica(1, 1), rows).finding, Finding::kGone);
}

// The pool has no memory for it, or stops.
TEST_F(VerifyTest, ALookThatThePoolDropsIsUnknownAndTheNextOnesAreAnswered) {
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 3, 2, 100));
  std::atomic<int> dropped{0};
  const PostToPool post = [&, real = threads_.poster()](std::function<void()> task) {
    if (dropped.fetch_add(1) >= 2) real(std::move(task));
  };
  loop_.Run([&] { verifier_ = std::make_unique<Verifier>(loop_, store_, post, kSelf); });
  EXPECT_EQ(Look(Replica(1, 1), rows).finding, Finding::kUnknown);
  EXPECT_EQ(Look(Replica(1, 1), rows).finding, Finding::kUnknown);
  EXPECT_EQ(Look(Replica(1, 1), rows).finding, Finding::kWhole);
}

TEST_F(VerifyTest, WhoMeansAnEarlierLifeOfTheWorkerHearsThatTheOutputIsGone) {
  class Service final : public rpc::DataServer::Server {
   public:
    explicit Service(Verifier& verifier) : verifier_(verifier) {}
    kj::Promise<void> verify(VerifyContext context) override { return verifier_.Answer(context); }

   private:
    Verifier& verifier_;
  };
  Use(store_);
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 3, 2, 100));
  const auto ask = [&](Incarnation incarnation, const Digest128& content) {
    std::promise<Finding> got;
    loop_.Post([&] {
      rpc::DataServer::Client server = kj::heap<Service>(*verifier_);
      auto request = server.verifyRequest();
      auto replica = request.initReplica();
      rpc::ToWire(Replica(1, 1).task, replica.initTask());
      replica.setAttempt(Replica(1, 1).attempt);
      replica.initWorker().setIncarnation(incarnation);
      rpc::ToWire(content, request.initContent());
      request.setPartitions(3);
      loop_.Spawn(
          request.send().then([&](auto&& response) { got.set_value(static_cast<Finding>(response.getFinding())); }));
    });
    return got.get_future().get();
  };
  EXPECT_EQ(ask(kSelf, TableDigest(rows)), Finding::kWhole);
  EXPECT_EQ(ask(kSelf - 1, TableDigest(rows)), Finding::kGone);
  EXPECT_EQ(ask(kSelf, Digest128{}), Finding::kOtherContent);
}

TEST_F(VerifyTest, MoreThanMayWaitAreToldSoAndTheOthersAreAnsweredInTurn) {
  const auto rows = StoreOutput(*store_, Replica(1, 1), MakeOutput(1, 3, 2, 100));
  Use(store_, {.slice_bytes = 1, .queue = 3});
  std::map<Finding, int> found;  // of the loop
  std::promise<void> all;
  loop_.Post([&] {
    for (int i = 0; i < 10; ++i) {
      loop_.Spawn(verifier_->Check(Replica(1, 1), TableDigest(rows), 3).then([&](Verification v) {
        ++found[v.finding];
        if (found[Finding::kWhole] + found[Finding::kUnknown] == 10) all.set_value();
      }));
    }
  });
  all.get_future().get();
  loop_.Run([&] {  // behind the last of them, which may not have returned yet
    EXPECT_EQ(found[Finding::kWhole], 4);
    EXPECT_EQ(found[Finding::kUnknown], 6);
  });
}

}  // namespace
}  // namespace mr::worker
