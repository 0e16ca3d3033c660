// The scheduler under random histories: what must hold after every event, that all jobs end once
// faults stop, and that equal histories have equal digests, here and in another process.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/master/sched/random_cluster.h"

namespace mr::sched {
namespace {

std::string Rerun(uint64_t seed, int events) {
  return "again by: sched_trace " + std::to_string(seed) + " " + std::to_string(events);
}

TEST(RandomClusterTest, InvariantsHoldAndJobsEndWhenFaultsStop) {
  std::vector<int> decisions(std::variant_size_v<Decision>, 0);
  int succeeded = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    RandomCluster cluster(seed);
    ASSERT_EQ(cluster.Run(800, 1), "") << Rerun(seed, 800);
    succeeded += cluster.jobs_succeeded();
    for (size_t i = 0; i < decisions.size(); ++i) decisions[i] += cluster.decisions()[i];
  }
  // A run in which the rare things do not happen would prove nothing.
  EXPECT_GT(succeeded, 120);
  const auto count = [&](const Decision& d) { return decisions[d.index()]; };
  EXPECT_GT(count(TakeBack{}), 20);
  EXPECT_GT(count(Refuse{}), 40);
  EXPECT_GT(count(DropReplica{}), 80);
  EXPECT_GT(count(MarkIndeterminate{}), 20);
  EXPECT_GT(count(FailJob{}), 20);
  EXPECT_GT(count(WakeAt{}), 100);
}

TEST(DeterminismTest, EqualHistoriesHaveEqualDigestsInOneProcess) {
  for (uint64_t seed = 100; seed < 104; ++seed) {
    RandomCluster first(seed), second(seed);
    ASSERT_EQ(first.Run(3000, 500), "") << Rerun(seed, 3000);
    ASSERT_EQ(second.Run(3000, 500), "") << Rerun(seed, 3000);
    ASSERT_GT(first.digests().size(), 2000u);
    ASSERT_EQ(first.digests(), second.digests()) << Rerun(seed, 3000);
  }
}

TEST(DeterminismTest, EqualHistoriesHaveEqualDigestsInTwoProcesses) {
  for (uint64_t seed = 200; seed < 203; ++seed) {
    RandomCluster here(seed);
    ASSERT_EQ(here.Run(3000, 500), "") << Rerun(seed, 3000);
    char command[4096];
    std::snprintf(command, sizeof command, "%s %d 3000", MR_SCHED_TRACE, static_cast<int>(seed));
    FILE* pipe = popen(command, "r");
    ASSERT_NE(pipe, nullptr);
    std::vector<uint64_t> there;
    unsigned long long digest = 0;
    while (std::fscanf(pipe, "%llx", &digest) == 1) there.push_back(digest);
    ASSERT_EQ(pclose(pipe), 0) << Rerun(seed, 3000);
    ASSERT_EQ(here.digests().size(), there.size()) << Rerun(seed, 3000);
    for (size_t i = 0; i < there.size(); ++i) {
      ASSERT_EQ(here.digests()[i], there[i]) << "step " << i << ", " << Rerun(seed, 3000);
    }
  }
}

// Queues, waits and preemption on, and jobs that end all the same.
constexpr const char* kSharing[] = {"fair(guarantee_timeout=0.1),jockey(period=0.5,hysteresis=1),delay(node=0.1)",
                                    "fair,delay",
                                    "fair,coupling",
                                    "fair,coupling,delay(node=0.1)",
                                    "fair(reduces=greedy),coupling(clock=paper)",
                                    "fifo,blacklist(window=0.2,most=0.5)",
                                    "fair(reduces=greedy),delay(clock=paper)",
                                    "fair(min_share_timeout=0.1,fair_share_timeout=0.2),delay(node=0.1,rack=0.1)"};

TEST(RandomClusterTest, InvariantsHoldAndJobsEndUnderPoliciesOfTheCluster) {
  for (const char* policies : kSharing) {
    std::vector<int> decisions(std::variant_size_v<Decision>, 0);
    for (uint64_t seed = 500; seed < 505; ++seed) {
      RandomCluster cluster(seed, policies);
      ASSERT_EQ(cluster.Run(800, 1), "") << policies << ", seed " << seed;
      for (size_t i = 0; i < decisions.size(); ++i) decisions[i] += cluster.decisions()[i];
    }
    EXPECT_GT(decisions[Decision(TakeBack{}).index()], 1) << policies;
    EXPECT_GT(decisions[Decision(Remember{}).index()], 10) << policies;
  }
}

TEST(DeterminismTest, EqualHistoriesHaveEqualDigestsUnderPoliciesOfTheCluster) {
  for (const char* policies : kSharing) {
    RandomCluster first(600, policies), second(600, policies);
    ASSERT_EQ(first.Run(2000, 500), "");
    ASSERT_EQ(second.Run(2000, 500), "");
    ASSERT_EQ(first.digests(), second.digests()) << policies;
    RandomCluster twin(601, policies);
    twin.MakeTwinEvery(37);
    ASSERT_EQ(twin.Run(800, 100), "") << policies;
  }
}

TEST(SnapshotTest, ASchedulerMadeFromAnImageGoesOnAsTheOneThatWasSaved) {
  for (uint64_t seed = 300; seed < 312; ++seed) {
    RandomCluster cluster(seed);
    cluster.MakeTwinEvery(37);
    ASSERT_EQ(cluster.Run(800, 100), "") << Rerun(seed, 800);
  }
}

// Thresholds for attempts of milliseconds. With the last list, each policy sees what others did.
constexpr const char* kSpeculation[] = {
    "fifo,hadoop_speculation(min_age=20ms,gap=0.05)",
    "fifo,dryad_speculation(done=0.5)",
    "fifo,spark_speculation(min_age=1ms,quantile=0.3,multiplier=1)",
    "fifo,late(min_age=20ms,slow_task=0.6,slow_node=0.1,cap=0.5,outpaced=1)",
    "fifo,late(min_age=20ms,slow_task=0.9,skew_check=on),dryad_speculation(done=0.5),"
    "hadoop_speculation(min_age=10ms),spark_speculation(quantile=0.3)",
    "fair,mantri_restart(gamma=0,rho=0,delta=0.1,alpha=1),mantri_placement(wait=20ms),mantri_replication,"
    "mantri_recompute",
};

TEST(RandomClusterTest, InvariantsHoldWithSpeculation) {
  for (const char* list : kSpeculation) {
    int speculative = 0, succeeded = 0;
    for (uint64_t seed = 400; seed < 412; ++seed) {
      RandomCluster cluster(seed, list);
      ASSERT_EQ(cluster.Run(800, 3), "") << Rerun(seed, 800) << " '" << list << "'";
      speculative += cluster.speculative_launched();
      succeeded += cluster.jobs_succeeded();
    }
    EXPECT_GT(speculative, 10) << list;
    EXPECT_GT(succeeded, 18) << list;
  }
}

// Slots are lent and taken back, beside clones of the budget and speculative attempts.
TEST(RandomClusterTest, InvariantsHoldWithClonesOnIdleSlots) {
  for (const char* list : {"fifo,opportunistic(fill=1)", "fair(slowstart=0.5),opportunistic(attempts=3,fill=1)",
                           "fair,delay(node=0.1,rack=0.1),dolly(beta=0.3,p=0.3,tau=1),delay_assignment(omega=20ms),"
                           "opportunistic(fill=1),late(min_age=20ms,slow_task=0.6)"}) {
    int lent = 0, succeeded = 0;
    for (uint64_t seed = 500; seed < 516; ++seed) {
      RandomCluster cluster(seed, list);
      ASSERT_EQ(cluster.Run(800, 3), "") << Rerun(seed, 800) << " '" << list << "'";
      lent += cluster.slots_lent();
      succeeded += cluster.jobs_succeeded();
    }
    EXPECT_GT(lent, 10) << list;
    EXPECT_GT(succeeded, 18) << list;
  }
}

// Replicas, outputs that are made a second time, reduces by racks; with speculation beside them.
constexpr const char* kMantri[] = {
    "fair,mantri_placement(wait=20ms),mantri_replication(always=on),mantri_recompute",
    "fifo,mantri_placement(wait=1s),mantri_recompute,mantri_replication(budget=1,bandwidth=1e9),late(min_age=20ms,slow_"
    "task=0.6)",
};

TEST(RandomClusterTest, InvariantsHoldWithReplicasAndRemakes) {
  std::vector<int> decisions(std::variant_size_v<Decision>, 0);
  int remakes = 0, kept = 0;
  for (const char* list : kMantri) {
    for (uint64_t seed = 700; seed < 715; ++seed) {
      RandomCluster cluster(seed, list);
      ASSERT_EQ(cluster.Run(1500, 3), "") << Rerun(seed, 1500) << " '" << list << "'";
      for (size_t i = 0; i < decisions.size(); ++i) decisions[i] += cluster.decisions()[i];
      remakes += cluster.remakes();
      kept += cluster.replicas_kept();
    }
    RandomCluster twin(720, list);
    twin.MakeTwinEvery(37);
    ASSERT_EQ(twin.Run(1500, 100), "") << list;
  }
  EXPECT_GT(decisions[Decision(ReplicateOutput{}).index()], 100);
  EXPECT_GT(remakes, 20);
  EXPECT_GT(kept, 10);
}

TEST(RandomClusterTest, InvariantsHoldWhereOutputsOfDrainedWorkersAreMoved) {
  std::vector<int> decisions(std::variant_size_v<Decision>, 0);
  for (const char* list : {"fifo", "fair,dolly(beta=0.3,p=0.3,tau=1),delay_assignment(omega=20ms)"}) {
    for (uint64_t seed = 1100; seed < 1106; ++seed) {
      RandomCluster cluster(seed, list);
      cluster.Operators();
      ASSERT_EQ(cluster.Run(1500, 3), "") << "seed " << seed << " '" << list << "'";
      for (size_t i = 0; i < decisions.size(); ++i) decisions[i] += cluster.decisions()[i];
    }
    RandomCluster twin(1110, list);
    twin.Operators();
    twin.MakeTwinEvery(37);
    ASSERT_EQ(twin.Run(1500, 100), "") << list;
  }
  EXPECT_GT(decisions[Decision(ReplicateOutput{}).index()], 50) << "no policy of these lists asks for replicas";
}

// Workers that are damaged, or not ours: nothing that they say breaks an invariant, ends the scheduler, or keeps the
// jobs of the others from their end.
TEST(RandomClusterTest, InvariantsHoldAndJobsEndWhateverWorkersSay) {
  for (const char* list : {"fair,late(min_age=20ms,skew_check=on,gain=2.5,estimator=phases),blacklist", kSpeculation[4],
                           "fair,mantri,late(min_age=20ms)",
                           "fair(slowstart=1),delay(node=0.1,rack=0.1),dolly(beta=0.3,p=0.3,tau=1),"
                           "delay_assignment(omega=20ms),opportunistic"}) {
    int lies = 0, succeeded = 0;
    for (uint64_t seed = 900; seed < 906; ++seed) {
      RandomCluster cluster(seed, list);
      cluster.Lies();
      ASSERT_EQ(cluster.Run(1500, 3), "") << "seed " << seed << " '" << list << "'";
      lies += cluster.lies();
      succeeded += cluster.jobs_succeeded();
    }
    EXPECT_GT(lies, 30) << list;
    EXPECT_GT(succeeded, 18) << list;
  }
}

TEST(DeterminismTest, EqualHistoriesWithSpeculationHaveEqualDigests) {
  for (const char* list : kSpeculation) {
    RandomCluster first(500, list), second(500, list);
    ASSERT_EQ(first.Run(2000, 500), "") << Rerun(500, 2000) << " '" << list << "'";
    ASSERT_EQ(second.Run(2000, 500), "");
    ASSERT_EQ(first.digests(), second.digests()) << list;
  }
}

TEST(SnapshotTest, SpeculationGoesOnFromAnImage) {
  for (const char* list : kSpeculation) {
    for (uint64_t seed = 600; seed < 604; ++seed) {
      RandomCluster cluster(seed, list);
      cluster.MakeTwinEvery(37);
      ASSERT_EQ(cluster.Run(800, 100), "") << Rerun(seed, 800) << " '" << list << "'";
    }
  }
}

TEST(SnapshotTest, AnImageThatIsNotWholeIsRefused) {
  Scheduler saved, restored;
  (void)saved.Step({{}, ConfigChanged{"fifo", 1, kSchedulerVersion, Millis(100)}});
  (void)saved.Step({{}, JobSubmitted{{1, 1}, "j", "", 0, {}, 0, {}, {}}});
  std::vector<std::string> parts;
  saved.Save([&](std::string part) { parts.push_back(std::move(part)); });
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(Scheduler().RestorePart(parts[0].substr(1)).code(), Code::kCorrupted);
  ASSERT_TRUE(restored.RestorePart(parts[0]).ok());
  EXPECT_EQ(restored.FinishRestore().code(), Code::kCorrupted) << "a job is missing";
}

TEST(DeterminismTest, AnotherSeedGivesAnotherHistory) {
  RandomCluster a(1), b(2);
  ASSERT_EQ(a.Run(200, 50), "");
  ASSERT_EQ(b.Run(200, 50), "");
  EXPECT_NE(a.digests().back(), b.digests().back());
}

}  // namespace
}  // namespace mr::sched
