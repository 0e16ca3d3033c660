// The blocks of a drained worker are copied away, nothing is deleted before, and the reports about it are true.
#include <gtest/gtest.h>

#include <set>

#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

class NamespaceDrainTest : public NamespaceTest {
 protected:
  // A complete file of blocks that all of their targets have.
  std::vector<StagedBlock> PutOf(const std::string& path, uint32_t replication, uint32_t blocks = 1) {
    const std::string request = "of" + path;
    EXPECT_TRUE(Do(ns_.PrepareCreate(At(), path, false, replication, 0, request)).ok());
    const uint64_t lease = ns_.LeaseOf(request);
    std::vector<StagedBlock> staged;
    for (uint32_t i = 0; i < blocks; ++i) staged.push_back(Write(lease, i));
    EXPECT_TRUE(Do(ns_.PrepareComplete(At(), lease, staged)).ok());
    return staged;
  }
  void Drain(WorkerId w, bool on = true) { Apply(WorkerDrained{now_, w, on}); }
  void JoinWith(uint32_t i, uint64_t capacity, uint64_t used, std::vector<BlockRef> blocks = {}) {
    Apply(WorkerJoined{now_, W(i), 100 + i, "host" + std::to_string(i) + ":1", "", capacity, used, std::move(blocks)});
  }
  std::set<WorkerId> On(const StagedBlock& block) const {
    const auto found = ns_.Find(block.block.id);
    return found ? std::set<WorkerId>(found->workers.begin(), found->workers.end()) : std::set<WorkerId>();
  }
  // Completes each requested copy, until no more are requested.
  void Copy() {
    while (!Copies().empty()) {
      const auto copies = Copies();
      std::erase_if(effects_, [](const Effect& e) { return std::holds_alternative<ReplicateBlock>(e); });
      for (const auto& copy : copies) Have(copy.to.value, copy.block);
    }
  }
};

TEST_F(NamespaceDrainTest, AThirdReplicaIsMadeElsewhereAndNothingIsDeletedBefore) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2)[0];
  const WorkerId drained = block.workers[0];
  Drain(drained);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_NE(Copies()[0].to, drained);
  EXPECT_FALSE(On(block).contains(Copies()[0].to));
  EXPECT_FALSE(ns_.DrainOf(drained).Safe());
  EXPECT_EQ(ns_.DrainOf(drained).copying, 1u);
  EXPECT_TRUE(On(block).contains(drained)) << "it is read, and copied from, until then";
  EXPECT_TRUE(Deletes().empty());
  Copy();
  const DrainBlocks done = ns_.DrainOf(drained);
  EXPECT_TRUE(done.Safe());
  EXPECT_EQ(done.blocks, 1u);
  EXPECT_EQ(done.left_blocks, 0u);
  EXPECT_EQ(done.thin_blocks, 0u);
  Pass(Seconds(100));
  EXPECT_TRUE(Deletes().empty()) << "it may be undrained";
  Lose(drained.value);
  Pass(Seconds(100));
  EXPECT_TRUE(Copies().empty()) << "nothing is left to repair";
}

TEST_F(NamespaceDrainTest, TheOnlyReplicaIsCopiedAwayFromTheDrainedWorkerItself) {
  for (uint32_t i = 1; i <= 2; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 1)[0];
  const WorkerId drained = block.workers[0];
  Drain(drained);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].from, drained);
  const DrainBlocks before = ns_.DrainOf(drained);
  EXPECT_FALSE(before.Safe());
  EXPECT_EQ(before.left_blocks, 1u);
  EXPECT_EQ(before.left_bytes, block.block.length);
  EXPECT_EQ(before.left_files, std::vector<std::string>{"/f"});
  Copy();
  EXPECT_TRUE(ns_.DrainOf(drained).Safe());
}

TEST_F(NamespaceDrainTest, AFreshWorkerTakesTheBlocksThatFoundNoOtherBefore) {
  Join(1);
  const StagedBlock block = PutOf("/f", 2)[0];
  Drain(W(1));
  EXPECT_TRUE(Copies().empty());
  const DrainBlocks alone = ns_.DrainOf(W(1));
  EXPECT_FALSE(alone.Safe()) << "no worker but this one";
  EXPECT_EQ(alone.without_worker, 1u);
  Join(2);
  Pass(Seconds(16));
  Copy();
  EXPECT_TRUE(On(block).contains(W(2)));
  const DrainBlocks done = ns_.DrainOf(W(1));
  EXPECT_TRUE(done.Safe());
  EXPECT_EQ(done.thin_blocks, 1u);
  EXPECT_EQ(done.thin_files, std::vector<std::string>{"/f"});
}

TEST_F(NamespaceDrainTest, FewerWorkersThanReplicasIsSafeAndNamesTheFiles) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  PutOf("/a", 3, 2);
  PutOf("/b", 2);
  Drain(W(3));
  Copy();
  const DrainBlocks done = ns_.DrainOf(W(3));
  EXPECT_TRUE(done.Safe());
  EXPECT_EQ(done.thin_blocks, 2u);
  EXPECT_EQ(done.thin_files, std::vector<std::string>{"/a"});
}

TEST_F(NamespaceDrainTest, TwoDrainedWorkersDoNotCountForEachOther) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2)[0];
  Drain(block.workers[0]);
  Drain(block.workers[1]);
  EXPECT_FALSE(ns_.DrainOf(block.workers[0]).Safe());
  EXPECT_FALSE(ns_.DrainOf(block.workers[1]).Safe());
  Copy();
  EXPECT_TRUE(ns_.DrainOf(block.workers[0]).Safe());
  EXPECT_TRUE(ns_.DrainOf(block.workers[1]).Safe());
}

TEST_F(NamespaceDrainTest, FullWorkersAreWhatItWaitsForAndItSaysSo) {
  Join(1);
  PutOf("/f", 1);
  JoinWith(2, 1000, 950);
  Drain(W(1));
  const DrainBlocks stuck = ns_.DrainOf(W(1));
  EXPECT_FALSE(stuck.Safe());
  EXPECT_EQ(stuck.left_blocks, 1u);
  EXPECT_EQ(stuck.without_room, 1u);
  JoinWith(3, 1000, 10);
  EXPECT_EQ(ns_.DrainOf(W(1)).without_room, 0u);
}

TEST_F(NamespaceDrainTest, CopiesThatFailAreSaid) {
  Join(1);
  const StagedBlock block = PutOf("/f", 1)[0];
  Join(2);
  Drain(W(1));
  ASSERT_EQ(Copies().size(), 1u);
  Apply(ReplicaNotCopied{now_, W(1), 101, block.block.id, 1, false});
  const DrainBlocks stuck = ns_.DrainOf(W(1));
  EXPECT_FALSE(stuck.Safe());
  EXPECT_EQ(stuck.failing, 1u);
}

TEST_F(NamespaceDrainTest, ADamagedReplicaIsNoReasonToStayWhereOthersAreGood) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2)[0];
  const uint32_t bad = block.workers[0].value;
  Apply(ReplicaSuspect{now_, W(bad), 100 + bad, block.block.id, 1, 100});
  Drain(W(bad));
  Copy();
  EXPECT_TRUE(ns_.DrainOf(W(bad)).Safe());
}

TEST_F(NamespaceDrainTest, TheLastBytesOfABlockKeepTheWorkerThoughTheyAreDamaged) {
  for (uint32_t i = 1; i <= 2; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 1)[0];
  const WorkerId drained = block.workers[0];
  Apply(ReplicaSuspect{now_, drained, 100 + drained.value, block.block.id, 1, 100});
  Drain(drained);
  Pass(Seconds(100));
  const DrainBlocks stuck = ns_.DrainOf(drained);
  EXPECT_FALSE(stuck.Safe());
  EXPECT_EQ(stuck.damaged, 1u);
  EXPECT_EQ(stuck.left_files, std::vector<std::string>{"/f"});
  ASSERT_TRUE(Do(ns_.PrepareRemove("/f", false)).ok());
  EXPECT_TRUE(ns_.DrainOf(drained).Safe());
}

TEST_F(NamespaceDrainTest, AFileThatIsBeingWrittenKeepsTheWorkerUntilItIsCompleteElsewhere) {
  for (uint32_t i = 1; i <= 2; ++i) Join(i);
  ASSERT_TRUE(Do(ns_.PrepareCreate(At(), "/f", false, 1, 0, "one")).ok());
  const uint64_t lease = ns_.LeaseOf("one");
  const auto added = std::get<BlockAdded>(**ns_.PrepareAddBlock(At(), lease, 0, ""));
  Apply(added);
  const WorkerId drained = added.targets[0];
  Drain(drained);
  EXPECT_FALSE(ns_.DrainOf(drained).Safe()) << "nobody has reported the block yet";
  EXPECT_EQ(ns_.DrainOf(drained).being_written, 1u);
  const StagedBlock staged{{added.block, 1, 100, 7}, {drained}};
  Have(drained.value, staged.block);
  EXPECT_FALSE(ns_.DrainOf(drained).Safe());
  // It registers again: what was placed there is known by its report alone.
  Join(drained.value, "", {staged.block});
  EXPECT_EQ(ns_.DrainOf(drained).being_written, 1u);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {staged})).ok());
  EXPECT_EQ(ns_.DrainOf(drained).being_written, 0u);
  EXPECT_FALSE(ns_.DrainOf(drained).Safe());
  Pass(Seconds(16));
  Copy();
  EXPECT_TRUE(ns_.DrainOf(drained).Safe());
}

TEST_F(NamespaceDrainTest, NothingIsSafeInSafeMode) {
  Join(1);
  Apply(MasterStarted{now_, {W(1), W(2)}, {}});
  Join(1);
  Drain(W(1));
  EXPECT_FALSE(ns_.DrainOf(W(1)).Safe());
  EXPECT_TRUE(ns_.DrainOf(W(1)).safe_mode);
}

TEST_F(NamespaceDrainTest, ADrainedWorkerGetsNoNewBlocks) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  Drain(W(2));
  for (int i = 0; i < 20; ++i) {
    for (const StagedBlock& block : PutOf("/f" + std::to_string(i), 2, 3)) {
      EXPECT_EQ(std::count(block.workers.begin(), block.workers.end(), W(2)), 0);
    }
  }
  EXPECT_EQ(ns_.DrainOf(W(2)).blocks, 0u);
}

TEST_F(NamespaceDrainTest, ADrainedWorkerThatRegistersAgainCountsForNothingFromTheFirst) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2)[0];
  const WorkerId drained = block.workers[0];
  Drain(drained);
  Copy();
  Lose(drained.value);
  Apply(WorkerJoined{now_, drained, 100 + drained.value, "host:1", "", 0, 0, {block.block}, true});
  Pass(Seconds(1));
  EXPECT_TRUE(Deletes().empty()) << "no replica of a worker that stays is surplus";
  EXPECT_TRUE(ns_.DrainOf(drained).Safe());
}

TEST_F(NamespaceDrainTest, AWorkerThatRegistersAgainWithoutBeingLostIsStillDrained) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2)[0];
  const WorkerId drained = block.workers[0];
  Drain(drained);
  Copy();
  Join(drained.value, "", {block.block});
  Pass(Seconds(100));
  EXPECT_TRUE(Deletes().empty()) << "no replica of a worker that stays is surplus";
  for (const StagedBlock& other : PutOf("/g", 2, 10)) {
    EXPECT_EQ(std::count(other.workers.begin(), other.workers.end(), drained), 0);
  }
}

TEST_F(NamespaceDrainTest, UndrainedItTakesTheReplicasThatOthersWaitFor) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  Drain(W(3));
  const StagedBlock block = PutOf("/f", 3)[0];
  Pass(Seconds(100));
  EXPECT_TRUE(Copies().empty());
  Drain(W(3), false);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].to, W(3));
  Copy();
  EXPECT_EQ(On(block).size(), 3u);
}

TEST_F(NamespaceDrainTest, UndrainedWhatIsTooMuchIsDeleted) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2)[0];
  Drain(block.workers[0]);
  Copy();
  EXPECT_EQ(On(block).size(), 3u);
  Drain(block.workers[0], false);
  EXPECT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(On(block).size(), 2u);
}

TEST_F(NamespaceDrainTest, TheLastReplicasOfALostWorkerAreKnownUntilItIsForgotten) {
  for (uint32_t i = 1; i <= 2; ++i) Join(i);
  Pass(Seconds(100));
  const StagedBlock alone = PutOf("/alone", 1)[0];
  PutOf("/both", 2);
  const WorkerId gone = alone.workers[0];
  EXPECT_EQ(ns_.LastReplicasOn(gone).blocks, 0u) << "they can be read";
  Lose(gone.value);
  const LastReplicas last = ns_.LastReplicasOn(gone);
  EXPECT_EQ(last.blocks, 1u);
  EXPECT_EQ(last.bytes, 100u);
  EXPECT_EQ(last.files, std::vector<std::string>{"/alone"});
  EXPECT_EQ(ns_.LastReplicasOn(W(3 - gone.value)).blocks, 0u) << "the other one never had it";
  Apply(WorkerForgotten{now_, gone});
  EXPECT_EQ(ns_.LastReplicasOn(gone).blocks, 0u);
  EachRestarted([&](const Namespace& other) { EXPECT_EQ(other.LastReplicasOn(gone).blocks, 0u); });
}

}  // namespace
}  // namespace mr::dfs
