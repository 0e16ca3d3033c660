// Policy lists, graphs, reasons, the draft plan and the index: the parts of the core by themselves.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "common/base/rng.h"
#include "master/sched/index/index_set.h"
#include "master/sched/index/ranked.h"
#include "master/sched/job_graph.h"
#include "master/sched/pipeline.h"
#include "master/sched/plan.h"
#include "master/sched/reason.h"
#include "master/sched/scheduler.h"
#include "tests/master/sched/small_job.h"

namespace mr::sched {
namespace {

using testing::HasSubstr;

TEST(PolicyListTest, TakesWhatItKnows) {
  EXPECT_TRUE(Scheduler::CheckPolicies("fifo").ok());
  EXPECT_TRUE(Scheduler::CheckPolicies(" fifo ").ok());
  EXPECT_TRUE(Scheduler::CheckPolicies("").ok()) << "an empty list is fifo";
}

TEST(PolicyListTest, SaysWhatIsWrongAndWhatWasMeant) {
  const auto error = [](const std::string& list) { return Scheduler::CheckPolicies(list).message(); };
  EXPECT_THAT(error("fifi"), HasSubstr("did you mean 'fifo'?"));
  EXPECT_THAT(error("roulette"), HasSubstr("known policies: fifo"));
  EXPECT_THAT(error("fifo(cap=0.2)"), HasSubstr("no parameter 'cap'"));
  EXPECT_THAT(error("fifo(cap)"), HasSubstr("name=value"));
  EXPECT_THAT(error("fifo(cap=1"), HasSubstr("not closed"));
  EXPECT_THAT(error("fifo,"), HasSubstr("empty entry"));
  EXPECT_THAT(error("fifo,fifo"), HasSubstr("twice"));
  EXPECT_EQ(Scheduler::CheckPolicies("x").code(), Code::kInvalidArgument);
}

// Else a mistyped name stays for good.
TEST(QueueTest, AQueueWithDefaultSettingsAndWithoutJobsIsGone) {
  SteppedScheduler s;
  const auto known = [&](const char* name) { return s.scheduler.state().queues().count(name) > 0; };
  s.Send(0, ConfigChanged{"fair", 1, kSchedulerVersion, Millis(100)});
  s.Send(0, QueueSet{"prdo", 1, 3, 0});
  EXPECT_TRUE(known("prdo"));
  s.Send(0, QueueSet{"prdo", 1, 0, 0});
  EXPECT_FALSE(known("prdo"));
  JobSubmitted job = SmallMapJob();
  job.queue = "prod";
  s.Send(0, job);
  s.Send(0, QueueSet{"prod", 2, 0, 0});
  s.Send(0, QueueSet{"prod", 1, 0, 0});
  EXPECT_TRUE(known("prod")) << "it has a job";
  s.Send(0, JobKillAsked{job.job, ""});
  EXPECT_FALSE(known("prod"));
}

TEST(PolicyListTest, AJobMayNotChooseWhatIsForTheWholeCluster) {
  for (const char* list : {"fifo", "fair", "delay(clock=paper)", "blacklist"}) {
    EXPECT_TRUE(Scheduler::CheckPolicies(list).ok()) << list;
    const Status status = Scheduler::CheckJobPolicies(list);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << list;
    EXPECT_THAT(status.message(), HasSubstr("whole cluster")) << list;
  }
  EXPECT_TRUE(Scheduler::CheckJobPolicies("").ok());
  EXPECT_THAT(Scheduler::CheckJobPolicies("roulette").message(), HasSubstr("known policies"));
}

TEST(PolicyListTest, WishesOfAJobDropWhatTheyName) {
  using List = std::vector<std::string>;
  const auto of = [](const std::string& cluster, const List& own, Wish speculation, Wish clones) {
    auto list = Scheduler::PoliciesOfJob(cluster, own, speculation, clones);
    return list.ok() ? *list : List{list.status().message()};
  };
  const std::string cluster = "fair(slowstart=0.2),late(cap=0.2,min_age=1s),spark_speculation,blacklist";
  EXPECT_EQ(of(cluster, {}, Wish::kAuto, Wish::kAuto), List{}) << "the cluster's own serves it";
  EXPECT_EQ(of(cluster, {}, Wish::kOn, Wish::kAuto), List{});
  EXPECT_EQ(of(cluster, {}, Wish::kOff, Wish::kOff), List{"none"});
  EXPECT_EQ(of(cluster, {"late(cap=1)"}, Wish::kOff, Wish::kAuto), List{"none"});
  EXPECT_EQ(of(cluster, {"late(cap=1)"}, Wish::kOn, Wish::kOff), List{"late(cap=1)"});
  EXPECT_EQ(of("fifo", {"late"}, Wish::kOn, Wish::kAuto), List{"late"});
  EXPECT_THAT(of("fifo", {}, Wish::kOn, Wish::kAuto)[0], HasSubstr("in the cluster's list 'fifo'"));
  EXPECT_THAT(of(cluster, {}, Wish::kAuto, Wish::kOn)[0], HasSubstr("--clone on"));
  EXPECT_THAT(of(cluster, {"none"}, Wish::kOn, Wish::kAuto)[0], HasSubstr("in the job's --scheduler"));
  EXPECT_THAT(of(cluster, {"fair"}, Wish::kAuto, Wish::kAuto)[0], HasSubstr("whole cluster"));
  EXPECT_TRUE(Scheduler::CheckJobPolicies("none").ok());
  EXPECT_THAT(Scheduler::CheckJobPolicies("late,none").message(), HasSubstr("stands alone"));
  EXPECT_THAT(Scheduler::CheckPolicies("none").message(), HasSubstr("no policy 'none'")) << "a cluster has one";
}

TEST(PolicyParamsTest, WordsAreOneOfThoseThatAreKnown) {
  EXPECT_TRUE(Scheduler::CheckPolicies("fair(reduces=greedy,slowstart=0.2)").ok());
  EXPECT_THAT(Scheduler::CheckPolicies("fair(reduces=gredy)").message(), HasSubstr("did you mean 'greedy'?"));
  EXPECT_THAT(Scheduler::CheckPolicies("fair(slowstart=2)").message(), HasSubstr("not '2'"));
}

TEST(PolicyParamsTest, NumbersAreCheckedAndLeftoversNamed) {
  PolicyParams params({{"cap", "0.2"}, {"age", "soon"}, {"cpa", "1"}});
  EXPECT_EQ(*params.Number("cap", 0.1, 0, 1), 0.2);
  EXPECT_EQ(*params.Number("other", 0.5, 0, 1), 0.5);
  EXPECT_THAT(params.Number("age", 1, 0, 10).status().message(), HasSubstr("not 'soon'"));
  EXPECT_THAT(params.AllTaken().message(), HasSubstr("'cpa' (did you mean 'cap'?)"));
  PolicyParams high(std::map<std::string, std::string>{{"cap", "1.5"}});
  EXPECT_FALSE(high.Number("cap", 0.1, 0, 1).ok());
}

TEST(PolicyParamsTest, TimesAndFlagsAreChecked) {
  PolicyParams params({{"age", "250ms"}, {"zero", "0s"}, {"bare", "60"}, {"on", "on"}, {"maybe", "maybe"}});
  EXPECT_EQ(*params.Time("age", Seconds(60)), Millis(250));
  EXPECT_EQ(*params.Time("zero", Seconds(60)), Duration{});
  EXPECT_EQ(*params.Time("other", Seconds(60)), Seconds(60));
  EXPECT_THAT(params.Time("bare", {}).status().message(), HasSubstr("parameter 'bare'"));
  EXPECT_TRUE(*params.Flag("on", false));
  EXPECT_THAT(params.Flag("maybe", false).status().message(), HasSubstr("on or off, not 'maybe'"));
  EXPECT_TRUE(params.AllTaken().ok());
}

TEST(PolicyListTest, MantriIsOneNameForItsParts) {
  EXPECT_TRUE(Scheduler::CheckPolicies("fair,mantri").ok());
  EXPECT_TRUE(Scheduler::CheckJobPolicies("mantri").ok());
  EXPECT_THAT(Scheduler::CheckPolicies("mantri,mantri_restart").message(),
              HasSubstr("'mantri_restart' stands in the list twice"));
  EXPECT_THAT(Scheduler::CheckPolicies("mantri(gamma=1)").message(),
              HasSubstr("give them to the policies that it stands for: mantri_placement"));
  EXPECT_TRUE(Scheduler::CheckPolicies("mantri_restart(gamma=1,delta=0.5,alpha=1,rho=1,report=1s,min_age=0s)").ok());
  EXPECT_THAT(Scheduler::CheckPolicies("mantri_restart(alpha=4)").message(), HasSubstr("parameter 'alpha'"));
}

TEST(PolicyListTest, SpeculationTakesItsThresholds) {
  for (const char* list :
       {"fifo,late(cap=0.2,slow_task=0.3,slow_node=0.1,min_age=1s,skew_check=on)", "late(min_age=0s)",
        "hadoop_speculation(gap=0.1,min_age=1s)", "dryad_speculation(done=0.9,min_age=1s,skew_check=off)",
        "spark_speculation(quantile=0.75,multiplier=1.5,min_age=1s,efficiency=0,long_run=2)"}) {
    EXPECT_TRUE(Scheduler::CheckPolicies(list).ok()) << Scheduler::CheckPolicies(list).message();
  }
  EXPECT_THAT(Scheduler::CheckPolicies("late(cap=2)").message(), HasSubstr("parameter 'cap'"));
}

TEST(RankedTest, IsASortedSequenceWithRanks) {
  Rng rng(5);
  Ranked<int> ranked;
  std::multiset<int> model;
  for (int i = 0; i < 6000; ++i) {
    const int x = static_cast<int>(rng.Below(300));
    if (rng.Below(5) > 1 || model.count(x) == 0) {
      ranked.Insert(x);
      model.insert(x);
    } else {
      ranked.Erase(x);
      model.erase(model.find(x));
    }
    ASSERT_EQ(ranked.size(), model.size());
    if (i % 200 != 0) continue;
    ASSERT_EQ(ranked.All(), std::vector<int>(model.begin(), model.end()));
    const size_t k = rng.Below(model.size());
    ASSERT_EQ(ranked.At(k), *std::next(model.begin(), static_cast<std::ptrdiff_t>(k)));
  }
}

TEST(RankedTest, APercentileLiesBetweenRanks) {
  Ranked<double> values;
  EXPECT_EQ(Percentile(values, 0.25), 0);
  values.Insert(3);
  EXPECT_EQ(Percentile(values, 0.25), 3);
  values.Insert(1);
  EXPECT_EQ(Percentile(values, 0.25), 1.5);
  EXPECT_EQ(Percentile(values, 1), 3);
}

StageSpec Spec(const char* name, std::vector<StageInput> inputs, bool is_final) {
  StageSpec spec;
  spec.name = name;
  spec.inputs = std::move(inputs);
  spec.is_final = is_final;
  return spec;
}

TEST(JobGraphTest, RefusesWhatCannotRun) {
  const StageInput files, edge{true, EdgeKind::kAllToAll, 0}, self{true, EdgeKind::kAllToAll, 1};
  const auto error = [](std::vector<StageSpec> stages) { return CheckGraph({stages}).message(); };
  EXPECT_EQ(error({Spec("m", {files}, false), Spec("r", {edge}, true)}), "");
  EXPECT_THAT(error({}), HasSubstr("no stages"));
  EXPECT_EQ(error({Spec("m", {}, true)}), "") << "a stage may make its records itself";
  EXPECT_THAT(error({Spec("m", {files}, false), Spec("r", {self}, true)}), HasSubstr("earlier stage"));
  EXPECT_THAT(error({Spec("m", {files}, true), Spec("r", {edge}, true)}), HasSubstr("output is files"));
  EXPECT_THAT(error({Spec("m", {files}, false)}), HasSubstr("read by no stage"));
}

TEST(JobGraphTest, ManyToOneRangesCoverAllUpstreamTasksOnce) {
  for (uint32_t up : {0u, 1u, 7u, 100u}) {
    for (uint32_t readers : {1u, 3u, 10u}) {
      uint32_t next = 0;
      for (uint32_t r = 0; r < readers; ++r) {
        const Slice s = SliceOf({EdgeKind::kManyToOne, 0, up, 0, 2, readers}, r);
        EXPECT_EQ(s.task_begin, next);
        EXPECT_LE(s.task_end - s.task_begin, up / readers + 1);
        next = s.task_end;
      }
      EXPECT_EQ(next, up);
    }
  }
}

TEST(ReasonTest, EachCodeHasANameAndASentence) {
  for (int code = 0; code <= 34; ++code) {
    const auto reason = static_cast<ReasonCode>(code);
    EXPECT_STRNE(ReasonName(reason), "unknown") << code;
    EXPECT_THAT(Explain({reason, "", {}}), testing::Not(HasSubstr("unknown"))) << code;
  }
  EXPECT_EQ(Explain({ReasonCode::kTooManyFailures, "", {4, 4}}), "4 failures, the limit is 4");
  EXPECT_THAT(Explain({ReasonCode::kLocalInput, "fifo", {1}}), HasSubstr("[fifo]"));
}

TEST(IndexSetTest, IsAnOrderedSet) {
  Rng rng(7);
  for (const uint32_t limit : {1u, 64u, 65u, 5000u}) {
    IndexSet set(limit);
    std::set<uint32_t> model;
    for (int i = 0; i < 4000; ++i) {
      const uint32_t x = static_cast<uint32_t>(rng.Below(limit));
      if (rng.Below(2) == 0) {
        set.Insert(x);
        model.insert(x);
      } else {
        set.Erase(x);
        model.erase(x);
      }
      const uint32_t from = static_cast<uint32_t>(rng.Below(limit));
      const auto next = model.lower_bound(from);
      ASSERT_EQ(set.Next(from), next == model.end() ? IndexSet::kNone : *next);
      ASSERT_EQ(set.First(), model.empty() ? IndexSet::kNone : *model.begin());
      ASSERT_EQ(set.size(), model.size());
    }
  }
}

// One worker with one slot, one job of two single-stage tasks, not yet launched (it is draining).
class PlanTest : public testing::Test {
 protected:
  PlanTest() {
    Send(ConfigChanged{"fifo", 1, kSchedulerVersion});
    WorkerRegistered w;
    w.worker = {1};
    w.incarnation = 9;
    w.slots.total = 1;
    Send(w);
    Send(WorkerDraining{{1}, 9, true});
    JobSubmitted job;
    job.job = {1, 1};
    job.graph.stages = {Spec("m", {StageInput{}}, true)};
    Send(job);
    StagePlanned plan;
    plan.job = {1, 1};
    plan.partitions = 1;
    plan.tasks.resize(2);
    Send(plan);
  }
  std::vector<Decision> Send(Event e) { return scheduler_.Step({{}, std::move(e)}); }
  static TaskId Task(uint32_t i) { return {{1, 1}, 0, i}; }

  Scheduler scheduler_;
};

TEST_F(PlanTest, RefusesADrainingWorker) {
  const View view(scheduler_.state(), {});
  Plan plan(view);
  EXPECT_FALSE(plan.Launch(Task(0), {1}, Cause::kFirst, {}));
}

TEST_F(PlanTest, RefusesASecondUseOfASlot) {
  // Undraining launches task 0; its end frees the slot for task 1 in the same step.
  ASSERT_EQ(Send(WorkerDraining{{1}, 9, false}).size(), 1u);
  const View view(scheduler_.state(), {});
  Plan plan(view);
  EXPECT_FALSE(plan.Launch(Task(1), {1}, Cause::kFirst, {}));
  EXPECT_FALSE(plan.Launch(Task(7), {1}, Cause::kFirst, {}));
  EXPECT_FALSE(plan.TakeBack({Task(0), 1}, {})) << "it waits for nothing";
  EXPECT_TRUE(plan.Kill({Task(0), 1}, {}));
  EXPECT_FALSE(plan.Kill({Task(0), 1}, {})) << "once is enough";
  EXPECT_FALSE(plan.Bind({Task(0), 1}, {{Task(1), 1}, 1, {1}, 9}, {})) << "there is no such replica";
}

TEST_F(PlanTest, ADraftCountsItsOwnLaunches) {
  WorkerRegistered w;
  w.worker = {2};
  w.incarnation = 5;
  w.slots.total = 3;
  Send(WorkerDraining{{1}, 9, true});
  ASSERT_EQ(Send(w).size(), 2u) << "both tasks go there";
  const View view(scheduler_.state(), {});
  Plan plan(view);
  EXPECT_FALSE(plan.Launch(Task(0), {2}, Cause::kRetry, {})) << "one live attempt is enough";
  EXPECT_TRUE(plan.Launch(Task(0), {2}, Cause::kSpeculative, {}));
  EXPECT_FALSE(plan.Launch(Task(1), {2}, Cause::kSpeculative, {})) << "the draft has the last slot";
  EXPECT_TRUE(plan.Withdraw(Task(0)));
  EXPECT_FALSE(plan.Withdraw(Task(0)));
  EXPECT_TRUE(plan.Launch(Task(1), {2}, Cause::kSpeculative, {}));
}

TEST_F(PlanTest, AnInvalidGraphFailsTheJobAndNothingElse) {
  JobSubmitted job;
  job.job = {1, 2};
  job.graph.stages = {Spec("m", {}, false)};
  const auto decisions = Send(job);
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_THAT(std::get<FailJob>(decisions[0]).message, HasSubstr("'m' is read by no stage"));
}

// Two jobs with lists of their own: what a policy of one says of the other is refused, and neither
// reads what the other keeps in mind.
TEST_F(PlanTest, APolicyOfAJobsListSpeaksOfThatJobAlone) {
  for (const uint32_t seq : {2u, 3u}) {
    JobSubmitted job;
    job.job = {1, seq};
    job.policies = {seq == 2 ? "late(cap=0.2)" : "late(cap=0.3)"};
    job.graph.stages = {Spec("m", {StageInput{}}, true)};
    Send(job);
    Send(StagePlanned{{1, seq}, 0, 1, std::vector<TaskPlan>(1), ""});
  }
  WorkerRegistered w;
  w.worker = {2};
  w.incarnation = 5;
  w.slots.total = 6;
  ASSERT_EQ(Send(w).size(), 4u) << "all tasks go there";
  const State& state = scheduler_.state();
  const JobList* second = state.FindJob({1, 2})->list;
  const JobList* third = state.FindJob({1, 3})->list;
  const View view(state, {});
  Plan plan(view);
  const TaskId of_second{{1, 2}, 0, 0}, of_third{{1, 3}, 0, 0};
  plan.Enter("late", second);
  EXPECT_FALSE(plan.Launch(of_third, {2}, Cause::kSpeculative, {}));
  EXPECT_FALSE(plan.Launch(Task(0), {2}, Cause::kSpeculative, {}));
  EXPECT_FALSE(plan.Kill({of_third, 1}, {}));
  EXPECT_FALSE(plan.WantAttempts(of_third, 2));
  EXPECT_TRUE(plan.Launch(of_second, {2}, Cause::kSpeculative, {}));
  plan.Remember("worker", 1, "rate", int64_t{7});
  plan.Enter("late", third);
  EXPECT_FALSE(plan.Withdraw(of_second));
  EXPECT_FALSE(plan.PassOver({1, 2}));
  plan.WakeAt(1, {});
  const auto& fact = std::get<Remember>(plan.edits().at(1));
  const auto& timer = std::get<WakeAt>(plan.edits().at(2));
  EXPECT_EQ(fact.policy, View(state, {}, "late", second).owner());
  EXPECT_EQ(timer.policy, View(state, {}, "late", third).owner());
  EXPECT_NE(fact.policy, timer.policy);
  State empty;
  EXPECT_EQ(View(empty, {}, "late", &empty.lists().at("")).owner(), "late") << "the cluster's has no mark";
}

class ReportsTest : public testing::Test {
 protected:
  // The map runs on w1; the reduce waits for it on w2.
  ReportsTest() {
    steps_.Send(0, ConfigChanged{"fifo", 1, kSchedulerVersion, Millis(100)});
    for (uint32_t w = 1; w <= 2; ++w) steps_.Send(0, OneSlotWorker(w));
    steps_.Send(0, SmallMapReduceJob());
    steps_.Send(0, StagePlanned{{1, 1}, 0, 1, {TaskPlan{}}, ""});
    steps_.Send(0, StagePlanned{{1, 1}, 1, 1, {TaskPlan{0, {}, {{0, 0, 1, 0, 1}}}}, ""});
  }
  void FinishReduce(const std::vector<Consumed>& consumed) {
    steps_.Send(2, AttemptFinished{kReduce, {2}, 2, {1, 1, {7, 1}}, consumed, {}, {}});
  }
  template <class D>
  const D* Find() const {
    for (const Decision& d : steps_.out) {
      if (const auto* found = std::get_if<D>(&d)) return found;
    }
    return nullptr;
  }

  static constexpr AttemptId kMap{{{1, 1}, 0, 0}, 1}, kReduce{{{1, 1}, 1, 0}, 1};
  SteppedScheduler steps_;
};

TEST_F(ReportsTest, NobodyHasReadAGenerationThatIsStillToCome) {
  steps_.Finish(1, 0, 1);
  FinishReduce({{0, 0, 2, {0, 1}}});
  ASSERT_NE(Find<Refuse>(), nullptr);
  EXPECT_EQ(Find<Refuse>()->reason.code, ReasonCode::kConsumedStale);
}

TEST_F(ReportsTest, AReportOfWhatWasReadIsTakenFromTheCommittedGeneration) {
  steps_.Finish(1, 0, 1);
  FinishReduce({{0, 0, 1, {0, 1}}});
  EXPECT_NE(Find<CommitJob>(), nullptr);
}

// Its report is under way.
TEST_F(ReportsTest, AnAttemptWhoseOutputIsInItsWorkersInventoryIsNotLost) {
  WorkerRegistered again = OneSlotWorker(1);
  again.inventory = {{{kMap.task, 1}, kMap.number, {1}, 1}};
  steps_.Send(1, again);
  EXPECT_TRUE(steps_.scheduler.state().FindAttempt(kMap)->live());
  EXPECT_EQ(Find<DropReplica>(), nullptr);
  steps_.Finish(1, 0, 1);
  ASSERT_NE(Find<Accept>(), nullptr);
  EXPECT_TRUE(Find<Accept>()->winner);
}

TEST_F(ReportsTest, AnAttemptThatItsWorkerHasNoMoreIsLost) {
  steps_.Send(1, OneSlotWorker(1));
  EXPECT_EQ(steps_.scheduler.state().FindAttempt(kMap)->failure, FailureKind::kLost);
}

TEST(FactsTest, AreHashedAndForgotten) {
  State state;
  const uint64_t empty = state.Digest();
  const FactKey key{"delay", "job", 7, "held_since"};
  state.SetFact(key, int64_t{5});
  const uint64_t five = state.Digest();
  EXPECT_NE(five, empty);
  state.SetFact(key, 5.0);
  EXPECT_NE(state.Digest(), five) << "an integer is not a double";
  state.SetFact(key, int64_t{5});
  EXPECT_EQ(state.Digest(), five);
  EXPECT_EQ(state.Digest(), state.RecomputeDigest());
  state.EraseFact(key);
  EXPECT_EQ(state.Digest(), empty);
  EXPECT_EQ(state.FindFact(key), nullptr);
}

}  // namespace
}  // namespace mr::sched
