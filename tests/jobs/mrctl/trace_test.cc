#include "jobs/mrctl/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;
using Events = nlohmann::json;

// Times in microseconds after a submission at 5 s, as the master's stamps.
std::string At(int64_t us) { return us == 0 ? "0" : std::to_string(5'000'000'000 + us * 1000); }

std::string AttemptLine(int number, int worker, int64_t launched, int64_t started, int64_t inputs, int64_t ended) {
  return "attempt\t" + std::to_string(number) + "\t1\t4\t" + std::to_string(worker) + "\t" + At(launched) + "\t" +
         At(started) + "\t" + At(inputs) + "\t" + At(ended) + "\t" + At(0) + "\t7\t9\t3\n";
}

// A map task of two attempts at a time on w1, a reduce task on w2.
std::string History() {
  return "paceline-history\t2\nconfig\tfair\t1\t0\nworker\t1\tr\t2\t2\t2\t0\t0\n"
         "job\tjob_1_0007\tother\t-\t0\t2\t" +
         At(0) + "\t" + At(1) + "\nstage\tx\t1\t0\t1\t0:1:0\ntask\t1\t1\t1\t-\t-\n" + AttemptLine(1, 9, 1, 2, 3, 4) +
         "job\tjob_1_0001\tcount\t-\t0\t2\t" + At(0 + 1) + "\t" + At(100) +
         "\n"
         "stage\tmap\t1\t0\t0\t0:1:0\ntask\t64\t32\t2\t-\t-\n" +
         AttemptLine(1, 1, 10, 12, 12, 30) + AttemptLine(2, 1, 15, 17, 17, 25) +
         "stage\tsum\t2\t0\t1\t1:1:0\ntask\t32\t8\t1\t-\t-\n" + AttemptLine(1, 2, 20, 22, 40, 90);
}

std::vector<Events> Named(const Events& trace, const std::string& phase, const std::string& key,
                          const std::string& value) {
  std::vector<Events> found;
  for (const auto& e : trace["traceEvents"]) {
    if (e["ph"] == phase && e.value(key, "") == value) found.push_back(e);
  }
  return found;
}

Events Trace(const std::vector<AttemptStatus>& attempts, const std::vector<DecisionStatus>& decisions = {}) {
  const auto text = TraceJson({1, 1}, History(), attempts, decisions, {});
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  return text.ok() ? Events::parse(*text) : Events();
}

TEST(TraceTest, AttemptsThatOverlapStandOnTracksOfTheirOwn) {
  const Events trace = Trace({});
  const auto attempts = Named(trace, "X", "cat", "attempt");
  ASSERT_EQ(attempts.size(), 3u) << "of this job alone";
  EXPECT_EQ(attempts[0]["name"], "attempt_1_0001_0_m_000000_1");
  EXPECT_EQ(attempts[0]["pid"], 1);
  EXPECT_EQ(attempts[0]["tid"], 1);
  EXPECT_EQ(attempts[0]["ts"], 9.0) << "from the submission on";
  EXPECT_EQ(attempts[0]["dur"], 20.0);
  EXPECT_EQ(attempts[0]["args"]["winner"], false);
  EXPECT_EQ(attempts[1]["tid"], 2);
  EXPECT_EQ(attempts[1]["args"]["winner"], true);
  EXPECT_EQ(attempts[2]["name"], "attempt_1_0001_1_r_000000_1") << "tasks are counted by stage";
  EXPECT_EQ(attempts[2]["name"], "attempt_1_0001_1_r_000000_1");
  EXPECT_EQ(attempts[2]["pid"], 2);
  EXPECT_EQ(attempts[2]["args"]["last_report"]["phase"], "reduce");
}

TEST(TraceTest, PhasesFillTheirAttempt) {
  const Events trace = Trace({});
  const auto shuffle = Named(trace, "X", "name", "shuffle"), reduce = Named(trace, "X", "name", "reduce");
  ASSERT_EQ(shuffle.size(), 1u);
  EXPECT_EQ(shuffle[0]["ts"], 21.0);
  EXPECT_EQ(shuffle[0]["dur"], 18.0);
  ASSERT_EQ(reduce.size(), 1u);
  EXPECT_EQ(reduce[0]["ts"].get<double>() + reduce[0]["dur"].get<double>(), 89.0);
  EXPECT_EQ(Named(trace, "X", "name", "launch").size(), 3u);
  EXPECT_EQ(Named(trace, "X", "name", "map").size(), 1u + 1u + 1u) << "two attempts, and the stage";
}

TEST(TraceTest, DecisionsAreInstantsWithTheirReasons) {
  AttemptStatus second;
  second.id = "attempt_1_0001_0_m_000000_2";
  second.state = "committed";
  second.cause = "speculative";
  second.reason = "it was slow";
  AttemptStatus slow = second;
  slow.id = "attempt_1_0001_0_m_000000_1";
  slow.state = "killed";
  slow.cause = "first";
  slow.message = "another attempt won";
  const Events trace = Trace({second, slow});
  const auto launch = Named(trace, "i", "name", "launch speculative");
  ASSERT_EQ(launch.size(), 1u);
  EXPECT_EQ(launch[0]["ts"], 14.0);
  EXPECT_EQ(launch[0]["args"]["reason"], "it was slow");
  const auto kill = Named(trace, "i", "name", "kill");
  ASSERT_EQ(kill.size(), 1u);
  EXPECT_EQ(kill[0]["args"]["reason"], "another attempt won");
}

TEST(TraceTest, TheSchedulersOwnWordsStandInPlaceOfWhatIsGuessed) {
  DecisionStatus launched{14, "launched", "attempt_1_0001_0_m_000000_2", "w1", "it was slow"}, ended;
  ended.at_us = 99;
  ended.what = "job committed";
  const Events trace = Trace({}, {launched, ended});
  EXPECT_TRUE(Named(trace, "i", "name", "launch").empty());
  ASSERT_EQ(Named(trace, "i", "name", "launched").size(), 1u);
  EXPECT_EQ(Named(trace, "i", "name", "launched")[0]["args"]["worker"], "w1");
  ASSERT_EQ(Named(trace, "i", "name", "job committed").size(), 1u);
  EXPECT_FALSE(Named(trace, "i", "name", "job committed")[0]["args"].contains("attempt"));
}

TEST(TraceTest, RefusesWhatItCannotRead) {
  const auto trace = [](const std::string& history) { return TraceJson({1, 1}, history, {}, {}, {}).status(); };
  EXPECT_EQ(trace("paceline-history\t3\n").code(), Code::kRejected);
  EXPECT_EQ(trace("nothing\n").code(), Code::kInternal);
  EXPECT_THAT(trace("paceline-history\t2\nconfig\tfair\t1\t0\n").message(), HasSubstr("does not contain the job"));
  EXPECT_THAT(trace(History() + "attempt\tone\n").message(), HasSubstr("cannot be parsed"));
}

}  // namespace
}  // namespace mr::ctl
