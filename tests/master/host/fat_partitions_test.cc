#include "master/core/fat_partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "master/core/partition_sizes.h"

namespace mr::master {
namespace {

using testing::ElementsAre;

Piece Whole(uint32_t partition, uint64_t bytes) { return {partition, bytes, false, 0, 0, 0}; }

TEST(FatPartitionsTest, LeavesEvenPartitionsAsTheyAre) {
  const SizedInput even{0, true, {{100, 110, 90}, {100, 90, 110}}};
  EXPECT_THAT(CutFatPartitions({even}, 3, 50, 100), ElementsAre(Whole(0, 200), Whole(1, 200), Whole(2, 200)));
}

TEST(FatPartitionsTest, SharesAFatPartitionByRangesOfUpstreamTasks) {
  const SizedInput left{1, true, {{10, 300, 10}, {10, 300, 10}, {10, 300, 10}, {10, 300, 10}}};
  const SizedInput right{2, false, {{5, 50, 5}}};
  const auto pieces = CutFatPartitions({left, right}, 3, 600, 100);
  EXPECT_THAT(pieces, ElementsAre(Whole(0, 45), Piece{1, 350, true, 1, 0, 1}, Piece{1, 350, true, 1, 1, 2},
                                  Piece{1, 350, true, 1, 2, 3}, Piece{1, 350, true, 1, 3, 4}, Whole(2, 45)));
}

TEST(FatPartitionsTest, ReadsTheOtherInputsAtMostAsOftenAsItPays) {
  const SizedInput left{0, true, {{0, 300, 1}, {0, 300, 1}, {0, 300, 1}, {0, 300, 1}}};
  const SizedInput right{1, false, {{0, 600, 1}}};
  const auto pieces = CutFatPartitions({left, right}, 3, 100, 100);
  EXPECT_THAT(pieces,
              ElementsAre(Whole(0, 0), Piece{1, 1200, true, 0, 0, 2}, Piece{1, 1200, true, 0, 2, 4}, Whole(2, 5)));
}

TEST(FatPartitionsTest, CutsTheInputThatHasMoreOfThosePermitted) {
  const SizedInput left{0, true, {{1, 400, 1}, {1, 400, 1}}}, right{1, true, {{1, 900, 1}, {1, 900, 1}}};
  auto pieces = CutFatPartitions({left, right}, 3, 100, 100);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[1], (Piece{1, 1700, true, 1, 0, 1}));
  SizedInput whole = right;
  whole.splits = false;
  pieces = CutFatPartitions({left, whole}, 3, 100, 100);
  EXPECT_EQ(pieces.size(), 3u) << "a piece would read more anew than it has of its own";
  EXPECT_FALSE(pieces[1].cut);
}

TEST(FatPartitionsTest, CutsNothingThatOneTaskWroteAndNeverMoreThanMost) {
  EXPECT_EQ(CutFatPartitions({{0, true, {{1, 1000, 1}}}}, 3, 100, 100).size(), 3u);
  const SizedInput left{0, true, {{1, 400, 1}, {1, 400, 1}, {1, 400, 1}}};
  EXPECT_EQ(CutFatPartitions({left}, 3, 100, 5).size(), 5u);
  EXPECT_EQ(CutFatPartitions({left}, 3, 100, 4).size(), 3u);
  EXPECT_TRUE(CutFatPartitions({}, 0, 100, 4).empty());
}

TEST(FatPartitionsTest, EachByteOfACutPartitionIsOneTasks) {
  SizedInput left{0, true, {}};
  for (uint32_t t = 0; t < 50; ++t) left.bytes.push_back({1, t * 37 % 101, 2});
  uint32_t next = 0;
  for (const Piece& piece : CutFatPartitions({left}, 3, 200, 1000)) {
    if (piece.partition != 1) continue;
    ASSERT_TRUE(piece.cut);
    EXPECT_EQ(piece.task_begin, next);
    EXPECT_GT(piece.task_end, piece.task_begin);
    next = piece.task_end;
  }
  EXPECT_EQ(next, 50u);
}

TEST(PartitionSizesTest, AreThoseOfTheTableOrOfTheReportOrUnknown) {
  JobView job;
  job.id = {1, 1};
  job.stages.resize(2);
  job.stages[0].tasks.resize(1);
  FinishedExtra extra;
  for (uint64_t bytes : {7, 8, 9}) extra.rows.push_back({1, bytes, {}, 1});
  job.stages[0].tasks[0].output = StoredOutput(extra);
  job.stages[1].tasks.resize(2);
  PartitionSizes sizes;
  EXPECT_THAT(sizes.Of(job, 0, 1, 3), ElementsAre(ElementsAre(8, 9)));
  EXPECT_TRUE(sizes.Of(job, 0, 1, 4).empty());
  sizes.Note({job.id, 1, 0}, {1, 2, 3});
  EXPECT_TRUE(sizes.Of(job, 1, 0, 2).empty()) << "of one task nothing is known";
  sizes.Note({job.id, 1, 1}, {4, 5, 6});
  EXPECT_THAT(sizes.Of(job, 1, 0, 2), ElementsAre(ElementsAre(1024, 2048), ElementsAre(4096, 5120)));
  sizes.Note({job.id, 1, 1}, std::vector<uint32_t>(kMostPartitionSizes, 1));
  EXPECT_TRUE(sizes.Of(job, 1, 0, 2).empty()) << "more than are kept";
  sizes.Forget(job.id);
  EXPECT_TRUE(sizes.Of(job, 1, 0, 2).empty());
}

TEST(PartitionSizesTest, OfATaskThatCommitsAgainCountOnceAgainstTheMost) {
  JobView job;
  job.id = {1, 1};
  job.stages.resize(1);
  job.stages[0].tasks.resize(2);
  PartitionSizes sizes;
  sizes.Note({job.id, 0, 0}, {1, 2});
  for (int commits = 0; commits < 3; ++commits) {
    sizes.Note({job.id, 0, 1}, std::vector<uint32_t>(kMostPartitionSizes - 2, 4));
    EXPECT_THAT(sizes.Of(job, 0, 0, 2), ElementsAre(ElementsAre(1024, 2048), ElementsAre(4096, 4096))) << commits;
  }
}

}  // namespace
}  // namespace mr::master
