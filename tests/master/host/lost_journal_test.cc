// A master whose journal lost records, or whose journal's disk is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "common/io/files.h"
#include "dfs/meta/namespace.h"
#include "master/journal/format.h"
#include "tests/master/host/restarts_fixture.h"
#include "tests/support/disk_shim.h"

namespace mr::master {
namespace {

using test::DiskCall;
using test::OnDiskCall;

class LostJournalTest : public test::RestartsFixture {
 protected:
  uint32_t Epoch() { return client_->master().infoRequest().send().wait(io_.io.waitScope).getMasterEpoch(); }
  Result<JobId> Submit(const std::string& output) {
    return client_->Submit([&](rpc::JobSpec::Builder spec) {
      test::FillTwoStages(spec, root_ + "/input", root_ + "/out", 2);
      spec.getOutput().setUri(output.c_str());
    });
  }
};

TEST_F(LostJournalTest, ALostJournalIsRefusedAndGivesNewIdsWhereItsLossIsAccepted) {
  const std::string journal = options_.directory + "/journal/journal", id = options_.directory + "/cluster_id";
  for (int life = 0; life < 3; ++life) {
    ASSERT_TRUE(Start().ok());
    ASSERT_TRUE(MakeDirectory("/d" + std::to_string(life)).ok());
    Stop();
  }
  const std::string cluster = ReadFile(id).value();
  ASSERT_EQ(truncate(journal.c_str(), journal::kHeaderBytes), 0);
  const auto replayed = ReplayedDigest(options_.directory);
  EXPECT_EQ(std::string(CodeName(replayed.status().code())), "corrupted")
      << "--replay_check refuses it as a start does";
  EXPECT_THAT(replayed.status().message(), testing::HasSubstr("was durable"));
  const Status refused = Start();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(std::string(CodeName(refused.code())), "corrupted") << refused.message();
  const std::string flag = "--accept_loss=";
  const size_t at = refused.message().find(flag);
  ASSERT_NE(at, std::string::npos) << refused.message();
  ASSERT_EQ(unlink(id.c_str()), 0);
  EXPECT_FALSE(Start().ok());
  EXPECT_FALSE(PathExists(id)) << "a refused start wrote something";
  options_.accept_loss = std::strtoull(refused.message().c_str() + at + flag.size(), nullptr, 10);
  const Status started = Start();
  ASSERT_TRUE(started.ok()) << started.ToString();
  EXPECT_EQ(Epoch(), 4u) << "an epoch, and with it the ids of jobs, would be used again";
  EXPECT_EQ(ReadFile(id).value(), cluster);
  for (int life = 0; life < 2; ++life) {
    const Status unasked = MakeDirectory("/new");
    EXPECT_EQ(std::string(CodeName(unasked.code())), "rejected") << "safe mode until an operator ends it";
    EXPECT_THAT(unasked.message(), testing::HasSubstr("mrctl store safemode off"));
    Stop();
    options_.accept_loss.reset();
    ASSERT_TRUE(Start().ok());
  }
  client_->master().acceptLossRequest().send().wait(io_.io.waitScope);
  EXPECT_TRUE(MakeDirectory("/new").ok());
  Stop();
  const Status again = Start();
  EXPECT_TRUE(again.ok()) << again.ToString();
}

TEST_F(LostJournalTest, AFullDiskRefusesNewWorkServesReadsAndRemovalsAndEndsByItself) {
  options_.snapshot_bytes = 64 << 10;
  ASSERT_TRUE(Start().ok());
  ASSERT_TRUE(MakeDirectory("/gone").ok());
  std::atomic<bool> full{true};
  const OnDiskCall hook([&](const DiskCall& call) {
    const bool grows = call.kind == DiskCall::kAllocate || (call.kind == DiskCall::kOpen && !PathExists(call.path));
    return full && grows && call.path.starts_with(options_.directory) ? ENOSPC : 0;
  });
  std::string deep;
  for (int i = 0; i < 15; ++i) deep += "/" + std::string(250, 'd');
  Status refused;
  int made = 0;
  for (; made < 200 && refused.ok(); ++made) refused = MakeDirectory(deep + "/" + std::to_string(made));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(std::string(CodeName(refused.code())), "rejected") << refused.message();
  EXPECT_THAT(refused.message(), testing::HasSubstr("Make room"));
  const auto job = Submit("file://" + root_ + "/out");
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(std::string(CodeName(job.status().code())), "rejected") << job.status().message();
  EXPECT_TRUE(Remove("/gone").ok());
  EXPECT_EQ(Epoch(), 1u) << "it still answers";
  // It starts again on the full disk, and what it acknowledged is there.
  Stop();
  const Status restarted = Start();
  ASSERT_TRUE(restarted.ok()) << restarted.ToString();
  EXPECT_EQ(std::string(CodeName(Remove("/gone").code())), "not_found");
  full = false;
  EXPECT_TRUE(io_.Until([&] { return MakeDirectory("/new").ok(); }));
  EXPECT_TRUE(Submit("file://" + root_ + "/out").ok());
}

TEST_F(LostJournalTest, APlanOrACommitAboveTheJournalsLimitFailsItsJobInWords) {
  options_.record_bytes = 16 << 10;
  ASSERT_TRUE(Start().ok());
  test::FakeWorker worker(io_, "one");
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  worker.edit = [](const AttemptId& attempt, rpc::Finished::Builder finished) {
    if (attempt.task.stage != 1) return;
    auto outputs = finished.getManifest().initOutputs(200);
    for (unsigned i = 0; i < outputs.size(); ++i) {
      const std::string number = std::to_string(attempt.task.task) + "-" + std::to_string(i);
      outputs[i].setName(("part-" + number + std::string(100, 'n')).c_str());
    }
  };
  const auto job = Submit("dfs:///out");
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(client_->UntilState(*job, rpc::JobState::FAILED)) << client_->Job(*job).error;
  EXPECT_THAT(client_->Job(*job).error, testing::HasSubstr("is the most"));
  options_.record_bytes = 100;
  Stop();
  ASSERT_TRUE(Start().ok());
  const auto refused = Submit("dfs:///other");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(std::string(CodeName(refused.status().code())), "rejected") << refused.status().message();
}

// The ids between are of lost records: what workers hold of them is nobody's garbage.
TEST(LostIdsTest, BlocksOfLostIdsAreNeverDeletedAndNewIdsAreAboveThem) {
  dfs::Namespace ns({});
  (void)ns.Apply(dfs::IdsRaised{1000, 1000});
  for (const bool restored : {false, true}) {
    dfs::Namespace other({});
    if (restored) {
      ASSERT_TRUE(other.Restore(ns.Snapshot()).ok());
    }
    dfs::Namespace& now = restored ? other : ns;
    (void)now.Apply(dfs::MasterStarted{Instant{1}, {}});
    const std::vector<BlockRef> held = {{BlockId{5}, 1, 10, 1}, {BlockId{999}, 1, 10, 1}};
    auto effects = now.Apply(dfs::WorkerJoined{Instant{2}, WorkerId{1}, 7, "h:1", "r", 1 << 30, 0, held});
    EXPECT_TRUE(effects.empty());
    for (int second = 1; second < 100; ++second) {
      for (const auto& record : now.Due(Instant{} + Seconds(second))) effects = now.Apply(record);
      EXPECT_TRUE(effects.empty()) << "after " << second << " s";
    }
    const auto created = now.PrepareCreate({Instant{} + Seconds(100), 1}, "/f", false, 1, 0, "");
    ASSERT_TRUE(created.ok());
    const auto& file = std::get<dfs::FileCreated>(**created);
    EXPECT_GE(file.lease, 1000u);
    (void)now.Apply(file);
    const auto added = now.PrepareAddBlock({Instant{} + Seconds(100), 1}, file.lease, 0, "");
    ASSERT_TRUE(added.ok()) << added.status().ToString();
    EXPECT_GE(std::get<dfs::BlockAdded>(**added).block.value, 1000u);
    (void)now.Apply(dfs::LeaseEnded{file.lease, false});
  }
}

}  // namespace
}  // namespace mr::master
