// The document of a job's run: all of it comes back from its text, in pages of any size.
#include "master/history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "master/sched/scheduler.h"

namespace mr::history {
namespace {

// Makes stages of so many tasks; each stage reads the one before it. A task has as many attempts as its number says.
sched::Job JobWith(const std::vector<uint32_t>& tasks) {
  sched::Job job;
  job.id = {3, 7};
  job.name = "j";
  for (uint32_t s = 0; s < tasks.size(); ++s) {
    sched::StageSpec spec;
    spec.name = "stage" + std::to_string(s);
    spec.inputs = {s == 0 ? sched::StageInput{} : sched::StageInput{true, sched::EdgeKind::kAllToAll, s - 1}};
    job.graph.stages.push_back(spec);
    job.stages.emplace_back().tasks.resize(tasks[s]);
    for (uint32_t t = 0; t < tasks[s]; ++t) {
      for (uint32_t n = 1; n <= t % 3; ++n) {
        sched::Attempt a;
        a.number = n;
        a.worker = {n};
        a.launched_at = {1000 + n};
        job.stages[s].tasks[t].attempts.push_back(a);
      }
    }
  }
  return job;
}

TEST(HistoryTest, PagesOfAnySizeTogetherAreTheJob) {
  for (const std::vector<uint32_t>& tasks :
       {std::vector<uint32_t>{4, 3, 1, 5}, std::vector<uint32_t>{1, 0, 2, 0}, std::vector<uint32_t>{0, 6}}) {
    const sched::Job job = JobWith(tasks);
    const std::string all = WriteJob(JobOf(job));
    for (size_t bytes = 1; bytes <= all.size() + 1; bytes += 7) {
      std::string text;
      uint32_t from = 0, pages = 0;
      do {
        const Page page = WritePage(job, from, bytes);
        text += page.text;
        from = page.next;
        ASSERT_LE(++pages, 20u);
      } while (from != 0);
      ASSERT_EQ(text, all) << "in pages of " << bytes << " bytes";
    }
  }
}

TEST(HistoryTest, EachCauseAndEachStateComesBack) {
  Document document;
  document.policies = "fifo";
  Job job;
  job.id = {1, 1};
  job.name = "j";
  job.queue = "q";
  job.stages.resize(1);
  job.stages[0].spec.name = "map";
  job.stages[0].spec.inputs.resize(1);
  for (size_t cause = 1; cause <= kCauses; ++cause) {
    for (auto state = static_cast<int>(sched::AttemptState::kLaunched);
         state <= static_cast<int>(sched::AttemptState::kKilled); ++state) {
      Attempt a;
      a.number = 1;
      a.cause = static_cast<Cause>(cause);
      a.state = static_cast<sched::AttemptState>(state);
      a.worker = {2};
      a.launched = {3}, a.started = {4}, a.inputs_done = {5}, a.ended = {6}, a.reported = {7};
      a.taken = 8, a.total = 9, a.phase = 4;
      job.stages[0].tasks.emplace_back().attempts.push_back(a);
    }
  }
  for (const sched::JobState state :
       {sched::JobState::kRunning, sched::JobState::kSucceeded, sched::JobState::kFailed, sched::JobState::kKilled}) {
    job.state = state;
    document.jobs = {job};
    const auto read = Read(Write(document), "it");
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    ASSERT_EQ(read->jobs.size(), 1u);
    EXPECT_EQ(read->jobs[0], job);
  }
}

TEST(HistoryTest, DeadlinesAndTheNameOfTheRunComeBack) {
  Document document;
  document.run = "local_0017";
  Job job;
  job.id = {1, 1};
  job.name = "j";
  job.policies = {"none"};
  job.deadline = Seconds(5);
  document.jobs = {job};
  const auto read = Read(Write(document), "it");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->run, "local_0017");
  ASSERT_EQ(read->jobs.size(), 1u);
  EXPECT_EQ(read->jobs[0], job);
  EXPECT_EQ(Read("paceline-history\t3\ndeadline\t5\n", "it").status().code(), Code::kInvalidArgument) << "of no job";
  document.jobs[0].name = "deadline\t1\npaceline-history\t3";
  EXPECT_EQ(ReadAll(Write(document), "it")->size(), 1u) << "names are no lines";
}

TEST(HistoryTest, SeveralDocumentsAreReadInTheirOrder) {
  Document one, two;
  one.policies = "fifo";
  two.run = "local_0002";
  const auto read = ReadAll(Write(one) + Write(two) + Write(one), "it");
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ((*read)[0].policies, "fifo");
  EXPECT_EQ((*read)[1].run, "local_0002");
  EXPECT_EQ((*read)[2].run, "");
  EXPECT_EQ(ReadAll("", "it").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ReadAll(Write(one) + "nonsense\n", "it").status().code(), Code::kInvalidArgument);
}

TEST(HistoryTest, TheFrameHasTheWorkersThatAreThereNow) {
  sched::Scheduler scheduler;
  const auto send = [&](const sched::Event& event) { (void)scheduler.Step({{1}, event}); };
  send(sched::ConfigChanged{"fifo", 5, sched::kSchedulerVersion, Millis(100)});
  for (uint32_t w = 1; w <= 3; ++w) {
    sched::WorkerRegistered worker;
    worker.worker = {w};
    worker.incarnation = w;
    worker.slots.total = w;
    send(worker);
  }
  send(sched::WorkerLost{{2}, 2, ""});
  const Document frame = FrameOf(scheduler.state());
  ASSERT_EQ(frame.workers.size(), 2u);
  EXPECT_EQ(frame.workers[0].id, WorkerId{1});
  EXPECT_EQ(frame.workers[1].id, WorkerId{3});
  EXPECT_EQ(frame.workers[1].slots.total, 3u);
  EXPECT_EQ(frame.seed, 5u);
}

}  // namespace
}  // namespace mr::history
