// The namespace without disks and networks: what is visible when, where replicas go, what is repaired,
// and that nothing is deleted without proof of enough others.
#include <gtest/gtest.h>

#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

TEST_F(NamespaceTest, AFileIsVisibleOnlyWhenComplete) {
  Join(1);
  const uint64_t lease = Open("/a/b/f");
  const StagedBlock block = Write(lease, 0);
  EXPECT_EQ(ns_.Stat("/a/b/f").status().code(), Code::kNotFound);
  EXPECT_EQ(ns_.Stat("/a").status().code(), Code::kNotFound);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {block})).ok());
  ASSERT_TRUE(ns_.Stat("/a/b/f").ok());
  EXPECT_EQ(ns_.Stat("/a/b/f")->bytes, 100u);
  EXPECT_TRUE(ns_.Stat("/a/b")->is_directory);
  // Said twice, done once.
  EXPECT_TRUE(Do(ns_.PrepareComplete(At(), lease, {block})).ok());
}

TEST_F(NamespaceTest, ARepeatedRequestGivesTheSameLease) {
  ASSERT_TRUE(Do(ns_.PrepareCreate(At(), "/f", false, 0, 0, "id")).ok());
  const uint64_t lease = ns_.LeaseOf("id");
  const auto again = ns_.PrepareCreate(At(), "/f", false, 0, 0, "id");
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->has_value());
  EXPECT_EQ(ns_.LeaseOf("id"), lease);
  EXPECT_EQ(ns_.PrepareCreate(At(), "/g", false, 0, 0, "id").status().code(), Code::kRejected);
}

TEST_F(NamespaceTest, AnExistingFileIsReplacedOnlyWhenAsked) {
  Join(1);
  const auto old = Put("/f");
  EXPECT_EQ(Open("/f"), 0u);
  const uint64_t lease = Open("/f", true);
  const auto fresh = Write(lease, 0, 55);
  EXPECT_EQ(ns_.Stat("/f")->bytes, 100u);
  EXPECT_TRUE(Deletes().empty());
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {fresh})).ok());
  EXPECT_EQ(ns_.Stat("/f")->bytes, 55u);
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].block, old[0].block);
}

TEST_F(NamespaceTest, OfTwoWritersOfOnePathTheFirstToCompleteWins) {
  Join(1);
  const uint64_t a = Open("/f");
  const uint64_t b = Open("/f");
  const auto block_a = Write(a, 0);
  const auto block_b = Write(b, 0);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), b, {block_b})).ok());
  EXPECT_EQ(ns_.PrepareComplete(At(), a, {block_a}).status().code(), Code::kRejected);
}

TEST_F(NamespaceTest, AnUnrenewedLeaseRunsOutAndItsBlocksGo) {
  Join(1);
  const uint64_t lease = Open("/f");
  const auto block = Write(lease, 0);
  Pass(Seconds(40));
  ASSERT_TRUE(Do(ns_.PrepareRenew(At(), lease)).ok());
  Pass(Seconds(40));
  EXPECT_TRUE(Deletes().empty());
  Pass(Seconds(30));
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(ns_.PrepareComplete(At(), lease, {block}).status().code(), Code::kNotFound);
  EXPECT_EQ(ns_.PrepareRenew(At(), lease).status().code(), Code::kNotFound);
}

TEST_F(NamespaceTest, RenameMovesAWholeTree) {
  Join(1);
  Put("/a/b/f");
  ASSERT_TRUE(Do(ns_.PrepareMkdir(At(), "/c")).ok());
  ASSERT_TRUE(Do(ns_.PrepareRename(At(), "/a", "/c/a2")).ok());
  EXPECT_TRUE(ns_.Stat("/c/a2/b/f").ok());
  EXPECT_FALSE(ns_.Stat("/a").ok());
  EXPECT_EQ(ns_.PrepareRename(At(), "/c", "/c/a2/x").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ns_.PrepareRename(At(), "/c", "/no/x").status().code(), Code::kNotFound);
  EXPECT_EQ(ns_.PrepareRename(At(), "/nope", "/x").status().code(), Code::kNotFound);
}

TEST_F(NamespaceTest, ARenameReplacesNothing) {
  Join(1);
  Put("/a");
  Put("/b");
  ASSERT_TRUE(Do(ns_.PrepareMkdir(At(), "/d")).ok());
  for (const char* to : {"/b", "/d", "/b/below"}) {
    EXPECT_EQ(ns_.PrepareRename(At(), "/a", to).status().code(), Code::kRejected) << to;
  }
}

TEST_F(NamespaceTest, RemoveOfATreeDeletesAllOfItsBlocks) {
  Join(1);
  Join(2);
  Put("/d/f", 3);
  Put("/d/e/g", 2);
  EXPECT_EQ(ns_.PrepareRemove("/d", false).status().code(), Code::kRejected);
  ASSERT_TRUE(Do(ns_.PrepareRemove("/d", true)).ok());
  EXPECT_EQ(Deletes().size(), 10u);
  EXPECT_EQ(ns_.Counts().blocks, 0u);
  EXPECT_EQ(ns_.PrepareRemove("/d", true).status().code(), Code::kNotFound);
  EXPECT_EQ(ns_.PrepareRemove("/", true).status().code(), Code::kInvalidArgument);
}

TEST_F(NamespaceTest, AFileIsNoDirectory) {
  Join(1);
  Put("/f");
  EXPECT_EQ(ns_.PrepareMkdir(At(), "/f/x").status().code(), Code::kRejected);
  EXPECT_EQ(ns_.PrepareMkdir(At(), "/f").status().code(), Code::kRejected);
  EXPECT_EQ(Open("/f/x"), 0u);
  ASSERT_TRUE(Do(ns_.PrepareMkdir(At(), "/d")).ok());
  EXPECT_EQ(Open("/d", true), 0u);
  EXPECT_FALSE(ns_.PrepareMkdir(At(), "/d")->has_value());
}

TEST(PathTest, OnlyCleanAbsolutePathsAreTaken) {
  for (const char* good : {"/", "/a", "/a/b.c", "/\xc3\xa4", "/.hidden", "/a b"}) {
    EXPECT_TRUE(CheckPath(good).ok()) << good;
  }
  for (const char* bad : {"", "a", "a/b", "//", "/a/", "/a//b", "/.", "/a/..", "/a/./b", "/a\nb", "/\x7f", "/\xff",
                          "/\xc0\xaf", "/\xed\xa0\x80", "/\xc3"}) {
    EXPECT_EQ(CheckPath(bad).code(), Code::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(CheckPath("/" + std::string(256, 'x')).ok());
  EXPECT_FALSE(CheckPath(std::string("/a\0b", 4)).ok());
}

TEST_F(NamespaceTest, AckNeedsTwoDurableReplicasWhereThereAreTwoWorkers) {
  Join(1);
  Join(2);
  Join(3);
  const uint64_t lease = Open("/f");
  const auto added = std::get<BlockAdded>(**ns_.PrepareAddBlock(At(), lease, 0, ""));
  Apply(added);
  const BlockRef block{added.block, 1, 100, 5};
  EXPECT_EQ(ns_.PrepareComplete(At(), lease, {{block, {added.targets[0]}}}).status().code(), Code::kUnavailable);
  Have(added.targets[1].value, block);
  EXPECT_TRUE(ns_.PrepareComplete(At(), lease, {{block, {added.targets[0]}}}).ok());
}

TEST_F(NamespaceTest, ABlockAskedForAgainIsFreshAndAvoidsWhoFailed) {
  for (uint32_t i = 1; i <= 5; ++i) Join(i);
  const uint64_t lease = Open("/f");
  const auto first = std::get<BlockAdded>(**ns_.PrepareAddBlock(At(), lease, 0, ""));
  Apply(first);
  Have(first.targets[0].value, {first.block, 1, 100, 5});
  const auto second = std::get<BlockAdded>(**ns_.PrepareAddBlock(At(), lease, 0, ""));
  Apply(second);
  EXPECT_NE(first.block, second.block);
  for (const WorkerId w : second.targets) {
    EXPECT_NE(w, first.targets[1]);
    EXPECT_NE(w, first.targets[2]);
  }
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].block.id, first.block);
}

TEST_F(NamespaceTest, LostReplicasAreCopiedAfterTheDelay) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const auto block = Put("/f")[0];
  Lose(block.workers[0].value);
  Pass(Seconds(5));
  EXPECT_TRUE(Copies().empty());
  Pass(Seconds(11));
  ASSERT_EQ(Copies().size(), 1u);
  const ReplicateBlock copy = Copies()[0];
  EXPECT_EQ(copy.block, block.block);
  for (const WorkerId w : block.workers) EXPECT_NE(copy.to, w);
  EXPECT_EQ(ns_.Counts().copying, 1u);
  // No answer: asked for again.
  Pass(Seconds(61));
  ASSERT_EQ(Copies().size(), 2u);
  Have(Copies()[1].to.value, block.block);
  EXPECT_EQ(ns_.Counts().copying, 0u);
  EXPECT_EQ(ns_.Counts().under_replicated, 0u);
  EXPECT_TRUE(Deletes().empty());
}

TEST_F(NamespaceTest, SaysHowManyReplicasAFileHasOfThoseWanted) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  Put("/f", 4);
  EXPECT_EQ(ns_.Stat("/f")->least_replicas, 3u);
  EXPECT_EQ(ns_.Stat("/f")->replication, 3u);
  Lose(1);
  EXPECT_EQ(ns_.Stat("/f")->least_replicas, 2u) << "of the block that has the fewest";
  Lose(2);
  Lose(3);
  Lose(4);
  EXPECT_EQ(ns_.Stat("/f")->least_replicas, 0u);
  EXPECT_EQ(ns_.Stat("/f")->missing_blocks, 4u);
  EXPECT_EQ(ns_.Stat("/")->least_replicas, 0u);
}

TEST_F(NamespaceTest, AReplicaTooManyIsDeletedAndNeverMore) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const auto block = Put("/f")[0];
  const uint32_t lost = block.workers[0].value;
  Lose(lost);
  Pass(Seconds(20));
  Have(Copies().at(0).to.value, block.block);
  Join(lost, "", {block.block});
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(ns_.Find(block.block.id)->workers.size(), 3u);
  Pass(Seconds(100));
  EXPECT_EQ(Deletes().size(), 1u);
}

TEST_F(NamespaceTest, ASuspectReplicaIsKeptUntilEnoughOthersAreProven) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const auto block = Put("/f")[0];
  const WorkerId bad = block.workers[1];
  Apply(ReplicaSuspect{now_, bad, 100 + bad.value, block.block.id, 1});
  EXPECT_EQ(ns_.Counts().suspect, 1u);
  EXPECT_TRUE(Deletes().empty());
  const auto located = ns_.Find(block.block.id);
  for (const WorkerId w : located->workers) EXPECT_NE(w, bad);
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_NE(Copies()[0].from, bad);
  EXPECT_NE(Copies()[0].to, bad);
  Have(Copies()[0].to.value, block.block);
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].worker, bad);
}

TEST_F(NamespaceTest, AReplicaThatDiffersIsSuspect) {
  Join(1);
  Join(2);
  const auto block = Put("/f")[0];
  BlockRef other = block.block;
  other.digest ^= 1;
  Join(1, "", {other});
  EXPECT_EQ(ns_.Counts().suspect, 1u);
  EXPECT_EQ(ns_.Find(block.block.id)->workers, std::vector<WorkerId>{W(2)});
  EXPECT_TRUE(Deletes().empty());
}

TEST_F(NamespaceTest, SafeModeNeitherDeletesNorCopies) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const auto kept = Put("/f")[0];
  const auto removed = Put("/g")[0];
  ASSERT_TRUE(Do(ns_.PrepareRemove("/g", false)).ok());
  effects_.clear();
  Apply(MasterStarted{now_, {W(1), W(2), W(3)}});
  EXPECT_TRUE(ns_.in_safe_mode());
  Join(1, "", {kept.block, removed.block});
  Join(2, "", {kept.block});
  EXPECT_TRUE(ns_.in_safe_mode());
  EXPECT_TRUE(effects_.empty());
  Join(3, "", {kept.block});
  EXPECT_FALSE(ns_.in_safe_mode());
  ASSERT_EQ(effects_.size(), 1u);
  EXPECT_EQ(Deletes().at(0).block, removed.block);
}

TEST_F(NamespaceTest, SafeModeEndsByTimeWhereAWorkerStaysAway) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const auto block = Put("/f")[0];
  Apply(MasterStarted{now_, {W(1), W(2), W(3), W(4)}});
  effects_.clear();
  const uint32_t away = block.workers[0].value;
  for (uint32_t i = 1; i <= 4; ++i) {
    std::vector<BlockRef> has;
    for (const WorkerId w : block.workers) {
      if (w == W(i)) has.push_back(block.block);
    }
    if (i != away) Join(i, "", has);
  }
  EXPECT_TRUE(ns_.in_safe_mode());
  Pass(Seconds(31));
  EXPECT_FALSE(ns_.in_safe_mode());
  EXPECT_TRUE(effects_.empty());
  Pass(Seconds(16));
  EXPECT_EQ(Copies().size(), 1u);
}

TEST_F(NamespaceTest, SafeModeLastsWhileABlockHasNoReplicaThoughAllThatAreExpectedAreBack) {
  Join(1);
  Join(2);
  const auto kept = Put("/f")[0], removed = Put("/g")[0];
  ASSERT_TRUE(Do(ns_.PrepareRemove("/g", false)).ok());
  effects_.clear();
  Apply(MasterStarted{now_, {W(1)}});
  Join(1, "", {removed.block});
  EXPECT_TRUE(ns_.in_safe_mode()) << "nobody has brought the block of /f";
  EXPECT_TRUE(effects_.empty());
  Join(2, "", {kept.block});
  EXPECT_FALSE(ns_.in_safe_mode());
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].block, removed.block);
}

TEST_F(NamespaceTest, ABlockThatTheJournalNeverGaveIsNoGarbage) {
  Join(1, "", {{{12345}, 1, 10, 10}});
  EXPECT_TRUE(effects_.empty());
  // Nor is the very next one, where only the last record of the journal was lost.
  Put("/f");
  Join(2, "", {{{ns_.NextBlock()}, 1, 10, 10}});
  EXPECT_TRUE(Deletes().empty());
}

TEST_F(NamespaceTest, DrainingWorkersAreReadFromAndCountForNothing) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const auto block = Put("/f")[0];
  Apply(WorkerDrained{now_, block.workers[2], true});
  ASSERT_EQ(Copies().size(), 1u);
  EXPECT_EQ(ns_.Find(block.block.id)->workers.size(), 3u);
}

TEST_F(NamespaceTest, RaisedReplicationMakesCopiesAndLoweredDeletes) {
  for (uint32_t i = 1; i <= 4; ++i) Join(i);
  const auto block = Put("/f")[0];
  ASSERT_TRUE(Do(ns_.PrepareSetReplication("/f", 4)).ok());
  Pass(Seconds(1));
  ASSERT_EQ(Copies().size(), 1u);
  Have(Copies()[0].to.value, block.block);
  ASSERT_TRUE(Do(ns_.PrepareSetReplication("/f", 1)).ok());
  Pass(Seconds(1));
  EXPECT_EQ(Deletes().size(), 3u);
  EXPECT_EQ(ns_.Find(block.block.id)->workers.size(), 1u);
}

TEST_F(NamespaceTest, AJobsOutputAppearsAtOnceAndItsStagingGoes) {
  Join(1);
  Join(2);
  const auto winner = Put("/.staging/j/a_1/part-r-00000", 2);
  const auto loser = Put("/.staging/j/a_2/part-r-00000", 1);
  OutputCommitted commit;
  commit.stamp = At();
  commit.directory = "/out";
  commit.staging = "/.staging/j";
  commit.files = {{"part-r-00000", {winner[0].block, winner[1].block}, ""}, {"_SUCCESS", {}, "{}\n"}};
  effects_.clear();
  ASSERT_TRUE(Do(ns_.PrepareCommit(commit)).ok());
  EXPECT_EQ(ns_.Stat("/out/part-r-00000")->bytes, 200u);
  EXPECT_EQ(ns_.Locate("/out/_SUCCESS", 0, 0, "")->inline_data, "{}\n");
  EXPECT_FALSE(ns_.Stat("/.staging/j").ok());
  ASSERT_EQ(Deletes().size(), 2u);  // the loser's, on both workers
  EXPECT_EQ(Deletes()[0].block, loser[0].block);
  // A second job for the same directory is refused at its commit, whole.
  const auto late = Put("/.staging/k/a_1/part-r-00000");
  commit.staging = "/.staging/k";
  commit.files = {{"part-r-00000", {late[0].block}, ""}};
  EXPECT_EQ(ns_.PrepareCommit(commit).status().code(), Code::kRejected);
  commit.overwrite = true;
  ASSERT_TRUE(Do(ns_.PrepareCommit(commit)).ok());
  EXPECT_EQ(ns_.FilesUnder("/out")->size(), 1u);
  EXPECT_EQ(ns_.Stat("/out/part-r-00000")->bytes, 100u);
  EXPECT_FALSE(ns_.Stat("/out/_SUCCESS").ok());
}

TEST_F(NamespaceTest, ACommitTakesOnlyBlocksOfItsOwnStaging) {
  Join(1);
  const auto foreign = Put("/precious");
  OutputCommitted commit;
  commit.directory = "/out";
  commit.staging = "/.staging/j";
  commit.files = {{"part-r-00000", {foreign[0].block}, ""}};
  EXPECT_EQ(ns_.PrepareCommit(commit).status().code(), Code::kRejected);
  const auto own = Put("/.staging/j/a/p");
  commit.files = {{"part-r-00000", {own[0].block}, ""}};
  commit.files[0].blocks[0].digest ^= 1;
  EXPECT_EQ(ns_.PrepareCommit(commit).status().code(), Code::kCorrupted);
}

TEST_F(NamespaceTest, UsedBytesAreThoseOfTheBlocksAlsoAfterAWorkerComesBack) {
  const auto join = [this](std::vector<BlockRef> blocks) {
    uint64_t used = 0;
    for (const auto& block : blocks) used += block.length;
    Apply(WorkerJoined{now_, W(1), 101, "host:1", "", 1000, used, std::move(blocks)});
  };
  join({});
  std::vector<BlockRef> blocks;
  for (const char* path : {"/a", "/b"}) blocks.push_back(Put(path, 1)[0].block);
  EXPECT_EQ(ns_.UsedOn(W(1)), 200u);
  for (int i = 0; i < 3; ++i) {
    join(blocks);
    EXPECT_EQ(ns_.UsedOn(W(1)), 200u) << "time " << i;
  }
  ASSERT_TRUE(Do(ns_.PrepareRemove("/a", false)).ok());
  EXPECT_EQ(ns_.UsedOn(W(1)), 100u);
  Lose(1);
  EXPECT_EQ(ns_.UsedOn(W(1)), 0u);
}

TEST_F(NamespaceTest, ASnapshotAndAReplayGiveTheSameHardState) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  Put("/a/f", 3);
  ASSERT_TRUE(Do(ns_.PrepareRename(At(), "/a", "/b")).ok());
  Write(Open("/open"), 0);
  Namespace restored(config_);
  ASSERT_TRUE(restored.Restore(ns_.Snapshot()).ok());
  EXPECT_EQ(restored.HardDigest(), ns_.HardDigest());
  Namespace replayed(config_);
  for (const auto& record : hard_) (void)replayed.Apply(record);
  EXPECT_EQ(replayed.HardDigest(), ns_.HardDigest());
  EXPECT_TRUE(replayed.Stat("/b/f").ok());
  EXPECT_FALSE(restored.Restore("rubbish").ok());
}

// A writer whose answer was lost asks the next master again.
TEST_F(NamespaceTest, AFileThatWasCompletedIsKnownAsSuchBehindASnapshot) {
  Join(1);
  const uint64_t lease = Open("/f");
  const auto block = Write(lease, 0);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {block})).ok());
  Namespace restored(config_);
  ASSERT_TRUE(restored.Restore(ns_.Snapshot()).ok());
  const auto again = restored.PrepareComplete(At(), lease, {block});
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_FALSE(again->has_value()) << "it is already so";
}

TEST_F(NamespaceTest, ARepeatedRequestGivesTheSameLeaseBehindASnapshot) {
  ASSERT_TRUE(Do(ns_.PrepareCreate(At(), "/f", false, 0, 0, "id")).ok());
  Namespace restored(config_);
  ASSERT_TRUE(restored.Restore(ns_.Snapshot()).ok());
  EXPECT_EQ(restored.LeaseOf("id"), ns_.LeaseOf("id"));
  const auto again = restored.PrepareCreate(At(), "/f", false, 0, 0, "id");
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->has_value()) << "it is already so";
}

TEST_F(NamespaceTest, AListComesInParts) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) {
    char name[24];
    std::snprintf(name, sizeof name, "/d/file_%04d", i);
    names.emplace_back(name);
    ASSERT_TRUE(Do(ns_.PrepareMkdir(At(), name)).ok());
  }
  std::vector<std::string> seen;
  std::string after;
  size_t parts = 0;
  for (bool more = true; more; ++parts) {
    const auto part = ns_.List("/d", after, 1000);
    ASSERT_TRUE(part.ok()) << part.status().ToString();
    ASSERT_FALSE(part->entries.empty());
    ASSERT_LT(part->entries.size(), 15u) << "some 85 bytes each";
    for (const auto& entry : part->entries) seen.push_back(entry.path);
    after = seen.back().substr(3);
    more = part->more;
  }
  EXPECT_EQ(seen, names) << "each once, in order";
  EXPECT_GT(parts, 5u);
  // One entry is given even where it is larger than the part; behind the last there is nothing.
  EXPECT_EQ(ns_.List("/d", "", 1)->entries.size(), 1u);
  EXPECT_TRUE(ns_.List("/d", "file_0099", 1000)->entries.empty());
  EXPECT_FALSE(ns_.List("/d", "file_0099", 1000)->more);
}

}  // namespace
}  // namespace mr::dfs
