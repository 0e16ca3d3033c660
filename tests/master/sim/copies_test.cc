// How a reader copies few outputs, in cases whose end can be worked by hand. Two maps read 100 MB each at 10 MB/s, on a
// worker as fast as others and on one half as fast, so they end at 10 and 20 s. The reduce on a third worker reads 50
// MB from each.
#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "master/sim/engine/simulation.h"

namespace mr::sim {
namespace {

constexpr uint64_t kMB = 1'000'000;
constexpr double kFast = 1e12;

Experiment Job(double up, double down) {
  Experiment s;
  s.cluster.racks.push_back({});
  WorkerSpec w;
  w.slots.total = 1;
  w.disk = kFast;
  w.up = up;
  w.down = down;
  s.cluster.workers.assign(3, w);
  s.cluster.workers[1].speed = .5;
  s.tasks = Exact();
  s.check = true;
  s.jobs = {MapReduce(0, "j", 2, 200 * kMB, 1, 100 * kMB, 0)};
  s.jobs[0].stages[0].preferred = {{0}, {1}};
  return s;
}

double EndOf(Experiment s) {
  Simulation run(std::move(s));
  EXPECT_EQ(run.Run(nullptr), "");
  return run.jobs()[0].ended;
}

// When the reduce has read all, if reads take no time: 20 s, and what comes after.
double Ends(double up, double down) { return 20 + EndOf(Job(up, down)) - EndOf(Job(kFast, kFast)); }

TEST(CopiesTest, ALaterOutputIsReadFromItsOwnWorker) {
  EXPECT_NEAR(Ends(5e6, kFast), 30, .1) << "the first is read from 10 to 20 s, the second from 20 to 30 s";
}

TEST(CopiesTest, OutputsThatAppearDuringAReadAreReadBesideIt) {
  EXPECT_NEAR(Ends(2.5e6, kFast), 40, .1) << "from 10 to 30 s and from 20 to 40 s";
}

TEST(CopiesTest, ReadsShareTheInterfaceOfTheirReader) {
  EXPECT_NEAR(Ends(kFast, 2.5e6), 50, .1) << "100 MB from 10 s on";
}

// Both maps run on one worker and end at 10 s.
TEST(CopiesTest, ReadsFromOneWorkerShareItsInterface) {
  Experiment s = Job(2.5e6, kFast);
  s.cluster.workers[0].slots.total = 2;
  s.jobs[0].stages[0].preferred = {{0}, {0}};
  Experiment fast = s;
  fast.cluster.workers[0].up = kFast;
  EXPECT_NEAR(10 + EndOf(s) - EndOf(fast), 50, .1) << "100 MB from 10 s on";
}

// The reduce is in another rack than the maps, behind an uplink of 5 MB/s.
TEST(CopiesTest, ReadsShareTheUplinkOfTheirRack) {
  Experiment s = Job(kFast, kFast);
  s.cluster.racks = {{"a", 5e6, 5e6}, {"b", 0, 0}};
  s.cluster.workers[2].rack = 1;
  EXPECT_NEAR(20 + EndOf(s) - EndOf(Job(kFast, kFast)), 30, .1) << "the first from 10 to 20 s, then the second";
}

// The second stage has two edges from the first: it reads each output once.
TEST(CopiesTest, AnOutputThatTwoEdgesNameIsReadOnce) {
  Experiment s = Job(5e6, kFast);
  sched::StageInput edge = s.jobs[0].stages[1].inputs[0];
  s.jobs[0].stages[1].inputs.push_back(edge);
  EXPECT_NEAR(20 + EndOf(s) - EndOf(Job(kFast, kFast)), 30, .1);
}

// Half of the first output is read when it is lost at 15 s. The first worker makes it anew until 25 s.
TEST(CopiesTest, ALostOutputIsReadFromItsStart) {
  Experiment s = Job(5e6, kFast);
  s.faults.faults.push_back({FaultKind::kOutputLost, 15, 0, 0, 1});
  EXPECT_NEAR(20 + EndOf(s) - EndOf(Job(kFast, kFast)), 35, .1) << "the second from 20 to 30 s";
}

// All tasks have clones, and each reader is bound to one replica of either output.
TEST(CopiesTest, ABoundReaderReadsALaterOutputBesideTheFirst) {
  Experiment s = Job(2.5e6, kFast);
  s.cluster.workers.insert(s.cluster.workers.end(), s.cluster.workers.begin(), s.cluster.workers.begin() + 3);
  s.policies = "fair,dolly(beta=1,floor=6,tau=1),delay_assignment";
  using Read = std::pair<double, double>;       // begin and end, seconds
  std::map<uint32_t, std::vector<Read>> reads;  // keyed by the reader's number
  s.watch = [&](const sched::StampedEvent& event, const std::vector<sched::Decision>&) {
    const auto* done = std::get_if<sched::FetchDone>(&event.event);
    if (done == nullptr) return;
    const double end = event.at.ns * 1e-9;
    reads[done->reader.number].emplace_back(end - done->took.seconds(), end);
  };
  Simulation run(std::move(s));
  ASSERT_EQ(run.Run(nullptr), "");
  EXPECT_EQ(reads.size(), 2u) << "the reduce and its clone";
  for (const auto& [number, r] : reads) {
    ASSERT_EQ(r.size(), 2u);
    EXPECT_GT(r[1].first, r[0].first + 5) << "the second output appears later";
    EXPECT_LT(r[1].first, r[0].second - 5) << "the first is being read then";
  }
}

}  // namespace
}  // namespace mr::sim
