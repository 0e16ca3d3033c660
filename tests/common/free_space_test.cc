#include "common/io/free_space.h"

#include <gtest/gtest.h>

namespace mr {
namespace {

constexpr uint64_t kMiB = 1 << 20, kGiB = 1 << 30;

TEST(FreeSpaceTest, TheSmallerOfAPartAndTenGiBIsKept) {
  FreeSpaceGate gate(std::nullopt);
  EXPECT_EQ(gate.Keep({0, 100 * kMiB, 1, 1}), 5 * kMiB);
  EXPECT_EQ(gate.Keep({0, 1000 * kGiB, 1, 1}), 10 * kGiB);
  EXPECT_EQ(FreeSpaceGate(kMiB).Keep({0, 1000 * kGiB, 1, 1}), kMiB);
}

TEST(FreeSpaceTest, ThereIsRoomAgainOnlyATenthAboveTheLimit) {
  FreeSpaceGate gate(10 * kMiB);
  const auto room = [&gate](uint64_t free) { return gate.HasRoom({free, kGiB, 1, 1}); };
  EXPECT_TRUE(room(10 * kMiB));
  EXPECT_FALSE(room(10 * kMiB - 1));
  EXPECT_FALSE(room(10 * kMiB));
  EXPECT_FALSE(room(11 * kMiB - 1));
  EXPECT_TRUE(room(11 * kMiB));
  EXPECT_TRUE(room(10 * kMiB));
}

TEST(FreeSpaceTest, ADiskWithoutInodesHasNoRoom) {
  FreeSpaceGate gate(kMiB);
  EXPECT_FALSE(gate.HasRoom({kGiB, kGiB, 0, 100}));
  EXPECT_TRUE(gate.HasRoom({kGiB, kGiB, 0, 0})) << "inodes are not counted there";
}

TEST(FreeSpaceTest, WithoutALimitThereIsAlwaysRoom) {
  FreeSpaceGate gate(0);
  EXPECT_TRUE(gate.HasRoom({0, kGiB, 0, 100}));
}

TEST(FreeSpaceTest, KnowsThisDisk) {
  const auto space = SpaceOf("/");
  ASSERT_TRUE(space.ok()) << space.status().ToString();
  EXPECT_GT(space->total_bytes, 0u);
  EXPECT_FALSE(SpaceOf("/no such directory").ok());
}

}  // namespace
}  // namespace mr
