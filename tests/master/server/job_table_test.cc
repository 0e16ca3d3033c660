// Ended jobs are bounded: whole, in brief, forgotten; and the same behind a snapshot.
#include "master/server/job_table.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include "tests/master/server/fake_worker.h"

namespace mr::master {
namespace {

TEST(JobTableTest, JobsInBriefKeepTheirTotalsThroughASnapshot) {
  JobTable table(2000);
  const auto submit = [&](uint32_t n) {
    capnp::MallocMessageBuilder message;
    auto spec = message.initRoot<rpc::JobSpec>();
    test::FillTwoStages(spec, "/input", "/out" + std::to_string(n), 1);
    SubmitExtra extra{CanonicalBytes(spec.asReader()), "id" + std::to_string(n), 1, {}};
    extra.plan.stages = {{1, {1}, {{0, "file:///input", 0, 10, 10}}, 10, {}}, {1, {1}, {}, 10, {}}};
    const JobId id{1, n};
    table.Fold({{}, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}}, EncodeFields(extra), {}, n);
    table.Fold({{}, sched::StagePlanned{id, 1, 1, {{}}, ""}}, "", {}, n);
    FinishedExtra finished;
    finished.outputs = {{"part-r-00000", "", 7, 1, {}, {}}};
    const AttemptId attempt{{id, 1, 0}, 1};
    table.Fold({{}, sched::AttemptFinished{attempt, {}, 0, {}, {}, {}, {}}}, EncodeFields(finished),
               {sched::Accept{attempt, {}, 0, true, {{attempt.task, 1}, 1, {}, 0}, {}, {}}, sched::CommitJob{id, {}}}, n);
    table.Settle(id);
    table.Shrink();
  };
  for (uint32_t n = 1; n <= 2100; ++n) submit(n);
  EXPECT_EQ(table.jobs().size(), 2000u);
  EXPECT_EQ(table.Find(JobId{1, 100}), nullptr);
  EXPECT_EQ(table.FindSubmission("id100"), nullptr);
  JobTable again(2000);
  table.Save([&](std::string part) { ASSERT_TRUE(again.RestorePart(part).ok()); });
  for (JobTable* each : {&table, &again}) {
    ASSERT_NE(each->Find(JobId{1, 101}), nullptr);
    EXPECT_TRUE(each->Find(JobId{1, 101})->brief);
    EXPECT_EQ(each->Find(JobId{1, 101})->totals.bytes, 7u);
    EXPECT_FALSE(each->Find(JobId{1, 2100})->brief);
    EXPECT_EQ(each->FindSubmission("id2000")->id, (JobId{1, 2000}));
    EXPECT_THAT(each->Unknown({1, 5}).message(), testing::HasSubstr("2000 ended jobs"));
  }
}

}  // namespace
}  // namespace mr::master
