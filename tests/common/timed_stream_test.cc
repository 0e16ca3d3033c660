// A stream whose operations end when the test says so, under a clock of the test.
#include "common/rpc/timed_stream.h"

#include <gtest/gtest.h>
#include <kj/async.h>

#include <utility>
#include <vector>

namespace mr::rpc {
namespace {

constexpr uint64_t kRate = 1000;  // bytes per second

class HeldStream final : public kj::AsyncIoStream {
 public:
  explicit HeldStream(std::vector<kj::Own<kj::PromiseFulfiller<void>>>& writes) : writes_(writes) {}
  kj::Promise<size_t> tryRead(void*, size_t, size_t) override { return kj::NEVER_DONE; }
  kj::Promise<void> write(const void*, size_t) override {
    auto paf = kj::newPromiseAndFulfiller<void>();
    writes_.push_back(kj::mv(paf.fulfiller));
    return kj::mv(paf.promise);
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>>) override { return write(nullptr, 0); }
  kj::Promise<void> whenWriteDisconnected() override { return kj::NEVER_DONE; }
  void shutdownWrite() override {}
  void abortRead() override {}

 private:
  std::vector<kj::Own<kj::PromiseFulfiller<void>>>& writes_;
};

class TimedStreamTest : public testing::Test {
 protected:
  ~TimedStreamTest() noexcept override = default;

  void Pass(int seconds) { timer_.advanceTo(timer_.now() + seconds * kj::SECONDS); }
  // The i-th write of the stream ends. Nobody waits for its promise.
  void End(size_t i) {
    writes_.at(i)->fulfill();
    scope_.poll();
  }
  bool Slow() const { return stream_.Slow(Seconds(30), kRate); }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> writes_;
  TimedStream stream_{kj::heap<HeldStream>(writes_), timer_};
};

TEST_F(TimedStreamTest, AWriteHasItsGraceAndTheTimeOfItsBytes) {
  auto written = stream_.write("", 5 * kRate);
  Pass(35);
  EXPECT_FALSE(Slow());
  Pass(1);
  EXPECT_TRUE(Slow());
}

TEST_F(TimedStreamTest, AWriteThatHasEndedIsOverBeforeAnybodyWaitsForIt) {
  auto written = stream_.write("", 1);
  Pass(5);
  const kj::TimePoint ended = timer_.now();
  End(0);
  Pass(100);
  EXPECT_FALSE(Slow());
  EXPECT_EQ(stream_.moved(), ended);
}

TEST_F(TimedStreamTest, TheTimeThatIsLeftDoesNotDependOnTheOrderInWhichWritesEnd) {
  for (const bool first_ends_first : {true, false}) {
    writes_.clear();
    auto first = stream_.write("", 2 * kRate);
    Pass(20);
    auto second = stream_.write("", 2 * kRate);
    EXPECT_FALSE(Slow());
    End(first_ends_first ? 0 : 1);
    Pass(32);
    EXPECT_FALSE(Slow()) << "two seconds of bytes are left, since the other write ended";
    Pass(1);
    EXPECT_TRUE(Slow());
    End(first_ends_first ? 1 : 0);
    EXPECT_FALSE(Slow());
  }
}

}  // namespace
}  // namespace mr::rpc
