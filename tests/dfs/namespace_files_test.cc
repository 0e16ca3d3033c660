// Requests of writers, commits and operators to the namespace, at the limits of what is allowed.
#include <gtest/gtest.h>

#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

class NamespaceFilesTest : public NamespaceTest {
 protected:
  uint64_t OpenOf(const std::string& path, uint32_t replication, uint64_t block_bytes) {
    const std::string request = "of" + path;
    EXPECT_TRUE(Do(ns_.PrepareCreate(At(), path, false, replication, block_bytes, request)).ok());
    return ns_.LeaseOf(request);
  }
  Code Complete(uint64_t lease, const std::vector<StagedBlock>& blocks) const {
    return ns_.PrepareComplete(At(), lease, blocks).status().code();
  }
  OutputCommitted Commit(const std::string& directory, std::vector<OutputFile> files) const {
    OutputCommitted commit;
    commit.stamp = At();
    commit.directory = directory;
    commit.staging = "/.staging/j";
    commit.files = std::move(files);
    return commit;
  }
};

TEST_F(NamespaceFilesTest, ABlockThatIsWrittenAgainTakesTheReplicasOfItsFirstTryAway) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  const uint64_t lease = Open("/f");
  const StagedBlock first = Write(lease, 0);
  const StagedBlock second = Write(lease, 0);
  ASSERT_EQ(Deletes().size(), first.workers.size());
  for (const DeleteReplica& gone : Deletes()) EXPECT_EQ(gone.block, first.block);
  EXPECT_FALSE(ns_.Find(first.block.id).has_value());
  EXPECT_EQ(ns_.Find(second.block.id)->workers.size(), 3u);
  // A try that nobody reported counts for nothing either.
  Apply(**ns_.PrepareAddBlock(At(), lease, 1, ""));
  const StagedBlock third = Write(lease, 1);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {second, third})).ok());
  for (uint32_t i = 1; i <= 3; ++i) EXPECT_EQ(ns_.DrainOf(W(i)).being_written, 0u) << i;
}

TEST_F(NamespaceFilesTest, ALeaseForWhichBlocksAreAskedRunsOnlyOutAfterTheLastOne) {
  Join(1);
  const uint64_t lease = Open("/f");
  std::vector<StagedBlock> blocks;
  for (uint32_t i = 0; i < 3; ++i) {
    Pass(config_.lease_time - Seconds(1));
    blocks.push_back(Write(lease, i));
  }
  Pass(config_.lease_time - Seconds(1));
  EXPECT_EQ(Complete(lease, blocks), Code::kOk);
  Pass(Seconds(1));
  EXPECT_EQ(Complete(lease, blocks), Code::kNotFound);
}

TEST_F(NamespaceFilesTest, AFileIsCompleteWithTheVeryBlocksThatItWasGiven) {
  Join(1);
  const uint64_t other = Open("/other"), lease = OpenOf("/f", 1, 4096);
  const StagedBlock foreign = Write(other, 0);
  const StagedBlock a = Write(lease, 0), b = Write(lease, 1);
  const auto with = [](StagedBlock block, auto change) {
    change(block.block);
    return block;
  };
  EXPECT_EQ(Complete(lease, {a, with(b, [](BlockRef& r) { r.generation = 2; })}), Code::kInvalidArgument);
  EXPECT_EQ(Complete(lease, {a, with(b, [](BlockRef& r) { r.generation = 0; })}), Code::kInvalidArgument);
  EXPECT_EQ(Complete(lease, {a, with(b, [](BlockRef& r) { r.length = 0; })}), Code::kInvalidArgument);
  EXPECT_EQ(Complete(lease, {a, with(b, [](BlockRef& r) { r.length = 4097; })}), Code::kInvalidArgument);
  EXPECT_EQ(Complete(lease, {a, foreign}), Code::kInvalidArgument);
  EXPECT_EQ(Complete(lease, {b, a}), Code::kInvalidArgument);
  EXPECT_EQ(Complete(lease, {a}), Code::kInvalidArgument);
  EXPECT_EQ(Complete(lease, {a, with(b, [](BlockRef& r) { r.length = 4096; })}), Code::kOk);
}

TEST_F(NamespaceFilesTest, ReplicationIsFrom1To100) {
  Join(1);
  Put("/f");
  for (const uint32_t wrong : {0u, 101u}) {
    EXPECT_EQ(ns_.PrepareSetReplication("/f", wrong).status().code(), Code::kInvalidArgument) << wrong;
  }
  EXPECT_EQ(ns_.PrepareCreate(At(), "/g", false, 101, 0, "g").status().code(), Code::kInvalidArgument);
  OutputCommitted commit = Commit("/out", {});
  commit.replication = 101;
  EXPECT_EQ(ns_.PrepareCommit(commit).status().code(), Code::kInvalidArgument);
  for (const uint32_t right : {1u, 100u}) {
    ASSERT_TRUE(Do(ns_.PrepareSetReplication("/f", right)).ok()) << right;
    EXPECT_EQ(ns_.Stat("/f")->replication, right);
  }
}

TEST_F(NamespaceFilesTest, AnOutputHasTheReplicationThatItsJobAsksForElseTheDefault) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i);
  for (const uint32_t asked : {0u, 1u, 2u}) {
    const std::string directory = "/out" + std::to_string(asked);
    OutputCommitted commit = Commit(directory, {{"p", {Put("/.staging/j/a/p")[0].block}, ""}, {"_SUCCESS", {}, "{}"}});
    commit.replication = asked;
    ASSERT_TRUE(Do(ns_.PrepareCommit(commit)).ok());
    const uint32_t wanted = asked == 0 ? config_.replication : asked;
    for (const char* name : {"/p", "/_SUCCESS"}) EXPECT_EQ(ns_.Stat(directory + name)->replication, wanted);
    effects_.clear();
    Pass(config_.repair_delay);
    EXPECT_EQ(Deletes().size(), 3u - wanted) << "what is there beyond it";
  }
}

TEST_F(NamespaceFilesTest, AJobThatWritesNoPartsTakesItsStagingAway) {
  Join(1);
  const StagedBlock loser = Put("/.staging/j/a/p")[0];
  ASSERT_TRUE(Do(ns_.PrepareCommit(Commit("/out", {}))).ok());
  EXPECT_TRUE(ns_.Stat("/out").ok());
  EXPECT_FALSE(ns_.Stat("/.staging/j").ok());
  ASSERT_EQ(Deletes().size(), 1u);
  EXPECT_EQ(Deletes()[0].block, loser.block);
}

TEST_F(NamespaceFilesTest, ACommitNamesEachPartAndEachBlockOnce) {
  Join(1);
  const BlockRef a = Put("/.staging/j/a/p")[0].block, b = Put("/.staging/j/a/q")[0].block;
  const auto code = [this](std::vector<OutputFile> files) {
    return ns_.PrepareCommit(Commit("/out", std::move(files))).status().code();
  };
  EXPECT_EQ(code({{"p", {a, a}, ""}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{"p", {a}, ""}, {"q", {a}, ""}}), Code::kInvalidArgument) << "one would lose it with the other";
  EXPECT_EQ(code({{"p", {a}, ""}, {"p", {b}, ""}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{"p/q", {a}, ""}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{"p", {a}, "and bytes of its own"}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{"p", {}, std::string((64 << 10) + 1, 'x')}}), Code::kInvalidArgument);
  EXPECT_EQ(code({{"p", {a}, ""}, {"q", {b}, ""}, {"r", {}, std::string(64 << 10, 'x')}}), Code::kOk);
}

}  // namespace
}  // namespace mr::dfs
