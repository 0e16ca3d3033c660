// Where replicas are put, and which of them are read first.
#include <gtest/gtest.h>

#include <set>

#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

using NamespacePlacesTest = NamespaceTest;

TEST_F(NamespacePlacesTest, PlacementCrossesRacksOnceAndStartsWithTheWriter) {
  for (uint32_t i = 1; i <= 12; ++i) Join(i, "rack" + std::to_string(i % 4));
  const uint64_t lease = Open("/f");
  for (uint32_t index = 0; index < 50; ++index) {
    const auto added = std::get<BlockAdded>(**ns_.PrepareAddBlock(At(), lease, index, "host5:1"));
    Apply(added);
    ASSERT_EQ(added.targets.size(), 3u);
    EXPECT_EQ(added.targets[0], W(5));
    EXPECT_NE(added.targets[1].value % 4, 5u % 4);
    EXPECT_EQ(added.targets[2].value % 4, added.targets[1].value % 4);
    EXPECT_NE(added.targets[2], added.targets[1]);
  }
}

TEST_F(NamespacePlacesTest, ReadersInTurnBeginWithDifferentReplicasThatAreEquallyNear) {
  for (uint32_t i = 1; i <= 3; ++i) Join(i, i == 1 ? "a" : "b");
  Join(4, "b");
  const std::vector<StagedBlock> blocks = Put("/f");
  const auto first = [&](const std::string& near, uint32_t turn) {
    return ns_.Locate("/f", 0, 0, near, turn)->blocks.at(0).addresses.at(0);
  };
  std::set<std::string> begun;
  for (uint32_t turn = 1; turn <= 3; ++turn) begun.insert(first("", turn));
  EXPECT_EQ(begun.size(), 3u) << "as many as there are replicas";
  EXPECT_EQ(first("", 1), first("", 4));
  for (const WorkerId own : blocks.at(0).workers) {
    const std::string address = "host" + std::to_string(own.value) + ":1";
    for (uint32_t turn = 1; turn <= 3; ++turn) EXPECT_EQ(first(address, turn), address) << "nearest first";
  }
}

TEST_F(NamespacePlacesTest, PlacementSpreadsBlocksEvenly) {
  for (uint32_t i = 1; i <= 10; ++i) Join(i);
  Put("/f", 1000);
  for (uint32_t i = 1; i <= 10; ++i) {
    EXPECT_GT(ns_.BlocksOn(W(i)), 270u) << i;
    EXPECT_LT(ns_.BlocksOn(W(i)), 330u) << i;
  }
}

}  // namespace
}  // namespace mr::dfs
