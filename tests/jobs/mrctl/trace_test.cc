#include "jobs/mrctl/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/common/report/run_builder.h"

namespace mr::ctl {
namespace {

using report::JobRun;
using report::RunBuilder;
using Events = nlohmann::json;

// A map task of two attempts at a time on w1, a reduce task on w2.
JobRun TracedRun() {
  RunBuilder builder;
  builder.Workers(2, 2).Stage("map", {}).Stage("sum", {0});
  builder.Add(
      {.stage = 0, .launched = 9, .started = 11, .ended = 29, .state = "killed", .failure = "killed", .number = 1});
  builder.Add({.stage = 0, .launched = 14, .started = 16, .ended = 24, .cause = "speculative", .number = 2});
  builder.Add({.stage = 1, .worker = "w2", .launched = 19, .started = 21, .inputs = 39, .ended = 89});
  return builder.Elapsed(99).run();
}

std::vector<Events> TracedAs(const Events& trace, const std::string& phase, const std::string& key,
                             const std::string& value) {
  std::vector<Events> found;
  for (const auto& e : trace["traceEvents"]) {
    if (e["ph"] == phase && e.value(key, "") == value) found.push_back(e);
  }
  return found;
}

TEST(TraceTest, AttemptsThatOverlapStandOnTracksOfTheirOwn) {
  const Events trace = Events::parse(TraceJson(TracedRun()));
  const auto attempts = TracedAs(trace, "X", "cat", "attempt");
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0]["name"], "attempt_1_0001_0_m_000000_1");
  EXPECT_EQ(attempts[0]["pid"], 1);
  EXPECT_EQ(attempts[0]["tid"], 1);
  EXPECT_EQ(attempts[0]["ts"], 9000) << "from the submission on";
  EXPECT_EQ(attempts[0]["dur"], 20'000);
  EXPECT_EQ(attempts[0]["args"]["winner"], false);
  EXPECT_EQ(attempts[0]["args"]["input_bytes"], 100);
  EXPECT_EQ(attempts[1]["tid"], 2);
  EXPECT_EQ(attempts[1]["args"]["winner"], true);
  EXPECT_EQ(attempts[1]["args"]["cause"], "speculative");
  EXPECT_EQ(attempts[2]["name"], "attempt_1_0001_1_r_000000_1");
  EXPECT_EQ(attempts[2]["pid"], 2);
  EXPECT_EQ(TracedAs(trace, "M", "name", "process_name").size(), 3u) << "the job and two workers";
}

TEST(TraceTest, PhasesFillTheirAttempt) {
  const Events trace = Events::parse(TraceJson(TracedRun()));
  const auto shuffle = TracedAs(trace, "X", "name", "shuffle"), reduce = TracedAs(trace, "X", "name", "reduce");
  ASSERT_EQ(shuffle.size(), 1u);
  EXPECT_EQ(shuffle[0]["ts"], 21'000);
  EXPECT_EQ(shuffle[0]["dur"], 18'000);
  ASSERT_EQ(reduce.size(), 1u);
  EXPECT_EQ(reduce[0]["ts"].get<int>() + reduce[0]["dur"].get<int>(), 89'000);
  EXPECT_EQ(TracedAs(trace, "X", "name", "launch").size(), 3u);
  EXPECT_EQ(TracedAs(trace, "X", "name", "map").size(), 3u) << "two attempts, and the stage";
}

TEST(TraceTest, AnAttemptThatRunsEndsNow) {
  JobRun run = TracedRun();
  run.job.state = JobState::kRunning;
  run.attempts[2].ended_us = 0;
  run.attempts[2].inputs_us = 0;
  run.attempts[2].won = false;
  const Events trace = Events::parse(TraceJson(run));
  EXPECT_EQ(TracedAs(trace, "X", "cat", "attempt")[2]["dur"], 80'000) << "the job's time is 99 ms";
  EXPECT_TRUE(TracedAs(trace, "X", "name", "reduce").empty()) << "it has not got its inputs";
}

TEST(TraceTest, DecisionsAreInstantsWithTheirReasons) {
  JobRun run = TracedRun();
  run.decisions = {{14'000, "launched", "attempt_1_0001_0_m_000000_2", "w1", "it was slow"},
                   {99'000, "job committed", "", "", ""}};
  const Events trace = Events::parse(TraceJson(run));
  const auto launched = TracedAs(trace, "i", "name", "launched"), end = TracedAs(trace, "i", "name", "job committed");
  ASSERT_EQ(launched.size(), 1u);
  EXPECT_EQ(launched[0]["ts"], 14'000);
  EXPECT_EQ(launched[0]["args"]["worker"], "w1");
  EXPECT_EQ(launched[0]["args"]["reason"], "it was slow");
  ASSERT_EQ(end.size(), 1u);
  EXPECT_FALSE(end[0]["args"].contains("attempt"));
}

}  // namespace
}  // namespace mr::ctl
