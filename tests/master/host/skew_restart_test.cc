// Keys that are too heavy are still named by a master that started again, from the journal alone or from a snapshot.
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "common/rpc/wire.h"
#include "master/host/host.h"
#include "master/host/master.h"
#include "tests/master/host/fake_worker.h"

namespace mr::master {
namespace {

using test::FakeWorker;

constexpr uint64_t kMiB = 1 << 20;

// Whether a snapshot stands for the journal at each restart.
class SkewRestartTest : public testing::TestWithParam<bool> {
 protected:
  SkewRestartTest() {
    char path[] = "/tmp/skew_restart_test.XXXXXX";
    root_ = mkdtemp(path);
    options_.directory = root_ + "/master";
    options_.learns = false;
    options_.snapshot_bytes = GetParam() ? journal::kHeaderBytes : 64 << 20;
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
    worker_.edit = [](const AttemptId& attempt, rpc::Finished::Builder finished) {
      if (attempt.task.stage == 0) ReportHotKey(finished);
    };
  }
  ~SkewRestartTest() noexcept override {
    client_ = nullptr;
    master_ = nullptr;
    (void)RemoveTree(root_);
  }

  // Two partitions of 1 and 30 MiB; nearly all of the second is one key.
  static void ReportHotKey(rpc::Finished::Builder finished) {
    auto rows = finished.getManifest().getTable();
    for (unsigned p = 0; p < 2; ++p) {
      rows[p].setRecords(p == 0 ? 1000 : 30'000);
      rows[p].setBytes(p == 0 ? kMiB : 30 * kMiB);
    }
    auto key = finished.initHotKeys(1)[0];
    key.setPartition(1);
    key.setHash(7);
    key.setPrefix(kj::StringPtr("GB").asBytes());
    key.setRecords(25'000);
    key.setBytes(25 * kMiB);
  }

  void StartMaster() {
    auto master = Master::Start(options_);
    ASSERT_TRUE(master.ok()) << master.status().ToString();
    master_ = *std::move(master);
    options_.port = master_->port();
    client_ = std::make_unique<test::FakeClient>(io_, options_.port);
  }
  void RestartMaster() {
    // Groups of records behind all that is looked at, so that a snapshot covers it.
    for (int weight = 1; weight <= 2; ++weight) ASSERT_TRUE(client_->SetQueue("other", weight, 0, 1).ok());
    client_ = nullptr;
    master_ = nullptr;
    if (GetParam()) {
      const auto files = journal::ListFiles(options_.directory + "/journal");
      ASSERT_TRUE(files.ok()) << files.status().ToString();
      const uint64_t until = files->segments.back().after;
      // The master may have made one of all closed segments before it ended.
      if (files->snapshots.empty() || files->snapshots.back().after < until) {
        HostOptions options{.directory = options_.directory, .policies = options_.policies};
        const Status taken = TakeSnapshot({.directory = options.directory}, until);
        ASSERT_TRUE(taken.ok()) << taken.ToString();
      }
    }
    StartMaster();
  }
  std::vector<std::string> SkewOf(JobId id) {
    auto request = client_->master().jobRequest();
    rpc::ToWire(id, request.initJob());
    auto response = request.send().wait(io_.io.waitScope);
    std::vector<std::string> texts;
    for (auto skew : response.getStatus().getSkew()) texts.push_back(skew.getText().cStr());
    return texts;
  }

  std::string root_;
  Master::Options options_;
  test::TestIo io_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<test::FakeClient> client_;
  FakeWorker worker_{io_, "one"};
};

TEST_P(SkewRestartTest, HotKeysAreNamedAsBeforeWhileTheJobRunsAndWhenItHasEnded) {
  StartMaster();
  if (HasFatalFailure()) return;
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  // Two of three maps commit.
  worker_.hold = [](const AttemptId& a) { return a.task.stage == 1 || a.task.task == 2; };
  const auto job = client_->Submit(
      [&](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, root_ + "/input", root_ + "/out", 2); });
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  const auto is = [&](const char* text) {
    return io_.Until([&] { return SkewOf(*job) == std::vector<std::string>{text}; });
  };
  ASSERT_TRUE(
      is("key 'GB' has about 81 % of the 62,000 records seen from stage 'count' "
         "(partition 1: 60 MiB, 30 times the median)"))
      << testing::PrintToString(SkewOf(*job));
  const auto two = SkewOf(*job);
  RestartMaster();
  if (HasFatalFailure()) return;
  EXPECT_EQ(SkewOf(*job), two);

  // Commits after the restart are added to those before it.
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  worker_.hold = [](const AttemptId& a) { return a.task.stage == 1; };
  worker_.FinishHeld();
  ASSERT_TRUE(
      is("key 'GB' has about 81 % of the 93,000 records from stage 'count' "
         "(partition 1: 90 MiB, 30 times the median)"))
      << testing::PrintToString(SkewOf(*job));
  const auto three = SkewOf(*job);
  worker_.hold = [](const AttemptId&) { return false; };
  worker_.FinishHeld();
  ASSERT_TRUE(io_.Until([&] {
    worker_.FinishHeld();
    return client_->Job(*job).state == rpc::JobState::SUCCEEDED;
  })) << client_->Job(*job).error;
  EXPECT_EQ(SkewOf(*job), three);
  RestartMaster();
  if (HasFatalFailure()) return;
  EXPECT_EQ(SkewOf(*job), three);
}

INSTANTIATE_TEST_SUITE_P(, SkewRestartTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "FromASnapshot" : "FromTheJournalAlone"; });

}  // namespace
}  // namespace mr::master
