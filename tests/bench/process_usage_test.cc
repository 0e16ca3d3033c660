#include "tests/bench/process_usage.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <thread>
#include <vector>

namespace mr::bench {
namespace {

TEST(ProcessUsageTest, ReadsAStatLineWhateverTheProgramIsCalled) {
  const auto stat = ParseStat("17 (a) (b c) S 4 17 17 0 -1 4194304 9 8 7 6 100 20 3 4 20 0 1 0 5 6 7\n");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->name, "a) (b c");
  EXPECT_EQ(stat->parent, 4);
  EXPECT_EQ(stat->user_ticks, 103u);
  EXPECT_EQ(stat->system_ticks, 24u);
  for (const char* bad : {"", "17 a S 4", "17 (a) S 4 17"}) EXPECT_FALSE(ParseStat(bad).has_value()) << bad;
}

double OwnCpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec) + static_cast<double>(usage.ru_utime.tv_usec) / 1e6;
}
void Burn(double seconds) {
  while (OwnCpu() < seconds) {
  }
}

// A child waits for a child of its own. Both use CPU and memory.
TEST(ProcessUsageTest, CountsDescendantsThatLiveAndThoseThatHaveBeenWaitedFor) {
  int ready[2], go[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      Burn(0.2);
      _exit(0);
    }
    waitpid(grandchild, nullptr, 0);
    const std::vector<char> kept(64 << 20, 'x');
    char byte = kept[99];
    (void)!write(ready[1], &byte, 1);
    (void)!read(go[0], &byte, 1);
    Burn(0.1);
    _exit(0);
  }
  ProcessUsage usage({child});
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_GE(usage.Cpu().total(), 0.18) << "of the grandchild";
  EXPECT_LT(ProcessUsage({}).Cpu().total(), 0.01);
  usage.Sample();
  ASSERT_EQ(usage.peaks().size(), 1u);
  EXPECT_GE(usage.peaks().begin()->second, 64u << 20);
  usage.ResetPeaks();
  EXPECT_TRUE(usage.peaks().empty());
  ASSERT_EQ(write(go[1], &byte, 1), 1);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_GE(usage.Cpu().total(), 0.27) << "of the child, which nobody has waited for yet";
  waitpid(child, nullptr, 0);
  for (const int fd : {ready[0], ready[1], go[0], go[1]}) close(fd);
}

TEST(ProcessUsageTest, CountsThreadsByTheirName) {
  std::atomic<bool> burnt{false}, stop{false};
  std::thread thread([&] {
    pthread_setname_np(pthread_self(), "burner");
    const auto own = [] {
      timespec cpu{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
      return static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) / 1e9;
    };
    while (own() < .1) {
    }
    burnt = true;
    burnt.notify_one();
    stop.wait(false);
  });
  burnt.wait(false);
  const auto cpu = CpuByThread(getpid());
  ASSERT_TRUE(cpu.contains("burner"));
  EXPECT_GE(cpu.at("burner"), .08);
  stop = true;
  stop.notify_one();
  thread.join();
  EXPECT_FALSE(CpuByThread(getpid()).contains("burner"));
}

}  // namespace
}  // namespace mr::bench
