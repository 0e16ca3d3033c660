// Jobs of equal tasks have no stragglers, so what the default list launches beside their first attempts is in vain.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "master/sched/defaults.h"
#include "master/sched/job_bins.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {
namespace {

// Jobs of each size after which the list must know that their tasks are equal.
constexpr uint32_t kLearned = 20;

size_t SizeOf(const JobModel& job) {
  uint32_t tasks = 0;
  for (const StageModel& stage : job.stages) tasks += stage.tasks;
  return sched::BinOfTasks(tasks) - 1;
}

// Adds up the slot time of tasks of jobs that came after the first kLearned of their size.
class SlotTime {
 public:
  explicit SlotTime(const std::vector<JobModel>& jobs) {
    std::array<uint32_t, sched::kBins> seen{};
    for (const JobModel& job : jobs) counted_.push_back(seen[SizeOf(job)]++ >= kLearned);
  }

  void See(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions) {
    if (const auto* e = std::get_if<sched::AttemptKilled>(&event.event)) End(e->attempt, event.at, false);
    if (const auto* e = std::get_if<sched::AttemptFailed>(&event.event)) End(e->attempt, event.at, false);
    for (const sched::Decision& d : decisions) {
      if (const auto* accept = std::get_if<sched::Accept>(&d)) End(accept->attempt, event.at, accept->winner);
      if (const auto* refuse = std::get_if<sched::Refuse>(&d)) End(refuse->attempt, event.at, false);
      if (const auto* launch = std::get_if<sched::Launch>(&d)) Begin(*launch, event.at);
    }
  }

  uint64_t extra = 0;           // speculative attempts, restarts and clones
  double all = 0, in_vain = 0;  // slot-seconds. in_vain: of attempts that did not commit

 private:
  void Begin(const sched::Launch& launch, Instant at) {
    if (!counted_[launch.attempt.task.job.seq - 1]) return;
    began_[launch.attempt] = at;
    extra += launch.cause != Cause::kFirst;
  }

  void End(const AttemptId& attempt, Instant at, bool commits) {
    const auto it = began_.find(attempt);
    if (it == began_.end()) return;
    const double held = (at - it->second).seconds();
    all += held;
    if (!commits) in_vain += held;
    began_.erase(it);
  }

  std::vector<bool> counted_;  // per job
  std::map<AttemptId, Instant> began_;
};

// The default list without the clones that jobs have from the start, which cost slot time by design.
std::string WithoutDolly() {
  std::string list = sched::kDefaultPolicies;
  const size_t from = list.find("dolly("), to = list.find("delay_assignment");
  return list.replace(from, to - from, "");
}

SlotTime SlotTimeUnder(const TaskModel& tasks, const std::string& jobs, uint64_t seed) {
  Experiment e;
  e.cluster = *ParseCluster("150x12");
  e.jobs = *Generate(jobs, seed);
  e.tasks = tasks;
  e.policies = WithoutDolly();
  e.seed = seed;
  SlotTime time(e.jobs);
  e.watch = [&time](const auto& event, const auto& decisions) { time.See(event, decisions); };
  Simulation run(std::move(e));
  EXPECT_EQ(run.Run(nullptr), "");
  return time;
}

// .05 to .95 % were measured, with three seeds of each mix. Reads of some tasks are slower than others'.
TEST(EqualTasksTest, SpeculationAndIdleClonesTakeAtMostOnePercent) {
  for (const char* jobs : {"generate:facebook,jobs=2500", "generate:bing,jobs=1500"}) {
    const SlotTime time = SlotTimeUnder(Steady({}), jobs, 2);
    EXPECT_GT(time.all, 0);
    EXPECT_LE(time.in_vain, .01 * time.all) << jobs << ": " << time.extra << " attempts";
  }
}

// Times that differ by a twentieth are equal, too: a new attempt ends a little sooner at most.
TEST(EqualTasksTest, NearlyEqualTasksCostAsLittle) {
  TaskModel tasks = Steady({});
  tasks.luck.sigma = .05;
  const SlotTime time = SlotTimeUnder(tasks, "generate:facebook,jobs=2500", 1);
  EXPECT_GT(time.extra, 0u);
  EXPECT_LE(time.in_vain, .01 * time.all) << time.extra << " attempts; 2.7 % without late's worth";
}

// Progress that is reported wrong by a fifth makes one attempt in a hundred look five times as slow as others.
TEST(EqualTasksTest, NoiseInReportsCostsLittle) {
  TaskModel tasks = Steady({});
  tasks.report_noise = .2;
  const SlotTime time = SlotTimeUnder(tasks, "generate:facebook,jobs=2500", 1);
  EXPECT_GT(time.extra, 0u);
  EXPECT_LE(time.in_vain, .02 * time.all) << time.extra << " attempts; 11 % without late's worth";
}

}  // namespace
}  // namespace mr::sim
