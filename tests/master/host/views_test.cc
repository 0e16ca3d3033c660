// Views that pages are made from: read in steps, between which the master goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "master/host/view_reader.h"
#include "tests/master/host/host_fixture.h"

namespace mr::master {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class ViewsTest : public test::HostFixture {
 protected:
  using HostFixture::HostFixture;
  static web::Topic TopicOf(const std::string& path, const std::string& query = "") {
    return web::ParseTopic(path, query).value();
  }
  // Reads a view as the site does.
  web::Reading Read(const web::Topic& topic) {
    std::promise<web::Reading> promise;
    host_->views().Read(topic, [&promise](web::Reading reading) { promise.set_value(std::move(reading)); });
    return promise.get_future().get();
  }
  template <class T>
  T ReadView(const std::string& path, const std::string& query = "") {
    web::Reading reading = Read(TopicOf(path, query));
    EXPECT_TRUE(reading.view.ok()) << path;
    return std::get<T>(std::move(**reading.view));
  }
  void Kill(JobId job) {
    On([&] { host_->requests().KillJob(job, Everything(), "enough", [](const Status&) {}); });
    On([&] {
      for (const AttemptView& attempt : host_->core().attempts().Of(job)) {
        if (Live(attempt.state)) Report('a', {attempt.id, report::Killed{}});
      }
    });
    // Its end is shown when its record is on the disk.
    for (bool shown = false; !shown;) On([&] { shown = ShownState(Job(job)) == JobState::kKilled; });
  }
};

TEST_F(ViewsTest, ARunIsFinalWhenTheJobHadEndedBeforeItWasRead) {
  MapsOnA();
  EXPECT_FALSE(Read(TopicOf("jobs/job_1_0001/report")).final);
  Kill(job_);
  const web::Reading ended = Read(TopicOf("jobs/job_1_0001/report"));
  EXPECT_TRUE(ended.final);
  const auto& run = std::get<report::JobRun>(**ended.view);
  EXPECT_EQ(run.tasks.size(), 4u);
  EXPECT_GE(run.attempts.size(), 4u);
  EXPECT_EQ(run.workers.size(), 2u);
  EXPECT_FALSE(run.decisions.empty());
}

// Rows that were read before the end show what still ran.
TEST_F(ViewsTest, ARunThatEndsWhileItIsReadIsNotFinal) {
  MapsOnA();
  std::unique_ptr<ViewSteps> steps;
  On([&] {
    steps = StepsFor(TopicOf("jobs/job_1_0001/report"), host_->views().parts());
    const Result<bool> ended = steps->Next();
    ASSERT_TRUE(ended.ok() && !*ended);
  });
  Kill(job_);
  On([&] {
    while (true) {
      const Result<bool> ended = steps->Next();
      ASSERT_TRUE(ended.ok()) << ended.status().ToString();
      if (*ended) break;
    }
    EXPECT_FALSE(steps->final());
    EXPECT_EQ(std::get<report::JobRun>(steps->Take()).job.state, JobState::kKilled);
  });
}

TEST_F(ViewsTest, AttemptsThatEndBeforeTheyReportTheirStartCountInTheRunTimes) {
  MapsOnA();
  On([&] { EXPECT_EQ(host_->reports().run_times().Read().counts.back(), 3u); });
}

TEST_F(ViewsTest, AttemptsThatEndBeforeTheyReportTheirStartCountInTheStartTimes) {
  On([this] { host_->sessions().Drain(Of('b').id, true, [](const Status&) {}); });
  const auto job = Submit();
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  Run(Seconds(2), [this] {
    Beat('a');
    Beat('b');
  });
  On([&] {
    const AttemptId map{{*job, 0, 0}, 1};
    ASSERT_TRUE(host_->core().attempts().Find(map).has_value());
    EXPECT_EQ(host_->reports().start_times().Read().counts.back(), 0u);
    mr::Report report = Finished(map);
    auto& finished = std::get<report::Finished>(report.what);
    finished.output.partitions = 1;
    finished.ran = Millis(1500);
    finished.waited = Millis(300);
    Report('a', report);
    const auto starts = host_->reports().start_times().Read();
    ASSERT_EQ(starts.counts.back(), 1u);
    EXPECT_EQ(starts.sum.ns / Millis(1).ns, 200) << "it ended 2 s after its launch, ran for 1.5 s and waited for 0.3 s";
    EXPECT_EQ(host_->reports().run_times().Read().sum, Millis(1800));
  });
}

TEST_F(ViewsTest, WhatIsNotThereIsNotFound) {
  for (const char* path : {"jobs/job_1_0009", "jobs/job_1_0009/report", "workers/w9"}) {
    EXPECT_EQ(Read(TopicOf(path)).view.status().code(), Code::kNotFound) << path;
  }
}

TEST_F(ViewsTest, TheClusterIsCounted) {
  MapsOnA();
  const auto second = Submit(0, "file://" + root_ + "/out2");
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  Kill(*second);
  const auto view = ReadView<web::ClusterView>("cluster");
  EXPECT_EQ(view.slots, 4u);
  EXPECT_THAT(view.workers, ElementsAre(Pair("live", 2)));
  EXPECT_EQ(view.racks.at("").workers, 2u);
  EXPECT_THAT(view.jobs, ElementsAre(Pair(JobState::kRunning, 1), Pair(JobState::kKilled, 1)));
  ASSERT_EQ(view.open.size(), 1u);
  EXPECT_EQ(view.open[0].id, job_);
  ASSERT_EQ(view.ended.size(), 1u);
  EXPECT_EQ(view.ended[0].id, *second);
  EXPECT_EQ(view.usage.slots.size(), view.usage.busy.size());
}

TEST_F(ViewsTest, JobsAreListedFromTheNewestAndChosen) {
  MapsOnA();
  const auto second = Submit(0, "file://" + root_ + "/out2");
  ASSERT_TRUE(second.ok());
  auto all = ReadView<web::JobsView>("jobs");
  ASSERT_EQ(all.jobs.size(), 2u);
  EXPECT_EQ(all.jobs[0].id, *second);
  EXPECT_FALSE(all.next.valid());
  EXPECT_EQ(ReadView<web::JobsView>("jobs", "before=" + Name(*second)).jobs.at(0).id, job_);
  EXPECT_TRUE(ReadView<web::JobsView>("jobs", "state=failed").jobs.empty());
  EXPECT_EQ(ReadView<web::SearchView>("search", "q=" + Name(job_)).results.at(0).id, Name(job_));
  EXPECT_EQ(ReadView<web::SearchView>("search", "q=w2").results.at(0).kind, "worker");
}

// Jobs of others do not exist in the views of one owner.
TEST_F(ViewsTest, JobsOfOtherOwnersAreInNoView) {
  MapsOnA();
  const auto second = Submit(0, "file://" + root_ + "/out2");
  ASSERT_TRUE(second.ok());
  Kill(*second);
  const std::string job = Name(job_), attempt = host_->core().jobs().NameOf({{job_, 0, 0}, 1});
  const auto as = [&](const std::string& owner, const std::string& path, const std::string& query = "") {
    web::Topic topic = TopicOf(path, query);
    topic.owner = owner;
    return Read(topic);
  };
  const std::vector<std::string> of_job = {"jobs/" + job,
                                           "jobs/" + job + "/report",
                                           "jobs/" + job + "/tasks",
                                           "jobs/" + job + "/attempts",
                                           "jobs/" + job + "/counters",
                                           "attempts/" + attempt + "/log"};
  for (const std::string& path : of_job) {
    const Status other = as("ben", path).view.status();
    EXPECT_EQ(other.code(), Code::kNotFound) << path;
    EXPECT_EQ(other.message(), "there is no job " + job) << path << ": as one that never was";
  }
  for (const std::string& path : of_job) {
    if (path.ends_with("/log")) continue;  // none is kept
    EXPECT_TRUE(as(Job(job_).owner, path).view.ok()) << path;
  }
  for (const auto& [owner, count] : {std::pair<std::string, size_t>{"ben", 0}, {Job(job_).owner, 2}, {"", 2}}) {
    EXPECT_EQ(std::get<web::JobsView>(**as(owner, "jobs").view).jobs.size(), count) << owner;
    EXPECT_EQ(std::get<web::SearchView>(**as(owner, "search", "q=job_").view).results.size(), count) << owner;
    const auto cluster = std::get<web::ClusterView>(**as(owner, "cluster").view);
    EXPECT_EQ(cluster.open.size() + cluster.ended.size(), count) << owner;
    EXPECT_EQ(cluster.jobs.size(), count) << owner;
    EXPECT_TRUE(count > 0 || cluster.usage.by_job.empty());
    const auto worker = std::get<web::WorkerView>(**as(owner, "workers/w1").view);
    EXPECT_EQ(worker.running.size() + worker.ended.size() > 0, count > 0) << owner;
    EXPECT_EQ(worker.worker.id, "w1");
  }
}

TEST_F(ViewsTest, AWorkerShowsWhatItRunsAndWhy) {
  MapsOnA();
  const auto view = ReadView<web::WorkerView>("workers/w1");
  EXPECT_EQ(view.worker.id, "w1");
  ASSERT_FALSE(view.why.empty());
  EXPECT_THAT(view.why.front(), testing::StartsWith("w1 at 127.0.0.1:1 is live"));
  EXPECT_THAT(view.why, testing::Each(testing::Not(testing::StartsWith("at ")))) << "decisions are those of attempts";
}

TEST_F(ViewsTest, AWorkerShowsTheAttemptsThatEndedOnItTheLatestFirst) {
  MapsOnA();
  Kill(job_);
  const auto view = ReadView<web::WorkerView>("workers/w1");
  size_t maps = 0;
  for (const web::EndedAttempt& a : view.ended) {
    EXPECT_EQ(a.status.worker, "w1");
    EXPECT_EQ(a.job, Job(job_).spec.name);
    EXPECT_EQ(a.launched_unix_ms, Job(job_).wall_ms + a.status.launched_us / 1000);
    maps += a.status.state == "committed";
  }
  EXPECT_EQ(maps, 3u);
  EXPECT_TRUE(std::is_sorted(view.ended.begin(), view.ended.end(),
                             [](const auto& x, const auto& y) { return x.status.ended_us > y.status.ended_us; }));
  EXPECT_TRUE(std::none_of(view.ended.begin(), view.ended.end(),
                           [](const web::EndedAttempt& a) { return a.status.state == "running"; }));
}

TEST_F(ViewsTest, TheEndOfAFailedAttemptsLogIsReadFromTheMaster) {
  const auto log = [this](const AttemptId& id) {
    return Read(TopicOf("attempts/" + Name(id, TaskLetter::kMap) + "/log")).view;
  };
  const auto text = [&log](const AttemptId& id) { return std::get<web::LogView>(**log(id)); };
  const auto submitted = Submit();
  ASSERT_TRUE(submitted.ok()) << submitted.status().ToString();
  const AttemptId kept{{*submitted, 0, 0}, 1}, whole{{*submitted, 0, 1}, 1}, tail{{*submitted, 0, 2}, 1};
  EXPECT_THAT(log(tail).status().message(), testing::HasSubstr("mrctl logs " + Name(tail, TaskLetter::kMap)));
  On([&] {
    const auto fail = [&](const AttemptId& id, const report::Failed& failed) {
      const char at = host_->core().attempts().Find(id)->worker == Of('a').id ? 'a' : 'b';
      Report(at, {id, failed});
    };
    fail(kept, {.message = "threw", .log = "the end\n", .log_bytes = 5'000'000});
    fail(whole, {.message = "threw", .log = "all of it\n", .log_bytes = 10});
    fail(tail, {.message = "threw", .stderr_tail = "no such column\n"});
  });
  EXPECT_EQ(text(kept).text, "the end\n");
  EXPECT_THAT(text(kept).note, testing::HasSubstr("mrctl logs " + Name(kept, TaskLetter::kMap)));
  EXPECT_EQ(text(whole).text, "all of it\n");
  EXPECT_EQ(text(whole).note, "");
  EXPECT_EQ(text(tail).text, "no such column\n") << "without a file there is what its report had";
  EXPECT_THAT(text(tail).note, testing::HasSubstr("that its report had"));
  EXPECT_EQ(log({{*submitted, 0, 0}, 7}).status().code(), Code::kNotFound) << "no such attempt";
  EXPECT_THAT(log({{*submitted, 0, 0}, 7}).status().message(), testing::Not(testing::HasSubstr("mrctl logs")));
  EXPECT_EQ(log({{{9, 9}, 0, 0}, 1}).status().code(), Code::kNotFound) << "no such job";
  EXPECT_EQ(Read(TopicOf("attempts/" + Name(kept, TaskLetter::kReduce) + "/log")).view.status().code(), Code::kNotFound)
      << "each log has one name";
}

class FairViewsTest : public ViewsTest {
 protected:
  FairViewsTest() : ViewsTest("fair") {}
  void SetMaxShare(uint32_t slots) {
    On([&] {
      host_->requests().SetQueue({"default", {}, {}, slots}, [](const Status& set) { EXPECT_TRUE(set.ok()); });
    });
  }
  JobStatus StatusOf(JobId id) {
    JobStatus status;
    On([&] { status = JobReader(host_->core(), host_->clock(), host_->inputs(), "fair").StatusOf(Job(id)); });
    return status;
  }
};

TEST_F(FairViewsTest, AJobThatRunsSaysThatItsQueuesMaxShareHoldsItBack) {
  SetMaxShare(2);
  const auto job = Submit();
  ASSERT_TRUE(job.ok());
  const JobStatus runs = StatusOf(*job);
  EXPECT_EQ(runs.stages[0].running, 2u);
  EXPECT_THAT(runs.waits,
              ElementsAre("stage 'count' has more tasks that are pending: queue 'default' holds 2 slots, its "
                          "max share is 2"));
  EXPECT_EQ(ReadView<web::ClusterView>("cluster").open.at(0).waits, runs.waits) << "pages show the same";
  SetMaxShare(4);
  EXPECT_THAT(StatusOf(*job).waits, testing::IsEmpty());
}

// More slots of the cluster, or a larger weight, would not help it.
TEST_F(FairViewsTest, AFullClusterIsNotBlamedForTheMaxShareOfAQueue) {
  SetMaxShare(2);
  On([this] { host_->sessions().Drain(Of('b').id, true, [](const Status&) {}); });
  const auto job = Submit();
  ASSERT_TRUE(job.ok());
  ASSERT_EQ(StatusOf(*job).stages[0].running, 2u) << "both slots that are left are taken";
  EXPECT_THAT(StatusOf(*job).waits, ElementsAre("stage 'count' has more tasks that are pending: queue 'default' holds "
                                                "2 slots, its max share is 2"));
}

// Their end is reported later, and the end of the job is not.
TEST_F(FairViewsTest, SlotTimeOfAttemptsThatAreBeingStoppedIsWasted) {
  const auto job = Submit();
  ASSERT_TRUE(job.ok());
  const auto wasted = [&] {
    uint64_t sum = 0;
    for (const CauseStatus& cause : StatusOf(*job).causes) sum += cause.wasted_us;
    return sum;
  };
  Run(Seconds(2), [this] {
    Beat('a');
    Beat('b');
  });
  On([&] { host_->clock().Stamp(); });
  EXPECT_EQ(wasted(), 0u) << "they may commit";
  On([&] {
    host_->requests().KillJob(*job, Everything(), "", [](const Status& killed) { EXPECT_TRUE(killed.ok()); });
  });
  ASSERT_EQ(StatusOf(*job).stages[0].running, 3u) << "no worker has reported their end";
  EXPECT_EQ(wasted(), 4 * 2'000'000u) << "three maps, and one attempt on the idle slot";
}

TEST_F(FairViewsTest, MetricsHaveTheFiguresOfEachQueue) {
  SetMaxShare(2);
  ASSERT_TRUE(Submit().ok());
  std::string text;
  On([&] {
    rpc::MetricsWriter out;
    host_->metrics().WriteMetrics(&out, loop_.get());
    text = out.Take();
  });
  for (const char* line : {"mr_queue_pending_jobs{queue=\"default\"} 0\n",
                           "mr_queue_running_jobs{queue=\"default\"} 1\n", "mr_queue_used_slots{queue=\"default\"} 2\n",
                           "mr_queue_weight{queue=\"default\"} 1\n", "mr_queue_min_share_slots{queue=\"default\"} 0\n",
                           "mr_queue_max_share_slots{queue=\"default\"} 2\n", "# TYPE mr_queue_used_slots gauge\n"}) {
    EXPECT_THAT(text, testing::HasSubstr(line));
  }
}

TEST_F(ViewsTest, ALostWorkerSaysWhenAndWhyByTheTimeOfDay) {
  MapsOnA();
  Run(kLease + kTick, [this] { Beat('b'); });
  std::vector<std::string> why;
  On([&] { why = *host_->why().Why("w1", Everything()); });
  EXPECT_THAT(why.at(0), testing::StartsWith("w1 at 127.0.0.1:1 is lost"));
  EXPECT_THAT(why.at(1), testing::MatchesRegex("it registered at [0-9-]+ [0-9:]+, and was lost at [0-9-]+ [0-9:]+: "
                                               "no heartbeat for .*"));
  ASSERT_GT(why.size(), 2u);
  for (size_t i = 2; i < why.size(); ++i) {
    EXPECT_THAT(why[i], testing::ContainsRegex("^at [0-9]+-[0-9]+-[0-9]+ [0-9:]+: ")) << "no time of a job's own";
  }
}

TEST_F(ViewsTest, AWorkerWhoseProcessRestartedSaysSo) {
  On([this] {
    RegisterIn in;
    in.extra.name = "a";
    in.info.incarnation = Incarnation{1000};
    in.info.address = "127.0.0.1:1";
    in.info.slots.total = 2;
    host_->sessions().SessionEnded('a');
    host_->sessions().Register(1000, std::move(in), [](const RegisterOut& out) { EXPECT_TRUE(out.status.ok()); });
  });
  EXPECT_THAT(ReadView<web::WorkerView>("workers/w1").why.at(1),
              testing::ContainsRegex("; before that it was lost at [0-9-]+ [0-9:]+: its process was restarted"));
}

TEST_F(ViewsTest, AWorkerThatIsStoppedAfterItsDrainIsNotLost) {
  On([this] {
    host_->sessions().Drain(Of('b').id, true, [](const Status&) {});
    host_->sessions().Leaving(Of('b').id, Of('b').info.incarnation);
  });
  Run(kLease + kTick, [this] { Beat('a'); });
  const auto view = ReadView<web::WorkerView>("workers/w2");
  EXPECT_EQ(view.worker.state, "stopped");
  EXPECT_THAT(view.why.at(1), testing::HasSubstr("was stopped after a drain at "));
  EXPECT_THAT(view.why.at(1), testing::HasSubstr(": its process was stopped (SIGTERM); "));
  const auto cluster = ReadView<web::ClusterView>("cluster");
  EXPECT_THAT(cluster.workers, ElementsAre(Pair("live", 1), Pair("stopped", 1)));
  EXPECT_EQ(cluster.racks.at("").lost, 0u);
  On([this] { host_->sessions().Drain(Of('b').id, false, [](const Status&) {}); });
  EXPECT_EQ(ReadView<web::WorkerView>("workers/w2").worker.state, "lost") << "it is wanted again, and away";
}

TEST_F(ViewsTest, TheClusterNamesTheMastersAddress) {
  host_->views().SetAddress("m:7070");
  EXPECT_EQ(ReadView<web::ClusterView>("cluster").address, "m:7070");
}

TEST_F(ViewsTest, UsageKeepsTenMinutes) {
  On([this] {
    Usage usage(host_->core(), *loop_);
    for (uint64_t i = 1; i <= 700; ++i) usage.Sample(i * 1000);
    const web::UsageView view = usage.View();
    EXPECT_EQ(view.slots.size(), 600u);
    EXPECT_EQ(view.slots.back(), 4u);
    EXPECT_EQ(view.to_unix_ms, 700'000u);
    EXPECT_TRUE(view.by_job.empty());
  });
}

TEST_F(ViewsTest, UsageKnowsTheJobsThatHeldSlots) {
  On([this] { host_->sessions().Drain(Of('b').id, true, [](const Status&) {}); });
  const auto job = Submit();
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  On([&, this] {
    Usage usage(host_->core(), *loop_);
    usage.Sample(1000);
    const uint32_t busy = usage.View().busy.back();
    EXPECT_EQ(busy, 2u) << "a has two slots, b is drained";
    ASSERT_EQ(usage.View().by_job.size(), 1u);
    EXPECT_EQ(usage.View().by_job[0].id, *job);
    EXPECT_EQ(usage.View().by_job[0].busy, std::vector<uint32_t>{busy});
  });
  Kill(*job);
  On([&, this] {
    Usage usage(host_->core(), *loop_);
    usage.Sample(1000);
    EXPECT_TRUE(usage.View().by_job.empty()) << "it holds none any more";
  });
}

}  // namespace
}  // namespace mr::master
