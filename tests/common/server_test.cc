#include "common/rpc/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "common/io/clock.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/self_check.h"
#include "common/rpc/wait_for_loop.h"
#include "schema/data.capnp.h"

namespace mr::rpc {
namespace {

using ::testing::HasSubstr;

class NeverAnswers final : public DataServer::Server {
 public:
  kj::Promise<void> readBlock(ReadBlockContext) override { return kj::NEVER_DONE; }
};

class Answers final : public DataServer::Server {
 public:
  explicit Answers(std::shared_ptr<void> hold) : hold_(std::move(hold)) {}
  kj::Promise<void> readBlock(ReadBlockContext context) override {
    context.getResults().initData(1 << 20);
    return kj::READY_NOW;
  }

 private:
  const std::shared_ptr<void> hold_;
};

// A server and its peers on one loop of their own.
struct Bench {
  KjThread loop{"test"};
  kj::Own<RpcServer> server;
  std::vector<kj::Own<RpcConnection>> peers;
  std::vector<kj::Own<kj::AsyncIoStream>> streams;
  uint16_t port = 0;

  // hold: services keep their connection.
  // answers: calls end.
  explicit Bench(ServerLimits limits, bool hold = false, bool answers = true, uint64_t cluster = 0) {
    auto bound = WaitForLoop<Result<uint16_t>>(loop, [&] {
      Hello own;
      own.role = Role::kMaster;
      own.cluster_id = cluster;
      server = kj::heap<RpcServer>(
          loop.io(), own,
          [hold, answers](const Hello&, const PeerInfo& peer) -> Result<capnp::Capability::Client> {
            if (!answers) return capnp::Capability::Client(DataServer::Client(kj::heap<NeverAnswers>()));
            return capnp::Capability::Client(DataServer::Client(kj::heap<Answers>(hold ? peer.hold.lock() : nullptr)));
          },
          MakeAuthenticator({}).value(), limits);
      return server->Listen("127.0.0.1", 0);
    });
    port = bound.ok() ? *bound : 0;
  }
  ~Bench() {
    loop.Run([this] {
      peers.clear();
      streams.clear();
      server = nullptr;
    });
  }

  Status Connect(Role role, uint64_t cluster = 0) {
    return WaitForLoop<Status>(loop, [this, role, cluster] {
      Hello hello;
      hello.role = role;
      hello.cluster_id = cluster;
      return RpcConnection::Connect(loop.io(), "127.0.0.1:" + std::to_string(port), hello)
          .then([this](Result<kj::Own<RpcConnection>> connection) -> Status {
            if (!connection.ok()) return connection.status();
            peers.push_back(*std::move(connection));
            return Status::Ok();
          });
    });
  }
  // Connects and sends `hello`, if there is one, and nothing else ever.
  void Open(const Hello* hello) {
    (void)WaitForLoop<Status>(loop, [this, hello] {
      return loop.io()
          .provider->getNetwork()
          .parseAddress("127.0.0.1", port)
          .then([](kj::Own<kj::NetworkAddress> a) {
            auto connected = a->connect();
            return connected.attach(kj::mv(a));
          })
          .then([this, hello](kj::Own<kj::AsyncIoStream> s) -> kj::Promise<Status> {
            auto& stream = *s;
            streams.push_back(kj::mv(s));
            if (hello == nullptr) return Status::Ok();
            auto bytes = kj::heap(EncodeHello(*hello));
            auto written = stream.write(bytes->data(), bytes->size());
            return written.attach(kj::mv(bytes)).then([] { return Status::Ok(); });
          });
    });
  }
  ServerCounts Counts() {
    return loop.Run([this] { return server->counts(); });
  }
  // Waits until `met` says yes of the server's counts.
  bool Until(const std::function<bool(const ServerCounts&)>& met) {
    const Instant end = Now() + Seconds(60);
    while (!met(Counts())) {
      if (Now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return true;
  }
};

TEST(RpcServerTest, SilentAndExcessClientsNeverKeepAWorkerOut) {
  Bench b({.greeting = 4, .clients = 2, .workers = 2});
  for (int i = 0; i < 20; ++i) b.Open(nullptr);
  ASSERT_TRUE(b.Until([](const ServerCounts& c) { return c.silent >= 16; })) << b.Counts().silent;
  EXPECT_LE(b.Counts().greeting, 4u);
  EXPECT_TRUE(b.Connect(Role::kClient).ok());
  EXPECT_TRUE(b.Connect(Role::kClient).ok());
  const Status third = b.Connect(Role::kClient);
  EXPECT_EQ(third.code(), Code::kUnavailable);
  EXPECT_THAT(third.message(), HasSubstr("as many connections as it serves"));
  EXPECT_EQ(b.Counts().refused, 1u);
  EXPECT_TRUE(b.Connect(Role::kWorker).ok());
  EXPECT_TRUE(b.Connect(Role::kHeartbeat).ok());
}

TEST(RpcServerTest, SilentConnectionsAreClosedSoon) {
  Bench b({});
  for (int i = 0; i < 3; ++i) b.Open(nullptr);
  EXPECT_TRUE(b.Until([](const ServerCounts& c) { return c.silent == 3 && c.greeting == 0; })) << b.Counts().silent;
}

// Its blocks would have the ids of others here.
TEST(RpcServerTest, AWorkerOfAnotherClusterIsRefused) {
  Bench b({}, /*hold=*/false, /*answers=*/true, /*cluster=*/7);
  EXPECT_TRUE(b.Connect(Role::kWorker, 7).ok());
  EXPECT_TRUE(b.Connect(Role::kWorker, 0).ok()) << "it has not been in any";
  for (const Role role : {Role::kWorker, Role::kHeartbeat, Role::kData}) {
    const Status other = b.Connect(role, 8);
    EXPECT_EQ(other.code(), Code::kRejected) << other.ToString();
  }
  EXPECT_EQ(b.Counts().workers, 2u);
}

TEST(RpcServerTest, IdleClientsAreClosed) {
  Bench b({.idle = Millis(500)});
  ASSERT_TRUE(b.Connect(Role::kClient).ok());
  EXPECT_TRUE(b.Until([](const ServerCounts& c) { return c.idle == 1 && c.clients == 0; })) << b.Counts().clients;
}

// By their last message and not by their age.
TEST(RpcServerTest, AtTheLimitTheClientThatWasIdleLongestMakesRoom) {
  Bench b({.clients = 2});
  ASSERT_TRUE(b.Connect(Role::kClient).ok());
  ASSERT_TRUE(b.Connect(Role::kClient).ok());
  const auto answered = [&b](size_t peer) {
    return WaitForLoop<Status>(b.loop,
                               [&b, peer] {
                                 return b.peers[peer]->Bootstrap<DataServer>().readBlockRequest().send().then(
                                     [](auto&&) { return Status::Ok(); });
                               })
        .ok();
  };
  ASSERT_TRUE(answered(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_TRUE(answered(0));
  EXPECT_FALSE(b.Connect(Role::kClient).ok()) << "nobody is idle for long";
  std::this_thread::sleep_for(std::chrono::nanoseconds(RpcServer::kEvictIdle.ns) + std::chrono::milliseconds(200));
  ASSERT_TRUE(b.Connect(Role::kClient).ok());
  EXPECT_EQ(b.Counts().idle, 1u);
  const auto closed = [&b](size_t peer, Duration wait) {
    return WaitForLoop<Status>(b.loop,
                               [&b, peer, wait] {
                                 return b.loop.timer().timeoutAfter(ToKj(wait), b.peers[peer]->OnDisconnect()).then([] {
                                   return Status::Ok();
                                 });
                               })
        .ok();
  };
  EXPECT_TRUE(closed(1, Seconds(10)));
  EXPECT_FALSE(closed(0, Millis(100)));
}

TEST(RpcServerTest, AClientForWhichAServiceHoldsSomethingIsNotIdle) {
  Bench idle({.idle = Millis(500)}), held({.idle = Millis(500)}, /*hold=*/true);
  Hello hello;
  hello.role = Role::kClient;
  ASSERT_TRUE(held.Connect(Role::kClient).ok());
  ASSERT_TRUE(idle.Connect(Role::kClient).ok());
  // Two sweeps of the other server take as long as two of this one.
  ASSERT_TRUE(idle.Until([](const ServerCounts& c) { return c.idle == 1; }));
  ASSERT_TRUE(idle.Connect(Role::kClient).ok());
  ASSERT_TRUE(idle.Until([](const ServerCounts& c) { return c.idle == 2; }));
  EXPECT_EQ(held.Counts().clients, 1u);
  EXPECT_EQ(held.Counts().idle, 0u);
}

TEST(RpcServerTest, AClientWhoseCallIsUnderWayIsNotIdle) {
  Bench idle({.idle = Millis(500)}), waiting({.idle = Millis(500)}, /*hold=*/false, /*answers=*/false);
  ASSERT_TRUE(waiting.Connect(Role::kClient).ok());
  kj::Promise<void> call = kj::READY_NOW;
  waiting.loop.Run([&] {
    auto server = waiting.peers[0]->Bootstrap<DataServer>();
    call = server.readBlockRequest().send().ignoreResult().eagerlyEvaluate(nullptr);
  });
  // Two sweeps of the other server take as long as two of this one.
  for (uint64_t n = 1; n <= 2; ++n) {
    ASSERT_TRUE(idle.Connect(Role::kClient).ok());
    ASSERT_TRUE(idle.Until([n](const ServerCounts& c) { return c.idle == n; }));
  }
  EXPECT_EQ(waiting.Counts().clients, 1u);
  EXPECT_EQ(waiting.Counts().idle, 0u);
  waiting.loop.Run([&] { call = kj::READY_NOW; });
}

TEST(SelfCheckTest, APortThatDoesNotAnswerIsNotReady) {
  Bench b({});
  kj::Own<SelfCheck> alive, dead;
  kj::Own<kj::ConnectionReceiver> deaf;  // listens and never accepts
  (void)WaitForLoop<Status>(b.loop, [&] {
    return b.loop.io().provider->getNetwork().parseAddress("127.0.0.1", 0).then([&](kj::Own<kj::NetworkAddress> a) {
      deaf = a->listen();
      alive = kj::heap<SelfCheck>(b.loop.io(), "0.0.0.0", b.port);
      dead = kj::heap<SelfCheck>(b.loop.io(), "127.0.0.1", static_cast<uint16_t>(deaf->getPort()));
      return Status::Ok();
    });
  });
  const auto why = [&](kj::Own<SelfCheck>& check) { return b.loop.Run([&] { return check->WhyNot(); }); };
  const Instant end = Now() + Seconds(60);
  while (!why(alive).empty() && Now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(why(alive), "");
  while (why(dead).find("not tried yet") != std::string::npos && Now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(why(dead), HasSubstr("is not answered"));
  b.loop.Run([&] {
    alive = nullptr;
    dead = nullptr;
    deaf = nullptr;
  });
}

}  // namespace
}  // namespace mr::rpc
