// A worker that stalls, or was lost a moment ago, comes back: no job fails meanwhile for what it has and others lack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/master/host/host_fixture.h"

namespace mr::master {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class LostForAMomentTest : public test::HostFixture {
 protected:
  // a is full, b works; b has two slots, so that one of the job's three maps waits.
  void SetUp() override {
    Run(Seconds(1), [this] { Beat('a', true), Beat('b'); });
    auto job = Submit();
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    job_ = *job;
    Run(Seconds(10), [this] { Beat('a', true), Beat('b'); });
    ASSERT_EQ(StateOf(job_), "RUNNING");
  }
};

TEST_F(LostForAMomentTest, NoJobFailsForRoomWhileAWorkerThatHasSomeStalls) {
  for (int i = 0; i < 2; ++i) {
    Run(Seconds(20), [this] { Beat('a', true), Beat('b', false, Seconds(6)); });
    EXPECT_EQ(Of('b').Word(), std::string("stalled"));
    EXPECT_EQ(StateOf(job_), "RUNNING");
    Run(Seconds(1), [this] { Beat('a', true), Beat('b'); });
  }
}

TEST_F(LostForAMomentTest, NoJobFailsForRoomUntilAWorkerThatHadSomeHasHadTimeToComeBack) {
  Run(kLease + kLostGrace, [this] { Beat('a', true); });
  EXPECT_EQ(Of('b').Word(), std::string("lost"));
  EXPECT_EQ(StateOf(job_), "RUNNING");
  Run(Seconds(5), [this] { Beat('a', true); });
  EXPECT_THAT(StateOf(job_), StartsWith("FAILED: "));
  EXPECT_THAT(StateOf(job_), HasSubstr("no worker has room: w1 (127.0.0.1:1) has 1 GiB of 100 GiB free in /data/a"));
  EXPECT_THAT(StateOf(job_), Not(HasSubstr("w2")));
}

TEST_F(LostForAMomentTest, EachTimeWithoutRoomCountsFromItsOwnBegin) {
  for (int i = 0; i < 4; ++i) {
    Run(Seconds(2), [this] { Beat('a', true), Beat('b', true); });
    Run(Seconds(1), [this] { Beat('a', true), Beat('b'); });
  }
  EXPECT_EQ(StateOf(job_), "RUNNING");
  Run(Seconds(4), [this] { Beat('a', true), Beat('b', true); });
  EXPECT_THAT(StateOf(job_), StartsWith("FAILED: "));
}

TEST_F(LostForAMomentTest, AFullWorkerThatStallsBringsNoRoom) {
  Run(Seconds(5), [this] { Beat('a', true), Beat('b', true, Seconds(6)); });
  EXPECT_THAT(StateOf(job_), StartsWith("FAILED: "));
}

TEST_F(LostForAMomentTest, AStalledWorkerThatAnOperatorDrainedBringsNoRoom) {
  On([this] { host_->sessions().Drain(Of('b').id, true, [](const Status&) {}); });
  Run(Seconds(5), [this] { Beat('a', true), Beat('b', false, Seconds(6)); });
  EXPECT_THAT(StateOf(job_), StartsWith("FAILED: "));
}

TEST_F(LostForAMomentTest, AJobWithoutAWorkerThatTakesTasksNamesTheirStates) {
  const auto why = [this] {
    std::string text;
    On([&] {
      const auto lines = host_->why().Why(Name(job_), Everything());
      ASSERT_TRUE(lines.ok()) << lines.status().ToString();
      for (const std::string& line : *lines) text += line + "\n";
    });
    return text;
  };
  On([this] {
    for (const char name : {'a', 'b'}) host_->sessions().Drain(Of(name).id, true, [](const Status&) {});
  });
  Run(Seconds(1), [this] { Beat('a'), Beat('b'); });
  EXPECT_THAT(why(), HasSubstr("all 2 workers are draining: w1, w2; next: mrctl worker undrain w1"));
}

TEST_F(LostForAMomentTest, AWorkerHearsOfTheEndOfItsDrainBeforeItGetsAttempts) {
  On([this] {
    host_->sessions().RegisterAnswered('a');
    host_->sessions().Drain(Of('a').id, true, [](const Status&) {});
    host_->sessions().Drain(Of('b').id, true, [](const Status&) {});
  });
  Run(Seconds(1), [this] { Beat('a'), Beat('b'); });
  std::vector<rpc::Command::Which> sent;
  outlets_.applied = [&sent](uint64_t session, const master::Message& batch) {
    if (session != 'a') return;
    for (const auto command : batch->getRoot<rpc::CommandBatch>().asReader().getCommands())
      sent.push_back(command.which());
  };
  On([this] { host_->sessions().Drain(Of('a').id, false, [](const Status&) {}); });
  On([] {});
  const auto drain = std::find(sent.begin(), sent.end(), rpc::Command::DRAIN);
  const auto launch = std::find(sent.begin(), sent.end(), rpc::Command::LAUNCH);
  ASSERT_NE(drain, sent.end());
  ASSERT_NE(launch, sent.end());
  EXPECT_LT(drain, launch);
  outlets_.applied = nullptr;
}

class LargestWorkerTest : public test::HostFixture {};

TEST_F(LargestWorkerTest, NoSubmitIsRefusedWhileTheOnlyWorkerWithItsMemoryRestarts) {
  memory_of_b_ = 8ull << 30;
  Register('b');
  const auto both = [this] { Beat('a'), Beat('b'); };
  const auto only_a = [this] { Beat('a'); };
  Run(Seconds(1), both);
  EXPECT_EQ(Submit(16ull << 30).status().code(), Code::kRejected);
  Run(kLease + Seconds(5), only_a);
  ASSERT_EQ(Of('b').Word(), std::string("lost"));
  const auto job = Submit(4ull << 30);
  EXPECT_TRUE(job.ok()) << job.status().ToString();
  Run(kLostGrace, only_a);
  EXPECT_EQ(Submit(4ull << 30, "file://" + root_ + "/other").status().code(), Code::kRejected);
}

TEST_F(LargestWorkerTest, AWorkerThatAnOperatorExcludedHasNoMemoryForAnybody) {
  memory_of_b_ = 8ull << 30;
  Register('b');
  On([this] { host_->sessions().Exclude(Of('b').id, true, [](const Status&) {}); });
  EXPECT_EQ(Submit(4ull << 30).status().code(), Code::kRejected);
}

class NewProcessTest : public test::HostFixture {
 protected:
  // Registers as worker b, on a session with the number of the incarnation. Returns false if it was refused.
  bool RegisterAsB(uint64_t incarnation) {
    RegisterIn in;
    in.extra.name = "b";
    in.info.incarnation = Incarnation{incarnation};
    in.info.address = "127.0.0.2:1";
    in.info.slots.total = 2;
    host_->sessions().Register(incarnation, in, [](const RegisterOut&) {});
    return host_->core().workers().FindIncarnation(incarnation) != nullptr;
  }
};

// Its process ended with its connection; nobody else can have its name.
TEST_F(NewProcessTest, RegistersAtOnceWhereTheConnectionOfTheOldOneHasEnded) {
  On([&] {
    EXPECT_FALSE(RegisterAsB(900)) << "it lives";
    host_->sessions().SessionEnded(uint64_t{'b'});
    EXPECT_TRUE(RegisterAsB(901));
  });
}

// The connections of the old process are not its own. Without a connection of its own it is lost at once.
TEST_F(NewProcessTest, HasNoHeartbeatConnectionsOfTheOldOne) {
  Run(Seconds(1), [this] { Beat('a'), Beat('b'); });
  On([&] {
    host_->sessions().SessionEnded(uint64_t{'b'});
    ASSERT_TRUE(RegisterAsB(901));
    host_->sessions().SessionEnded(901);
    EXPECT_STREQ(host_->core().workers().FindIncarnation(901)->Word(), "lost");
  });
}

}  // namespace
}  // namespace mr::master
