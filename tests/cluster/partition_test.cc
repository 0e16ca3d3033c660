// A worker that the network cuts off from its master for longer than the lease, without either side's
// kernel being told: connections of before stay open and dumb for ever, new ones work again afterwards.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <list>
#include <thread>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Carries connections to a port, or swallows them.
class Wire {
 public:
  Wire() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = Loopback(0);
    MR_CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    MR_CHECK(::listen(listener_.get(), 64) == 0);
    socklen_t length = sizeof address;
    MR_CHECK(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Carry(); });
  }
  ~Wire() {
    stop_ = true;
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void LeadTo(uint16_t port) { target_ = port; }
  void Cut() { cut_ = true; }
  // New connections are carried; those of before are not.
  void Mend() { cut_ = false; }

 private:
  struct Line {
    UniqueFd ends[2];
    bool dumb = false;
  };

  void Carry() {
    constexpr int kTurnMs = 10;
    while (!stop_) {
      if (cut_) {
        for (Line& line : lines_) line.dumb = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(kTurnMs));
        continue;
      }
      std::vector<pollfd> ready = {{listener_.get(), POLLIN, 0}};
      for (const Line& line : lines_) {
        for (const UniqueFd& end : line.ends) ready.push_back({line.dumb ? -1 : end.get(), POLLIN, 0});
      }
      if (::poll(ready.data(), ready.size(), kTurnMs) <= 0) continue;
      size_t at = 1;
      for (Line& line : lines_) {
        for (int i = 0; i < 2; ++i, ++at) {
          if (ready[at].revents != 0) Pass(&line, i);
        }
      }
      if (ready[0].revents != 0) Accept();
    }
  }
  void Accept() {
    Line line;
    line.ends[0].reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    line.ends[1].reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = Loopback(target_);
    if (::connect(line.ends[1].get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      lines_.push_back(std::move(line));
    }
  }
  // What one end said to the other; the end of it for both.
  static void Pass(Line* line, int from) {
    char buffer[64 << 10];
    const ssize_t n = ::recv(line->ends[from].get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0 && ::send(line->ends[1 - from].get(), buffer, static_cast<size_t>(n), MSG_NOSIGNAL) == n) return;
    line->dumb = true;
    for (UniqueFd& end : line->ends) end.reset();
  }

  UniqueFd listener_;
  uint16_t port_ = 0;
  std::atomic<uint16_t> target_{0};
  std::atomic<bool> cut_{false}, stop_{false};
  std::list<Line> lines_;  // of the thread
  std::thread thread_;
};

TEST(PartitionTest, AWorkerThatWasCutOffForLongerThanTheLeaseWorksAgainWithoutARestart) {
  Wire wire;
  Cluster cluster({.workers = 1, .slots = 1, .worker_flags = {"--master", wire.address()}});
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
