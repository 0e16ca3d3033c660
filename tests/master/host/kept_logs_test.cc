#include "master/host/kept_logs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/model/report.h"

namespace mr::master {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr RetentionLimits kLimits = {1 << 30, Seconds(86400)};

AttemptId Attempt(uint32_t job, uint32_t number) { return {{{1, job}, 0, 0}, number}; }
std::string NameOf(AttemptId attempt) { return Name(attempt, TaskLetter::kReduce); }

class LogFilesTest : public testing::Test {
 protected:
  LogFilesTest() {
    char path[] = "/tmp/kept_logs_test.XXXXXX";
    root_ = mkdtemp(path);
  }
  ~LogFilesTest() override { (void)RemoveTree(root_); }
  void Put(uint32_t job, uint32_t number, const std::string& text, bool failed = true) {
    EXPECT_TRUE(files_().Put(NameOf(Attempt(job, number)), {text, text.size() + 100, failed}).ok());
  }
  bool Has(uint32_t job, uint32_t number) { return files_().Get(Attempt(job, number), kLogEnd).ok(); }
  LogFiles& files_() {
    if (!made_) made_ = std::make_unique<LogFiles>(root_ + "/logs");
    return *made_;
  }
  size_t Trim(const std::set<JobId>& jobs, const RetentionLimits& limits = kLimits) {
    return files_().Trim(jobs, limits, static_cast<int64_t>(WallClockMs()));
  }
  void Age(uint32_t job, uint32_t number, bool failed, int hours) {
    const std::string path = root_ + "/logs/" + NameOf(Attempt(job, number)) + (failed ? ".failed" : "");
    const timespec then{static_cast<time_t>(WallClockMs() / 1000) - 3600 * hours, 0};
    const timespec times[] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  std::string root_;
  std::unique_ptr<LogFiles> made_;
};

TEST_F(LogFilesTest, ALogIsKeptWithItsPlaceAndFoundAfterARestart) {
  EXPECT_EQ(files_().Get(Attempt(1, 1), kLogEnd).status().code(), Code::kNotFound);
  const std::string text("line\n\0\xff skipped 7\n", 18);
  Put(1, 1, "an earlier answer to the same report");
  Put(1, 1, text);
  made_ = nullptr;
  auto piece = files_().Get(Attempt(1, 1), kLogEnd);
  ASSERT_TRUE(piece.ok()) << piece.status().ToString();
  EXPECT_EQ(piece->text, text);
  EXPECT_EQ(piece->start, 100u);
  EXPECT_TRUE(piece->ended);
  EXPECT_EQ(files_().Get(Attempt(1, 1), 3)->text, text) << "what comes before is not kept";
  piece = files_().Get(Attempt(1, 1), 105);
  EXPECT_EQ(piece->text, text.substr(5));
  EXPECT_EQ(piece->start, 105u);
  EXPECT_EQ(files_().Get(Attempt(1, 1), 1000)->text, "");
  EXPECT_THAT(*ListDirectory(root_ + "/logs"), ElementsAre(NameOf(Attempt(1, 1)) + ".failed"));
}

TEST_F(LogFilesTest, AJobKeepsItsFirstLogsAndHalfOfTheRoomIsForFailedAttempts) {
  const std::string text(kKeptLogBytes, 'x');
  const uint32_t half = LogFiles::kJobBytes / 2 / kKeptLogBytes;
  for (uint32_t n = 1; n <= half + 1; ++n) Put(1, n, text, false);
  EXPECT_TRUE(Has(1, half));
  EXPECT_FALSE(Has(1, half + 1));
  for (uint32_t n = half + 1; n <= 2 * half + 1; ++n) Put(1, n, text);
  EXPECT_TRUE(Has(1, 2 * half));
  EXPECT_FALSE(Has(1, 2 * half + 1));
  Put(2, 1, text);
  EXPECT_TRUE(Has(2, 1)) << "another job has room of its own";
  // It counts again from what is there.
  made_ = nullptr;
  EXPECT_EQ(Trim({JobId{1, 1}, JobId{1, 2}}), 0u);
  Put(1, 2 * half + 1, text);
  EXPECT_FALSE(Has(1, 2 * half + 1));
}

TEST_F(LogFilesTest, LogsGoWithTheirJobAndThenTheOldestAndThoseOfFailedAttemptsLast) {
  Put(1, 1, "forgotten");
  Put(2, 1, "old, failed");
  Put(2, 2, "new, failed");
  Put(2, 3, "newest, left by a worker", false);
  Age(2, 1, true, 3);
  Age(2, 2, true, 2);
  Age(2, 3, false, 1);
  EXPECT_EQ(Trim({JobId{1, 2}}), 1u);
  EXPECT_FALSE(Has(1, 1));
  EXPECT_EQ(Trim({JobId{1, 2}}, {2 * LogFiles::kFileBytes, Seconds(86400)}), 1u);
  EXPECT_FALSE(Has(2, 3));
  EXPECT_EQ(Trim({JobId{1, 2}}, {LogFiles::kFileBytes, Seconds(86400)}), 1u);
  EXPECT_FALSE(Has(2, 1));
  EXPECT_TRUE(Has(2, 2));
  EXPECT_EQ(Trim({JobId{1, 2}}, {1 << 30, Seconds(3600)}), 1u) << "and what is too old";
}

}  // namespace
}  // namespace mr::master
