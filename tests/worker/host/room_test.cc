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
#include <cstdio>
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
      if (!room.ok() || !room->Begin(0, false).ok() || !room->Enter(task_).ok()) return 200;
      return body();
    });
  }
  RoomOptions Tier(int tier) const { return {.tier = tier, .own_rights = false, .paths = {}}; }

  std::string directory_;
  WireTask task_;
};

TEST_F(RoomTest, OptionsTravelAsWords) {
  RoomOptions options{.tier = 1, .own_rights = true, .paths = {{"/a b", false}, {"/c", true}}};
  EXPECT_THAT(options.ToWords(), ElementsAre("1", "own", "r:/a b", "w:/c"));
  options.trial_user = 200000;
  options.scratch = "/s t";
  EXPECT_THAT(options.ToWords(), ElementsAre("1", "own", "u:200000", "s:/s t", "r:/a b", "w:/c"));
  const auto read = RoomOptions::FromWords(options.ToWords());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->ToWords(), options.ToWords());
  using Words = std::vector<std::string>;
  for (const Words& wrong : {Words{}, Words{"1"}, Words{"7", "own"}, Words{"x", "own"}, Words{"1", "own", "/a"},
                             Words{"1", "less", "r:relative"}, Words{"2", "less", "u:x"}, Words{"2", "less", "s:x"}}) {
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

TEST_F(RoomTest, TheTranslatorOfStacksReadsFilesAndDoesNothingElse) {
  const std::string file = directory_ + "/file";
  ASSERT_TRUE(UniqueFd(open(file.c_str(), O_WRONLY | O_CREAT, 0600)).valid());
  EXPECT_EQ(InProcess([&] {
              const auto filter = SyscallFilter::Compile(FilterKind::kReadFiles);
              if (!filter.ok() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || filter->Install() != 0) return 1;
              if (open(file.c_str(), O_RDONLY) < 0) return 2;
              if (ErrnoOf(open(file.c_str(), O_WRONLY)) != EACCES) return 3;
              if (ErrnoOf(open((file + "2").c_str(), O_RDONLY | O_CREAT, 0600)) != EACCES) return 4;
              if (ErrnoOf(unlink(file.c_str())) != EACCES) return 5;
              if (ErrnoOf(socket(AF_UNIX, SOCK_STREAM, 0)) != EACCES) return 6;
              if (ErrnoOf(fork()) != EACCES) return 7;
              if (ErrnoOf(kill(getppid(), 0)) != EACCES) return 8;
              return ErrnoOf(execl("/bin/true", "true", nullptr)) == EACCES ? 0 : 9;
            }),
            0);
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
              return room.ok() && (room->tier() == 1) == (LandlockAbi() > 0) && !room->why().empty() ? 0 : 1;
            }),
            0);
}

// Rooms of tier 2 and above: this test runs as root, or skips.
class UserRoomTest : public RoomTest {
 protected:
  static constexpr uid_t kAnn = 2000001, kBob = 2000002;  // nobody's
  void SetUp() override {
    if (const std::string missing = RoomUser::MissingCapability(); !missing.empty()) {
      GTEST_SKIP() << "this process lacks " << missing;
    }
    if (LandlockAbi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    for (const char* name : {"/scratch", "/lib", "/links"}) ASSERT_TRUE(MakeDirectories(directory_ + name).ok());
    ASSERT_EQ(chmod(directory_.c_str(), 0711), 0);
    ASSERT_EQ(chmod((directory_ + "/lib").c_str(), 0700), 0);
    for (const char* name : {"/lib/a.so", "/lib/words"}) {
      const UniqueFd file = OpenFile(directory_ + name, O_WRONLY | O_CREAT, 0600).value();
      ASSERT_TRUE(WriteAll(file.get(), "bytes").ok());
    }
    ASSERT_EQ(symlink((directory_ + "/lib/words").c_str(), (directory_ + "/links/words.txt").c_str()), 0);
    task_.scratch_directory = directory_ + "/scratch/job";
    task_.library_path = directory_ + "/lib/a.so";
    task_.files_directory = directory_ + "/links";
  }
  // Enters a room of this tier as the user, and returns the result of `body` there; 200: it could not enter, 201: no
  // such tier here.
  int InRoomOf(int tier, uid_t user, const std::function<int()>& body, bool network = false) {
    return InProcess([&] {
      RoomOptions options = Tier(tier);
      options.trial_user = kAnn;
      options.scratch = directory_ + "/scratch";
      Result<Room> room = Room::Prepare(options, "");
      if (!room.ok()) return 200;
      if (room->tier() != tier) return 201;
      const Result<Cloned> child = room->Clone(0);
      if (!child.ok()) return 200;
      if (child->pid == 0) {
        if (!room->Begin(user, network).ok() || !room->MakePlace(task_).ok()) _exit(200);
        room->MoveInto(&task_);
        _exit(room->Enter(task_).ok() ? body() : 200);
      }
      int status = 0;
      waitpid(child->pid, &status, 0);
      if (child->keeper != 0) waitpid(child->keeper, nullptr, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    });
  }
  // Runs it with the user of another owner, and no room.
  int AsUser(uid_t user, const std::function<int()>& body) {
    return InProcess([&] { return RoomUser(user, "").Become().ok() ? body() : 200; });
  }
  static bool Has(const std::string& text, const std::string& line) { return text.find(line) != std::string::npos; }
};

TEST_F(UserRoomTest, ATaskIsItsOwnersUserAndNothingMore) {
  for (const int tier : {2, 3}) {
    const int result = InRoomOf(tier, kBob, [&] {
      const std::string status = ReadFile("/proc/self/status").value();
      const std::string ids = "\t2000002\t2000002\t2000002\t2000002\n";
      if (!Has(status, "Uid:" + ids) || !Has(status, "Gid:" + ids)) return 1;
      if (!Has(status, "Groups:\t \n")) return 2;
      for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
        if (!Has(status, std::string(set) + ":\t0000000000000000\n")) return 3;
      }
      if (!Has(status, "NoNewPrivs:\t1\n") || !Has(status, "Seccomp:\t2\n")) return 4;
      if (setuid(0) == 0 || setgid(0) == 0 || setuid(kAnn) == 0) return 5;
      char here[4096];
      if (directory_ + "/scratch/job/tmp" != getcwd(here, sizeof here)) return 6;
      if (std::string(here) != getenv("HOME")) return 7;
      if (OpenError("own", O_WRONLY | O_CREAT) != 0 || chmod("own", 0640) != 0) return 8;
      if (chmod("own", S_ISUID | 0755) == 0 || errno != EACCES) return 9;
      if (OpenError(".", O_TMPFILE | O_RDWR) != 0) return 10;
      return 0;
    });
    if (result == 201) {
      std::printf("tier %d is not available here\n", tier);
      continue;
    }
    EXPECT_EQ(result, 0) << "tier " << tier;
  }
}

TEST_F(UserRoomTest, ATaskReadsItsLibraryAndSideFilesThroughItsJobsPlace) {
  EXPECT_EQ(InRoomOf(2, kAnn,
                     [&] {
                       if (OpenError(task_.library_path) != 0 || OpenError(task_.files_directory + "/words.txt") != 0) {
                         return 1;
                       }
                       if (OpenError(directory_ + "/lib/a.so") != EACCES) return 2;
                       return OpenError(task_.library_path, O_WRONLY) == EACCES ? 0 : 3;
                     }),
            0);
  // A second attempt of the job.
  EXPECT_EQ(InRoomOf(2, kAnn, [&] { return OpenError(task_.library_path); }), 0);
}

TEST_F(UserRoomTest, ModesAloneCloseAJobsFilesToOtherOwners) {
  ASSERT_EQ(InRoomOf(2, kAnn, [&] { return OpenError("own", O_WRONLY | O_CREAT); }), 0);
  const std::string place = directory_ + "/scratch/job";
  for (const char* name : {"/tmp/own", "/lib/a.so", "/files/words.txt"}) {
    EXPECT_EQ(AsUser(kAnn, [&] { return OpenError(place + name); }), 0) << name;
    EXPECT_EQ(AsUser(kBob, [&] { return OpenError(place + name); }), EACCES) << name;
  }
  EXPECT_EQ(AsUser(kAnn, [&] { return OpenError(directory_ + "/lib/words"); }), EACCES);
  EXPECT_EQ(AsUser(kAnn, [&] { return ErrnoOf(rename((place + "/tmp").c_str(), (place + "/t").c_str())); }), EACCES);
}

TEST_F(UserRoomTest, OwnersSendNoSignalsToEachOther) {
  const pid_t of_bob = fork();
  if (of_bob == 0) {
    if (!RoomUser(kBob, "").Become().ok()) _exit(1);
    pause();
    _exit(0);
  }
  EXPECT_EQ(InRoomOf(2, kAnn, [&] { return ErrnoOf(kill(of_bob, SIGKILL)); }), EPERM);
  kill(of_bob, SIGKILL);
  waitpid(of_bob, nullptr, 0);
}

TEST_F(UserRoomTest, Tier3ShowsNoOtherProcessesAndNoNetwork) {
  const auto looks = [&] {
    int processes = 0;
    const std::vector<std::string> names = ListDirectory("/proc").value();
    for (const std::string& name : names) processes += isdigit(static_cast<unsigned char>(name[0])) != 0;
    if (processes != 2) return 1;  // the keeper and this one
    if (getppid() != 0) return 2;
    if (ErrnoOf(kill(1, SIGKILL)) != EPERM) return 3;
    const std::string devices = ReadFile("/proc/self/net/dev").value();
    size_t interfaces = 0;
    for (const char c : devices) interfaces += c == ':';
    return interfaces == 1 ? 0 : 4;
  };
  const int result = InRoomOf(3, kAnn, looks);
  if (result == 201) GTEST_SKIP() << "this machine gives no namespaces";
  EXPECT_EQ(result, 0);
  struct stat machine;
  ASSERT_EQ(stat("/proc/self/ns/net", &machine), 0);
  const auto same = [&] {
    struct stat own;
    return stat("/proc/self/ns/net", &own) == 0 && own.st_ino == machine.st_ino ? 0 : 1;
  };
  EXPECT_EQ(InRoomOf(3, kAnn, same), 1);
  EXPECT_EQ(InRoomOf(3, kAnn, same, true), 0);
}

TEST_F(UserRoomTest, AllProcessesOfATaskOfTier3EndWithIt) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const int result = InRoomOf(3, kAnn, [&] {
    if (fork() != 0) return 0;
    setsid();
    if (fork() != 0) _exit(0);
    pause();
    return 0;
  });
  close(ends[1]);
  if (result == 201) GTEST_SKIP() << "this machine gives no namespaces";
  EXPECT_EQ(result, 0);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);  // no process has the other end any more
  close(ends[0]);
}

TEST_F(UserRoomTest, TheReportSaysWhyThereIsNoTier2) {
  const auto why = [&](const std::function<void(RoomOptions*)>& change) {
    return InProcess([&] {
      RoomOptions options = Tier(kBestTier);
      options.trial_user = kAnn;
      options.scratch = directory_ + "/scratch";
      change(&options);
      const auto room = Room::Prepare(options, "");
      if (!room.ok() || room->tier() != 1) return 1;
      return room->why().starts_with("tier 2: ") ? 0 : 2;
    });
  };
  EXPECT_EQ(why([](RoomOptions* options) { options->trial_user = 0; }), 0);
  EXPECT_EQ(why([&](RoomOptions*) { chmod(directory_.c_str(), 0700); }), 0);
  chmod(directory_.c_str(), 0711);
  EXPECT_EQ(why([](RoomOptions*) { DropCapabilities(); }), 0);
}

}  // namespace
}  // namespace mr::task
