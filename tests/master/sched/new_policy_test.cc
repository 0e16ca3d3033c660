// A new policy is one folder (random_order) and one line in the list (random_order/line.sed).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <vector>

#include "tests/master/sched/random_order/reasons.h"
#include "tests/master/sched/small_job.h"
#include "tests/support/scenario.h"

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
  EXPECT_TRUE(Scheduler::CheckPolicies("fifo,random_order(seen=3)").ok());
  EXPECT_THAT(Scheduler::CheckPolicies("random_order(seen=0)").ToString(), HasSubstr("'seen' must be a number"));
  EXPECT_THAT(Scheduler::CheckPolicies("random").ToString(), HasSubstr(", random_order"));
}

TEST(NewPolicyTest, TheSeedFixesTheOrderOfTasks) {
  const OneRun run = RunOnOneSlot("fifo,random_order", 1);
  std::vector<uint32_t> all(kTasks);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(run.order, testing::UnorderedElementsAreArray(all));
  EXPECT_FALSE(std::is_sorted(run.order.begin(), run.order.end()));
  EXPECT_EQ(RunOnOneSlot("fifo,random_order", 1).order, run.order);
  EXPECT_EQ(RunOnOneSlot("fifo,random_order", 1).digest, run.digest);
  EXPECT_NE(RunOnOneSlot("fifo,random_order", 2).order, run.order);
  EXPECT_EQ(RunOnOneSlot("fifo", 1).order, all);
}

TEST(NewPolicyTest, AStageThatIsLargerThanWhatItSeesBeginsAnywhere) {
  std::set<uint32_t> begins;
  for (uint64_t seed = 1; seed <= 40; ++seed) begins.insert(RunOnOneSlot("fifo,random_order(seen=2)", seed).order[0]);
  EXPECT_GT(begins.size(), kTasks / 2);
}

TEST(NewPolicyTest, ItsOwnReasonsHaveNamesAndSentences) {
  const OneRun run = RunOnOneSlot("fifo,random_order", 1);
  ASSERT_EQ(run.reasons.size(), kTasks);
  EXPECT_EQ(run.reasons.front(), "drawn: drawn from 20 tasks [random_order]");
  EXPECT_THAT(run.reasons.back(), HasSubstr("[fifo]")) << "nothing is left to exchange it for";
}

// The text of a scenario file. Tasks 0, 2 and 4 have their input on w1, the others on w2.
TEST(NewPolicyTest, NeitherTheInputNorThePlaceOfATaskIsGivenUp) {
  const std::string text = R"(
policies fifo,random_order
seed 25
workers w1..w2 slots=1
at 0s   submit j1 maps=6 reduces=1 prefer=w1,w2
expect  launch j1/map/4 w1 because=drawn ; launch j1/map/5 w2 because=drawn
at 1s   finished j1/map/4
expect  launch j1/map/2 w1 because=drawn
at 2s   finished j1/map/5
expect  launch j1/map/3 w2 because=drawn
at 3s   finished j1/map/2
expect  launch j1/map/0 w1 because=local_input
ensure  task j1/reduce/0 = pending
)";
  EXPECT_EQ(Scenario("random_order.scn", "").Run(text), "");
}

// In place of a line in kLists of scenario_test.cc.
TEST(NewPolicyTest, WhatMustHoldUnderEachListHolds) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(MR_SCENARIOS)) {
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    if (entry.path().extension() != ".scn" || Scenario::NamesPolicies(text.str())) continue;
    EXPECT_EQ(Scenario(entry.path().filename(), "fair,random_order").Run(text.str()), "");
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace mr::sched
