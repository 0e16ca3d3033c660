#include "common/rpc/message_gate.h"

#include <capnp/rpc-twoparty.h>
#include <gtest/gtest.h>

#include "schema/data.capnp.h"

namespace mr::rpc {
namespace {

constexpr size_t kReply = 1 << 20;

// Answers each readBlock with 1 MiB.
class BigReplies final : public DataServer::Server {
 public:
  kj::Promise<void> readBlock(ReadBlockContext context) override {
    ++calls;
    context.getResults().initData(kReply);
    if (!later) return kj::READY_NOW;
    auto paf = kj::newPromiseAndFulfiller<void>();
    answer = kj::mv(paf.fulfiller);
    return kj::mv(paf.promise);
  }
  int calls = 0;
  bool later = false;  // each answer comes when `answer` is fulfilled
  kj::Own<kj::PromiseFulfiller<void>> answer;
};

// Both ends in one process, over a pipe without any buffer.
struct Ends {
  kj::EventLoop loop;
  kj::WaitScope scope{loop};
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  SharedQueue shared;
  kj::Own<BigReplies> service = kj::heap<BigReplies>();
  BigReplies& server = *service;
  MessageGate gate;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system;

  explicit Ends(MessageGate::Limits limits, uint64_t all = 1ull << 30)
      : shared{0, all},
        gate(*pipe.ends[0], timer, limits, shared, [this] { return network.getCurrentQueueSize(); }),
        network(gate, capnp::rpc::twoparty::Side::SERVER),
        system(capnp::makeRpcServer(network, DataServer::Client(kj::mv(service)))) {}
};

// A stream that is not read until that is allowed.
class HeldReads final : public kj::AsyncIoStream {
 public:
  explicit HeldReads(kj::AsyncIoStream& inner) : inner_(inner) {
    auto paf = kj::newPromiseAndFulfiller<void>();
    allowed_ = paf.promise.fork();
    allow_ = kj::mv(paf.fulfiller);
  }
  void Allow() { allow_->fulfill(); }
  kj::Promise<size_t> tryRead(void* buffer, size_t least, size_t most) override {
    return allowed_.addBranch().then([this, buffer, least, most] { return inner_.tryRead(buffer, least, most); });
  }
  kj::Promise<void> write(const void* buffer, size_t size) override { return inner_.write(buffer, size); }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    return inner_.write(pieces);
  }
  kj::Promise<void> whenWriteDisconnected() override { return inner_.whenWriteDisconnected(); }
  void shutdownWrite() override { inner_.shutdownWrite(); }

 private:
  kj::AsyncIoStream& inner_;
  kj::ForkedPromise<void> allowed_ = nullptr;
  kj::Own<kj::PromiseFulfiller<void>> allow_;
};

struct Asking {
  HeldReads stream;
  capnp::TwoPartyClient client;
  DataServer::Client server;
  std::vector<kj::Promise<void>> calls;
  int answered = 0;

  explicit Asking(kj::AsyncIoStream& end)
      : stream(end), client(stream), server(client.bootstrap().castAs<DataServer>()) {}
  void Ask(int n) {
    for (int i = 0; i < n; ++i) {
      calls.push_back(server.readBlockRequest().send().then([this](auto&&) { ++answered; }).eagerlyEvaluate(nullptr));
    }
  }
};

TEST(MessageGateTest, APeerThatDoesNotReadGetsNoMoreCallsServedThanTheLimit) {
  Ends ends({.calls = 8, .queued_bytes = 1ull << 30});
  Asking asking(*ends.pipe.ends[1]);
  asking.Ask(500);
  ends.scope.poll();
  EXPECT_LE(ends.server.calls, 8);
  EXPECT_LE(ends.network.getCurrentQueueSize(), 9 * (kReply + 1024));
  asking.stream.Allow();
  for (auto& call : asking.calls) call.wait(ends.scope);
  EXPECT_EQ(asking.answered, 500);
  EXPECT_EQ(ends.server.calls, 500);
  EXPECT_EQ(ends.gate.calls(), 0u);
}

TEST(MessageGateTest, ReadingStopsWhereTooManyBytesWaitToBeSent) {
  Ends ends({.calls = 1000, .queued_bytes = 3 * kReply});
  Asking asking(*ends.pipe.ends[1]);
  asking.Ask(500);
  ends.scope.poll();
  EXPECT_LE(ends.network.getCurrentQueueSize(), 6 * kReply);
  asking.stream.Allow();
  for (auto& call : asking.calls) call.wait(ends.scope);
  EXPECT_EQ(asking.answered, 500);
}

TEST(MessageGateTest, AboveTheSharedLimitEachPeerHasOneUnansweredCall) {
  Ends ends({.calls = 100, .queued_bytes = 1ull << 30}, /*all=*/0);
  ends.shared.bytes = 1;  // of another connection
  Asking asking(*ends.pipe.ends[1]);
  asking.Ask(50);
  ends.scope.poll();
  EXPECT_LE(ends.server.calls, 1);
  asking.stream.Allow();
  for (auto& call : asking.calls) call.wait(ends.scope);
  EXPECT_EQ(asking.answered, 50);
}

// Idle connections are closed. A client that has just received the answer to a long call is not idle.
TEST(MessageGateTest, AnAnswerThatIsWrittenCountsAsWellAsACallThatIsRead) {
  Ends ends({.calls = 8, .queued_bytes = 1ull << 30});
  ends.server.later = true;
  Asking asking(*ends.pipe.ends[1]);
  asking.stream.Allow();
  ends.timer.advanceTo(kj::origin<kj::TimePoint>() + 5 * kj::SECONDS);
  auto call = asking.server.readBlockRequest().send();
  ends.scope.poll();
  EXPECT_EQ(ends.server.calls, 1);
  EXPECT_EQ(ends.gate.calls(), 1u);
  EXPECT_EQ(ends.gate.last_message(), kj::origin<kj::TimePoint>() + 5 * kj::SECONDS);
  ends.timer.advanceTo(kj::origin<kj::TimePoint>() + 9 * kj::SECONDS);
  ends.server.answer->fulfill();
  const auto kept = call.wait(ends.scope);  // the peer says that it is done with it when it lets it go
  ends.scope.poll();
  EXPECT_EQ(ends.gate.calls(), 0u);
  EXPECT_EQ(ends.gate.write_bytes(), 0u);
  EXPECT_EQ(ends.gate.last_message(), kj::origin<kj::TimePoint>() + 9 * kj::SECONDS);
}

TEST(MessageGateTest, AConnectionThatEndsGivesBackWhatItHadQueued) {
  kj::EventLoop loop;
  const kj::WaitScope scope{loop};
  kj::TimerImpl timer{kj::origin<kj::TimePoint>()};
  kj::TwoWayPipe pipe = kj::newTwoWayPipe();
  SharedQueue shared{7, 1 << 20};  // 7: of another connection
  {
    MessageGate gate(*pipe.ends[0], timer, {}, shared, [] { return size_t{5000}; });
    gate.Count();
    EXPECT_EQ(shared.bytes, 5007u);
  }
  EXPECT_EQ(shared.bytes, 7u);
}

}  // namespace
}  // namespace mr::rpc
