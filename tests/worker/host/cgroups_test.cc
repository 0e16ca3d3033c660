// Control groups of tasks: where a process finds its own, both versions on trees of plain files, and real ones where
// this machine lets the test make them.
#include "worker/host/cgroups.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "common/io/clock.h"
#include "tests/support/temp_directory.h"

namespace mr::worker {
namespace {

using ::testing::HasSubstr;

constexpr char kMounts1[] =
    "30 24 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "33 30 0:29 /docker/7 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup rw\n";
constexpr char kOwn1[] = "9:cpu,cpuacct:/\n4:memory:/a/b\n8:pids:/docker/7/c\n0::/\n";

TEST(CgroupPlaceTest, FindsOwnGroupsOfVersion1) {
  const auto own = FindCgroups(kMounts1, kOwn1, "");
  ASSERT_TRUE(own.ok());
  EXPECT_FALSE(own->unified);
  EXPECT_EQ(own->memory, "/sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(own->pids, "/sys/fs/cgroup/pids/c");  // below the mount's root
  EXPECT_EQ(own->cpu, "/sys/fs/cgroup/cpu");
  EXPECT_EQ(FindCgroups(kMounts1, kOwn1, "/tasks/")->memory, "/sys/fs/cgroup/memory/tasks");
}

TEST(CgroupPlaceTest, FindsOwnGroupOfVersion2) {
  const auto own = FindCgroups("26 24 0:24 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/system.slice/w\n", "");
  ASSERT_TRUE(own.ok());
  EXPECT_TRUE(own->unified);
  EXPECT_EQ(own->memory, "/sys/fs/cgroup/system.slice/w");
  EXPECT_EQ(own->pids, own->memory);
}

TEST(CgroupPlaceTest, NamesTheControllerThatIsMissing) {
  EXPECT_THAT(FindCgroups("", kOwn1, "").status().message(), HasSubstr("memory and pids"));
  EXPECT_THAT(FindCgroups("32 30 0:28 / /m rw - cgroup cgroup rw,memory\n", kOwn1, "").status().message(),
              HasSubstr("for pids"));
  EXPECT_FALSE(FindCgroups("broken\n32 30 0:28 / /m rw -\n", kOwn1, "").ok());
}

// A directory with files in place of the kernel's.
class FakeTree {
 public:
  void Add(const std::string& group, std::initializer_list<const char*> files) {
    EXPECT_TRUE(MakeDirectories(directory_ / group).ok());
    for (const char* file : files) Set(group + "/" + file, "");
  }
  void Set(const std::string& file, const std::string& text) {
    EXPECT_TRUE(WriteFileDurably(directory_ / file, text).ok());
  }
  std::string Get(const std::string& file) const { return ReadFile(directory_ / file).value(); }
  std::string path() const { return directory_.path(); }

 private:
  test::TempDirectory directory_;
};

constexpr std::initializer_list<const char*> kFiles2 = {
    "cgroup.procs", "cgroup.subtree_control", "cgroup.kill",      "memory.max", "memory.events",
    "memory.peak",  "memory.swap.max",        "memory.oom.group", "pids.max",   "cpu.weight"};

TEST(CgroupsTest, Version2LimitsCountsAndKills) {
  FakeTree tree;
  for (const char* group : {".", "paceline-1", "paceline-1/slot-0", "paceline-1/slot-1"}) tree.Add(group, kFiles2);
  const Cgroups::Options options{{true, tree.path(), tree.path(), tree.path()}, "paceline-", "paceline-1", 2, 1 << 30};
  tree.Set("cgroup.controllers", "cpuset cpu memory\n");
  EXPECT_THAT(Cgroups::Make(options).status().message(), HasSubstr("controller pids"));
  tree.Set("cgroup.controllers", "cpuset cpu io memory pids\n");
  auto groups = Cgroups::Make(options);
  ASSERT_TRUE(groups.ok()) << groups.status().ToString();
  EXPECT_EQ(tree.Get("cgroup.subtree_control"), "+memory +pids +cpu");
  EXPECT_EQ(tree.Get("paceline-1/cgroup.subtree_control"), "+memory +pids +cpu");
  EXPECT_EQ(tree.Get("paceline-1/memory.max"), std::to_string(1 << 30));
  EXPECT_EQ(tree.Get("paceline-1/cpu.weight"), "200");
  EXPECT_EQ(tree.Get("paceline-1/slot-1/memory.oom.group"), "1");

  tree.Set("paceline-1/slot-0/memory.events", "low 0\noom 5\noom_kill 3\noom_group_kill 1\n");
  const auto leaf = (*groups)->Take({1000, 64});
  ASSERT_TRUE(leaf.ok()) << leaf.status().ToString();
  EXPECT_EQ((*leaf)->joins().size(), 1u);
  EXPECT_EQ(tree.Get("paceline-1/slot-0/memory.max"), "1000");
  EXPECT_EQ(tree.Get("paceline-1/slot-0/pids.max"), "64");
  EXPECT_EQ((*leaf)->OomKills(), 0u);  // those were of another attempt
  tree.Set("paceline-1/slot-0/memory.events", "low 0\noom 6\noom_kill 4\noom_group_kill 1\n");
  tree.Set("paceline-1/slot-0/memory.peak", "990\n");
  EXPECT_EQ((*leaf)->OomKills(), 1u);
  EXPECT_EQ((*leaf)->PeakBytes(), 990u);
  EXPECT_TRUE((*leaf)->Kill());
  tree.Set("paceline-1/slot-0/cgroup.procs", "2147480000\n");  // no such process
  EXPECT_FALSE((*leaf)->Kill());
  EXPECT_EQ(tree.Get("paceline-1/slot-0/cgroup.kill"), "1");
  // A leaf that is not empty is not given to another attempt.
  (*groups)->GiveBack(*leaf);
  const auto other = (*groups)->Take({});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(*other, *leaf);
  EXPECT_EQ(tree.Get("paceline-1/slot-1/memory.max"), "max");
  tree.Set("paceline-1/slot-0/cgroup.procs", "");
}

TEST(CgroupsTest, Version2NeedsAGroupWithoutOtherProcesses) {
  FakeTree tree;
  tree.Add(".", {"cgroup.procs"});  // without cgroup.subtree_control: the kernel refuses it
  tree.Set("cgroup.controllers", "cpu memory pids\n");
  tree.Set("cgroup.procs", std::to_string(getpid()) + "\n2147480000\n");
  const Cgroups::Options options{{true, tree.path(), tree.path(), tree.path()}, "paceline-", "paceline-1", 1, 0};
  EXPECT_THAT(Cgroups::Make(options).status().message(), HasSubstr("Delegate=yes"));
  // Alone there, it moves.
  tree.Set("cgroup.procs", std::to_string(getpid()) + "\n");
  tree.Add("paceline-daemon", {"cgroup.procs"});
  EXPECT_FALSE(Cgroups::Make(options).ok());
  EXPECT_EQ(tree.Get("paceline-daemon/cgroup.procs"), std::to_string(getpid()));
}

// Real groups of version 1 or 2, below this process's own; removed with the object.
class RealCgroupsTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto place = FindCgroups(ReadFile("/proc/self/mountinfo").value(), ReadFile("/proc/self/cgroup").value(), "");
    if (!place.ok()) GTEST_SKIP() << place.status().message();
    if (place->unified) GTEST_SKIP() << "the test does not move its own process to another group";
    options_ = {*place, "paceline-test-" + std::to_string(getpid()), "", 1, 0};
    options_.name = options_.family + "-a";
    auto made = Cgroups::Make(options_);
    if (!made.ok()) GTEST_SKIP() << "no right to make control groups: " << made.status().message();
    groups_ = *std::move(made);
  }
  // Runs it in a child in the leaf, which ends with its result.
  static pid_t StartIn(const CgroupLeaf& leaf, const std::function<int()>& body) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    for (const int fd : leaf.joins()) {
      if (write(fd, "0", 1) != 1) _exit(99);
    }
    _exit(body());
  }
  static int StatusOf(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
  Cgroups::Options options_;
  std::unique_ptr<Cgroups> groups_;
};

TEST_F(RealCgroupsTest, AnAttemptThatUsesTooMuchMemoryIsKilledAndCounted) {
  CgroupLeaf* const leaf = groups_->Take({32 << 20, 0}).value();
  const int status = StatusOf(StartIn(*leaf, [] {
    constexpr size_t kBytes = 256 << 20;
    char* const bytes = static_cast<char*>(malloc(kBytes));
    memset(bytes, 1, kBytes);
    return bytes[kBytes / 2] == 1 ? 0 : 1;
  }));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(leaf->OomKills(), 1u);
  EXPECT_GE(leaf->PeakBytes(), 31u << 20);
  groups_->GiveBack(leaf);
  EXPECT_EQ(groups_->Take({32 << 20, 0}).value(), leaf);
  EXPECT_EQ(leaf->OomKills(), 0u);
  EXPECT_LT(leaf->PeakBytes(), 16u << 20);
}

TEST_F(RealCgroupsTest, AForkBombIsLimited) {
  CgroupLeaf* const leaf = groups_->Take({0, 8}).value();
  const int status = StatusOf(StartIn(*leaf, [] {
    int made = 0;
    for (; made < 100; ++made) {
      const pid_t pid = fork();
      if (pid == 0) {
        pause();
        _exit(0);
      }
      if (pid < 0) return made;
    }
    return made;
  }));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(leaf->Empty());
  for (const Instant end = Now() + Seconds(10); !leaf->Kill() && Now() < end;) usleep(1000);
  EXPECT_TRUE(leaf->Empty());
}

TEST_F(RealCgroupsTest, ALaterLifeEndsWhatAnEarlierOneLeft) {
  CgroupLeaf* const leaf = groups_->Take({}).value();
  const pid_t pid = StartIn(*leaf, [] {
    setsid();
    pause();
    return 0;
  });
  for (const Instant end = Now() + Seconds(10); leaf->Empty() && Now() < end;) usleep(1000);
  Cgroups::Options later = options_;
  later.name = later.family + "-b";
  auto next = Cgroups::Make(later);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ((*next)->EndLeftovers(), 1u);
  EXPECT_EQ(StatusOf(pid), SIGKILL);
  EXPECT_FALSE(PathExists(options_.place.pids + "/" + options_.name));
  next->reset();
  EXPECT_FALSE(PathExists(options_.place.pids + "/" + later.name));
}

}  // namespace
}  // namespace mr::worker
