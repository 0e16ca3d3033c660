// Records that a core refuses, outcomes that it does not come to, and the part of another scheduler version.
#include "master/core/master_core.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace mr::master {
namespace {

constexpr uint32_t kOther = sched::kSchedulerVersion + 1;

class MasterCoreTest : public testing::Test {
 protected:
  MasterCoreTest() { MakeCore({.directory = "/m"}); }
  void MakeCore(const MasterCore::Config& config) {
    core_ = std::make_unique<MasterCore>(
        config, [](std::string_view) { return Result<JobSpec>(Corrupted("no snapshot here")); });
    sequence_ = 0;
    Apply(EpochStarted{1, sched::kSchedulerVersion, 1});
    Apply(Event(10, sched::ConfigChanged{"fifo", 1, sched::kSchedulerVersion, Millis(100)}));
  }
  static EventRecord Event(int second, sched::Event event) {
    return {{Instant{} + Seconds(second), std::move(event)}, {}};
  }
  // The event with an outcome, like one that was read.
  static EventRecord Stored(EventRecord event, std::vector<sched::Decision> outcome = {}) {
    event.outcome = std::move(outcome);
    event.digest = 0;
    return event;
  }
  Applied Apply(Record record) { return core_->Apply(&record, {++sequence_, 1}); }
  Code CheckOf(Record record) { return core_->Check(record).code(); }
  // A job of one map, submitted and planned.
  JobId Submit(uint64_t wall_ms = 0, const std::string& owner = kNoOwner) {
    auto spec = std::make_shared<JobSpec>();
    spec->name = "j";
    spec->output_uri = "file:///out";
    spec->stages.resize(1);
    spec->stages[0].inputs.resize(1);
    spec->stages[0].ports.resize(1);
    spec->stages[0].ports[0].files = true;
    SubmitExtra extra;
    extra.plan.stages.resize(1);
    extra.plan.stages[0].tasks = 1;
    extra.wall_ms = wall_ms;
    extra.owner = owner;
    auto record = core_->PrepareSubmit({spec, extra}, Instant{} + Seconds(20));
    EXPECT_TRUE(record.ok()) << record.status().ToString();
    const JobId id = std::get<sched::JobSubmitted>(record->stamped.event).job;
    const Applied applied = Apply(*std::move(record));
    for (const FollowUp& follow_up : applied.follow_ups) {
      if (auto event = core_->Prepare(follow_up)) Apply(Event(20, *std::move(event)));
    }
    return id;
  }

  std::unique_ptr<MasterCore> core_;
  uint64_t sequence_ = 0;
};

// This version's own soft events, which the other one passed over, may be later than all that the other one wrote.
TEST_F(MasterCoreTest, AnotherVersionsEventsMayBeStampedEarlierThanOnesThatItPassedOver) {
  Apply(Event(100, sched::LeaseSet{Seconds(1)}));
  const EventRecord earlier = Event(90, sched::LeaseSet{Seconds(2)});
  EXPECT_EQ(CheckOf(Stored(earlier)), Code::kCorrupted) << "of the same version";
  Apply(EpochStarted{2, kOther, 1});
  EXPECT_TRUE(core_->Foreign());
  EXPECT_EQ(CheckOf(Stored(earlier)), Code::kOk);
}

TEST_F(MasterCoreTest, AnOwnerHasAtMostTheirJobsAndOthersAndAdministratorsAreNotCounted) {
  MasterCore::Config config{.directory = "/m"};
  config.owner = {.jobs = 3, .queued = 2};
  const Caller anna{{"anna", kSubmitter, Proof::kToken}, kAdmin}, bob{{"bob", kSubmitter, Proof::kToken}, kAdmin},
      admin{{"anna", kSubmitter | kAdmin, Proof::kToken}, kAdmin};
  MakeCore(config);
  EXPECT_TRUE(core_->CheckOwner(anna, 1).ok());
  EXPECT_EQ(core_->CheckOwner(anna, 2).code(), Code::kRejected) << "planned ones count";
  Submit(0, "anna");
  const JobId second = Submit(0, "anna");
  const Status queued = core_->CheckOwner(anna, 0);
  EXPECT_EQ(queued.code(), Code::kRejected);
  EXPECT_NE(queued.message().find("'anna' has 2 jobs that have not begun, and one user may have 2"), std::string::npos)
      << queued.message();
  EXPECT_TRUE(core_->CheckOwner(bob, 0).ok());
  EXPECT_TRUE(core_->CheckOwner(admin, 100).ok());
  Apply(Event(30, sched::JobKillAsked{second, "test"}));
  EXPECT_TRUE(core_->CheckOwner(anna, 0).ok()) << "an ended job does not count";
  config.owner = {.jobs = 1, .queued = 0};
  MakeCore(config);
  Submit(0, "anna");
  EXPECT_NE(core_->CheckOwner(anna, 0).message().find("--owner_jobs"), std::string::npos);
  config.owner = {.jobs = 0, .queued = 0};
  MakeCore(config);
  Submit(0, "anna");
  EXPECT_TRUE(core_->CheckOwner(anna, 1'000'000).ok()) << "0 is no limit";
}

TEST_F(MasterCoreTest, AJobUsesTheNetworkOnlyWithTheRoleThatMay) {
  MasterCore::Config config{.directory = "/m"};
  const auto caller = [](Roles roles) { return Caller{{"anna", roles, Proof::kToken}, kAdmin}; };
  JobSpec online, offline;
  online.allow_network = true;
  const Status refused = core_->CheckNetwork(caller(kSubmitter | kOperator | kViewer), online);
  EXPECT_EQ(refused.code(), Code::kNotAllowed) << "administrators only, unless the master is started otherwise";
  for (const char* part : {"needs the role admin", "'anna' are: viewer, submitter, operator", "nothing was submitted",
                           "without --allow-network", "--network_role=submitter"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << part << ": " << refused.message();
  }
  EXPECT_TRUE(core_->CheckNetwork(caller(kSubmitter), offline).ok());
  EXPECT_TRUE(core_->CheckNetwork(caller(kSubmitter | kAdmin), online).ok());
  config.owner.network = kOperator;
  MakeCore(config);
  EXPECT_EQ(core_->CheckNetwork(caller(kSubmitter), online).code(), Code::kNotAllowed);
  EXPECT_TRUE(core_->CheckNetwork(caller(kSubmitter | kOperator), online).ok());
  config.owner.network = kSubmitter;
  MakeCore(config);
  EXPECT_TRUE(core_->CheckNetwork(caller(kSubmitter), online).ok());
}

TEST_F(MasterCoreTest, TheTimeWithoutAMasterIsThatOfTheWallClockSinceTheNewestStamp) {
  EXPECT_EQ(core_->TimeAway(1'015'000), Duration{}) << "no job relates stamps to the wall clock";
  Submit(1'000'000);  // at 20 s
  Apply(Event(30, sched::LeaseSet{Seconds(1)}));
  EXPECT_EQ(core_->TimeAway(1'015'000), Seconds(5));
  EXPECT_EQ(core_->TimeAway(1'005'000), Duration{}) << "the wall clock was set back";
  EXPECT_EQ(core_->TimeAway(0), Duration{});
  EXPECT_EQ(core_->TimeAway(UINT64_MAX), Seconds(30 * 86400));
}

TEST_F(MasterCoreTest, AnOutcomeThatThisBuildDoesNotComeToIsNoticed) {
  const JobId job = Submit();
  EventRecord kill = Event(30, sched::JobKillAsked{job, "asked"});
  EventRecord recorded = Stored(kill);  // without the end of the job
  Record record = recorded;
  const Applied applied = core_->Apply(&record, {++sequence_, 1});
  EXPECT_NE(applied.differs.find("it recorded 0 promises"), std::string::npos) << applied.differs;
  EXPECT_TRUE(applied.replicas.added.empty());
}

TEST_F(MasterCoreTest, AnExclusionEndsWithItsWorkerByForceOnly) {
  const auto registration = [](const std::string& name, Incarnation incarnation) {
    Registration in;
    in.extra.name = name;
    in.info.incarnation = incarnation;
    in.info.slots.total = 2;
    return in;
  };
  const auto enter = [&](const std::string& name, Incarnation incarnation) {
    auto records = core_->PrepareRegister(registration(name, incarnation), Instant{} + Seconds(20), {});
    if (!records.ok()) return records.status();
    if (records->named) Apply(*records->named);
    Apply(records->event);
    Apply(records->joined);
    return Status::Ok();
  };
  ASSERT_TRUE(enter("a", 7).ok());
  const WorkerId id = core_->workers().Named("a");
  ASSERT_TRUE(id.valid());
  const auto set_excluded = [&](bool on) {
    auto records = core_->PrepareExclude(id, on, Instant{} + Seconds(21));
    ASSERT_TRUE(records.ok());
    for (Record& record : *records) Apply(std::move(record));
  };
  const auto forget = [&](bool force) { return core_->PrepareForget(id, force, Instant{} + Seconds(22)); };
  set_excluded(true);
  core_->workers().Find(id)->alive = false;  // the host gives it up
  EXPECT_EQ(enter("a", 8).code(), Code::kRejected);
  const auto refused = forget(false);
  ASSERT_EQ(refused.status().code(), Code::kRejected);
  EXPECT_NE(refused.status().message().find("`mrctl worker include " + Name(id) + "` and forget it"), std::string::npos)
      << refused.status().message();
  set_excluded(false);
  EXPECT_TRUE(forget(false).ok()) << "nothing is lost with it";
  set_excluded(true);
  auto forced = forget(true);
  ASSERT_TRUE(forced.ok()) << forced.status().ToString();
  for (Record& record : *forced) Apply(std::move(record));
  EXPECT_TRUE(enter("a", 8).ok());
  EXPECT_NE(core_->workers().Named("a"), id);
}

TEST_F(MasterCoreTest, RecordsThatWouldBreakTheTablesAreRefused) {
  EXPECT_EQ(CheckOf(WorkerDrained{{7}, true}), Code::kCorrupted);
  EXPECT_EQ(CheckOf(WorkerExcluded{{7}, true}), Code::kCorrupted);
  EXPECT_EQ(CheckOf(WorkerWrongOutputs{{7}, 1}), Code::kCorrupted);
  EXPECT_EQ(CheckOf(WorkerForgotten{{7}}), Code::kCorrupted);
  const JobId job = Submit();
  EXPECT_EQ(CheckOf(JobPublished{job, "", {}}), Code::kCorrupted) << "it still runs";
  EXPECT_EQ(CheckOf(JobPublished{{9, 9}, "", {}}), Code::kCorrupted);
  EXPECT_EQ(CheckOf(Event(40, sched::LeaseSet{Seconds(1)})), Code::kCorrupted) << "without an outcome";
  EventRecord no_digest = Stored(Event(40, sched::LeaseSet{Seconds(1)}));
  no_digest.digest.reset();
  EXPECT_EQ(CheckOf(no_digest), Code::kCorrupted);
  EXPECT_EQ(CheckOf(Stored(Event(40, sched::JobSubmitted{{1, 2}, "j", "", 0, {}, 0, {}, {}}))), Code::kCorrupted);
  EXPECT_EQ(CheckOf(Stored(Event(40, sched::ConfigChanged{"no_such_policy", 1, 18, {}}))), Code::kRejected);
  sched::JobTakenOver taken;
  taken.submitted.job = job;
  taken.submitted.graph.stages.resize(3);
  EXPECT_EQ(CheckOf(Stored(Event(40, taken))), Code::kCorrupted);
  // The promises of another version are taken as they are.
  Apply(EpochStarted{2, kOther, 1});
  sched::Accept accept;
  accept.attempt = {{job, 0, 5}, 1};
  EXPECT_EQ(CheckOf(Stored(Event(40, sched::LeaseSet{Seconds(1)}), {accept})), Code::kCorrupted);
  accept.attempt = {{job, 0, 0}, 1};
  EXPECT_EQ(CheckOf(Stored(Event(40, sched::LeaseSet{Seconds(1)}), {accept})), Code::kOk);
}

// A map whose output was lost runs again, and the reduces that have read it need it no more.
TEST(IsLastTaskTest, LooksAtFinalStagesOnly) {
  sched::Job job;
  job.graph.stages.resize(2);
  job.graph.stages[1].is_final = true;
  job.stages.resize(2);
  for (sched::Stage& stage : job.stages) {
    stage.plan_state = sched::PlanState::kPlanned;
    stage.tasks.resize(2);
  }
  job.stages[0].committed = 1;
  job.stages[1].committed = 1;
  job.stages[1].tasks[0].state = sched::TaskState::kCommitted;
  EXPECT_TRUE(IsLastTask(job, {{1, 1}, 1, 1}));
  EXPECT_FALSE(IsLastTask(job, {{1, 1}, 1, 0})) << "it has committed";
  EXPECT_FALSE(IsLastTask(job, {{1, 1}, 0, 1})) << "a map commits no job";
  EXPECT_FALSE(IsLastTask(job, {{1, 1}, 7, 7}));
  job.stages[1].committed = 0;
  EXPECT_FALSE(IsLastTask(job, {{1, 1}, 1, 1})) << "another reduce runs";
}

}  // namespace
}  // namespace mr::master
