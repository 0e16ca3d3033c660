// A master whose data directory is an older copy. Workers received later records as durable, which shows it. Nothing is
// given or deleted before an operator has decided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/rpc/kj_status.h"
#include "dfs/meta/namespace.h"
#include "master/core/epochs.h"
#include "tests/master/host/restarts_fixture.h"
#include "tests/master/host/sync_gate.h"

namespace mr::master {
namespace {

using test::FakeWorker;
using testing::HasSubstr;

TEST(EpochsTest, ARecordOfAnotherChainOrBehindTheEndIsLacking) {
  Epochs epochs;
  EXPECT_FALSE(epochs.Lacks({5, 1, 1}, 10)) << "nothing is known yet";
  epochs.Began({3, 300, 31});
  epochs.Began({4, 400, 41});
  epochs.Began({6, 600, 61});
  EXPECT_FALSE(epochs.Lacks({}, 70));
  EXPECT_FALSE(epochs.Lacks({2, 999, 5000}, 70)) << "of an epoch before those that are kept";
  for (const uint64_t sequence : {1, 30, 31, 40}) EXPECT_FALSE(epochs.Lacks({3, 300, sequence}, 70)) << sequence;
  EXPECT_TRUE(epochs.Lacks({3, 300, 41}, 70)) << "that number was given again in epoch 4";
  EXPECT_TRUE(epochs.Lacks({4, 401, 45}, 70)) << "another epoch 4";
  EXPECT_FALSE(epochs.Lacks({6, 600, 70}, 70));
  EXPECT_TRUE(epochs.Lacks({6, 600, 71}, 70));
  EXPECT_TRUE(epochs.Lacks({7, 700, 1}, 70));
  EXPECT_EQ(epochs.At(70), (Durable{6, 600, 70}));
  epochs.Settle(6);
  EXPECT_FALSE(epochs.Lacks({4, 401, 45}, 70)) << "settled";
  EXPECT_TRUE(epochs.Lacks({6, 600, 71}, 70));
}

TEST(SafeModeHeldTest, NothingIsDeletedUntilItEndsAndAnotherBlockOfAnIdInDoubtStays) {
  dfs::Namespace ns({.replication = 1});
  const auto apply = [&ns](const dfs::Record& record) { return ns.Apply(record); };
  const auto at = [](int64_t s) { return Instant{} + Seconds(s); };
  (void)apply(dfs::MasterStarted{at(1), {}});
  (void)apply(dfs::WorkerJoined{at(2), WorkerId{1}, 7, "h:1", "r", 1 << 30, 0, {}});
  const auto created = ns.PrepareCreate({at(40), 1}, "/f", false, 1, 0, "");
  ASSERT_TRUE(created.ok());
  const uint64_t lease = std::get<dfs::FileCreated>(**created).lease;
  (void)apply(**created);
  const auto added = ns.PrepareAddBlock({at(40), 1}, lease, 0, "");
  ASSERT_TRUE(added.ok());
  (void)apply(**added);
  const BlockRef block{std::get<dfs::BlockAdded>(**added).block, 1, 10, 1};
  (void)apply(dfs::ReplicaDurable{at(40), WorkerId{1}, 7, block});
  const auto complete = ns.PrepareComplete({at(41), 1}, lease, {{block, {WorkerId{1}}}});
  ASSERT_TRUE(complete.ok()) << complete.status().ToString();
  (void)apply(**complete);
  ASSERT_FALSE(ns.in_safe_mode());

  (void)apply(dfs::IdsInDoubt{1, ns.NextBlock()});
  (void)apply(dfs::IdsRaised{1000, 1000});
  EXPECT_TRUE(apply(dfs::SafeModeHeld{at(42), true}).empty());
  // Blocks that lost records gave: one with the id of a known block and other bytes, one with an id never given here.
  const std::vector<BlockRef> lost = {{block.id, 1, 99, 9}, {BlockId{500}, 1, 99, 9}};
  EXPECT_TRUE(apply(dfs::WorkerJoined{at(43), WorkerId{2}, 8, "h:2", "r", 1 << 30, 0, lost}).empty());
  for (const auto& ref : lost) {
    EXPECT_TRUE(apply(dfs::ReplicaSuspect{at(43), WorkerId{2}, 8, ref.id, 1, 99, false}).empty());
  }
  const auto removed = ns.PrepareRemove("/f", false);
  ASSERT_TRUE(removed.ok());
  EXPECT_TRUE(apply(**removed).empty()) << "a known block is not deleted either";
  for (int s = 44; s < 200; ++s) {
    for (const auto& record : ns.Due(at(s))) EXPECT_TRUE(apply(record).empty()) << s;
  }
  EXPECT_TRUE(ns.in_safe_mode());
  const auto effects = apply(dfs::SafeModeHeld{at(200), false});
  ASSERT_EQ(effects.size(), 1u) << "the removed block, and nothing that a lost record may have given";
  EXPECT_EQ(std::get<dfs::DeleteReplica>(effects[0]).worker, WorkerId{1});
  for (int s = 201; s < 300; ++s) {
    for (const auto& record : ns.Due(at(s))) EXPECT_TRUE(apply(record).empty()) << s;
  }
}

class SafeModeTest : public test::RestartsFixture {
 protected:
  void Start() {
    const Status started = RestartsFixture::Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
  }
  void CopyTree(const std::string& from, const std::string& to) {
    std::filesystem::remove_all(root_ + to);
    std::filesystem::copy(root_ + from, root_ + to, std::filesystem::copy_options::recursive);
  }
  Result<JobId> Submit(const std::string& output) {
    return client_->Submit(
        [&](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, root_ + "/input", root_ + "/" + output, 1); });
  }
  struct Said {
    bool lost = false;
    uint64_t sequence = 0;
    std::string text;
  };
  Said Journal(bool accept = false) {
    const auto read = [&](auto request) { return Read(request.send().wait(io_.io.waitScope)); };
    return accept ? read(client_->master().acceptLossRequest()) : read(client_->master().journalRequest());
  }
  static Said Read(const auto& response) {
    EXPECT_TRUE(rpc::FromOutcome(response.getOutcome()).ok());
    const auto status = response.getStatus();
    return {status.getLost(), status.getLostSequence(), status.getText().cStr()};
  }
  // Starts the master on an older copy of the data directory, and leaves `worker` with evidence of later records.
  void RestoreAnOlderCopy(FakeWorker& worker) {
    Start();
    ASSERT_TRUE(MakeDirectory("/kept").ok());
    Stop();
    CopyTree("/master", "/copy");
    Start();
    ASSERT_TRUE(worker.Register(master_->port()).ok());
    lost_job_ = Submit("lost").value();
    ASSERT_TRUE(client_->UntilState(lost_job_, rpc::JobState::SUCCEEDED));
    ASSERT_TRUE(MakeDirectory("/lost").ok());
    worker.Disconnect();
    ASSERT_TRUE(worker.Register(master_->port()).ok());
    worker.seen = worker.durable;
    worker.Disconnect();
    Stop();
    CopyTree("/copy", "/master");
    Start();
  }

  JobId lost_job_;
};

TEST_F(SafeModeTest, AnOlderCopyIsNoticedByWhatAWorkerWasSentAndWaitsForAnOperator) {
  FakeWorker worker(io_, "one");
  ASSERT_NO_FATAL_FAILURE(RestoreAnOlderCopy(worker));
  EXPECT_FALSE(Journal().lost) << "the witness went with the copy: only the worker knows";
  worker.blocks = {1, 2, 3};
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  Said said = Journal();
  ASSERT_TRUE(said.lost);
  EXPECT_EQ(said.sequence, worker.seen.sequence);
  EXPECT_THAT(said.text, HasSubstr("worker one registered, which had been sent record " +
                                   std::to_string(worker.seen.sequence) + " of epoch 2"));
  EXPECT_THAT(said.text, HasSubstr("store safemode off"));
  EXPECT_EQ(worker.durable.epoch, 0u) << "no record of this copy is sent: a better one may be put back";
  EXPECT_GT(worker.master_epoch, 2u);
  for (const Status& refused : {MakeDirectory("/new"), Remove("/kept"), Submit("out").status()}) {
    EXPECT_EQ(std::string(CodeName(refused.code())), "rejected") << refused.message();
    EXPECT_THAT(refused.message(), HasSubstr("safe mode"));
  }
  // It outlives a restart, whoever registers first.
  worker.Disconnect();
  Start();
  FakeWorker fresh(io_, "fresh");
  ASSERT_TRUE(fresh.Register(master_->port()).ok());
  EXPECT_TRUE(Journal().lost);
  EXPECT_FALSE(MakeDirectory("/new").ok());
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  said = Journal(/*accept=*/true);
  EXPECT_FALSE(said.lost);
  EXPECT_THAT(said.text, HasSubstr("accepted"));
  EXPECT_TRUE(MakeDirectory("/new").ok());
  EXPECT_TRUE(Remove("/kept").ok());
  const auto job = Submit("out");
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_GT(job->epoch, lost_job_.epoch) << "an id that was given is not given again";
  ASSERT_TRUE(client_->UntilState(*job, rpc::JobState::SUCCEEDED));
  EXPECT_EQ(worker.deleted_blocks, 0u);
  // An accepted loss stays accepted, and records that workers have seen since are not missing.
  worker.Disconnect();
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  worker.seen = worker.durable;
  EXPECT_NE(worker.seen.epoch, 0u);
  worker.Disconnect();
  Start();
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  EXPECT_FALSE(Journal().lost);
  EXPECT_TRUE(MakeDirectory("/newer").ok());
}

TEST_F(SafeModeTest, NoAcceptanceIsAnsweredBeforeItsRecordIsSynced) {
  FakeWorker worker(io_, "one");
  ASSERT_NO_FATAL_FAILURE(RestoreAnOlderCopy(worker));
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  ASSERT_TRUE(Journal().lost);
  test::SyncGate gate;
  gate.Arm();
  int answered = 0;
  const auto accept = [&] {
    return client_->master().acceptLossRequest().send().then([&](auto&&) { ++answered; }).eagerlyEvaluate(nullptr);
  };
  const auto first = accept();
  ASSERT_TRUE(io_.Until([&] { return gate.arrived() == 1; }));
  const auto second = accept();
  for (int i = 0; i < 3; ++i) client_->master().queuesRequest().send().wait(io_.io.waitScope);
  EXPECT_FALSE(Journal().lost) << "the safe mode has ended, and that is on its way to the disk";
  EXPECT_EQ(answered, 0) << "answered while the sync is under way";
  gate.Open();
  EXPECT_TRUE(io_.Until([&] { return answered == 2; }));
}

TEST_F(SafeModeTest, ACopyThatWentItsOwnWayIsNoticedThoughItIsAsLong) {
  FakeWorker worker(io_, "one");
  ASSERT_NO_FATAL_FAILURE(RestoreAnOlderCopy(worker));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(MakeDirectory("/d" + std::to_string(i)).ok());
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  EXPECT_TRUE(Journal().lost) << "epoch and number are there, of another chain";
}

TEST_F(SafeModeTest, ABetterCopyThatIsPutBackEndsItByItself) {
  FakeWorker worker(io_, "one");
  Start();
  ASSERT_TRUE(MakeDirectory("/kept").ok());
  Stop();
  CopyTree("/master", "/copy");
  Start();
  ASSERT_TRUE(MakeDirectory("/newer").ok());
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  worker.seen = worker.durable;
  worker.Disconnect();
  Stop();
  CopyTree("/master", "/best");
  CopyTree("/copy", "/master");
  Start();
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  ASSERT_TRUE(Journal().lost);
  if (worker.durable.epoch != 0) worker.seen = worker.durable;  // as a worker keeps it
  worker.Disconnect();
  Stop();
  CopyTree("/best", "/master");
  Start();
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  EXPECT_FALSE(Journal().lost) << "the operator restored what was asked for";
  EXPECT_TRUE(MakeDirectory("/new").ok());
}

TEST_F(SafeModeTest, RestartsOfAWholeJournalAndOfItsSnapshotsNeverEnterIt) {
  options_.snapshot_bytes = 64 << 10;
  FakeWorker worker(io_, "one");
  for (int life = 0; life < 5; ++life) {
    ASSERT_NO_FATAL_FAILURE(Start());
    ASSERT_TRUE(worker.Register(master_->port()).ok());
    EXPECT_FALSE(Journal().lost) << life;
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(MakeDirectory("/" + std::to_string(life) + "_" + std::to_string(i)).ok());
    const uint64_t before = worker.durable.sequence;
    ASSERT_TRUE(io_.Until([&] { return worker.durable.sequence > before; })) << "a beat brings it";
    worker.seen = worker.durable;
    worker.Disconnect();
  }
}

}  // namespace
}  // namespace mr::master
