#include "worker/daemon/attempt_logs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <deque>
#include <optional>
#include <set>

#include "common/exec/pool.h"
#include "common/io/files.h"
#include "common/model/report.h"

namespace mr::worker {
namespace {

using ::testing::ElementsAre;

AttemptId Attempt(uint32_t job, uint32_t number) { return {{{1, job}, 0, 0}, number}; }

class AttemptLogsTest : public testing::Test {
 protected:
  AttemptLogsTest() : pool_(1), loop_("attempt_logs") {
    char path[] = "/tmp/attempt_logs_test.XXXXXX";
    root_ = mkdtemp(path);
    loop_.Run([&] {
      logs_.emplace(loop_, pool_.poster(),
                    AttemptLogs::Options{root_, [this](AttemptId attempt) { return running_.contains(attempt); },
                                         [this](AttemptId attempt, const std::string& log, uint64_t log_bytes,
                                                bool failed) -> kj::Promise<Result<bool>> {
                                           if (!connected_) return Result<bool>(Unavailable("no session"));
                                           given_.push_back(Name(attempt.task.job) + "/" +
                                                            std::to_string(attempt.number) + (failed ? "!" : ""));
                                           last_ = log;
                                           last_bytes_ = log_bytes;
                                           return Result<bool>(attempt.task.job.seq != 9);
                                         }});
    });
  }
  ~AttemptLogsTest() noexcept override {
    loop_.Run([&] {
      answer_ = nullptr;
      logs_.reset();
    });
    pool_.Stop();
    (void)RemoveTree(root_);
  }

  // age: seconds before the year 2001.
  void Write(AttemptId attempt, const std::string& text, bool failed = false, int age = 0) {
    const std::string path = root_ + "/" + Name(attempt, TaskLetter::kMap) + (failed ? ".failed" : "");
    ASSERT_TRUE(WriteFileDurably(path, text).ok());
    const timespec times[] = {{1'000'000'000 - age, 0}, {1'000'000'000 - age, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  void Ask(AttemptId attempt, uint64_t from, Duration wait) {
    loop_.Run([&] {
      answer_ = logs_->Read(attempt, from, wait)
                    .then([this](Result<LogPiece> piece) { piece_ = std::move(piece); })
                    .eagerlyEvaluate([](kj::Exception&&) {});
    });
  }
  // The other thread's turns pass meanwhile.
  Result<LogPiece> Answer() {
    while (true) {
      std::optional<Result<LogPiece>> piece;
      loop_.Run([&] { piece.swap(piece_); });
      if (piece) return *piece;
    }
  }
  std::vector<std::string> Given() {
    loop_.Run([&] {
      given_.clear();
      logs_->Give();
    });
    while (!loop_.Run([&] { return logs_->idle(); })) {
    }
    return loop_.Run([&] { return given_; });
  }

  std::string root_;
  Pool pool_;
  rpc::KjThread loop_;
  std::set<AttemptId> running_;
  bool connected_ = true;
  std::vector<std::string> given_;
  std::string last_;
  uint64_t last_bytes_ = 0;
  std::optional<AttemptLogs> logs_;
  kj::Promise<void> answer_ = nullptr;
  std::optional<Result<LogPiece>> piece_;
};

TEST_F(AttemptLogsTest, AReaderOfARunningAttemptWaitsForMoreAndLearnsOfItsEnd) {
  const AttemptId attempt = Attempt(1, 1);
  Ask(attempt, 0, Seconds(60));
  EXPECT_EQ(Answer().status().code(), Code::kNotFound) << "it neither runs nor has a log";
  running_.insert(attempt);
  Ask(attempt, 0, {});
  EXPECT_EQ(Answer()->text, "") << "it has written nothing yet";
  Ask(attempt, 0, Seconds(60));
  Write(attempt, "first\n");
  auto piece = Answer();
  EXPECT_EQ(piece->text, "first\n");
  EXPECT_FALSE(piece->ended);
  Ask(attempt, 6, Seconds(60));
  Write(attempt, "first\nsecond\n");
  piece = Answer();
  EXPECT_EQ(piece->text, "second\n");
  EXPECT_EQ(piece->start, 6u);
  Ask(attempt, 13, Seconds(60));
  loop_.Run([&] { running_.clear(); });
  piece = Answer();
  EXPECT_EQ(piece->text, "");
  EXPECT_TRUE(piece->ended);
}

TEST_F(AttemptLogsTest, ALeavingWorkerGivesTheNewestLogsFirstAndThoseOfFailedAttemptsBeforeOthers) {
  Write(Attempt(1, 1), "old", false, 30);
  Write(Attempt(1, 2), "new", false, 10);
  Write(Attempt(1, 3), "failed", true, 90);
  Write(Attempt(1, 4), "runs");
  Write(Attempt(9, 1), "of a job that the master has forgotten", false, 15);
  Write(Attempt(9, 2), "of a job that the master has forgotten", false, 20);
  running_ = {Attempt(1, 4)};
  connected_ = false;
  EXPECT_THAT(Given(), ElementsAre());
  connected_ = true;
  EXPECT_THAT(Given(), ElementsAre("job_1_0001/3!", "job_1_0001/2", "job_1_0009/1", "job_1_0001/1"));
  EXPECT_EQ(last_, "old");
  running_.clear();
  Write(Attempt(1, 2), std::string(kKeptLogBytes, 'x') + "end", false, 5);
  EXPECT_THAT(Given(), ElementsAre("job_1_0001/4", "job_1_0001/2", "job_1_0009/2"))
      << "those that were written since, and those that it has not given";
  EXPECT_THAT(Given(), ElementsAre());
}

TEST_F(AttemptLogsTest, OfALongLogItsEndIsGiven) {
  Write(Attempt(1, 1), std::string(kKeptLogBytes, 'x') + "end");
  EXPECT_THAT(Given(), ElementsAre("job_1_0001/1"));
  EXPECT_EQ(last_, std::string(kKeptLogBytes - 3, 'x') + "end");
  EXPECT_EQ(last_bytes_, kKeptLogBytes + 3);
}

}  // namespace
}  // namespace mr::worker
