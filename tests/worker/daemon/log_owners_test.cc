#include "worker/daemon/log_owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_directory.h"

namespace mr::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr JobId kFirst{1, 1}, kSecond{1, 2}, kThird{2, 1};

TEST(LogOwnersTest, OwnersOutliveTheProcess) {
  const test::TempDirectory directory;
  LogOwners first(directory / "owners");
  first.Note(kFirst, "anna");
  first.Note(kSecond, "bob");
  first.Note(kSecond, "bob");
  first.Note(kThird, "");
  first.Note(kThird, "a\nb");
  LogOwners second(directory / "owners");
  EXPECT_THAT(second.all(), ElementsAre(Pair(kFirst, "anna"), Pair(kSecond, "bob")));
  second.Forget({kFirst});
  EXPECT_THAT(second.all(), ElementsAre(Pair(kSecond, "bob")));
}

TEST(LogOwnersTest, LinesThatAreDamagedAreLeftOut) {
  const test::TempDirectory directory;
  ASSERT_TRUE(WriteFileDurably(directory / "owners", "job_1_0001 anna\nxyz bob\njob_1_0002\n\njob_2_0001 b\n").ok());
  EXPECT_THAT(LogOwners(directory / "owners").all(), ElementsAre(Pair(kFirst, "anna"), Pair(kThird, "b")));
}

TEST(LogOwnersTest, ALineWithoutItsEndNamesNobodyAndNoneIsAppendedToIt) {
  const test::TempDirectory directory;
  for (const std::string before : {"", "job_1_0001 anna\n"}) {
    ASSERT_TRUE(WriteFileDurably(directory / "owners", before + "job_2_0001 al").ok());
    LogOwners owners(directory / "owners");
    EXPECT_FALSE(owners.all().contains(kThird)) << "it may be the beginning of alice";
    EXPECT_EQ(*ReadFile(directory / "owners"), before);
    owners.Note(kSecond, "bob");
    EXPECT_EQ(LogOwners(directory / "owners").all().at(kSecond), "bob");
    owners.Note(kThird, "alice");
    EXPECT_EQ(LogOwners(directory / "owners").all().at(kThird), "alice");
  }
}

TEST(LogOwnersTest, TheFileDoesNotGrowWithJobsThatAreForgotten) {
  const test::TempDirectory directory;
  LogOwners owners(directory / "owners");
  owners.Note(kFirst, "anna");
  for (uint32_t n = 2; n < 5000; ++n) {
    owners.Note({1, n}, "bob");
    owners.Forget({{1, n}});
  }
  EXPECT_LT(*FileSize(directory / "owners"), 30'000u);
  EXPECT_THAT(LogOwners(directory / "owners").all().at(kFirst), "anna");
}

}  // namespace
}  // namespace mr::worker
