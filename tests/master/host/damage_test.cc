// A reader's complaint about an output makes the worker that holds it check its bytes. If they are damaged, that
// replica is lost, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "common/rpc/wire.h"
#include "tests/master/host/fake_data.h"
#include "tests/master/host/master_fixture.h"

namespace mr::test {
namespace {

using testing::HasSubstr;

// Two workers: `holds` has run the three maps of a job, `reads` runs (and holds back) its reduce.
class DamageTest : public testing::Test {
 protected:
  DamageTest() {
    char path[] = "/tmp/damage_test.XXXXXX";
    root_ = mkdtemp(path);
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
    Start();
    holds_.data_address = data_.address();
    reads_.data_address = other_data_.address();
    reads_.hold = [](const AttemptId& a) { return a.task.stage == 1; };
  }
  ~DamageTest() noexcept override {
    master_ = nullptr;
    (void)RemoveTree(root_);
  }
  void Start() {
    master::Master::Options options;
    options.directory = root_ + "/master";
    options.port = port_;
    options.policies = policies_;
    auto started = master::Master::Start(options);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    master_ = *std::move(started);
    port_ = master_->port();
    client_ = std::make_unique<FakeClient>(io_, port_);
  }
  void Restart() {
    client_ = nullptr;
    master_ = nullptr;
    Start();
  }
  std::function<void(rpc::JobSpec::Builder)> Spec(const std::string& output) {
    return [this, output](rpc::JobSpec::Builder spec) { FillTwoStages(spec, root_ + "/input", root_ + output, 1); };
  }
  // Maps on holds_, then the reduce on reads_, which has only one slot and registers behind them.
  void RunMaps() {
    holds_.hold = [](const AttemptId&) { return true; };
    ASSERT_TRUE(holds_.Register(port_).ok());
    auto job = client_->Submit(Spec("/out"));
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    job_ = *job;
    ASSERT_TRUE(io_.Until([&] { return holds_.held.size() == 3; }));
    holds_.hold = [](const AttemptId& a) { return a.task.stage == 1; };
    if (reads_.id == 0) {
      ASSERT_TRUE(reads_.Register(port_).ok());
    }
    holds_.FinishHeld();
    ASSERT_TRUE(io_.Until([&] { return Reader() != nullptr; })) << Why(1, 0);
  }
  TaskId Map(uint32_t task) const { return {job_, 0, task}; }
  const AttemptId* Reader() {
    for (FakeWorker* w : {&reads_, &holds_}) {
      for (const AttemptId& a : w->held) {
        if (a.task == TaskId{job_, 1, 0}) return &a;
      }
    }
    return nullptr;
  }
  FakeWorker& ReadingWorker() { return reads_.held.contains(*Reader()) ? reads_ : holds_; }
  void Complain(const AttemptId& of, uint32_t generation, const FakeWorker& at, bool unreachable = false) {
    ReadingWorker().Complain(*Reader(), of, generation, {at.id}, at.incarnation(), unreachable);
  }
  std::string Why(uint32_t stage, uint32_t task) {
    std::string text;
    const TaskLetter letter = stage == 0 ? TaskLetter::kMap : TaskLetter::kReduce;
    for (const auto& line : client_->Why(Name(TaskId{job_, stage, task}, letter))) {
      text += line + "\n";
    }
    return text;
  }
  size_t Launches(uint32_t map) {
    size_t n = 0;
    for (FakeWorker* w : {&reads_, &holds_}) {
      n += static_cast<size_t>(std::count_if(w->launched.begin(), w->launched.end(),
                                             [&](const AttemptId& a) { return a.task == Map(map); }));
    }
    return n;
  }
  // Returns when the master has done everything that earlier calls lead to.
  void Settle() {
    for (int i = 0; i < 3; ++i) (void)client_->Job(job_);
  }

  std::string root_, policies_ = "fifo";
  uint16_t port_ = 0;
  TestIo io_;
  std::unique_ptr<master::Master> master_;
  std::unique_ptr<FakeClient> client_;
  FakeWorker holds_{io_, "holds", 3}, reads_{io_, "reads", 3};
  FakeData data_{io_, 1}, other_data_{io_, 1};
  JobId job_;
};

TEST_F(DamageTest, ADamagedOutputIsMadeAgainOnceAndWhySaysSo) {
  ASSERT_NO_FATAL_FAILURE(RunMaps());
  const AttemptId map{Map(1), 1};
  data_.findings[map] = rpc::Finding::DAMAGED;
  Complain(map, 1, holds_);
  Complain(map, 1, holds_);
  ASSERT_TRUE(io_.Until([&] { return Launches(1) == 2; })) << Why(0, 1);
  EXPECT_EQ(data_.verified[map], 1) << "two complaints, one look";
  EXPECT_EQ(data_.partitions, 1u);
  const std::string why = Why(0, 1);
  EXPECT_THAT(why, HasSubstr("output lost " + Name(map, TaskLetter::kMap) + " on w" + std::to_string(holds_.id) +
                             ": damaged on its worker's disk: partition 1, chunk 0"));
  EXPECT_THAT(why, HasSubstr("no other replica is left, so the task runs again"));
  EXPECT_THAT(why, HasSubstr("launched " + Name(AttemptId{Map(1), 2}, TaskLetter::kMap)));
  std::string of_job;
  for (const auto& line : client_->Why(Name(job_))) of_job += line + "\n";
  EXPECT_THAT(of_job, HasSubstr("damaged on its worker's disk"));
  EXPECT_EQ(Launches(0), 1u);
  EXPECT_EQ(Launches(2), 1u);
  Complain(map, 1, holds_);  // late: of an output that is not there any more
  ASSERT_TRUE(io_.Until([&] { return !ReadingWorker().directory[0].empty(); }));
  reads_.hold = holds_.hold = [](const AttemptId&) { return false; };
  reads_.FinishHeld();
  holds_.FinishHeld();
  EXPECT_TRUE(client_->UntilState(job_, rpc::JobState::SUCCEEDED)) << Why(1, 0);
  EXPECT_EQ(Launches(1), 2u);
  EXPECT_EQ(client_->Worker(holds_.id).first, "live");
}

TEST_F(DamageTest, AWholeOutputStaysAndAnUnreachableOneIsNotRead) {
  ASSERT_NO_FATAL_FAILURE(RunMaps());
  const AttemptId map{Map(1), 1};
  Complain(map, 1, holds_);
  ASSERT_TRUE(io_.Until([&] { return data_.verified[map] == 1; }));
  Settle();
  // A network that failed says nothing about bytes.
  data_.findings[{Map(0), 1}] = rpc::Finding::DAMAGED;
  Complain({Map(0), 1}, 1, holds_, /*unreachable=*/true);
  ASSERT_TRUE((io_.Until([&] { return data_.probed[{Map(0), 1}] == 1; })));
  Complain(map, 1, holds_);
  ASSERT_TRUE(io_.Until([&] { return data_.verified[map] == 2; }));
  Settle();
  EXPECT_EQ((data_.verified[{Map(0), 1}]), 0);
  EXPECT_EQ(Launches(0) + Launches(1) + Launches(2), 3u);
}

TEST_F(DamageTest, OfTwoReplicasTheDamagedOneGoesAndNothingRunsAgain) {
  policies_ = "fifo,mantri_replication(always=on)";
  Restart();
  reads_.replicates = true;
  ASSERT_NO_FATAL_FAILURE(RunMaps());
  const std::map<uint32_t, uint32_t> two_of_each = {{0, 1}, {2, 3}}, one_has_one = {{0, 1}, {1, 1}, {2, 2}};
  ASSERT_TRUE(io_.Until([&] { return client_->TasksByReplicas(job_) == two_of_each; })) << Why(0, 1);
  reads_.replicates = holds_.replicates = false;  // no third one comes
  const AttemptId map{Map(1), 1};
  data_.findings[map] = rpc::Finding::DAMAGED;
  Complain(map, 1, holds_);
  ASSERT_TRUE(io_.Until([&] { return client_->TasksByReplicas(job_) == one_has_one; })) << Why(0, 1);
  EXPECT_THAT(Why(0, 1), HasSubstr("1 other replica is left to read"));
  EXPECT_EQ(Launches(1), 1u);
  // The other one, too: now the map runs again, once.
  other_data_.findings[map] = rpc::Finding::DAMAGED;
  Complain(map, 1, reads_);
  ASSERT_TRUE(io_.Until([&] { return Launches(1) == 2; })) << Why(0, 1);
  EXPECT_EQ(other_data_.verified[map], 1);
}

TEST_F(DamageTest, AWorkerWhoseMemoryDamagesOutputsGetsNothingNewUntilAnOperatorSaysSo) {
  ASSERT_NO_FATAL_FAILURE(RunMaps());
  reads_.hold = [](const AttemptId&) { return true; };
  for (uint32_t t = 0; t < 3; ++t) {
    data_.findings[{Map(t), 1}] = rpc::Finding::OTHER_CONTENT;
    EXPECT_EQ(client_->Worker(holds_.id).first, "live") << "after " << t;
    Complain({Map(t), 1}, 1, holds_);
    ASSERT_TRUE(io_.Until([&] { return Launches(t) == 2; })) << Why(0, t);
  }
  EXPECT_THAT(Why(0, 2), HasSubstr("damaged in its worker's memory before it was stored"));
  ASSERT_TRUE(io_.Until([&] { return client_->Worker(holds_.id).first == "distrusted"; }));
  // It gets nothing new of this job and of others, not even after a restart of the master and of itself.
  Restart();
  holds_.Disconnect();
  holds_.Restart();
  ASSERT_TRUE(holds_.Register(port_).ok());
  ASSERT_TRUE(reads_.Register(port_).ok());
  EXPECT_EQ(client_->Worker(holds_.id).first, "distrusted");
  holds_.launched.clear();
  auto other = client_->Submit(Spec("/o2"));
  ASSERT_TRUE(other.ok());
  reads_.hold = [](const AttemptId&) { return false; };
  reads_.FinishHeld();
  ASSERT_TRUE(client_->UntilState(*other, rpc::JobState::SUCCEEDED));
  EXPECT_THAT(holds_.launched, testing::IsEmpty());
  ASSERT_TRUE(client_->Drain(holds_.id, false).ok());
  EXPECT_EQ(client_->Worker(holds_.id).first, "live");
  reads_.hold = holds_.hold = [](const AttemptId&) { return true; };
  job_ = *client_->Submit(Spec("/o3"));
  EXPECT_TRUE(io_.Until([&] { return !holds_.launched.empty(); })) << "undrained, it works again";
}

// S1: the right worker, and an earlier or later life of it.
TEST_F(DamageTest, AReportOfAnotherLifeOfTheWorkerCommitsNothing) {
  ASSERT_TRUE(holds_.Register(port_).ok());
  holds_.hold = [](const AttemptId&) { return true; };
  auto job = client_->Submit(Spec("/o"));
  ASSERT_TRUE(job.ok());
  job_ = *job;
  ASSERT_TRUE(io_.Until([&] { return holds_.held.size() == 3; }));
  const AttemptId map = *holds_.held.begin();
  auto request = holds_.master().reportRequest();
  request.initWorker().setId(holds_.id);
  request.getWorker().setIncarnation(holds_.incarnation() + 1);
  auto report = request.initReports(1)[0];
  report.setNumber(1'000'000);
  rpc::ToWire(map, report.initAttempt());
  auto manifest = report.initFinished().initManifest();
  manifest.setPartitions(1);
  io_.Wait(holds_.SendAsItIs(kj::mv(request)));
  Settle();
  EXPECT_EQ(client_->Job(job_).done[0], 0u) << Why(0, map.task.task);
  holds_.FinishHeld();
  ASSERT_TRUE(io_.Until([&] { return client_->Job(job_).done[0] == 3; }));
}

}  // namespace
}  // namespace mr::test
