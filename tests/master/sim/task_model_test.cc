// Task times: machines, skew, luck, starts and stalls. Reports that are noisy, late or lost. A map computes at 10 MB/s.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include "common/base/rng.h"
#include "master/sim/engine/first_offer.h"
#include "master/sim/engine/machine_factors.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::SizeIs;

constexpr uint64_t kMB = 1'000'000;

// Maps of 100 MB on workers of one slot: 10 s each without chance.
Experiment Maps(uint32_t workers, uint32_t maps) {
  Experiment e;
  e.cluster.racks.push_back({});
  WorkerSpec w;
  w.slots.total = 1;
  w.disk = 1e9;
  e.cluster.workers.assign(workers, w);
  e.jobs = {MapReduce(0, "j", maps, maps * 100 * kMB, 0, 0, 0)};
  e.tasks = Exact();
  e.check = true;
  return e;
}

struct Ran {
  AttemptId id;
  WorkerId worker;
  double seconds = 0;
};

// Runs it, and returns the attempts that finished, in their order.
std::vector<Ran> Attempts(Experiment e) {
  std::vector<Ran> ran;
  std::map<AttemptId, Instant> launched;
  e.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions) {
    if (const auto* f = std::get_if<sched::AttemptFinished>(&event.event)) {
      ran.push_back({f->attempt, f->worker, (event.at - launched[f->attempt]).seconds()});
    }
    for (const sched::Decision& d : decisions) {
      if (const auto* l = std::get_if<sched::Launch>(&d)) launched[l->attempt] = event.at;
    }
  };
  Simulation run(std::move(e));
  EXPECT_EQ(run.Run(nullptr), "");
  return ran;
}

TEST(MachineFactorsTest, AFactorStaysForAWhile) {
  constexpr int kTurns = 4000;
  MachineFactors machines({.5, 0}, 60, 1, 2);
  ASSERT_TRUE(machines.Change());
  double stayed = 0, logs = 0;
  for (int i = 0; i < kTurns; ++i) {
    stayed += machines.Stays(0).seconds();
    logs += std::pow(std::log(machines.factor(0)), 2);
    machines.Turn(0);
  }
  EXPECT_NEAR(stayed / kTurns, 60, 3);
  EXPECT_NEAR(std::sqrt(logs / kTurns), .5, .025);
}

TEST(MachineFactorsTest, WithoutAFactorAllAreAlike) {
  const MachineFactors machines({}, 60, 1, 2);
  EXPECT_EQ(machines.factor(1), 1);
  EXPECT_FALSE(machines.Change());
}

TEST(TaskModelTest, AMachineIsSlowForAllThatItRuns) {
  Experiment e = Maps(4, 12);
  e.tasks.machine.sigma = 1;
  std::map<WorkerId, std::set<int64_t>> times;  // in milliseconds
  for (const Ran& ran : Attempts(e)) times[ran.worker].insert(std::llround(ran.seconds * 1e3));
  std::set<int64_t> all;
  for (const auto& [worker, seen] : times) {
    EXPECT_THAT(seen, SizeIs(1)) << worker.value;
    all.insert(seen.begin(), seen.end());
  }
  EXPECT_THAT(all, SizeIs(4)) << "each machine has a factor of its own";
}

// A machine that changes every second runs each task of 10 s at about the mean of its speeds.
TEST(TaskModelTest, AMachineChangesWhileATaskRuns) {
  Experiment e = Maps(1, 20);
  e.tasks.machine = {0, .5, 100, 2};  // speeds of 1 and 1/2
  e.tasks.machine_lasts = .1;
  for (const Ran& ran : Attempts(e)) EXPECT_NEAR(ran.seconds, 10 / .75, 1.5);
}

// Two attempts of each task, on two workers: with skew they take the same time, with luck they do not.
TEST(TaskModelTest, SkewStaysWithTheTaskAndLuckDoesNot) {
  for (const bool skewed : {true, false}) {
    Experiment e = Maps(40, 20);
    (skewed ? e.tasks.skew : e.tasks.luck) = {.5, 0};
    e.policies = "fifo,late(min_age=1s,cap=1,slow_task=1)";
    e.tasks.report_period = Millis(100);
    for (uint32_t w = 0; w < 40; w += 2) e.cluster.workers[w].speed = .01;
    uint32_t second = 0;
    std::map<uint32_t, double> first_of;
    const Experiment alone = [&] {
      Experiment one = e;
      one.policies = "fifo";
      for (WorkerSpec& w : one.cluster.workers) w.speed = 1;
      return one;
    }();
    for (const Ran& ran : Attempts(alone)) first_of[ran.id.task.task] = ran.seconds;
    for (const Ran& ran : Attempts(e)) {
      if (ran.id.number == 1) continue;
      ++second;
      const double ratio = ran.seconds / first_of[ran.id.task.task];
      if (skewed) {
        EXPECT_NEAR(ratio, 1, 1e-6) << ran.id.task.task;
      } else {
        EXPECT_GT(std::abs(ratio - 1), 1e-3) << ran.id.task.task;
      }
    }
    EXPECT_GT(second, 0u) << "the task on the slow worker has a second attempt";
  }
}

// A job of recorded times. All attempts but one run twice as a strand would; here a second attempt comes from a slow
// worker. With a share of 1 it takes the time of its own task, with 0 that of a random one.
TEST(TaskModelTest, AnotherAttemptOfARecordedTaskSharesItsSkew) {
  for (const double share : {0.0, 1.0}) {
    Experiment e = Maps(20, 10);
    e.jobs[0].stages[0].durations = {4, 4, 4, 4, 4, 4, 4, 4, 4, 12};
    e.policies = "fifo,late(min_age=1s,cap=1,slow_task=1)";
    e.tasks.report_period = Millis(100);
    e.tasks.skew_share = share;
    for (uint32_t w = 0; w < 20; w += 2) e.cluster.workers[w].speed = .01;
    std::vector<double> of_long;
    for (const Ran& ran : Attempts(e)) {
      if (ran.id.number > 1 && ran.id.task.task == 9) of_long.push_back(ran.seconds);
      if (ran.id.number > 1 && ran.id.task.task != 9 && share == 1) {
        EXPECT_NEAR(ran.seconds, 4, .1);
      }
    }
    if (share == 1) {
      EXPECT_THAT(of_long, Each(Ge(11.9)));
    }
  }
}

TEST(TaskModelTest, AStartTakesTimeBeforeTheFirstByte) {
  Experiment e = Maps(2, 2);
  e.tasks.startup = 3;
  e.cluster.workers[1].speed = 2;
  std::vector<double> seconds;
  for (const Ran& ran : Attempts(e)) seconds.push_back(ran.seconds);
  EXPECT_THAT(seconds, ElementsAre(testing::DoubleNear(8, 1e-3), testing::DoubleNear(13, 1e-3)))
      << "computing is twice as fast, the start is not";
}

TEST(TaskModelTest, StallsStopAnAttemptForAWhile) {
  Experiment e = Maps(1, 200);
  e.tasks.stall_every = 10;
  e.tasks.stall_lasts = 5;
  double sum = 0;
  for (const Ran& ran : Attempts(e)) {
    EXPECT_GE(ran.seconds, 10 - 1e-3);
    sum += ran.seconds;
  }
  EXPECT_NEAR(sum / 200, 15, 1) << "one stall in each, of 5 s";
}

std::vector<double> Reported(Experiment e, size_t* frames) {
  std::vector<double> shares;
  *frames = 0;
  e.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>&) {
    const auto* p = std::get_if<sched::AttemptProgress>(&event.event);
    if (p == nullptr) return;
    ++*frames;
    for (const auto& r : p->reports)
      shares.push_back(static_cast<double>(r.taken_bytes) / static_cast<double>(r.total_bytes));
  };
  Simulation run(std::move(e));
  EXPECT_EQ(run.Run(nullptr), "");
  return shares;
}

TEST(ReportsTest, NoiseBendsProgressAndKeepsItsOrder) {
  Experiment e = Maps(1, 1);
  size_t frames = 0;
  const std::vector<double> exact = Reported(e, &frames);
  e.tasks.report_noise = 1;
  e.seed = 3;
  const std::vector<double> noisy = Reported(e, &frames);
  EXPECT_NE(noisy, exact);
  EXPECT_TRUE(std::is_sorted(noisy.begin(), noisy.end()));
  EXPECT_LE(noisy.back(), 1);
}

TEST(ReportsTest, TheLastPhaseEndsAtTheShareThatIsTaken) {
  Experiment e;
  e.cluster.racks.push_back({"here", 0, 0});
  e.cluster.workers.assign(4, WorkerSpec());
  for (WorkerSpec& w : e.cluster.workers) w.slots.total = 2;
  e.jobs.push_back(MapReduce(0, "halves", 4, 4 * 30'000'000, 4, 4 * 30'000'000, 1000));
  e.jobs[0].stages[1].taken = .5;
  e.tasks.report_period = Millis(20);
  std::map<int, double> most;
  e.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>&) {
    const auto* p = std::get_if<sched::AttemptProgress>(&event.event);
    if (p == nullptr) return;
    for (const auto& r : p->reports) {
      const double share = static_cast<double>(r.taken_bytes) / static_cast<double>(r.total_bytes);
      most[r.phase] = std::max(most[r.phase], share);
    }
  };
  Simulation run(std::move(e));
  EXPECT_EQ(run.Run(nullptr), "");
  EXPECT_NEAR(most[3], .5, .02);
  EXPECT_NEAR(most[0], 1, .02) << "reading a split";
  EXPECT_NEAR(most[2], 1, .05) << "the merge";
}

// A cluster that is not new begins its offers anywhere. Everything keeps its worker.
TEST(FirstOfferTest, WorkersAreRenumberedWithWhatNamesThem) {
  Experiment e;
  for (const double speed : {1., 2., 3., 4., 5.}) {
    e.cluster.workers.emplace_back();
    e.cluster.workers.back().speed = speed;
  }
  e.faults.faults.push_back({FaultKind::kCrash, 0, 3, 0, 1});
  e.jobs.push_back(MapReduce(0, "placed", 1, 1, 0, 0, 1));
  e.jobs[0].stages[0].preferred = {{0, 4}};
  std::set<double> first;
  for (e.seed = 1; e.seed <= 64; ++e.seed) {
    Experiment other = e;
    OfferFromAnyWorker(&other);
    const auto speed = [&](uint32_t w) { return other.cluster.workers[w].speed; };
    EXPECT_EQ(speed(other.faults.faults[0].worker), 4);
    EXPECT_EQ(speed(other.jobs[0].stages[0].preferred[0][0]), 1);
    EXPECT_EQ(speed(other.jobs[0].stages[0].preferred[0][1]), 5);
    first.insert(speed(0));
  }
  EXPECT_EQ(first.size(), 5u);
}

TEST(ReportsTest, SomeAreLost) {
  Experiment e = Maps(1, 100);
  size_t all = 0, most = 0;
  Reported(e, &all);
  e.tasks.report_lost = .4;
  Reported(e, &most);
  EXPECT_NEAR(static_cast<double>(most) / static_cast<double>(all), .6, .06);
}

// A frame that is 30 s late comes when its attempt of 10 s has ended, which harms nobody.
TEST(ReportsTest, LateOnesKeepTheirOrder) {
  Experiment e = Maps(2, 40);
  e.tasks.report_late = .5;
  e.tasks.report_late_by = Seconds(30);
  std::map<AttemptId, std::vector<double>> of;
  e.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>&) {
    const auto* p = std::get_if<sched::AttemptProgress>(&event.event);
    if (p == nullptr) return;
    for (const auto& r : p->reports) of[r.attempt].push_back(static_cast<double>(r.taken_bytes));
  };
  Simulation run(std::move(e));
  EXPECT_EQ(run.Run(nullptr), "");
  EXPECT_GT(of.size(), 30u);
  for (const auto& [id, done] : of) EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

TEST(TaskModelTest, ItsNumbersAreWrittenAndReadByName) {
  std::string text = "[task]\n";
  int n = 0;
  TaskModel model;
  VisitNumbers(&model, [&](std::string_view name, auto& value, double lowest, double highest) {
    SetNumber(lowest + std::min(1.0, highest - lowest) * .01 * ++n, &value);
    char line[64];
    std::snprintf(line, sizeof line, "%s = %.17g\n", std::string(name).c_str(), AsNumber(value));
    text += line;
  });
  const auto read = ParseTasksToml(text, "model");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(NumbersOf(*read), NumbersOf(model));
  EXPECT_FALSE(ParseTasksToml("[task]\nskew_share = 1.5\n", "model").ok());
}

TEST(TaskModelTest, ASteadyModelHasNoChance) {
  TaskModel model;
  model.luck = model.skew = model.machine = {1, 1};
  model.startup = model.startup_sigma = model.stall_every = model.stall_lasts = 1;
  model.report_noise = model.report_lost = model.report_late = .5;
  Experiment e = Maps(3, 9);
  e.tasks = Steady(model);
  std::set<int64_t> times;
  for (const Ran& ran : Attempts(e)) times.insert(std::llround(ran.seconds * 1e6));
  EXPECT_THAT(times, SizeIs(1));
}

}  // namespace
}  // namespace mr::sim
