// What-if over histories that the simulator made, so that the truth is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "master/sched/state/state.h"
#include "master/sim/replay/whatif.h"

namespace mr::sim {
namespace {

// Two kinds of workers, half of them slower by `factor`, and six overlapping jobs of maps and reduces.
Experiment Mixed(const std::string& policies, double factor = 2) {
  Experiment e;
  e.cluster.racks.push_back({"here", 0, 0});
  WorkerSpec w;
  w.slots.total = 2;
  e.cluster.workers.assign(8, w);
  for (size_t i = 0; i < 8; i += 2) e.cluster.workers[i].speed = 1 / factor;
  e.tasks.luck.tail = 0;
  e.tasks.luck.sigma = .1;
  e.policies = policies;
  e.seed = 7;
  for (int j = 0; j < 6; ++j) {
    e.jobs.push_back(MapReduce(4.0 * j, "job" + std::to_string(j), 24, 24 * 30'000'000, 4, 4 * 20'000'000, 1000));
  }
  return e;
}

history::Document HistoryOf(Experiment experiment) {
  Simulation run(std::move(experiment));
  EXPECT_EQ(run.Run(nullptr), "");
  history::Document document = history::FrameOf(run.scheduler().state());
  for (const auto& [id, job] : run.scheduler().state().jobs()) document.jobs.push_back(history::JobOf(job));
  return document;
}

double Mean(const WhatIf& w, double WhatIf::Row::*field) {
  double sum = 0;
  for (const auto& row : w.rows) sum += row.*field;
  return sum / static_cast<double>(w.rows.size());
}

TEST(HistoryTest, IsTheSameAfterBeingWrittenAndRead) {
  Experiment e = Mixed("fair,late(min_age=1s)");
  e.jobs[0].queue = "night";
  e.jobs[1].name = "tabs\tand\nlines";
  e.queues = {{"night", 2.5, 1, 7}};
  const history::Document document = HistoryOf(std::move(e));
  const std::string text = history::Write(document);
  const auto again = history::Read(text, "it");
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(history::Write(*again), text);
  EXPECT_EQ(again->workers, document.workers);
  ASSERT_EQ(again->jobs.size(), 6u);
  EXPECT_EQ(again->jobs[0].stages[0].tasks, document.jobs[0].stages[0].tasks);
  EXPECT_EQ(again->jobs[0].queue, "night");
  EXPECT_EQ(again->jobs[1].name, "tabs and lines");
  EXPECT_EQ(again->policies, "fair,late(min_age=1s)");
}

TEST(HistoryTest, WhatIsNoneIsRefusedWithItsLine) {
  const std::string text = history::Write(HistoryOf(Mixed("fifo")));
  EXPECT_EQ(history::Read("x\n", "it").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(history::Read("paceline-history\t4\n", "it").status().code(), Code::kRejected);
  for (const char* bad :
       {"attempt\t1", "stage\ts\t1\t0\t1\t-", "task\t1\t1\t1\t-\t0:0:1:0:99", "worker\t0\t-\t1\t0\t0\t0\t0", "what"}) {
    const auto read = history::Read("paceline-history\t1\n" + std::string(bad) + "\n", "it");
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
    EXPECT_TRUE(read.status().message().starts_with("it:2: ")) << read.status().message();
  }
  // A history that is cut or changed anywhere is rejected or read, without any other effect.
  for (size_t at = 1; at < text.size(); at += 97) {
    (void)history::Read(text.substr(0, at), "it");
    std::string changed = text;
    changed[at] = '9';
    (void)history::Read(changed, "it");
  }
}

TEST(WhatIfTest, SpeedsComeOutOfDurations) {
  std::vector<SpeedSample> samples;
  const double speeds[] = {1, 1, .5, 1, .25, 1};
  for (uint32_t stage = 0; stage < 4; ++stage) {
    for (uint32_t n = 0; n < 60; ++n) {
      samples.push_back({stage, n % 6, (stage + 1) * (1 + .01 * (n % 3)) / speeds[n % 6], true});
    }
  }
  const auto estimated = EstimateSpeeds(samples, 7);
  for (size_t w = 0; w < 6; ++w) EXPECT_NEAR(estimated[w].speed() / speeds[w], 1, .1) << w;
  EXPECT_EQ(estimated[6].speed(), 1) << "of a worker without attempts nothing is known";
  // A single attempt means little.
  EXPECT_GT(EstimateSpeeds({{0, 0, 1, true}, {0, 0, 1, true}, {0, 1, 10, true}}, 2)[1].speed(), .3);
}

TEST(WhatIfTest, AHistoryAsItWasComesOutAsItWas) {
  for (const char* policies : {"fifo", "fair,late(min_age=1s)"}) {
    const auto document = HistoryOf(Mixed(policies));
    const auto same = RunWhatIf(document, {}, {});
    ASSERT_TRUE(same.ok()) << same.status().ToString();
    EXPECT_LT(same->median_error, .05) << policies << "\n" << Table(*same);
    EXPECT_LT(same->worst_error, .15) << policies << "\n" << Table(*same);
    EXPECT_NEAR(same->model.useful / same->happened.useful, 1, .05) << policies;
    for (const auto& row : same->rows) EXPECT_EQ(row.model, row.then) << "nothing was changed";
  }
}

// One of the workers is five times as slow, and there is room for speculative attempts.
Experiment OneSlow(const std::string& policies) {
  Experiment e = Mixed(policies, 1);
  e.cluster.workers[3].speed = .2;
  e.jobs.resize(3);
  for (size_t j = 0; j < 3; ++j) {
    e.jobs[j] = MapReduce(30.0 * static_cast<double>(j), "slow", 16, 16 * 30'000'000, 0, 0, 1000);
  }
  return e;
}

// A master offers slots behind the worker of its last launch, so a job on an idle cluster begins anywhere. Its tasks
// have the same workers in the model.
TEST(WhatIfTest, AJobThatDidNotBeginOnTheFirstWorkerIsAsItWas) {
  Experiment e = OneSlow("fifo");
  e.cluster.workers[5].speed = .3;
  for (JobModel& job : e.jobs) {
    job.stages[0].tasks = 11;  // on some of the workers two, on others one
    job.stages[0].preferred.resize(11);
  }
  history::Document document = HistoryOf(std::move(e));
  size_t elsewhere = 0;
  for (const history::Job& job : std::vector<history::Job>(document.jobs)) {
    document.jobs = {job};
    elsewhere += job.stages[0].tasks[0].attempts[0].worker != WorkerId{1};
    const auto model = ModelOf(document, {});
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    EXPECT_EQ(model->workers[0], job.stages[0].tasks[0].attempts[0].worker);
    const auto same = RunWhatIf(document, {}, {});
    ASSERT_TRUE(same.ok()) << same.status().ToString();
    EXPECT_LT(same->worst_error, .02) << Table(*same);
  }
  EXPECT_GT(elsewhere, 0u);
}

TEST(WhatIfTest, MoreWorkersAreFasterAndFewerSlower) {
  const auto document = HistoryOf(Mixed("fifo"));
  const auto time = [&](uint32_t workers, uint32_t slots) {
    const auto w = RunWhatIf(document, {}, {"", workers, slots});
    EXPECT_TRUE(w.ok()) << w.status().ToString();
    EXPECT_EQ(w->then_slots, workers * slots);
    return Mean(*w, &WhatIf::Row::then);
  };
  const double four = time(4, 2), eight = time(8, 2), sixteen = time(16, 2);
  EXPECT_GT(four, 1.5 * eight);
  EXPECT_LT(sixteen, .9 * eight);
  EXPECT_LT(time(8, 4), .9 * eight);
  // Ask the simulator for the truth.
  Experiment truth = Mixed("fifo");
  truth.cluster.workers.insert(truth.cluster.workers.end(), truth.cluster.workers.begin(), truth.cluster.workers.end());
  const auto doubled = HistoryOf(std::move(truth));
  double sum = 0;
  for (const auto& job : doubled.jobs) sum += (job.ended - job.submitted).seconds();
  EXPECT_NEAR(sixteen / (sum / 6), 1, .1);
}

TEST(WhatIfTest, AnotherListIsTriedOnTheSameLuck) {
  const auto document = HistoryOf(OneSlow("fifo"));
  const auto late = RunWhatIf(document, {}, {"fifo,late(min_age=1s)", 0, 0});
  ASSERT_TRUE(late.ok()) << late.status().ToString();
  EXPECT_EQ(late->happened.extra, 0u);
  EXPECT_EQ(late->model.extra, 0u);
  EXPECT_GE(late->then.extra, 3u);
  EXPECT_LT(Mean(*late, &WhatIf::Row::then), .8 * Mean(*late, &WhatIf::Row::model)) << Table(*late);
  // The other way round, the original attempts were stopped: their times are not known exactly, only that they are
  // longer.
  const auto speculated = HistoryOf(OneSlow("fifo,late(min_age=1s)"));
  const auto none = RunWhatIf(speculated, {}, {"fifo", 0, 0});
  ASSERT_TRUE(none.ok());
  EXPECT_GE(none->happened.extra, 3u);
  EXPECT_EQ(none->then.extra, 0u);
  EXPECT_GT(Mean(*none, &WhatIf::Row::then), 1.25 * Mean(*none, &WhatIf::Row::model)) << Table(*none);
  EXPECT_EQ(RunWhatIf(document, {}, {"nosuch", 0, 0}).status().code(), Code::kInvalidArgument);
}

TEST(WhatIfTest, AJobShorterThanTheResolutionIsTooShortAndAChangeWithinTheErrorIsNone) {
  WhatIf whatif;
  whatif.was = {{0, "fifo"}};
  const auto change = [&whatif](double happened, double model, double then) {
    whatif.rows = {{"job_1_0001", "job", 3, happened, model, then}};
    const std::string table = Table(whatif);
    const bool too_short = table.find("too short to tell") != std::string::npos;
    const bool none = table.find("no difference above the error") != std::string::npos;
    EXPECT_FALSE(too_short && none) << table;
    EXPECT_EQ(too_short || none, Json(whatif).find("\"tells\":true") == std::string::npos) << Json(whatif);
    return too_short ? "too short" : none ? "none" : "change";
  };
  EXPECT_STREQ(change(.009, .0092, .0044), "too short") << "three tasks in sequence, 9 ms";
  EXPECT_STREQ(change(100, 98, 50), "change");
  EXPECT_STREQ(change(100, 140, 105), "none") << "off by 40 s, changed by 35";
  EXPECT_STREQ(change(13, 13.1, 13.1), "none");
  EXPECT_STREQ(change(10, 10, 10.06), "change");
}

TEST(WhatIfTest, AJobsOwnRowAndWhatIsMissingIsSaid) {
  const auto document = HistoryOf(Mixed("fifo"));
  const auto one = RunWhatIf(document, JobId{1, 3}, {"", 16, 0});
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->rows.size(), 1u);
  EXPECT_EQ(one->rows[0].id, "job_1_0003");
  EXPECT_EQ(RunWhatIf(document, JobId{1, 9}, {}).status().code(), Code::kNotFound);
  history::Document failed = document;
  failed.jobs[2].state = sched::JobState::kFailed;
  EXPECT_EQ(RunWhatIf(failed, JobId{1, 3}, {}).status().code(), Code::kRejected);
  const auto rest = RunWhatIf(failed, {}, {});
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(rest->rows.size(), 5u);
  EXPECT_THAT(rest->notes, testing::Contains(testing::HasSubstr("1 job did not succeed")));
}

// Operators that announce more bytes than they take end at a part of their progress. A stopped attempt at half of that
// part was half done.
TEST(WhatIfTest, StoppedAttemptsAreMeasuredByTheProgressAtWhichOthersEnd) {
  history::Document document = HistoryOf(OneSlow("fifo"));
  const auto seconds = [&] {
    const auto same = RunWhatIf(document, {}, {});
    EXPECT_TRUE(same.ok()) << same.status().ToString();
    return same->rows[0].model;
  };
  history::Job& job = document.jobs[0];
  document.jobs.resize(1);
  history::Stage& reduce = job.stages.emplace_back();
  reduce.spec = job.stages[0].spec;
  reduce.spec.inputs = {{true, sched::EdgeKind::kAllToAll, 0}};
  const Instant begin = job.ended;
  for (uint32_t t = 0; t < 2; ++t) {
    history::Task task;
    task.winner = t == 0 ? 1 : 2;
    task.slices = {{0, t, t + 1, 0, static_cast<uint32_t>(job.stages[0].tasks.size())}};
    history::Attempt a;
    a.number = 1;
    a.worker = {1};
    a.state = sched::AttemptState::kCommitted;
    a.launched = a.started = a.inputs_done = begin;
    a.ended = a.reported = begin + Seconds(10);
    a.phase = 3;
    a.taken = 75;
    a.total = 100;
    if (t == 1) {
      history::Attempt stopped = a;
      stopped.state = sched::AttemptState::kKilled;
      stopped.taken = 15;  // a fifth of 75, after 10 s
      task.attempts.push_back(stopped);
      a.number = 2;
      a.cause = Cause::kSpeculative;
      a.worker = {3};
    }
    task.attempts.push_back(a);
    reduce.tasks.push_back(task);
  }
  job.ended = begin + Seconds(10);
  EXPECT_EQ(ModelOf(document, {})->as_it_was.jobs[0].stages[1].taken, .75) << "policies see no more of their progress";
  const double by_others = seconds();
  for (history::Task& task : reduce.tasks) task.attempts.back().taken = 100;
  EXPECT_GT(seconds(), 1.1 * by_others) << "15 of 100 are less than 15 of 75";
}

// One worker leaves at 10 s and another registers at 20 s. The model has both.
TEST(WhatIfTest, WorkersThatWentAndCameAreInTheModel) {
  Experiment e = Mixed("fifo");
  e.cluster.workers[7].from = 20;
  e.faults.faults = {{FaultKind::kCrash, 10, 1, 0, 1}};
  e.faults.lease = {};
  history::Document document = HistoryOf(std::move(e));
  document.workers.insert(document.workers.begin() + 1,
                          history::Worker{{2}, "here", {2, 0, 0}, {}, Instant{10'000'000'000}});
  document.workers.back().from = Instant{20'000'000'000};
  const auto same = RunWhatIf(document, {}, {});
  ASSERT_TRUE(same.ok()) << same.status().ToString();
  EXPECT_EQ(same->was_workers, 8u);
  EXPECT_LT(same->worst_error, .15) << Table(*same);
  for (history::Worker& w : document.workers) w.from = w.until = {};
  EXPECT_GT(RunWhatIf(document, {}, {})->worst_error, same->worst_error) << "as if all had always been there";
}

// A journal without its first parts begins with a snapshot. Earlier events are then taken from the state.
TEST(WhatIfTest, AHistoryThatBeginsBehindASnapshotHasItsListQueuesAndWorkers) {
  Experiment e = Mixed("fair,late(min_age=1s)");
  e.queues = {{"night", 2.5, 1, 7}};
  HistoryCollector collector;
  const Simulation* run = nullptr;
  int events = 0;
  e.watch = [&](const auto& event, const auto& decisions) {
    if (++events > 40) collector.On(event, decisions, run->scheduler());
  };
  Simulation simulation(std::move(e));
  run = &simulation;
  ASSERT_EQ(simulation.Run(nullptr), "");
  const history::Document document = collector.Take();
  EXPECT_EQ(document.policies, "fair,late(min_age=1s)");
  EXPECT_EQ(document.seed, 7u);
  ASSERT_EQ(document.lists.size(), 1u);
  EXPECT_EQ(document.workers.size(), 8u);
  EXPECT_FALSE(document.queues.empty());
  EXPECT_FALSE(document.jobs.empty());
}

// The master was restarted with another list in between. Each job is compared with the list in force when it ran.
TEST(WhatIfTest, AHistoryOfTwoListsIsSimulatedUnderEach) {
  Experiment e = OneSlow("fifo");
  for (size_t j = 0; j < 3; ++j) e.jobs[j].submit = 100.0 * static_cast<double>(j);
  e.list_changes = {{150, "fifo,late(min_age=1s)"}};
  const auto made = HistoryOf(std::move(e));
  const auto document = history::Read(history::Write(made), "it");
  ASSERT_TRUE(document.ok()) << document.status().ToString();
  EXPECT_EQ(document->lists, made.lists);
  ASSERT_EQ(made.jobs.size(), 3u);
  for (const uint32_t j : {0, 2}) {
    const auto w = RunWhatIf(*document, made.jobs[j].id, {});
    ASSERT_TRUE(w.ok()) << w.status().ToString();
    EXPECT_EQ(w->was_scheduler, j == 0 ? "fifo" : "fifo,late(min_age=1s)");
    EXPECT_EQ(w->model.extra > 0, j == 2) << Table(*w);
    EXPECT_LT(w->worst_error, .15) << Table(*w);
  }
  const auto all = RunWhatIf(*document, {}, {"", 0, 0});
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  EXPECT_EQ(all->was_scheduler, "fifo, from 150.000 s on fifo,late(min_age=1s)");
  EXPECT_LT(all->worst_error, .15) << Table(*all);
  EXPECT_NE(Json(*all).find(R"("lists":[{"from_s":0.000000,"scheduler":"fifo"},{"from_s":150.000000,)"),
            std::string::npos);
  const auto changed = RunWhatIf(*document, {}, {"fifo", 0, 0});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->then.extra, 0u) << "the asked list holds throughout";
  EXPECT_EQ(changed->then_scheduler, "fifo");
}

// Costs and speeds of a history are those that it was made with, and a run accepts them.
TEST(WhatIfTest, ParametersComeOutOfAHistory) {
  Experiment e = Mixed("fifo", 2);
  e.tasks.map_cost = 3e-7;
  e.tasks.launch_delay = Millis(40);
  const auto document = HistoryOf(std::move(e));
  const auto model = ModelOf(document, {});
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  const std::string toml = CalibrationToml(*model);
  const auto tasks = ParseTasksToml(toml, "it");
  ASSERT_TRUE(tasks.ok()) << tasks.status().ToString() << toml;
  const auto cluster = ParseClusterToml(toml, "it");
  ASSERT_TRUE(cluster.ok()) << cluster.status().ToString() << toml;
  ASSERT_EQ(cluster->workers.size(), 8u);
  EXPECT_NEAR(cluster->workers[1].speed / cluster->workers[0].speed, 2, .25);
  // Speeds are relative: the cost belongs to the speed that is called 1.
  EXPECT_NEAR(tasks->map_cost / cluster->workers[1].speed / 3e-7, 1, .15);
  EXPECT_EQ(tasks->launch_delay, Millis(40));
  EXPECT_NEAR(tasks->luck.sigma, .1, .05);
  EXPECT_EQ(cluster->racks[0].name, "here");
  EXPECT_EQ(ParseTasksToml("[[worker]]\n", "it").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseTasksToml("[task]\nmap_csot = 1.0\n", "it").status().code(), Code::kInvalidArgument);
  for (const char* bad : {"launch_delay = -1.0", "launch_delay = nan", "launch_delay = inf", "launch_delay = 1e17",
                          "kill_delay = 3601", "report_period = 1e10", "tail = 1.5", "map_cost = 2.0"}) {
    const Status status = ParseTasksToml("[task]\n" + std::string(bad) + "\n", "it").status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << bad;
    EXPECT_NE(status.message().find("it must be from "), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace mr::sim
