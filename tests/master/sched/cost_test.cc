// What an event costs does not grow with the cluster; and the parts of which that is made.
#include <map>
#include <set>

#include "common/base/rng.h"
#include "master/sched/flat_set.h"
#include "master/sched/local_lists.h"
#include "tests/bench/sched_load.h"

namespace mr::bench {
namespace {

// Looks per launch, of the same jobs.
double Looks(const char* policies, uint32_t workers) {
  Load load;
  load.policies = policies;
  load.workers = workers;
  load.slots = 1;
  load.racks = std::max(1u, workers / 40);
  load.jobs = load.batch = 30;
  load.maps = 490;
  load.reduces = 10;
  load.report_period = 20;
  const Cost cost = Run(load);
  EXPECT_GE(cost.starts, 30u * 500);
  return static_cast<double>(cost.looks) / static_cast<double>(cost.starts);
}

TEST(SchedCostTest, AnEventLooksAtAsMuchIn3000WorkersAsIn100) {
  for (const char* policies : {"fifo", "fair"}) {
    const double small = Looks(policies, 100), large = Looks(policies, 3'000);
    EXPECT_LE(large, 1.5 * small) << policies << ": " << small << " looks a launch with 100 workers, " << large << " with 3000";
  }
}

TEST(LocalListsTest, SaysWhatIsPendingWhere) {
  Rng rng(7);
  constexpr uint32_t kTasks = 300;
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  std::map<uint32_t, std::set<uint32_t>> tasks, pending;  // by place
  for (int i = 0; i < 900; ++i) {
    const auto place = static_cast<uint32_t>(rng.Below(40)), task = static_cast<uint32_t>(rng.Below(kTasks));
    pairs.emplace_back(place, task);
    tasks[place].insert(task);
  }
  sched::LocalLists lists;
  lists.Build(pairs, kTasks);
  ASSERT_EQ(lists.places().size(), tasks.size());
  EXPECT_EQ(lists.CountPending(lists.Find(41)), 0u) << "a place without a list";
  for (int i = 0; i < 2'000; ++i) {
    const auto task = static_cast<uint32_t>(rng.Below(kTasks));
    const bool on = rng.Below(2) == 0;
    lists.Set(task, on);
    for (const auto& [place, all] : tasks) {
      if (all.count(task) == 0) continue;
      if (on) pending[place].insert(task);
      else pending[place].erase(task);
    }
    const auto place = static_cast<uint32_t>(rng.Below(40));
    const auto list = lists.Find(place);
    EXPECT_EQ(lists.CountPending(list), pending[place].size());
    std::set<uint32_t> seen;
    for (uint32_t p = lists.NextPending(list, list.begin); p != sched::IndexSet::kNone; p = lists.NextPending(list, p + 1)) {
      seen.insert(lists.task(p));
    }
    ASSERT_EQ(seen, pending[place]);
  }
}

TEST(FlatSetTest, IsASet) {
  sched::FlatSet<int> set;
  for (const int i : {3, 1, 2, 3}) set.insert(i);
  EXPECT_EQ(std::vector<int>(set.begin(), set.end()), (std::vector<int>{1, 2, 3}));
  set.erase(2);
  set.erase(7);
  EXPECT_EQ(set.count(2), 0u);
  EXPECT_EQ(set.count(3), 1u);
  EXPECT_EQ(set.size(), 2u);
}

}  // namespace
}  // namespace mr::bench
