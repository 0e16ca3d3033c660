// The helper's part of the lease, without a daemon that would clean up behind it.
#include "worker/task/lease.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "worker/host/processes.h"

namespace mr::task {
namespace {

TEST(LeaseTest, WhatALeasedChildHasStartedEndsWithIt) {
  const auto clock = worker::LeaseClock::Make();
  ASSERT_TRUE(clock.ok());
  Lease lease((*clock)->fd());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t below = fork();
    if (below == 0) setsid();  // in no group of its parent's
    if (below != 0) (void)!write(ends[1], &below, sizeof below);
    for (;;) pause();
  }
  pid_t below = 0;
  ASSERT_EQ(read(ends[0], &below, sizeof below), static_cast<ssize_t>(sizeof below));
  // Its end is seen here, whoever is its parent by then.
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, below, 0)));
  ASSERT_TRUE(pidfd.valid());
  lease.Add(child, UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, child, 0))));
  EXPECT_EQ(kill(below, 0), 0) << "no lease was given yet";
  (*clock)->RenewUntil(Instant{Now().ns - 1});
  lease.Enforce();
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_TRUE((*clock)->TakeEnded(child));
  pollfd ended{pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 0), 1) << "what it started goes on";
  (void)syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace mr::task
