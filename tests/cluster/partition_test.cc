// A worker that the network cuts off from its master for longer than the lease, without either side's
// kernel being told: connections of before stay open and dumb for ever, new ones work again afterwards.

#include <gtest/gtest.h>
#include <signal.h>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/wire.h"

namespace mr::test {
namespace {

TEST(PartitionTest, AWorkerThatWasCutOffForLongerThanTheLeaseWorksAgainWithoutARestart) {
  Wire wire;
  // The wire's own port has no secret.
  Cluster cluster({.workers = 1,
                   .slots = 1,
                   .master_flags = {"--insecure"},
                   .worker_flags = {"--master", wire.address(), "--insecure"}});
  ASSERT_TRUE(cluster.StartMaster().ok());
  wire.LeadTo(cluster.master_port());
  ASSERT_TRUE(cluster.StartWorker(0).ok());
  ASSERT_TRUE(cluster.WaitForWorkers(1).ok()) << cluster.Logs();
  const std::string dir = cluster.directory();
  WriteWords(dir + "/in", 1000, 5);
  auto follower = cluster.MrctlInBackground({"submit", "stream", "--map", "sleep 2; cat", "--reduce", "sort", "--input",
                                             "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
                                            "follower");
  ASSERT_TRUE(follower.ok());
  const Instant limit = Now() + Seconds(20);
  while (cluster.Mrctl({"jobs"}).out.find("RUNNING") == std::string::npos && Now() < limit) {
  }
  wire.Cut();  // the attempt comes to its end, unheard
  const Status lost = cluster.WaitForWorkers(0);
  wire.Mend();
  ASSERT_TRUE(lost.ok()) << lost.ToString();
  const Status back = cluster.WaitForWorkers(1);
  ASSERT_TRUE(back.ok()) << back.ToString() << cluster.Logs();
  EXPECT_EQ(follower->Wait(Seconds(60)), 0) << cluster.Logs();
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")), SortedLines(*ReadFile(dir + "/in")));
  EXPECT_EQ(::kill(cluster.worker_pid(0), 0), 0);
}

}  // namespace
}  // namespace mr::test
