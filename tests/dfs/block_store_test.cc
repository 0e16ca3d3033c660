// Replicas on a real disk: what survives, what is found damaged, what is deleted.
#include "dfs/block/block_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "dfs/block/block_store_impl.h"

namespace mr::dfs {
namespace {

namespace fs = std::filesystem;

class BlockStoreTest : public ::testing::Test {
 protected:
  BlockStoreTest() {
    std::string name = (fs::temp_directory_path() / "block_store_XXXXXX").string();
    MR_CHECK(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    Reopen();
    Rng rng(7);
    bytes_.resize(300'001);
    for (auto& c : bytes_) c = static_cast<char>(rng.Next());
  }
  ~BlockStoreTest() override { fs::remove_all(directory_); }

  void Reopen() {
    store_.reset();
    auto opened = BlockStore::Open(directory_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    store_ = *std::move(opened);
  }
  BlockRef Write(uint64_t id, uint32_t generation = 1) {
    auto writer = store_->Create({id}, generation);
    EXPECT_TRUE(writer.ok());
    for (size_t at = 0; at < bytes_.size(); at += 100'000) {
      EXPECT_TRUE((*writer)->Append(std::string_view(bytes_).substr(at, 100'000)).ok());
    }
    const auto ref = (*writer)->Finish(bytes_.size(), Hash64(bytes_));
    EXPECT_TRUE(ref.ok()) << ref.status().ToString();
    return *ref;
  }
  fs::path Find(const std::string& extension) {
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      if (entry.path().extension() == extension) return entry.path();
    }
    return {};
  }
  std::string BytesOf(uint64_t id) const {
    char text[64];
    std::snprintf(text, sizeof text, "/blocks/%02x/%016llx_1.blk", static_cast<unsigned>(id & 0xff),
                  static_cast<unsigned long long>(id));
    return directory_ + text;
  }
  void Flip(const fs::path& path, off_t at) {
    const int fd = ::open(path.c_str(), O_RDWR);
    char c = 0;
    ASSERT_EQ(::pread(fd, &c, 1, at), 1);
    c = static_cast<char>(c ^ 4);
    ASSERT_EQ(::pwrite(fd, &c, 1, at), 1);
    ::close(fd);
  }
  size_t Files() {
    size_t n = 0;
    for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
      n += entry.is_regular_file() && entry.path().filename() != "scrub_cursor" ? 1 : 0;
    }
    return n;
  }

  std::string directory_;
  std::unique_ptr<BlockStore> store_;
  std::string bytes_;
};

TEST(BlockGroupTest, SyncsAreSharedWhereTheMachineHasLittleToWrite) {
  const auto meminfo = [](const std::string& dirty, const std::string& writeback) -> Result<std::string> {
    return "MemTotal:  1000000 kB\nDirty:  " + dirty + " kB\nWriteback:  " + writeback +
           " kB\nWritebackTmp: 9999999 kB\n";
  };
  EXPECT_TRUE(SharedSyncsAreCheap(meminfo("0", "0")));
  EXPECT_TRUE(SharedSyncsAreCheap(meminfo("100000", "31072")));
  EXPECT_FALSE(SharedSyncsAreCheap(meminfo("100000", "31073"))) << "what is being written counts, too";
  EXPECT_FALSE(SharedSyncsAreCheap(Result<std::string>(std::string("Dirty: 0 kB")))) << "no field is no answer";
  EXPECT_FALSE(SharedSyncsAreCheap(meminfo("?", "0")));
  EXPECT_FALSE(SharedSyncsAreCheap(Result<std::string>(NotFound("no /proc"))));
}

TEST_F(BlockStoreTest, BlocksOfAGroupAreStoredAsOthersAreAndEachIsRefusedOnItsOwn) {
  using When = BlockStore::WhenToShareSyncs;
  uint64_t first = 0;
  for (const When when : {When::kNever, When::kIfCheap, When::kAlways}) {
    first += 1000;
    store_->ShareSyncs(when);
    const BlockRef there = Write(first + 9);
    std::vector<std::string> contents;
    for (size_t i = 0; i < 8; ++i) contents.push_back(bytes_.substr(i * 1000, 500 + i * 20'000));
    std::vector<WholeBlock> blocks;
    for (size_t i = 0; i < contents.size(); ++i) {
      blocks.push_back({{{first + 8 - i}, 1, contents[i].size(), Hash64(contents[i])}, contents[i]});
    }
    blocks.push_back(blocks[0]);                           // again
    blocks.push_back({there, bytes_});                     // is there
    blocks.push_back({blocks[1].block, blocks[2].bytes});  // other bytes than were sent
    blocks.push_back({blocks[2].block, blocks[2].bytes});  // other content for a block that is there
    blocks.back().block.id = there.id;
    blocks.push_back({{{}, 1, 3, Hash64("abc")}, "abc"});
    const std::vector<Status> written = store_->WriteGroup(blocks);
    ASSERT_EQ(written.size(), blocks.size());
    for (size_t i = 0; i < 10; ++i) EXPECT_TRUE(written[i].ok()) << i << ": " << written[i].ToString();
    EXPECT_EQ(written[10].code(), Code::kCorrupted) << written[10].ToString();
    EXPECT_EQ(written[11].code(), Code::kRejected) << written[11].ToString();
    EXPECT_EQ(written[12].code(), Code::kInvalidArgument) << written[12].ToString();
    EXPECT_TRUE(store_->WriteGroup({}).empty());
    const auto check = [&] {
      for (size_t i = 0; i < contents.size(); ++i) {
        EXPECT_EQ(store_->Read(blocks[i].block.id, 1, 0, 1 << 20).value(), contents[i]);
      }
      EXPECT_TRUE(store_->Verify(there.id, 1).ok());
    };
    check();
    const auto listed = store_->List();
    const uint64_t used = store_->used_bytes();
    Reopen();
    EXPECT_EQ(store_->List(), listed);
    EXPECT_EQ(store_->used_bytes(), used);
    check();
    EXPECT_TRUE(fs::is_empty(directory_ + "/blocks/tmp"));
  }
}

TEST_F(BlockStoreTest, TwoGroupsWithTheSameBlocksStoreThemOnce) {
  store_->ShareSyncs(BlockStore::WhenToShareSyncs::kAlways);
  std::vector<WholeBlock> blocks;
  for (uint64_t id = 1; id <= 40; ++id) blocks.push_back({{{id}, 1, 3, Hash64("abc")}, "abc"});
  std::vector<WholeBlock> reversed(blocks.rbegin(), blocks.rend());
  std::vector<std::thread> writers;
  for (const auto* group : {&blocks, &reversed}) {
    writers.emplace_back([this, group] {
      for (const Status& status : store_->WriteGroup(*group)) EXPECT_TRUE(status.ok()) << status.ToString();
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(store_->List().size(), 40u);
  EXPECT_EQ(store_->used_bytes(), 120u);
}

TEST_F(BlockStoreTest, AWrittenBlockIsReadAndSurvivesARestart) {
  const BlockRef ref = Write(5);
  Reopen();
  EXPECT_EQ(store_->List(), std::vector<BlockRef>{ref});
  EXPECT_EQ(store_->used_bytes(), bytes_.size());
  EXPECT_TRUE(store_->Read({5}, 1, 0, 1 << 20).value() == bytes_);
  EXPECT_TRUE(store_->Read({5}, 1, 65'530, 20).value() == bytes_.substr(65'530, 20));
  EXPECT_TRUE(store_->Read({5}, 1, bytes_.size() - 3, 100).value() == bytes_.substr(bytes_.size() - 3));
  EXPECT_EQ(store_->Read({5}, 1, bytes_.size(), 100).value(), "");
  EXPECT_EQ(store_->Read({6}, 1, 0, 1).status().code(), Code::kNotFound);
  EXPECT_EQ(store_->Read({5}, 2, 0, 1).status().code(), Code::kNotFound);
}

TEST_F(BlockStoreTest, AnUnfinishedWriteLeavesNothing) {
  {
    auto writer = store_->Create({5}, 1);
    ASSERT_TRUE((*writer)->Append("half").ok());
    EXPECT_TRUE(store_->List().empty());
  }
  EXPECT_EQ(Files(), 0u);
  // A crash in the middle leaves the temporary file, which the next start removes.
  auto writer = store_->Create({6}, 1);
  ASSERT_TRUE((*writer)->Append("half").ok());
  EXPECT_EQ(Files(), 1u);
  auto next = BlockStore::Open(directory_);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(Files(), 0u);
  EXPECT_TRUE((*next)->List().empty());
}

TEST_F(BlockStoreTest, BytesThatAreNotWhatWasSentAreRefused) {
  for (const bool length : {false, true}) {
    auto writer = store_->Create({5}, 1);
    ASSERT_TRUE((*writer)->Append("data").ok());
    const auto ref = (*writer)->Finish(length ? 5 : 4, length ? Hash64("data") : Hash64("date"));
    EXPECT_EQ(ref.status().code(), Code::kCorrupted);
  }
  EXPECT_TRUE(store_->List().empty());
  EXPECT_EQ(Files(), 0u);
}

TEST_F(BlockStoreTest, AFlippedBitIsFoundQuarantinedAndKept) {
  const BlockRef ref = Write(5);
  Flip(Find(".blk"), 200'000);
  // Elsewhere in the block reads are still good.
  EXPECT_TRUE(store_->Read({5}, 1, 0, 1000).ok());
  EXPECT_EQ(store_->Read({5}, 1, 199'000, 2000).status().code(), Code::kCorrupted);
  EXPECT_EQ(store_->Read({5}, 1, 0, 1000).status().code(), Code::kCorrupted);
  EXPECT_TRUE(store_->List().empty());
  ASSERT_EQ(store_->Suspects().size(), 1u);
  EXPECT_EQ(store_->Suspects()[0].block, ref);
  EXPECT_TRUE(fs::exists(Find(".blk")));
  Reopen();
  EXPECT_TRUE(store_->List().empty());
  EXPECT_EQ(store_->Suspects().size(), 1u);
}

TEST_F(BlockStoreTest, DamagedFilesAreSuspectAtStart) {
  Write(5);
  fs::resize_file(Find(".blk"), 1000);
  Reopen();
  EXPECT_EQ(store_->Suspects().size(), 1u);
  ASSERT_TRUE(store_->Delete({5}, 1).ok());
  Write(6);
  fs::remove(Find(".sum"));
  Reopen();
  EXPECT_EQ(store_->Suspects().size(), 1u);
  EXPECT_EQ(store_->Read({6}, 1, 0, 1).status().code(), Code::kCorrupted);
  ASSERT_TRUE(store_->Delete({6}, 1).ok());
  Write(7);
  Flip(Find(".sum"), 40);
  Reopen();
  EXPECT_EQ(store_->Suspects().size(), 1u);
  EXPECT_TRUE(store_->List().empty());
}

TEST_F(BlockStoreTest, AFreshReplicaReplacesASuspectOne) {
  const BlockRef ref = Write(5);
  Flip(Find(".blk"), 10);
  EXPECT_EQ(store_->Verify({5}, 1).code(), Code::kCorrupted);
  Write(5);
  EXPECT_TRUE(store_->Verify({5}, 1).ok());
  EXPECT_EQ(store_->List(), std::vector<BlockRef>{ref});
  EXPECT_EQ(store_->used_bytes(), bytes_.size()) << "what lies in quarantine is not counted";
  Reopen();
  EXPECT_EQ(store_->used_bytes(), bytes_.size());
  ASSERT_EQ(store_->Suspects().size(), 1u);
  EXPECT_TRUE(store_->Suspects()[0].aside);
  EXPECT_TRUE(store_->Verify({5}, 1).ok());
}

TEST_F(BlockStoreTest, AGoodBlockIsNotReplacedByOtherContent) {
  Write(5);
  Write(5);  // the same again: fine
  auto writer = store_->Create({5}, 1);
  ASSERT_TRUE((*writer)->Append("other").ok());
  EXPECT_EQ((*writer)->Finish(5, Hash64("other")).status().code(), Code::kRejected);
  EXPECT_TRUE(store_->Verify({5}, 1).ok());
}

TEST_F(BlockStoreTest, DeleteNeedsTheVeryGeneration) {
  Write(5, 2);
  EXPECT_EQ(store_->Delete({5}, 1).code(), Code::kRejected);
  EXPECT_EQ(store_->List().size(), 1u);
  EXPECT_TRUE(store_->Delete({99}, 1).ok());
  EXPECT_TRUE(store_->Delete({5}, 2).ok());
  EXPECT_TRUE(store_->Delete({5}, 2).ok());
  EXPECT_EQ(Files(), 0u);
  EXPECT_EQ(store_->used_bytes(), 0u);
}

TEST_F(BlockStoreTest, ADescriptorOutlivesADelete) {
  Write(5);
  auto local = store_->OpenForRead({5}, 1);
  ASSERT_TRUE(local.ok());
  EXPECT_EQ(local->length, bytes_.size());
  ASSERT_TRUE(store_->Delete({5}, 1).ok());
  std::string read(bytes_.size(), '\0');
  EXPECT_EQ(PreadUpTo(local->fd.get(), read.data(), read.size(), 0).value(), bytes_.size());
  EXPECT_TRUE(read == bytes_);
}

TEST_F(BlockStoreTest, OpenForReadChecksTheRangeThatWillBeRead) {
  Write(5);
  Flip(Find(".blk"), 250'000);
  EXPECT_TRUE(store_->OpenForRead({5}, 1, true, 0, 100'000).ok());
  EXPECT_EQ(store_->OpenForRead({5}, 1, true, 200'000, 100'000).status().code(), Code::kCorrupted);
}

// It is read in steps of 1 MiB.
TEST_F(BlockStoreTest, DamageFarInALargeBlockIsFoundWhenAllOfItIsChecked) {
  bytes_.resize(5 << 19, 'x');
  for (const uint64_t id : {5, 6}) {
    Write(id);
    Flip(BytesOf(id), 2'200'000);
  }
  EXPECT_TRUE(store_->OpenForRead({5}, 1, true, 1000, 2'000'000).ok());
  EXPECT_EQ(store_->OpenForRead({5}, 1, true, 1000, 2'400'000).status().code(), Code::kCorrupted);
  EXPECT_EQ(store_->Verify({6}, 1).code(), Code::kCorrupted);
}

TEST_F(BlockStoreTest, TheScrubberComesRoundToEveryBlock) {
  for (uint64_t id = 1; id <= 5; ++id) Write(id);
  uint64_t bytes = 0;
  int steps = 0;
  for (bool wrapped = false; !wrapped && steps < 1000; ++steps) {
    const auto result = store_->Scrub(100'000);
    EXPECT_TRUE(result.found.empty());
    bytes += result.bytes;
    wrapped = result.wrapped;
  }
  EXPECT_EQ(bytes, 5 * bytes_.size());
  Flip(Find(".blk"), 299'999);
  std::vector<Suspect> found;
  for (bool wrapped = false; !wrapped && steps < 2000; ++steps) {
    const auto result = store_->Scrub(100'000);
    found.insert(found.end(), result.found.begin(), result.found.end());
    wrapped = result.wrapped;
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(store_->List().size(), 4u);
}

TEST_F(BlockStoreTest, TheScrubberGoesOnWhereItWasAfterARestart) {
  for (uint64_t id = 1; id <= 5; ++id) Write(id);
  uint64_t bytes = 0;
  while (bytes < 3 * bytes_.size()) bytes += store_->Scrub(100'000).bytes;
  Reopen();
  for (bool wrapped = false; !wrapped;) {
    const auto result = store_->Scrub(100'000);
    bytes += result.bytes;
    wrapped = result.wrapped;
  }
  EXPECT_GE(bytes, 5 * bytes_.size());
  EXPECT_LT(bytes, 5 * bytes_.size() + kChecksumChunk) << "each block once, from the begin of the chunk where it was";
}

TEST_F(BlockStoreTest, ADamagedCursorBeginsAnew) {
  Write(1);
  ASSERT_TRUE(WriteFileDurably(directory_ + "/blocks/scrub_cursor", "\x01garbage").ok());
  Reopen();
  EXPECT_EQ(store_->Scrub(1 << 20).bytes, bytes_.size());
}

TEST_F(BlockStoreTest, WhoeverFindsDamageTheObserverHearsOfIt) {
  std::vector<std::string> heard;
  const auto observe = [&] {
    BlockStore::Observers observers;
    observers.on_suspect = [&](const Suspect& s) {
      heard.push_back((s.aside ? "aside " : "bad ") + std::to_string(s.block.id.value));
    };
    store_->Observe(observers);
  };
  for (uint64_t id = 1; id <= 4; ++id) {
    Write(id);
    Flip(BytesOf(id), 200'000);
  }
  observe();
  EXPECT_FALSE(store_->Read({1}, 1, 190'000, 20'000).ok());
  EXPECT_FALSE(store_->OpenForRead({2}, 1).ok());
  store_->MarkSuspect({3}, 1, "its reader found it");
  EXPECT_EQ(heard, (std::vector<std::string>{"bad 1", "bad 2", "bad 3"}));
  EXPECT_FALSE(store_->Read({1}, 1, 0, 10).ok());
  EXPECT_EQ(heard.size(), 3u) << "once, by readers";
  // The scrubber finds the fourth, and says the others again: the master may not have heard.
  heard.clear();
  while (!store_->Scrub(1 << 20).wrapped) {
  }
  EXPECT_EQ(heard, (std::vector<std::string>{"bad 1", "bad 2", "bad 3", "bad 4"}));
  heard.clear();
  Write(1);
  EXPECT_EQ(heard, std::vector<std::string>{"aside 1"});
}

TEST_F(BlockStoreTest, AMarkSurvivesARestartThoughTheBytesAreGood) {
  Write(5);
  store_->MarkSuspect({5}, 1, "its reader found it");
  Reopen();
  EXPECT_TRUE(store_->List().empty());
  EXPECT_EQ(store_->Read({5}, 1, 0, 10).status().code(), Code::kCorrupted);
  // Also where the mark itself is damaged.
  fs::resize_file(Find(".bad"), 0);
  Reopen();
  EXPECT_TRUE(store_->List().empty());
  while (!store_->Scrub(1 << 20).wrapped) {
  }
  EXPECT_TRUE(store_->List().empty()) << "damage that a reader saw is not taken back";
}

TEST_F(BlockStoreTest, QuarantineIsListedUntilItIsEmptied) {
  Write(5);
  Flip(Find(".blk"), 10);
  EXPECT_FALSE(store_->Verify({5}, 1).ok());
  Write(5);
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(store_->Suspects().size(), 1u);
    EXPECT_TRUE(store_->Suspects()[0].aside);
    EXPECT_EQ(store_->Suspects()[0].block.id.value, 5u);
    EXPECT_EQ(store_->List().size(), 1u);
    Reopen();
  }
  ASSERT_TRUE(store_->EmptyQuarantine({5}, 1).ok());
  EXPECT_TRUE(store_->Suspects().empty());
  EXPECT_TRUE(fs::is_empty(directory_ + "/blocks/quarantine"));
  EXPECT_TRUE(store_->Verify({5}, 1).ok());
  EXPECT_TRUE(store_->EmptyQuarantine({5}, 1).ok());
}

TEST_F(BlockStoreTest, ADeletedBlockLeavesNothingInQuarantine) {
  for (const bool restart : {false, true}) {
    const BlockRef ref = Write(1);
    store_->MarkSuspect(ref.id, ref.generation, "damaged");
    Write(1);
    if (restart) Reopen();
    ASSERT_EQ(store_->Suspects().size(), 1u) << "its bad bytes";
    ASSERT_TRUE(store_->Delete(ref.id, ref.generation).ok());
    EXPECT_TRUE(store_->Suspects().empty());
    EXPECT_EQ(Files(), 0u);
    Reopen();
    EXPECT_TRUE(store_->Suspects().empty());
    EXPECT_EQ(store_->used_bytes(), 0u);
  }
}

// Both blocks have the same bytes, so that no chunk differs and only the name in the sidecar does.
TEST_F(BlockStoreTest, ASidecarOfAnotherBlockIsNotReadByWhenEverItTookItsPlace) {
  const BlockRef a = Write(1), b = Write(0x101);
  Reopen();  // the next read opens the sidecar
  const auto sum = [this](uint64_t id) { return fs::path(BytesOf(id)).replace_extension(".sum"); };
  fs::copy_file(sum(0x101), sum(1), fs::copy_options::overwrite_existing);
  EXPECT_EQ(store_->Read(a.id, 1, 0, 100).status().code(), Code::kCorrupted);
  fs::copy_file(sum(1), sum(0x101), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(store_->Read(b.id, 1, 0, 100).ok());
  Reopen();
  ASSERT_EQ(store_->Suspects().size(), 1u);
  EXPECT_EQ(store_->Suspects()[0].block.id, a.id);
}

TEST_F(BlockStoreTest, ADamagedSidecarOnDiskIsFoundByTheScrubberBeforeTheNextStart) {
  Write(5);
  ASSERT_TRUE(store_->Read({5}, 1, 0, 10).ok());  // it is in memory
  Flip(Find(".sum"), 30);
  EXPECT_TRUE(store_->Read({5}, 1, 0, 10).ok());
  EXPECT_EQ(store_->Scrub(1 << 20).found.size(), 1u);
  EXPECT_TRUE(store_->List().empty());
}

// Bits flip in blocks and sidecars of a store that runs: no wrong byte is ever read, and each damaged byte of a block
// is found when it is read.
TEST_F(BlockStoreTest, EachFlippedBitIsFoundBeforeAWrongByteIsRead) {
  Rng rng(20);
  for (uint64_t id = 1; id <= 40; ++id) {
    Write(id);
    if (id % 3 == 0) Reopen();  // sidecars come from disk again
    const bool sidecar = rng.Below(4) == 0;
    const fs::path path = sidecar ? fs::path(BytesOf(id)).replace_extension(".sum") : fs::path(BytesOf(id));
    const auto at = static_cast<off_t>(rng.Below(fs::file_size(path)));
    Flip(path, at);
    if (rng.Below(3) == 0) Reopen();
    bool found = false;
    for (int i = 0; i < 12; ++i) {
      const uint64_t offset = rng.Below(bytes_.size());
      const uint64_t length = 1 + rng.Below(150'000);
      const auto read = store_->Read({id}, 1, offset, length);
      if (!read.ok()) {
        EXPECT_EQ(read.status().code(), Code::kCorrupted) << read.status().ToString();
        found = true;
        continue;
      }
      ASSERT_TRUE(*read == bytes_.substr(offset, length)) << "block " << id << ", damaged at " << at;
      const auto flipped = static_cast<uint64_t>(at);
      ASSERT_FALSE(!sidecar && offset <= flipped && flipped < offset + length) << "block " << id << " at " << at;
    }
    while (!store_->Scrub(8 << 20).wrapped) {
    }
    ASSERT_TRUE(store_->List().empty()) << "block " << id << (sidecar ? " sidecar" : " bytes") << " at " << at << found;
    ASSERT_TRUE(store_->Delete({id}, 1).ok());
  }
}

// A late deletion and a fresh write of one block: either takes effect as a whole, in memory and on disk.
TEST_F(BlockStoreTest, ADeletionAndAWriterOfOneBlockDoNotMix) {
  for (int round = 0; round < 20; ++round) {
    Write(5);
    store_->MarkSuspect({5}, 1, "a test");
    std::thread writer([this] { Write(5); });
    std::thread deleter([this] { EXPECT_TRUE(store_->Delete({5}, 1).ok()); });
    writer.join();
    deleter.join();
    const bool there = !store_->List().empty();
    ASSERT_TRUE(!there || store_->Verify({5}, 1).ok()) << "round " << round;
    Reopen();
    ASSERT_EQ(!store_->List().empty(), there) << "round " << round;
    for (const Suspect& s : store_->Suspects()) ASSERT_TRUE(s.aside) << s.why;
    ASSERT_TRUE(!there || store_->Verify({5}, 1).ok()) << "round " << round;
    ASSERT_TRUE(store_->Delete({5}, 1).ok());
    ASSERT_EQ(store_->used_bytes(), 0u);
    ASSERT_EQ(Files(), 0u) << "round " << round;
  }
}

TEST_F(BlockStoreTest, AnEmptyStoreScrubsAtOnce) { EXPECT_TRUE(store_->Scrub(1).wrapped); }

}  // namespace
}  // namespace mr::dfs
