// Removal of control groups that a killed benchmark leaves.
#include "tests/bench/cpu_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/files.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

// Directories stand for groups: the kernel refuses to remove either with content.
TEST(CpuGroupTest, GroupsOfTheDeadAreRemovedAndNoOthers) {
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const test::TempDirectory root;
  const auto group = [&](pid_t maker, int n) {
    return root / ("paceline-" + std::to_string(maker) + "-" + std::to_string(n));
  };
  const std::string gone = group(dead, 0), busy = group(dead, 1), mine = group(::getpid(), 0),
                    other = root / "system.slice";
  for (const std::string& path : {gone, busy + "/held", mine, other}) ASSERT_TRUE(MakeDirectories(path).ok());
  EXPECT_EQ(RemoveStaleGroups(root.path()), 1);
  EXPECT_FALSE(PathExists(gone));
  for (const std::string& path : {busy, mine, other}) EXPECT_TRUE(PathExists(path)) << path;
  EXPECT_EQ(RemoveStaleGroups(root / "absent"), 0);
}

}  // namespace
}  // namespace mr::bench
