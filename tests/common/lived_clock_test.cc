#include "common/base/lived_clock.h"

#include <gtest/gtest.h>

namespace mr {
namespace {

constexpr Instant At(int64_t ms) { return Instant{} + Millis(1'000'000 + ms); }

TEST(LivedClockTest, GoesWithTheClockWhileItIsReadOften) {
  LivedClock clock(At(0), Millis(250), Seconds(1));
  for (int64_t ms = 0; ms < 60'000; ms += 250) {
    EXPECT_EQ(clock.Read(At(ms)), At(ms));
    EXPECT_EQ(clock.last_gap().ns, 0);
  }
}

TEST(LivedClockTest, OfAStretchWithoutAReadOnlyOnePeriodWasLived) {
  LivedClock clock(At(0), Millis(250), Seconds(1));
  EXPECT_EQ(clock.Read(At(20'000)), At(250));
  EXPECT_EQ(clock.last_gap(), Millis(19'750));
  EXPECT_EQ(clock.Read(At(20'100)), At(350));
  EXPECT_EQ(clock.last_gap().ns, 0) << "told once";
  EXPECT_EQ(clock.Read(At(30'100)), At(600));
  EXPECT_EQ(clock.stood_still(), Millis(29'500));
}

TEST(LivedClockTest, AGapOfTheLongestLengthWasLivedAndItNeverGoesBack) {
  LivedClock clock(At(0), Millis(250), Seconds(1));
  EXPECT_EQ(clock.Read(At(1'000)), At(1'000));
  EXPECT_EQ(clock.Read(At(900)), At(1'000)) << "a clock of another thread, read a moment before";
  EXPECT_EQ(clock.Read(At(2'000)), At(2'000));
}

}  // namespace
}  // namespace mr
