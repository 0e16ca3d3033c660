// The audit log: whole chains, broken ones, files that follow each other, full disks, and text that lies.
#include "master/host/audit_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/io/files.h"
#include "tests/support/small_disk.h"

namespace mr::master {
namespace {

using testing::HasSubstr;

class AuditLogTest : public testing::Test {
 protected:
  AuditLogTest() {
    char path[] = "/tmp/audit_test.XXXXXX";
    root_ = mkdtemp(path);
    options_.directory = root_ + "/audit";
    options_.wall_ms = [] { return uint64_t{1'700'000'000'042}; };
  }
  ~AuditLogTest() override { (void)RemoveTree(root_); }
  static rpc::CallRecord Kill(const std::string& object, uint64_t sequence = 7) {
    return {{"anna", kSubmitter, Proof::kToken}, "10.0.0.7:1", "MasterForClient.kill", object, Code::kOk, sequence};
  }
  // Opens the log, records so many calls, and closes it.
  void Record(int calls, const std::string& object = "job=job_1_0001") {
    AuditLog log(options_);
    const Status opened = log.Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    for (int i = 0; i < calls; ++i) log.Called(Kill(object));
  }
  std::string PathOf(int number) const { return options_.directory + "/audit-00000" + std::to_string(number) + ".log"; }
  std::string Text(int number = 1) const { return ReadFile(PathOf(number)).value(); }
  std::string Broken() const {
    const auto check = CheckAudit(options_.directory);
    return check.ok() ? check->broken : check.status().ToString();
  }
  void Change(const std::string& from, const std::string& to, int number = 1) {
    std::string text = Text(number);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    ASSERT_TRUE(WriteFileDurably(PathOf(number), text).ok());
  }

  std::string root_;
  AuditLog::Options options_;
};

TEST_F(AuditLogTest, ALineSaysWhoDidWhatFromWhereAndWithWhatResult) {
  Record(1);
  EXPECT_THAT(Text(),
              HasSubstr("{\"n\":2,\"time\":\"2023-11-14T22:13:20.042Z\",\"subject\":\"anna\",\"proof\":\"token\","
                        "\"peer\":\"10.0.0.7:1\",\"method\":\"MasterForClient.kill\","
                        "\"object\":\"job=job_1_0001\",\"result\":\"ok\",\"sequence\":7,\"hash\":\""));
  struct stat file {
  }, directory{};
  ASSERT_EQ(stat(PathOf(1).c_str(), &file), 0);
  ASSERT_EQ(stat(options_.directory.c_str(), &directory), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  EXPECT_EQ(directory.st_mode & 0777, 0700u);
}

TEST_F(AuditLogTest, AWholeLogIsWholeOverRestarts) {
  Record(3);
  Record(2);
  const auto check = CheckAudit(options_.directory);
  ASSERT_TRUE(check.ok()) << check.status().ToString();
  EXPECT_EQ(check->broken, "");
  EXPECT_EQ(check->lines, 6u) << "five calls and the first line of the file";
}

TEST_F(AuditLogTest, AChangedARemovedAnAddedAndAMovedLineAreFound) {
  Record(4);
  const std::string whole = Text();
  Change("job_1_0001", "job_1_0002");
  EXPECT_THAT(Broken(), HasSubstr("audit-000001.log, line 2: it, or the line before it, was changed"));
  std::vector<std::string> lines;
  for (size_t at = 0; at < whole.size(); at = whole.find('\n', at) + 1) {
    lines.push_back(whole.substr(at, whole.find('\n', at) + 1 - at));
  }
  ASSERT_EQ(lines.size(), 5u);
  const auto with = [&](std::vector<size_t> order) {
    std::string text;
    for (const size_t i : order) text += lines[i];
    EXPECT_TRUE(WriteFileDurably(PathOf(1), text).ok());
    return Broken();
  };
  EXPECT_EQ(with({0, 1, 2, 3, 4}), "");
  EXPECT_THAT(with({0, 1, 3, 4}), HasSubstr("line 3: its number is 4 after 2"));
  EXPECT_THAT(with({0, 1, 1, 2, 3, 4}), HasSubstr("line 3"));
  EXPECT_THAT(with({0, 2, 1, 3, 4}), HasSubstr("line 2"));
  EXPECT_THAT(with({1, 2, 3, 4}), HasSubstr("does not begin with the first line"));
}

TEST_F(AuditLogTest, AFileThatIsFullIsFollowedByTheNextAndTheOldestGoes) {
  options_.file_bytes = 1500;
  options_.files = 3;
  Record(40);
  EXPECT_EQ(ListDirectory(options_.directory).value().size(), 3u);
  EXPECT_FALSE(PathExists(PathOf(1)));
  EXPECT_EQ(Broken(), "") << "the oldest file that is left has nothing before it";
  const auto names = ListDirectory(options_.directory).value();
  ASSERT_TRUE(RemoveTree(options_.directory + "/" + names[1]).ok());
  EXPECT_THAT(Broken(), HasSubstr(names[2] + ", line 1: the file before it is missing"));
}

TEST_F(AuditLogTest, ALineThatACrashCutShortIsRemovedAtTheNextStart) {
  Record(2);
  const UniqueFd file = OpenFile(PathOf(1), O_WRONLY | O_APPEND).value();
  ASSERT_TRUE(WriteAll(file.get(), "{\"n\":4,\"time\":\"20").ok());
  EXPECT_THAT(Broken(), HasSubstr("line 4: the line is cut short"));
  Record(1);
  EXPECT_EQ(Broken(), "");
}

TEST_F(AuditLogTest, ALastLineThatNoMasterWroteStaysFoundAndTheLogGoesOn) {
  Record(2);
  const UniqueFd file = OpenFile(PathOf(1), O_WRONLY | O_APPEND).value();
  ASSERT_TRUE(WriteAll(file.get(), "nothing happened\n").ok());
  Record(1);
  EXPECT_TRUE(PathExists(PathOf(2)));
  EXPECT_THAT(Broken(), HasSubstr("audit-000001.log, line 4: it has no hash"));
}

TEST_F(AuditLogTest, TextOfPeersCannotForgeALineOrMisleadAReader) {
  Record(1, "why=\"\n{\"n\":9}\xE2\x80\xAE txt.exe\x1b[2J \xff ok\xC2\x85");
  EXPECT_EQ(Broken(), "");
  const std::string text = Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(Text(), HasSubstr("why=\\\"\\n{\\\"n\\\":9}\\u202e txt.exe\\u001b[2J "));
  EXPECT_THAT(Text(), HasSubstr("ok\\u0085"));
  EXPECT_THAT(Text(), testing::Not(HasSubstr("\xE2\x80\xAE")));
}

TEST_F(AuditLogTest, CallsThatAFullDiskLosesAreCountedAndTheChainStaysWhole) {
  test::SmallDisk disk(root_ + "/small", "256k");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount";
  options_.directory = disk.path() + "/audit";
  AuditLog log(options_);
  ASSERT_TRUE(log.Open().ok());
  log.Called(Kill("job=job_1_0001"));
  log.Settle();
  ASSERT_TRUE(disk.Fill(0));
  for (int i = 0; i < 100; ++i) log.Called(Kill("job=job_1_0002"));
  log.Settle();
  const uint64_t lost = log.lost();
  EXPECT_GT(lost, 0u);
  disk.Free();
  log.Called(Kill("job=job_1_0003"));
  log.Settle();
  const auto check = CheckAudit(options_.directory);
  ASSERT_TRUE(check.ok());
  EXPECT_EQ(check->broken, "");
  EXPECT_EQ(check->lost, lost) << "the first line behind the gap has the number";
}

TEST_F(AuditLogTest, ADirectoryWithoutALogIsNotFound) {
  EXPECT_EQ(CheckAudit(root_ + "/none").status().code(), Code::kNotFound);
  ASSERT_TRUE(MakeDirectories(options_.directory).ok());
  EXPECT_EQ(CheckAudit(options_.directory).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace mr::master
