// Running copies and the counts of blocks when files are removed and workers are lost.
#include <gtest/gtest.h>

#include <set>

#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

using NamespaceCopiesTest = NamespaceTest;

TEST_F(NamespaceCopiesTest, CopiesOfRemovedFilesGiveTheirPlacesToOthers) {
  Join(1);
  const uint32_t at_once = config_.repairs_per_worker;
  for (uint32_t i = 0; i < 3 * at_once; ++i) Put("/f" + std::to_string(i));
  Join(2);
  Pass(config_.repair_delay);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(Copies().size(), at_once) << "round " << round;
    std::set<BlockId> copied;
    for (const auto& copy : Copies()) copied.insert(copy.block.id);
    effects_.clear();
    for (const FileInfo& file : *ns_.List("/")) {
      const BlockId block = ns_.Locate(file.path, 0, 0, "")->blocks[0].block.id;
      if (!copied.contains(block)) continue;
      ASSERT_TRUE(Do(ns_.PrepareRemove(file.path, false)).ok());
    }
    Pass(Seconds(1));
  }
  EXPECT_TRUE(Copies().empty());
  EXPECT_EQ(ns_.Counts().copying, 0u);
}

TEST_F(NamespaceCopiesTest, WithoutAnyWorkerEachBlockIsMissingAndUnderReplicated) {
  Join(1);
  Put("/f", 3);
  EXPECT_EQ(ns_.Counts().under_replicated, 0u) << "as many replicas as there are workers";
  EXPECT_EQ(ns_.Health(10).under_replicated_files, 0u);
  Lose(1);
  EXPECT_EQ(ns_.Counts().missing, 3u);
  EXPECT_EQ(ns_.Counts().under_replicated, 3u);
  EXPECT_EQ(ns_.Health(10).missing_files, 1u);
  EXPECT_EQ(ns_.Stat("/f")->missing_blocks, 3u);
}

}  // namespace
}  // namespace mr::dfs
