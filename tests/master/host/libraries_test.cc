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

// Sizes are in units of the least that a file counts for.
constexpr uint64_t kUnit = kLeastLibraryBytes;

LibraryUpload Upload(const std::string& owner, char digit, uint64_t units, uint64_t connection = 1) {
  const std::string sha256(64, digit);
  return {owner, sha256, "." + sha256 + "." + std::to_string(connection) + ".part", units * kUnit, connection};
}
// A different SHA-256 for each number.
std::string Numbered(int n) {
  const std::string digits = std::to_string(n);
  return std::string(64 - digits.size(), '0') + digits;
}

TEST(LibrariesTest, AnOwnersUploadsAreRefusedBeyondTheirLimitAndThoseOfOthersAreNot) {
  Libraries libraries(100 * kUnit);
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
  EXPECT_TRUE(Libraries(0).Admit(Upload("anna", 'a', 1ull << 20), true, kNow).ok()) << "0 is no limit";
}

TEST(LibrariesTest, FilesThatNoUnfinishedJobNeedsMakeRoomAndOthersDoNot) {
  Libraries libraries(100 * kUnit);
  std::set<std::string> used = {std::string(64, 'a')};
  libraries.SetInUse([&] { return used; });
  libraries.Stored(std::string(64, 'a'), "anna", 80 * kUnit);
  EXPECT_FALSE(libraries.Admit(Upload("anna", 'b', 30), true, kNow).ok());
  used.clear();
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'b', 30), true, kNow).ok());
  libraries.PartRemoved(Upload("anna", 'b', 30).part);
  EXPECT_TRUE(libraries.Requested(std::string(64, 'a'), kNow));
  EXPECT_FALSE(libraries.Admit(Upload("anna", 'b', 30), true, kNow).ok()) << "the submit that asked for it follows";
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'b', 30), true, kNow + kRetentionGrace).ok());
}

TEST(LibrariesTest, AFileStaysThatOfTheOwnerWhoSentItFirst) {
  Libraries libraries(100 * kUnit);
  libraries.Finished(Upload("anna", 'a', 60), kNow);
  libraries.Finished(Upload("bob", 'a', 60), kNow);
  EXPECT_EQ(libraries.OwnerOf(std::string(64, 'a')), "anna");
}

TEST(LibrariesTest, APieceWithoutTheFirstOneOrOfAnotherSizeIsRefused) {
  Libraries libraries(100 * kUnit);
  EXPECT_EQ(libraries.Admit(Upload("anna", 'a', 60), false, kNow).code(), Code::kInvalidArgument);
  ASSERT_TRUE(libraries.Admit(Upload("anna", 'a', 60), true, kNow).ok());
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'a', 60), false, kNow).ok());
  EXPECT_EQ(libraries.Admit(Upload("anna", 'a', 1000), false, kNow).code(), Code::kInvalidArgument)
      << "more than was reserved";
}

TEST(LibrariesTest, ATinyFileCountsForTheLeastThatAFileCountsFor) {
  Libraries libraries(100 * kUnit);
  for (int n = 0; n < 100; ++n) {
    const LibraryUpload one{"anna", Numbered(n), "." + Numbered(n) + ".1.part", 1, 1};
    ASSERT_TRUE(libraries.Admit(one, true, kNow).ok()) << n;
    libraries.Finished(one, kNow);
  }
  const Status refused = libraries.Admit({"anna", Numbered(100), ".100.1.part", 0, 1}, true, kNow);
  EXPECT_EQ(refused.code(), Code::kRejected) << "an empty one, too";
  EXPECT_THAT(refused.message(), HasSubstr("16"));
  libraries.Removed(Numbered(7));
  EXPECT_TRUE(libraries.Admit({"anna", Numbered(100), ".100.1.part", 0, 1}, true, kNow).ok());
}

TEST(LibrariesTest, JobsAreAskedForTheirFilesOnlyWhereThatCanMakeRoom) {
  Libraries libraries(100 * kUnit);
  int asked = 0;
  libraries.SetInUse([&] {
    ++asked;
    return std::set<std::string>{std::string(64, 'a')};
  });
  libraries.Stored(std::string(64, 'a'), "anna", 50 * kUnit);
  libraries.Stored(std::string(64, 'b'), "anna", 30 * kUnit);
  ASSERT_TRUE(libraries.Admit(Upload("anna", 'c', 20), true, kNow).ok());
  libraries.Finished(Upload("anna", 'c', 20), kNow);
  EXPECT_EQ(asked, 0) << "all of the owner's files fit";
  ASSERT_TRUE(libraries.Admit(Upload("anna", 'd', 30), true, kNow).ok()) << "no job needs b";
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(libraries.Admit(Upload("anna", 'e', 60), true, kNow).ok());
  EXPECT_EQ(asked, 1) << "new files and uploads leave no room, whatever jobs need";
  EXPECT_FALSE(libraries.Admit(Upload("anna", 'e', 1), true, kNow).ok());
  EXPECT_EQ(asked, 2);
}

TEST(LibrariesTest, OwnersOfFilesAreListedOnlyBeyondTheLimit) {
  Libraries libraries(100 * kUnit);
  libraries.Stored(std::string(64, 'a'), "anna", 60 * kUnit);
  libraries.Stored(std::string(64, 'b'), "bob", 60 * kUnit);
  libraries.Stored(std::string(64, 'c'), "", 1000 * kUnit);
  EXPECT_TRUE(libraries.OwnersByFile().empty());
  const LibraryUpload more = Upload("anna", 'd', 50);
  ASSERT_TRUE(libraries.Admit(more, true, kNow).ok());
  EXPECT_EQ(libraries.OwnersByFile(),
            (std::map<std::string, std::string>{{std::string(64, 'a') + ".so", "anna"}, {more.part, "anna"}}));
  libraries.Removed(std::string(64, 'a'));
  EXPECT_TRUE(libraries.OwnersByFile().empty());
}

TEST(LibrariesTest, AnInterruptedUploadHoldsNoRoomWhenItsConnectionHasClosed) {
  Libraries libraries(100 * kUnit);
  std::vector<std::string> removed;
  libraries.SetRemovePart([&](const std::string& part) { removed.push_back(part); });
  ASSERT_TRUE(libraries.Admit(Upload("anna", 'a', 60, 1), true, kNow).ok());
  EXPECT_FALSE(libraries.Admit(Upload("anna", 'a', 60, 2), true, kNow).ok()) << "the first one goes on";
  libraries.ConnectionClosed(1);
  EXPECT_EQ(removed, std::vector<std::string>{Upload("anna", 'a', 60, 1).part});
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'a', 60, 2), true, kNow).ok());
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'a', 60, 2), true, kNow).ok()) << "it begins again";
  libraries.Finished(Upload("anna", 'a', 60, 2), kNow);
  libraries.ConnectionClosed(2);
  EXPECT_EQ(removed.size(), 1u) << "a finished upload has no part";
  EXPECT_TRUE(libraries.Known(std::string(64, 'a')));
}

TEST(LibrariesTest, AnUploadWithoutAPieceForTheGraceMakesRoom) {
  Libraries libraries(100 * kUnit);
  std::vector<std::string> removed;
  libraries.SetRemovePart([&](const std::string& part) { removed.push_back(part); });
  const LibraryUpload stalled = Upload("anna", 'a', 60, 1);
  ASSERT_TRUE(libraries.Admit(stalled, true, kNow).ok());
  ASSERT_TRUE(libraries.Admit(stalled, false, kNow + Seconds(1)).ok());
  EXPECT_FALSE(libraries.Admit(Upload("anna", 'b', 60, 2), true, kNow + kRetentionGrace).ok());
  EXPECT_TRUE(removed.empty());
  EXPECT_TRUE(libraries.Admit(Upload("anna", 'b', 60, 2), true, kNow + kRetentionGrace + Seconds(1)).ok());
  EXPECT_EQ(removed, std::vector<std::string>{stalled.part});
  EXPECT_EQ(libraries.Admit(stalled, false, kNow + kRetentionGrace + Seconds(1)).code(), Code::kInvalidArgument)
      << "its room is gone";
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
  EXPECT_EQ(second.OwnerOf(sha256), "anna");
  for (const StoredFile& file : StoredFiles(lib)) RemoveLibrary(lib, file);
  EXPECT_TRUE(ListDirectory(lib + "/owners")->empty());
}

}  // namespace
}  // namespace mr::master
