#include "common/rpc/kj_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/base/status.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wait_for_loop.h"

namespace mr::rpc {
namespace {

TEST(KjStatusTest, WhatMayBeTriedAgainIsKnownAsSuchAfterAnException) {
  for (const Code code : {Code::kUnavailable, Code::kOverloaded, Code::kInternal}) {
    EXPECT_EQ(FromException(ToException({code, "why"})).code(), code);
  }
  for (const Code code : {Code::kNotFound, Code::kRejected, Code::kInvalidArgument}) {
    EXPECT_EQ(FromException(ToException({code, "why"})).code(), Code::kInternal);
  }
  const std::string said = FromException(ToException(Unavailable("the very words"))).message();
  EXPECT_NE(said.find("the very words"), std::string::npos) << said;
}

TEST(KjStatusTest, PeopleAreToldWhyACallFailedAndNotHowItIsWritten) {
  const auto told = [](const char* description) {
    return FromException({kj::Exception::Type::DISCONNECTED, "a.c++", 1, kj::str(description)}).message();
  };
  EXPECT_EQ(told("::read(fd, buffer, maxBytes): Connection reset by peer"), "Connection reset by peer");
  EXPECT_EQ(told("Peer disconnected."), "Peer disconnected.");
  EXPECT_EQ(told("worker w1 (gone): no"), "worker w1 (gone): no");
}

TEST(KjThreadTest, ClosuresOfOneThreadRunInTheirOrder) {
  constexpr int kThreads = 4, kEach = 2000;
  std::vector<std::vector<int>> seen(kThreads);
  {
    KjThread loop("test");
    std::vector<std::thread> producers;
    for (int t = 0; t < kThreads; ++t) {
      producers.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) loop.Post([&, t, i] { seen[t].push_back(i); });
      });
    }
    for (auto& p : producers) p.join();
    loop.Run([] {});  // behind all that was posted
  }
  for (const auto& list : seen) {
    ASSERT_EQ(list.size(), size_t{kEach});
    for (int i = 0; i < kEach; ++i) ASSERT_EQ(list[i], i);
  }
}

// The loop is about to wait when its destructor begins: the moment is what varies.
TEST(KjThreadTest, ALoopThatHasJustRunItsLastClosureEnds) {
  for (int i = 0; i < 5'000; ++i) {
    std::atomic<bool> ran{false};
    KjThread loop("test");
    loop.Post([&] { ran = true; });
    while (!ran) {
    }
    for (std::atomic<int> spin{0}; spin < i % 200; ++spin) {
    }
  }
}

TEST(KjThreadTest, RunGivesTheValueBackToThePlainThread) {
  KjThread loop("test");
  std::vector<std::thread> callers;
  std::atomic<int> sum{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i) sum += loop.Run([i] { return i; });
    });
  }
  for (auto& c : callers) c.join();
  EXPECT_EQ(sum, 4 * 500 * 499 / 2);
}

TEST(KjThreadTest, PromisesGoOnBetweenClosures) {
  KjThread loop("test");
  std::atomic<int> done{0};
  loop.Run([&] {
    for (int i = 0; i < 100; ++i) {
      loop.Spawn(kj::evalLater([&] { ++done; }));
    }
  });
  while (done < 100) loop.Run([] {});
  EXPECT_EQ(done, 100);
}

TEST(KjThreadTest, WhatDidNotRunIsDroppedOnTheLoopsThread) {
  struct Probe {
    Probe(std::atomic<int>* wrong, std::thread::id home) : wrong(wrong), home(home) {}
    ~Probe() {
      if (std::this_thread::get_id() != home) ++*wrong;
    }
    std::atomic<int>* wrong;
    std::thread::id home;
  };
  std::atomic<int> wrong{0};
  for (int round = 0; round < 50; ++round) {
    auto loop = std::make_unique<KjThread>("test");
    const auto home = loop->Run([] { return std::this_thread::get_id(); });
    for (int i = 0; i < 20; ++i) loop->Post([p = kj::heap<Probe>(&wrong, home)] { (void)p; });
    loop.reset();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(KjThreadTest, AThrowingClosureHurtsNobodyElse) {
  KjThread loop("test");
  loop.Post([] { kj::throwFatalException(kj::Exception(kj::Exception::Type::FAILED, "t", 1, kj::str("on purpose"))); });
  EXPECT_EQ(loop.Run([] { return 7; }), 7);
}

// A client that ends at once drops its connection while the name is looked up.
TEST(LookUpTest, AConnectionThatIsDroppedWhileItsHostIsLookedUpPrintsNothing) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 300; ++i) {
    KjThread loop("test");
    kj::Own<kj::Promise<Result<kj::Own<RpcConnection>>>> connecting;
    loop.Run([&] {
      connecting = kj::heap(RpcConnection::Connect(loop.io(), "localhost:1", Hello{}));
      connecting = nullptr;
    });
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(LookUpTest, ANameIsTriedAtEachOfItsAddressesAndAnUnknownOneIsNamed) {
  KjThread loop("test");
  const auto error = [&](const std::string& address) {
    return WaitForLoop<Status>(loop,
                               [&] {
                                 return RpcConnection::Connect(loop.io(), address, Hello{}).then([](auto result) {
                                   return result.status();
                                 });
                               })
        .message();
  };
  EXPECT_THAT(error("localhost:1"), testing::HasSubstr("cannot reach localhost:1: "));
  EXPECT_THAT(error("no-such-host.invalid:1"),
              testing::HasSubstr("the name 'no-such-host.invalid' cannot be resolved"));
}

}  // namespace
}  // namespace mr::rpc
