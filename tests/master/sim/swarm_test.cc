// The swarm covers what it must, and makes its findings small.
#include "master/sim/swarm/swarm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "master/sched/policies/baselines/reasons.h"
#include "master/sched/policies/jockey/reasons.h"
#include "master/sched/policies/late/reasons.h"
#include "master/sched/policies/list.h"
#include "master/sched/policies/mantri/reasons.h"
#include "master/sched/reason.h"
#include "master/sched/state/state.h"
#include "master/sim/swarm/shrink.h"

namespace mr::sim {
namespace {

using testing::HasSubstr;

TEST(SwarmTest, EveryConfigurationEndsAsItShould) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    ASSERT_EQ(RunChecked(RandomExperiment(seed, kAnyPolicies)), "") << "seed " << seed;
  }
}

TEST(SwarmTest, EachPolicyOfTheListIsDrawn) {
  std::set<std::string_view> drawn;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const auto list = sched::Pipeline::Parse(RandomPolicies(seed));
    ASSERT_TRUE(list.ok()) << RandomPolicies(seed);
    for (const sched::PolicyEntry& entry : sched::AllPolicies()) {
      if (list->Has(entry.name)) drawn.insert(entry.name);
    }
  }
  for (const sched::PolicyEntry& entry : sched::AllPolicies()) EXPECT_TRUE(drawn.contains(entry.name)) << entry.name;
}

// Without the first worker a job may take days of virtual time, as under seed 3742 with any list.
TEST(SwarmTest, TheFirstWorkerIsAlwaysWellAgain) {
  size_t seen = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    for (const Fault& fault : RandomExperiment(seed, "fifo").faults.faults) {
      if (fault.worker != 0 || fault.kind == FaultKind::kOutputLost) continue;
      EXPECT_GT(fault.lasts, 0) << "seed " << seed;
      ++seen;
    }
  }
  EXPECT_GT(seen, 50u);
  EXPECT_EQ(RunChecked(RandomExperiment(3742, "fifo")), "");
}

// Coupling lets tasks of a job below its guarantee wait, so slots that were freed for it go to others again. Evicting
// these every second would never end.
TEST(SwarmTest, EvictionThatHelpsNobodyKeepsNobodyFromItsEnd) {
  constexpr int kRuns = 20;
  int runs = 0;
  for (uint64_t seed = 1; runs < kRuns; ++seed) {
    const std::string list = RandomPolicies(seed);
    if (list.find("jockey") == std::string::npos || list.find("coupling") == std::string::npos) continue;
    EXPECT_EQ(RunChecked(RandomExperiment(seed, list)), "") << seed;
    ++runs;
  }
}

TEST(SwarmTest, PreemptionSpeculationLossAndWaitsHappen) {
  std::set<std::string> reasons, policies;
  size_t queues = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    Experiment e = RandomExperiment(seed, kAnyPolicies);
    queues += e.queues.size();
    e.check = false;
    e.watch = [&](const sched::StampedEvent&, const std::vector<sched::Decision>& decisions) {
      for (const sched::Decision& d : decisions) {
        std::visit(
            [&](const auto& x) {
              if constexpr (requires { x.reason; }) {
                reasons.insert(sched::ReasonName(x.reason.code));
                policies.insert(x.reason.policy);
              } else if constexpr (requires { x.policy; }) {
                policies.insert(x.policy);  // of a Remember
              }
            },
            d);
      }
    };
    Simulation run(std::move(e));
    ASSERT_EQ(run.Run(nullptr), "") << "seed " << seed;
  }
  EXPECT_GT(queues, 50u);
  using Code = sched::ReasonCode;
  using Base = sched::BaselineReason;
  using Mantri = sched::MantriReason;
  for (const auto code : {Base::kPreempted, Code::kOutputLost, sched::LateReason::kLongestToEnd, Base::kBehindAverage,
                          Base::kEndOfPhase, Base::kBeyondMedian, Mantri::kRestartSooner, Mantri::kSpeculativeSooner,
                          Mantri::kRedoCostsMore, Mantri::kWorkerSuspected, Code::kLocalInput, Code::kRetryAfterFailure,
                          Code::kTaskCommitted, sched::JockeyReason::kAllotted, Base::kEvicted}) {
    EXPECT_EQ(reasons.count(sched::ReasonName(code)), 1u) << sched::ReasonName(code);
  }
  for (const char* policy :
       {"fifo", "fair", "late", "hadoop_speculation", "dryad_speculation", "spark_speculation", "mantri_placement",
        "mantri_restart", "mantri_replication", "mantri_recompute", "jockey", "coupling"}) {
    EXPECT_EQ(policies.count(policy), 1u) << policy;
  }
}

// Claims that no job is ever guaranteed a slot. Jockey breaks this whenever it works.
std::string NothingIsGuaranteed(const sched::State& state) {
  return state.guaranteed().empty() ? "" : "slots are guaranteed";
}

TEST(ShrinkTest, AGuaranteeNeedsOneJobWithADeadlineAndAPrediction) {
  const Checker check = [](const Experiment& e) {
    Experiment with = e;
    with.also = NothingIsGuaranteed;
    return RunChecked(std::move(with));
  };
  const std::string list = "fair,jockey,late";
  uint64_t seed = 1;
  const auto good = [&] {
    const Experiment e = RandomExperiment(seed, list);
    return e.jobs.size() >= 3 && e.wishes.size() >= 2 && !check(e).empty();
  };
  while (!good()) ++seed;
  const Shrunk small = Shrink(RandomExperiment(seed, list), check);
  EXPECT_THAT(small.wrong, HasSubstr("slots are guaranteed"));
  ASSERT_EQ(small.experiment.jobs.size(), 1u);
  EXPECT_NE(small.experiment.jobs[0].prediction, nullptr);
  EXPECT_LE(small.experiment.wishes.size(), 1u);
  EXPECT_EQ(small.experiment.policies, "fair,jockey");
  EXPECT_THAT(Describe(small.experiment), HasSubstr("its time is predicted"));
}

// Claims that no task has two attempts. A crash breaks it.
std::string NoTaskIsTriedTwice(const sched::State& state) {
  for (const auto& [id, job] : state.jobs()) {
    for (const sched::Stage& stage : job.stages) {
      for (const sched::Task& task : stage.tasks) {
        if (task.attempts.size() > 1) return Name(id) + ": a task is tried twice";
      }
    }
  }
  return "";
}

TEST(ShrinkTest, BrokenInvariantEndsAsOneTaskAndOneFault) {
  const Checker check = [](const Experiment& e) {
    Experiment with = e;
    with.also = NoTaskIsTriedTwice;
    return RunChecked(std::move(with));
  };
  // A large configuration without speculation, so that only a fault breaks it.
  uint64_t seed = 1;
  const auto good = [&] {
    const Experiment e = RandomExperiment(seed, "fair,delay");
    return e.jobs.size() >= 3 && e.cluster.workers.size() >= 10 && e.faults.faults.size() >= 4 && e.faults.lost == 0 &&
           !check(e).empty();
  };
  while (!good()) ++seed;
  const Shrunk small = Shrink(RandomExperiment(seed, "fair,delay"), check);
  EXPECT_THAT(small.wrong, HasSubstr("a task is tried twice"));
  EXPECT_EQ(check(small.experiment), small.wrong) << "what is printed does not break";
  ASSERT_EQ(small.experiment.jobs.size(), 1u);
  EXPECT_LE(small.experiment.jobs[0].stages.size(), 2u);
  EXPECT_LE(small.experiment.jobs[0].tasks(), 4u);
  EXPECT_LE(small.experiment.cluster.workers.size(), 2u);
  EXPECT_EQ(small.experiment.faults.faults.size(), 1u);
  EXPECT_EQ(small.experiment.policies.find(','), std::string::npos) << small.experiment.policies;
  EXPECT_LT(small.runs, 500u);
  EXPECT_THAT(Describe(small.experiment), HasSubstr("fault at "));
  Experiment again = small.experiment;
  again.check = true;
  again.also = NoTaskIsTriedTwice;
  const std::string last = LastEvents(again, 5);
  EXPECT_THAT(last, HasSubstr("-> Launch attempt_1_0001_"));
  EXPECT_LE(std::count(last.begin(), last.end(), '\n'), 20);
}

TEST(ShrinkTest, ClassIsWhatBrokeNotWhereOrWhen) {
  EXPECT_EQ(ClassOf("at 17 ns, event 3: job_1_0001 stage 2: task counts are wrong"),
            ClassOf("at 5 ns, event 99: job_1_0004 stage 0: task counts are wrong"));
  EXPECT_NE(ClassOf("at 17 ns, event 3: a slot is used twice"), ClassOf("at 17 ns, event 3: a job ends twice"));
  EXPECT_EQ(ClassOf(""), "");
}

}  // namespace
}  // namespace mr::sim
