#include "jobs/mrctl/no_master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(NoMasterTest, ARefusedConnectionToAnotherMachineAsksAboutLoopback) {
  const Failure failure = ToFailure(NoMaster("master1:7070", Unavailable("connect(): Connection refused")));
  EXPECT_EQ(failure.exit, kExitNoMaster);
  EXPECT_THAT(failure.hint, HasSubstr("does it listen on loopback only"));
  EXPECT_THAT(failure.hint, HasSubstr("--bind 0.0.0.0 --advertise HOST"));
  EXPECT_THAT(failure.hint, HasSubstr("(now master1:7070)"));
}

TEST(NoMasterTest, OnThisMachineOrWithoutAnAnswerItDoesNot) {
  for (const char* here : {"127.0.0.1:7070", "localhost:7070", "[::1]:7070", "unix:/run/m"}) {
    const Failure failure = ToFailure(NoMaster(here, Unavailable("connect(): Connection refused")));
    EXPECT_THAT(failure.hint, Not(HasSubstr("loopback"))) << here;
    EXPECT_THAT(failure.hint, HasSubstr("start one")) << here;
  }
  EXPECT_THAT(ToFailure(NoMaster("master1:7070", Unavailable("no answer in 5 s"))).hint, Not(HasSubstr("loopback")));
}

TEST(NoMasterTest, AMasterOfAnotherReleaseIsNotToBeStarted) {
  const Failure failure = ToFailure(NoMaster("h:1", Unavailable("h:1 speaks protocol 9")));
  EXPECT_THAT(failure.hint, HasSubstr("use the mrctl of that master's release"));
  EXPECT_THAT(failure.hint, Not(HasSubstr("start one")));
}

}  // namespace
}  // namespace mr::ctl
