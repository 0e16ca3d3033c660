#include "worker/shuffle/recycled_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "common/io/files.h"
#include "tests/support/temp_directory.h"

namespace mr::worker {
namespace {

class RecycledFilesTest : public testing::Test {
 protected:
  std::string File(const std::string& name, size_t bytes) {
    const std::string path = directory_.path() + "/" + name;
    EXPECT_TRUE(WriteFileDurably(path, std::string(bytes, 'x')).ok());
    return path;
  }

  test::TempDirectory directory_;
};

TEST_F(RecycledFilesTest, KeepsLargeFilesUpToItsLimitAndGivesTheLastOneFirst) {
  RecycledFiles files(directory_.path() + "/kept", 5u << 20, 0);
  EXPECT_FALSE(files.Take().has_value());
  for (const auto& [name, bytes] :
       {std::pair{"small", 1000u}, {"a", 2u << 20}, {"b", 3u << 20}, {"surplus", 1u << 20}}) {
    const std::string path = File(name, bytes);
    files.Give(path);
    EXPECT_FALSE(PathExists(path)) << "it is kept elsewhere, or removed";
  }
  EXPECT_EQ(files.bytes(), 5u << 20);
  EXPECT_EQ(FileSize(*files.Take()).value(), 3u << 20);
  EXPECT_EQ(FileSize(*files.Take()).value(), 2u << 20);
  EXPECT_FALSE(files.Take().has_value());
  EXPECT_EQ(files.bytes(), 0u);
}

TEST_F(RecycledFilesTest, AFileWithAnotherNameIsNotKept) {
  RecycledFiles files(directory_.path() + "/kept", 5u << 20, 0);
  const std::string path = File("a", 2u << 20), other = directory_.path() + "/other";
  ASSERT_EQ(::link(path.c_str(), other.c_str()), 0);
  files.Give(path);
  EXPECT_FALSE(files.Take().has_value());
  EXPECT_EQ(FileSize(other).value(), 2u << 20);
}

TEST_F(RecycledFilesTest, KeepsNothingWhereTheDiskHasLittleRoom) {
  RecycledFiles files(directory_.path() + "/kept", 5u << 20, 1ull << 60);
  files.Give(File("a", 2u << 20));
  EXPECT_FALSE(files.Take().has_value());
  EXPECT_EQ(files.bytes(), 0u);
}

}  // namespace
}  // namespace mr::worker
