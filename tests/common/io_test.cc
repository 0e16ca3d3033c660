#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "common/base/rng.h"
#include "common/io/bulk_digest.h"
#include "common/io/codec.h"
#include "common/io/crc32c.h"
#include "common/io/daemon_data.h"
#include "common/io/file_version.h"
#include "common/io/files.h"
#include "common/io/ledger.h"

namespace mr {
namespace {

TEST(Crc32cTest, MatchesThePublishedCheckValue) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c("56789", Crc32c("1234")), 0xe3069283u);
}

// The definition, one bit at a time.
uint32_t SlowCrc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) ? 0x82f63b78u ^ (crc >> 1) : crc >> 1;
  }
  return ~crc;
}

// ISA-L takes other paths for other lengths and alignments.
TEST(Crc32cTest, MatchesTheDefinitionAtEachLengthAndAlignment) {
  std::string bytes;
  for (uint32_t i = 0; i < 70'000; ++i) bytes.push_back(static_cast<char>(i * 131 + (i >> 8)));
  const std::string_view all = bytes;
  EXPECT_EQ(Crc32c(""), 0u);
  for (size_t length = 0; length < 600; ++length) {
    const std::string_view part = all.substr(length % 64, length);
    ASSERT_EQ(Crc32c(part), SlowCrc32c(part)) << length;
    ASSERT_EQ(Crc32c(part.substr(length / 3), Crc32c(part.substr(0, length / 3))), SlowCrc32c(part)) << length;
  }
  for (const size_t length : {4092u, 4096u, 65536u, 70'000u}) {
    EXPECT_EQ(Crc32c(all.substr(0, length)), SlowCrc32c(all.substr(0, length))) << length;
  }
}

TEST(CodecTest, ComesBackAndRefusesOtherLengths) {
  const std::string raw(10000, 'x');
  std::string stored, back;
  const Codec codec = Compress(raw, 1, &stored);
  EXPECT_EQ(codec, Codec::kZstd);
  ASSERT_TRUE(Decompress(codec, stored, raw.size(), 1 << 20, &back).ok());
  EXPECT_EQ(back, raw);
  EXPECT_EQ(Decompress(codec, stored, raw.size() + 1, 1 << 20, &back).code(), Code::kCorrupted);
  EXPECT_EQ(Decompress(codec, stored, raw.size(), 100, &back).code(), Code::kCorrupted);
  EXPECT_EQ(Decompress(static_cast<Codec>(9), stored, 1, 100, &back).code(), Code::kCorrupted);
}

// A path that other runs of this test do not use.
std::string OwnPath(const std::string& name) { return testing::TempDir() + name + "." + std::to_string(::getpid()); }

mode_t ModeOf(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(DaemonDataTest, IsMadeForItsUserAloneAndAnOlderOneIsClosed) {
  const std::string root = OwnPath("daemon_data");
  ASSERT_TRUE(MakeDirectories(root).ok());
  EXPECT_FALSE(MakePrivateData(root + "/new"));
  EXPECT_EQ(ModeOf(root + "/new"), 0700u);
  for (const char* of_daemon : {"journal", "worker_id", "credentials", ""}) {
    const std::string data = root + "/old" + of_daemon;
    ASSERT_TRUE(MakeDirectories(data).ok());
    if (*of_daemon != 0) {
      ASSERT_TRUE(WriteFileDurably(data + "/" + of_daemon, "x").ok());
    }
    ASSERT_EQ(::chmod(data.c_str(), 0755), 0);
    EXPECT_TRUE(MakePrivateData(data)) << of_daemon;
    EXPECT_EQ(ModeOf(data), 0700u) << of_daemon;
    EXPECT_FALSE(MakePrivateData(data)) << of_daemon;
    ASSERT_EQ(::chmod(data.c_str(), 0711), 0);
    EXPECT_FALSE(MakePrivateData(data)) << "users of tasks pass through it";
    EXPECT_EQ(ModeOf(data), 0711u);
  }
  ASSERT_TRUE(WriteFileDurably(root + "/letter", "x").ok());
  for (const mode_t mode : {0755, 01777}) {
    ASSERT_EQ(::chmod(root.c_str(), mode), 0);
    EXPECT_FALSE(MakePrivateData(root)) << "not the data of a daemon";
    EXPECT_EQ(ModeOf(root), mode);
  }
  EXPECT_TRUE(RemoveTree(root).ok());
}

TEST(FilesTest, ADurableWriteIsWholeAndReadsBack) {
  const std::string dir = OwnPath("files_test");
  ASSERT_TRUE(MakeDirectories(dir).ok());
  ASSERT_TRUE(WriteFileDurably(dir + "/a", "hello").ok());
  EXPECT_EQ(*ReadFile(dir + "/a"), "hello");
  EXPECT_EQ(ListDirectory(dir)->size(), 1u);
  EXPECT_EQ(ReadFile(dir + "/b").status().code(), Code::kNotFound);
  // The rest of a longer write that a crash interrupted.
  ASSERT_TRUE(WriteFileDurably(dir + "/long", "much longer than the other").ok());
  ASSERT_EQ(::rename((dir + "/long").c_str(), (dir + "/a.tmp").c_str()), 0);
  ASSERT_TRUE(WriteFileDurably(dir + "/a", "short").ok());
  EXPECT_EQ(*ReadFile(dir + "/a"), "short");
  EXPECT_TRUE(RemoveTree(dir).ok());
}

TEST(FilesTest, TwoMayRemoveOneTree) {
  const std::string dir = OwnPath("remove_tree");
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(MakeDirectories(dir + "/" + std::to_string(i) + "/below").ok());
  Status other;
  std::thread thread([&] { other = RemoveTree(dir); });
  const Status mine = RemoveTree(dir);
  thread.join();
  EXPECT_TRUE(mine.ok()) << mine.ToString();
  EXPECT_TRUE(other.ok()) << other.ToString();
  EXPECT_FALSE(PathExists(dir));
}

TEST(FilesTest, ALockIsHeldByOneDescriptor) {
  const std::string path = OwnPath("lock_test");
  auto first = LockFile(path);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(LockFile(path).status().code(), Code::kRejected);
  EXPECT_EQ(::unlink(path.c_str()), 0);
}

TEST(FileVersionTest, AnyOtherTimeOfModificationIsAChange) {
  const FileVersion planned{1000, 5'000'000'000, 7, 1};
  const auto with = [&](auto field, auto value) {
    FileVersion now = planned;
    now.*field = value;
    return Compare(planned, now, true).change;
  };
  EXPECT_EQ(Compare(planned, planned, true).change, FileChange::kNone);
  EXPECT_EQ(with(&FileVersion::mtime_ns, planned.mtime_ns + 1), FileChange::kChanged);
  EXPECT_EQ(with(&FileVersion::mtime_ns, planned.mtime_ns - 1), FileChange::kChanged) << "touch -d, cp -p, rsync -t";
  EXPECT_EQ(with(&FileVersion::inode, uint64_t{8}), FileChange::kChanged);
  EXPECT_EQ(with(&FileVersion::device, uint64_t{2}), FileChange::kChanged);
  EXPECT_EQ(with(&FileVersion::bytes, uint64_t{999}), FileChange::kChanged);
  EXPECT_EQ(with(&FileVersion::bytes, uint64_t{1001}), FileChange::kGrew);
  FileVersion elsewhere = planned;
  elsewhere.device = 2;
  EXPECT_EQ(Compare(planned, elsewhere, false).change, FileChange::kNone) << "numbers of devices differ between hosts";
}

TEST(CodecPolicyTest, CompressesWhereTheLinkIsSlowerThanTheCodec) {
  constexpr double kGigabit = 1e9 / 8;
  const auto level = [](CodecChoice choice, double link, uint64_t stored) {
    return CodecPolicy{choice, link}.Level(1000, stored);
  };
  EXPECT_EQ(level(CodecChoice::kAuto, kGigabit, 250), 1);
  EXPECT_EQ(level(CodecChoice::kAuto, kGigabit, 950), 0) << "the ratio is too small";
  EXPECT_EQ(level(CodecChoice::kAuto, 10 * kGigabit, 250), 0) << "the link is too fast";
  EXPECT_EQ(level(CodecChoice::kAuto, 10 * kGigabit / 16, 250), 1) << "but 16 slots share it";
  EXPECT_EQ(level(CodecChoice::kAuto, 0, 250), 1) << "nothing is known of the link";
  EXPECT_EQ(level(CodecChoice::kZstd, 10 * kGigabit, 250), 1);
  EXPECT_EQ(level(CodecChoice::kZstd, 10 * kGigabit, 800), -5);
  EXPECT_EQ(level(CodecChoice::kNone, kGigabit, 250), 0);
  EXPECT_FALSE((CodecPolicy{CodecChoice::kAuto, 10 * kGigabit}.MayCompress()));
  EXPECT_TRUE((CodecPolicy{CodecChoice::kAuto, kGigabit}.MayCompress()));
}

TEST(CodecPolicyTest, ChoicesHaveNames) {
  EXPECT_EQ(ParseCodecChoice("auto").value(), CodecChoice::kAuto);
  EXPECT_EQ(ParseCodecChoice("none").value(), CodecChoice::kNone);
  EXPECT_EQ(ParseCodecChoice("zstd").value(), CodecChoice::kZstd);
  EXPECT_EQ(ParseCodecChoice("lz4").status().code(), Code::kInvalidArgument);
}

TEST(BulkDigestTest, EqualsTheInlineDigestForEveryLengthAndEverySplit) {
  std::string bytes;
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) bytes.push_back(static_cast<char>(rng.Below(256)));
  for (size_t n = 0; n <= bytes.size(); n += n < 1100 ? 1 : 97) {
    const std::string_view part = std::string_view(bytes).substr(bytes.size() - n);
    ASSERT_EQ(BulkHash64(part), Hash64(part)) << n;
    BulkHasher64 running64;
    BulkHasher128 running128;
    for (std::string_view rest = part; !rest.empty();) {
      const std::string_view piece = rest.substr(0, 1 + rng.Below(700));
      running64.Update(piece);
      running128.Update(piece);
      rest.remove_prefix(piece.size());
    }
    ASSERT_EQ(running64.Finish(), Hash64(part)) << n;
    ASSERT_EQ(running128.Finish(), Hash128(part)) << n;
  }
}

TEST(LedgerTest, CountsOnlyWhileItIsOn) {
  Ledger::Clear();
  Ledger::Count(Ledger::merge, 5);
  EXPECT_EQ(Ledger::count(Ledger::merge), 0u);
  Ledger::Enable(true);
  Ledger::Count(Ledger::merge, 5);
  Ledger::Count(Ledger::merge, 2);
  Ledger::Enable(false);
  EXPECT_EQ(Ledger::count(Ledger::merge), 7u);
  EXPECT_STREQ(Ledger::Name(Ledger::merge), "merge");
}

}  // namespace
}  // namespace mr
