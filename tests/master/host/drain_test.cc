// When a worker that is drained may be stopped: attempts and outputs beside the blocks of dfs/namespace_drain_test.cc.
#include "master/core/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "master/host/host.h"
#include "master/sched/scheduler.h"
#include "master/sched/state/leaving.h"
#include "master/sched/state/state.h"
#include "tests/master/host/no_outlets.h"

namespace mr::master {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Jobs of two maps and one reduce on two workers of one slot each.
class DrainScheduledTest : public testing::Test {
 protected:
  DrainScheduledTest() {
    sched::ConfigChanged config;
    config.policies = "fifo";
    Send(config);
    for (uint32_t w = 1; w <= 2; ++w) Join(w);
    Submit(kJob);
  }

  void Submit(JobId id) {
    sched::JobSubmitted job;
    job.job = id;
    job.graph.stages.resize(2);
    job.graph.stages[0].name = "m";
    job.graph.stages[0].inputs = {sched::StageInput{}};
    job.graph.stages[1].name = "r";
    job.graph.stages[1].slot_kind = sched::SlotKind::kReduce;
    job.graph.stages[1].inputs = {{true, sched::EdgeKind::kAllToAll, 0}};
    job.graph.stages[1].is_final = true;
    Send(job);
    Send(sched::StagePlanned{id, 0, 1, std::vector<sched::TaskPlan>(2), ""});
  }

  void Join(uint32_t w) {
    sched::WorkerRegistered e;
    e.worker = {w};
    e.incarnation = w;
    e.slots.total = 1;
    Send(e);
  }
  void Send(sched::Event event) {
    for (const auto& decision : scheduler_.Step({{}, std::move(event)})) {
      if (const auto* launch = std::get_if<sched::Launch>(&decision)) launched_.push_back(*launch);
      if (const auto* ask = std::get_if<sched::ReplicateOutput>(&decision)) asked_.push_back(*ask);
    }
  }
  void Drain(uint32_t w) { Send(sched::WorkerDraining{{w}, w, true}); }
  // The map that runs there, to its end.
  void Finish(uint32_t w) {
    const auto there = [&](const sched::Launch& l) { return l.worker == WorkerId{w}; };
    const auto it = std::find_if(launched_.begin(), launched_.end(), there);
    ASSERT_NE(it, launched_.end());
    Send(sched::AttemptFinished{it->attempt, {w}, w, {1, 100, {it->attempt.task.task, 1}}, {}, {}, {}});
  }
  DrainReport Report(uint32_t w) {
    DrainReport report;
    report.draining = report.here = true;
    AddScheduled(
        scheduler_.state(), {w}, [](const Replica&) { return uint64_t{100}; }, &report);
    return report;
  }

  static constexpr JobId kJob{1, 1};
  sched::Scheduler scheduler_;
  std::vector<sched::Launch> launched_;
  std::vector<sched::ReplicateOutput> asked_;
};

TEST_F(DrainScheduledTest, ItsAttemptsGoOnAndItGetsNoNewOnes) {
  ASSERT_EQ(launched_.size(), 2u);
  Drain(1);
  EXPECT_EQ(Report(1).attempts, 1u);
  EXPECT_FALSE(Report(1).Safe());
  EXPECT_THAT(WaitsFor(Report(1)), ElementsAre("1 attempt runs there, to the end"));
  Submit({1, 2});  // its maps wait for slots
  Finish(1);
  EXPECT_EQ(Report(1).attempts, 0u);
  EXPECT_EQ(launched_.size(), 2u) << "the drained worker's free slot is used";
  Finish(2);
  ASSERT_EQ(launched_.size(), 3u);
  EXPECT_EQ(launched_[2].worker, WorkerId{2});
}

TEST_F(DrainScheduledTest, OutputsThatOnlyItHasKeepItAsLongAsAJobReadsThem) {
  Drain(1);
  Finish(1);
  const DrainReport needed = Report(1);
  EXPECT_FALSE(needed.Safe());
  EXPECT_EQ(needed.outputs, 1u);
  EXPECT_EQ(needed.output_bytes, 100u);
  EXPECT_THAT(needed.jobs, ElementsAre(kJob));
  ASSERT_EQ(WaitsFor(needed).size(), 1u);
  EXPECT_THAT(WaitsFor(needed)[0], HasSubstr("1 output (100 B) that job_1_0001 still reads must be copied to other "
                                             "workers, 0 of them now; stopped before, their tasks run again"));
  EXPECT_EQ(Report(2).outputs, 0u) << "its map still runs";
  Send(sched::JobKillAsked{kJob, "a test"});
  EXPECT_TRUE(Report(1).Safe());
}

TEST_F(DrainScheduledTest, CountsOutputsUntilTheirReplicasAreMade) {
  Finish(1);
  Finish(2);
  Drain(1);
  Send(sched::OutputsLeaving{{1}, 1, true});
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].to, WorkerId{2});
  EXPECT_EQ(Report(1).outputs, 1u);
  EXPECT_EQ(Report(1).outputs_moving, 1u);
  EXPECT_THAT(WaitsFor(Report(1))[0], HasSubstr("1 of them now"));
  Send(sched::ReplicaNotMade{asked_[0].from, {2}, "its disk is full"});
  EXPECT_EQ(Report(1).outputs_moving, 0u);
  EXPECT_EQ(Report(1).outputs_failing, 1u);
  EXPECT_THAT(WaitsFor(Report(1)), testing::Contains(HasSubstr("copying 1 output failed and is tried again")));
  Join(3);
  ASSERT_EQ(asked_.size(), 2u) << "a worker that has not failed";
  Replica made = asked_[1].from;
  made.worker = {3};
  made.incarnation = 3;
  Send(sched::ReplicaMade{made});
  EXPECT_EQ(Report(1).outputs, 0u);
  EXPECT_EQ(Report(1).outputs_failing, 0u);
}

TEST_F(DrainScheduledTest, SaysWhereNoOtherWorkerTakesOutputs) {
  Finish(1);
  Drain(1);
  Drain(2);
  Send(sched::OutputsLeaving{{1}, 1, true});
  EXPECT_TRUE(asked_.empty());
  EXPECT_TRUE(Report(1).outputs_without_worker);
  EXPECT_THAT(WaitsFor(Report(1)), testing::Contains(HasSubstr("no other worker takes outputs: start one, or undrain "
                                                               "one; without one this lasts until job_1_0001 ends")));
}

TEST_F(DrainScheduledTest, AReplicaOfAnOutputOnAWorkerThatStaysIsEnough) {
  Finish(1);
  Drain(1);
  ASSERT_EQ(Report(1).outputs, 1u);
  const sched::Task& task = *scheduler_.state().FindTask(launched_[0].attempt.task);
  // Adds a replica, like one that a policy asked for.
  const_cast<sched::State&>(scheduler_.state())
      .AddReplica(launched_[0].attempt.task, {task.replicas[0].generation, task.replicas[0].attempt, {2}, 2});
  EXPECT_EQ(Report(1).outputs, 0u);
  Drain(2);
  EXPECT_EQ(Report(1).outputs, 1u) << "that one leaves, too";
}

TEST(DrainReportTest, ItsStatusHasTheFirstTwentyJobsAndAllCounts) {
  DrainReport report;
  report.draining = true;
  report.attempts = 1;
  report.blocks.blocks = 2;
  report.blocks.bytes = 3;
  report.blocks.left_blocks = 4;
  report.blocks.left_bytes = 5;
  report.blocks.being_written = 6;
  report.blocks.thin_blocks = 7;
  report.blocks.left_files = {"/left"};
  report.blocks.thin_files = {"/thin"};
  report.outputs = 8;
  report.output_bytes = 9;
  for (uint32_t i = 1; i <= 21; ++i) report.jobs.push_back({1, i});
  const DrainStatus status = StatusOf(report);
  EXPECT_EQ(status.jobs.size(), 20u);
  EXPECT_EQ(status.jobs.back(), (JobId{1, 20}));
  EXPECT_EQ(status.waits_for, WaitsFor(report));
  const DrainStatus expected{
      true,      report.Safe(),    1, 2, 3, 4, 5, 6, 8, 9, 7, status.jobs, status.waits_for, {"/left"},
      {"/thin"}, StaysThin(report)};
  EXPECT_EQ(status, expected);
}

TEST(DrainReportTest, SaysWhatItWaitsFor) {
  DrainReport report;
  EXPECT_THAT(WaitsFor(report), ElementsAre("it is not draining"));
  report.draining = true;
  report.word = "lost";
  EXPECT_FALSE(report.Safe()) << "nobody knows what it has";
  EXPECT_THAT(WaitsFor(report), ElementsAre(HasSubstr("it is lost: ")));
  report.here = true;
  EXPECT_TRUE(report.Safe());
  EXPECT_THAT(WaitsFor(report), IsEmpty());
  report.blocks.left_blocks = 3;
  report.blocks.left_bytes = 3000;
  report.blocks.without_room = 2;
  report.blocks.left_files = {"/a", "/b"};
  EXPECT_THAT(WaitsFor(report),
              ElementsAre(HasSubstr("3 blocks (2.9 KiB) must be copied to other workers, 0 of them now: /a, /b"),
                          HasSubstr("2 blocks found no room: each other worker that could take them is full")));
  report.blocks = {};
  report.blocks.left_blocks = report.blocks.without_worker = 1;
  EXPECT_THAT(WaitsFor(report)[1], HasSubstr("no other worker takes blocks"));
  report.blocks = {};
  report.blocks.safe_mode = true;
  EXPECT_FALSE(report.Safe());
  EXPECT_THAT(WaitsFor(report), ElementsAre(HasSubstr("safe mode")));
  report.blocks = {};
  report.blocks.thin_blocks = 2;
  report.blocks.thin_files = {"/c"};
  EXPECT_TRUE(report.Safe());
  EXPECT_THAT(StaysThin(report), HasSubstr("2 blocks will have fewer replicas than their files ask for"));
}

// The host joins both, for workers that come and go.
class DrainHostTest : public testing::Test {
 protected:
  DrainHostTest() {
    std::string pattern = testing::TempDir() + "/drain_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    EXPECT_TRUE(MakeDirectories(root_ + "/journal").ok());
    Start();
  }
  ~DrainHostTest() override {
    host_ = nullptr;
    (void)RemoveTree(root_);
  }
  // The scheduler knows that an operator drains the worker.
  bool Leaves(char name) { return sched::Leaves(host_->core().scheduler().state(), Of(name)); }
  void Start() {
    host_ = nullptr;
    HostOptions options;
    options.directory = root_;
    options.replication = 1;
    host_ = std::make_unique<Host>(options, loop_, outlets_);
    ASSERT_TRUE(host_->Recover().ok());
  }
  void Register(char name, std::vector<BlockRef> blocks = {}) {
    RegisterIn in;
    in.extra.name = std::string(1, name);
    in.info.incarnation = Incarnation{static_cast<uint64_t>(name)};
    in.info.address = std::string("127.0.0.") + name + ":1";
    in.info.slots.total = 2;
    in.blocks = std::move(blocks);
    host_->sessions().Register(static_cast<uint64_t>(name), in, [](RegisterOut) {});
  }
  WorkerId Of(char name) { return host_->core().workers().FindIncarnation(static_cast<uint64_t>(name))->id; }
  // A file of one block whose only replica is on the given worker.
  BlockRef Put(const std::string& path, char on) {
    const auto fs = [&](const dfs::FsHost::PrepareFn& prepare) {
      host_->block_store().FsMutate(prepare, nullptr,
                                    [](const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); });
    };
    fs([&](const dfs::Namespace& ns, const dfs::Stamp& now) { return ns.PrepareCreate(now, path, false, 1, 0, path); });
    const uint64_t lease = host_->core().files().LeaseOf(path);
    dfs::BlockAdded added;
    fs([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
      auto prepared = ns.PrepareAddBlock(now, lease, 0, std::string("127.0.0.") + on + ":1");
      if (prepared.ok()) added = std::get<dfs::BlockAdded>(**prepared);
      return prepared;
    });
    const BlockRef block{added.block, 1, 100, 7};
    host_->block_store().BlocksReceived(added.targets.at(0), Incarnation{static_cast<uint64_t>(on)}, {block});
    fs([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
      return ns.PrepareComplete(now, lease, {{block, added.targets}});
    });
    return block;
  }

  std::string root_;
  Loop loop_{[] {}};
  test::NoOutlets outlets_;
  std::unique_ptr<Host> host_;
};

TEST_F(DrainHostTest, IsSafeOnceTheBlocksAreElsewhereAlsoOverARestart) {
  Register('a');
  Register('b');
  const BlockRef block = Put("/f", 'a');
  const WorkerId a = Of('a');
  EXPECT_FALSE(host_->drains().DrainOf(a)->draining);
  EXPECT_EQ(host_->drains().DrainOf({99}).status().code(), Code::kNotFound);
  host_->sessions().Drain(a, true, [](Status) {});
  EXPECT_TRUE(host_->drains().DrainOf(a)->draining);
  EXPECT_FALSE(host_->drains().DrainOf(a)->Safe());
  EXPECT_EQ(host_->drains().DrainOf(a)->blocks.left_blocks, 1u);
  host_->Flush();
  Start();
  ASSERT_FALSE(HasFatalFailure());
  const DrainReport absent = *host_->drains().DrainOf(a);
  EXPECT_TRUE(absent.draining) << "the journal has it";
  EXPECT_FALSE(absent.Safe()) << "it has not registered: nobody knows what it has";
  Register('a', {block});
  Register('b');
  EXPECT_FALSE(host_->drains().DrainOf(a)->Safe());
  EXPECT_EQ(host_->drains().DrainOf(a)->blocks.left_blocks, 1u);
  host_->block_store().BlocksReceived(Of('b'), Incarnation{uint64_t{'b'}}, {block});
  EXPECT_TRUE(host_->drains().DrainOf(a)->Safe());
  EXPECT_THAT(*host_->why().Why(Name(a), Everything()), testing::Contains("it is safe to stop"));
  host_->sessions().Drain(a, false, [](Status) {});
  EXPECT_FALSE(host_->drains().DrainOf(a)->Safe()) << "it may get something new";
}

TEST_F(DrainHostTest, OutputsLeaveForAnOperatorAloneAlsoOverRestartsAndRegistrations) {
  for (const char name : {'a', 'b', 'c'}) Register(name);
  const WorkerId a = Of('a');
  host_->sessions().Drain(a, true, [](Status) {});
  host_->sessions().Leaving(Of('b'), Incarnation{uint64_t{'b'}});
  EXPECT_TRUE(Leaves('a'));
  EXPECT_FALSE(Leaves('b')) << "it is only being stopped";
  host_->Flush();
  Start();
  Register('a');
  Register('c');
  EXPECT_TRUE(Leaves('a'));
  EXPECT_FALSE(Leaves('c'));
  host_->Flush();
  Start();
  host_->sessions().Drain(a, false, [](Status) {});
  EXPECT_FALSE(Leaves('a')) << "undrained while it is away";
  host_->sessions().Drain(a, true, [](Status) {});
  EXPECT_FALSE(Leaves('a')) << "nothing can be copied from it yet";
  Register('a');
  EXPECT_TRUE(Leaves('a'));
  host_->sessions().Drain(a, false, [](Status) {});
  EXPECT_FALSE(Leaves('a'));
}

TEST_F(DrainHostTest, WritesDoNotCountOnAWorkerThatWasDrainedWhileItWasAwayAlsoOverARestart) {
  Register('a');
  Register('b');
  const WorkerId a = Of('a'), b = Of('b');
  host_->Flush();
  Start();
  EXPECT_THAT(host_->core().files().Health(10).awaited, ElementsAre(a, b));
  host_->sessions().Drain(a, true, [](Status) {});
  EXPECT_THAT(host_->core().files().Health(10).awaited, ElementsAre(b));
  host_->Flush();
  Start();
  EXPECT_THAT(host_->core().files().Health(10).awaited, ElementsAre(b)) << "the journal has it";
}

TEST_F(DrainHostTest, AWorkerThatWasExcludedWhileItWasAwayIsNotAwaitedAlsoOverARestart) {
  Register('a');
  Register('b');
  const WorkerId a = Of('a'), b = Of('b');
  host_->Flush();
  Start();
  host_->sessions().Exclude(a, true, [](Status) {});
  EXPECT_THAT(host_->core().files().Health(10).awaited, ElementsAre(b));
  host_->Flush();
  Start();
  EXPECT_THAT(host_->core().files().Health(10).awaited, ElementsAre(b)) << "the journal has it";
}

TEST_F(DrainHostTest, AWorkerThatLeavesKeepsItsBlocksAndNoneAreCopied) {
  Register('a');
  Register('b');
  Put("/f", 'a');
  host_->sessions().Leaving(Of('a'), Incarnation{uint64_t{'a'}});
  EXPECT_EQ(host_->core().files().Counts().copying, 0u);
  EXPECT_EQ(host_->core().files().BlocksOn(Of('a')), 1u);
}

}  // namespace
}  // namespace mr::master
