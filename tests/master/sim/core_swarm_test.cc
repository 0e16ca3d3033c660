// The swarm over the whole master: random worlds, whose faults occur, and in which all holds.
#include <gtest/gtest.h>

#include "master/sim/swarm/core_world.h"

namespace mr::sim {
namespace {

TEST(CoreSwarmTest, EveryJobEndsAndNothingIsLostWhateverHappens) {
  CoreWorld::Counts counts;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CoreWorld world(seed);
    ASSERT_EQ(world.Run(), "");
    counts.Add(world.counts());
  }
  // Each kind of fault must have occurred, or the worlds are blind to it.
  EXPECT_GT(counts.restarts, 40u);
  EXPECT_GT(counts.lost_records, 40u);
  EXPECT_GT(counts.snapshots, 20u);
  EXPECT_GT(counts.lost_workers, 20u);
  EXPECT_GT(counts.succeeded, 40u);
  EXPECT_GT(counts.repeats, 20u);
}

TEST(CoreSwarmTest, AWorldIsAFunctionOfItsSeed) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    CoreWorld one(seed), other(seed);
    EXPECT_EQ(one.Run(), other.Run());
    EXPECT_EQ(one.counts().records, other.counts().records);
    EXPECT_EQ(one.counts().lost_records, other.counts().lost_records);
  }
}

}  // namespace
}  // namespace mr::sim
