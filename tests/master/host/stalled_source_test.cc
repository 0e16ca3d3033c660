// A worker whose loop stands still, or a master that did, loses no outputs by a look at them that nobody answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/host/host_fixture.h"

namespace mr::master {
namespace {

class StalledSourceTest : public test::HostFixture {
 protected:
  void SetUp() override { MapsOnA(); }
  // A reader could not reach the worker of the first map's output.
  void Complain() {
    On([this] {
      const AttemptId map{{job_, 0, 0}, 1};
      const Replica replica{{map.task, 1}, 1, Of('a').id, Of('a').info.incarnation};
      Report('b', {{{job_, 1, 0}, 1}, report::FetchFailed{replica, "no answer in 10 s", true}});
    });
  }
  // The look that is under way ends without an answer.
  void NoAnswer() {
    ASSERT_EQ(outlets_.looks.size(), 1u);
    On([this] {
      const auto done = std::move(outlets_.looks.front());
      outlets_.looks.clear();
      done({Looked::At::kUnreachable, "timed out"});
    });
  }
  size_t Outputs() {
    size_t n = 0;
    On([&] { n = Counts(job_, 0).done; });
    return n;
  }
};

TEST_F(StalledSourceTest, AWorkerThatDoesNotAnswerThoughItsLoopMovesLosesTheOutput) {
  Complain();
  Run(Seconds(2), [this] { Beat('a'), Beat('b'); });
  NoAnswer();
  EXPECT_EQ(Outputs(), 2u);
}

TEST_F(StalledSourceTest, AWorkerWhoseLoopStopsWhileItIsAskedKeepsItsOutputs) {
  Complain();
  Duration silent;
  Run(Seconds(2), [&] { Beat('a', false, silent = silent + kTick), Beat('b'); });
  NoAnswer();
  EXPECT_EQ(Outputs(), 3u);
  // It moves again, and still does not answer.
  Run(Seconds(1), [this] { Beat('a'), Beat('b'); });
  Complain();
  NoAnswer();
  EXPECT_EQ(Outputs(), 2u);
}

TEST_F(StalledSourceTest, AStalledWorkerIsNotAskedForItsOutputs) {
  Run(Seconds(1), [this] { Beat('a', false, Seconds(6)), Beat('b'); });
  ASSERT_EQ(Of('a').Word(), std::string("stalled"));
  Complain();
  EXPECT_TRUE(outlets_.looks.empty());
  EXPECT_EQ(Outputs(), 3u);
  Run(Seconds(1), [this] { Beat('a'), Beat('b'); });
  Complain();
  EXPECT_EQ(outlets_.looks.size(), 1u);
}

TEST_F(StalledSourceTest, ALookThatEndsBehindAStallOfTheMasterLosesNoOutput) {
  Complain();
  On([this] { now_ = now_ + Seconds(20); });
  NoAnswer();
  EXPECT_EQ(Outputs(), 3u);
}

}  // namespace
}  // namespace mr::master
