// fair and delay over minutes: shares, guarantees and preemption under load, and the two published
// histories in which a timer that each local launch resets leaves most of a cluster idle.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/master/sched/timed_cluster.h"

namespace mr::sched {
namespace {

Instant AtSecond(double s) { return {std::llround(s * 1e9)}; }

struct Want {
  std::string queue;
  double weight = 1;
  uint32_t least = 0, most = 0;
};

// Weighted shares of queues that all want everything, slot by slot: worked out otherwise than in the
// policy, by handing out small pieces to whoever has least for its weight.
std::map<std::string, double> SharesOf(const std::vector<Want>& wants, double slots) {
  constexpr double kPiece = 0.01;
  std::map<std::string, double> shares;
  for (const Want& w : wants) slots -= shares[w.queue] = w.least;
  for (; slots > 0; slots -= kPiece) {
    const Want* best = nullptr;
    for (const Want& w : wants) {
      if (w.most != 0 && shares[w.queue] >= w.most) continue;
      if (best == nullptr || shares[w.queue] / w.weight < shares[best->queue] / best->weight) best = &w;
    }
    if (best == nullptr) break;
    shares[best->queue] += kPiece;
  }
  return shares;
}

TEST(FairShareTest, EachQueueComesToItsShareOnceSlotsTurnOver) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Rng rng(seed);
    std::vector<Want> wants;
    for (const char* name : {"a", "b", "c", "d"}) {
      Want w{name, 1 + static_cast<double>(rng.Below(4)), 0, 0};
      if (rng.Below(3) == 0) w.least = static_cast<uint32_t>(rng.Below(11));
      if (rng.Below(3) == 0) w.most = 10 + static_cast<uint32_t>(rng.Below(10));
      wants.push_back(w);
    }
    wants[3].most = 0;  // somebody takes the rest
    TimedCluster cluster(seed, "fair(min_share_timeout=0,fair_share_timeout=0)");
    cluster.AddWorkers(10, 4);
    std::map<std::string, double> sum;
    for (const Want& w : wants) {
      cluster.Send(QueueSet{w.queue, w.weight, w.least, w.most});
      cluster.Submit({w.queue, 3000, {}, 10, true});
    }
    // With exponential times of mean 10 s, one of 40 lasts longer than 100 s in only 1 run of 500.
    cluster.RunUntil(AtSecond(100));
    const auto shares = SharesOf(wants, 40);
    int looks = 0;
    for (int s = 101; s <= 300; ++s, ++looks) {
      cluster.RunUntil(AtSecond(s));
      for (const Want& w : wants) {
        const double held = cluster.Held(w.queue);
        sum[w.queue] += held;
        EXPECT_LE(held, shares.at(w.queue) + 1.1) << w.queue << ", seed " << seed;
        EXPECT_GE(held, std::min<double>(w.least, shares.at(w.queue) - 1)) << w.queue << ", seed " << seed;
      }
      EXPECT_EQ(cluster.Busy(), 40u) << "a slot is idle though queues have work, seed " << seed;
    }
    for (const Want& w : wants) {
      EXPECT_NEAR(sum[w.queue] / looks, shares.at(w.queue), 1.1) << w.queue << ", seed " << seed;
    }
    EXPECT_EQ(CheckState(cluster.state()), "");
  }
}

TEST(FairShareTest, ALongJobStarvesNobodyInItsQueue) {
  TimedCluster cluster(1, "fair");
  cluster.AddWorkers(5, 2);
  cluster.Submit({"q", 2000, {}, 10, true});
  cluster.RunUntil(AtSecond(30));
  const JobId late = cluster.Submit({"q", 100, {}, 10, true});
  cluster.RunUntil(AtSecond(100));
  EXPECT_NEAR(cluster.state().FindJob(late)->holding, 5, 1);
}

TEST(FairShareTest, AQueueThatNobodySetGoesWithTheLastOfItsJobs) {
  TimedCluster cluster(1, "fair(min_share_timeout=20)");
  cluster.AddWorkers(4, 1);
  cluster.Send(QueueSet{"kept", 2, 1, 0});
  cluster.RunUntil(cluster.now());
  uint64_t last = cluster.state().queues().at("kept").number;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "q" + std::to_string(i % 7);
    cluster.Submit({name, 3, {}, 1, false});
    cluster.Submit({name, 3, {}, 1, false});
    cluster.RunUntil(cluster.now());
    const uint64_t number = cluster.state().queues().at(name).number;
    EXPECT_GT(number, last) << "what was noted of another queue would be its own";
    last = number;
    EXPECT_EQ(cluster.state().busy_queues().size(), 1u);
    cluster.RunToEnd();
    EXPECT_THAT(cluster.state().queues(), testing::ElementsAre(testing::Key("kept")));
    EXPECT_TRUE(cluster.state().busy_queues().empty()) << "fair walks these at each offer";
    ASSERT_EQ(CheckState(cluster.state()), "");
  }
  cluster.Submit({"kept", 3, {}, 1, false});
  EXPECT_EQ(cluster.state().queues().at("kept").weight, 2);
}

// Its jobs end while it waits for its share: nothing of that stays.
TEST(PreemptionTest, OfAQueueThatIsGoneNothingIsRemembered) {
  TimedCluster cluster(1, "fair(min_share_timeout=20,fair_share_timeout=5)");
  cluster.AddWorkers(4, 1);
  cluster.Submit({"a", 50, {}, 100, true});
  cluster.RunUntil(AtSecond(1));
  const JobId gone = cluster.Submit({"b", 4, {}, 1, false});
  cluster.RunUntil(AtSecond(2));
  ASSERT_FALSE(cluster.state().facts().empty()) << "else this shows nothing";
  cluster.Send(JobKillAsked{gone, "a user asked"});
  cluster.RunUntil(AtSecond(20));
  EXPECT_TRUE(cluster.state().facts().empty());
  EXPECT_THAT(cluster.state().queues(), testing::ElementsAre(testing::Key("a")));
  EXPECT_EQ(CheckState(cluster.state()), "");
}

TEST(PreemptionTest, ComesAfterItsTimeoutAndLeavesEachQueueItsShare) {
  int kills = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const std::vector<Want> wants = {{"a", 1, 0, 0}, {"b", 2, 0, 0}, {"c", 1, static_cast<uint32_t>(2 + seed), 0}};
    TimedCluster cluster(seed, "fair(min_share_timeout=20,fair_share_timeout=50)");
    cluster.AddWorkers(8, 3);
    for (const Want& w : wants) cluster.Send(QueueSet{w.queue, w.weight, w.least, w.most});
    cluster.Submit({"a", 500, {}, 1000, true});
    cluster.RunUntil(AtSecond(10));
    cluster.Submit({"b", 500, {}, 1000, true});
    cluster.Submit({"c", 500, {}, 1000, true});
    const auto shares = SharesOf(wants, 24);
    cluster.watch = [&](const std::vector<Decision>& decisions) {
      const bool any = std::any_of(decisions.begin(), decisions.end(),
                                   [](const Decision& d) { return std::holds_alternative<Kill>(d); });
      if (!any) return;
      ++kills;
      EXPECT_GE(cluster.now(), AtSecond(30)) << "seed " << seed;
      const double left = static_cast<double>(cluster.state().queues().at("a").live.size());
      EXPECT_GE(left, shares.at("a") - 0.1) << "it pays, but keeps its share; seed " << seed;
    };
    cluster.RunUntil(AtSecond(29.9));
    EXPECT_LT(cluster.Held("c"), wants[2].least) << "else this shows nothing";
    cluster.RunUntil(AtSecond(31));
    EXPECT_EQ(cluster.Held("c"), wants[2].least) << "its guarantee, seed " << seed;
    cluster.RunUntil(AtSecond(62));
    // The slots that it is owed were freed, and it shares them with the other queue that lags behind.
    EXPECT_GE(cluster.Held("b"), shares.at("b") / 2) << "seed " << seed;
  }
  EXPECT_GE(kills, 16);
}

// The Coupling Scheduler's paper, figure of the pathology: 15 nodes of 4 map slots, the data of 427
// maps of 48.5 s on 7 of them, T = 15 s: 28 of 60 slots are busy for the first 8.2 minutes.
TEST(DelayTest, ThePapersClockKeepsMostNodesIdleAndOursDoesNot) {
  const auto first_far = [](const std::string& policies, uint64_t seed, Instant* end) {
    TimedCluster cluster(seed, policies, Seconds(1));
    cluster.AddWorkers(15, 4);
    cluster.Submit({"", 427, {{1}, {2}, {3}, {4}, {5}, {6}, {7}}, 48.5, true});
    double first = 1e9;
    cluster.watch = [&](const std::vector<Decision>& decisions) {
      for (const Decision& d : decisions) {
        const auto* launch = std::get_if<Launch>(&d);
        if (launch != nullptr && launch->worker.value > 7) {
          first = std::min(first, static_cast<double>(cluster.now().ns) / 1e9);
        }
      }
    };
    *end = cluster.RunToEnd();
    return first;
  };
  int idle = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Instant slow, fast;
    idle += first_far("fair,delay(clock=paper)", seed, &slow) > 8.2 * 60;
    EXPECT_LE(first_far("fair,delay(clock=offer,node=15,rack=15)", seed, &fast), 15.2) << "seed " << seed;
    EXPECT_LT(static_cast<double>(fast.ns), 0.8 * static_cast<double>(slow.ns)) << "seed " << seed;
  }
  // (1 - exp(-28/48.5 15))^n with the n = 284 maps that 28 slots end in 8.2 minutes: 0.95.
  EXPECT_GE(idle, 16);
}

// SPARK-18886: 500 tasks of 5 s, all data on one of 100 executors, a wait of 6 s.
TEST(DelayTest, OneExecutorDoesNotKeepAllTasks) {
  const auto seconds = [](const std::string& policies) {
    TimedCluster cluster(1, policies, Seconds(1));
    cluster.AddWorkers(100, 1);
    cluster.Submit({"", 500, {{1}}, 5, false});
    return static_cast<double>(cluster.RunToEnd().ns) / 1e9;
  };
  EXPECT_EQ(seconds("fair,delay(clock=paper,node=6,rack=0)"), 2500) << "all one after the other";
  EXPECT_LE(seconds("fair,delay(clock=offer,node=6,rack=0)"), 6 + 6 * 5 + 1);
  EXPECT_EQ(seconds("fair"), 25);
}

}  // namespace
}  // namespace mr::sched
