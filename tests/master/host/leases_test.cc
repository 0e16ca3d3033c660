// Leases under a clock of the test's: what stands still is not dead. The master's loop does not run here; the test
// calls what its ticks call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "master/host/host.h"
#include "tests/master/host/no_outlets.h"

namespace mr::master {
namespace {

class LeasesTest : public testing::Test {
 protected:
  LeasesTest() {
    std::string pattern = testing::TempDir() + "/leases_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    EXPECT_TRUE(MakeDirectories(root_ + "/journal").ok());
    Start(kEffectsLease);
  }
  ~LeasesTest() override {
    host_ = nullptr;
    (void)RemoveTree(root_);
  }

  // The first master, or the next one behind it.
  void Start(Duration effects_lease) {
    host_ = nullptr;
    HostOptions options;
    options.directory = root_;
    options.effects_lease = effects_lease;
    options.clock = [this] { return now_; };
    host_ = std::make_unique<Host>(options, loop_, outlets_);
    const Status recovered = host_->Recover();
    EXPECT_TRUE(recovered.ok()) << recovered.ToString();
    for (const char* name : {"a", "b"}) Register(name);
  }
  void Register(const std::string& name) {
    RegisterIn in;
    in.extra.name = name;
    in.info.incarnation = Incarnation{static_cast<uint64_t>(name[0])};
    in.info.address = "127.0.0.1:1";
    in.info.slots.total = 2;
    host_->sessions().Register(static_cast<uint64_t>(name[0]), in, [](RegisterOut) {});
    host_->sessions().HeartbeatConnected(in.info.incarnation, true);
  }
  WorkerView& Of(char name) { return *host_->core().workers().FindIncarnation(static_cast<uint64_t>(name)); }
  bool Beat(char name, Duration silent = {}) {
    return host_->sessions().Beat(Of(name).id, Of(name).info.incarnation, silent);
  }
  // Does the work of the master's loop: a tick every 250 ms, at which the workers in `beating` beat.
  void Run(Duration time, const std::string& beating = "", Duration silent = {}) {
    for (Duration done; done < time; done = done + kTick) {
      now_ = now_ + kTick;
      for (const char name : beating) Beat(name, silent);
      Look();
    }
  }
  void StandStill(Duration time) { now_ = now_ + time; }
  // One tick.
  void Look() {
    host_->sessions().HeartbeatConnected(Of('a').info.incarnation, true);
    host_->sessions().HeartbeatConnected(Of('a').info.incarnation, false);
  }
  std::string States() { return std::string(Of('a').Word()) + " " + Of('b').Word(); }
  // How long the task of a lost worker waits before another attempt with side effects.
  Duration EffectsWait() { return host_->core().scheduler().state().config().lost_wait; }
  bool MayStart(char name) { return !host_->core().scheduler().state().FindWorker(Of(name).id)->draining; }

  Instant now_ = Instant{} + Seconds(1000);
  std::string root_;
  Loop loop_{[] {}};
  test::NoOutlets outlets_;
  std::unique_ptr<Host> host_;
};

TEST_F(LeasesTest, AMasterThatStoodStillLosesNoWorkerByThatAlone) {
  for (const Duration stop : {Seconds(5), Seconds(8), Seconds(20), Seconds(600)}) {
    Run(Seconds(1), "ab");
    StandStill(stop);
    Look();
    EXPECT_EQ(States(), "live live") << stop.seconds() << " s";
    Run(Seconds(1));  // their beats wait in the sockets, and come
    EXPECT_EQ(States(), "live live");
    EXPECT_TRUE(Beat('a') && Beat('b'));
  }
}

TEST_F(LeasesTest, WhatWaitsInTheSocketsIsHeardBeforeAnybodyIsJudged) {
  Run(Seconds(1), "ab");
  Run(Millis(4750), "a");  // b is silent, a moment before its lease ends
  StandStill(Seconds(8));
  Look();
  Look();
  EXPECT_EQ(States(), "live live");
  Beat('b');
  Run(Seconds(2), "ab");
  EXPECT_EQ(States(), "live live");
}

TEST_F(LeasesTest, AWorkerThatIsSilentAsAWholeForItsLeaseIsLostAlsoAfterAStall) {
  Run(Seconds(1), "ab");
  Run(Millis(4500), "a");
  EXPECT_EQ(States(), "live live");
  Run(Millis(750), "a");
  EXPECT_EQ(States(), "live lost");
  StandStill(Seconds(8));
  Look();
  EXPECT_EQ(States(), "live lost");
  Run(Seconds(6));
  EXPECT_EQ(States(), "lost lost") << "it has the rest of its lease, and no more";
}

TEST_F(LeasesTest, FileLeasesAndTimersOfTheSchedulerDoNotRunOutInAStall) {
  const auto create = [](const dfs::Namespace& ns, const dfs::Stamp& now) {
    return ns.PrepareCreate(now, "/f", false, 0, 0, "r");
  };
  host_->block_store().FsMutate(create, nullptr, [](Status) {});
  const auto ended = [this] {
    size_t n = 0;
    for (const dfs::Record& r : host_->core().files().Due(host_->clock().Stamp()))
      n += std::holds_alternative<dfs::LeaseEnded>(r);
    return n;
  };
  const Instant before = host_->clock().Stamp();
  StandStill(Seconds(100));
  EXPECT_LE(host_->clock().Stamp() - before, kTick) << "events are stamped with the time that the master lived";
  EXPECT_EQ(ended(), 0u);
  Run(Seconds(50), "ab");
  EXPECT_EQ(ended(), 0u);
  Run(Seconds(20), "ab");
  EXPECT_EQ(ended(), 1u);
}

TEST_F(LeasesTest, AShorterLeaseOfSideEffectsHoldsWhenTheLongerOneHasPassedSinceTheRestart) {
  EXPECT_EQ(EffectsWait(), kEffectsLease + kLeaseMargin) << "nobody was promised another one before the first master";
  Start(Seconds(60));
  EXPECT_EQ(EffectsWait(), Seconds(65)) << "a longer one holds at once";
  Run(Seconds(10), "ab");
  for (int restart = 0; restart < 2; ++restart) {
    Start(Seconds(20));
    EXPECT_EQ(EffectsWait(), Seconds(65)) << "children of the master before live on";
    Run(Seconds(64), "ab");
    EXPECT_EQ(EffectsWait(), Seconds(65));
  }
  Run(Seconds(2), "ab");
  EXPECT_EQ(EffectsWait(), Seconds(25));
  Start(Seconds(20));
  EXPECT_EQ(EffectsWait(), Seconds(25));
}

TEST_F(LeasesTest, AWorkerWhoseLoopDoesNotMoveGetsNothingAfterFiveSecondsAndIsLostAfterSixty) {
  Run(Seconds(1), "ab");
  const auto stall = [this](int64_t ms) {
    now_ = now_ + kTick;
    Beat('a');
    Beat('b', Millis(ms));
    Look();
  };
  int64_t ms = 0;
  for (; ms < 5000; ms += 250) {
    stall(ms);
    EXPECT_EQ(States(), "live live") << ms;
    EXPECT_TRUE(MayStart('b'));
  }
  for (; ms < 60'000; ms += 250) {
    stall(ms);
    ASSERT_EQ(States(), "live stalled") << ms;
    ASSERT_FALSE(MayStart('b'));
  }
  stall(ms);
  EXPECT_EQ(States(), "live lost");
}

TEST_F(LeasesTest, AWorkerWhoseLoopMovesAgainHasLostNothing) {
  Run(Seconds(1), "ab");
  now_ = now_ + kTick;
  Beat('b', Seconds(30));
  EXPECT_EQ(States(), "live stalled");
  Run(Seconds(1), "ab");
  EXPECT_EQ(States(), "live live");
  EXPECT_TRUE(MayStart('b'));
  // One that an operator drains meanwhile stays drained.
  Beat('b', Seconds(30));
  host_->sessions().Drain(Of('b').id, true, [](Status) {});
  Run(Seconds(1), "ab");
  EXPECT_EQ(States(), "live draining");
  EXPECT_FALSE(MayStart('b'));
}

// The loop does not run here, so it never hears that a record is on the disk.
TEST_F(LeasesTest, NoOrderOfAnOperatorIsAnsweredBeforeItsRecordIsOnDisk) {
  int drained = 0, excluded = 0;
  host_->sessions().Drain(Of('a').id, true, [&](Status) { ++drained; });
  host_->sessions().Drain(Of('a').id, false, [&](Status) { ++drained; });
  EXPECT_EQ(drained, 0);
  host_->sessions().Exclude(Of('b').id, true, [&](Status) { ++excluded; });
  host_->sessions().Exclude(Of('b').id, false, [&](Status) { ++excluded; });
  EXPECT_EQ(excluded, 0);
}

}  // namespace
}  // namespace mr::master
