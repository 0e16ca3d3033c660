#include "master/host/granter.h"

#include <gtest/gtest.h>

#include "common/io/clock.h"

namespace mr::master {
namespace {

TEST(GranterTest, AGrantCanBeMadeBeforeItsWorkerHasRegistered) {
  Granter granter(secure::GrantKey::Make().value());
  const secure::Right right = secure::ReadsOutputs(JobId{7});
  EXPECT_EQ(granter.At(WorkerId{1}, right), "");
  const std::string early = granter.At("w1", right), other = granter.At("w2", right);
  const auto key = secure::GrantKey::FromBytes(granter.Registered(WorkerId{1}, "w1", "127.0.0.1:1").Reveal()).value();
  const secure::UnixTime now{static_cast<int64_t>(WallClockMs() / 1000)};
  EXPECT_TRUE(key.Check(right, early, now).ok());
  EXPECT_TRUE(key.Check(right, granter.At(WorkerId{1}, right), now).ok());
  EXPECT_FALSE(key.Check(right, other, now).ok());
}

}  // namespace
}  // namespace mr::master
