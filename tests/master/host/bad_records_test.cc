#include "master/core/bad_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::master {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr JobId kJob{1, 1};

FinishedExtra Counted(int64_t bad) {
  FinishedExtra extra;
  extra.counters = {{"map", "lines", 100}};
  if (bad != 0) extra.counters.push_back({"mr", "bad_records", bad});
  return extra;
}
TaskId Task(uint32_t task) { return {kJob, 0, task}; }

class BadRecordsTest : public testing::Test {
 protected:
  BadRecordsTest() {
    job_.id = kJob;
    job_.spec.max_bad_records = 10;
    job_.stages.resize(1);
    job_.stages[0].tasks.resize(4);
  }
  JobView job_;
  BadRecords records_;
};

TEST_F(BadRecordsTest, AddUpOverTheTasksOfAJob) {
  EXPECT_EQ(records_.Excess(job_, Task(0), Counted(6), {}), "");
  records_.Committed(job_, Task(0), Counted(6), {"a: why"});
  EXPECT_EQ(records_.Excess(job_, Task(1), Counted(4), {}), "");
  const std::string excess = records_.Excess(job_, Task(1), Counted(5), {"b: why"});
  EXPECT_THAT(excess, HasSubstr("met 11 bad records together, and --max-bad-records is 10"));
  EXPECT_THAT(excess, HasSubstr("a: why; b: why; "));
  EXPECT_EQ(records_.Excess(job_, Task(1), Counted(0), {}), "");
}

TEST_F(BadRecordsTest, OfATaskThatCommitsAgainCountOnce) {
  records_.Committed(job_, Task(0), Counted(8), {});
  EXPECT_EQ(records_.Excess(job_, Task(0), Counted(9), {}), "");
  records_.Committed(job_, Task(0), Counted(2), {});
  EXPECT_EQ(records_.Excess(job_, Task(1), Counted(8), {}), "");
  records_.Committed(job_, Task(0), Counted(0), {});
  EXPECT_EQ(records_.Excess(job_, Task(1), Counted(10), {}), "");
}

TEST_F(BadRecordsTest, OfCommitsBeforeARestartCount) {
  job_.stages[0].tasks[2].committed = true;
  job_.stages[0].tasks[2].output = StoredOutput(Counted(10));
  EXPECT_THAT(records_.Excess(job_, Task(1), Counted(1), {}), HasSubstr("met 11 bad records"));
  records_.Forget(kJob);
  job_.stages[0].tasks[2].committed = false;
  EXPECT_EQ(records_.Excess(job_, Task(1), Counted(1), {}), "");
}

TEST_F(BadRecordsTest, ACounterOfThatNameThatAnOperatorKeepsForItselfIsNone) {
  FinishedExtra extra;
  extra.counters = {{"map", "bad_records", 50}};
  EXPECT_EQ(records_.Excess(job_, Task(0), extra, {}), "");
  extra.counters.push_back({"mr", "bad_records", 11});
  EXPECT_THAT(records_.Excess(job_, Task(0), extra, {}), HasSubstr("met 11 bad records"));
}

TEST_F(BadRecordsTest, FewAreTold) {
  records_.Committed(job_, Task(0), Counted(3), {"one", "two", "three"});
  const std::string excess = records_.Excess(job_, Task(1), Counted(9), {"four"});
  EXPECT_THAT(excess, HasSubstr("one; two; three; "));
  EXPECT_THAT(excess, Not(HasSubstr("four")));
}

}  // namespace
}  // namespace mr::master
