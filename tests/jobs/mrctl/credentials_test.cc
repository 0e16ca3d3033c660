#include "jobs/mrctl/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/io/files.h"
#include "common/secure/access_file.h"
#include "jobs/mrctl/access_out.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

using secure::TokenKind;
using secure::UnixTime;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr UnixTime kNow{1'800'000'000};
constexpr char kAnna[] = "00112233445566778899aabbccddeeff";
constexpr char kJoin[] = "ffeeddccbbaa99887766554433221100";

secure::TokenList List() {
  secure::TokenList list;
  list.issued[kAnna] = {.kind = TokenKind::kPerson,
                        .id = kAnna,
                        .subject = "anna",
                        .roles = kViewer | kSubmitter,
                        .issued = kNow,
                        .expires = kNow + secure::kTokenLife,
                        .key = "key"};
  list.issued[kJoin] = {.kind = TokenKind::kJoin,
                        .id = kJoin,
                        .issued = kNow - Seconds(60),
                        .expires = kNow + secure::kJoinLife,
                        .key = "key"};
  return list;
}

TEST(CredentialsTest, TokensAreListedInTheOrderOfTheirIssueWithTheirStates) {
  secure::TokenList list = List();
  const auto states = [&](UnixTime now) {
    std::string text;
    for (const TokenRow& row : TokenRows(list, {"key"}, now)) text += row.token.id.substr(0, 2) + " " + row.state + ",";
    return text;
  };
  EXPECT_EQ(states(kNow), "ff valid,00 valid,");
  EXPECT_EQ(states(kNow + secure::kJoinLife), "ff expired,00 valid,");
  list.issued[kAnna].key = "of before";
  EXPECT_EQ(states(kNow), "ff valid,00 rotated,");
  list.revoked = {kAnna, kJoin};
  list.used = {kJoin};
  EXPECT_EQ(states(kNow), "ff used,00 revoked,");
  EXPECT_EQ(states(kNow + secure::kDay * 30), "");
}

TEST(CredentialsTest, TheTableNamesPeopleJoinsAndDeniedWorkers) {
  secure::TokenList list = List();
  list.denied = {"worker:w1"};
  const std::string table = RenderTokens(TokenRows(list, {"key"}, kNow), list, OutputForm::kTable);
  EXPECT_THAT(table, HasSubstr("anna        viewer,submitter  valid"));
  EXPECT_THAT(table, HasSubstr("any worker  join              valid"));
  EXPECT_THAT(table, HasSubstr("worker:w1   worker            revoked"));
}

class AccessOutTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/access_out_test.XXXXXX";
    directory = mkdtemp(name);
    credentials = secure::CredentialsPath(directory);
    ASSERT_TRUE(secure::MakeClusterFiles(credentials, 7, kNow).ok());
  }
  void TearDown() override { (void)RemoveTree(directory); }
  std::string directory, credentials;
};

TEST_F(AccessOutTest, ATokenFileIsPrivateAndOfUse) {
  const std::string file = directory + "/tokens/anna";
  const auto made = IssueAccess(credentials, {.subject = "anna", .roles = kViewer}, "", file, kNow);
  ASSERT_TRUE(made.ok()) << made.status().message();
  struct stat info {};
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(stat((directory + "/tokens").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  const auto read = secure::ReadAccessFile(file, TokenKind::kPerson);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->unchecked.subject, "anna");
  EXPECT_EQ(read->cluster_id, 7u);
}

TEST_F(AccessOutTest, NoFileIsOverwritten) {
  const std::string file = directory + "/anna.token";
  ASSERT_TRUE(WriteFileDurably(file, "mine").ok());
  const auto made = IssueAccess(credentials, {.subject = "anna", .roles = kViewer}, "", file, kNow);
  EXPECT_EQ(ExitCodeFor(made.status().code()), kExitRejected);
  EXPECT_EQ(*ReadFile(file), "mine");
}

TEST_F(AccessOutTest, ATokenThatNobodyGotIsRevoked) {
  const std::string file = directory + "/ca.pem/anna";  // its parent is a file
  ASSERT_TRUE(WriteFileDurably(directory + "/ca.pem", "").ok());
  EXPECT_FALSE(IssueAccess(credentials, {.subject = "anna", .roles = kViewer}, "", file, kNow).ok());
  const auto log = secure::TokenLog::Open(credentials + "/tokens");
  ASSERT_EQ(log->list().issued.size(), 1u);
  EXPECT_EQ(log->list().revoked.size(), 1u);
}

TEST_F(AccessOutTest, AddressesAreCheckedAndHaveADefault) {
  EXPECT_EQ(*MasterAddress("lab-1:7070"), "lab-1:7070");
  EXPECT_FALSE(MasterAddress("lab-1").ok());
  EXPECT_THAT(*MasterAddress(""), HasSubstr(":7070"));
}

}  // namespace
}  // namespace mr::ctl
