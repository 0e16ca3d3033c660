#include "common/secure/private_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <type_traits>

#include "common/io/files.h"

namespace mr::secure {
namespace {

class PrivateFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/private_file_test.XXXXXX";
    directory = mkdtemp(name);
    path = directory + "/token";
  }
  void TearDown() override { (void)RemoveTree(directory); }
  std::string directory, path;
};

TEST_F(PrivateFileTest, IsReadableByItsUserOnly) {
  ASSERT_TRUE(WritePrivateFile(path, Secret<std::string>("hidden")).ok());
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(ReadPrivateFile(path)->Reveal(), "hidden");
}

TEST_F(PrivateFileTest, ReplacesAWiderFileAndAWiderLeftover) {
  ASSERT_TRUE(WriteFileDurably(path, "old", 0644).ok());
  ASSERT_TRUE(WriteFileDurably(path + ".tmp", "old", 0644).ok());
  ASSERT_TRUE(WritePrivateFile(path, Secret<std::string>("new")).ok());
  EXPECT_EQ(ReadPrivateFile(path)->Reveal(), "new");
}

TEST_F(PrivateFileTest, IsRefusedWhereOthersMayUseIt) {
  for (const mode_t mode : {0640, 0604, 0660, 0610, 0601, 0777}) {
    ASSERT_TRUE(WritePrivateFile(path, Secret<std::string>("hidden")).ok());
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const auto read = ReadPrivateFile(path);
    EXPECT_EQ(read.status().code(), Code::kNotAllowed) << mode;
    EXPECT_NE(read.status().message().find("chmod 600 " + path), std::string::npos) << read.status().message();
    EXPECT_EQ(read.status().message().find("hidden"), std::string::npos);
  }
}

TEST_F(PrivateFileTest, IsRefusedWhereAnotherUserOwnsIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_TRUE(WritePrivateFile(path, Secret<std::string>("hidden")).ok());
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(ReadPrivateFile(path).status().code(), Code::kNotAllowed);
}

TEST_F(PrivateFileTest, OnlyRegularFilesOfASaneSizeAreRead) {
  EXPECT_EQ(ReadPrivateFile(path).status().code(), Code::kNotFound);
  EXPECT_EQ(ReadPrivateFile(directory).status().code(), Code::kInvalidArgument);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(ReadPrivateFile(path).status().code(), Code::kInvalidArgument);
  ASSERT_EQ(unlink(path.c_str()), 0);
  for (const size_t size : {size_t{0}, kMaxPrivateBytes + 1}) {
    ASSERT_TRUE(WritePrivateFile(path, Secret<std::string>(std::string(size, 'x'))).ok());
    EXPECT_EQ(ReadPrivateFile(path).status().code(), Code::kInvalidArgument) << size;
  }
}

TEST_F(PrivateFileTest, DirectoriesAreForTheirUserOnly) {
  const std::string inner = directory + "/credentials";
  ASSERT_TRUE(MakePrivateDirectory(inner).ok());
  EXPECT_TRUE(CheckPrivateDirectory(inner).ok());
  EXPECT_EQ(MakePrivateDirectory(inner).code(), Code::kRejected);
  ASSERT_EQ(chmod(inner.c_str(), 0755), 0);
  EXPECT_EQ(CheckPrivateDirectory(inner).code(), Code::kNotAllowed);
}

static_assert(!std::is_copy_constructible_v<Secret<std::string>>);
static_assert(!std::is_convertible_v<Secret<std::string>, std::string>);
static_assert(!std::is_convertible_v<std::string, Secret<std::string>>);

TEST(SecretTest, IsGoneWhereItWasMovedFrom) {
  Secret<std::string> from(std::string("short"));
  const Secret<std::string> to(std::move(from));
  EXPECT_EQ(to.Reveal(), "short");
  EXPECT_EQ(from.Reveal(), "");  // NOLINT(bugprone-use-after-move): what is left is the point
}

}  // namespace
}  // namespace mr::secure
