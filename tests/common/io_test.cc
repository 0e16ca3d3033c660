#include <gtest/gtest.h>

#include <thread>

#include "common/io/codec.h"
#include "common/io/crc32c.h"
#include "common/io/files.h"

namespace mr {
namespace {

TEST(Crc32cTest, MatchesThePublishedCheckValue) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c("56789", Crc32c("1234")), 0xe3069283u);
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

TEST(FilesTest, ADurableWriteIsWholeAndReadsBack) {
  const std::string dir = testing::TempDir() + "files_test";
  ASSERT_TRUE(RemoveTree(dir).ok());
  ASSERT_TRUE(MakeDirectories(dir).ok());
  ASSERT_TRUE(WriteFileDurably(dir + "/a", "hello").ok());
  EXPECT_EQ(*ReadFile(dir + "/a"), "hello");
  EXPECT_EQ(ListDirectory(dir)->size(), 1u);
  EXPECT_EQ(ReadFile(dir + "/b").status().code(), Code::kNotFound);
}

TEST(FilesTest, TwoMayRemoveOneTree) {
  const std::string dir = testing::TempDir() + "/remove_tree";
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
  const std::string path = testing::TempDir() + "lock_test";
  auto first = LockFile(path);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(LockFile(path).status().code(), Code::kRejected);
}

}  // namespace
}  // namespace mr
