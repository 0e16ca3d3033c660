// The limit on how many replicas the readers of a stage may be assigned, by the edges of the stage.
#include "master/sched/policies/dolly/reads_clones.h"

#include <gtest/gtest.h>

namespace mr::sched {
namespace {

struct Edge {
  EdgeKind kind;
  uint32_t upstream_tasks;
};

// The last stage reads one stage by each edge; with no readers it is not planned, and each of these has `partitions`.
Job JobOf(const std::vector<Edge>& edges, uint32_t readers, uint32_t partitions = 1) {
  Job job;
  job.stages.resize(edges.size() + 1);
  job.graph.stages.resize(edges.size() + 1);
  const uint32_t last = static_cast<uint32_t>(edges.size());
  for (uint32_t s = 0; s < last; ++s) {
    job.stages[s].tasks.resize(edges[s].upstream_tasks);
    job.stages[s].partitions = partitions;
    job.stages[s].plan_state = PlanState::kPlanned;
    job.stages[s].readers = {last};
    job.graph.stages[last].inputs.push_back({true, edges[s].kind, s});
  }
  job.stages[last].tasks.resize(readers);
  if (readers > 0) job.stages[last].plan_state = PlanState::kPlanned;
  return job;
}

TEST(ReadsClonesTest, AllToAllCountsEachReaderOfEachOutput) {
  EXPECT_TRUE(MayBeTold(JobOf({{EdgeKind::kAllToAll, 2}}, 10'000), 1));
  EXPECT_FALSE(MayBeTold(JobOf({{EdgeKind::kAllToAll, 2}}, 10'001), 1));
  EXPECT_FALSE(MayBeTold(JobOf({{EdgeKind::kAllToAll, 150}}, 2'000), 1));
}

TEST(ReadsClonesTest, AJoinCountsItsLargeSideToo) {
  EXPECT_TRUE(MayBeTold(JobOf({{EdgeKind::kAllToAll, 10}}, 100), 1));
  EXPECT_FALSE(MayBeTold(JobOf({{EdgeKind::kAllToAll, 10}, {EdgeKind::kAllToAll, 10'000}}, 100), 2));
}

TEST(ReadsClonesTest, OneToOneAndManyToOneCountEachOutputOnce) {
  EXPECT_TRUE(MayBeTold(JobOf({{EdgeKind::kOneToOne, 1'000}}, 1'000), 1));
  EXPECT_TRUE(MayBeTold(JobOf({{EdgeKind::kManyToOne, 10'000}}, 100), 1));
}

TEST(ReadsClonesTest, AStageWithoutAPlanIsGuessedByPartitions) {
  EXPECT_TRUE(ReadersMayBeTold(JobOf({{EdgeKind::kAllToAll, 10}}, 0, 2'000), 0));
  EXPECT_FALSE(ReadersMayBeTold(JobOf({{EdgeKind::kAllToAll, 10}}, 0, 2'001), 0));
}

}  // namespace
}  // namespace mr::sched
