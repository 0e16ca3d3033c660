#include "common/rpc/accept_loop.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/debug.h>

#include <string>
#include <vector>

#include "common/rpc/server.h"

namespace mr::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Fails its accepts: first by throwing from the call itself, as KJ does where the system call fails at once, then by a
// rejected promise. Then there is one connection, and then none for ever.
class FailingReceiver final : public kj::ConnectionReceiver {
 public:
  FailingReceiver(int thrown, int rejected) : thrown_(thrown), rejected_(rejected) {}

  kj::Promise<kj::Own<kj::AsyncIoStream>> accept() override {
    ++calls;
    if (thrown_-- > 0) KJ_FAIL_SYSCALL("accept", EMFILE);
    if (rejected_-- > 0) {
      return kj::evalLater([]() -> kj::Own<kj::AsyncIoStream> { KJ_FAIL_SYSCALL("accept", ENFILE); });
    }
    if (connections_-- > 0) {
      auto pipe = kj::newTwoWayPipe();
      return kj::Own<kj::AsyncIoStream>(kj::mv(pipe.ends[0]));
    }
    return kj::NEVER_DONE;
  }
  uint getPort() override { return 7070; }

  int calls = 0;

 private:
  int thrown_, rejected_, connections_ = 1;
};

struct Bench {
  kj::EventLoop loop;
  kj::WaitScope scope{loop};
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  std::vector<std::string> log;
  int taken = 0;

  void Run(AcceptLoop&, int pauses) {
    for (int i = 0; i < pauses; ++i) {
      scope.poll();
      timer.advanceTo(timer.now() + AcceptLoop::kPause);
    }
    scope.poll();
  }
};

TEST(AcceptLoopTest, GoesOnAfterEveryFailureAndLogsOncePerEpisode) {
  Bench b;
  auto receiver = kj::heap<FailingReceiver>(3, 2);
  FailingReceiver& r = *receiver;
  AcceptLoop loop(
      b.timer, kj::mv(receiver), "RPC port 7070", [&](kj::Own<kj::AsyncIoStream>) { ++b.taken; },
      [&](const std::string& line) { b.log.push_back(line); });
  b.Run(loop, 10);
  EXPECT_EQ(b.taken, 1);
  EXPECT_EQ(loop.failures(), 5u);
  EXPECT_EQ(r.calls, 7) << "five that failed, one connection, one that waits for the next";
  EXPECT_THAT(b.log,
              ElementsAre(HasSubstr("cannot accept connections: "), HasSubstr("accepted again, after 5 failed")));
  EXPECT_THAT(b.log[0], HasSubstr("Too many open files"));
}

TEST(AcceptLoopTest, PausesBetweenFailingTries) {
  Bench b;
  auto receiver = kj::heap<FailingReceiver>(1000, 0);
  FailingReceiver& r = *receiver;
  AcceptLoop loop(b.timer, kj::mv(receiver), "RPC port 7070", [](kj::Own<kj::AsyncIoStream>) {});
  b.Run(loop, 4);
  EXPECT_EQ(r.calls, 5) << "one at once and one after each pause";
}

TEST(AcceptLoopTest, GoesOnWhereWhatTakesAConnectionThrows) {
  Bench b;
  auto receiver = kj::heap<FailingReceiver>(0, 0);
  FailingReceiver& r = *receiver;
  AcceptLoop loop(b.timer, kj::mv(receiver), "RPC port 7070",
                  [](kj::Own<kj::AsyncIoStream>) { KJ_FAIL_REQUIRE("no"); });
  b.Run(loop, 1);
  EXPECT_EQ(r.calls, 2);
  EXPECT_EQ(loop.failures(), 0u);
}

TEST(ServerLimitsTest, ConnectionsStayBelowTheOpenFilesAndWorkersHaveTheirOwnShare) {
  for (const uint64_t files : {64, 128, 256, 1024, 4096, 65536, 1 << 20}) {
    const auto limits = ServerLimits::ForDescriptors(files);
    const uint64_t http = ServerLimits::HttpConnections(files);
    const uint64_t master = limits.greeting + limits.clients + limits.workers + http;
    EXPECT_LE(master, files - std::min<uint64_t>(files / 2, 1024)) << files;
    EXPECT_LE(limits.greeting + limits.data + http, files - std::min<uint64_t>(files / 2, 1024)) << files;
    EXPECT_GE(limits.workers, limits.clients) << files;
    EXPECT_GE(limits.greeting, 1u) << files;
    EXPECT_GE(http, 1u) << files;
  }
}

}  // namespace
}  // namespace mr::rpc
