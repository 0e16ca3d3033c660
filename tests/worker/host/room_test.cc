// Rooms without a worker: their options, their filters, their rules about files. Each room is entered by a child
// process.
#include "worker/task/room.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "worker/task/environment.h"

namespace mr::task {
namespace {

using ::testing::ElementsAre;

// Runs it in a child, and returns its result, 0 to 255.
int InProcess(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int ErrnoOf(long result) { return result < 0 ? errno : 0; }
int OpenError(const std::string& path, int flags = O_RDONLY) { return ErrnoOf(open(path.c_str(), flags, 0600)); }

class RoomTest : public testing::Test {
 protected:
  RoomTest() {
    char path[] = "/tmp/mr_room_test.XXXXXX";
    directory_ = mkdtemp(path);
    for (const char* name : {"/given", "/other"}) {
      EXPECT_TRUE(MakeDirectories(directory_ + name).ok());
      const UniqueFd file = OpenFile(directory_ + name + "/file", O_WRONLY | O_CREAT).value();
      EXPECT_TRUE(WriteAll(file.get(), "bytes").ok());
    }
    task_.scratch_directory = directory_ + "/scratch";
  }
  ~RoomTest() override { EXPECT_TRUE(RemoveTree(directory_).ok()); }

  // Enters a room in a child, and returns the result of `body` there; 200: it could not enter.
  int InRoom(const RoomOptions& options, const std::function<int()>& body) {
    return InProcess([&] {
      Result<Room> room = Room::Prepare(options, "");
      if (!room.ok() || room->Begin() != 0 || !room->Enter(task_).ok()) return 200;
      return body();
    });
  }
  RoomOptions Tier(int tier) const { return {.tier = tier, .own_rights = false, .paths = {}}; }

  std::string directory_;
  WireTask task_;
};

TEST_F(RoomTest, OptionsTravelAsWords) {
  const RoomOptions options{.tier = 1, .own_rights = true, .paths = {{"/a b", false}, {"/c", true}}};
  EXPECT_THAT(options.ToWords(), ElementsAre("1", "own", "r:/a b", "w:/c"));
  const auto read = RoomOptions::FromWords(options.ToWords());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->ToWords(), options.ToWords());
  using Words = std::vector<std::string>;
  for (const Words& wrong : {Words{}, Words{"1"}, Words{"7", "own"}, Words{"x", "own"}, Words{"1", "own", "/a"},
                             Words{"1", "less", "r:relative"}}) {
    EXPECT_FALSE(RoomOptions::FromWords(wrong).ok());
  }
}

TEST_F(RoomTest, TheEnvironmentIsMadeFromAListOfNames) {
  const char* const all[] = {"PATH=/bin", "MR_TOKEN_FILE=/t", "MR_LABEL_A=b", "LC_ALL=C", "LD_PRELOAD=/x",
                             "PATHS=1",   "MR_WORKER_LIFE=1", "NOTHING",      nullptr};
  EXPECT_THAT(TaskEnvironment(all), ElementsAre("PATH=/bin", "MR_LABEL_A=b", "LC_ALL=C"));
}

TEST_F(RoomTest, AFilterThatDependsOnATaskIsAFewInstructions) {
  const auto base = SyscallFilter::Compile(FilterKind::kBase), sockets = SyscallFilter::Compile(FilterKind::kNoSockets);
  ASSERT_TRUE(base.ok() && sockets.ok());
  EXPECT_LE(sockets->instructions(), 12u);
  EXPECT_LE(base->instructions(), 400u);
}

TEST_F(RoomTest, SocketsDependOnTheTask) {
  const auto families = [] {
    const bool internet = socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EACCES;
    const bool local = socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EACCES;
    int ends[2];
    const bool pair = socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0;
    return internet * 1 + local * 2 + pair * 4;
  };
  EXPECT_EQ(InRoom(Tier(0), families), 4);
  task_.network = true;
  EXPECT_EQ(InRoom(Tier(0), families), 5);
}

TEST_F(RoomTest, ClonesOfOldStayPossibleAndNewNamespacesDoNot) {
  EXPECT_EQ(InRoom(Tier(0), [] { return InProcess([] { return 7; }); }), 7);
  EXPECT_EQ(InRoom(Tier(0), [] { return ErrnoOf(syscall(SYS_clone3, nullptr, 0)); }), ENOSYS);
  EXPECT_EQ(InRoom(Tier(0), [] { return ErrnoOf(syscall(SYS_unshare, 0x10000000)); }), EACCES);
}

TEST_F(RoomTest, ARoomHasNoCapabilitiesAndItsScratchIsItsHome) {
  EXPECT_EQ(InRoom(Tier(0),
                   [&] {
                     const auto status = ReadFile("/proc/self/status");
                     if (!status.ok() || status->find("CapEff:\t0000000000000000") == std::string::npos) return 1;
                     if (status->find("NoNewPrivs:\t1") == std::string::npos) return 2;
                     char here[4096];
                     if (task_.scratch_directory != getcwd(here, sizeof here)) return 3;
                     return task_.scratch_directory == getenv("HOME") ? 0 : 4;
                   }),
            0);
}

TEST_F(RoomTest, OwnRightsKeepFilesAndPlace) {
  RoomOptions own = Tier(0);
  own.own_rights = true;
  EXPECT_EQ(InRoom(own,
                   [&] {
                     char here[4096];
                     if (task_.scratch_directory == getcwd(here, sizeof here)) return 1;
                     if (socket(AF_INET, SOCK_STREAM, 0) >= 0) return 2;
                     return OpenError(directory_ + "/other/file");
                   }),
            0);
}

TEST_F(RoomTest, Tier1AllowsThePathsThatWereGivenAndNoOthers) {
  if (LandlockAbi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  RoomOptions options = Tier(1);
  options.paths = {{directory_ + "/given", false}};
  const std::string given = directory_ + "/given/file", other = directory_ + "/other/file";
  EXPECT_EQ(InRoom(options, [&] { return OpenError(given); }), 0);
  EXPECT_EQ(InRoom(options, [&] { return OpenError(given, O_RDWR); }), EACCES);
  EXPECT_EQ(InRoom(options, [&] { return OpenError(other); }), EACCES);
  EXPECT_EQ(InRoom(options, [&] { return OpenError("new", O_WRONLY | O_CREAT); }), 0);
  EXPECT_EQ(InRoom(options, [&] { return OpenError("/etc/shadow"); }), EACCES);
  EXPECT_EQ(InRoom(options, [&] { return OpenError(".", O_TMPFILE | O_RDWR); }), 0);
  options.paths[0].write = true;
  EXPECT_EQ(InRoom(options, [&] { return OpenError(given, O_RDWR); }), 0);
  task_.files_directory = directory_ + "/other";
  EXPECT_EQ(InRoom(options, [&] { return OpenError(other); }), 0);
}

TEST_F(RoomTest, Tier1KeepsSignalsInside) {
  constexpr int kSignalAbi = 6;
  if (LandlockAbi() < kSignalAbi) GTEST_SKIP() << "this kernel's Landlock does not scope signals";
  EXPECT_EQ(InRoom(Tier(1), [] { return ErrnoOf(kill(getppid(), 0)); }), EPERM);
  EXPECT_EQ(InRoom(Tier(1), [] { return InProcess([] { return ErrnoOf(kill(getppid(), 0)); }); }), 0);
}

TEST_F(RoomTest, TheReportSaysWhyTheTierIsNoHigher) {
  EXPECT_EQ(InProcess([&] {
              RoomOptions own = Tier(kBestTier);
              own.own_rights = true;
              const auto room = Room::Prepare(own, "");
              return room.ok() && room->tier() == 0 && !room->why().empty() ? 0 : 1;
            }),
            0);
  EXPECT_EQ(InProcess([&] {
              const auto room = Room::Prepare(Tier(kBestTier), "");
              return room.ok() && (room->tier() == 1) == (LandlockAbi() > 0) ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace mr::task
