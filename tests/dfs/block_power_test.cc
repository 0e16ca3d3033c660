// The block store on a disk that loses power or fails: what it acknowledged is there again, nothing half-written is
// served, and a disk that fails is named and costs no replica.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "tests/dfs/block_power_fixture.h"
#include "tests/support/small_disk.h"

namespace {
// Reads of block files fail while it is set; sidecars are read by read(2).
std::atomic<bool> unreadable{false};
}  // namespace

extern "C" {
ssize_t pread(int fd, void* data, size_t size, off_t offset) {
  if (unreadable.load()) {
    errno = EIO;
    return -1;
  }
  return ::syscall(SYS_pread64, fd, data, size, offset);
}
ssize_t pread64(int fd, void* data, size_t size, off_t offset) { return pread(fd, data, size, offset); }
}

namespace mr::dfs {
namespace {

// Its reads may fail; after a test they work again.
class BlockDiskTest : public BlockPowerTest {
 protected:
  ~BlockDiskTest() override { unreadable = false; }
};

TEST_F(BlockPowerTest, WhatWasAcknowledgedIsThereWhateverTheDiskKept) {
  PowerCut cut(root_);
  {
    auto store = Open(root_);
    std::vector<std::thread> writers;
    // Two at a time, also into one folder: ids 1 and 257 have the same last byte.
    for (const uint64_t first : {1, 257}) {
      writers.emplace_back([&store, &cut, first] {
        for (uint64_t id = first; id < first + 6; ++id) {
          ASSERT_TRUE(Write(*store, id).ok());
          cut.Acknowledge(1000 * id + kWritten);
        }
      });
    }
    for (auto& writer : writers) writer.join();
    for (const uint64_t id : {2, 258}) {
      cut.Acknowledge(1000 * id + kLeaving);
      ASSERT_TRUE(store->Delete({id}, 1).ok());
      cut.Acknowledge(1000 * id + kDeleted);
    }
    for (const uint64_t id : {3, 259}) {
      cut.Acknowledge(1000 * id + kLeaving);
      store->MarkSuspect({id}, 1, "a reader");
      cut.Acknowledge(1000 * id + kMarked);
    }
    store.reset();
    {
      // The bytes are as bad as the mark says.
      const auto fd = OpenFile(root_ + "/blocks/03/0000000000000003_1.blk", O_WRONLY);
      ASSERT_TRUE(fd.ok() && PwriteAll(fd->get(), "rot", 100).ok());
      ASSERT_EQ(::fsync(fd->get()), 0);
    }
    store = Open(root_);
    cut.Acknowledge(1000 * 3 + kReplacing);
    ASSERT_TRUE(Write(*store, 3).ok());
    cut.Acknowledge(1000 * 3 + kReplaced);
    cut.Acknowledge(1000 * 259 + kLeaving);
    ASSERT_TRUE(store->Delete({259}, 1).ok());
    ASSERT_TRUE(store->EmptyQuarantine({3}, 1).ok());
    cut.Acknowledge(1000 * 259 + kDeleted);
    for (const uint64_t id : {2, 600}) {
      cut.Acknowledge(1000 * id + kReplacing);
      ASSERT_TRUE(Write(*store, id).ok());
      cut.Acknowledge(1000 * id + kReplaced);
    }
  }
  CheckCuts(&cut);
}

// The calls of one write in their order: the sidecar has its name before the bytes have theirs, and what is
// acknowledged is synced, the new folder's name included.
TEST_F(BlockPowerTest, TheSidecarIsNamedBeforeTheBytesAndTheDirectoriesAreSynced) {
  auto store = Open(root_);
  std::vector<std::string> calls;
  {
    const OnDiskCall hook([&](const DiskCall& c) {
      const std::string name = c.path.substr(c.path.rfind('/') + 1);
      if (c.kind == DiskCall::kRename) calls.push_back("name " + c.to.substr(c.to.size() - 4));
      if (c.kind == DiskCall::kSync && c.directory) calls.push_back("sync " + name);
      return 0;
    });
    ASSERT_TRUE(Write(*store, 0x2a).ok());
    EXPECT_EQ(calls, (std::vector<std::string>{"sync blocks", "name .sum", "name .blk", "sync 2a"}));
    calls.clear();
    ASSERT_TRUE(Write(*store, 0x12a).ok());
    EXPECT_EQ(calls, (std::vector<std::string>{"name .sum", "name .blk", "sync 2a"}));
  }
}

TEST_F(BlockPowerTest, ASmallFileIsSyncedBeforeItHasItsNameAndThenTheNameIs) {
  std::vector<std::string> calls;
  {
    const OnDiskCall hook([&](const DiskCall& c) {
      const auto name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
      if (c.kind == DiskCall::kRename) calls.push_back("name " + name(c.to));
      if (c.kind == DiskCall::kSync) calls.push_back("sync " + name(c.path));
      return 0;
    });
    ASSERT_TRUE(WriteFileDurably(root_ + "/small", "bytes").ok());
  }
  EXPECT_EQ(calls, (std::vector<std::string>{"sync small.tmp", "name small", "sync root"}));
}

TEST_F(BlockPowerTest, ASecondWriterIntoANewFolderWaitsForItsSync) {
  auto store = Open(root_);
  std::mutex mutex;
  std::condition_variable changed;
  bool syncing = false, go_on = false;
  std::atomic<bool> second_done{false};
  const OnDiskCall hook([&](const DiskCall& c) {
    if (c.kind != DiskCall::kSync || !c.directory || !c.path.ends_with("/blocks")) return 0;
    std::unique_lock lock(mutex);
    syncing = true;
    changed.notify_all();
    changed.wait(lock, [&] { return go_on; });
    return 0;
  });
  std::thread first([&] { EXPECT_TRUE(Write(*store, 0x2a).ok()); });
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return syncing; })) << "its name is not synced";
  }
  // The folder is there, and its name is not on disk.
  std::thread second([&] {
    EXPECT_TRUE(Write(*store, 0x12a).ok());
    second_done = true;
  });
  // It has come as far as it can when both of its temporary files are there.
  const auto ready = [&] {
    size_t n = 0;
    for (const auto& name : ListDirectory(root_ + "/blocks/tmp").value()) n += name.ends_with(".sum") ? 1 : 0;
    return n == 2;
  };
  while (!ready() && !second_done) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_FALSE(second_done);
  {
    std::lock_guard lock(mutex);
    go_on = true;
    changed.notify_all();
  }
  first.join();
  second.join();
  EXPECT_EQ(store->List().size(), 2u);
}

TEST_F(BlockPowerTest, ADiskThatTurnsReadOnlyIsNamedAndNothingIsDeleted) {
  auto store = Open(root_);
  ASSERT_TRUE(Write(*store, 1).ok());
  std::vector<std::string> said;
  BlockStore::Observers observers;
  observers.on_disk = [&](const std::string& why) { said.push_back(why); };
  store->Observe(observers);
  store->ProbeDisk();
  EXPECT_TRUE(said.empty());
  {
    const OnDiskCall hook([](const DiskCall& c) { return c.kind == DiskCall::kOpenAny ? 0 : EROFS; });
    EXPECT_FALSE(Write(*store, 2).ok());
    ASSERT_EQ(said.size(), 1u) << "by the write that failed";
    EXPECT_NE(said[0].find(root_), std::string::npos) << said[0];
    EXPECT_NE(said[0].find("Read-only file system"), std::string::npos) << said[0];
    EXPECT_EQ(store->DiskFailure(), said[0]);
    store->ProbeDisk();
    EXPECT_EQ(said.size(), 1u) << "once";
    EXPECT_TRUE(store->Verify({1}, 1).ok()) << "still read";
  }
  store->ProbeDisk();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[1], "");
  EXPECT_EQ(store->List().size(), 1u);
}

TEST_F(BlockPowerTest, AFullDiskIsNoFailingOne) {
  auto store = Open(root_);
  std::vector<std::string> said;
  BlockStore::Observers observers;
  observers.on_disk = [&](const std::string& why) { said.push_back(why); };
  store->Observe(observers);
  const OnDiskCall hook([](const DiskCall& c) { return c.kind == DiskCall::kWrite ? ENOSPC : 0; });
  EXPECT_EQ(Write(*store, 2).code(), Code::kOverloaded);
  store->ProbeDisk();
  EXPECT_TRUE(said.empty());
}

TEST_F(BlockPowerTest, ADiskBelowWhatIsKeptFreeTakesNoNewBlocksAndKeepsWhatItHas) {
  test::SmallDisk disk(root_ + "/small", "40m");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small file system";
  auto store = Open(disk.path());
  store->KeepFree(10 << 20);
  ASSERT_TRUE(Write(*store, 1).ok());
  ASSERT_TRUE(disk.Fill(9 << 20));
  const Status full = Write(*store, 2);
  EXPECT_EQ(full.code(), Code::kOverloaded) << full.ToString();
  for (const std::string& part : {disk.path(), std::string("of 40 MiB free"), std::string("--min_free")}) {
    EXPECT_NE(full.message().find(part), std::string::npos) << full.ToString();
  }
  EXPECT_EQ(store->DiskFailure(), "");
  EXPECT_TRUE(store->Verify({1}, 1).ok());
  disk.Free();
  EXPECT_TRUE(Write(*store, 2).ok());
  store.reset();
}

// D12
TEST_F(BlockPowerTest, TooManyOpenFilesAreNamedAndDamageNothing) {
  auto store = Open(root_);
  ASSERT_TRUE(Write(*store, 1).ok());
  size_t suspects = 0;
  BlockStore::Observers observers;
  observers.on_suspect = [&](const Suspect&) { ++suspects; };
  observers.on_disk = [&](const std::string&) { ++suspects; };
  store->Observe(observers);
  {
    const OnDiskCall hook([](const DiskCall& c) { return c.kind == DiskCall::kOpenAny ? EMFILE : 0; });
    const Status read = store->Read({1}, 1, 0, 100).status();
    EXPECT_EQ(read.code(), Code::kOverloaded) << read.ToString();
    EXPECT_NE(read.message().find("Too many open files"), std::string::npos) << read.ToString();
    store->Scrub(1 << 20);
  }
  {
    const OnDiskCall hook(
        [](const DiskCall& c) { return c.kind == DiskCall::kOpenAny && c.path.ends_with(".sum") ? EMFILE : 0; });
    const auto again = BlockStore::Open(root_);
    EXPECT_EQ(again.status().code(), Code::kOverloaded) << "a life that takes its block for damaged";
  }
  EXPECT_EQ(suspects, 0u);
  EXPECT_FALSE(PathExists(root_ + "/blocks/01/0000000000000001_1.bad"));
  for (const int error : {EMFILE, EDQUOT}) {
    const OnDiskCall hook([error](const DiskCall& c) { return c.kind == DiskCall::kOpen ? error : 0; });
    const Status write = Write(*store, 2);
    EXPECT_EQ(write.code(), Code::kOverloaded) << write.ToString();
    EXPECT_NE(write.message().find(std::strerror(error)), std::string::npos) << write.ToString();
  }
  EXPECT_EQ(suspects, 0u);
  EXPECT_TRUE(store->Verify({1}, 1).ok());
}

TEST_F(BlockDiskTest, AReplicaThatGivesAnIoErrorIsKeptAndIsGoodAgainWhenAllOfItReadsWell) {
  auto store = Open(root_);
  for (uint64_t id = 1; id <= 4; ++id) ASSERT_TRUE(Write(*store, id).ok());
  std::vector<uint64_t> bad, restored;
  std::vector<std::string> said;
  const auto observe = [&] {
    BlockStore::Observers observers;
    observers.on_suspect = [&](const Suspect& s) { bad.push_back(s.block.id.value); };
    observers.on_restored = [&](const BlockRef& r) { restored.push_back(r.id.value); };
    observers.on_disk = [&](const std::string& why) { said.push_back(why); };
    store->Observe(observers);
  };
  observe();
  unreadable = true;
  EXPECT_EQ(store->Read({1}, 1, 0, 100).status().code(), Code::kCorrupted);
  EXPECT_EQ(store->Read({2}, 1, 0, 100).status().code(), Code::kCorrupted);
  EXPECT_TRUE(said.empty()) << "two blocks are not a disk";
  EXPECT_EQ(store->Read({3}, 1, 0, 100).status().code(), Code::kCorrupted);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("3 blocks in " + root_), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("Input/output error"), std::string::npos) << said[0];
  EXPECT_EQ(bad, (std::vector<uint64_t>{1, 2, 3}));
  // A restart alone takes nothing back.
  store = Open(root_);
  observe();
  EXPECT_EQ(store->List().size(), 1u);
  unreadable = false;
  EXPECT_FALSE(store->Read({1}, 1, 0, 100).ok());
  // One of them rots meanwhile: that one stays bad.
  {
    const auto fd = OpenFile(root_ + "/blocks/02/0000000000000002_1.blk", O_WRONLY);
    ASSERT_TRUE(fd.ok() && PwriteAll(fd->get(), "rot", 50).ok());
  }
  while (!store->Scrub(1 << 20).wrapped) {
  }
  EXPECT_EQ(restored, (std::vector<uint64_t>{1, 3}));
  EXPECT_EQ(store->List().size(), 3u);
  EXPECT_FALSE(store->Read({2}, 1, 0, 100).ok());
  EXPECT_TRUE(store->Verify({1}, 1).ok());
  // And so it is in the next life.
  store = Open(root_);
  EXPECT_EQ(store->List().size(), 3u);
  EXPECT_FALSE(store->Read({2}, 1, 0, 100).ok());
}

// A reader or the scrubber has looked up a replica that is replaced before its file is opened.
TEST_F(BlockPowerTest, AFailureToReadAReplicaSaysNothingOfTheOneThatHasReplacedIt) {
  auto store = Open(root_);
  size_t suspects = 0;
  const std::vector<std::function<Code()>> looks = {[&] { return store->Read({1}, 1, 0, 100).status().code(); },
                                                    [&] { return store->OpenForRead({1}, 1).status().code(); },
                                                    [&] { return store->Verify({1}, 1).code(); },
                                                    [&] {
                                                      EXPECT_TRUE(store->Scrub(1 << 20).found.empty());
                                                      return Code::kUnavailable;
                                                    }};
  for (size_t i = 0; i < looks.size(); ++i) {
    store = Open(base_ + "/" + std::to_string(i));
    ASSERT_TRUE(Write(*store, 1).ok());
    std::thread::id reader = std::this_thread::get_id();
    bool replaced = false;
    const OnDiskCall hook([&](const DiskCall& c) {
      if (replaced || c.kind != DiskCall::kOpenAny || !c.path.ends_with("_1.blk")) return 0;
      replaced = true;
      EXPECT_EQ(std::this_thread::get_id(), reader);
      store->MarkSuspect({1}, 1, "damaged");
      EXPECT_TRUE(Write(*store, 1).ok());
      BlockStore::Observers observers;
      observers.on_suspect = [&](const Suspect&) { ++suspects; };
      store->Observe(observers);
      return EIO;
    });
    EXPECT_EQ(looks[i](), Code::kUnavailable) << "look " << i;
    EXPECT_TRUE(replaced);
    EXPECT_EQ(store->List().size(), 1u) << "look " << i;
    EXPECT_TRUE(store->Read({1}, 1, 0, 100).ok()) << "look " << i;
    EXPECT_FALSE(PathExists(base_ + "/" + std::to_string(i) + "/blocks/01/0000000000000001_1.bad")) << "look " << i;
  }
  EXPECT_EQ(suspects, 0u);
}

TEST_F(BlockPowerTest, ADiskThatFailsAtAnyStepOfAWriteIsNamedByIt) {
  const DiskCall::Kind kinds[] = {DiskCall::kOpen, DiskCall::kWrite, DiskCall::kSync};
  for (const DiskCall::Kind kind : kinds) {
    for (const std::string suffix : {"", ".sum"}) {
      const std::string root = base_ + "/" + std::to_string(kind) + suffix;
      auto store = Open(root);
      std::vector<std::string> said;
      BlockStore::Observers observers;
      observers.on_disk = [&](const std::string& why) { said.push_back(why); };
      store->Observe(observers);
      bool failing = false;  // from this step on
      const OnDiskCall hook([&](const DiskCall& c) {
        failing = failing || (c.kind == kind && c.path.ends_with(suffix));
        return failing && c.kind != DiskCall::kOpenAny ? EIO : 0;
      });
      EXPECT_FALSE(Write(*store, 1).ok()) << root;
      ASSERT_EQ(said.size(), 1u) << root;
      EXPECT_NE(said[0].find("Input/output error"), std::string::npos) << said[0];
      EXPECT_TRUE(store->List().empty());
    }
  }
}

// All of it is read in steps of 1 MiB.
TEST_F(BlockDiskTest, ALargeReplicaThatGaveAnIoErrorIsGoodAgainToo) {
  auto store = Open(root_);
  {
    Rng rng(3);
    std::string bytes((2 << 20) + 1000, '\0');
    for (char& c : bytes) c = static_cast<char>(rng.Next());
    auto writer = store->Create({1}, 1);
    ASSERT_TRUE(writer.ok() && (*writer)->Append(bytes).ok());
    ASSERT_TRUE((*writer)->Finish(bytes.size(), Hash64(bytes)).ok());
  }
  unreadable = true;
  EXPECT_EQ(store->Read({1}, 1, 0, 100).status().code(), Code::kCorrupted);
  unreadable = false;
  EXPECT_TRUE(store->List().empty());
  while (!store->Scrub(1 << 20).wrapped) {
  }
  EXPECT_EQ(store->List().size(), 1u);
  EXPECT_TRUE(store->Verify({1}, 1).ok());
}

}  // namespace
}  // namespace mr::dfs
