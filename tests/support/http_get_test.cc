#include "tests/support/http_get.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>

namespace mr::test {
namespace {

// FlippedWire ended the whole test by SIGPIPE when a daemon closed a connection at the same moment.
TEST(SendAllTest, AClosedPeerIsAnErrorAndNoSignal) {
  ::signal(SIGPIPE, SIG_DFL);  // it may be ignored by who runs the tests
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd here(ends[0]);
  UniqueFd there(ends[1]);
  EXPECT_TRUE(SendAll(here, "bytes"));
  there.reset();
  EXPECT_FALSE(SendAll(here, "bytes"));
}

}  // namespace
}  // namespace mr::test
