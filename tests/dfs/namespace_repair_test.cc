// Redundancy: the replicas that an acknowledgement needs, repairs and their order, when damaged replicas may go.
#include <gtest/gtest.h>

#include <set>

#include "common/base/rng.h"
#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

std::set<WorkerId> Holders(const Namespace& ns, BlockId block) {
  const auto found = ns.Find(block);
  return found ? std::set<WorkerId>(found->workers.begin(), found->workers.end()) : std::set<WorkerId>();
}

class NamespaceRepairTest : public NamespaceTest {
 protected:
  void Suspect(uint32_t i, const BlockRef& block, bool aside = false) {
    Apply(ReplicaSuspect{now_, W(i), 100 + i, block.id, block.generation, block.length, aside});
  }
  void JoinUsed(uint32_t i, const std::string& rack, uint64_t used, std::vector<BlockRef> blocks = {}) {
    Apply(WorkerJoined{now_, W(i), 100 + i, "host" + std::to_string(i) + ":1", rack, 0, used, std::move(blocks)});
  }
  void NotCopied(const ReplicateBlock& copy, bool source_failed = false) {
    Apply(
        ReplicaNotCopied{now_, copy.from, copy.from_incarnation, copy.block.id, copy.block.generation, source_failed});
  }
  std::vector<EmptyQuarantine> Emptied() const {
    std::vector<EmptyQuarantine> out;
    for (const auto& e : effects_) {
      if (const auto* q = std::get_if<EmptyQuarantine>(&e)) out.push_back(*q);
    }
    return out;
  }
  // Completes each requested copy and returns their number.
  size_t Arrive() {
    const auto copies = Copies();
    effects_.clear();
    for (const auto& copy : copies) Have(copy.to.value, copy.block);
    return copies.size();
  }
};

// ---- Acknowledgements ---------------------------------------------------------------------------

TEST_F(NamespaceRepairTest, AWriteAfterARestartWaitsForASecondWorkerThatWasAlive) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  Put("/old");
  Apply(MasterStarted{now_, {W(1), W(2), W(3)}, {W(1), W(2), W(3)}});
  Join(1);
  const uint64_t lease = Open("/new");
  ASSERT_NE(lease, 0u);
  const auto alone = ns_.PrepareAddBlock(At(), lease, 0, "");
  ASSERT_EQ(alone.status().code(), Code::kUnavailable);
  const std::string said = alone.status().message();
  EXPECT_NE(said.find("w2, w3"), std::string::npos) << said;
  EXPECT_NE(said.find("mrctl worker exclude w2"), std::string::npos) << said;
  // Neither time nor the end of safe mode nor the master's giving up lowers the number.
  Pass(Seconds(40));
  Lose(2);
  Lose(3);
  EXPECT_FALSE(ns_.in_safe_mode());
  EXPECT_EQ(ns_.PrepareAddBlock(At(), lease, 0, "").status().code(), Code::kUnavailable);
  Join(3);
  EXPECT_TRUE(ns_.PrepareAddBlock(At(), lease, 0, "").ok());
}

TEST_F(NamespaceRepairTest, AnAcknowledgementOfOneReplicaIsRefusedWhileASecondWorkerIsAwaited) {
  Join(1);
  Join(2);
  const uint64_t lease = Open("/f");
  const auto added = std::get<BlockAdded>(**ns_.PrepareAddBlock(At(), lease, 0, ""));
  Apply(added);
  const StagedBlock staged{{added.block, 1, 100, 5}, {W(1)}};
  Apply(MasterStarted{now_, {W(1), W(2)}, {W(1), W(2)}});
  Join(1, "", {staged.block});
  const auto refused = ns_.PrepareComplete(At(), lease, {staged});
  EXPECT_EQ(refused.status().code(), Code::kUnavailable);
  EXPECT_NE(refused.status().message().find("w2 was alive"), std::string::npos) << refused.status().message();
  Join(2, "", {staged.block});
  EXPECT_TRUE(ns_.PrepareComplete(At(), lease, {staged}).ok());
}

TEST_F(NamespaceRepairTest, AWorkerThatAnOperatorGaveUpIsNotWaitedFor) {
  Join(1);
  Apply(MasterStarted{now_, {W(1), W(2)}, {W(1), W(2)}});
  Join(1);
  const uint64_t lease = Open("/f");
  EXPECT_FALSE(ns_.PrepareAddBlock(At(), lease, 0, "").ok());
  Apply(WorkerGivenUp{now_, W(2)});
  EXPECT_TRUE(ns_.PrepareAddBlock(At(), lease, 0, "").ok());
}

TEST_F(NamespaceRepairTest, AWorkerAwaitedByAnEarlierMasterDelaysNoSafeModeAndStillCounts) {
  Apply(MasterStarted{now_, {W(1)}, {W(2)}});
  Join(1);
  EXPECT_FALSE(ns_.in_safe_mode());
  const uint64_t lease = Open("/f");
  EXPECT_EQ(ns_.PrepareAddBlock(At(), lease, 0, "").status().code(), Code::kUnavailable);
  EXPECT_EQ(ns_.Health(10).awaited, std::vector<WorkerId>{W(2)});
}

TEST_F(NamespaceRepairTest, AFileOfOneReplicaNeedsOne) {
  Apply(MasterStarted{now_, {W(1), W(2)}, {W(1), W(2)}});
  Join(1);
  ASSERT_TRUE(Do(ns_.PrepareCreate(At(), "/f", false, 1, 0, "one")).ok());
  const uint64_t lease = ns_.LeaseOf("one");
  const auto block = Write(lease, 0);
  EXPECT_TRUE(Do(ns_.PrepareComplete(At(), lease, {block})).ok());
}

TEST_F(NamespaceRepairTest, AWorkerLostInOperationIsNotAwaited) {
  Join(1);
  Join(2);
  Lose(2);
  Put("/f");
  EXPECT_TRUE(ns_.Stat("/f").ok());
}

TEST_F(NamespaceRepairTest, WhereTooFewWorkersAreLeftThoseThatFailedGetTheBlockAgain) {
  Join(1);
  Join(2);
  const uint64_t lease = Open("/f");
  for (int time = 0; time < 3; ++time) {  // no target ever has the block
    const auto prepared = ns_.PrepareAddBlock(At(), lease, 0, "");
    ASSERT_TRUE(prepared.ok()) << "time " << time << ": " << prepared.status().ToString();
    EXPECT_EQ(std::get<BlockAdded>(**prepared).targets.size(), 2u);
    Apply(**prepared);
  }
}

TEST_F(NamespaceRepairTest, AFileWhoseReplicasAreAllAwayIsNotAcknowledged) {
  Join(1);
  Join(2);
  const uint64_t lease = Open("/f");
  const StagedBlock staged = Write(lease, 0);
  Join(3);
  Lose(1);
  Lose(2);
  EXPECT_EQ(ns_.PrepareComplete(At(), lease, {staged}).status().code(), Code::kUnavailable);
  Join(2, "", {staged.block});
  EXPECT_TRUE(ns_.PrepareComplete(At(), lease, {staged}).ok());
}

TEST_F(NamespaceRepairTest, AWorkerThatABlockWasNotGivenToCountsForNoAcknowledgement) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  ASSERT_TRUE(Do(ns_.PrepareCreate(At(), "/f", false, 2, 0, "two")).ok());
  const uint64_t lease = ns_.LeaseOf("two");
  const auto added = std::get<BlockAdded>(**ns_.PrepareAddBlock(At(), lease, 0, ""));
  Apply(added);
  ASSERT_EQ(added.targets.size(), 2u);
  const WorkerId third = W(1 + 2 + 3 - added.targets[0].value - added.targets[1].value);
  const BlockRef block{added.block, 1, 100, 5};
  EXPECT_EQ(ns_.PrepareComplete(At(), lease, {{block, {added.targets[0], third}}}).status().code(), Code::kUnavailable);
  EXPECT_TRUE(ns_.PrepareComplete(At(), lease, {{block, added.targets}}).ok());
}

// ---- Leases -------------------------------------------------------------------------------------

TEST_F(NamespaceRepairTest, ALeaseThatNobodyRenewsRunsOutAfterARestartToo) {
  Join(1);
  const uint64_t lease = Open("/f");
  Write(lease, 0);
  Apply(MasterStarted{now_, {}, {}});
  Join(1);
  EXPECT_TRUE(ns_.PrepareRenew(At(), lease).ok());
  Pass(Seconds(1000));
  EXPECT_EQ(ns_.PrepareRenew(At(), lease).status().code(), Code::kNotFound);
}

// ---- Damaged replicas ---------------------------------------------------------------------------

TEST_F(NamespaceRepairTest, ADamagedReplicaStaysUntilAsManyGoodOnesAsTheFileWantsAreThere) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const BlockRef block = Put("/f")[0].block;
  // Two workers that count, one that drains and has the damaged replica: what is possible (2) is not
  // what is wanted (3).
  Apply(WorkerDrained{now_, W(3), true});
  Suspect(3, block);
  Pass(Seconds(100));
  EXPECT_TRUE(Deletes().empty());
  Join(4);
  Pass(Seconds(20));
  ASSERT_EQ(Copies().size(), 1u);
  Have(4, block);
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].worker, W(3));
}

TEST_F(NamespaceRepairTest, AReplicaOfOtherBytesThatWasReportedBeforeItsFileWasCompleteIsDamaged) {
  Join(1);
  Join(2);
  const uint64_t lease = Open("/f");
  const auto added = std::get<BlockAdded>(**ns_.PrepareAddBlock(At(), lease, 0, ""));
  Apply(added);
  const BlockRef block{added.block, 1, 100, 5}, other{added.block, 1, 100, 6};
  Have(1, block);
  Have(2, other);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {{block, {W(1), W(2)}}})).ok());
  EXPECT_EQ(Holders(ns_, block.id), std::set<WorkerId>{W(1)});
  EXPECT_EQ(ns_.Counts().suspect, 1u);
}

TEST_F(NamespaceRepairTest, WordsOfAnEarlierLifeOfAWorkerChangeNothing) {
  Join(1);
  Join(2);
  const BlockRef block = Put("/f")[0].block;
  Apply(WorkerJoined{now_, W(1), 201, "host1:1", "", 0, 0, {}});  // with an empty disk
  const uint64_t digest = ns_.Digest();
  const std::vector<Record> late = {ReplicaDurable{now_, W(1), 101, block},
                                    ReplicaSuspect{now_, W(1), 101, block.id, 1, block.length},
                                    DiskFailed{now_, W(1), 101, "cannot sync /d: Input/output error"},
                                    WorkerRoom{now_, W(1), 101, 1000, true}, WorkerGone{now_, W(1), 101}};
  for (const Record& record : late) {
    Apply(record);
    EXPECT_EQ(ns_.Digest(), digest) << "record " << record.index();
  }
  EXPECT_EQ(Holders(ns_, block.id), std::set<WorkerId>{W(2)});
}

TEST_F(NamespaceRepairTest, WhatAWorkerHasNoMoreWhenItComesBackAtOnceIsMadeAgain) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const StagedBlock lost = Put("/f")[0];
  ASSERT_EQ(lost.workers.size(), 3u);
  const WorkerId back = lost.workers[0];
  // Not lost in between, and with an empty disk.
  Apply(WorkerJoined{now_, back, 200 + back.value, "host:1", "", 0, 0, {}});
  EXPECT_TRUE(Copies().empty());
  Pass(config_.repair_delay);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].block.id, lost.block.id);
}

TEST_F(NamespaceRepairTest, ThinBlocksThatNoWorkerHasRoomForCostNothingUntilOneHas) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  Apply(WorkerRoom{now_, W(3), 103, 1000, true});
  std::vector<StagedBlock> blocks;
  for (const char* path : {"/f", "/g", "/h"}) blocks.push_back(Put(path)[0]);
  for (const auto& block : blocks) ASSERT_EQ(block.workers.size(), 2u);
  Pass(config_.repair_delay);
  const uint64_t digest = ns_.Digest();
  for (int s = 0; s < 60; ++s) {
    Pass(Seconds(1));
    ASSERT_EQ(ns_.Digest(), digest) << "a block is due again after " << s << " s";
  }
  EXPECT_TRUE(Copies().empty());
  Apply(WorkerRoom{now_, W(3), 103, 1000, false});
  EXPECT_EQ(Copies().size(), 3u) << "at once";
  for (const auto& copy : Copies()) EXPECT_EQ(copy.to, W(3));
  Arrive();
  for (const auto& block : blocks) EXPECT_EQ(Holders(ns_, block.block.id).size(), 3u);
}

TEST_F(NamespaceRepairTest, ThinBlocksThatNoWorkerHasRoomForAreCopiedToOneThatComes) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  Apply(WorkerRoom{now_, W(3), 103, 1000, true});
  const auto block = Put("/f")[0].block;
  Pass(config_.repair_delay);
  Join(4);
  Pass(config_.repair_delay);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].to, W(4));
  Arrive();
  EXPECT_EQ(Holders(ns_, block.id).size(), 3u);
}

TEST_F(NamespaceRepairTest, AHealthWalkInPartsFindsWhatOneFinds) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  for (int i = 0; i < 20; ++i) Put("/d/f" + std::to_string(i), 2);
  for (uint32_t i = 2; i <= 3; ++i) Suspect(i, Put("/thin" + std::to_string(i))[0].block);
  const auto bad = Put("/bad")[0].block;
  for (uint32_t i = 1; i <= 3; ++i) Suspect(i, bad);
  const StoreHealth whole = ns_.Health(10);
  EXPECT_EQ(whole.files, 23u);
  EXPECT_EQ(whole.corrupt_files, 1u);
  EXPECT_EQ(whole.under_replicated_files, 2u);
  HealthWalk walk;
  size_t parts = 1;
  while (!ns_.AddHealth(&walk, 7, 10)) ++parts;
  EXPECT_GE(parts, 7u);
  EXPECT_LE(parts, 20u);
  EXPECT_EQ(walk.health.files, whole.files);
  EXPECT_EQ(walk.health.corrupt_files, whole.corrupt_files);
  EXPECT_EQ(walk.health.under_replicated_files, whole.under_replicated_files);
  ASSERT_EQ(walk.health.troubles.size(), whole.troubles.size());
  for (size_t i = 0; i < whole.troubles.size(); ++i) EXPECT_EQ(walk.health.troubles[i].path, whole.troubles[i].path);
}

TEST_F(NamespaceRepairTest, ADamagedReplicaReportedBehindARegistrationIsKnownAndLaterDeleted) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const auto staged = Put("/f")[0];
  const uint32_t bad = staged.workers[0].value;
  // It registers again without the replica, which its list of good ones leaves out.
  Join(bad);
  Suspect(bad, staged.block);
  EXPECT_EQ(ns_.Counts().suspect, 1u);
  EXPECT_FALSE(Holders(ns_, staged.block.id).contains(W(bad)));
  ASSERT_EQ(ns_.Find(staged.block.id)->damaged.size(), 1u);
  EXPECT_EQ(ns_.Find(staged.block.id)->damaged[0], "w" + std::to_string(bad) + " (host" + std::to_string(bad) + ":1)");
  Pass(Seconds(20));
  ASSERT_EQ(Arrive(), 1u);
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].worker, W(bad));
  EXPECT_EQ(ns_.Counts().suspect, 0u);
}

TEST_F(NamespaceRepairTest, ADamagedReplicaOfARemovedFileIsGarbage) {
  Join(1);
  const auto staged = Put("/f")[0];
  Lose(1);
  ASSERT_TRUE(Do(ns_.PrepareRemove("/f", false)).ok());
  Join(1);
  Suspect(1, staged.block);
  ASSERT_EQ(Deletes().size(), 1u);
  // An id that the journal never gave is a sign of a lost journal.
  Suspect(1, {{999}, 1, 10, 0});
  EXPECT_EQ(Deletes().size(), 1u);
}

TEST_F(NamespaceRepairTest, QuarantineIsEmptiedOnceEnoughGoodReplicasAreKnown) {
  Join(1);
  Join(2);
  const BlockRef block = Put("/f")[0].block;  // wants 3, and there are 2
  Suspect(1, block);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].to, W(1));
  Have(1, block);
  Suspect(1, block, true);
  Pass(Seconds(100));
  EXPECT_TRUE(Emptied().empty());
  EXPECT_EQ(Holders(ns_, block.id), (std::set<WorkerId>{W(1), W(2)}));
  Join(3);
  Pass(Seconds(20));
  Have(3, block);
  ASSERT_EQ(Emptied().size(), 1u);
  EXPECT_EQ(Emptied()[0].worker, W(1));
  EXPECT_EQ(Emptied()[0].block.id, block.id);
  EXPECT_TRUE(Deletes().empty());
}

TEST_F(NamespaceRepairTest, ADiskThatFailsCountsAsLostAndIsStillRead) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const auto staged = Put("/f")[0];
  const WorkerId failing = staged.workers[0];
  Apply(DiskFailed{now_, failing, 100 + failing.value, "cannot sync /d: Input/output error"});
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_NE(Copies()[0].to, failing);
  EXPECT_TRUE(Holders(ns_, staged.block.id).contains(failing));
  ASSERT_EQ(ns_.Health(10).failed_disks.size(), 1u);
  EXPECT_EQ(ns_.Health(10).failed_disks[0].worker, failing);
  for (int i = 0; i < 5; ++i) {
    for (const auto& s : Put("/g" + std::to_string(i))) {
      EXPECT_EQ(std::count(s.workers.begin(), s.workers.end(), failing), 0);
    }
  }
  // Nothing is deleted on the word of an I/O error: not even when enough others are there.
  Arrive();
  Pass(Seconds(100));
  EXPECT_TRUE(Deletes().empty());
}

TEST_F(NamespaceRepairTest, ADiskThatWorksAgainTakesTheBlocksThatWaitedForOneWorkerMore) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  Apply(DiskFailed{now_, W(3), 103, "cannot sync /d: Input/output error"});
  const BlockRef block = Put("/f")[0].block;  // wants 3, and 2 can take it
  Pass(Seconds(100));
  EXPECT_TRUE(Copies().empty());
  EXPECT_EQ(Holders(ns_, block.id), (std::set<WorkerId>{W(1), W(2)}));
  Apply(DiskFailed{now_, W(3), 103, ""});
  ASSERT_EQ(Copies().size(), 1u) << "at once";
  EXPECT_EQ(Copies()[0].to, W(3));
}

// ---- Repairs ------------------------------------------------------------------------------------

TEST_F(NamespaceRepairTest, AFailedCopyGoesFromAnotherSourceToAnotherTarget) {
  for (uint32_t i = 1; i <= 6; ++i) Join(i);
  const auto staged = Put("/f")[0];
  Lose(staged.workers[0].value);
  Pass(Seconds(16));
  ASSERT_EQ(Copies().size(), 1u);
  const ReplicateBlock first = Copies()[0];
  NotCopied(first);
  ASSERT_EQ(Copies().size(), 2u) << "at once";
  EXPECT_NE(Copies()[1].from, first.from);
  EXPECT_NE(Copies()[1].to, first.to);
}

TEST_F(NamespaceRepairTest, AMasterThatKnewNoWorkersGivesThemTheirTimeBeforeItCopies) {
  Join(2);
  Join(3);
  ASSERT_TRUE(Do(ns_.PrepareCreate(At(), "/f", false, 2, 0, "two")).ok());
  const uint64_t lease = ns_.LeaseOf("two");
  const auto staged = Write(lease, 0);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {staged})).ok());
  Apply(MasterStarted{now_, {}, {}});
  Join(1);
  Join(2, "", {staged.block});
  EXPECT_FALSE(ns_.in_safe_mode()) << "each block can be read";
  Pass(config_.repair_delay - Seconds(1));
  EXPECT_TRUE(Copies().empty()) << "the other replica is on its way back";
  Pass(Seconds(2));
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].to, W(1));
}

TEST_F(NamespaceRepairTest, AnOverdueCopyGoesFromAnotherSourceToAnotherTarget) {
  for (uint32_t i = 1; i <= 6; ++i) Join(i);
  Lose(Put("/f")[0].workers[0].value);
  Pass(Seconds(16));
  const ReplicateBlock first = Copies().at(0);
  Pass(Seconds(61));
  ASSERT_EQ(Copies().size(), 2u);
  EXPECT_NE(Copies()[1].from, first.from);
  EXPECT_NE(Copies()[1].to, first.to);
}

TEST_F(NamespaceRepairTest, ASourceThatCannotReadItsReplicaSpeaksNotAgainstTheTarget) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  Lose(Put("/f")[0].workers[0].value);
  Pass(Seconds(16));
  const ReplicateBlock first = Copies().at(0);
  NotCopied(first, true);
  ASSERT_EQ(Copies().size(), 2u);
  EXPECT_NE(Copies()[1].from, first.from);
  EXPECT_EQ(Copies()[1].to, first.to) << "the only one that is left";
}

TEST_F(NamespaceRepairTest, WhereEverySourceAndTargetFailedItPausesAndTriesAgain) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  ASSERT_TRUE(Do(ns_.PrepareCreate(At(), "/f", false, 2, 0, "two")).ok());
  const uint64_t lease = ns_.LeaseOf("two");
  const auto staged = Write(lease, 0);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {staged})).ok());
  Lose(staged.workers[0].value);
  Pass(Seconds(16));
  ASSERT_EQ(Copies().size(), 1u);
  NotCopied(Copies()[0]);  // the only source, the only target
  Pass(Seconds(5));
  EXPECT_EQ(Copies().size(), 1u);
  Pass(Seconds(11));
  ASSERT_EQ(Copies().size(), 2u);
  Have(Copies()[1].to.value, staged.block);
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
}

TEST_F(NamespaceRepairTest, ASurplusReplicaGoesFromTheRackThatHasAnother) {
  Join(1, "a");
  JoinUsed(2, "b", 1 << 30);
  Join(3, "c");
  const BlockRef block = Put("/f")[0].block;
  ASSERT_EQ(Holders(ns_, block.id), (std::set{W(1), W(2), W(3)}));
  // One that was lost comes back: of its rack's two the more used one gives way, not the only one of another rack.
  JoinUsed(4, "a", 1 << 20, {block});
  Pass(Seconds(60));
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].worker, W(4));
  EXPECT_EQ(Holders(ns_, block.id), (std::set{W(1), W(2), W(3)}));
}

TEST_F(NamespaceRepairTest, ALateReportOfAnOldCopyChangesNothing) {
  for (uint32_t i = 1; i <= 6; ++i) Join(i);
  const auto staged = Put("/f")[0];
  Lose(staged.workers[0].value);
  Pass(Seconds(16));
  const ReplicateBlock first = Copies().at(0);
  NotCopied(first);
  const uint64_t digest = ns_.Digest();
  NotCopied(first);  // said twice
  EXPECT_EQ(ns_.Digest(), digest);
}

TEST_F(NamespaceRepairTest, TheMostEndangeredBlocksGoFirst) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  Put("/f", 60);  // each on all three
  const auto blocks = ns_.Locate("/f", 0, 0, "")->blocks;
  Join(4);
  Pass(Seconds(20));
  effects_.clear();
  // One replica is lost of each, and two of the last few.
  std::set<BlockId> endangered;
  std::vector<BlockRef> second;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i < 57)
      second.push_back(blocks[i].block);
    else
      endangered.insert(blocks[i].block.id);
  }
  Lose(3);
  Join(2, "", second);
  Pass(Seconds(16));
  const auto copies = Copies();
  ASSERT_GE(copies.size(), 2u);
  std::set<BlockId> first = {copies[0].block.id, copies[1].block.id};
  for (const BlockId id : first) EXPECT_TRUE(endangered.contains(id)) << id.value << " has two good replicas";
  // A source that is free again takes the next of them, not the lowest id.
  effects_.clear();
  Have(copies[0].to.value, copies[0].block);
  bool third = false;
  for (const auto& copy : Copies())
    third = third || (endangered.contains(copy.block.id) && !first.contains(copy.block.id));
  EXPECT_TRUE(third);
}

TEST_F(NamespaceRepairTest, ACopyOfALostTargetOrSourceIsMadeElsewhereBeforeItsTimeIsOver) {
  for (const bool source : {false, true}) {
    for (uint32_t i = 1; i <= 6; ++i) Join(i);
    Lose(Put(source ? "/f" : "/g")[0].workers[0].value);
    effects_.clear();
    Pass(config_.repair_delay);
    ASSERT_EQ(Copies().size(), 1u);
    const ReplicateBlock first = Copies()[0];
    Lose(source ? first.from.value : first.to.value);
    Pass(config_.repair_delay);
    EXPECT_GE(Copies().size(), 2u) << (source ? "source" : "target");
    for (size_t i = 1; i < Copies().size(); ++i) {
      EXPECT_EQ(Copies()[i].block, first.block);
      EXPECT_NE(source ? Copies()[i].from : Copies()[i].to, source ? first.from : first.to);
    }
    Arrive();
  }
}

TEST_F(NamespaceRepairTest, ACopyReplacesADamagedReplicaOnlyWhereNoOtherWorkerIsLeft) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  std::vector<BlockRef> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(Put("/f" + std::to_string(i))[0].block);
  JoinUsed(4, "", 1 << 30);  // it has more on its disk than the others
  for (size_t i = 0; i < blocks.size(); ++i) {
    effects_.clear();
    Suspect(3, blocks[i]);
    ASSERT_EQ(Copies().size(), 1u);
    EXPECT_EQ(Copies()[0].to, W(4)) << i;
    Have(4, blocks[i]);
  }
  Apply(WorkerDrained{now_, W(4), true});
  while (Arrive() > 0) continue;
  const BlockRef last = Put("/last")[0].block;
  Suspect(3, last);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].to, W(3));
}

// Repair is linear in the blocks. A walk over all waiting blocks per completed copy would take minutes here.
TEST_F(NamespaceRepairTest, AllIsRepairedHoweverManyWait) {
  for (uint32_t i = 1; i <= 5; ++i) Join(i);
  for (int i = 0; i < 40; ++i) Put("/f" + std::to_string(i), 500);
  Lose(1);
  Pass(Seconds(16));
  size_t copies = 0;
  for (int i = 0; i < 20'000; ++i) {
    const size_t n = Arrive();
    copies += n;
    if (n == 0) break;
  }
  EXPECT_GT(copies, 5'000u);
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
  EXPECT_EQ(ns_.Counts().copying, 0u);
}

// ---- Reports for people --------------------------------------------------------------------------

TEST_F(NamespaceRepairTest, HealthNamesMissingCorruptAndUnderReplicatedFiles) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  Put("/good");
  const auto corrupt = Put("/d/corrupt")[0];
  const auto thin = Put("/thin")[0];
  const auto gone = Put("/gone")[0];
  Put("/.staging/j/a/part");
  EXPECT_TRUE(ns_.Health(10).troubles.empty());
  for (uint32_t i = 1; i <= 3; ++i) Suspect(i, corrupt.block);
  Suspect(2, thin.block);
  std::vector<BlockRef> rest;
  for (const char* path : {"/good", "/thin", "/.staging/j/a/part"}) {
    rest.push_back(ns_.Locate(path, 0, 0, "")->blocks[0].block);
  }
  rest.push_back(corrupt.block);
  for (uint32_t i = 1; i <= 3; ++i) {
    Join(i, "", rest);
    Suspect(i, corrupt.block);
  }
  Suspect(2, thin.block);
  const StoreHealth health = ns_.Health(10);
  EXPECT_EQ(health.files, 4u);
  EXPECT_EQ(health.missing_files, 1u);
  EXPECT_EQ(health.corrupt_files, 1u);
  EXPECT_EQ(health.under_replicated_files, 1u);
  ASSERT_EQ(health.troubles.size(), 3u);
  EXPECT_EQ(health.troubles[0].path, "/gone");
  EXPECT_EQ(health.troubles[1].path, "/d/corrupt");
  EXPECT_EQ(health.troubles[1].damaged.size(), 3u);
  EXPECT_EQ(health.troubles[2].path, "/thin");
  EXPECT_EQ(health.troubles[2].damaged, std::vector<std::string>{"w2 (host2:1)"});
  EXPECT_EQ(ns_.Health(1).troubles.size(), 1u);
  (void)gone;
}

}  // namespace
}  // namespace mr::dfs
