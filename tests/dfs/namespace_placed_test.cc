// Placed replicas: what a worker claims without an order of the master deletes nothing, stops no repair, and is used
// only where nothing better is left.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "dfs/meta/snapshot.h"
#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

class NamespacePlacedTest : public NamespaceTest {
 protected:
  // A complete file of one block that its targets have.
  StagedBlock PutOf(const std::string& path, uint32_t replication) {
    EXPECT_TRUE(Do(ns_.PrepareCreate(At(), path, false, replication, 0, "of" + path)).ok());
    const uint64_t lease = ns_.LeaseOf("of" + path);
    const StagedBlock staged = Write(lease, 0);
    EXPECT_TRUE(Do(ns_.PrepareComplete(At(), lease, {staged})).ok());
    EXPECT_EQ(staged.workers.size(), replication);
    return staged;
  }
  // Returns a registered worker that is no target of the block: the thief.
  WorkerId Other(const StagedBlock& block, std::set<WorkerId> but = {}) const {
    for (uint32_t i = 1; i <= 9; ++i) {
      const bool target = std::count(block.workers.begin(), block.workers.end(), W(i)) > 0;
      if (!target && !but.contains(W(i))) return W(i);
    }
    return {};
  }
  // Claims the block by a report, or by a registration.
  void Claim(WorkerId thief, const BlockRef& block, bool by_report) {
    by_report ? Have(thief.value, block) : Join(thief.value, "", {block});
  }
  std::set<WorkerId> DeletedFrom() const {
    std::set<WorkerId> workers;
    for (const DeleteReplica& gone : Deletes()) workers.insert(gone.worker);
    return workers;
  }
  std::vector<WorkerId> On(const BlockRef& block) const { return ns_.Find(block.id)->workers; }
  // Completes each requested copy.
  void Arrive() {
    const std::vector<ReplicateBlock> copies = Copies();
    effects_.clear();
    for (const ReplicateBlock& copy : copies) Have(copy.to.value, copy.block);
  }
  // Starts a master on the replayed records, with these workers known.
  void Restart(std::vector<WorkerId> expected) { Apply(MasterStarted{now_, expected, expected}); }
};

TEST_F(NamespacePlacedTest, AClaimDeletesNoReplicaOfAnotherWorker) {
  for (uint32_t i = 1; i <= 5; ++i) Join(i);
  for (const uint32_t replication : {1u, 3u}) {
    for (const bool by_report : {true, false}) {
      SCOPED_TRACE(std::to_string(replication) + (by_report ? " by a report" : " by a registration"));
      const StagedBlock block = PutOf("/f" + std::to_string(replication) + std::to_string(by_report), replication);
      const WorkerId thief = Other(block);
      effects_.clear();
      for (int time = 0; time < 3; ++time) {
        Claim(thief, block.block, by_report);
        Pass(Seconds(100));
      }
      EXPECT_EQ(DeletedFrom(), std::set<WorkerId>{thief});
      std::vector<WorkerId> left = On(block.block);
      std::sort(left.begin(), left.end());
      std::vector<WorkerId> targets = block.workers;
      std::sort(targets.begin(), targets.end());
      EXPECT_EQ(left, targets);
    }
  }
}

TEST_F(NamespacePlacedTest, AClaimWhileTheHolderIsAwayDoesNotCostItsReplica) {
  for (const bool by_report : {true, false}) {
    for (uint32_t i = 1; i <= 3; ++i) Join(i);
    const StagedBlock block = PutOf(by_report ? "/f" : "/g", 1);
    const WorkerId holder = block.workers[0], thief = Other(block);
    effects_.clear();
    Lose(holder.value);
    Claim(thief, block.block, by_report);
    EXPECT_EQ(On(block.block), std::vector<WorkerId>{thief}) << "it may be the last that is left";
    EXPECT_EQ(ns_.Counts().missing, 0u);
    EXPECT_EQ(ns_.Counts().under_replicated, 1u);
    Pass(config_.repair_delay);
    ASSERT_EQ(Copies().size(), 1u) << "what it claims is the only source";
    EXPECT_EQ(Copies()[0].from, thief);
    EXPECT_NE(Copies()[0].to, thief) << "it is no proof that it can copy to itself";
    Pass(config_.repair_timeout);  // it does not deliver
    Join(holder.value, "", {block.block});
    Pass(Seconds(300));
    EXPECT_EQ(DeletedFrom(), std::set<WorkerId>{thief});
    EXPECT_EQ(On(block.block), std::vector<WorkerId>{holder});
    ASSERT_TRUE(Do(ns_.PrepareRemove(by_report ? "/f" : "/g", false)).ok());
  }
}

TEST_F(NamespacePlacedTest, AClaimIsNoSourceOfACopyToItsOwnWorker) {
  for (uint32_t i = 1; i <= 2; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 1);
  const WorkerId holder = block.workers[0], thief = Other(block);
  Lose(holder.value);
  Have(thief.value, block.block);
  Pass(Seconds(100));
  EXPECT_TRUE(Copies().empty()) << "no other worker is left";
  Join(holder.value, "", {block.block});
  Pass(Seconds(100));
  EXPECT_EQ(DeletedFrom(), std::set<WorkerId>{thief});
}

TEST_F(NamespacePlacedTest, AClaimStopsNoRepair) {
  for (uint32_t i = 1; i <= 5; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 3);
  const WorkerId thief = Other(block);
  Lose(block.workers[0].value);
  Have(thief.value, block.block);
  EXPECT_EQ(ns_.Counts().under_replicated, 1u);
  Pass(config_.repair_delay);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_NE(Copies()[0].from, thief) << "a placed source is there";
  EXPECT_NE(Copies()[0].to, thief) << "another target is there";
  Have(thief.value, block.block);  // also not while the copy is under way
  Pass(Seconds(1));
  EXPECT_EQ(ns_.Counts().copying, 1u);
  Arrive();
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
  EXPECT_EQ(DeletedFrom(), std::set<WorkerId>{thief});
}

TEST_F(NamespacePlacedTest, AWorkerThatClaimsABlockIsGivenItWhereNoOtherIsLeft) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2);
  const WorkerId claims = Other(block);
  Have(claims.value, block.block);
  ASSERT_TRUE(Do(ns_.PrepareSetReplication("/f", 3)).ok());
  Pass(Seconds(1));
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].to, claims);
  Arrive();
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
  Pass(Seconds(100));
  EXPECT_TRUE(Deletes().empty());
}

TEST_F(NamespacePlacedTest, AClaimKeepsNoWorkerFromBeingDrained) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 1);
  const WorkerId holder = block.workers[0], thief = Other(block);
  Apply(WorkerDrained{now_, holder, true});
  Have(thief.value, block.block);
  EXPECT_FALSE(ns_.DrainOf(holder).Safe()) << "what is claimed is no replica elsewhere";
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].from, holder);
  Arrive();
  EXPECT_TRUE(ns_.DrainOf(holder).Safe());
  EXPECT_EQ(DeletedFrom(), (std::set<WorkerId>{thief}));
}

TEST_F(NamespacePlacedTest, AClaimOfAnOpenBlockAcknowledgesNothing) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  ASSERT_TRUE(Do(ns_.PrepareCreate(At(), "/f", false, 2, 0, "two")).ok());
  const uint64_t lease = ns_.LeaseOf("two");
  const auto added = std::get<BlockAdded>(**ns_.PrepareAddBlock(At(), lease, 0, ""));
  Apply(added);
  const StagedBlock staged{{added.block, 1, 100, 5}, {added.targets[0]}};
  Have(added.targets[0].value, staged.block);
  Have(Other({staged.block, added.targets}).value, staged.block);
  EXPECT_EQ(ns_.PrepareComplete(At(), lease, {staged}).status().code(), Code::kUnavailable);
  Have(added.targets[1].value, staged.block);
  EXPECT_TRUE(ns_.PrepareComplete(At(), lease, {staged}).ok());
}

TEST_F(NamespacePlacedTest, PlacedReplicasAreReadFirst) {
  Join(1, "a");
  for (uint32_t i = 2; i <= 4; ++i) Join(i, "b");
  const StagedBlock block = PutOf("/f", 2);
  Apply(MasterStarted{now_, {W(9)}, {}});                                        // in safe mode nothing is deleted
  for (uint32_t i = 1; i <= 4; ++i) Join(i, i == 1 ? "a" : "b", {block.block});  // two of them claim it
  ASSERT_EQ(On(block.block).size(), 4u);
  for (uint32_t turn = 0; turn <= 4; ++turn) {
    for (uint32_t near = 1; near <= 4; ++near) {
      const std::string address = "host" + std::to_string(near) + ":1";
      const auto workers = ns_.Locate("/f", 0, 0, address, turn)->blocks.at(0).workers;
      EXPECT_EQ((std::set<WorkerId>{workers[0], workers[1]}), (std::set<WorkerId>{block.workers[0], block.workers[1]}))
          << turn << " near " << address;
    }
  }
}

TEST_F(NamespacePlacedTest, ACopyThatWasOrderedCountsAlsoAfterARestart) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2);
  const WorkerId lost = block.workers[0], kept = block.workers[1];
  Lose(lost.value);
  Pass(config_.repair_delay);
  const WorkerId to = Copies().at(0).to;
  Arrive();
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
  Restart({kept, to});
  Join(kept.value, "", {block.block});
  Join(to.value, "", {block.block});
  Pass(Seconds(100));
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
  EXPECT_TRUE(Copies().empty());
  EXPECT_TRUE(Deletes().empty());
  EachRestarted([](const Namespace&) {});
  // Its first holder returns: one of three real ones is surplus.
  Join(lost.value, "", {block.block});
  Pass(Seconds(100));
  EXPECT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(On(block.block).size(), 2u);
}

TEST_F(NamespacePlacedTest, ACopyIsKnownByTheRegistrationOfItsTargetToo) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2);
  Lose(block.workers[0].value);
  Pass(config_.repair_delay);
  const WorkerId to = Copies().at(0).to;
  Join(to.value, "", {block.block});
  Pass(Seconds(100));
  EXPECT_EQ(Copies().size(), 1u) << "no second one";
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
}

TEST_F(NamespacePlacedTest, ACopyThatArrivesLateCounts) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2);
  Lose(block.workers[0].value);
  Pass(config_.repair_delay);
  const ReplicateBlock first = Copies().at(0);
  Pass(config_.repair_timeout + Seconds(1));
  ASSERT_EQ(Copies().size(), 2u) << "requested again, of another target";
  ASSERT_NE(Copies()[1].to, first.to);
  Have(first.to.value, block.block);
  Pass(config_.repair_timeout + Seconds(1));
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
  EXPECT_EQ(Copies().size(), 2u);
}

TEST_F(NamespacePlacedTest, ACopyThatArrivedCountsThoughItsSourceWasLostBeforeTheReport) {
  for (uint32_t i = 1; i <= 2; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2);
  Lose(2);
  Join(3);
  Pass(config_.repair_delay);
  ASSERT_EQ(Copies().size(), 1u);
  ASSERT_EQ(Copies()[0].to, W(3));
  Lose(1);  // the source, which had sent everything
  Have(3, block.block);
  EXPECT_EQ(ns_.Stat("/f")->least_replicas, 1u);
  EXPECT_FALSE(ns_.Unreadable(block.block.id));
  Pass(Seconds(300));
  EXPECT_EQ(ns_.Stat("/f")->least_replicas, 1u);
  EachRestarted([](const Namespace&) {});
}

TEST_F(NamespacePlacedTest, ACopyThatArrivedCountsThoughItsTargetRestartedBeforeTheReport) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2);
  Lose(block.workers[0].value);
  Pass(config_.repair_delay);
  ASSERT_EQ(Copies().size(), 1u);
  const WorkerId to = Copies()[0].to;
  Lose(to.value);
  Join(to.value, "", {block.block});
  EXPECT_EQ(ns_.Stat("/f")->least_replicas, 2u);
  Pass(Seconds(300));
  EXPECT_EQ(Copies().size(), 1u) << "no second one";
  EXPECT_TRUE(Deletes().empty());
}

// A worker that joins again under a new name is another worker: its blocks are claims.
TEST_F(NamespacePlacedTest, BlocksOfARenamedWorkerStayReadableUntilOthersHaveCopies) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2);
  const WorkerId old = block.workers[0], kept = block.workers[1], third = Other(block);
  Lose(kept.value);  // the last good replica is the renamed worker's
  Lose(old.value);
  Join(9, "", {block.block});
  EXPECT_EQ(On(block.block), std::vector<WorkerId>{W(9)});
  EXPECT_EQ(ns_.Stat("/f")->least_replicas, 0u);
  Pass(config_.repair_delay);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].from, W(9));
  EXPECT_EQ(Copies()[0].to, third);
  Arrive();
  Pass(Seconds(100));
  ASSERT_EQ(Copies().size(), 1u) << "its own replica counts once it is copied back";
  EXPECT_EQ(Copies()[0].from, third);
  EXPECT_EQ(Copies()[0].to, W(9));
  Arrive();
  EXPECT_EQ(ns_.Stat("/f")->least_replicas, 2u);
  EXPECT_TRUE(Deletes().empty());
}

TEST_F(NamespacePlacedTest, TheOnlyWorkerUnderANewNameIsReadAndCopiedOnceAnotherWorkerJoins) {
  Join(1);
  const StagedBlock block = PutOf("/f", 1);
  Lose(1);
  Join(9, "", {block.block});
  Pass(Seconds(1000));
  EXPECT_EQ(On(block.block), std::vector<WorkerId>{W(9)});
  EXPECT_TRUE(Copies().empty());
  EXPECT_TRUE(Deletes().empty());
  EXPECT_EQ(ns_.Counts().under_replicated, 1u);
  Join(2);
  Pass(config_.repair_delay);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].to, W(2));
  Arrive();
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
  EXPECT_EQ(DeletedFrom(), std::set<WorkerId>{W(9)});
}

TEST_F(NamespacePlacedTest, AClaimEndsNoSafeModeEarlyAndKeepsNoneOn) {
  for (uint32_t i = 1; i <= 2; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 1);
  const WorkerId holder = block.workers[0], thief = Other(block);
  Restart({thief});
  Join(thief.value, "", {block.block});
  EXPECT_TRUE(ns_.in_safe_mode()) << "its holder has not come back";
  Pass(config_.safe_mode_wait);
  EXPECT_FALSE(ns_.in_safe_mode());
  Restart({thief});
  Join(thief.value, "", {block.block});
  Join(holder.value, "", {block.block});
  EXPECT_FALSE(ns_.in_safe_mode());
}

TEST_F(NamespacePlacedTest, AReplicaThatWasDeletedByOrderIsAClaimAfterwards) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 3);
  ASSERT_TRUE(Do(ns_.PrepareSetReplication("/f", 1)).ok());
  Pass(Seconds(1));
  const std::set<WorkerId> gone = DeletedFrom();
  ASSERT_EQ(gone.size(), 2u);
  const std::vector<WorkerId> holder = On(block.block);
  ASSERT_EQ(holder.size(), 1u);
  effects_.clear();
  EachRestarted([](const Namespace&) {});
  Restart({W(1), W(2), W(3)});
  for (uint32_t i = 1; i <= 3; ++i) {
    // The holder uses most, so that of equals its replica would be surplus.
    const uint64_t used = W(i) == holder[0] ? 1 << 30 : 0;
    Apply(WorkerJoined{now_, W(i), 100 + i, "host:1", "", 0, used, {block.block}});
  }
  Pass(Seconds(100));
  EXPECT_EQ(DeletedFrom(), gone);
  EXPECT_EQ(On(block.block), holder);
}

TEST_F(NamespacePlacedTest, ACopyThatACrashForgotCostsNothingButAnotherCopy) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2);
  const WorkerId lost = block.workers[0], kept = block.workers[1], third = Other(block);
  Lose(lost.value);
  Restart({kept, third});
  Join(kept.value, "", {block.block});
  Join(third.value, "", {block.block});  // a copy from before the crash
  Pass(Seconds(100));
  EXPECT_TRUE(Deletes().empty());
  ASSERT_GE(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].from, kept);
  EXPECT_EQ(Copies()[0].to, third) << "it is ordered to where it is";
  Have(third.value, block.block);
  Pass(Seconds(100));
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
  EXPECT_TRUE(Deletes().empty());
}

TEST_F(NamespacePlacedTest, WorkersThatAreAwayForGoodAreForgottenInTheEnd) {
  for (uint32_t i = 1; i <= 40; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 2);
  const size_t before = ns_.Snapshot().size();
  for (int i = 0; i < 30; ++i) {
    Lose(On(block.block)[0].value);
    Pass(config_.repair_delay);
    Arrive();
    ASSERT_EQ(ns_.Counts().under_replicated, 0u) << i;
  }
  EXPECT_LT(ns_.Snapshot().size(), before + 15 * sizeof(WorkerId));
  EachRestarted([](const Namespace&) {});
}

TEST_F(NamespacePlacedTest, PlacedReplicasGoWithTheirBlockAndOutliveRestarts) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const std::string empty = ns_.Snapshot();
  PutOf("/f", 2);
  EachRestarted([&](const Namespace& ns) { EXPECT_EQ(ns.Snapshot(), ns_.Snapshot()); });
  ASSERT_TRUE(Do(ns_.PrepareRemove("/f", false)).ok());
  EXPECT_EQ(ns_.Snapshot().size(), empty.size());
}

// Snapshots of releases that did not note placed replicas end where they would begin.
TEST_F(NamespacePlacedTest, ABlockOfAnOlderReleaseKeepsItsRules) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const StagedBlock block = PutOf("/f", 3);
  const std::string bytes = ns_.Snapshot();
  PlacedTail tail;
  tail.blocks.push_back({block.block.id, {block.workers}});
  const std::string placed = EncodeFields(tail);
  ASSERT_TRUE(bytes.ends_with(placed)) << "it is a tail";
  Namespace older(config_);
  ASSERT_TRUE(older.Restore(bytes.substr(0, bytes.size() - placed.size())).ok());
  const auto apply = [&](const Record& record) {
    for (const Record& noted : older.PlacedBy(record)) (void)older.Apply(noted);
    std::vector<Effect> effects = older.Apply(record);
    for (const Record& noted : older.UnplacedBy(effects)) (void)older.Apply(noted);
    for (Effect& effect : effects) effects_.push_back(std::move(effect));
  };
  effects_.clear();
  apply(MasterStarted{now_, {}, {}});
  const WorkerId fourth = Other(block);
  for (const WorkerId w : {block.workers[0], block.workers[1], fourth}) {
    apply(WorkerJoined{now_, w, 200 + w.value, "host:1", "", 0, 0, {block.block}});
  }
  apply(Ticked{now_ + Seconds(100)});
  EXPECT_EQ(older.Counts().under_replicated, 0u) << "each replica that is reported counts";
  EXPECT_TRUE(Copies().empty());
  EXPECT_TRUE(Deletes().empty());
}

}  // namespace
}  // namespace mr::dfs
