// Uploads of operator libraries and side files, and how many bytes of them one owner may keep.
#include "master/host/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/sha256.h"
#include "master/host/library_upload.h"
#include "tests/support/temp_directory.h"

namespace mr::master {
namespace {

using ::testing::HasSubstr;

const Instant kNow = Instant{} + Seconds(100'000);

LibraryUpload Upload(const std::string& owner, char digit, uint64_t total) {
  return {owner, std::string(64, digit), "." + std::string(64, digit) + ".1.part", total};
}

TEST(LibrariesTest, AnOwnersUploadsAreRefusedBeyondTheirLimitAndThoseOfOthersAreNot) {
  Libraries libraries(100);
  ASSERT_TRUE(libraries.Admit(Upload("anna", 'a', 60), true, kNow).ok());
  const Status refused = libraries.Admit(Upload("anna", 'b', 41), true, kNow);
  EXPECT_EQ(refused.code(), Code::kRejected) << "an upload under way counts";
  EXPECT_THAT(refused.message(), HasSubstr("--owner_library_bytes"));
  EXPECT_THAT(refused.message(), HasSubstr("'anna'"));
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'b', 40), true, kNow).ok());
  EXPECT_TRUE(libraries.Admit(Upload("bob", 'c', 100), true, kNow).ok());
  EXPECT_TRUE(libraries.Admit(Upload("", 'd', 1000), true, kNow).ok()) << "an administrator";
  libraries.Finished(Upload("anna", 'a', 60), kNow);
  EXPECT_TRUE(libraries.Known(std::string(64, 'a')));
  EXPECT_FALSE(libraries.Admit(Upload("anna", 'e', 1), true, kNow).ok()) << "it is new: a submit will name it";
  libraries.PartRemoved(Upload("anna", 'b', 40).part);
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'e', 40), true, kNow).ok());
  EXPECT_TRUE(Libraries(0).Admit(Upload("anna", 'a', 1ull << 40), true, kNow).ok()) << "0 is no limit";
}

TEST(LibrariesTest, FilesThatNoUnfinishedJobNeedsMakeRoomAndOthersDoNot) {
  Libraries libraries(100);
  std::set<std::string> used = {std::string(64, 'a')};
  libraries.SetInUse([&] { return used; });
  libraries.Stored(std::string(64, 'a'), "anna", 80);
  EXPECT_FALSE(libraries.Admit(Upload("anna", 'b', 30), true, kNow).ok());
  used.clear();
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'b', 30), true, kNow).ok());
  libraries.PartRemoved(Upload("anna", 'b', 30).part);
  EXPECT_TRUE(libraries.Requested(std::string(64, 'a'), kNow));
  EXPECT_FALSE(libraries.Admit(Upload("anna", 'b', 30), true, kNow).ok()) << "the submit that asked for it follows";
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'b', 30), true, kNow + kRetentionGrace).ok());
}

TEST(LibrariesTest, AFileStaysThatOfTheOwnerWhoSentItFirst) {
  Libraries libraries(100);
  libraries.Finished(Upload("anna", 'a', 60), kNow);
  libraries.Finished(Upload("bob", 'a', 60), kNow);
  EXPECT_EQ(libraries.OwnersByFile().at(std::string(64, 'a') + ".so"), "anna");
}

TEST(LibrariesTest, APieceWithoutTheFirstOneOrOfAnotherSizeIsRefused) {
  Libraries libraries(100);
  EXPECT_EQ(libraries.Admit(Upload("anna", 'a', 60), false, kNow).code(), Code::kInvalidArgument);
  ASSERT_TRUE(libraries.Admit(Upload("anna", 'a', 60), true, kNow).ok());
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'a', 60), false, kNow).ok());
  EXPECT_EQ(libraries.Admit(Upload("anna", 'a', 1000), false, kNow).code(), Code::kInvalidArgument)
      << "more than was reserved";
}

TEST(LibrariesTest, OwnersOutliveTheProcess) {
  const test::TempDirectory directory;
  ASSERT_TRUE(WriteFileDurably(directory / "text", "library").ok());
  const std::string sha256 = *Sha256File(directory / "text"), lib = directory / "lib";
  Libraries first(100);
  ASSERT_TRUE(ReadLibraries(lib, &first).ok());
  ASSERT_TRUE(StorePiece(lib, {"anna", sha256, ".p.part", 7}, 0, "libr").ok());
  ASSERT_TRUE(StorePiece(lib, {"anna", sha256, ".p.part", 7}, 4, "ary").ok());
  ASSERT_TRUE(StorePiece(lib, {"bob", sha256, ".q.part", 7}, 0, "library").ok()) << "it stays anna's";
  Libraries second(100);
  ASSERT_TRUE(ReadLibraries(lib, &second).ok());
  EXPECT_EQ(second.OwnersByFile(), (std::map<std::string, std::string>{{sha256 + ".so", "anna"}}));
  for (const StoredFile& file : StoredFiles(lib)) RemoveLibrary(lib, file);
  EXPECT_TRUE(ListDirectory(lib + "/owners")->empty());
}

}  // namespace
}  // namespace mr::master
