// The memory of a worker's attempts: limits of control groups on trees of plain files, the reserve, and workers that
// share what was found.
#include "worker/host/memory_share.h"

#include <gtest/gtest.h>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/temp_directory.h"

namespace mr::worker {
namespace {

constexpr uint64_t kMiB = 1ull << 20, kGiB = 1ull << 30;

class FindMemoryTest : public testing::Test {
 protected:
  void Group(const std::string& name, const std::string& file, const std::string& limit) {
    ASSERT_TRUE(MakeDirectories(root_ / name).ok());
    ASSERT_TRUE(WriteFileDurably(root_ / name + "/" + file, limit + "\n").ok());
  }
  void Unified(const std::string& name, const std::string& limit) { Group(name, "memory.max", limit); }
  MemoryFound Find(uint64_t machine, const std::string& own, const std::string& group = "") const {
    const std::string mounts = "26 24 0:24 / " + root_.path() + " rw - cgroup2 cgroup2 rw\n";
    return FindMemory(machine, mounts, "0::" + own + "\n", group);
  }
  test::TempDirectory root_;
};

TEST_F(FindMemoryTest, IsThatOfTheMachineWhereNoGroupLimitsIt) {
  Unified("a", "max");
  EXPECT_EQ(Find(8 * kGiB, "/a"), (MemoryFound{8 * kGiB, ""}));
  EXPECT_EQ(Find(8 * kGiB, "/no/such"), (MemoryFound{8 * kGiB, ""}));
  EXPECT_EQ(FindMemory(8 * kGiB, "", "", ""), (MemoryFound{8 * kGiB, ""}));
  Unified("a", std::to_string(9 * kGiB));
  EXPECT_EQ(Find(8 * kGiB, "/a"), (MemoryFound{8 * kGiB, ""}));
}

TEST_F(FindMemoryTest, IsTheLeastLimitOnThePathOfItsGroup) {
  Unified("a", std::to_string(4 * kGiB));
  Unified("a/b", std::to_string(6 * kGiB));
  Unified("a/b/c", "max");
  Unified("other", std::to_string(kGiB));
  EXPECT_EQ(Find(8 * kGiB, "/a/b/c"), (MemoryFound{4 * kGiB, root_ / "a"}));
  Unified("a/b", std::to_string(3 * kGiB));
  EXPECT_EQ(Find(8 * kGiB, "/a/b/c"), (MemoryFound{3 * kGiB, root_ / "a/b"}));
}

TEST_F(FindMemoryTest, CountsAlsoTheGroupOfTheTasks) {
  Unified("a", std::to_string(4 * kGiB));
  Unified("tasks", std::to_string(2 * kGiB));
  EXPECT_EQ(Find(8 * kGiB, "/a", "/tasks"), (MemoryFound{2 * kGiB, root_ / "tasks"}));
  Unified("tasks", "max");
  EXPECT_EQ(Find(8 * kGiB, "/a", "/tasks"), (MemoryFound{4 * kGiB, root_ / "a"}));
}

TEST_F(FindMemoryTest, ReadsVersion1) {
  const std::string mounts = "32 30 0:28 / " + (root_ / "memory") + " rw - cgroup cgroup rw,memory\n33 30 0:29 / " +
                             (root_ / "pids") + " rw - cgroup cgroup rw,pids\n";
  Group("memory", "memory.limit_in_bytes", "9223372036854771712");
  Group("memory/a", "memory.limit_in_bytes", std::to_string(2 * kGiB));
  Group("memory/a/b", "memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(FindMemory(8 * kGiB, mounts, "4:memory:/a/b\n8:pids:/a/b\n", ""),
            (MemoryFound{2 * kGiB, root_ / "memory/a"}));
}

TEST(LessReserveTest, LeavesTheDaemonATenthAndEachSlotItsCode) {
  EXPECT_EQ(LessReserve(100 * kGiB, 4), 90 * kGiB - 4 * kMemoryBeside);
  EXPECT_EQ(LessReserve(4 * kGiB, 2), 4 * kGiB - 512 * kMiB - 2 * kMemoryBeside);
  EXPECT_EQ(LessReserve(kGiB, 2), kGiB - 512 * kMiB) << "at most half";
  EXPECT_EQ(LessReserve(kGiB, 1000), kGiB - 512 * kMiB);
}

TEST(MemoryShareTest, IsDividedByTheWorkersThatShareIt) {
  uint32_t workers = 1, counted = 0;
  MemoryShare share({0, 4, ""}, 24 * kGiB, [&] {
    ++counted;
    return workers;
  });
  Instant now{1'000'000'000};
  EXPECT_EQ(share.Together(now), 24 * kGiB);
  EXPECT_EQ(share.PerAttempt(now), 6 * kGiB);
  workers = 3;
  EXPECT_EQ(share.Together(now), 24 * kGiB) << "it was counted less than a second ago";
  EXPECT_EQ(counted, 1u);
  now = now + Seconds(1);
  EXPECT_EQ(share.Together(now), 8 * kGiB);
  EXPECT_EQ(share.PerAttempt(now), 2 * kGiB);
  EXPECT_EQ(share.whole(), 24 * kGiB);
}

TEST(MemoryShareTest, WhatTheOperatorGaveIsNotShared) {
  MemoryShare share({8 * kGiB, 4, ""}, 24 * kGiB, [] { return 3u; });
  EXPECT_EQ(share.Together(Instant{1}), 8 * kGiB);
  EXPECT_EQ(share.PerAttempt(Instant{1}), 2 * kGiB);
  EXPECT_EQ(share.whole(), 8 * kGiB);
  EXPECT_EQ(MemoryShare({kGiB, 4, ""}, 24 * kGiB, [] { return 1u; }).PerAttempt(Instant{1}), 256 * kMiB);
}

TEST(MemoryShareTest, AnAttemptHasEnoughForTheEnginesBuffers) {
  MemoryShare share({0, 8, ""}, 2 * kGiB, [] { return 1u; });
  EXPECT_EQ(share.Together(Instant{1}), 2 * kGiB);
  EXPECT_EQ(share.PerAttempt(Instant{1}), kLeastAttemptMemory);
}

TEST(MemoryShareTest, WorkersOfThisMachineFindEachOther) {
  const auto first = MemoryShare::Open({0, 2, ""});
  const auto second = MemoryShare::Open({0, 2, ""});
  EXPECT_EQ(second->whole(), first->whole());
  // At most, since workers of other tests may live meanwhile.
  EXPECT_LE(first->Together(Instant{1}), first->whole() / 2);
  EXPECT_LE(second->Together(Instant{1}), first->whole() / 2);
  EXPECT_LE(MemoryShare::Open({0, 2, "", true})->Together(Instant{1}), first->whole() / 3) << "it is a guest";
}

TEST(PeersHereTest, CountsThoseThatLive) {
  const std::string what = "test" + std::to_string(RandomId());
  auto first = PeersHere::Join(what);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(first->Count(), 1u);
  {
    const auto second = PeersHere::Join(what), longer = PeersHere::Join(what + "1");
    ASSERT_TRUE(second.ok() && longer.ok());
    EXPECT_EQ(first->Count(), 2u);
    EXPECT_EQ(second->Count(), 2u);
    EXPECT_EQ(longer->Count(), 1u);
  }
  EXPECT_EQ(first->Count(), 1u);
  EXPECT_FALSE(PeersHere::Join(std::string(100, 'x')).ok());
}

TEST(PeersHereTest, APassingWorkerTakesNothingFromThoseThatStay) {
  const std::string what = "test" + std::to_string(RandomId());
  const auto stays = PeersHere::Join(what);
  const auto passing = PeersHere::Join(what, true), another = PeersHere::Join(what, true);
  ASSERT_TRUE(stays.ok() && passing.ok() && another.ok());
  EXPECT_EQ(stays->Count(), 1u);
  EXPECT_EQ(passing->Count(), 3u) << "the one that stays, another and itself";
}

TEST(PeersHereTest, CountsNoOtherSockets) {
  const std::string text =
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "000000001: 00000002 00000000 00010000 0001 01  20 @paceline-worker.a.1\n"
      "000000002: 00000002 00000000 00010000 0001 01  21 @paceline-worker.a.22\n"
      "000000003: 00000002 00000000 00010000 0001 01  22 @paceline-worker.aa.1\n"
      "000000004: 00000002 00000000 00010000 0001 01  23 /tmp/@paceline-worker.a.1\n"
      "000000005: 00000003 00000000 00000000 0001 03  24\n";
  EXPECT_EQ(CountSockets(text, "@paceline-worker.a."), 2u);
  EXPECT_EQ(CountSockets("", "@paceline-worker.a."), 0u);
}

}  // namespace
}  // namespace mr::worker
