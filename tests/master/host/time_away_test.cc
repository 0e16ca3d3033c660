// The time for which no master ran counts for jobs.
#include <gtest/gtest.h>

#include "tests/master/host/host_fixture.h"

namespace mr::master {
namespace {

class TimeAwayTest : public test::HostFixture {
 protected:
  void RestartAfter(Duration away) {
    options_.wall_clock = [away] { return WallClockMs() + static_cast<uint64_t>(away.millis()); };
    Restart();
  }
  uint64_t ElapsedSeconds(JobId job) {
    uint64_t seconds = 0;
    On([&] {
      host_->clock().Stamp();
      const JobReader reader(host_->core(), host_->clock(), host_->inputs(), "fifo");
      seconds = reader.StatusOf(Job(job)).elapsed_us / 1'000'000;
    });
    return seconds;
  }
};

TEST_F(TimeAwayTest, AJobIsOlderByTheTimeForWhichNoMasterRan) {
  const auto job = Submit();
  ASSERT_TRUE(job.ok());
  ASSERT_NO_FATAL_FAILURE(RestartAfter(Seconds(1000)));
  EXPECT_GE(ElapsedSeconds(*job), 1000u);
  ASSERT_NO_FATAL_FAILURE(RestartAfter(Seconds(3000)));
  EXPECT_GE(ElapsedSeconds(*job), 3000u);
  EXPECT_LT(ElapsedSeconds(*job), 4000u) << "both are from its submission, and no time counts twice";
}

TEST_F(TimeAwayTest, TimeNeverGoesBackWhereTheWallClockDoes) {
  const auto job = Submit();
  ASSERT_TRUE(job.ok());
  ASSERT_NO_FATAL_FAILURE(RestartAfter(Seconds(1000)));
  const uint64_t before = ElapsedSeconds(*job);
  ASSERT_NO_FATAL_FAILURE(RestartAfter(Seconds(-5000)));
  EXPECT_GE(ElapsedSeconds(*job), before);
}

}  // namespace
}  // namespace mr::master
