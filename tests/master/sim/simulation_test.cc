// The simulated cluster, in cases whose end can be worked by hand.
#include "master/sim/engine/simulation.h"

#include <gtest/gtest.h>

#include "master/sim/swarm/swarm.h"

namespace mr::sim {
namespace {

constexpr uint64_t kMegabyte = 1'000'000;

// Returns `workers` of one rack with `slots` each, without chance.
Experiment Plain(uint32_t workers, uint32_t slots) {
  Experiment s;
  s.cluster.racks.push_back({});
  WorkerSpec w;
  w.slots.total = slots;
  s.cluster.workers.assign(workers, w);
  s.tasks = Exact();
  s.check = true;
  return s;
}

JobModel Timed(std::vector<float> durations) {
  JobModel job = MapReduce(0, "timed", static_cast<uint32_t>(durations.size()), 1000, 0, 0, 1000);
  job.stages[0].durations = std::move(durations);
  return job;
}

double EndOf(const Simulation& run) { return run.jobs()[0].ended; }

TEST(SimulationTest, JobTakesAsLongAsItsSlowestMachine) {
  Experiment s = Plain(4, 1);
  s.cluster.workers[2].speed = 1.0 / 3;
  s.jobs = {Timed({10, 10, 10, 10})};
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(EndOf(run), 30, 1e-6);
  EXPECT_NEAR(run.totals().useful, 60, 1e-6);
}

TEST(SimulationTest, ATaskOfFewBytesTakesItsRecordedTime) {
  Experiment s = Plain(1, 1);
  s.jobs = {Timed({5000})};  // a thousand bytes
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(EndOf(run), 5000, 1e-3);
}

TEST(SimulationTest, WavesFollowEachOtherOnTheSlots) {
  Experiment s = Plain(2, 2);
  s.jobs = {Timed(std::vector<float>(10, 4))};
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(EndOf(run), 12, 1e-6);
}

// Three maps of 100 MB that could go at 10 MB/s each, on a disk of 15 MB/s.
TEST(SimulationTest, AttemptsOfAHostShareItsDisk) {
  Experiment s = Plain(1, 3);
  s.cluster.workers[0].disk = 15e6;
  s.jobs = {MapReduce(0, "j", 3, 300 * kMegabyte, 0, 0, 0)};
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(EndOf(run), 20, 1e-3);
  EXPECT_NEAR(run.totals().local_bytes, 300e6, 1);
}

// One host: map of 100 MB (10 s), copying 50 MB from its disk of 50 MB/s (1 s), merge (1.25 s), reduce (5 s).
TEST(SimulationTest, ReduceCopiesMergesReduces) {
  Experiment s = Plain(1, 1);
  s.cluster.workers[0].disk = 50e6;
  s.jobs = {MapReduce(0, "j", 1, 100 * kMegabyte, 1, 50 * kMegabyte, 0)};
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(EndOf(run), 17.25, 1e-3);
}

// 80 MB of maps and 40 MB of shuffle, on any route.
TEST(SimulationTest, BytesThatCrossRacksAreCounted) {
  for (const bool two_racks : {false, true}) {
    Experiment s = Plain(4, 2);
    if (two_racks) {
      s.cluster.racks = {{"a", 0, 0}, {"b", 0, 0}};
      s.cluster.workers[2].rack = s.cluster.workers[3].rack = 1;
    }
    s.jobs = {MapReduce(0, "j", 8, 80 * kMegabyte, 4, 40 * kMegabyte, 0)};
    Simulation run(std::move(s));
    ASSERT_EQ(run.Run(nullptr), "");
    EXPECT_EQ(run.totals().cross_rack_bytes > 0, two_racks);
    EXPECT_NEAR(run.totals().read_bytes, 120e6, 10);
  }
}

// 40 MB of shuffle, half of it to the other rack, over an uplink of 1 MB/s each way instead of an unlimited one.
TEST(SimulationTest, NarrowUplinkMakesTheShuffleSlow) {
  const auto end = [](double link) {
    Experiment s = Plain(4, 2);
    s.cluster.racks = {{"a", link, link}, {"b", link, link}};
    s.cluster.workers[2].rack = s.cluster.workers[3].rack = 1;
    s.jobs = {MapReduce(0, "j", 8, 80 * kMegabyte, 4, 40 * kMegabyte, 0)};
    Simulation run(std::move(s));
    EXPECT_EQ(run.Run(nullptr), "");
    return EndOf(run);
  };
  EXPECT_GT(end(1e6), end(0) + 5);
}

TEST(SimulationTest, ContentionSlowsOnlyWhileItLasts) {
  Experiment s = Plain(1, 1);
  s.jobs = {Timed({10})};
  s.faults.faults.push_back({FaultKind::kContention, 2, 0, 4, 4});  // 2 s + 1 s of work in 4 s + 7 s
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(EndOf(run), 13, 1e-6);
}

TEST(SimulationTest, EveryTaskCommitsOnceAndSlotSecondsAddUp) {
  Experiment s = Plain(5, 3);
  s.tasks = TaskModel{};
  for (int j = 0; j < 6; ++j) s.jobs.push_back(MapReduce(j * 7, "j", 20, 2'000 * kMegabyte, 5, 500 * kMegabyte, 0));
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  const Totals& t = run.totals();
  EXPECT_EQ(t.commits, 6u * 25);
  EXPECT_EQ(t.starts, t.commits);
  EXPECT_NEAR(t.useful, t.busy, 1e-6 * t.busy);
  EXPECT_NEAR(t.wasted, 0, 1e-6);
  for (const JobResult& job : run.jobs()) EXPECT_TRUE(job.succeeded);
}

// Any worker may crash at any time, and come back before the lease ends, after it, or never.
TEST(SimulationTest, CrashOfEachWorkerIsSurvived) {
  uint64_t again = 0;
  for (uint32_t w = 0; w < 4; ++w) {
    for (const double at : {0.0, 5.0, 12.0, 25.0}) {
      for (const double back : {0.0, 3.0, 20.0}) {
        Experiment s = Plain(4, 2);
        s.tasks = TaskModel{};
        s.jobs = {MapReduce(0, "j", 12, 1'200 * kMegabyte, 4, 400 * kMegabyte, 0)};
        s.faults.faults.push_back({FaultKind::kCrash, at, w, back, 1});
        Simulation run(std::move(s));
        ASSERT_EQ(run.Run(nullptr), "") << "worker " << w << " at " << at << " back after " << back;
        EXPECT_TRUE(run.jobs()[0].succeeded) << run.jobs()[0].message;
        EXPECT_GE(run.totals().commits, 16u);
        EXPECT_NEAR(run.totals().useful + run.totals().wasted, run.totals().busy, 1e-6 * run.totals().busy);
        again += run.totals().commits - 16;
      }
    }
  }
  EXPECT_GT(again, 0u) << "no crash took an output that was needed again";
}

// The only worker is away for two hours, and a job arrives a day later.
TEST(SimulationTest, LongWaitIsNoEnd) {
  Experiment s = Plain(1, 1);
  s.jobs = {Timed({10, 10}), Timed({10})};
  s.jobs[1].submit = 100'000;
  s.faults.faults.push_back({FaultKind::kCrash, 5, 0, 7200, 1});
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(EndOf(run), 7225, 10);
  EXPECT_NEAR(run.jobs()[1].ended, 100'010, 1);
}

TEST(SimulationTest, JobThatNobodyCanRunIsSaid) {
  Experiment s = Plain(1, 1);
  s.jobs = {Timed({10})};
  s.faults.faults.push_back({FaultKind::kCrash, 5, 0, 0, 1});
  Simulation run(std::move(s));
  EXPECT_NE(run.Run(nullptr).find("jobs are not done"), std::string::npos);
}

// The reduce waits for a map whose worker is gone. Nothing reports that to the master.
TEST(SimulationTest, ReaderThatWaitsForEverIsSaid) {
  Experiment s = Plain(2, 1);
  s.cluster.workers[1].speed = .01;
  s.jobs = {MapReduce(0, "j", 2, 200 * kMegabyte, 1, 100 * kMegabyte, 0)};
  s.faults.lease = Seconds(1'000'000);
  s.faults.faults.push_back({FaultKind::kCrash, 50, 1, 0, 1});
  Simulation run(std::move(s));
  EXPECT_NE(run.Run(nullptr).find("no attempt has moved"), std::string::npos);
}

TEST(SimulationTest, LostOutputIsMadeAgain) {
  Experiment s = Plain(2, 1);
  s.jobs = {MapReduce(0, "j", 2, 200 * kMegabyte, 2, 2'000 * kMegabyte, 0)};
  s.faults.faults.push_back({FaultKind::kOutputLost, 11, 0, 0, 1});
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_TRUE(run.jobs()[0].succeeded);
  EXPECT_EQ(run.totals().commits, 5u);
}

// Two reduces copy 1,000 MB each, at 250 MB/s: half from their own disk, half over 125 MB/s. After a second one of the
// two outputs is lost. One reduce gives its slot to the map that makes it anew. The other has copied 125 MB of it.
TEST(SimulationTest, WhatIsBeingCopiedOfALostOutputIsCopiedAgain) {
  Experiment s = Plain(2, 1);
  s.cluster.workers[0].disk = s.cluster.workers[1].disk = 1e9;
  s.jobs = {MapReduce(0, "j", 2, 200 * kMegabyte, 2, 2'000 * kMegabyte, 0)};
  s.faults.faults.push_back({FaultKind::kOutputLost, 11, 0, 0, 1});
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  // Three maps, the input of two reduces, and what is copied again.
  EXPECT_NEAR(run.totals().read_bytes, 300e6 + 2'000e6 + 250e6 + 125e6, 1e6);
}

TEST(SimulationTest, LateLostAndDoubleMessagesChangeNoResult) {
  Experiment s = Plain(4, 2);
  s.jobs = {MapReduce(0, "j", 40, 400 * kMegabyte, 8, 100 * kMegabyte, 0)};
  s.faults.late = s.faults.lost = s.faults.twice = .3;
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_TRUE(run.jobs()[0].succeeded);
  EXPECT_EQ(run.totals().commits, 48u);
  EXPECT_GT(run.totals().starts, 48u) << "no launch was lost";
}

TEST(SimulationTest, ReportsArriveAndChangeNoTime) {
  double ends[2];
  uint64_t events[2];
  for (int reports = 0; reports < 2; ++reports) {
    Experiment s = Plain(2, 2);
    s.jobs = {MapReduce(0, "j", 6, 600 * kMegabyte, 2, 100 * kMegabyte, 0)};
    s.tasks.report_period = Seconds(reports);
    Simulation run(std::move(s));
    ASSERT_EQ(run.Run(nullptr), "");
    ends[reports] = EndOf(run);
    events[reports] = run.totals().events;
  }
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_GT(events[1], events[0] + 10);
}

TEST(SimulationTest, SlotCapsPerKindHold) {
  Experiment s = Plain(1, 3);
  s.cluster.workers[0].slots = {3, 2, 1};
  s.jobs = {Timed({5, 5, 5, 5})};  // two at a time
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(EndOf(run), 10, 1e-6);
}

TEST(SimulationTest, SameSeedSameDigestOtherSeedAnother) {
  const auto digest = [](uint64_t seed) {
    Experiment s = RandomExperiment(seed, "fifo");
    s.check = false;
    Simulation run(std::move(s));
    EXPECT_EQ(run.Run(nullptr), "");
    return run.Digest();
  };
  EXPECT_EQ(digest(3), digest(3));
  EXPECT_NE(digest(3), digest(4));
}

}  // namespace
}  // namespace mr::sim
