// Replicas made by real workers, and readers that go on from another replica.
#include <gmock/gmock.h>

#include "common/base/rng.h"
#include "tests/worker/daemon/worker_daemon_testing.h"

namespace mr::worker {
namespace {

// A second worker under a master of its own makes replicas of the first one's outputs.
class ReplicaDaemonTest : public WorkerDaemonTest {
 protected:
  void SetUp() override {
    WorkerDaemonTest::SetUp();
    holder_ = master_.WaitForRegistration(1);
    SendStages();
    made_ = RunMap(kText, Attempt(0, 0));
    StartWorkerOf(other_, "other", &second_, &second_lifeline_);
    reader_ = other_.WaitForRegistration(1);
    other_.SetVerdict(Verdict::kReplicaKept);
  }
  void ExpectServed(const FakeMaster::Registration& worker) {
    for (uint32_t p = 0; p < kPartitions; ++p) {
      if (made_.table[p].records == 0) continue;
      const auto raw = FetchChunk(worker, Attempt(0, 0), p);
      ASSERT_TRUE(raw.ok()) << raw.status().ToString();
      EXPECT_EQ(Hash128(*raw), made_.table[p].content);
    }
  }
  FakeMaster other_;
  UniqueFd second_lifeline_;
  test::Process second_;
  FakeMaster::Registration holder_, reader_;
  FakeMaster::Heard made_;
};

TEST_F(ReplicaDaemonTest, AReplicaIsMadeOnceReportedServedAndInTheInventory) {
  AskForReplica(other_, made_, holder_);
  const auto heard = other_.WaitForReport(Attempt(0, 0), {"replica_made", "replica_not_made"});
  ASSERT_EQ(heard.what, "replica_made") << heard.message << WorkerLog();
  EXPECT_EQ(heard.replica.incarnation, reader_.incarnation);
  EXPECT_EQ(heard.replica.output.generation, 1u);
  ExpectServed(reader_);
  // Asked for again, it is said again and not made again.
  AskForReplica(other_, made_, holder_);
  other_.WaitForReports(Attempt(0, 0), "replica_made", 2);
  worker_.Kill();
  AskForReplica(other_, made_, holder_);
  other_.WaitForReports(Attempt(0, 0), "replica_made", 3);
  ExpectServed(reader_);
  other_.Restart();
  const auto again = other_.WaitForRegistration(2);
  ASSERT_EQ(again.inventory.size(), 1u);
  EXPECT_EQ(again.inventory[0].output.task, Attempt(0, 0).task);
  EXPECT_EQ(again.inventory[0].attempt, 1u);
  other_.Send(1, [](capnp::List<rpc::Command>::Builder c) { rpc::ToWire(kJob, c[0].initEndJob()); });
  other_.Restart();
  EXPECT_THAT(other_.WaitForRegistration(3).inventory, testing::IsEmpty()) << "it went with its job";
}

TEST_F(ReplicaDaemonTest, OneOfWhichTheMasterDoesNotKnowIsDroppedAndNotReportedAgain) {
  other_.KeepVerdicts();
  AskForReplica(other_, made_, holder_);
  other_.WaitForReport(Attempt(0, 0), {"replica_made"});
  // The answer to its report was lost: the replica is in the inventory and is reported again.
  other_.Restart();
  EXPECT_EQ(other_.WaitForRegistration(2).inventory.size(), 1u);
  other_.WaitForReports(Attempt(0, 0), "replica_made", 2);
  other_.SetDropsInventory(true);
  other_.Restart();
  EXPECT_EQ(other_.WaitForRegistration(3).inventory.size(), 1u);
  other_.SetDropsInventory(false);
  other_.Restart();
  EXPECT_THAT(other_.WaitForRegistration(4).inventory, testing::IsEmpty());
  EXPECT_EQ(other_.ReportsOf(Attempt(0, 0), "replica_made"), 2u);
  // A replica that the master refuses is dropped, too.
  other_.GiveVerdicts();
  other_.SetVerdict(Verdict::kStale);
  AskForReplica(other_, made_, holder_);
  other_.WaitForReports(Attempt(0, 0), "replica_made", 3);
  other_.Send(0, [](capnp::List<rpc::Command>::Builder) {});  // the answer was heard before this
  other_.Restart();
  EXPECT_THAT(other_.WaitForRegistration(5).inventory, testing::IsEmpty());
}

TEST_F(ReplicaDaemonTest, AReaderWhoseReplicaIsGoneGoesOnFromAnother) {
  AskForReplica(other_, made_, holder_);
  ASSERT_EQ(other_.WaitForReport(Attempt(0, 0), {"replica_made", "replica_not_made"}).what, "replica_made");
  // The holder of the first replica is gone, and its reader does not know another one yet.
  worker_.Kill();
  lifeline_.reset();
  StartWorkerOf(master_, "third", &worker_, &lifeline_);
  master_.WaitForRegistration(2);
  SendStages();
  LaunchReduce(Attempt(1, 0));
  SendDirectory(1, made_, holder_);
  master_.WaitForReport(Attempt(1, 0), {"fetch_failed"});
  SendDirectory(2, made_, reader_);
  const auto finished = master_.WaitForReport(Attempt(1, 0), {"finished", "failed"});
  EXPECT_EQ(finished.what, "finished") << finished.message << "\n" << WorkerLog();
  EXPECT_THAT(finished.consumed, testing::ElementsAre(Consumed{0, 0, 1, made_.content}));
}

TEST_F(ReplicaDaemonTest, AReaderByBindReadsTheReplicaThatItIsToldThoughItHasOneHere) {
  AskForReplica(other_, made_, holder_);
  ASSERT_EQ(other_.WaitForReport(Attempt(0, 0), {"replica_made", "replica_not_made"}).what, "replica_made");
  SendDirectory(1, made_, holder_);
  LaunchReduce(Attempt(1, 0), true);
  master_.WaitForReport(Attempt(1, 0), {"started"});
  SendBind(Attempt(1, 0), made_, reader_);
  const auto finished = master_.WaitForReport(Attempt(1, 0), {"finished", "failed"});
  EXPECT_EQ(finished.what, "finished") << finished.message << "\n" << WorkerLog();
  const auto read = master_.WaitForReport(Attempt(1, 0), {"fetch_done"});
  EXPECT_EQ(read.replica.incarnation, reader_.incarnation) << "not its own worker's";
  EXPECT_EQ(read.readers, 1u);
  EXPECT_GT(read.bytes, 0u);
}

TEST_F(ReplicaDaemonTest, AReaderByBindWhoseReplicaWasDroppedReadsTheOneThatItIsToldNext) {
  AskForReplica(other_, made_, holder_);
  ASSERT_EQ(other_.WaitForReport(Attempt(0, 0), {"replica_made", "replica_not_made"}).what, "replica_made");
  other_.Send(1, [&](capnp::List<rpc::Command>::Builder c) { FillReplica(made_, reader_, c[0].initDrop()); });
  SendDirectory(1, made_, holder_);
  LaunchReduce(Attempt(1, 0), true);
  SendBind(Attempt(1, 0), made_, reader_);
  master_.WaitForReport(Attempt(1, 0), {"fetch_failed"});
  SendRemoved(2, made_, reader_);
  SendBind(Attempt(1, 0), made_, holder_);
  const auto finished = master_.WaitForReport(Attempt(1, 0), {"finished", "failed"});
  EXPECT_EQ(finished.what, "finished") << finished.message << "\n" << WorkerLog();
  EXPECT_EQ(master_.WaitForReport(Attempt(1, 0), {"fetch_done"}).replica.incarnation, holder_.incarnation);
}

// Partitions above the reader's window are fed as they come; their holder dies in the midst of them.
TEST_F(WorkerDaemonTest, AReaderGoesOnInTheMidstOfALargePartitionFromAnotherReplica) {
  std::string text;
  for (uint32_t i = 0; i < 1'200'000; ++i)
    text += "quite_a_word_" + std::to_string(100'000'000 + i * 7) + (i % 10 == 9 ? "\n" : " ");
  FakeMaster other;
  test::Process holder;
  UniqueFd lifeline;
  const std::string token = directory_ / "token";
  std::ofstream(token) << "x";
  // The window has room for eight replies: so the child has some of them when the holder dies.
  env_ = {"MR_FAULT=serve:12:" + token};
  std::vector<FakeMaster::Heard> made;
  for (uint32_t life = 1; life <= 2; ++life) {
    StartWorkerOf(other, "other", &holder, &lifeline);
    const auto registered = other.WaitForRegistration(life);
    to_ = &other;
    SendStages();
    made.push_back(RunMap(text, Attempt(0, 0, life)));
    for (const PartitionRow& row : made.back().table) ASSERT_GT(row.bytes, 9u << 20);
    to_ = &master_;
    if (life == 1) {
      master_.WaitForRegistration(1);
      SendStages();
      LaunchReduce(Attempt(1, 0));
    }
    SendDirectory(life, made.back(), registered);
    if (life == 1) {
      master_.WaitForReport(Attempt(1, 0), {"fetch_failed", "failed"});
      EXPECT_NE(holder.Wait(Seconds(20)), std::nullopt);
      env_.clear();
    }
  }
  EXPECT_EQ(made[0].content, made[1].content);
  const auto finished = master_.WaitForReport(Attempt(1, 0), {"finished", "failed"});
  EXPECT_EQ(finished.what, "finished") << finished.message << "\n" << WorkerLog();
  EXPECT_EQ(finished.records, 1'200'000u) << "each word once";
}

TEST_F(ReplicaDaemonTest, OneThatCannotBeMadeIsSaidAndCostsNothingElse) {
  auto wrong = made_;
  wrong.content.low ^= 1;
  AskForReplica(other_, wrong, holder_);
  const auto heard = other_.WaitForReport(Attempt(0, 0), {"replica_made", "replica_not_made"});
  EXPECT_EQ(heard.what, "replica_not_made");
  EXPECT_EQ(heard.replica.incarnation, holder_.incarnation) << "the source";
  EXPECT_THAT(heard.message, testing::HasSubstr("differs from the committed digest"));
  AskForReplica(other_, made_, holder_);
  EXPECT_EQ(other_.WaitForReport(Attempt(0, 0), {"replica_made"}).what, "replica_made");
}

// Whatever the command says, it is answered or dropped, and the worker goes on.
TEST_F(ReplicaDaemonTest, RandomCommandsToReplicateMakeNoReplicaAndTheWorkerGoesOn) {
  Rng rng(4711);
  const auto field = [&] { return static_cast<uint32_t>(rng.Below(2) == 0 ? rng.Below(4) : rng.Next()); };
  const auto wide = [&] { return rng.Below(2) == 0 ? rng.Below(1000) : rng.Next(); };
  const std::string addresses[] = {"", "nowhere", holder_.address, "127.0.0.1:1", std::string(1000, 'x'), "\x01:\xff"};
  for (int i = 0; i < 200; ++i) {
    other_.Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto replicate = commands[0].initReplicateOutput();
      if (i % 2 == 0) {
        // Right but for one thing.
        rpc::ToWire(kJob, replicate.initJob());
        FillEntry(made_, holder_, replicate.initSource());
      }
      auto source = i % 2 == 0 ? replicate.getSource() : replicate.initSource();
      switch (i % 2 == 0 ? 1 + rng.Below(7) : 0) {
        case 0:
          rpc::ToWire(JobId{field(), field()}, replicate.initJob());
          replicate.setStage(field());
          source.setTask(field());
          source.setGeneration(field());
          source.setAttempt(field());
          source.initWorker().setId(field());
          source.getWorker().setIncarnation(wide());
          source.setAddress(addresses[rng.Below(std::size(addresses))].c_str());
          break;
        case 1: source.setTask(1 + field() % 1000); break;
        case 2: source.setGeneration(2 + field() % 1000); break;
        case 3: source.getWorker().setIncarnation(wide()); break;
        case 4: source.getManifest().setPartitions(field()); break;
        case 5: source.getManifest().getTable()[0].setChunks(field()); break;
        case 6: source.getManifest().getTable()[1].setBytes(wide()); break;
        case 7: rpc::ToWire(Digest128{wide(), wide()}, source.getManifest().initContent()); break;
      }
    });
  }
  const auto reduce_worker = other_.WaitForRegistration(1);
  AskForReplica(other_, made_, holder_);
  const auto heard = other_.WaitForReport(Attempt(0, 0), {"replica_made"});
  EXPECT_EQ(heard.what, "replica_made") << WorkerLog();
  ExpectServed(reduce_worker);
}

// Whatever a Bind says, and for any reader, it is dropped or its read fails. The reader goes on from the replica of a
// correct Bind.
TEST_F(ReplicaDaemonTest, RandomBindsAreNoEndOfTheWorkerNorOfTheReader) {
  LaunchReduce(Attempt(1, 0), true);
  Rng rng(42);
  const auto field = [&] { return static_cast<uint32_t>(rng.Below(2) == 0 ? rng.Below(4) : rng.Next()); };
  const auto wide = [&] { return rng.Below(2) == 0 ? rng.Below(1000) : rng.Next(); };
  const std::string addresses[] = {"", "nowhere", "127.0.0.1:1", std::string(1000, 'x'), "\x01:\xff"};
  for (int i = 0; i < 300; ++i) {
    master_.Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto bind = commands[0].initBind();
      rpc::ToWire(Attempt(1, 0), bind.initReader());
      bind.setStage(0);
      FillEntry(made_, holder_, bind.initEntry());
      auto entry = bind.getEntry();
      // Right but for one thing; each third time of another reader, which is not known here.
      if (i % 3 == 0) rpc::ToWire(AttemptId{{{field(), field()}, field(), field()}, field()}, bind.initReader());
      switch (rng.Below(8)) {
        case 0: bind.setStage(2 + field() % 1000); break;
        case 1: entry.setTask(1 + field() % 1000); break;
        case 2: entry.setGeneration(2 + field() % 1000); break;
        case 3: entry.getWorker().setIncarnation(wide()); break;
        case 4: entry.setAddress(addresses[rng.Below(std::size(addresses))].c_str()); break;
        case 5: entry.getManifest().setPartitions(field()); break;
        case 6: entry.getManifest().getTable()[0].setBytes(wide()); break;
        case 7: rpc::ToWire(Digest128{wide(), wide()}, entry.getManifest().initContent()); break;
      }
    });
  }
  SendBind(Attempt(1, 0), made_, holder_);
  const auto finished = master_.WaitForReport(Attempt(1, 0), {"finished", "failed"});
  EXPECT_EQ(finished.what, "finished") << finished.message << "\n" << WorkerLog();
}

}  // namespace
}  // namespace mr::worker
