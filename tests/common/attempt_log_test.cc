#include "common/io/attempt_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/io/files.h"

namespace mr {
namespace {

using ::testing::ElementsAre;

constexpr AttemptId kAttempt{{{1, 2}, 0, 3}, 4};
constexpr char kName[] = "attempt_1_0002_0_m_000003_4";

class AttemptLogTest : public testing::Test {
 protected:
  AttemptLogTest() {
    char path[] = "/tmp/attempt_log_test.XXXXXX";
    root_ = mkdtemp(path);
  }
  ~AttemptLogTest() override { (void)RemoveTree(root_); }

  std::string root_;
};

TEST_F(AttemptLogTest, ALogIsReadInPiecesFromAnyPlaceOrFromItsEnd) {
  EXPECT_EQ(ReadLog(root_, kAttempt, kLogEnd).status().code(), Code::kNotFound);
  const std::string log = std::string(kLogPieceBytes, 'a') + "bc";
  ASSERT_TRUE(WriteFileDurably(root_ + "/" + kName, log).ok());
  const auto end = ReadLog(root_, kAttempt, kLogEnd);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->start, 2u);
  EXPECT_EQ(end->text, log.substr(2));
  std::string whole;
  while (true) {
    const auto piece = ReadLog(root_, kAttempt, whole.size());
    ASSERT_TRUE(piece.ok());
    EXPECT_LE(piece->text.size(), kLogPieceBytes);
    EXPECT_EQ(piece->start, whole.size());
    if (piece->text.empty()) break;
    whole += piece->text;
  }
  EXPECT_EQ(whole, log);
  EXPECT_EQ(ReadLog(root_, kAttempt, log.size() + 7)->text, "");
  EXPECT_EQ(ReadLog(root_, kAttempt, log.size() + 7)->start, log.size()) << "a reader continues from there";
}

TEST_F(AttemptLogTest, ALogIsFoundWhetherItsAttemptFailedOrNot) {
  ASSERT_TRUE(WriteFileDurably(root_ + "/" + kName, "text").ok());
  bool failed = true;
  EXPECT_EQ(AttemptOfLog(kName, &failed), kAttempt);
  EXPECT_FALSE(failed);
  MarkLogFailed(root_, kName);
  EXPECT_THAT(*ListDirectory(root_), ElementsAre(std::string(kName) + ".failed"));
  EXPECT_EQ(ReadLog(root_, kAttempt, 0)->text, "text");
  EXPECT_EQ(AttemptOfLog(std::string(kName) + ".failed", &failed), kAttempt);
  EXPECT_TRUE(failed);
  EXPECT_FALSE(AttemptOfLog("worker.log", &failed));
  EXPECT_FALSE(AttemptOfLog(std::string(kName) + ".failed.part", &failed));
}

TEST_F(AttemptLogTest, LogsOfFailedAttemptsGoAfterAllOthersAndTheNewestLast) {
  constexpr int64_t kHour = 3'600'000, kNow = 1000 * kHour;
  const auto none = [](const std::string&) { return false; };
  const auto removed = [&](uint64_t bytes) {
    std::vector<std::string> names;
    for (const StoredFile& f : SurplusLogs({{"old.failed", 10, kNow - 9 * kHour},
                                            {"new.failed", 10, kNow - 8 * kHour},
                                            {"old", 10, kNow - 3 * kHour},
                                            {"new", 10, kNow - 2 * kHour},
                                            {"ancient.failed", 10, kNow - 99 * kHour}},
                                           {bytes, Seconds(86400)}, kNow, none, {}))
      names.push_back(f.name);
    return names;
  };
  EXPECT_THAT(removed(100), ElementsAre("ancient.failed")) << "age spares none";
  EXPECT_THAT(removed(30), ElementsAre("ancient.failed", "old"));
  EXPECT_THAT(removed(10), ElementsAre("ancient.failed", "old", "new", "old.failed"));
}

}  // namespace
}  // namespace mr
