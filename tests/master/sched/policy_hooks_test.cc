// Hooks of policies: reasons of their own, calls that a probe measures, and `enabled=off`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "master/sched/defaults.h"
#include "master/sched/named_lists.h"
#include "master/sched/pipeline.h"
#include "master/sched/policies/late/reasons.h"
#include "master/sched/policies/list.h"
#include "tests/master/sched/nodes.h"
#include "tests/master/sched/small_job.h"

namespace mr::sched {
namespace {

using testing::HasSubstr;

// Gaps in the numbers. A reason of an earlier release may have had them, and journals have its number.
bool IsRetired(int code) { return (code >= 51 && code <= 63) || code == 72; }
constexpr int kFirstOfTests = 200;

TEST(ReasonTextsTest, EachCodeAndEachNameStandsForOneReason) {
  std::map<int, std::string> names;
  std::set<std::string> seen;
  const auto add = [&](std::span<const ReasonText> texts) {
    for (const ReasonText& text : texts) {
      const auto [it, added] = names.emplace(static_cast<int>(text.code), text.name);
      EXPECT_EQ(it->second, text.name) << "code " << it->first;
      if (added) {
        EXPECT_TRUE(seen.insert(text.name).second) << text.name;
      }
      EXPECT_STREQ(ReasonName(text.code), text.name);
      // Sentences bear a reason without its numbers.
      EXPECT_FALSE(Explain({text.code, "", {}}).empty());
      EXPECT_THAT(Explain({text.code, "", {}}), testing::Not(HasSubstr("unknown reason")));
    }
  };
  add(CoreReasons());
  for (const PolicyEntry& entry : AllPolicies()) add(entry.reasons());
  const int highest = names.rbegin()->first;
  EXPECT_LT(highest, kFirstOfTests);
  for (int code = 0; code <= highest; ++code) {
    EXPECT_NE(names.count(code) != 0, IsRetired(code))
        << code << ": a new reason takes the number above the highest one; one that goes is retired";
  }
  // They stand in journals and JSON.
  EXPECT_EQ(names.at(1), "local_input");
  EXPECT_EQ(names.at(22), "longest_to_end");
  EXPECT_EQ(names.at(46), "allotted");
  EXPECT_EQ(names.at(50), "given_up");
  EXPECT_EQ(names.at(74), "slow_node");
  EXPECT_EQ(names.at(88), "failed_twice");
  EXPECT_STREQ(ReasonName(ReasonCode{255}), "unknown");
}

class Counts : public PolicyProbe {
 public:
  void Begin(std::string_view policy) override {
    open_.emplace_back(policy);
    ++calls[open_.back()];
  }
  void End() override {
    ASSERT_FALSE(open_.empty());
    open_.pop_back();
  }
  std::map<std::string, int> calls;
  size_t open() const { return open_.size(); }

 private:
  std::vector<std::string> open_;
};

// Pipeline::ParseOfJob drops the first policy of a job's list, which is fifo only if no other one places work.
TEST(TraitsTest, WhatPlacesWorkServesAllJobs) {
  for (const PolicyEntry& entry : AllPolicies())
    EXPECT_TRUE(!entry.Is(kPlacesWork) || entry.Is(kServesAll)) << entry.name;
}

TEST(TraitsTest, EachPolicySaysWhatItDoes) {
  for (const PolicyEntry& policy : AllPolicies())
    EXPECT_THAT(TraitTexts(policy), testing::Not(testing::IsEmpty())) << policy.name;
}

// Tasks of a third of a millisecond have rates that nobody can use.
TEST(LateTextsTest, RatesThatAreNoiseAreCapped) {
  const auto text = [](double own, double limit) {
    return Explain(Reason{LateReason::kLongestToEnd, "late", {39.4, own, limit}});
  };
  EXPECT_THAT(text(2.41, 91.97), HasSubstr("at 2.41 % per second against a limit of 91.97, and"));
  EXPECT_THAT(text(2.41, 285169.45), HasSubstr("at 2.41 % per second against a limit of more than 1000, and"));
}

TEST(PolicyProbeTest, SeesEachPolicysCallsAndChangesNothing) {
  const auto digest = [](PolicyProbe* probe) {
    SteppedScheduler s;
    s.scheduler.SetProbe(probe);
    s.Send(0, ConfigChanged{kDefaultPolicies, 1, kSchedulerVersion, Millis(100)});
    s.Send(0, OneSlotWorker(1));
    s.Send(1, SmallMapJob());
    s.Send(1, StagePlanned{{1, 1}, 0, 1, std::vector<TaskPlan>(3), ""});
    s.Finish(2, 0, 1);
    s.Send(3, ConfigChanged{kPlainPolicies, 1, kSchedulerVersion, Millis(100)});
    return s.scheduler.Digest();
  };
  Counts counts;
  EXPECT_EQ(digest(&counts), digest(nullptr));
  EXPECT_EQ(counts.open(), 0u);
  std::set<std::string> expected = {kPlainPolicies};
  const auto all = Pipeline::Parse(kDefaultPolicies);
  ASSERT_TRUE(all.ok());
  for (const auto& member : all->members()) expected.emplace(member.policy->name());
  std::set<std::string> seen;
  for (const auto& [policy, calls] : counts.calls) seen.insert(policy);
  EXPECT_EQ(seen, expected);
}

TEST(EnabledTest, APolicyThatIsOffDecidesNothing) {
  std::vector<double> nodes(20, 10);
  nodes[0] = 100;
  const std::string on = "fifo,dryad_speculation(min_age=2s)", off = "fifo,dryad_speculation(min_age=2s,enabled=off)";
  EXPECT_NEAR(Nodes(on, nodes).Run(20), 20, 0.5);
  Nodes without(off, nodes);
  EXPECT_NEAR(without.Run(20), 100, 0.5);
  EXPECT_EQ(without.speculative(), 0);
  const auto parsed = Pipeline::Parse(off);
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->members().size(), 1u);
  EXPECT_EQ(parsed->members()[0].policy->name(), "fifo");
  EXPECT_EQ(Pipeline::Items(off).size(), 2u);
}

TEST(EnabledTest, AListHasNoUseForWhatIsOff) {
  // Work must be placed, and a policy that builds on another one needs it.
  const auto only = Pipeline::Parse("fair(enabled=off)");
  ASSERT_TRUE(only.ok());
  ASSERT_EQ(only->members().size(), 1u);
  EXPECT_EQ(only->members()[0].policy->name(), kPlainPolicies);
  EXPECT_THAT(Scheduler::CheckPolicies("fair(enabled=off),jockey").ToString(), HasSubstr("only 'fair' serves"));
  EXPECT_TRUE(Scheduler::CheckPolicies("fair,jockey(enabled=off)").ok());
  EXPECT_TRUE(Scheduler::Steers("fair,jockey"));
  EXPECT_FALSE(Scheduler::Steers("fair,jockey(enabled=off)"));
  EXPECT_FALSE(Scheduler::SharesQueues("fifo,late"));
  EXPECT_TRUE(Scheduler::SharesQueues("fair,late"));
  EXPECT_FALSE(Scheduler::PoliciesOfJob("fifo,late(enabled=off)", {}, Wish::kOn, Wish::kAuto).ok());
  EXPECT_THAT(Scheduler::CheckPolicies("late(enabled=maybe)").ToString(), HasSubstr("must be on or off"));
  EXPECT_THAT(Pipeline::Lacking("jockey,late"), testing::ElementsAre(0u));
  EXPECT_THAT(Pipeline::Lacking("fair,jockey"), testing::IsEmpty());
}

TEST(NamedListsTest, EachIsAListAndNoPolicyHasItsName) {
  ASSERT_EQ(NamedLists().front().name, "default");
  EXPECT_EQ(PoliciesOf("default"), kDefaultPolicies);
  EXPECT_EQ(PoliciesOf("fifo,late"), "fifo,late");
  EXPECT_EQ(NameOrPolicies(kDefaultPolicies), "default");
  EXPECT_EQ(NameOrPolicies("fifo,late(cap=0.3)"), "fifo,late(cap=0.3)");
  const std::string own = kDefaultPolicies;
  const std::string rest = own.substr(own.find("mantri_restart("));
  EXPECT_EQ(kCautiousPolicies, "fair,jockey," + rest) << "the default without clones";
  for (const NamedList& list : NamedLists()) {
    EXPECT_TRUE(Scheduler::CheckPolicies(std::string(list.policies)).ok()) << list.name;
    EXPECT_FALSE(Scheduler::CheckPolicies(std::string(list.name)).ok()) << list.name;
    EXPECT_LT(list.what.size(), 100u) << list.name;
  }
}

// Clones, guarantees and binds of a policy that is switched off end as if the new list did not have it.
TEST(EnabledTest, SwitchingOffIsTheSameAsLeavingOut) {
  const auto digest = [](const std::string& then) {
    SteppedScheduler s;
    s.Send(0, ConfigChanged{"fair,dolly(beta=1,tau=1,p=0.3),delay_assignment", 1, kSchedulerVersion, Millis(100)});
    for (uint32_t w = 1; w <= 8; ++w) s.Send(0, OneSlotWorker(w));
    s.Send(1, SmallMapReduceJob());
    s.Send(1, StagePlanned{{1, 1}, 0, 1, std::vector<TaskPlan>(2), ""});
    EXPECT_GT(s.scheduler.state().FindTask({{1, 1}, 0, 0})->wanted, 1u);
    s.Send(2, ConfigChanged{then, 1, kSchedulerVersion, Millis(100)});
    EXPECT_EQ(s.scheduler.state().FindTask({{1, 1}, 0, 0})->wanted, 1u);
    std::map<std::string, uint64_t> entities = s.scheduler.state().Entities();
    entities.erase("configuration");  // it has the list's text
    return entities;
  };
  EXPECT_EQ(digest("fair,dolly(enabled=off),delay_assignment"), digest("fair,delay_assignment"));
}

}  // namespace
}  // namespace mr::sched
