// The findings of mrctl doctor about addresses, made from answers of workers that this file makes up.
#include "jobs/mrctl/check_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class CheckPairsTest : public testing::Test {
 protected:
  // Workers w1 to w<count> in this state.
  static std::vector<WorkerStatus> Workers(uint32_t count, const std::string& state = "live") {
    std::vector<WorkerStatus> workers(count);
    for (uint32_t i = 0; i < count; ++i) {
      workers[i].id = Name(WorkerId{i + 1});
      workers[i].state = state;
    }
    return workers;
  }
  static std::string AddressOf(WorkerId id) { return "10.0.0." + std::to_string(id.value) + ":7071"; }
  // A worker connects to the master and to two workers. A connection works unless `broken` says otherwise.
  Result<std::vector<ReachedPeer>> Reach(WorkerId from) {
    asked_.push_back(Name(from));
    now_ = now_ + call_takes_;
    if (const auto at = silent_.find(from.value); at != silent_.end()) return at->second;
    std::vector<ReachedPeer> peers;
    for (const uint32_t to : {0u, 1u, 2u}) {
      if (to == from.value) continue;
      const auto at = broken_.find({from.value, to});
      peers.push_back(
          {{to}, to == 0 ? "10.0.0.9:7070" : AddressOf({to}), at == broken_.end() ? Status::Ok() : at->second});
    }
    return peers;
  }
  Check Run(const std::vector<WorkerStatus>& workers) {
    return CheckPairs([this](WorkerId id) { return Reach(id); }, workers, [this] { return now_; });
  }

  Instant now_;
  Duration call_takes_;
  std::map<uint32_t, Status> silent_;
  std::map<std::pair<uint32_t, uint32_t>, Status> broken_;
  std::vector<std::string> asked_;
};

TEST_F(CheckPairsTest, AllPairsThatWorkAreCounted) {
  const Check check = Run(Workers(2));
  EXPECT_EQ(check.id, "network");
  EXPECT_EQ(check.verdict, Verdict::kOk);
  EXPECT_EQ(check.text, "4 connections from 2 workers to the master and to other workers work");
  EXPECT_EQ(check.next, "");
}

TEST_F(CheckPairsTest, WorkersThatAreNotHereAreNotAsked) {
  EXPECT_EQ(Run({}).text, "no worker to ask");
  EXPECT_EQ(Run(Workers(3, "lost")).verdict, Verdict::kOk);
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(Run(Workers(1, "full")).verdict, Verdict::kOk);
  EXPECT_EQ(Run(Workers(1, "draining")).text, "2 connections from 1 worker to the master and to other workers work");
}

TEST_F(CheckPairsTest, AnAddressThatNobodyReachesIsNamedOnceWithThoseWhoFail) {
  const Status refused = Unavailable("connection refused");
  broken_ = {{{1, 2}, refused}, {{3, 2}, refused}};
  const Check check = Run(Workers(3));
  EXPECT_EQ(check.verdict, Verdict::kFail);
  EXPECT_EQ(check.text,
            "2 of 7 connections from 3 workers to the master and to other workers fail: w1, w3 cannot reach w2 at "
            "10.0.0.2:7071 (connection refused)");
  EXPECT_THAT(check.next, HasSubstr("workers read blocks and shuffle outputs there, and jobs fail without; "));
  EXPECT_THAT(check.next, HasSubstr("check --bind, --advertise and --port"));
}

TEST_F(CheckPairsTest, AMasterThatIsNotReachedMattersAfterItsRestart) {
  broken_ = {{{1, 0}, Unavailable("no route")}};
  const Check check = Run(Workers(2));
  EXPECT_EQ(check.verdict, Verdict::kFail);
  EXPECT_THAT(check.text, HasSubstr("w1 cannot reach the master at 10.0.0.9:7070 (no route)"));
  EXPECT_THAT(check.next, HasSubstr("workers connect again to the master at that address after a restart"));
}

// Such an answer is a status: the master waits some seconds for a worker, and then answers without it.
TEST_F(CheckPairsTest, AWorkerWithALateAnswerIsAWarningAndTheOthersCount) {
  silent_ = {{2, Unavailable("it did not answer in time")}};
  const Check check = Run(Workers(3));
  EXPECT_EQ(check.verdict, Verdict::kWarn);
  EXPECT_EQ(check.text,
            "5 connections from 2 of 3 workers to the master and to other workers work, but others were not checked: 1 "
            "of 3 workers gave no answer: w2: it did not answer in time");
  EXPECT_THAT(check.next, HasSubstr("mrctl why W"));
  silent_.emplace(1, Unavailable("late"));
  silent_.emplace(3, Unavailable("late"));
  EXPECT_EQ(Run(Workers(3)).text, "not checked: 3 of 3 workers gave no answer: w1: late");
  EXPECT_EQ(Run(Workers(1)).text, "not checked: 1 of 1 worker gave no answer: w1: late");
}

TEST_F(CheckPairsTest, AFailureIsNotHiddenByAWorkerWithoutAnAnswer) {
  silent_ = {{2, Unavailable("late")}};
  broken_ = {{{1, 2}, Unavailable("refused")}};
  const Check check = Run(Workers(2));
  EXPECT_EQ(check.verdict, Verdict::kFail);
  EXPECT_THAT(check.text, HasSubstr("w1 cannot reach w2 at 10.0.0.2:7071 (refused); 1 of 2 workers gave no answer"));
}

TEST_F(CheckPairsTest, SlowAnswersEndTheCheckAndTheRestIsNotSaidToWork) {
  call_takes_ = Seconds(8);
  const Check check = Run(Workers(5));
  EXPECT_THAT(asked_, ElementsAre("w1", "w2", "w3")) << "the third one was asked after 16 s";
  EXPECT_EQ(check.verdict, Verdict::kWarn);
  EXPECT_THAT(check.text, HasSubstr("2 of 5 workers were not asked within 20 s"));
  EXPECT_THAT(check.text, Not(HasSubstr("gave no answer")));
  EXPECT_THAT(check.next, HasSubstr("addresses that do not answer"));
}

TEST_F(CheckPairsTest, OfALargeClusterASampleIsAsked) {
  const Check check = Run(Workers(40));
  EXPECT_EQ(asked_.size(), 14u) << "each third one, so that at most 16 are";
  EXPECT_EQ(asked_.back(), "w40");
  EXPECT_THAT(check.text, HasSubstr("from 14 of 40 workers"));
}

TEST_F(CheckPairsTest, SomebodyWhoMayNotAskLearnsNothing) {
  silent_ = {{1, Status(Code::kNotAllowed, "needs the role operator")}};
  const Check check = Run(Workers(2)), not_shown = NotShown("network");
  EXPECT_EQ(check.text, not_shown.text);
  EXPECT_EQ(check.verdict, not_shown.verdict);
  EXPECT_EQ(asked_.size(), 1u);
}

}  // namespace
}  // namespace mr::ctl
