// Resources that attempts share, in cases whose end can be worked by hand. A map computes at 10 MB/s.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "master/sim/engine/simulation.h"

namespace mr::sim {
namespace {

constexpr uint64_t kMB = 1'000'000;

Experiment Bare(uint32_t workers, uint32_t slots, double disk) {
  Experiment s;
  s.cluster.racks.push_back({});
  WorkerSpec w;
  w.slots.total = slots;
  w.disk = disk;
  s.cluster.workers.assign(workers, w);
  s.tasks = Exact();
  s.check = true;
  return s;
}

Experiment Maps(Experiment s, uint32_t maps) {
  s.jobs = {MapReduce(0, "j", maps, maps * 100 * kMB, 0, 0, 0)};
  return s;
}

double Seconds(Experiment s) {
  Simulation run(std::move(s));
  EXPECT_EQ(run.Run(nullptr), "");
  return run.jobs()[0].ended;
}

// Two workers of one host have 5 MB/s each while both read, and 10 MB/s when one does. So two maps take 20 s, and a
// third takes 10 s more.
TEST(LoadTest, WorkersOfAHostShareItsDiskWhileTheyUseIt) {
  Experiment s = Bare(2, 1, 1);
  s.cluster.hosts = {{{10e6, 5e6}}};
  for (WorkerSpec& w : s.cluster.workers) w.host = 0;
  EXPECT_NEAR(Seconds(Maps(s, 1)), 10, 1e-3);
  EXPECT_NEAR(Seconds(Maps(s, 2)), 20, 1e-3);
  EXPECT_NEAR(Seconds(Maps(s, 3)), 30, 1e-3);
}

// The reduce runs on the second worker and sends its 80 MB to the first, at 8 MB/s of the shared interface.
TEST(LoadTest, WorkersOfAHostShareItsInterfaces) {
  Experiment s = Bare(2, 1, 1e9);
  s.cluster.hosts = {{{1e9}}};
  for (WorkerSpec& w : s.cluster.workers) w.host = 0;
  s.cluster.workers[0].up = 8e6;
  s.tasks.output_replicas = 2;
  s.jobs = {MapReduce(0, "j", 1, kMB, 1, kMB, 80 * kMB)};
  EXPECT_NEAR(Seconds(s), 10.25, .1);
}

TEST(LoadTest, CoresAreSharedByWhatComputes) {
  Experiment s = Bare(1, 2, 1e9);
  EXPECT_NEAR(Seconds(Maps(s, 2)), 10, 1e-3) << "a core for each";
  s.cluster.workers[0].cores = 1;
  EXPECT_NEAR(Seconds(Maps(s, 2)), 20, 1e-3);
  EXPECT_NEAR(Seconds(Maps(s, 3)), 30, 1e-3) << "the third has the core alone";
  s.cluster.workers[0].cpu_hogs = 3;
  EXPECT_NEAR(Seconds(Maps(s, 1)), 40, 1e-3);
}

// A disk of 20 MB/s and three endless writers leave 5 MB/s.
TEST(LoadTest, ProcessesThatWriteForEverTakeTheirShareOfTheDisk) {
  Experiment s = Bare(1, 1, 20e6);
  EXPECT_NEAR(Seconds(Maps(s, 1)), 10, 1e-3);
  s.cluster.workers[0].disk_hogs = 3;
  EXPECT_NEAR(Seconds(Maps(s, 1)), 20, 1e-3);
  s.cluster.workers[0].hog_weight = 3;
  EXPECT_NEAR(Seconds(Maps(s, 1)), 50, 1e-3) << "a tenth of the disk";
}

// A map that moves four disk bytes per input byte has half of 20 MB/s, like the writer: 2.5 MB/s of input.
TEST(LoadTest, ProcessesShareADiskByTheBytesOfDiskThatTheyMove) {
  Experiment s = Bare(1, 1, 20e6);
  s.tasks.map_disk = 3;
  s.cluster.workers[0].disk_hogs = 1;
  s.jobs = {MapReduce(0, "j", 1, 100 * kMB, 0, 0, 100 * kMB)};
  EXPECT_NEAR(Seconds(s), 40, 1e-3);
}

// The job takes 28 hours. The writer's flow ends every 83 minutes and starts again.
TEST(LoadTest, ProcessesThatWriteForEverNeverEnd) {
  Experiment s = Bare(1, 1, 20e9);
  s.cluster.workers[0].disk_hogs = 1;
  s.jobs = {MapReduce(0, "j", 1, kMB, 0, 0, 0)};
  s.jobs[0].stages[0].durations = {1e5f};
  EXPECT_NEAR(Seconds(s), 1e5, 1);
}

// Reads 100 MB and writes three times as much, on 20 MB/s.
TEST(LoadTest, MapsWriteTheirOutputToDisk) {
  Experiment s = Bare(1, 1, 20e6);
  s.tasks.map_disk = 3;
  s.jobs = {MapReduce(0, "j", 1, 100 * kMB, 0, 0, 100 * kMB)};
  EXPECT_NEAR(Seconds(s), 20, 1e-3);
}

// The map takes 10 s. The reduce runs on the other worker: 50 MB arrive and are written at 50 MB/s of disk, 1 s. The
// merge moves two disk bytes each, 2 s; the reduce runs at 10 MB/s, 5 s. With interfaces of 5 MB/s the arrival takes 10
// s, and the replica 10 s.
TEST(LoadTest, ReducesWriteAndReplicate) {
  for (const double down : {1e9, 5e6}) {
    Experiment s = Bare(2, 1, 50e6);
    s.cluster.workers[0].up = s.cluster.workers[1].up = 1e9;
    s.cluster.workers[0].down = s.cluster.workers[1].down = down;
    s.tasks.copy_disk = 1;
    s.tasks.sort_disk = 2;
    s.tasks.reduce_disk = 1;
    s.tasks.output_disk = 1;
    s.tasks.output_replicas = 2;
    s.jobs = {MapReduce(0, "j", 1, 100 * kMB, 1, 50 * kMB, 50 * kMB)};
    EXPECT_NEAR(Seconds(s), down > 5e6 ? 18 : 32, 1e-2);
    s.tasks.reduce_disk = 9;  // (9 + 1) disk bytes each: 10 s
    EXPECT_NEAR(Seconds(s), down > 5e6 ? 23 : 32, 1e-2);
  }
}

// The reduce reads 1000 MB of outputs from the first worker, at the 10 MB/s of its own interface. Of 20 MB/s of disk
// there, a map that computes at 10 MB/s keeps 20, 5 or (the least share) 2 MB/s.
TEST(LoadTest, ReadersTakeOfTheDisksThatServeThem) {
  for (const auto& [each, seconds] : std::map<double, double>{{0, 10}, {1.5, 20}, {10, 50}}) {
    Experiment s = Bare(2, 1, 20e6);
    s.cluster.workers[0].slots = {18, 18, 0};
    s.cluster.workers[1].slots = {1, 0, 1};
    s.cluster.workers[1].down = 10e6;
    s.tasks.serve_disk = each;
    s.jobs = {MapReduce(0, "many outputs", 18, kMB, 1, 1000 * kMB, 0), MapReduce(5, "beside", 1, 100 * kMB, 0, 0, 0)};
    for (JobModel& job : s.jobs) job.stages[0].preferred.assign(job.stages[0].tasks, {0});
    Simulation run(std::move(s));
    EXPECT_EQ(run.Run(nullptr), "");
    EXPECT_NEAR(run.jobs()[1].ended - 5, seconds, .01) << each;
    EXPECT_NEAR(run.jobs()[0].ended, 225, .5) << "the reader is not held up";
  }
}

// The job of LATE 5.4 with maps of 30 s. Reduces of 3.5 s start with the maps and wait for 90 s; a speculative attempt
// does not wait. Without one for the reduce on the slowest worker, the job takes until 129 s.
TEST(LoadTest, ASlowReduceIsSpeculatedHoweverLongItsMapsTook) {
  Experiment s = Bare(8, 4, 1e9);
  const std::vector<double> times_as_slow = {1, 1, 1, 1.5, 1.5, 1.5, 3, 10};
  for (size_t w = 0; w < times_as_slow.size(); ++w) {
    s.cluster.workers[w].slots = {4, 2, 2};
    s.cluster.workers[w].speed = 1 / times_as_slow[w];
  }
  s.policies = "fifo,late(min_age=3s,skew_check=on,gain=2.5,estimator=phases)";
  s.tasks.report_period = Millis(50);
  s.jobs = {MapReduce(0, "naps", 16, 16 * kMB, 15, 15 * kMB, 0)};
  s.jobs[0].stages[0].durations = {30};
  s.jobs[0].stages[1].naps = 100;
  s.jobs[0].stages[1].longest_nap = .07;
  EXPECT_NEAR(Seconds(s), 100, 5);
}

// 100 naps of up to 1.4 s take 70 s +- 4 s; ten times that on a slow worker, except with same_everywhere.
TEST(LoadTest, NapsAddUpAndDependOnTheWorker) {
  Experiment s = Bare(1, 1, 1e9);
  s.jobs = {MapReduce(0, "j", 1, kMB, 0, 0, 0)};
  s.jobs[0].stages[0].naps = 100;
  s.jobs[0].stages[0].longest_nap = 1.4;
  const double once = Seconds(s);
  EXPECT_NEAR(once, 70, 17);
  s.cluster.workers[0].speed = .1;
  EXPECT_NEAR(Seconds(s), 10 * once, .01);
  s.jobs[0].stages[0].same_everywhere = true;
  EXPECT_NEAR(Seconds(s), once, .01);
}

// A reduce that sleeps copies and merges nothing at once, so its score begins at two thirds. At 70 s three are done.
// The fourth at 0.70 is more than 0.2 behind their average of 0.92, and gets a speculative attempt.
TEST(LoadTest, ReducesReportByThirds) {
  Experiment s = Bare(4, 1, 1e9);
  s.policies = "fifo,hadoop_speculation";
  s.cluster.workers[3].speed = .1;
  s.jobs = {MapReduce(0, "j", 4, 4 * kMB, 4, 4 * kMB, 0)};
  s.jobs[0].stages[0].durations = {1};
  s.jobs[0].stages[0].same_everywhere = true;
  s.jobs[0].stages[1].durations = {70};
  EXPECT_NEAR(Seconds(s), 1 + 70 + 70, 1);
  s.policies = "fifo";
  EXPECT_NEAR(Seconds(s), 701, 1);
}

// At 1 s the first map ends, and no reduce takes its slot yet. The slot is offered again every minute. Three reduces
// end at 41 s. The fourth is judged at 61 s and, a minute old, gets its speculative attempt.
TEST(LoadTest, OffersComeEveryPeriod) {
  Experiment s = Bare(4, 1, 1e9);
  s.policies = "fifo,hadoop_speculation";
  s.cluster.workers[3].speed = .01;
  s.offer_period = mr::Seconds(60);
  s.jobs = {MapReduce(0, "j", 4, 4 * kMB, 4, 4 * kMB, 0)};
  s.jobs[0].stages[0].durations = {1};
  s.jobs[0].stages[0].same_everywhere = true;
  s.jobs[0].stages[1].durations = {40};
  EXPECT_NEAR(Seconds(s), 61 + 40, .1);
  s.offer_period = mr::Seconds(45);
  EXPECT_NEAR(Seconds(s), 91 + 40, .1);
}

}  // namespace
}  // namespace mr::sim
