// The authority of a cluster is rotated while jobs run and files are read, with the real binaries (common/adr/0020).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "common/io/clock.h"
#include "common/secure/authority.h"
#include "common/secure/certificate.h"
#include "common/secure/cluster_files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RotationClusterTest : public ::testing::Test {
 protected:
  static constexpr int kWorkers = 5;  // 3 at the start: 0, 1, and 2, which is off; 3 and 4 join later
  RotationClusterTest()
      : cluster_({.workers = kWorkers,
                  .master_flags = {"--bind", "0.0.0.0", "--advertise", "127.0.0.1"},
                  .flags_of = {{"--join", Path("w0.join")},
                               {"--join", Path("w1.join")},
                               {"--join", Path("w2.join")},
                               {"--join", Path("w3.join")},
                               {"--join", Path("w4.join")}}}) {}

  void SetUp() override {
    const RunResult init = RunMrctl(
        {"cluster", "init", "--data", cluster_.master_data(), "--subject", "root", "--out", Path("before.token")});
    ASSERT_EQ(init.exit, 0) << init.err;
    ASSERT_TRUE(cluster_.StartMaster().ok()) << cluster_.Logs();
    for (const int worker : {0, 1, 2, 4}) {
      ASSERT_TRUE(JoinFile(worker));
      const Status started = cluster_.StartWorker(worker);
      ASSERT_TRUE(started.ok()) << started.ToString() << cluster_.Logs();
    }
    ASSERT_TRUE(Within(Seconds(20), [&] { return Live(Path("before.token")) == 4; })) << cluster_.Logs();
  }
  void TearDown() override { StopLoad(); }

  std::string Path(const std::string& name) const { return files_ / name; }
  static SpawnOptions With(const std::string& token_file) {
    SpawnOptions options;
    options.env = {"MR_TOKEN_FILE=" + token_file};
    return options;
  }
  RunResult Ctl(const std::vector<std::string>& args, const std::string& token_file) const {
    return cluster_.Mrctl(args, Seconds(120), With(token_file));
  }
  // Runs mrctl on the files of the master.
  RunResult Local(std::vector<std::string> args) const {
    args.insert(args.begin() + 2, {"--data", cluster_.master_data()});
    return RunMrctl(args);
  }
  bool JoinFile(int worker, std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {"token",     "create",
                                     "--join",    Path("w" + std::to_string(worker) + ".join"),
                                     "--address", cluster_.master_address()};
    args.insert(args.end(), more.begin(), more.end());
    const RunResult made = Local(args);
    EXPECT_EQ(made.exit, 0) << made.err;
    return made.exit == 0;
  }
  std::string NameOf(int worker) const {
    std::string name = *ReadFile(cluster_.worker_data(worker) + "/worker_id");
    while (!name.empty() && name.back() == '\n') name.pop_back();
    return name;
  }
  static bool Within(Duration limit, const std::function<bool()>& met) {
    for (const Instant end = Now() + limit; Now() < end; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      if (met()) return true;
    }
    return met();
  }
  int Live(const std::string& token_file) const {
    const std::string out = Ctl({"workers", "-o", "ndjson"}, token_file).out;
    int live = 0;
    for (size_t at = 0; (at = out.find("\"state\":\"live\"", at)) != std::string::npos; ++at) ++live;
    return live;
  }
  // Returns whether the worker's certificate is of the master's newest authority, and what it trusts is what the master
  // trusts.
  bool HasTaken(int worker) const {
    const std::string own = cluster_.worker_data(worker) + "/credentials";
    const auto trusted = ReadFile(secure::CredentialsPath(cluster_.master_data()) + "/ca.pem");
    const auto authority = secure::ReadAuthority(*trusted);
    const auto pem = ReadFile(own + "/worker.pem");
    const secure::UnixTime now{static_cast<int64_t>(WallClockMs() / 1000)};
    return pem.ok() && ReadFile(own + "/ca.pem").value() == *trusted &&
           secure::CheckNodeCertificate(*pem, authority->current, now).ok();
  }

  // Runs jobs with a shuffle, and reads a file, in two loops. Each takes the token file that `token_` names when a
  // round begins.
  void StartLoad() {
    WriteBible(Path("bible"), 400'000);
    expected_ = ExpectedWordCount(Path("bible"));
    UseToken(Path("before.token"));
    ASSERT_EQ(Ctl({"fs", "put", "--replication", "2", Path("bible"), "/bible"}, Path("before.token")).exit, 0);
    load_.emplace_back([this] {
      while (!stop_) RunJob();
    });
    load_.emplace_back([this] {
      const std::string bible = *ReadFile(Path("bible"));
      while (!stop_) {
        const RunResult read = Ctl({"fs", "cat", "/bible"}, Token());
        if (read.exit != 0 || read.out != bible) Wrong("fs cat: " + std::to_string(read.exit) + " " + read.err);
        ++reads_;
      }
    });
  }
  void RunJob() {
    const std::string token = Token(), output = "/counts" + std::to_string(jobs_);
    const RunResult job =
        Ctl({"submit", "wordcount", "--input", "/bible", "--output", output, "--reduces", "3", "-o", "json"}, token);
    const RunResult counts = Ctl({"fs", "cat", output}, token);
    if (job.exit != 0) Wrong("job: " + std::to_string(job.exit) + " " + job.out + job.err);
    if (SortedLines(counts.out) != expected_) Wrong("answer of " + output + ": " + counts.err);
    const RunResult attempts = Ctl({"job", "attempts", "last", "-o", "json"}, token);
    if (attempts.exit != 0) Wrong("attempts: " + attempts.err);
    for (const char* failure : {"\"user\"", "\"environment\""}) {
      if (attempts.out.find(failure) != std::string::npos) Wrong("an attempt failed: " + attempts.out);
    }
    ++jobs_;
  }
  void StopLoad() {
    stop_ = true;
    for (std::thread& thread : load_) thread.join();
    load_.clear();
  }
  // Waits until each loop has begun and ended a round from now on.
  void Rounds() {
    const int jobs = jobs_, reads = reads_;
    EXPECT_TRUE(Within(Seconds(120), [&] { return jobs_ >= jobs + 2 && reads_ >= reads + 2; })) << cluster_.Logs();
  }
  void UseToken(const std::string& file) {
    const std::lock_guard lock(mutex_);
    token_ = file;
  }
  std::string Token() {
    const std::lock_guard lock(mutex_);
    return token_;
  }
  void Wrong(const std::string& what) {
    const std::lock_guard lock(mutex_);
    wrong_.push_back(what);
  }
  std::vector<std::string> WhatWentWrong() {
    const std::lock_guard lock(mutex_);
    return wrong_;
  }

  TempDirectory files_;
  Cluster cluster_;
  decltype(ExpectedWordCount("")) expected_;
  std::vector<std::thread> load_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> jobs_ = 0, reads_ = 0;
  std::mutex mutex_;
  std::string token_;
  std::vector<std::string> wrong_;
};

TEST_F(RotationClusterTest, UnderLoadNothingFailsAndTheOldOnesEndWithFinish) {
  ASSERT_TRUE(cluster_.StopWorker(2).ok());
  ASSERT_TRUE(cluster_.StopWorker(4).ok());  // off until after the finish
  StartLoad();
  Rounds();

  const RunResult rotate = Local({"cluster", "rotate"});
  ASSERT_EQ(rotate.exit, 0) << rotate.err;
  EXPECT_THAT(rotate.err, HasSubstr("the master has a new certificate"));
  for (const int worker : {0, 1}) {
    EXPECT_TRUE(Within(Seconds(20), [&] { return HasTaken(worker); })) << worker << cluster_.Logs();
  }
  Rounds();  // with a token of before

  const RunResult made = Local({"token", "create", "--subject", "anna", "--roles", "admin,submitter", "--life", "1h",
                                "--out", Path("after.token")});
  ASSERT_EQ(made.exit, 0) << made.err;
  UseToken(Path("after.token"));
  Rounds();

  // A worker that was off, with a certificate of before, renews it; a new one joins.
  ASSERT_TRUE(cluster_.StartWorker(2).ok()) << cluster_.Logs();
  EXPECT_TRUE(Within(Seconds(20), [&] { return HasTaken(2); })) << cluster_.Logs();
  ASSERT_TRUE(JoinFile(3));
  ASSERT_TRUE(cluster_.StartWorker(3).ok()) << cluster_.Logs();
  EXPECT_TRUE(HasTaken(3)) << cluster_.Logs();
  EXPECT_TRUE(Within(Seconds(20), [&] { return Live(Path("before.token")) == 4; })) << cluster_.Logs();
  Rounds();
  // One starts again.
  ASSERT_TRUE(cluster_.StopWorker(1).ok());
  ASSERT_TRUE(cluster_.StartWorker(1).ok()) << cluster_.Logs();
  Rounds();

  const RunResult early = Local({"cluster", "rotate", "--finish"});
  EXPECT_EQ(early.exit, 3) << early.err;
  EXPECT_THAT(early.err, HasSubstr("worker:" + NameOf(4)));
  EXPECT_THAT(early.err, HasSubstr("(root)"));
  EXPECT_THAT(early.err, Not(HasSubstr("worker:" + NameOf(0))));
  EXPECT_EQ(Ctl({"jobs"}, Path("before.token")).exit, 0);
  const RunResult finish = Local({"cluster", "rotate", "--finish", "--force"});
  ASSERT_EQ(finish.exit, 0) << finish.err;
  for (const int worker : {0, 1, 2, 3}) {
    EXPECT_TRUE(Within(Seconds(20), [&] { return HasTaken(worker); })) << worker << cluster_.Logs();
  }
  Rounds();
  StopLoad();
  EXPECT_THAT(WhatWentWrong(), IsEmpty()) << cluster_.Logs();

  const RunResult old = Ctl({"jobs"}, Path("before.token"));
  EXPECT_EQ(old.exit, 6) << old.err;
  EXPECT_THAT(old.err, HasSubstr("rotated"));
  EXPECT_THAT(old.err, HasSubstr("mrctl token create"));

  // A worker that was off all the time is refused, and its log has what to do, which helps.
  ASSERT_TRUE(cluster_.StartWorker(4).ok()) << cluster_.Logs();
  const std::string remedy = "mrctl token create --join FILE --worker " + NameOf(4);
  EXPECT_TRUE(Within(Seconds(20), [&] { return cluster_.Logs(100).find(remedy) != std::string::npos; }))
      << cluster_.Logs();
  cluster_.KillWorker(4);
  ASSERT_TRUE(std::filesystem::remove(Path("w4.join")));
  ASSERT_TRUE(JoinFile(4, {"--worker", NameOf(4)}));
  const Status joined = cluster_.StartWorker(4);
  EXPECT_TRUE(joined.ok()) << joined.ToString();
  EXPECT_TRUE(HasTaken(4));
  EXPECT_TRUE(Within(Seconds(20), [&] { return Live(Path("after.token")) == 5; })) << cluster_.Logs();
}

}  // namespace
}  // namespace mr::test
