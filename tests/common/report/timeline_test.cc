#include "common/report/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/common/report/run_builder.h"

namespace mr::report {
namespace {

using ::testing::ElementsAre;

TEST(TimelineTest, AttemptsThatOverlapStandInLanesOfTheirOwn) {
  RunBuilder b;
  b.Workers(2, 2).Stage("map", {}).Elapsed(100);
  b.Add({.task = 0, .worker = "w10", .launched = 0, .ended = 40});
  b.Add({.task = 1, .worker = "w2", .launched = 10, .ended = 50});
  b.Add({.task = 2, .worker = "w2", .launched = 20, .ended = 30});
  b.Add({.task = 3, .worker = "w2", .launched = 30, .ended = 90});
  const Timeline timeline(b.run());
  std::vector<std::pair<std::string, uint32_t>> lanes;
  for (const Interval& at : timeline.attempts()) lanes.emplace_back(timeline.workers()[at.worker].id, at.lane);
  EXPECT_THAT(lanes, ElementsAre(std::pair("w10", 0u), std::pair("w2", 0u), std::pair("w2", 1u), std::pair("w2", 1u)));
  ASSERT_EQ(timeline.workers().size(), 2u);
  EXPECT_EQ(timeline.workers()[0].id, "w2") << "by number";
  EXPECT_EQ(timeline.workers()[0].lanes, 2u);
  EXPECT_EQ(timeline.workers()[1].status, nullptr) << "the master knows w1 and w2";
  EXPECT_EQ(timeline.slots(), 4u);
}

// The first reduce was launched early, the second one when its input was there.
TEST(TimelineTest, RunTimesLeaveOutTheWaitForOutputs) {
  RunBuilder b;
  b.Workers(1, 3).Stage("map", {}).Stage("sum", {0}).Elapsed(100);
  b.Add({.stage = 0, .launched = 1, .started = 2, .ended = 50});
  b.Add({.stage = 1, .task = 0, .launched = 10, .started = 11, .inputs = 60, .ended = 80});
  b.Add({.stage = 1, .task = 1, .launched = 55, .started = 56, .inputs = 65, .ended = 95});
  EXPECT_THAT(Timeline(b.run()).RunTimes(1), ElementsAre(30'000u, 40'000u));
}

TEST(TimelineTest, AttemptsOfOtherJobsAndStagesAreLeftOut) {
  RunBuilder b;
  b.Workers(1, 2).Stage("map", {}).Elapsed(100);
  b.Add({.task = 0, .launched = 1, .ended = 50});
  for (const char* name : {"attempt_1_0002_0_m_000000_1", "attempt_1_0001_7_m_000000_1", "nonsense", ""}) {
    b.run().attempts.push_back(b.run().attempts.front());
    b.run().attempts.back().id = name;
  }
  EXPECT_EQ(Timeline(b.run()).attempts().size(), 1u);
}

}  // namespace
}  // namespace mr::report
