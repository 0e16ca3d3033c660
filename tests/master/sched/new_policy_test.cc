// A new policy is one folder (random_order) and one line in the list (random_order/list.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/master/sched/random_order/random_order.h"
#include "tests/master/sched/small_job.h"

namespace mr::sched {
namespace {

using testing::HasSubstr;

constexpr uint32_t kTasks = 20;

struct OneRun {
  std::vector<uint32_t> order;  // tasks as they were launched
  std::vector<std::string> reasons;
  uint64_t digest = 0;
};

// One worker with one slot runs the tasks one after the other.
OneRun RunOnOneSlot(const std::string& policies, uint64_t seed) {
  SteppedScheduler s;
  s.Send(0, ConfigChanged{policies, seed, kSchedulerVersion, Millis(100)});
  s.Send(0, OneSlotWorker(1));
  s.Send(1, SmallMapJob());
  s.Send(1, StagePlanned{{1, 1}, 0, 1, std::vector<TaskPlan>(kTasks), ""});
  OneRun run;
  for (double now = 2; run.order.size() < kTasks; ++now) {
    const auto launch =
        std::find_if(s.out.begin(), s.out.end(), [](const Decision& d) { return std::holds_alternative<Launch>(d); });
    if (launch == s.out.end()) break;
    const Launch& l = std::get<Launch>(*launch);
    run.order.push_back(l.attempt.task.task);
    run.reasons.push_back(std::string(ReasonName(l.reason.code)) + ": " + Explain(l.reason));
    s.Finish(now, l.attempt.task.task, 1);
  }
  run.digest = s.scheduler.Digest();
  return run;
}

TEST(NewPolicyTest, ItsNameAndParametersAreKnown) {
  EXPECT_TRUE(Scheduler::CheckPolicies("random_order(stages=3)").ok());
  EXPECT_THAT(Scheduler::CheckPolicies("random_order(stages=0)").ToString(), HasSubstr("'stages' must be a number"));
  EXPECT_THAT(Scheduler::CheckPolicies("random").ToString(), HasSubstr("known policies: fifo, random_order"));
}

TEST(NewPolicyTest, TheSeedFixesTheOrderOfTasks) {
  const OneRun run = RunOnOneSlot("random_order", 1);
  std::vector<uint32_t> all(kTasks);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(run.order, testing::UnorderedElementsAreArray(all));
  EXPECT_FALSE(std::is_sorted(run.order.begin(), run.order.end()));
  EXPECT_EQ(RunOnOneSlot("random_order", 1).order, run.order);
  EXPECT_EQ(RunOnOneSlot("random_order", 1).digest, run.digest);
  EXPECT_NE(RunOnOneSlot("random_order", 2).order, run.order);
  EXPECT_EQ(RunOnOneSlot("fifo", 1).order, all);
}

TEST(NewPolicyTest, ItsOwnReasonsHaveNamesAndSentences) {
  const OneRun run = RunOnOneSlot("random_order", 1);
  ASSERT_EQ(run.reasons.size(), kTasks);
  EXPECT_EQ(run.reasons.front(), "drawn: drawn from 20 ready tasks [random_order]");
  EXPECT_EQ(run.reasons.back(), "drawn: drawn from 1 ready task [random_order]");
}

}  // namespace
}  // namespace mr::sched
