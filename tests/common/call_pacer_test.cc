#include "common/rpc/call_pacer.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

namespace mr::rpc {
namespace {

constexpr Instant kStart{1'000'000'000'000};

class CallPacerTest : public testing::Test {
 protected:
  ~CallPacerTest() noexcept override {}
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  CallPacer pacer_{io_.provider->getTimer()};
};

TEST_F(CallPacerTest, WhoeverIsAloneNeverWaits) {
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(pacer_.Take("anna", kStart).ns, 0);
    pacer_.Charge("anna", Millis(10));
  }
}

TEST_F(CallPacerTest, BesideOthersASubjectGetsABurstAndThenItsShare) {
  Instant now = kStart;
  (void)pacer_.Take("bert", now);
  Duration cost;  // of calls that did not wait
  int waited = 0;
  for (int i = 0; i < 20'000; ++i) {
    now = now + Millis(1);
    if (i % 1000 == 0) {
      EXPECT_EQ(pacer_.Take("bert", now).ns, 0) << "others pass";
    }
    if (pacer_.Take("anna", now).ns > 0) ++waited;
    pacer_.Charge("anna", Millis(1));
    cost = cost + Millis(1);
  }
  EXPECT_GT(waited, 19'000) << "1 ms of work each ms is four times the share";
  // The last call runs when all calls before it are paid for: after four times their cost, less the burst.
  const Duration wait = pacer_.Take("anna", now);
  const double expected = cost.seconds() / CallPacer::kShare - CallPacer::kBurst.seconds() / CallPacer::kShare - 20;
  EXPECT_NEAR(wait.seconds(), expected, 1);
}

TEST_F(CallPacerTest, CallsBelowTheShareNeverWait) {
  Instant now = kStart;
  for (int i = 0; i < 10'000; ++i) {
    now = now + Millis(1);
    if (i % 500 == 0) (void)pacer_.Take("bert", now);
    ASSERT_EQ(pacer_.Take("anna", now).ns, 0) << i;
    pacer_.Charge("anna", Micros(200));
  }
}

TEST_F(CallPacerTest, ADebtEndsWhenTheOthersAreGone) {
  (void)pacer_.Take("bert", kStart);
  for (int i = 0; i < 100'000; ++i) (void)pacer_.Take("anna", kStart);
  EXPECT_GT(pacer_.Take("anna", kStart).ns, 0);
  EXPECT_EQ(pacer_.Take("anna", kStart + CallPacer::kPresent + Millis(1)).ns, 0);
}

TEST_F(CallPacerTest, CallsOfOneSubjectKeepTheirOrder) {
  (void)pacer_.Take("bert", kStart);
  Instant last = kStart;
  Instant now = kStart;
  for (int i = 0; i < 50'000; ++i) {
    if (i % 7 == 0) now = now + Micros(100);
    const Instant due = now + pacer_.Take("anna", now);
    EXPECT_GE(due, last);
    last = due;
  }
}

}  // namespace
}  // namespace mr::rpc
