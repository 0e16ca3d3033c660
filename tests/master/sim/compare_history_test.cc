// Comparisons of lists over histories that the simulator made, so that the truth is known.
#include "master/sim/replay/compare_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "master/sched/state/state.h"

namespace mr::sim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kSpeculating[] = "fifo,late(min_age=1s)";

// A job with a wave of maps on workers of two slots; the fourth worker is five times as slow.
Experiment Straggling(const std::string& policies, uint64_t seed, uint32_t jobs = 1) {
  Experiment e;
  e.cluster.racks.push_back({"here", 0, 0});
  WorkerSpec worker;
  worker.slots.total = 2;
  e.cluster.workers.assign(8, worker);
  e.cluster.workers[3].speed = .2;
  e.tasks.luck.tail = 0;
  e.tasks.luck.sigma = .15;
  e.policies = policies;
  e.seed = seed;
  for (uint32_t j = 0; j < jobs; ++j) {
    e.jobs.push_back(MapReduce(120.0 * j, "count", 16, 16 * 60'000'000, 4, 4 * 30'000'000, 1000));
  }
  return e;
}

history::Document RecordOf(Experiment experiment) {
  Simulation run(std::move(experiment));
  EXPECT_EQ(run.Run(nullptr), "");
  history::Document document = history::FrameOf(run.scheduler().state());
  for (const auto& [id, job] : run.scheduler().state().jobs()) document.jobs.push_back(history::JobOf(job));
  return document;
}

double SecondsOf(const history::Document& document) {
  return (document.jobs[0].ended - document.jobs[0].submitted).seconds();
}

Question Asked(const std::string& text) {
  auto question = ParseQuestion(text);
  EXPECT_TRUE(question.ok()) << question.status().ToString();
  return *question;
}

Compared CompareOn(const std::vector<history::Document>& documents, const std::vector<std::string>& lists) {
  std::vector<Question> questions;
  for (const std::string& list : lists) questions.push_back(Asked(list));
  auto compared = CompareHistory(documents, std::nullopt, questions);
  EXPECT_TRUE(compared.ok()) << compared.status().ToString();
  return compared.ok() ? *std::move(compared) : Compared();
}

bool Within(const Band& band, double value) { return band.low <= value && value <= band.high; }

// Nine of ten is what a band promises. The runs have seeds, workers and task times of their own.
TEST(CompareHistoryTest, WhatThenHappensLiesInsideTheBandInNineOfTenRuns) {
  int same = 0, other = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Compared compared = CompareOn({RecordOf(Straggling("fifo", seed))}, {kSpeculating});
    same += Within(compared.lists[0].all.seconds, SecondsOf(RecordOf(Straggling("fifo", 100 + seed))));
    other += Within(compared.lists[1].all.seconds, SecondsOf(RecordOf(Straggling(kSpeculating, 100 + seed))));
  }
  EXPECT_GE(same, 18);
  EXPECT_GE(other, 18);
}

TEST(CompareHistoryTest, ABetterListIsFasterAndAnEqualOneIsNoDifference) {
  const Compared compared =
      CompareOn({RecordOf(Straggling("fifo", 3, 4))}, {kSpeculating, "fifo", "fair", "recorded --workers 1"});
  ASSERT_EQ(compared.lists.size(), 5u);
  EXPECT_EQ(compared.lists[1].all.conclusion, Judgement::kFaster) << Table(compared);
  EXPECT_EQ(compared.lists[2].all.conclusion, Judgement::kNoDifference) << Table(compared);
  EXPECT_EQ(compared.lists[2].all.change.middle, 0) << "the same luck for all lists";
  EXPECT_EQ(compared.lists[3].all.conclusion, Judgement::kNoDifference) << "jobs that do not overlap";
  EXPECT_EQ(compared.lists[4].all.conclusion, Judgement::kSlower) << Table(compared);
  EXPECT_EQ(compared.lists[4].slots, 2u);
  EXPECT_GT(compared.lists[1].slot_seconds.high, compared.lists[1].slot_seconds.low);
  EXPECT_THAT(Table(compared), HasSubstr("no difference above the error"));
}

TEST(CompareHistoryTest, AJobOfMillisecondsIsTooShortToTell) {
  Experiment e = Straggling("fifo", 1);
  e.jobs[0] = MapReduce(0, "blink", 3, 3000, 1, 1000, 10);
  history::Document document = RecordOf(std::move(e));
  history::Job& job = document.jobs[0];
  job.ended = job.submitted + Millis(9);
  const Compared compared = CompareOn({document}, {"fair", "recorded --workers 100"});
  EXPECT_EQ(compared.lists[1].all.conclusion, Judgement::kTooShort);
  EXPECT_EQ(compared.lists[2].all.conclusion, Judgement::kTooShort);
  EXPECT_THAT(Table(compared), HasSubstr("too short to tell"));
}

TEST(CompareHistoryTest, JobsThatAreTooShortToTellDoNotCountInTheChangeOfAllJobs) {
  const history::Document told = RecordOf(Straggling("fifo", 3));
  Experiment short_one = Straggling("fifo", 1);
  short_one.jobs[0] = MapReduce(0, "blink", 3, 3000, 1, 1000, 10);
  std::vector<history::Document> documents(20, RecordOf(std::move(short_one)));
  for (history::Document& blink : documents) {
    blink.jobs[0].ended = blink.jobs[0].submitted + Millis(9);
    blink.run = "local_0001";
  }
  documents.insert(documents.begin(), told);  // the first, so that it has the same draws as alone
  const Compared alone = CompareOn({told}, {kSpeculating}), all = CompareOn(documents, {kSpeculating});
  ASSERT_EQ(alone.lists[1].all.conclusion, Judgement::kFaster) << Table(alone);
  EXPECT_EQ(all.lists[1].all.conclusion, Judgement::kFaster) << Table(all);
  EXPECT_NEAR(all.error, alone.error, 1e-9);
  EXPECT_EQ(all.too_short(), 20u);
  EXPECT_THAT(Table(all), HasSubstr("20 jobs are too short to tell (below 0.2 s)"));
  EXPECT_THAT(Json(all), HasSubstr("\"too_short\":20"));
  EXPECT_EQ(alone.too_short(), 0u);
}

// Local runs of all commands of `stream` have one name, and are not the same job.
TEST(CompareHistoryTest, RunsOfOneNameThatTookOtherTimesAreOtherJobs) {
  std::vector<history::Document> documents;
  for (const uint64_t cost : {1000, 100'000}) {
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      Experiment e = Straggling("fifo", seed);
      e.cluster.workers[3].speed = 1;
      e.jobs[0] = MapReduce(0, "stream", 16, 16 * 600'000, 4, 4 * 300'000, cost);
      documents.push_back(RecordOf(std::move(e)));
    }
  }
  const Compared compared = CompareOn(documents, {"fifo"});
  EXPECT_NEAR(compared.lists[0].slot_seconds.middle / compared.slot_seconds, 1, .1) << Table(compared);
  for (size_t j = 0; j < compared.jobs.size(); ++j)
    EXPECT_NEAR(compared.lists[0].jobs[j].seconds.middle / compared.jobs[j].measured, 1, .3) << Table(compared);
}

TEST(CompareHistoryTest, TheTableOfManyJobsNamesTheWayToSeeEach) {
  const Compared compared = CompareOn({RecordOf(Straggling("fifo", 1, 21))}, {"fair"});
  EXPECT_THAT(Table(compared),
              HasSubstr("\n21 jobs: -v (mrsim: --all-jobs) prints a line for each, -o json has all.\n"));
  EXPECT_THAT(Table(compared), Not(HasSubstr("MEASURED s")));
  EXPECT_THAT(Table(compared, true), HasSubstr("MEASURED s"));
  EXPECT_THAT(Table(compared), HasSubstr("The model fits these runs"));
}

// The rows of a job stand below one another, whichever of them names the job.
TEST(CompareHistoryTest, TheListsOfAJobStandInOneColumn) {
  const std::string table = Table(CompareOn({RecordOf(Straggling("fifo", 1, 2))}, {"fair"}));
  const size_t jobs = table.find("JOB  ");
  ASSERT_NE(jobs, std::string::npos) << table;
  const auto column = [&](const std::string& list, size_t from) {
    const size_t at = table.find(list, from);
    return at == std::string::npos ? at : at - table.rfind('\n', at);
  };
  EXPECT_EQ(column("fair  ", jobs), column("LIST", jobs)) << table;
  EXPECT_EQ(column("recorded  ", jobs), column("LIST", jobs)) << table;
}

// A single job whose time hangs on one task with a very uncertain time.
TEST(CompareHistoryTest, AWideBandSaysThatNothingCanBeTold) {
  Experiment e = Straggling("fifo", 5);
  e.tasks.luck.sigma = 1.5;
  const Compared compared = CompareOn({RecordOf(std::move(e))}, {"recorded --workers 3"});
  EXPECT_EQ(compared.lists[1].all.conclusion, Judgement::kCannotTell) << Table(compared);
}

// The model's error on a job that took longer than the model knows hides changes.
TEST(CompareHistoryTest, AChangeWithinTheModelsErrorIsNone) {
  history::Document document = RecordOf(Straggling("fifo", 3));
  const Compared sure = CompareOn({document}, {kSpeculating});
  ASSERT_EQ(sure.lists[1].all.conclusion, Judgement::kFaster) << Table(sure);
  const Duration took = document.jobs[0].ended - document.jobs[0].submitted;
  document.jobs[0].ended = document.jobs[0].ended + took;
  const Compared unsure = CompareOn({document}, {kSpeculating});
  EXPECT_GT(unsure.widened, 1);
  EXPECT_NEAR(unsure.error, std::log(2), .1) << "it took twice as long as the model says";
  EXPECT_EQ(unsure.lists[1].all.conclusion, Judgement::kCannotTell) << Table(unsure);
}

TEST(CompareHistoryTest, MissedDeadlinesAreCounted) {
  Experiment e = Straggling("fifo", 3, 3);
  for (JobModel& job : e.jobs) job.deadline = 1000;
  e.jobs[1].deadline = 1;
  const Compared compared = CompareOn({RecordOf(std::move(e))}, {"recorded --workers 1"});
  EXPECT_EQ(compared.deadlines, 3u);
  EXPECT_EQ(compared.missed, 1u);
  EXPECT_EQ(compared.lists[0].missed.middle, 1);
  EXPECT_EQ(compared.lists[1].missed.low, 1);
}

TEST(CompareHistoryTest, RunsOfSeveralClustersAreComparedTogether) {
  history::Document one = RecordOf(Straggling("fifo", 1)), two = RecordOf(Straggling("fair", 2)), failed = one;
  one.run = "local_0001";
  two.run = "local_0002";
  failed.jobs[0].state = sched::JobState::kFailed;
  const Compared compared = CompareOn({one, failed, two}, {"fifo"});
  ASSERT_EQ(compared.jobs.size(), 2u);
  EXPECT_EQ(compared.jobs[1].id, "local_0002");
  EXPECT_EQ(compared.clusters, 2u);
  EXPECT_NEAR(compared.mean_seconds, (SecondsOf(one) + SecondsOf(two)) / 2, 1e-6);
  EXPECT_EQ(compared.recorded_lists, (std::vector<std::string>{"fifo", "fair"}));
  EXPECT_THAT(compared.notes, Contains(HasSubstr("1 run did not succeed")));
  EXPECT_EQ(CompareHistory({failed}, std::nullopt, {Asked("fifo")}).status().code(), Code::kRejected);
}

TEST(CompareHistoryTest, EqualQuestionsHaveEqualAnswers) {
  const history::Document document = RecordOf(Straggling("fifo", 1));
  EXPECT_EQ(Json(CompareOn({document}, {"fair"})), Json(CompareOn({document}, {"fair"})));
}

TEST(QuestionTest, ListsMayHaveANameAndASizeOfTheCluster) {
  const Question question = Asked("cautious --workers 20 --slots 4");
  EXPECT_EQ(question.change.workers, 20u);
  EXPECT_EQ(question.change.slots, 4u);
  EXPECT_THAT(question.change.scheduler, HasSubstr("fair,"));
  EXPECT_EQ(Asked("recorded").change.scheduler, "");
  for (const char* bad : {"", "--workers 20", "nosuch", "fair fifo", "fair --workers", "fair --workers 0",
                          "fair --workers x", "fair --slots 99999999999", "fair --seeds 3"})
    EXPECT_EQ(ParseQuestion(bad).status().code(), Code::kInvalidArgument) << bad;
}

}  // namespace
}  // namespace mr::sim
