// A job's inputs stay as they were planned: what is put over a pinned file, removes or renames it, takes none of its
// blocks away before the last pin goes.
#include <gtest/gtest.h>

#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

class PinsTest : public NamespaceTest {
 protected:
  uint64_t IdOf(const std::string& path) const { return ns_.Stat(path)->id; }
  uint64_t Pin(std::vector<uint64_t> files) {
    const auto prepared = ns_.PreparePin(At(), std::move(files));
    EXPECT_TRUE(prepared.ok()) << prepared.status().ToString();
    Apply(**prepared);
    return std::get<InputsPinned>(**prepared).pin;
  }
  void Release(uint64_t pin) { ASSERT_TRUE(Do(ns_.PrepareRelease(pin)).ok()); }
  std::vector<BlockId> BlocksOf(uint64_t file) const {
    std::vector<BlockId> ids;
    const auto located = ns_.LocateFile(file, 0, 0, "");
    if (!located.ok()) return ids;
    for (const LocatedBlock& block : located->blocks) {
      EXPECT_FALSE(block.workers.empty());
      ids.push_back(block.block.id);
    }
    return ids;
  }
  static std::vector<BlockId> Ids(const std::vector<StagedBlock>& blocks) {
    std::vector<BlockId> ids;
    for (const StagedBlock& block : blocks) ids.push_back(block.block.id);
    return ids;
  }
};

TEST_F(PinsTest, AReplacedFileIsReadInItsOldVersionUntilItsPinGoes) {
  Join(1);
  Join(2);
  const auto old = Put("/f", 2);
  const uint64_t id = IdOf("/f");
  const uint64_t pin = Pin({id});
  const uint64_t lease = Open("/f", true);
  const auto fresh = Write(lease, 0, 55);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {fresh})).ok());
  EXPECT_EQ(ns_.Stat("/f")->bytes, 55u);
  EXPECT_NE(IdOf("/f"), id);
  EXPECT_TRUE(Deletes().empty());
  EXPECT_EQ(BlocksOf(id), Ids(old));
  Release(pin);
  EXPECT_EQ(Deletes().size(), 4u);
  EXPECT_EQ(ns_.LocateFile(id, 0, 0, "").status().code(), Code::kNotFound);
  EXPECT_EQ(ns_.Stat("/f")->bytes, 55u);
  Release(pin);  // said twice, done once
  EXPECT_EQ(Deletes().size(), 4u);
}

TEST_F(PinsTest, ARemovedTreeStaysReadableWhileOneOfTwoPinsIsLeft) {
  Join(1);
  const auto f = Put("/d/f"), g = Put("/d/e/g");
  const uint64_t id_f = IdOf("/d/f"), id_g = IdOf("/d/e/g");
  const uint64_t first = Pin({id_f, id_f}), second = Pin({id_f});
  ASSERT_TRUE(Do(ns_.PrepareRemove("/d", true)).ok());
  EXPECT_FALSE(ns_.Stat("/d").ok());
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].block.id, g[0].block.id);
  EXPECT_FALSE(ns_.LocateFile(id_g, 0, 0, "").ok());
  Release(first);
  EXPECT_EQ(BlocksOf(id_f), Ids(f));
  Release(second);
  EXPECT_EQ(Deletes().size(), 2u);
}

TEST_F(PinsTest, ARenamedFileKeepsItsIdAndLosesNothingWithItsPin) {
  Join(1);
  const auto f = Put("/f");
  const uint64_t id = IdOf("/f"), pin = Pin({id});
  ASSERT_TRUE(Do(ns_.PrepareRename(At(), "/f", "/g")).ok());
  EXPECT_EQ(IdOf("/g"), id);
  Release(pin);
  EXPECT_TRUE(Deletes().empty());
  EXPECT_EQ(BlocksOf(id), Ids(f));
}

TEST_F(PinsTest, ALostReplicaOfARemovedPinnedFileIsMadeAgain) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const auto f = Put("/f");
  Pin({IdOf("/f")});
  ASSERT_TRUE(Do(ns_.PrepareRemove("/f", false)).ok());
  Lose(f[0].workers[0].value);
  Pass(config_.repair_delay + Seconds(1));
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(Copies()[0].block, f[0].block);
}

TEST_F(PinsTest, HealthNamesNoRemovedFileThatAJobStillReads) {
  Join(1);
  Put("/d/f");
  Put("/g");
  Pin({IdOf("/d/f")});
  ASSERT_TRUE(Do(ns_.PrepareRemove("/d", true)).ok());
  Lose(1);
  const StoreHealth health = ns_.Health(10);
  EXPECT_EQ(health.files, 1u);
  EXPECT_EQ(health.missing_files, 1u);
  ASSERT_EQ(health.troubles.size(), 1u);
  EXPECT_EQ(health.troubles[0].path, "/g");
}

TEST_F(PinsTest, WhatIsGoneCannotBePinned) {
  Join(1);
  Put("/d/f");
  const uint64_t file = IdOf("/d/f"), directory = IdOf("/d");
  ASSERT_TRUE(Do(ns_.PrepareRemove("/d/f", false)).ok());
  EXPECT_EQ(ns_.PreparePin(At(), {file}).status().code(), Code::kNotFound);
  EXPECT_EQ(ns_.PreparePin(At(), {directory}).status().code(), Code::kNotFound);
}

TEST_F(PinsTest, PinsOutliveAReplayAndASnapshot) {
  Join(1);
  const auto old = Put("/f");
  const uint64_t id = IdOf("/f"), pin = Pin({id});
  ASSERT_TRUE(Do(ns_.PrepareRemove("/f", false)).ok());
  Namespace replayed(config_);
  for (const Record& record : hard_) (void)replayed.Apply(record);
  Namespace restored(config_);
  ASSERT_TRUE(restored.Restore(ns_.Snapshot()).ok());
  for (Namespace* ns : {&replayed, &restored}) {
    EXPECT_EQ(ns->HardDigest(), ns_.HardDigest());
    EXPECT_EQ(ns->Pins(), std::vector<uint64_t>{pin});
    (void)ns->Apply(MasterStarted{now_, {}});
    // Its holder reports the block: it is no garbage.
    auto effects = ns->Apply(WorkerJoined{now_, W(1), 200, "host1:1", "", 0, 0, {old[0].block}});
    EXPECT_TRUE(effects.empty());
    (void)ns->Apply(Ticked{now_ + config_.safe_mode_wait + Seconds(1)});
    const auto located = ns->LocateFile(id, 0, 0, "");
    ASSERT_TRUE(located.ok()) << located.status().ToString();
    EXPECT_EQ(located->blocks.at(0).workers, std::vector<WorkerId>{W(1)});
    // A pin that was given before is not given again.
    effects = ns->Apply(InputsReleased{pin});
    ASSERT_EQ(effects.size(), 1u);
    EXPECT_EQ(std::get<DeleteReplica>(effects[0]).block, old[0].block);
    EXPECT_EQ(std::get<InputsPinned>(**ns->PreparePin(At(), {})).pin, pin + 1);
  }
}

TEST_F(PinsTest, ASnapshotOfAReleaseWithoutPinsIsRead) {
  Put("/f", 0);  // blocks bring a tail of their own
  std::string bytes = ns_.Snapshot();
  bytes.resize(bytes.size() - sizeof(uint64_t) - sizeof(uint32_t));  // the tail: the next pin, and no pins
  Namespace restored(config_);
  ASSERT_TRUE(restored.Restore(bytes).ok());
  EXPECT_EQ(restored.HardDigest(), ns_.HardDigest());
}

}  // namespace
}  // namespace mr::dfs
