// Documents fit their schemas, with hostile texts and without anything in them.
#include "master/web/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/json_schema.h"

namespace mr::web {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHostile = "<b>\"\\\x01\xff\xe2\x80\xae";

void ExpectFits(const std::string& document, const std::string& schema) {
  EXPECT_EQ(test::SchemaViolation(document, std::string(MR_SOURCE_DIR) + "/jobs/mrctl/schema/" + schema + ".json"), "")
      << document;
}

Topic TopicOf(const char* path, const char* query = "") { return ParseTopic(path, query).value(); }

WorkerStatus SomeWorker() {
  WorkerStatus worker{"w1", kHostile, kHostile, kHostile, "live"};
  worker.labels = {kHostile};
  return worker;
}

JobStatus SomeJob() {
  JobStatus job;
  job.id = {1, 2};
  job.name = job.queue = job.error = kHostile;
  job.state = JobState::kRunning;
  job.waits = {kHostile};
  return job;
}

AttemptStatus SomeAttempt() {
  AttemptStatus attempt;
  attempt.id = "attempt_1_0002_0_m_000000_1";
  attempt.state = "running";
  attempt.cause = "first";
  attempt.message = attempt.reason = kHostile;
  return attempt;
}

ClusterView SomeCluster() {
  ClusterView view;
  view.policies = view.address = kHostile;
  view.warnings = {kHostile};
  view.workers = {{"live", 1}, {"lost", 2}};
  view.racks[kHostile] = {3, 2, 4, 1};
  view.jobs[JobState::kRunning] = 1;
  view.usage.slots = view.usage.busy = view.usage.jobs = {1, 2};
  view.usage.by_job = {{{1, 2}, kHostile, {1, 2}}};
  view.queues = {{kHostile, 1.5, 1, 2, 3, 4, true}};
  view.open = {SomeJob()};
  view.ended = {SomeJob()};
  return view;
}

TEST(RenderTest, DocumentsOfTheClusterFitTheirSchemas) {
  ExpectFits(Render(TopicOf("cluster"), SomeCluster()), "cluster");
  ExpectFits(Render(TopicOf("cluster"), ClusterView{}), "cluster");
  ExpectFits(Render(TopicOf("queues"), SomeCluster()), "queues");
  ExpectFits(Render(TopicOf("workers"), WorkersView{{SomeWorker()}}), "workers");
  WorkerView worker{SomeWorker(), {}, {}, {}, {kHostile}};
  ExpectFits(Render(TopicOf("workers/w1"), worker), "worker");
  worker.drain.draining = true;
  worker.running = {SomeAttempt()};
  worker.ended = {{SomeAttempt(), kHostile, kHostile, 5}};
  ExpectFits(Render(TopicOf("workers/w1"), worker), "worker");
  StoreView store;
  ExpectFits(Render(TopicOf("store"), store), "store");
  store.workers = {SomeWorker()};
  store.entries = {{kHostile, true, 0, 0}, {"/x", false, 5, 3}};
  ExpectFits(Render(TopicOf("store"), store), "store");
}

TEST(RenderTest, TheSchedulersDocumentHasNoInfiniteNumber) {
  SchedulerView view;
  ExpectFits(Render(TopicOf("scheduler"), view), "scheduler");
  view.policies = {{"fair", "fair(x=1)", true, {kHostile}}};
  view.figures = {{"omega", "2", std::numeric_limits<double>::infinity()}, {"budget", "", 1.5}};
  view.causes = {{"first", 1, 2, 3}};
  const std::string document = Render(TopicOf("scheduler"), view);
  ExpectFits(document, "scheduler");
  EXPECT_THAT(document, HasSubstr("{\"id\":\"omega\",\"label\":\"2\",\"value\":null}"));
}

TEST(RenderTest, DocumentsOfJobsFitTheSchemasOfMrctl) {
  ExpectFits(Render(TopicOf("jobs"), JobsView{{SomeJob()}, {1, 1}}), "jobs");
  ExpectFits(Render(TopicOf("jobs"), JobsView{}), "jobs");
  ExpectFits(Render(TopicOf("search", "q=x"), SearchView{{{"job", "job_1_0001", kHostile}}}), "search");
  report::JobRun run;
  run.job = SomeJob();
  run.tasks.emplace_back();
  run.tasks.back().state = "pending";
  run.attempts = {SomeAttempt()};
  run.job.counters = {{kHostile, kHostile, 1}};
  ExpectFits(Render(TopicOf("jobs/job_1_0002"), run), "job");
  ExpectFits(Render(TopicOf("jobs/job_1_0002/tasks"), run), "tasks");
  ExpectFits(Render(TopicOf("jobs/job_1_0002/attempts"), run), "attempts");
  ExpectFits(Render(TopicOf("jobs/job_1_0002/counters"), run), "counters");
}

TEST(RenderTest, ErrorsAndTheIndexFitTheirSchemas) {
  ExpectFits(RenderError(NotFound(kHostile), "hint"), "error");
  ExpectFits(RenderIndex(), "documents");
}

}  // namespace
}  // namespace mr::web
