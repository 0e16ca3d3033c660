// The cost of an event does not grow with the cluster, and neither do the costs of its parts.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "common/base/rng.h"
#include "master/sched/index/local_lists.h"
#include "master/sched/scheduler.h"
#include "master/sched/state/flat_set.h"
#include "master/sched/state/state.h"
#include "tests/bench/sched_load.h"

namespace mr::bench {
namespace {

// Looks per launch.
double Looks(const char* policies, uint32_t workers, uint32_t jobs) {
  Load load;
  load.policies = policies;
  load.workers = workers;
  load.slots = 1;
  load.racks = std::max(1u, workers / 40);
  load.jobs = load.batch = jobs;
  load.maps = 490;
  load.reduces = 10;
  load.report_period = 20;
  const Cost cost = Run(load);
  EXPECT_GE(cost.starts, jobs * 500);
  return static_cast<double>(cost.looks) / static_cast<double>(cost.starts);
}

TEST(SchedCostTest, AnEventLooksAtAsMuchIn3000WorkersAsIn100) {
  for (const char* policies : {"fifo", "fair"}) {
    const double small = Looks(policies, 100, 30), large = Looks(policies, 3'000, 30);
    EXPECT_LE(large, 1.5 * small) << policies << ": " << small << " looks a launch with 100 workers, " << large
                                  << " with 3000";
  }
}

// All jobs wait from the beginning on, and each has inputs on a part of the workers.
TEST(SchedCostTest, AnEventLooksAtAsMuchWhere120JobsWaitAsWhere8Do) {
  const double few = Looks("fair", 300, 8), many = Looks("fair", 300, 120);
  EXPECT_LE(many, 1.5 * few) << few << " looks a launch with 8 jobs, " << many << " with 120";
}

// 60 of 120 pending jobs have a deadline and its guarantee, which must not make the offers of the others dearer. Only
// counted looks (State::Look) are compared. A walk over all guaranteed jobs that counts none shows in the cost of
// deadlines that `./dev bench sched` measures.
TEST(SchedCostTest, AnEventLooksAtAsMuchWhere60JobsAreGuaranteedSlotsAsWhere4Are) {
  const auto looks = [](uint32_t deadlines) {
    Load load;
    load.policies = "fair,jockey";
    load.workers = 300;
    load.slots = 1;
    load.racks = 8;
    load.jobs = load.batch = 120;
    load.maps = 490;
    load.reduces = 10;
    load.report_period = 20;
    load.deadlines = deadlines;
    load.deadline = 60'000;
    const Cost cost = bench::Run(load);
    return static_cast<double>(cost.looks) / static_cast<double>(cost.starts);
  };
  const double few = looks(4), many = looks(60);
  EXPECT_LE(many, 1.5 * few) << few << " looks a launch with 4 such jobs, " << many << " with 60";
}

// Speculation looks at each stage once per round of idle offers, and there are more rounds the longer slots are idle.
// Both clusters get the same work per worker, so that they are idle for as long.
TEST(SchedCostTest, SpeculationLooksAtAsMuchIn3000WorkersAsIn100) {
  const char* policies = "fifo,late";
  const double small = Looks(policies, 100, 2), large = Looks(policies, 3'000, 60);
  EXPECT_GT(small, Looks("fifo", 100, 2));
  EXPECT_LE(large, 1.5 * small) << small << " looks a launch with 100 workers, " << large << " with 3000";
}

// One worker, and a job of one stage.
void Begin(const char* policies, uint32_t slots, uint32_t tasks, sched::Scheduler* scheduler) {
  using namespace sched;
  WorkerRegistered worker;
  worker.worker = {1};
  worker.incarnation = 1;
  worker.slots.total = slots;
  JobSubmitted job;
  job.job = {1, 1};
  job.queue = "default";
  job.graph.stages.resize(1);
  job.graph.stages[0].inputs.resize(1);
  job.graph.stages[0].is_final = true;
  (void)scheduler->Step({{}, ConfigChanged{policies, 1, kSchedulerVersion, Millis(100)}});
  (void)scheduler->Step({{}, worker});
  (void)scheduler->Step({{}, job});
  (void)scheduler->Step({{}, StagePlanned{{1, 1}, 0, 1, std::vector<TaskPlan>(tasks), ""}});
}

// Two slots, three tasks: nobody is offered a slot, so nobody looks.
TEST(SchedCostTest, InAFullClusterAReportCountsWhenSomebodyAsks) {
  using namespace sched;
  for (const char* policies : {"fifo,late", "fifo,mantri_restart"}) {
    Scheduler scheduler;
    const auto send = [&](int64_t at, Event e) {
      (void)scheduler.Step({{at * 1'000'000'000}, std::move(e)});
      EXPECT_EQ(CheckState(scheduler.state()), "");
    };
    const AttemptId attempt{{{1, 1}, 0, 0}, 1};
    Begin(policies, 2, 3, &scheduler);
    send(0, AttemptStarted{attempt, {1}, 1});
    send(5, AttemptProgress{{1}, 1, {{attempt, 0, 50, 100, 0, true}}});
    const StageStatistics& statistics = scheduler.state().FindStage({{1, 1}, 0})->statistics;
    // The rank of the running attempt in the order that the policy reads.
    const auto first = [](const StageStatistics& of) {
      if (!of.by_rate.empty()) return of.by_rate.At(0).first;
      return of.by_cost.empty() ? 0 : of.by_cost.At(0).first;
    };
    EXPECT_EQ(first(statistics), 0) << policies;
    scheduler.WhyAlone(attempt, {6'000'000'000});
    EXPECT_NE(first(statistics), 0) << policies;
    send(10, AttemptProgress{{1}, 1, {{attempt, 0, 60, 100, 0, true}}});
    const double before = first(statistics);
    EXPECT_NE(first(scheduler.state().Counted({{1, 1}, 0})), before) << policies;
    EXPECT_EQ(CheckState(scheduler.state()), "");
  }
}

// Jobs without inputs wait behind the limit of their queue, while slots are free for others.
TEST(SchedCostTest, AnEventLooksAtAsMuchWhere1000JobsWaitBehindAFullQueueAsWhere10Do) {
  using namespace sched;
  const auto looks = [](uint32_t waiting) {
    Scheduler scheduler;
    int64_t at = 0;
    const auto send = [&](Event e) { return scheduler.Step({{++at * 1'000'000}, std::move(e)}); };
    const auto submit = [&](uint32_t number, const std::string& queue) {
      JobSubmitted job;
      job.job = {1, number};
      job.queue = queue;
      job.graph.stages.resize(1);
      job.graph.stages[0].inputs.resize(1);
      job.graph.stages[0].is_final = true;
      send(job);
      return send(StagePlanned{{1, number}, 0, 1, std::vector<TaskPlan>(1), ""});
    };
    Begin("fair", 4, 1, &scheduler);
    send(QueueSet{.queue = "full", .max_share = 1});
    for (uint32_t j = 2; j < 2 + waiting; ++j) submit(j, "full");
    const uint64_t before = scheduler.state().looks();
    for (uint32_t j = 5'000; j < 5'002; ++j) submit(j, "default");
    EXPECT_EQ(CheckState(scheduler.state()), "");
    const TaskId last{{1, 5'001}, 0, 0};
    EXPECT_EQ(scheduler.state().FindTask(last)->attempts.size(), 1u) << "it has a slot";
    return scheduler.state().looks() - before;
  };
  const uint64_t few = looks(10), many = looks(1'000);
  EXPECT_LE(many, few + few / 2) << few << " looks with 10 jobs, " << many << " with 1000";
}

// Nor is what has ended kept for somebody to ask.
TEST(SchedCostTest, ReportsThatNobodyAsksForTakeNoMemoryOnceTheirAttemptsHaveEnded) {
  using namespace sched;
  constexpr uint32_t kTasks = 20'000;
  Scheduler scheduler;
  int64_t at = 0;
  const auto send = [&](Event e) { return scheduler.Step({{++at * 1'000'000}, std::move(e)}); };
  Begin("fifo,late", 1, kTasks, &scheduler);
  size_t most = 0;
  for (uint32_t t = 0; t + 1 < kTasks; ++t) {
    const AttemptId attempt{{{1, 1}, 0, t}, 1};
    send(AttemptStarted{attempt, {1}, 1});
    send(AttemptProgress{{1}, 1, {{attempt, 0, 50, 100, 0, true}}});
    most = std::max(most, scheduler.state().uncounted());
    send(AttemptFinished{attempt, {1}, 1, {1, 1, {t, 1}}, {}, {}, {}});
  }
  EXPECT_GT(most, 100u) << "else somebody asked";
  EXPECT_LT(most, kTasks / 20);
  EXPECT_EQ(CheckState(scheduler.state()), "");
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
      if (on)
        pending[place].insert(task);
      else
        pending[place].erase(task);
    }
    const auto place = static_cast<uint32_t>(rng.Below(40));
    const auto list = lists.Find(place);
    EXPECT_EQ(lists.CountPending(list), pending[place].size());
    std::set<uint32_t> seen;
    for (uint32_t p = lists.NextPending(list, list.begin); p != sched::IndexSet::kNone;
         p = lists.NextPending(list, p + 1)) {
      seen.insert(lists.task(p));
    }
    ASSERT_EQ(seen, pending[place]);
  }
}

// Close together, far apart, and both: where a place would stand among evenly spread ones is a first guess only.
TEST(LocalListsTest, FindsEachPlaceHoweverTheyAreSpread) {
  Rng rng(11);
  for (const uint32_t most : {3u, 50u, 5'000u, 4'000'000'000u}) {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    std::set<uint32_t> places;
    for (uint32_t i = 0; i < 400; ++i) {
      const auto place = static_cast<uint32_t>(rng.Below(2) == 0 ? rng.Below(most) : rng.Below(most / 100 + 1));
      pairs.emplace_back(place, i);
      places.insert(place);
    }
    sched::LocalLists lists;
    lists.Build(pairs, 400);
    ASSERT_EQ(lists.places(), std::vector<uint32_t>(places.begin(), places.end()));
    const auto check = [&](uint32_t place) {
      const auto list = lists.Find(place);
      ASSERT_EQ(list.begin<list.end, places.count(place)> 0) << place;
      if (list.begin < list.end) {
        EXPECT_EQ(lists.places()[list.number], place);
      }
    };
    for (const uint32_t place : places) {
      for (const uint32_t near : {place - 1, place, place + 1}) check(near);
    }
    for (int i = 0; i < 100; ++i) check(static_cast<uint32_t>(rng.Below(most)));
  }
  EXPECT_EQ(sched::LocalLists().Find(1).end, 0u);
}

TEST(SchedCostTest, EndedJobsAreKeptToAThousandTheNewestOnes) {
  using namespace sched;
  auto scheduler = std::make_unique<Scheduler>();
  int64_t at = 0;
  const auto send = [&](Event e) { (void)scheduler->Step({{++at * 1'000'000}, std::move(e)}); };
  send(ConfigChanged{"fifo", 1, kSchedulerVersion, Millis(100)});
  const auto one = [&](uint32_t seq, uint32_t tasks) {
    JobSubmitted job;
    job.job = {1, seq};
    job.queue = "default";
    job.graph.stages.resize(1);
    job.graph.stages[0].inputs.resize(1);
    job.graph.stages[0].is_final = true;
    send(job);
    send(StagePlanned{{1, seq}, 0, 1, std::vector<TaskPlan>(tasks), ""});
    send(JobKillAsked{{1, seq}});
  };
  const auto known = [&](uint32_t seq) { return scheduler->state().FindJob({1, seq}) != nullptr; };
  for (uint32_t seq = 1; seq <= 1'100; ++seq) one(seq, 2);
  EXPECT_EQ(scheduler->state().jobs().size(), 1'000u);
  EXPECT_FALSE(known(100));
  EXPECT_TRUE(known(101));
  // And to 100,000 tasks, also by a scheduler that was restored.
  std::vector<std::string> parts;
  scheduler->Save([&](std::string part) { parts.push_back(std::move(part)); });
  scheduler = std::make_unique<Scheduler>();
  for (const std::string& part : parts) ASSERT_TRUE(scheduler->RestorePart(part).ok());
  ASSERT_TRUE(scheduler->FinishRestore().ok());
  one(1'101, 100'000 - 2 * 10);
  EXPECT_EQ(scheduler->state().jobs().size(), 11u);
  EXPECT_TRUE(known(1'091));
  one(1'102, 100'001);
  EXPECT_EQ(scheduler->state().jobs().size(), 1u) << "the newest is kept, however large";
  EXPECT_EQ(CheckState(scheduler->state()), "");
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
