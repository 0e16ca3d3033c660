// Profiles on disk: merged run by run, bounded, whole again after a restart, and no reason to fall over.
#include "master/host/profiles.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <sys/mount.h>

#include <atomic>
#include <fstream>
#include <functional>

#include "common/io/files.h"
#include "tests/support/cluster.h"

namespace mr::master {
namespace {

sched::RunProfile OfRun(float seconds, uint32_t tasks = 2, double bytes = 0) {
  sched::RunProfile run;
  sched::StageRuns map;
  map.name = "map";
  map.tasks = tasks;
  map.run.assign(tasks, seconds);
  map.wait.assign(tasks, 0);
  map.inputs = {sched::StageInput{}};
  map.input_bytes = bytes;
  run.stages = {map};
  return run;
}

class ProfileStoreTest : public testing::Test {
 protected:
  // A value of the database as it stands on disk; the store must be closed.
  void Put(const std::string& key, const std::string& value) {
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, path_, &raw).ok());
    const std::unique_ptr<rocksdb::DB> db(raw);
    ASSERT_TRUE(db->Put({}, key, value).ok());
  }

  test::TempDirectory directory_;
  const std::string path_ = directory_ / "profiles";
};

TEST_F(ProfileStoreTest, RunsOfOneNameAndShapeAreOneProfileAndOutliveARestart) {
  {
    ProfileStore store(path_);
    ASSERT_TRUE(store.Add("a", 1, {1, 1}, 100, OfRun(2)).ok());
    ASSERT_TRUE(store.Add("a", 1, {1, 2}, 200, OfRun(4)).ok());
    ASSERT_TRUE(store.Add("a", 2, {1, 3}, 300, OfRun(9)).ok());
    ASSERT_TRUE(store.Add("ab", 1, {1, 4}, 400, OfRun(9)).ok());
  }
  ProfileStore store(path_);
  const auto found = store.Find("a", 1);
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->profile.runs, 2u);
  EXPECT_EQ((*found)->profile.stages[0].run, (std::vector<float>{2, 2, 4, 4}));
  EXPECT_EQ((*found)->last, (JobId{1, 2}));
  const auto all = store.FindAll("a");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u) << "and not that of 'ab'";
  EXPECT_EQ((*all)[0].shape, 2u) << "the newest first";
  EXPECT_FALSE(store.Find("a", 3)->has_value());
  EXPECT_TRUE(store.FindAll("b")->empty());
}

TEST_F(ProfileStoreTest, TheOneUsedLongestAgoGoes) {
  {
    ProfileStore store(path_, 3);
    for (uint64_t shape = 1; shape <= 3; ++shape) ASSERT_TRUE(store.Add("a", shape, {1, 1}, shape, OfRun(1)).ok());
    ASSERT_TRUE(store.Find("a", 1)->has_value());
  }
  ProfileStore store(path_, 3);  // the order outlives a restart
  ASSERT_TRUE(store.Add("b", 1, {1, 1}, 4, OfRun(1)).ok());
  EXPECT_EQ(store.size(), 3u);
  EXPECT_TRUE(store.Find("a", 1)->has_value());
  EXPECT_FALSE(store.Find("a", 2)->has_value());
  EXPECT_TRUE(store.Find("a", 3)->has_value());
}

TEST_F(ProfileStoreTest, OneThatIsDamagedOrOfAnotherVersionIsDroppedAndBegunAnew) {
  const std::string whole = EncodeProfile({"a", 1, 100, {1, 1}, OfRun(2)});
  std::string flipped = whole, other = whole;
  flipped[whole.size() / 2] ^= 1;
  other[0] = 77;
  for (const std::string& value : {flipped, other, whole.substr(0, 5), whole.substr(0, whole.size() - 1)}) {
    EXPECT_FALSE(DecodeProfile(value).ok());
    {
      ProfileStore store(path_);
      ASSERT_TRUE(store.Add("a", 1, {1, 1}, 100, OfRun(2)).ok());
    }
    Put(std::string("pa") + std::string(8, '\0') + '\1', value);
    ProfileStore store(path_);
    const auto found = store.Find("a", 1);
    ASSERT_TRUE(found.ok());
    EXPECT_FALSE(found->has_value());
    EXPECT_EQ(store.size(), 0u);
    ASSERT_TRUE(store.Add("a", 1, {1, 2}, 200, OfRun(7)).ok());
    EXPECT_EQ((*store.Find("a", 1))->profile.stages[0].run[0], 7);
    EXPECT_EQ((*store.Find("a", 1))->profile.runs, 1u);
  }
}

TEST(ProfileTest, AStageReadsNoneButEarlierOnes) {
  sched::RunProfile run = OfRun(2);
  run.stages.resize(2, run.stages[0]);
  for (const uint32_t upstream : {0, 1, 2}) {
    run.stages[1].inputs = {{true, sched::EdgeKind::kAllToAll, upstream}};
    const auto read = DecodeProfile(EncodeProfile({"a", 1, 100, {1, 1}, run}));
    EXPECT_EQ(read.ok(), upstream == 0) << upstream;
  }
}

TEST_F(ProfileStoreTest, ADatabaseThatCannotBeOpenedIsPutAside) {
  {
    ProfileStore store(path_);
    ASSERT_TRUE(store.Add("a", 1, {1, 1}, 100, OfRun(2)).ok());
  }
  std::ofstream(path_ + "/CURRENT") << "nonsense\n";
  ProfileStore store(path_);
  const auto found = store.Find("a", 1);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_FALSE(found->has_value());
  EXPECT_TRUE(PathExists(path_ + ".damaged"));
  EXPECT_TRUE(store.Add("a", 1, {1, 1}, 100, OfRun(2)).ok());
}

// A file system of its own, of 48 MiB: a real "no space left on device". Needs the right to mount one.
class FullDiskTest : public ProfileStoreTest {
 protected:
  FullDiskTest() : small_(directory_ / "small") {
    EXPECT_TRUE(MakeDirectories(small_).ok());
    mounted_ = ::mount("profiles_test", small_.c_str(), "tmpfs", 0, "size=48m") == 0;
  }
  ~FullDiskTest() noexcept override {
    if (mounted_) ::umount2(small_.c_str(), MNT_DETACH);
  }
  void Fill() {
    std::ofstream filler(small_ + "/filler", std::ios::binary);
    const std::string page(4096, 'x');
    while (filler.write(page.data(), 4096).flush()) {
    }
  }
  void MakeRoom() { ASSERT_TRUE(RemoveTree(small_ + "/filler").ok()); }
  // A profile of about 80 KB.
  static sched::RunProfile Large() {
    sched::RunProfile run = OfRun(1, 512);
    run.stages.resize(20, run.stages[0]);
    return run;
  }

  const std::string small_;
  bool mounted_ = false;
};

TEST_F(FullDiskTest, WhatDoesNotFitIsSaidAndLaterRunsAreKeptOnceThereIsRoom) {
  if (!mounted_) GTEST_SKIP() << "no right to mount a small file system";
  const std::string path = small_ + "/profiles";
  uint64_t kept = 0;
  double rate = 0;
  Status full;
  {
    ProfileStore store(path);
    ASSERT_TRUE(store.Add("first", 1, {1, 1}, 1, OfRun(2, 5, 1000)).ok());
    Fill();
    // Until the database wants another file.
    for (; kept < 1000 && full.ok(); kept += full.ok()) full = store.Add("a", kept, {1, 1}, 1, Large());
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.code(), Code::kOverloaded) << full.ToString();
    EXPECT_NE(full.message().find("No space left on device"), std::string::npos) << full.ToString();
    EXPECT_EQ(store.Add("a", 2000, {1, 1}, 1, Large()).code(), Code::kOverloaded) << "said again";
    EXPECT_EQ(store.size(), kept + 1);
    const auto found = store.Find("first", 1);
    ASSERT_TRUE(found.ok()) << "what is there can be read: " << found.status().ToString();
    EXPECT_TRUE(found->has_value());
    MakeRoom();
    const Status again = store.Add("later", 1, {1, 2}, 2, OfRun(1, 10, 3000));
    EXPECT_TRUE(again.ok()) << again.ToString();
    rate = store.BytesPerSlotSecond();
    EXPECT_NEAR(rate, (1000. + 3000.) / (10. + 10.), 1e-6);
  }
  ProfileStore store(path);
  EXPECT_EQ(store.size(), kept + 2);
  EXPECT_EQ(store.BytesPerSlotSecond(), rate) << "what it knew before";
  for (uint64_t shape = 0; shape < kept; ++shape) EXPECT_TRUE(store.Find("a", shape)->has_value()) << shape;
  EXPECT_TRUE(store.Find("first", 1)->has_value());
  EXPECT_TRUE(store.Find("later", 1)->has_value());
}

TEST_F(FullDiskTest, ADatabaseForWhichThereIsNoRoomToOpenIsNotPutAside) {
  if (!mounted_) GTEST_SKIP() << "no right to mount a small file system";
  const std::string path = small_ + "/profiles";
  ASSERT_TRUE(ProfileStore(path).Add("a", 1, {1, 1}, 1, Large()).ok());
  Fill();
  ProfileStore store(path);
  const auto full = store.Find("a", 1);
  EXPECT_FALSE(full.ok());
  EXPECT_FALSE(PathExists(path + ".damaged"));
  MakeRoom();
  const auto found = store.Find("a", 1);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_TRUE(found->has_value());
}

TEST_F(ProfileStoreTest, KnowsWhatASlotReadsInASecond) {
  {
    ProfileStore store(path_);
    EXPECT_EQ(store.BytesPerSlotSecond(), 0);
    ASSERT_TRUE(store.Add("a", 1, {1, 1}, 1, OfRun(2, 5, 1000)).ok());
    EXPECT_NEAR(store.BytesPerSlotSecond(), 100, 1e-6);
    ASSERT_TRUE(store.Add("b", 1, {1, 2}, 2, OfRun(1, 10, 3000)).ok());
    EXPECT_NEAR(store.BytesPerSlotSecond(), 200, 1e-6);
    ASSERT_TRUE(store.Find("b", 1)->has_value());
  }
  ProfileStore store(path_);
  EXPECT_NEAR(store.BytesPerSlotSecond(), 200, 1e-6) << "also after a restart";
}

TEST_F(ProfileStoreTest, WhatIsForgottenSaysNothingOfWhatASlotReadsInASecond) {
  ProfileStore store(path_, 1);
  ASSERT_TRUE(store.Add("a", 1, {1, 1}, 1, OfRun(2, 5, 1000)).ok());
  ASSERT_TRUE(store.Add("b", 1, {1, 2}, 2, OfRun(1, 10, 3000)).ok());
  ASSERT_EQ(store.size(), 1u);
  EXPECT_NEAR(store.BytesPerSlotSecond(), 300, 1e-6);
}

// Runs a function before a file is opened whose name ends like this.
class WatchedEnv final : public rocksdb::EnvWrapper {
 public:
  WatchedEnv(std::string suffix, std::function<void()> before)
      : EnvWrapper(rocksdb::Env::Default()), suffix_(std::move(suffix)), before_(std::move(before)) {}
  const char* Name() const override { return "WatchedEnv"; }
  rocksdb::Status NewSequentialFile(const std::string& name, std::unique_ptr<rocksdb::SequentialFile>* file,
                                    const rocksdb::EnvOptions& options) override {
    Look(name);
    return EnvWrapper::NewSequentialFile(name, file, options);
  }
  rocksdb::Status NewRandomAccessFile(const std::string& name, std::unique_ptr<rocksdb::RandomAccessFile>* file,
                                      const rocksdb::EnvOptions& options) override {
    Look(name);
    return EnvWrapper::NewRandomAccessFile(name, file, options);
  }

 private:
  void Look(const std::string& name) {
    if (name.ends_with(suffix_)) before_();
  }
  const std::string suffix_;
  const std::function<void()> before_;
};

// A database of profiles that a master has open, with what CopyProfiles makes of it.
class CopyProfilesTest : public ProfileStoreTest {
 protected:
  void SetUp() override {
    for (uint64_t shape = 0; shape < 3; ++shape) {
      ASSERT_TRUE(ProfileStore(path_).Add("a", shape, {1, 1}, 100, OfRun(2)).ok());  // a file of its own each time
    }
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, path_, &raw).ok());
    live_.reset(raw);
    ASSERT_TRUE(live_->Put({}, "not", "in a table yet").ok());
  }
  // Writes all that is in the log to a table, and all tables to one. The files of before are deleted.
  void Compact() {
    EXPECT_TRUE(live_->Put({}, "compacted", std::to_string(++compactions_)).ok());
    EXPECT_TRUE(live_->Flush({}).ok());
    EXPECT_TRUE(live_->CompactRange({}, nullptr, nullptr).ok());
  }
  // Expects the copy to have what was there before it began.
  void ExpectWhole() {
    {
      rocksdb::DB* raw = nullptr;
      ASSERT_TRUE(rocksdb::DB::Open({}, copy_, &raw).ok());
      const std::unique_ptr<rocksdb::DB> db(raw);
      std::string value;
      EXPECT_TRUE(db->Get({}, "not", &value).ok());
    }
    ProfileStore store(copy_);
    for (uint64_t shape = 0; shape < 3; ++shape) EXPECT_TRUE(store.Find("a", shape)->has_value()) << shape;
  }

  const std::string copy_ = directory_ / "copy";
  std::unique_ptr<rocksdb::DB> live_;
  int compactions_ = 0;
};

TEST_F(CopyProfilesTest, ACompactionInBetweenMakesItBeginAgain) {
  // Tables, the list of them, and the log that became a table.
  for (const char* suffix : {".sst", "CURRENT", ".log"}) {
    ASSERT_TRUE(RemoveTree(copy_).ok());
    std::atomic<bool> done{false};
    WatchedEnv env(suffix, [&] {
      if (!done.exchange(true)) Compact();
    });
    const Status copied = CopyProfiles(path_, copy_, &env);
    EXPECT_TRUE(copied.ok()) << suffix << ": " << copied.ToString();
    EXPECT_TRUE(done) << suffix;
    ExpectWhole();
    ASSERT_TRUE(live_->Put({}, "not", std::string("in a table yet ") + suffix).ok());
  }
}

TEST_F(CopyProfilesTest, CompactionsWithoutEndMakeItFailWithoutHarm) {
  std::atomic<int> tries{0};
  WatchedEnv env("CURRENT", [&] {
    ++tries;
    Compact();
  });
  const Status copied = CopyProfiles(path_, copy_, &env);
  EXPECT_EQ(copied.code(), Code::kUnavailable) << copied.ToString();
  EXPECT_NE(copied.message().find("nothing is damaged: make the backup again"), std::string::npos);
  // RocksDB reads this file once or twice when it opens a database.
  EXPECT_GE(tries, 5);
  EXPECT_LE(tries, 10);
  EXPECT_TRUE(CopyProfiles(path_, copy_).ok());
  ExpectWhole();
}

TEST_F(CopyProfilesTest, ADamagedDatabaseIsNotTriedAgain) {
  live_ = nullptr;
  int tries = 0;
  WatchedEnv env("CURRENT", [&] { ++tries; });
  std::ofstream(path_ + "/CURRENT") << "nonsense\n";
  EXPECT_FALSE(CopyProfiles(path_, copy_, &env).ok());
  EXPECT_GE(tries, 1);
  EXPECT_LE(tries, 2);
}

}  // namespace
}  // namespace mr::master
