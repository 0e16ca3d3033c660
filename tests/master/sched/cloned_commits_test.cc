// Commits of tasks that run as clones, under faults: nothing that a job reads is lost or comes twice, and operators
// that give other content each time are found. Short by default; MR_LONG=1 makes a million commits.
#include <gtest/gtest.h>

#include <optional>

#include "common/base/rng.h"
#include "tests/master/sched/random_cluster.h"
#include "tests/master/sched/small_job.h"
#include "tests/support/rounds.h"

namespace mr::sched {
namespace {

// Workers die, drain and come back, attempts fail, reports come late and twice, replicas get lost, the master
// restarts. Half of the tasks that commit had clones, some of them on lent slots.
TEST(ClonedCommitsTest, NoRecordIsLostOrDoubled) {
  // A budget without end.
  const char* const lists[] = {
      "fair,dolly(floor=1000,admission=fcfs,p=0.7),delay_assignment(omega=20ms),"
      "opportunistic(fill=1)",
      "fifo,dolly(floor=1000,admission=fcfs,p=0.7,charge=extra),delay_assignment(omega=inf),"
      "opportunistic(attempts=3,fill=1),late(min_age=20ms)"};
  const uint64_t enough = test::Long() ? 1'000'000 : 4'000;
  uint64_t commits = 0, cloned = 0, lent = 0, lost = 0, seed = 9'000;
  for (; commits < enough; ++seed) {
    RandomCluster cluster(seed, lists[seed % 2], true);
    ASSERT_EQ(cluster.Run(2500, test::Long() ? 200 : 50), "") << "seed " << seed;
    commits += cluster.commits();
    cloned += cluster.cloned_commits();
    lent += static_cast<uint64_t>(cluster.slots_lent());
    lost += static_cast<uint64_t>(cluster.decisions()[Decision(DropReplica{}).index()]);
  }
  RecordProperty("commits", std::to_string(commits));
  RecordProperty("cloned", std::to_string(cloned));
  EXPECT_GE(2 * cloned, commits);
  EXPECT_GT(lent, 10u);
  EXPECT_GT(lost * 100, commits);
}

// Two maps and a reduce, with two attempts each. Each attempt of a map gives other content. All of them end, in any
// order, while the first reader still waits for a replica of its own.
class RandomOperator {
 public:
  explicit RandomOperator(uint64_t seed) : rng_(Rng::Stream(seed, "operator")) {
    Send(ConfigChanged{"fair(slowstart=1),dolly(p=0.1,beta=1,tau=1),delay_assignment(omega=10s)", seed,
                       kSchedulerVersion, Millis(100)});
    for (uint32_t w = 1; w <= 8; ++w) Send(OneSlotWorker(w));
    Send(SmallMapReduceJob());
    Send(StagePlanned{{1, 1}, 0, 1, {{}, {}}, ""});
    TaskPlan reduce;
    reduce.slices = {{0, 0, 1, 0, 2}};
    Send(StagePlanned{{1, 1}, 1, 1, {reduce}, ""});
  }

  // Ends the attempts of maps in any order, then those of reduces.
  void Run() {
    for (int left = 100; !committed && left > 0; --left) {
      std::vector<Launch> can;
      for (const Launch& l : running_) {
        if (l.attempt.task.stage == 0) can.push_back(l);
      }
      if (can.empty()) can = running_;
      ASSERT_FALSE(can.empty());
      at_ += rng_.Uniform();
      Finish(can[rng_.Below(can.size())]);
    }
  }

  bool committed = false;
  int marked = 0, reports = 0;
  std::set<std::pair<TaskId, WorkerId>> replicas_read;

 private:
  void Send(const Event& event) {
    s_.Send(at_, event);
    for (const Decision& d : std::vector<Decision>(s_.out)) {
      if (const auto* l = std::get_if<Launch>(&d)) running_.push_back(*l);
      marked += std::holds_alternative<MarkIndeterminate>(d);
      committed = committed || std::holds_alternative<CommitJob>(d);
      if (const auto* kill = std::get_if<Kill>(&d)) {
        if (Forget(kill->attempt)) Send(AttemptKilled{kill->attempt, kill->worker, kill->incarnation});
      }
    }
  }
  bool Forget(const AttemptId& id) {
    return std::erase_if(running_, [&](const Launch& l) { return l.attempt == id; }) > 0;
  }
  void Finish(const Launch& l) {
    const State& state = s_.scheduler.state();
    AttemptFinished e{l.attempt, l.worker, l.incarnation, {1, 1, {7, 7}}, {}, {}, {}};
    if (l.attempt.task.stage == 0) {
      e.manifest.content = {rng_.Next(), rng_.Next()};
      ++reports;
    } else {
      for (uint32_t t = 0; t < 2; ++t) {
        const Task& up = *state.FindTask({{1, 1}, 0, t});
        e.consumed.push_back({0, t, up.generation, up.manifest.content});
        for (const ReplicaPlace& replica : up.replicas) replicas_read.insert({{{1, 1}, 0, t}, replica.worker});
      }
    }
    Forget(l.attempt);
    Send(e);
  }

  Rng rng_;
  SteppedScheduler s_;
  double at_ = 0;
  std::vector<Launch> running_;
};

TEST(ClonedCommitsTest, ARandomOperatorWhoseClonesAllEndIsCaughtInEachOfAHundredRuns) {
  int caught = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    RandomOperator run(seed);
    ASSERT_NO_FATAL_FAILURE(run.Run());
    EXPECT_TRUE(run.committed) << "seed " << seed;
    EXPECT_EQ(run.reports, 4) << "seed " << seed;
    EXPECT_EQ(run.replicas_read.size(), 2u) << "one of each map, seed " << seed;
    caught += run.marked > 0;
  }
  EXPECT_EQ(caught, 100);
}

}  // namespace
}  // namespace mr::sched
