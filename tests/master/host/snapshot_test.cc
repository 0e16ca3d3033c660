// Snapshots replace the journal before them, ended jobs are bounded, and another release's journal is taken over.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "master/host/host.h"
#include "master/host/master.h"
#include "master/host/read_journal.h"
#include "tests/master/host/fake_worker.h"

namespace mr::master {
namespace {

using test::FakeClient;
using test::FakeWorker;
using test::TestIo;

constexpr uint32_t kOtherVersion = 77;

class SnapshotTest : public testing::Test {
 protected:
  SnapshotTest() {
    char path[] = "/tmp/snapshot_test.XXXXXX";
    root_ = mkdtemp(path);
    options_.directory = root_ + "/master";
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
  }
  ~SnapshotTest() noexcept override {
    master_ = nullptr;
    (void)RemoveTree(root_);
  }
  Status StartMaster() {
    master_ = nullptr;
    MR_ASSIGN_OR_RETURN(master_, Master::Start(options_));
    options_.port = master_->port();
    client_ = std::make_unique<FakeClient>(io_, options_.port);
    return Status::Ok();
  }
  void StopMaster() {
    client_ = nullptr;
    master_ = nullptr;
  }
  JobId Submit(const std::string& output) {
    auto job = client_->Submit(
        [&](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, root_ + "/input", root_ + "/" + output, 2); });
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    return job.ok() ? *job : JobId{};
  }
  void RunJobs(int n) {
    for (int i = 0; i < n; ++i) {
      const JobId job = Submit("out" + std::to_string(next_++));
      ASSERT_TRUE(client_->UntilState(job, rpc::JobState::SUCCEEDED)) << client_->Job(job).error;
    }
  }
  // A job with all maps committed and both reduces held by the worker.
  JobId HoldAJob(FakeWorker& worker, const std::string& output) {
    worker.hold = [](const AttemptId& a) { return a.task.stage == 1; };
    worker.directory.clear();
    const size_t before = worker.verdicts.size();
    const JobId job = Submit(output);
    EXPECT_TRUE(io_.Until([&] { return worker.held.size() == 2 && worker.verdicts.size() >= before + 3; }));
    return job;
  }
  // The master's answers about its jobs, a line each, without the time that running ones took.
  std::vector<std::string> Told() {
    auto response = client_->master().jobsRequest().send().wait(io_.io.waitScope);
    std::vector<std::string> lines;
    for (auto job : response.getJobs()) {
      std::string line = Name(rpc::FromWire(job.getId())) + " " + std::to_string(static_cast<int>(job.getState())) +
                         " " + job.getError().cStr() + " " + std::to_string(job.getOutputBytes()) + " " +
                         std::to_string(job.getOutputParts()) + " " + std::to_string(job.getSubmittedUnixMs());
      for (auto stage : job.getStages()) {
        line += " " + std::to_string(stage.getDone()) + "/" + std::to_string(stage.getTasks());
      }
      lines.push_back(line);
    }
    return lines;
  }
  Status ErrorOf(JobId job) {
    auto request = client_->master().jobRequest();
    rpc::ToWire(job, request.initJob());
    auto response = request.send().wait(io_.io.waitScope);
    return rpc::FromOutcome(response.getOutcome());
  }
  std::string JournalDirectory() const { return options_.directory + "/journal"; }
  uint64_t JournalBytes() const {
    uint64_t bytes = 0;
    const auto names = ListDirectory(JournalDirectory()).value();
    for (const auto& name : names) {
      if (const auto size = FileSize(JournalDirectory() + "/" + name); size.ok()) bytes += *size;
    }
    return bytes;
  }
  bool UntilLost() {
    return io_.Until([&] {
      return client_->master().workersRequest().send().wait(io_.io.waitScope).getWorkers()[0].getState() == "lost";
    });
  }
  // Restarts the master and compares its state and its answers. The worker stays away.
  void ExpectTheSameAfterARestart(FakeWorker& worker) {
    const auto told = Told();
    worker.Disconnect();
    ASSERT_TRUE(UntilLost());
    const uint64_t live = master_->StateDigest();
    StopMaster();
    const auto replayed = ReplayedDigest(options_.directory);
    ASSERT_TRUE(replayed.ok()) << replayed.status().ToString();
    EXPECT_EQ(*replayed, live);
    ASSERT_TRUE(StartMaster().ok());
    EXPECT_EQ(Told(), told);
  }
  bool UntilSnapshot(size_t n) {
    return io_.Until([&] { return journal::ListFiles(JournalDirectory())->snapshots.size() >= n; });
  }
  // Closes the last segment behind one more record.
  void CloseSegment(journal::RecordClass record_class, RecordKind kind, const std::string& payload) {
    auto journal = journal::Journal::Open({.directory = JournalDirectory(), .segment_bytes = 1},
                                          [](const journal::Record&, uint64_t) { return Status::Ok(); });
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    (*journal)->Start((*journal)->recovery().end.epoch, nullptr);
    (*journal)->WaitDurable((*journal)->Append(record_class, static_cast<uint8_t>(kind), payload));
  }

  std::string root_;
  Master::Options options_;
  TestIo io_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<FakeClient> client_;
  int next_ = 0;
};

// A replay, and all of what it came to: the records that a snapshot of it would have.
struct Replayed {
  explicit Replayed(const std::string& directory) : core({.directory = directory}, SpecOf) {
    auto result = ReadJournal(&core);
    status = result.status();
    if (!status.ok()) return;
    snapshot = result->snapshot;
    core.Save([this](RecordKind kind, const std::string& part) {
      parts.push_back(std::to_string(static_cast<int>(kind)) + part);
    });
  }
  MasterCore core;
  Status status;
  uint64_t snapshot = 0;
  std::vector<std::string> parts;
};

TEST_F(SnapshotTest, ASnapshotGivesWhatTheJournalBeforeItGives) {
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  RunJobs(2);
  const JobId held = HoldAJob(worker, "held");
  StopMaster();
  CloseSegment(journal::RecordClass::kHard, RecordKind::kWorker, EncodeFields(WorkerNamed{"more", WorkerId{9}}));
  const Replayed whole(options_.directory);
  ASSERT_TRUE(whole.status.ok()) << whole.status.ToString();
  const uint64_t until = journal::ListFiles(JournalDirectory())->segments.back().after;
  const Status taken = TakeSnapshot({.directory = options_.directory}, until);
  ASSERT_TRUE(taken.ok()) << taken.ToString();
  const Replayed shorter(options_.directory);
  ASSERT_TRUE(shorter.status.ok()) << shorter.status.ToString();
  EXPECT_EQ(whole.snapshot, 0u);
  EXPECT_EQ(shorter.snapshot, until);
  EXPECT_GT(whole.parts.size(), 8u);
  EXPECT_TRUE(whole.parts == shorter.parts);
  // And the job goes on from it.
  ASSERT_TRUE(StartMaster().ok());
  EXPECT_THAT(client_->Job(held).done, testing::ElementsAre(3, 0));
  ASSERT_TRUE(worker.Register(options_.port).ok());
  EXPECT_THAT(worker.killed, testing::IsEmpty()) << "a running attempt goes on";
  worker.hold = [](const AttemptId&) { return false; };
  worker.FinishHeld();
  EXPECT_TRUE(client_->UntilState(held, rpc::JobState::SUCCEEDED)) << client_->Job(held).error;
}

TEST_F(SnapshotTest, AnExcludedWorkerIsGivenUpAndStaysOutUntilItIsIncluded) {
  options_.snapshot_bytes = 16 << 10;
  FakeWorker bad(io_, "bad"), one(io_, "one");
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(bad.Register(options_.port).ok());
  const JobId held = HoldAJob(bad, "held");
  ASSERT_TRUE(client_->Exclude(bad.id, true).ok());
  EXPECT_EQ(client_->Exclude(99, true).code(), Code::kNotFound);
  EXPECT_EQ(client_->Worker(bad.id).first, "excluded");
  // Its attempts and its outputs are run again elsewhere without waiting for it.
  ASSERT_TRUE(one.Register(options_.port).ok());
  ASSERT_TRUE(client_->UntilState(held, rpc::JobState::SUCCEEDED)) << client_->Job(held).error;
  const auto decisions = client_->Decisions(held);
  EXPECT_THAT(decisions, testing::Contains("launched attempt_1_0001_0_m_000000_1 w" + std::to_string(bad.id)));
  EXPECT_TRUE(decisions.back().starts_with("job committed")) << decisions.back();
  RunJobs(8);
  ASSERT_TRUE(UntilSnapshot(1));
  for (const bool new_life : {false, true}) {
    StopMaster();
    ASSERT_TRUE(StartMaster().ok());
    EXPECT_EQ(client_->Worker(bad.id).first, "excluded");
    bad.Disconnect();
    if (new_life) bad.Restart();
    const Status refused = bad.Register(options_.port);
    EXPECT_EQ(refused.code(), Code::kRejected);
    EXPECT_THAT(refused.message(), testing::HasSubstr("mrctl worker include w" + std::to_string(bad.id)));
  }
  ASSERT_TRUE(client_->Exclude(bad.id, false).ok());
  EXPECT_EQ(client_->Worker(bad.id).first, "lost") << "until it comes";
  bad.Disconnect();
  ASSERT_TRUE(bad.Register(options_.port).ok());
  EXPECT_EQ(client_->Worker(bad.id).first, "live");
}

TEST_F(SnapshotTest, TheJournalStaysSmallAndTheStateWhatItWas) {
  options_.snapshot_bytes = 16 << 10;
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  for (int round = 0; round < 3; ++round) {
    RunJobs(8);
    ASSERT_TRUE(UntilSnapshot(1));
    ASSERT_NO_FATAL_FAILURE(ExpectTheSameAfterARestart(worker));
    ASSERT_TRUE(worker.Register(options_.port).ok());
  }
  EXPECT_TRUE(UntilSnapshot(2));
  EXPECT_FALSE(PathExists(JournalDirectory() + "/journal")) << "the first segment is covered twice";
  // Two closed segments and the open one, each at most a group longer; two snapshots and one in the making.
  EXPECT_TRUE(io_.Until([&] { return JournalBytes() < 4 * (16u << 10) + 3 * (160u << 10); })) << JournalBytes();
}

TEST_F(SnapshotTest, EndedJobsAreBoundedAndTheForgottenSaidToBe) {
  options_.ended_jobs = 3;
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  RunJobs(2);
  const JobId first{1, 1};
  EXPECT_TRUE(ErrorOf(first).ok());
  RunJobs(4);
  EXPECT_EQ(Told().size(), 3u);
  for (int life = 0; life < 2; ++life) {
    const Status forgotten = ErrorOf(first), never = ErrorOf({7, 7});
    EXPECT_EQ(forgotten.code(), Code::kNotFound);
    EXPECT_THAT(forgotten.message(), testing::HasSubstr("the newest 3 ended jobs"));
    EXPECT_THAT(never.message(), testing::Not(testing::HasSubstr("newest")));
    ASSERT_TRUE(StartMaster().ok());
    EXPECT_EQ(Told().size(), 3u);
  }
}

// A restart comes after the replicas are made and before their reports.
TEST_F(SnapshotTest, AReplicaWhoseReportWasLostIsKnownWhenItsWorkerRegistersAgain) {
  options_.policies = "fifo,mantri_replication(always=on)";
  ASSERT_TRUE(StartMaster().ok());
  FakeWorker to(io_, "to", 1), from(io_, "from", 4);
  to.hold = [](const AttemptId&) { return true; };
  to.replicates = true;
  to.reports_replicas = false;
  from.hold = [](const AttemptId& a) { return a.task.stage == 1; };
  ASSERT_TRUE(to.Register(options_.port).ok());
  ASSERT_TRUE(from.Register(options_.port).ok());
  const JobId job = Submit("out");
  ASSERT_TRUE(io_.Until([&] { return to.asked_to_replicate.size() == 2 && to.held.size() == 1; }));
  EXPECT_EQ(client_->TasksByReplicas(job)[2], 0u);
  StopMaster();
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(from.Register(options_.port).ok());
  ASSERT_TRUE(to.Register(options_.port).ok());
  EXPECT_EQ(client_->TasksByReplicas(job)[2], 2u);
  to.hold = from.hold = [](const AttemptId&) { return false; };
  to.FinishHeld();
  from.FinishHeld();
  ASSERT_TRUE(client_->UntilState(job, rpc::JobState::SUCCEEDED)) << client_->Job(job).error;
  EXPECT_EQ(to.asked_to_replicate.size(), 2u) << "it has them";
}

class UpgradeTest : public SnapshotTest {};

TEST_F(UpgradeTest, QueuesStayAsOperatorsSetThem) {
  options_.snapshot_bytes = 16 << 10;
  const auto kept = [&] { return client_->Queues(); };
  const std::vector<std::string> want = {"default 1 0 0", "night 2.5 1 7"};
  for (const uint32_t version : {kOtherVersion, sched::kSchedulerVersion, sched::kSchedulerVersion, kOtherVersion}) {
    options_.scheduler_version = version;
    FakeWorker worker(io_, "one");
    const Status started = StartMaster();
    ASSERT_TRUE(started.ok()) << started.ToString();
    if (kept().size() == 1) {
      ASSERT_TRUE(client_->SetQueue("night", 2, 1, 9).ok());
      ASSERT_TRUE(client_->SetQueue("night", 2.5, -1, 7).ok());
      EXPECT_EQ(client_->SetQueue("night", -1, -1, -1).code(), Code::kInvalidArgument);
      EXPECT_EQ(client_->SetQueue("night", 0, 8, -1).code(), Code::kInvalidArgument) << "min above max";
      ASSERT_TRUE(worker.Register(options_.port).ok());
      RunJobs(8);
      ASSERT_TRUE(UntilSnapshot(1));
    }
    EXPECT_EQ(kept(), want) << "build " << version;
    StopMaster();
  }
}

TEST_F(UpgradeTest, EndedJobsStayAndRunningOnesGoOnFromTheirCommittedOutputs) {
  options_.scheduler_version = kOtherVersion;
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  RunJobs(2);
  const JobId held = HoldAJob(worker, "held");
  const auto told = Told();
  const size_t maps = worker.launched.size();
  StopMaster();
  // A record that only that build could read.
  CloseSegment(journal::RecordClass::kSoft, RecordKind::kEvent, "an event of a kind to come");
  options_.scheduler_version = sched::kSchedulerVersion;
  const Status started = StartMaster();
  ASSERT_TRUE(started.ok()) << started.ToString();
  EXPECT_EQ(Told(), told);
  worker.hold = [](const AttemptId&) { return false; };
  ASSERT_TRUE(worker.Register(options_.port).ok());
  EXPECT_TRUE(io_.Until([&] { return worker.killed.size() >= 2; })) << "its attempts are of the other build";
  ASSERT_TRUE(client_->UntilState(held, rpc::JobState::SUCCEEDED)) << client_->Job(held).error;
  EXPECT_EQ(client_->Job(held).parts, 2u);
  for (size_t i = maps; i < worker.launched.size(); ++i) {
    EXPECT_EQ(worker.launched[i].task.stage, 1u) << "a committed task ran again";
    EXPECT_GT(worker.launched[i].number, 1000u) << "a number comes twice";
  }
  // From here on it is a journal of this build like any other.
  ASSERT_NO_FATAL_FAILURE(ExpectTheSameAfterARestart(worker));
}

TEST_F(UpgradeTest, TasksThatShareAPartitionRunAgainWhereAnotherBuildTakesOver) {
  options_.fat_partition_bytes = 1000;
  FakeWorker worker(io_, "one");
  worker.partition_bytes = {10, 5000};
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  worker.hold = [](const AttemptId& a) { return a.task.stage == 1; };
  const auto job = client_->Submit([&](rpc::JobSpec::Builder spec) {
    test::FillTwoStages(spec, root_ + "/input", root_ + "/shared", 2);
    spec.getStages()[1].getInputs()[0].getEdge().setSplits(true);
  });
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2; }));
  EXPECT_THAT(Told().back(), testing::EndsWith(" 3/3 0/4")) << "one for partition 0, three share the other";
  worker.FinishHeld();
  ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2; }));
  for (const uint32_t version : {sched::kSchedulerVersion, kOtherVersion}) {
    StopMaster();
    options_.scheduler_version = version;
    const Status started = StartMaster();
    ASSERT_TRUE(started.ok()) << started.ToString();
    EXPECT_THAT(Told().back(), testing::EndsWith(version == kOtherVersion ? " 3/3 0/4" : " 3/3 2/4"));
    ASSERT_TRUE(worker.Register(options_.port).ok());
    ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2; }));
  }
  worker.hold = [](const AttemptId&) { return false; };
  worker.FinishHeld();
  ASSERT_TRUE(client_->UntilState(*job, rpc::JobState::SUCCEEDED)) << client_->Job(*job).error;
  EXPECT_EQ(client_->Job(*job).parts, 4u);
}

TEST_F(UpgradeTest, WhoReadsTasksThatShareAPartitionReadsAllOfThemBehindATakeover) {
  options_.fat_partition_bytes = 1000;
  FakeWorker worker(io_, "one");
  worker.partition_bytes = {10, 5000};
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  worker.hold = [](const AttemptId& a) { return a.task.stage >= 1; };
  const auto job = client_->Submit([&](rpc::JobSpec::Builder spec) {
    capnp::MallocMessageBuilder two;
    test::FillTwoStages(two.initRoot<rpc::JobSpec>(), root_ + "/input", root_ + "/read", 2);
    const auto from = two.getRoot<rpc::JobSpec>().asReader();
    spec.setName("three stages");
    spec.setOutput(from.getOutput());
    auto stages = spec.initStages(3);
    for (unsigned s = 0; s < 3; ++s) stages.setWithCaveats(s, from.getStages()[s == 0 ? 0 : 1]);
    stages[1].getInputs()[0].getEdge().setSplits(true);
    stages[1].initPorts(1)[0].initShuffle();
    stages[2].setName("last");
    auto edge = stages[2].initInputs(1)[0].initEdge();
    edge.setKind(rpc::EdgeKind::ONE_TO_ONE);
    edge.setStage(1);
  });
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  for (const uint32_t version : {sched::kSchedulerVersion, kOtherVersion}) {
    ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2; }));
    EXPECT_THAT(Told().back(), testing::EndsWith(" 3/3 0/4 0/4")) << "build " << version;
    StopMaster();
    options_.scheduler_version = version;
    const Status started = StartMaster();
    ASSERT_TRUE(started.ok()) << started.ToString();
    EXPECT_THAT(Told().back(), testing::EndsWith(" 3/3 0/4 0/4")) << "build " << version;
    ASSERT_TRUE(worker.Register(options_.port).ok());
  }
}

// Sizes that are known of the tasks before the takeover say nothing of ranges of those behind it.
TEST_F(UpgradeTest, WhatIsReadOfAStageWhoseTasksAreOthersBehindATakeoverIsNotCut) {
  FakeWorker worker(io_, "one");
  worker.partition_bytes = {10, 5000};
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  worker.hold = [](const AttemptId& a) { return a.task.stage == 2; };
  const auto job = client_->Submit([&](rpc::JobSpec::Builder spec) {
    capnp::MallocMessageBuilder two;
    test::FillTwoStages(two.initRoot<rpc::JobSpec>(), root_ + "/input", root_ + "/cut", 2);
    const auto from = two.getRoot<rpc::JobSpec>().asReader();
    spec.setName("three stages");
    spec.setOutput(from.getOutput());
    auto stages = spec.initStages(3);
    for (unsigned s = 0; s < 3; ++s) stages.setWithCaveats(s, from.getStages()[s == 0 ? 0 : 1]);
    stages[1].initPorts(1)[0].initShuffle().setSorted(true);
    stages[1].getInputs()[0].getEdge().setSplits(true);
    stages[2].setName("last");
    stages[2].getInputs()[0].getEdge().setStage(1);
    stages[2].getInputs()[0].getEdge().setSplits(true);
  });
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2; }));
  EXPECT_THAT(Told().back(), testing::EndsWith(" 3/3 2/2 0/2"));
  StopMaster();
  options_.scheduler_version = kOtherVersion;
  options_.fat_partition_bytes = 1000;
  const Status started = StartMaster();
  ASSERT_TRUE(started.ok()) << started.ToString();
  EXPECT_THAT(Told().back(), testing::EndsWith(" 3/3 0/4 0/2"));
}

TEST_F(UpgradeTest, ASnapshotOfAnotherBuildIsReadToo) {
  options_.scheduler_version = kOtherVersion;
  options_.snapshot_bytes = 16 << 10;
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  RunJobs(8);
  const JobId held = HoldAJob(worker, "held");
  ASSERT_TRUE(UntilSnapshot(1));
  const auto told = Told();
  StopMaster();
  options_.scheduler_version = sched::kSchedulerVersion;
  const Status started = StartMaster();
  ASSERT_TRUE(started.ok()) << started.ToString();
  EXPECT_EQ(Told(), told);
  // Its worker comes back as another process: the outputs are gone, and made again.
  worker.Restart();
  worker.held.clear();
  worker.directory.clear();
  worker.hold = [](const AttemptId&) { return false; };
  ASSERT_TRUE(worker.Register(options_.port).ok());
  EXPECT_TRUE(client_->UntilState(held, rpc::JobState::SUCCEEDED)) << client_->Job(held).error;
  // The next snapshot goes over the change of builds.
  const uint64_t before = journal::ListFiles(JournalDirectory())->snapshots.back().after;
  ASSERT_NO_FATAL_FAILURE(RunJobs(12));
  ASSERT_TRUE(io_.Until([&] { return journal::ListFiles(JournalDirectory())->snapshots.back().after > before; }));
  ASSERT_NO_FATAL_FAILURE(ExpectTheSameAfterARestart(worker));
}

TEST_F(UpgradeTest, BuildsMayTakeOverFromEachOtherAgainAndAgain) {
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  const JobId held = HoldAJob(worker, "held");
  for (const uint32_t version :
       {kOtherVersion, sched::kSchedulerVersion, kOtherVersion, kOtherVersion, sched::kSchedulerVersion}) {
    StopMaster();
    options_.scheduler_version = version;
    const Status started = StartMaster();
    ASSERT_TRUE(started.ok()) << started.ToString();
    EXPECT_THAT(client_->Job(held).done, testing::ElementsAre(3, 0));
    ASSERT_TRUE(worker.Register(options_.port).ok());
    ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2; }));
  }
  worker.hold = [](const AttemptId&) { return false; };
  worker.FinishHeld();
  ASSERT_TRUE(client_->UntilState(held, rpc::JobState::SUCCEEDED)) << client_->Job(held).error;
  EXPECT_EQ(std::set<AttemptId>(worker.launched.begin(), worker.launched.end()).size(), worker.launched.size())
      << "an attempt's number came twice";
  EXPECT_EQ(std::count_if(worker.launched.begin(), worker.launched.end(),
                          [](const AttemptId& a) { return a.task.stage == 0; }),
            3);
}

// A crash may come behind any record of a journal that three builds wrote, and a snapshot behind any
// record of what follows.
TEST_F(UpgradeTest, EveryPlaceInAJournalIsOneToBeginAt) {
  FakeWorker worker(io_, "one");
  JobId held;
  uint64_t committed_at = 0;
  for (const uint32_t version : {kOtherVersion, sched::kSchedulerVersion, sched::kSchedulerVersion, kOtherVersion}) {
    options_.scheduler_version = version;
    const Status started = StartMaster();
    ASSERT_TRUE(started.ok()) << started.ToString();
    ASSERT_TRUE(worker.Register(options_.port).ok());
    if (!held.valid()) held = HoldAJob(worker, "held");
    ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2; }));
    EXPECT_THAT(client_->Job(held).done, testing::ElementsAre(3, 0));
    StopMaster();
    if (committed_at == 0) {
      const auto read = journal::ReadDirectory(JournalDirectory(), 0, UINT64_MAX,
                                               [](const journal::Record&, uint64_t) { return Status::Ok(); });
      committed_at = read->last.end.offset;
    }
  }
  std::vector<uint64_t> places;
  ASSERT_TRUE(journal::ReadDirectory(JournalDirectory(), 0, UINT64_MAX, [&](const journal::Record&, uint64_t offset) {
                places.push_back(offset);
                return Status::Ok();
              }).ok());
  EXPECT_GT(places.size(), 20u);
  const std::string saved = root_ + "/saved";
  for (const uint64_t place : places) {
    std::filesystem::remove_all(saved);
    std::filesystem::copy(options_.directory, saved, std::filesystem::copy_options::recursive);
    std::filesystem::resize_file(saved + "/journal/journal", place);
    // They know that there was more.
    std::filesystem::remove(saved + "/journal_witness");
    std::filesystem::remove(saved + "/cluster_id");
    Master::Options options = options_;
    options.directory = saved;
    options.port = 0;
    options.snapshot_bytes = 1;
    options.scheduler_version = sched::kSchedulerVersion;
    for (int life = 0; life < 2; ++life) {
      const auto started = Master::Start(options);
      ASSERT_TRUE(started.ok()) << place << ", life " << life << ": " << started.status().ToString();
      ASSERT_TRUE(io_.Until([&] { return !journal::ListFiles(saved + "/journal")->snapshots.empty(); }));
      if (place < committed_at) continue;
      EXPECT_THAT(FakeClient(io_, (*started)->port()).Job(held).done, testing::ElementsAre(3, 0))
          << place << " " << life;
    }
    const Replayed after(saved);
    ASSERT_TRUE(after.status.ok()) << place << ": " << after.status.ToString();
    if (place < committed_at) continue;
    const sched::Stage* maps = after.core.scheduler().state().FindStage({held, 0});
    ASSERT_NE(maps, nullptr) << place << ": the scheduler does not know the job";
    EXPECT_EQ(maps->committed, 3u) << place;
  }
}

// The kill came between the record of the new epoch and those of the jobs that it takes over.
TEST_F(UpgradeTest, ATakeOverThatWasInterruptedIsBegunAgain) {
  options_.scheduler_version = kOtherVersion;
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(StartMaster().ok());
  ASSERT_TRUE(worker.Register(options_.port).ok());
  const JobId held = HoldAJob(worker, "held");
  StopMaster();
  CloseSegment(journal::RecordClass::kHard, RecordKind::kEpoch,
               EncodeFields(EpochStarted{2, sched::kSchedulerVersion, 0}));
  options_.scheduler_version = sched::kSchedulerVersion;
  const Status started = StartMaster();
  ASSERT_TRUE(started.ok()) << started.ToString();
  EXPECT_THAT(client_->Job(held).done, testing::ElementsAre(3, 0));
  ASSERT_TRUE(worker.Register(options_.port).ok());
  worker.hold = [](const AttemptId&) { return false; };
  worker.FinishHeld();
  ASSERT_TRUE(client_->UntilState(held, rpc::JobState::SUCCEEDED)) << client_->Job(held).error;
  const auto told = Told();
  ASSERT_TRUE(StartMaster().ok()) << "also with a snapshot that was made at that place";
  EXPECT_EQ(Told(), told);
}

TEST_F(UpgradeTest, AHardRecordThatCannotBeReadIsToldAndNothingIsChanged) {
  options_.scheduler_version = kOtherVersion;
  ASSERT_TRUE(StartMaster().ok());
  StopMaster();
  CloseSegment(journal::RecordClass::kHard, RecordKind::kEvent, "an event of a kind to come");
  const Status refused = StartMaster();
  EXPECT_EQ(refused.code(), Code::kCorrupted) << refused.ToString();
  EXPECT_THAT(refused.message(), testing::HasSubstr("start the release that wrote it"));
  options_.scheduler_version = sched::kSchedulerVersion;
  EXPECT_EQ(StartMaster().code(), Code::kCorrupted) << "no build passes over a promise";
}

}  // namespace
}  // namespace mr::master
