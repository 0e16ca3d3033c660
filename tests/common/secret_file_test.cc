#include "common/io/secret_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <type_traits>

#include "tests/support/temp_directory.h"

namespace mr {
namespace {

using ::testing::HasSubstr;

template <class T>
concept Prints = requires(std::ostream& out, const T& value) {
  out << value;
};

TEST(SecretTest, CanBeNeitherPrintedNorCopiedByAccident) {
  using Text = Secret<std::string>;
  static_assert(Prints<std::string> && !Prints<Text>);
  static_assert(!std::is_convertible_v<Text, std::string> && !std::is_convertible_v<std::string, Text>);
  static_assert(!std::is_copy_constructible_v<Text> && !std::is_copy_assignable_v<Text>);
  EXPECT_EQ(Text("a").Copy().Reveal(), "a");
}

TEST(SecretTest, AMovedOrEndedOneLeavesNoBytesBehind) {
  alignas(Secret<SecretBytes>) unsigned char place[sizeof(Secret<SecretBytes>)];
  SecretBytes bytes;
  bytes.fill(0xab);
  auto* first = new (place) Secret<SecretBytes>(bytes);
  const Secret<SecretBytes> second(std::move(*first));
  EXPECT_EQ(second.Reveal(), bytes);
  EXPECT_EQ(first->Reveal(), SecretBytes{});
  *first = second.Copy();
  first->~Secret();
  for (const unsigned char byte : place) EXPECT_EQ(byte, 0);
  // The text of a short string is inside of it, and a move leaves it there.
  Secret<std::string> text(std::string("short"));
  const Secret<std::string> moved(std::move(text));
  EXPECT_EQ(moved.Reveal(), "short");
  EXPECT_TRUE(text.Reveal().empty());
}

class SecretFileTest : public ::testing::Test {
 protected:
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  test::TempDirectory root_;
  const std::string directory_ = root_ / "state/daemons";
  DaemonSecret secret_ = MakeDaemonSecret().value();
};

TEST_F(SecretFileTest, ComesBackAndIsForItsUserAlone) {
  const auto file = SecretFile::Write(directory_, "127.0.0.1_7070", secret_);
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(ModeOf(directory_), 0700u);
  EXPECT_EQ(ModeOf(file->path()), 0600u);
  const auto read = ReadSecretFile(file->path());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->client.Reveal(), secret_.client.Reveal());
  EXPECT_EQ(read->daemon.Reveal(), secret_.daemon.Reveal());
  EXPECT_NE(read->daemon.Reveal(), read->client.Reveal());
}

TEST_F(SecretFileTest, IsRemovedWithItsDaemonButNotThatOfALaterOne) {
  std::string path;
  {
    auto first = SecretFile::Write(directory_, "p", secret_).value();
    path = first.path();
    const auto second = SecretFile::Write(directory_, "p", secret_).value();
    first = SecretFile();
    EXPECT_TRUE(ReadSecretFile(path).ok()) << "the later daemon's";
  }
  EXPECT_EQ(ReadSecretFile(path).status().code(), Code::kNotFound);
}

TEST_F(SecretFileTest, FilesOfKilledDaemonsAreRemovedAndThoseOfLivingOnesAreNot) {
  const auto living = SecretFile::Write(directory_, "living", secret_).value();
  ASSERT_TRUE(WriteFileDurably(directory_ + "/killed", FormatDaemonSecret(secret_).Reveal(), 0600).ok());
  const auto next = SecretFile::Write(directory_, "next", secret_).value();
  EXPECT_EQ(*ListDirectory(directory_), (std::vector<std::string>{"living", "next"}));
}

TEST_F(SecretFileTest, AHalfWrittenOneOfAKilledDaemonIsRemoved) {
  { const auto file = SecretFile::Write(directory_, "p", secret_).value(); }
  const timespec old[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  const std::string left = directory_ + "/.new.left", written = directory_ + "/.new.written";
  for (const std::string& path : {left, written}) {
    ASSERT_TRUE(WriteFileDurably(path, "paceline dae", 0600).ok());
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
  }
  const UniqueFd held = OpenFile(written, O_RDONLY).value();
  ASSERT_EQ(::flock(held.get(), LOCK_SH), 0);  // as a daemon that writes it
  ASSERT_TRUE(WriteFileDurably(directory_ + "/.new.fresh", "", 0600).ok());
  const auto next = SecretFile::Write(directory_, "next", secret_).value();
  EXPECT_EQ(*ListDirectory(directory_), (std::vector<std::string>{".new.fresh", ".new.written", "next"}));
}

TEST_F(SecretFileTest, AFileThatOthersCouldReadIsRefusedWithWhatToDo) {
  const auto file = SecretFile::Write(directory_, "p", secret_).value();
  for (const mode_t mode : {0640, 0604, 0660, 0601}) {
    ASSERT_EQ(::chmod(file.path().c_str(), mode), 0);
    const Status status = ReadSecretFile(file.path()).status();
    EXPECT_EQ(status.code(), Code::kNotAllowed) << mode;
    EXPECT_THAT(status.message(), HasSubstr("restart its daemon"));
  }
  ASSERT_EQ(::symlink(file.path().c_str(), (directory_ + "/link").c_str()), 0);
  EXPECT_FALSE(ReadSecretFile(directory_ + "/link").ok());
  ASSERT_EQ(::mkfifo((directory_ + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadSecretFile(directory_ + "/fifo").status().code(), Code::kNotAllowed) << "and nothing blocks";
}

TEST_F(SecretFileTest, FilesAndDirectoriesOfOtherUsersAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const auto file = SecretFile::Write(directory_, "p", secret_).value();
  ASSERT_EQ(::chown(file.path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(ReadSecretFile(file.path()).status().code(), Code::kNotAllowed);
  ASSERT_EQ(::chown(directory_.c_str(), 65534, 65534), 0);
  const auto other = SecretFile::Write(directory_, "q", secret_);
  EXPECT_EQ(other.status().code(), Code::kNotAllowed);
  EXPECT_THAT(other.status().message(), HasSubstr("--secret_dir"));
}

TEST_F(SecretFileTest, ADirectoryThatIsOpenToOthersIsRefusedAndKeepsItsFiles) {
  ASSERT_TRUE(MakeDirectories(directory_).ok());
  ASSERT_TRUE(WriteFileDurably(directory_ + "/thesis.txt", "x", 0600).ok());
  ASSERT_EQ(::chmod(directory_.c_str(), 0755), 0);
  const auto file = SecretFile::Write(directory_, "p", secret_);
  EXPECT_EQ(file.status().code(), Code::kNotAllowed);
  EXPECT_THAT(file.status().message(), HasSubstr("chmod 700"));
  EXPECT_EQ(ModeOf(directory_), 0755u);
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  ASSERT_TRUE(SecretFile::Write(directory_, "p", secret_).ok());
  EXPECT_TRUE(ReadFile(directory_ + "/thesis.txt").ok()) << "only secrets are removed";
}

TEST_F(SecretFileTest, EveryPrefixAndEveryChangedByteOfTheTextIsNoSecretOrAnotherOne) {
  const std::string text = FormatDaemonSecret(secret_).Reveal();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(ParseDaemonSecret(Secret<std::string>(text.substr(0, size))).ok()) << size;
  }
  EXPECT_FALSE(ParseDaemonSecret(Secret<std::string>(text + "\n")).ok());
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto parsed = ParseDaemonSecret(Secret<std::string>(changed));
    if (!parsed.ok()) continue;
    EXPECT_FALSE(parsed->client.Reveal() == secret_.client.Reveal() &&
                 parsed->daemon.Reveal() == secret_.daemon.Reveal())
        << at;
  }
}

TEST_F(SecretFileTest, ComparesWholeValuesOnly) {
  const SecretBytes& bytes = secret_.client.Reveal();
  EXPECT_TRUE(SameSecret(bytes.data(), bytes.size(), bytes));
  EXPECT_FALSE(SameSecret(bytes.data(), bytes.size() - 1, bytes));
  EXPECT_FALSE(SameSecret(nullptr, 0, bytes));
  EXPECT_FALSE(SameSecret(secret_.daemon.Reveal().data(), bytes.size(), bytes));
}

TEST(SecretDirectoryTest, IsNamedByFlagThenEnvironmentThenTheUsersStateDirectory) {
  const std::string kept = std::getenv("MR_SECRET_DIR") == nullptr ? "" : std::getenv("MR_SECRET_DIR");
  ::setenv("MR_SECRET_DIR", "/env", 1);
  EXPECT_EQ(*SecretDirectory("/flag"), "/flag");
  EXPECT_EQ(SecretDirectory("flag").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(*SecretDirectory(), "/env");
  ::unsetenv("MR_SECRET_DIR");
  ::setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(*SecretDirectory(), "/state/paceline/daemons");
  ::setenv("XDG_STATE_HOME", "relative", 1);
  EXPECT_THAT(*SecretDirectory(), HasSubstr("/.local/state/paceline/daemons"));
  ::unsetenv("XDG_STATE_HOME");
  if (!kept.empty()) ::setenv("MR_SECRET_DIR", kept.c_str(), 1);
}

TEST(SecretFileNameTest, DiffersByAddressAndPortAndIsAFileName) {
  const std::string name = SecretFileName("127.0.0.1:7070");
  EXPECT_TRUE(name.starts_with("127.0.0.1_7070_")) << name;
  EXPECT_NE(name, SecretFileName("127.0.0.1:7071"));
  EXPECT_NE(name, SecretFileName("127.0.0.2:7070"));
  EXPECT_EQ(SecretFileName("[::1]:7070").find_first_of("/[]"), std::string::npos);
  EXPECT_EQ(name, SecretFileName("127.0.0.1:7070")) << "daemon and client find the same file";
}

}  // namespace
}  // namespace mr
