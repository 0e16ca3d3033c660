#include "dfs/block/direct_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "common/base/rng.h"
#include "common/io/files.h"
#include "tests/support/temp_directory.h"

namespace mr::dfs {
namespace {

std::string RandomBytes(size_t n) {
  Rng rng(n);
  std::string bytes(n, '\0');
  for (char& c : bytes) c = static_cast<char>(rng.Next());
  return bytes;
}

TEST(DirectFileTest, AnyLengthInAnyPiecesIsWrittenWhole) {
  const test::TempDirectory directory;
  for (const bool direct : {true, false}) {
    for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{100'000}, size_t{4u << 20},
                              size_t{(4u << 20) + 1}, size_t{(12u << 20) + 5000}}) {
      const std::string bytes = RandomBytes(size), path = directory.path() + "/file";
      const auto fd = OpenFile(path, O_RDWR | O_CREAT | O_TRUNC);
      ASSERT_TRUE(fd.ok());
      {
        DirectFile file(fd->get(), direct);
        for (size_t at = 0, step = 1; at < size; at += step, step = step * 3 + 1) {
          ASSERT_TRUE(file.Append(std::string_view(bytes).substr(at, step)).ok());
        }
        ASSERT_TRUE(file.Finish().ok());
      }
      EXPECT_EQ(ReadFile(path).value(), bytes) << size;
    }
  }
}

// A memfd, like some file systems, refuses O_DIRECT.
TEST(DirectFileTest, AFileSystemThatRefusesIsWrittenThroughTheCache) {
  for (const size_t piece : {size_t{1u << 20}, size_t{700'000}, size_t{5u << 20}, size_t{20u << 20}}) {
    const UniqueFd fd(memfd_create("file", 0));
    const std::string bytes = RandomBytes((9u << 20) + 77);
    DirectFile file(fd.get(), true);
    for (size_t at = 0; at < bytes.size(); at += piece) {
      ASSERT_TRUE(file.Append(std::string_view(bytes).substr(at, piece)).ok());
    }
    ASSERT_TRUE(file.Finish().ok());
    std::string read(bytes.size() + 1, '\0');
    EXPECT_EQ(PreadUpTo(fd.get(), read.data(), read.size(), 0).value(), bytes.size());
    read.pop_back();
    EXPECT_TRUE(read == bytes) << piece;
  }
}

TEST(DirectFileTest, AWriteThatFailsIsAnError) {
  const UniqueFd full(::open("/dev/full", O_WRONLY));
  DirectFile file(full.get(), true);
  Status status = file.Append(RandomBytes(5u << 20));
  if (status.ok()) status = file.Finish();
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace mr::dfs
