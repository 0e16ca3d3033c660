// Groups of small blocks that share their syncs, on a disk that loses power or fails.
#include <cerrno>
#include <thread>

#include "tests/dfs/block_power_fixture.h"

namespace mr::dfs {
namespace {

// Blocks that share their syncs, beside others that do not.
TEST_F(BlockPowerTest, GroupsThatWereAcknowledgedAreThereWhateverTheDiskKept) {
  PowerCut cut(root_);
  {
    auto store = Open(root_);
    store->ShareSyncs(BlockStore::WhenToShareSyncs::kAlways);
    std::vector<std::thread> writers;
    for (const uint64_t first : {1, 257}) {
      writers.emplace_back([&store, &cut, first] {
        for (uint64_t id = first; id < first + 6; id += 3) {
          const std::vector<uint64_t> ids = {id, id + 1, id + 2};
          for (const Status& status : WriteGroup(*store, ids)) ASSERT_TRUE(status.ok()) << status.ToString();
          for (const uint64_t written : ids) cut.Acknowledge(1000 * written + kWritten);
        }
      });
    }
    writers.emplace_back([&store, &cut] {
      for (const uint64_t id : {100, 101}) {
        ASSERT_TRUE(Write(*store, id).ok());
        cut.Acknowledge(1000 * id + kWritten);
      }
    });
    for (auto& writer : writers) writer.join();
    cut.Acknowledge(1000 * 2 + kLeaving);
    ASSERT_TRUE(store->Delete({2}, 1).ok());
    cut.Acknowledge(1000 * 2 + kDeleted);
    cut.Acknowledge(1000 * 3 + kLeaving);
    store->MarkSuspect({3}, 1, "a reader");
    cut.Acknowledge(1000 * 3 + kMarked);
    // A group with one that is there, one that takes the place of a damaged one, and a new one.
    cut.Acknowledge(1000 * 3 + kReplacing);
    for (const Status& status : WriteGroup(*store, {1, 3, 600})) ASSERT_TRUE(status.ok()) << status.ToString();
    cut.Acknowledge(1000 * 3 + kReplaced);
    cut.Acknowledge(1000 * 600 + kWritten);
  }
  CheckCuts(&cut);
}

// Everything is on disk before a block has its name, and the names are before the acknowledgement.
TEST_F(BlockPowerTest, AGroupIsSyncedBeforeItsNamesAndAfterThem) {
  auto store = Open(root_);
  store->ShareSyncs(BlockStore::WhenToShareSyncs::kAlways);
  std::vector<std::string> calls;
  const OnDiskCall hook([&](const DiskCall& c) {
    if (c.kind == DiskCall::kRename) calls.push_back("name " + c.to.substr(c.to.size() - 4));
    if (c.kind == DiskCall::kSyncAll) calls.push_back("sync all");
    if (c.kind == DiskCall::kSync && !c.path.ends_with("/blocks")) {
      calls.push_back(c.directory ? "sync folder" : "sync file");
    }
    if (c.kind == DiskCall::kWrite && (calls.empty() || calls.back() != "write")) calls.push_back("write");
    return 0;
  });
  for (const Status& status : WriteGroup(*store, {5, 4})) ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(calls, (std::vector<std::string>{"write", "sync all", "sync file", "name .sum", "name .blk", "name .sum",
                                             "name .blk", "sync all", "sync folder"}));
  EXPECT_EQ(store->List().size(), 2u);
}

TEST_F(BlockPowerTest, AGroupWhoseSyncFailsIsRefusedAndLeavesNothing) {
  for (const int failing : {1, 2}) {
    const std::string root = root_ + std::to_string(failing);
    ASSERT_TRUE(MakeDirectories(root).ok());
    auto store = Open(root);
    store->ShareSyncs(BlockStore::WhenToShareSyncs::kAlways);
    int syncs = 0;
    {
      const OnDiskCall hook(
          [&](const DiskCall& c) { return c.kind == DiskCall::kSyncAll && ++syncs == failing ? EIO : 0; });
      for (const Status& status : WriteGroup(*store, {1, 2, 3})) {
        EXPECT_EQ(status.code(), Code::kInternal) << status.ToString();
        EXPECT_NE(status.message().find("cannot sync the file system of " + root), std::string::npos)
            << status.message();
      }
    }
    EXPECT_EQ(syncs, failing);
    EXPECT_TRUE(store->List().empty());
    EXPECT_EQ(store->used_bytes(), 0u);
    EXPECT_TRUE(ListDirectory(root + "/blocks/tmp")->empty());
    // They are written once more.
    for (const Status& status : WriteGroup(*store, {1, 2, 3})) EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_EQ(store->List().size(), 3u);
  }
}

// syncfs of such a file system succeeds.
TEST_F(BlockPowerTest, AGroupOnAFileSystemThatBecameReadOnlyIsRefused) {
  for (const bool folder : {false, true}) {
    const std::string root = root_ + (folder ? "1" : "0");
    ASSERT_TRUE(MakeDirectories(root).ok());
    auto store = Open(root);
    store->ShareSyncs(BlockStore::WhenToShareSyncs::kAlways);
    {
      const OnDiskCall hook([&](const DiskCall& c) {
        return c.kind == DiskCall::kSync && c.directory == folder && !c.path.ends_with("/blocks") ? EROFS : 0;
      });
      for (const Status& status : WriteGroup(*store, {1, 2, 3})) EXPECT_FALSE(status.ok());
    }
    EXPECT_TRUE(store->List().empty());
    for (const Status& status : WriteGroup(*store, {1, 2, 3})) EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

TEST_F(BlockPowerTest, ABlockOfAGroupThatFindsTheDiskFullIsRefusedAlone) {
  auto store = Open(root_);
  store->ShareSyncs(BlockStore::WhenToShareSyncs::kAlways);
  std::vector<std::string> said;
  BlockStore::Observers observers;
  observers.on_disk = [&](const std::string& why) { said.push_back(why); };
  store->Observe(observers);
  std::vector<Status> written;
  {
    const OnDiskCall hook([](const DiskCall& c) {
      return c.kind == DiskCall::kWrite && c.path.find("0000000000000002_1") != std::string::npos ? ENOSPC : 0;
    });
    written = WriteGroup(*store, {1, 2, 3});
  }
  EXPECT_EQ(written[1].code(), Code::kOverloaded) << written[1].ToString();
  for (const uint64_t id : {1, 3}) {
    EXPECT_TRUE(written[id - 1].ok()) << written[id - 1].ToString();
    EXPECT_TRUE(store->Verify({id}, 1).ok());
  }
  EXPECT_EQ(store->List().size(), 2u);
  EXPECT_TRUE(ListDirectory(root_ + "/blocks/tmp")->empty());
  EXPECT_TRUE(said.empty()) << "a full disk is no failing one";
}

}  // namespace
}  // namespace mr::dfs
