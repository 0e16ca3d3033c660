// mrctl fs ends soon after Ctrl-C, SIGTERM and --timeout, with 130 or 124, and leaves nothing half done. A closed
// terminal ends mrctl, not the job that it follows.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

// A second is promised; a loaded machine gets more. Without the promise these commands last as long as their pipes.
constexpr Duration kSoon = Seconds(5);

class InterruptsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 2, .slots = 1});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    std::ofstream(Path("old")) << "old\n";
    std::ofstream(Path("large")) << std::string(3 << 20, 'x');
    ASSERT_EQ(::mkfifo(Path("fifo").c_str(), 0600), 0);
    ASSERT_EQ(cluster_->Mrctl({"fs", "put", Path("old"), "/old"}).exit, 0);
    ASSERT_EQ(cluster_->Mrctl({"fs", "put", Path("large"), "/large"}).exit, 0);
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  static Process Started(const std::vector<std::string>& args) {
    auto process = cluster_->MrctlInBackground(args, "run");
    EXPECT_TRUE(process.ok());
    return *std::move(process);
  }
  static std::string Err() { return ReadFile(Path("run.err")).value(); }
  static bool Until(const std::function<bool()>& condition) {
    for (const Instant end = Now() + Seconds(20); Now() < end;) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return condition();
  }
  // Opens the FIFO as soon as a command reads it. Its reader then waits for ever.
  static UniqueFd Writer() {
    UniqueFd fd;
    EXPECT_TRUE(Until([&] {
      fd.reset(::open(Path("fifo").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      return fd.valid();
    })) << "nobody reads it";
    return fd;
  }
  static bool Catches(pid_t pid, int signal) {
    const auto status = ReadFile("/proc/" + std::to_string(pid) + "/status");
    const size_t at = status.ok() ? status->find("SigCgt:") : std::string::npos;
    return at != std::string::npos && (std::stoull(status->substr(at + 7), nullptr, 16) >> (signal - 1) & 1) == 1;
  }

  static Cluster* cluster_;
};
Cluster* InterruptsTest::cluster_ = nullptr;

TEST_F(InterruptsTest, APutLeavesTheOldFile) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Process put = Started({"fs", "put", "--overwrite", Path("fifo"), "/old"});
    const UniqueFd writer = Writer();
    ASSERT_TRUE(WriteAll(writer.get(), "new\n").ok());
    put.Signal(signal);
    EXPECT_EQ(put.Wait(kSoon), 130);
    EXPECT_THAT(Err(), HasSubstr("interrupted before /old was written"));
    EXPECT_THAT(Err(), HasSubstr("older files stay"));
    EXPECT_EQ(cluster_->Mrctl({"fs", "cat", "/old"}).out, "old\n");
  }
}

TEST_F(InterruptsTest, AJobThatIsFollowedGoesOnWhenTheTerminalCloses) {
  Process submit =
      Started({"submit", "--name", "goes_on", "sleep", "--ms", "600000", "--tasks", "1", "--output", "/goes_on"});
  ASSERT_TRUE(Until([] {
    const auto text = ReadFile(Path("run.err"));  // not there before the child has opened it
    return text.ok() && text->find("RUNNING") != std::string::npos;
  })) << Err();
  submit.Signal(SIGHUP);
  EXPECT_EQ(submit.Wait(kSoon), 130);
  EXPECT_THAT(Err(), HasSubstr("goes on"));
  EXPECT_THAT(cluster_->Mrctl({"job", "show", "goes_on"}).out, HasSubstr("RUNNING"));
  EXPECT_EQ(cluster_->Mrctl({"kill", "goes_on"}).exit, 0);
}

TEST_F(InterruptsTest, APutEndsAtItsTimeoutAndMakesNoFile) {
  const Instant start = Now();
  Process put = Started({"--timeout", "400ms", "-o", "json", "fs", "put", Path("fifo"), "/new"});
  const UniqueFd writer = Writer();
  EXPECT_EQ(put.Wait(kSoon), 124);
  EXPECT_GE((Now() - start).millis(), 390);
  EXPECT_THAT(ReadFile(Path("run.out")).value(), HasSubstr("--timeout expired before /new was written"));
  EXPECT_EQ(cluster_->Mrctl({"fs", "stat", "/new"}).exit, 7);
}

TEST_F(InterruptsTest, StandardInputThatSaysNothingIsNotWaitedFor) {
  SpawnOptions options;
  options.stdin_path = Path("fifo");
  options.stderr_path = Path("run.err");
  const UniqueFd both(::open(Path("fifo").c_str(), O_RDWR | O_CLOEXEC));  // the child's open returns
  auto put = Process::Spawn(
      {BinaryDirectory() + "/mrctl", "--master", cluster_->master_address(), "fs", "put", "-", "/new"}, options);
  ASSERT_TRUE(put.ok());
  ASSERT_TRUE(Until([&] { return Catches(put->pid(), SIGINT); }));
  put->Signal(SIGINT);
  EXPECT_EQ(put->Wait(kSoon), 130);
  EXPECT_EQ(cluster_->Mrctl({"fs", "stat", "/new"}).exit, 7);
}

TEST_F(InterruptsTest, CopiesEndThoughNoWorkerAnswers) {
  for (const int i : {0, 1}) ::kill(cluster_->worker_pid(i), SIGSTOP);
  // The name of the incomplete file.
  const auto hidden = [](pid_t pid) { return Path(".copy.part-" + std::to_string(pid)); };
  std::ofstream(Path("copy")) << "old\n";
  Process get = Started({"fs", "get", "--overwrite", "/large", Path("copy")});
  EXPECT_TRUE(Until([&] { return PathExists(hidden(get.pid())); }));
  get.Signal(SIGINT);
  const pid_t pid = get.pid();
  EXPECT_EQ(get.Wait(kSoon), 130);
  EXPECT_THAT(Err(), HasSubstr("interrupted before " + Path("copy") + " was written"));
  EXPECT_FALSE(PathExists(hidden(pid)));
  EXPECT_EQ(ReadFile(Path("copy")).value(), "old\n");
  EXPECT_EQ(Started({"--timeout", "200ms", "fs", "cp", "--overwrite", "/large", "/old"}).Wait(kSoon), 124);
  EXPECT_EQ(Started({"--timeout", "200ms", "fs", "cat", "/large"}).Wait(kSoon), 124);
  for (const int i : {0, 1}) ::kill(cluster_->worker_pid(i), SIGCONT);
  EXPECT_EQ(cluster_->Mrctl({"fs", "cat", "/old"}).out, "old\n");
}

TEST_F(InterruptsTest, AReaderThatTakesNothingIsNotWaitedFor) {
  SpawnOptions options;
  options.stdout_path = Path("fifo");
  const UniqueFd both(::open(Path("fifo").c_str(), O_RDWR | O_CLOEXEC));
  for (const std::string& path : {std::string("/large"), "file://" + Path("large")}) {
    auto cat = Process::Spawn({BinaryDirectory() + "/mrctl", "--master", cluster_->master_address(), "fs", "cat", path},
                              options);
    ASSERT_TRUE(cat.ok());
    pollfd full{both.get(), POLLOUT, 0};
    ASSERT_TRUE(Until([&] { return Catches(cat->pid(), SIGINT) && ::poll(&full, 1, 0) == 0; })) << "the pipe has room";
    cat->Signal(SIGINT);
    EXPECT_EQ(cat->Wait(kSoon), 130) << path;
  }
}

TEST_F(InterruptsTest, BlocksThatCannotBeReadAreNoMatterOfTheMaster) {
  ASSERT_EQ(cluster_->Mrctl({"fs", "put", Path("large"), "/damaged"}).exit, 0);
  int damaged = 0;
  for (const int i : {0, 1}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cluster_->worker_data(i))) {
      if (!entry.is_regular_file() || entry.file_size() != 3 << 20) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(1000);
      file << "damage";
      ++damaged;
    }
  }
  ASSERT_GE(damaged, 2);
  const RunResult run = cluster_->Mrctl({"fs", "cat", "/damaged"});
  EXPECT_EQ(run.exit, 70) << run.err;
  EXPECT_THAT(run.err, HasSubstr("cannot be read"));
  EXPECT_EQ(cluster_->Mrctl({"fs", "get", "/damaged", Path("none")}).exit, 70);
  EXPECT_FALSE(PathExists(Path("none")));
}

}  // namespace
}  // namespace mr::test
