// How much of an event fits into a record of the journal.
#include "master/core/record_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/fields.h"
#include "common/model/job_plan.h"

namespace mr::master {
namespace {

sched::JobTakenOver Taken(uint32_t tasks) {
  const JobId job{1, 1};
  sched::JobTakenOver taken;
  taken.submitted.job = job;
  for (uint32_t stage = 0; stage < 2; ++stage) {
    taken.plans.push_back({job, stage, 1, std::vector<sched::TaskPlan>(tasks), ""});
    for (uint32_t task = 0; task < tasks; ++task) taken.outputs.push_back({stage, task, 1, 1, {}, {}});
  }
  return taken;
}

TEST(RecordSizeTest, AnEventThatFitsIsLeftAsItIs) {
  const sched::JobTakenOver taken = Taken(10);
  sched::Event event = taken;
  EXPECT_EQ(FitRecord(&event, EncodeFields(taken).size()), "");
  EXPECT_EQ(EncodeFields(std::get<sched::JobTakenOver>(event)), EncodeFields(taken));
}

TEST(RecordSizeTest, ATakeoverKeepsTheOutputsOfTheLastStagesThatFit) {
  const size_t whole = EncodeFields(Taken(10)).size();
  for (size_t most = whole - 1; most > whole / 2; most -= 37) {
    sched::Event event = Taken(10);
    const std::string left_out = FitRecord(&event, most);
    const auto& taken = std::get<sched::JobTakenOver>(event);
    const bool one = taken.outputs.size() == 19;
    EXPECT_THAT(left_out, testing::HasSubstr(one ? "1 of its 20 committed outputs has no room"
                                                 : "of its 20 committed outputs have no room"));
    EXPECT_EQ(taken.plans.size(), 2u);
    EXPECT_LE(EncodeFields(taken).size(), most);
    if (taken.outputs.empty()) break;
    EXPECT_EQ(taken.outputs.back().stage, 1u);
    EXPECT_EQ(taken.outputs.back().task, 9u);
    EXPECT_EQ(taken.outputs.front().stage * 10 + taken.outputs.front().task + taken.outputs.size(), 20u);
    EXPECT_GT(EncodeFields(taken).size() + EncodeFields(taken.outputs[0]).size(), most) << "one more had room";
  }
}

TEST(RecordSizeTest, APlanThatDoesNotFitIsTheFailureOfItsJob) {
  sched::Event taken = Taken(10);
  EXPECT_THAT(FitRecord(&taken, 100), testing::HasSubstr("is the most"));
  const auto& over = std::get<sched::JobTakenOver>(taken);
  ASSERT_EQ(over.plans.size(), 1u);
  EXPECT_THAT(over.plans[0].error, testing::HasSubstr("is the most"));
  EXPECT_TRUE(over.outputs.empty());

  sched::Event planned = sched::StagePlanned{JobId{1, 1}, 3, 1, std::vector<sched::TaskPlan>(1000), ""};
  EXPECT_THAT(FitRecord(&planned, 1000), testing::HasSubstr("is the most"));
  const auto& plan = std::get<sched::StagePlanned>(planned);
  EXPECT_EQ(plan.stage, 3u);
  EXPECT_TRUE(plan.tasks.empty());
  EXPECT_THAT(plan.error, testing::HasSubstr("fewer tasks"));
}

TEST(PlannedInputsTest, AreTakenOnlyWhereEachSplitsFileIsAmongThem) {
  JobPlan plan;
  plan.stages.resize(1);
  plan.stages[0].splits.resize(2);
  const std::vector<PlannedFile> files(2);
  EXPECT_TRUE(TakeInputs({7, 8, files, {{0, 1}}}, &plan));
  EXPECT_EQ(plan.stages[0].splits[1].file, 1u);
  EXPECT_EQ(plan.pin, 7u);
  EXPECT_TRUE(TakeInputs({7, 8, {}, {{Split::kNoFile, Split::kNoFile}}}, &plan));
  EXPECT_FALSE(TakeInputs({7, 8, files, {{0, 2}}}, &plan)) << "of two files";
  EXPECT_FALSE(TakeInputs({7, 8, files, {{0}}}, &plan)) << "of two splits";
  EXPECT_FALSE(TakeInputs({7, 8, files, {{0, 1}, {}}}, &plan)) << "of one stage";
}

}  // namespace
}  // namespace mr::master
