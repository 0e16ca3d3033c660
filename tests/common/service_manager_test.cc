#include "common/exec/service_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <future>

#include "common/exec/loop.h"
#include "common/io/files.h"

namespace mr {
namespace {

using testing::HasSubstr;

// A thread whose closures run when the test says so.
struct StoodThread {
  std::vector<std::function<void()>> closures;
  PostTo Post() {
    return [this](std::function<void()> fn) { closures.push_back(std::move(fn)); };
  }
  void Move() {
    for (const auto& fn : std::exchange(closures, {})) fn();
  }
};

TEST(ThreadsAliveTest, AllMustHaveMovedSinceTheLastQuestion) {
  StoodThread one, other;
  ThreadsAlive alive({one.Post(), other.Post()});
  EXPECT_TRUE(alive.Ask());
  one.Move();
  EXPECT_FALSE(alive.Ask());
  other.Move();
  one.Move();
  EXPECT_TRUE(alive.Ask());
}

TEST(ThreadsAliveTest, AThreadThatStandsStillHasOneClosureAtMost) {
  StoodThread still;
  ThreadsAlive alive({still.Post()});
  EXPECT_TRUE(alive.Ask());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(alive.Ask());
  EXPECT_EQ(still.closures.size(), 1u);
}

// Receives what a daemon sends to its service manager.
class Manager {
 public:
  explicit Manager(const char* watchdog_micros) {
    char directory[] = "/tmp/notify.XXXXXX";
    directory_ = ::mkdtemp(directory);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ::strncpy(address.sun_path, Path().c_str(), sizeof address.sun_path - 1);
    socket_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::setenv("NOTIFY_SOCKET", Path().c_str(), 1);
    if (watchdog_micros != nullptr) ::setenv("WATCHDOG_USEC", watchdog_micros, 1);
  }
  ~Manager() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    EXPECT_TRUE(RemoveTree(directory_).ok());
  }
  std::string Receive() {
    char text[256];
    const ssize_t got = ::recv(socket_.get(), text, sizeof text, 0);
    return got < 0 ? "" : std::string(text, static_cast<size_t>(got));
  }

 private:
  std::string Path() const { return directory_ + "/socket"; }

  std::string directory_;
  UniqueFd socket_;
};

TEST(ServiceManagerTest, HearsThatTheDaemonIsReadyAndStops) {
  Manager manager(nullptr);
  {
    ServiceManager service;
    service.Ready("serving on port 7070", {});
    EXPECT_EQ(manager.Receive(), "READY=1\nSTATUS=serving on port 7070");
    service.Stopping();
  }
  EXPECT_EQ(manager.Receive(), "STOPPING=1");
}

TEST(ServiceManagerTest, TheWatchdogIsFedWhileTheThreadsMove) {
  Manager manager("40000");
  Loop loop;
  loop.Start();
  ServiceManager service;
  service.Ready("serving", {[&loop](std::function<void()> fn) { loop.Post(std::move(fn)); }});
  EXPECT_THAT(manager.Receive(), HasSubstr("READY=1"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(manager.Receive(), "WATCHDOG=1");
  service.Stopping();
  loop.Stop();
}

TEST(ServiceManagerTest, WithoutAManagerNothingHappens) {
  ServiceManager service;
  service.Ready("serving", {[](const std::function<void()>&) { FAIL(); }});
  service.Stopping();
}

}  // namespace
}  // namespace mr
