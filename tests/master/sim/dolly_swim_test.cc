// Recorded days on Dolly's cluster: the hours that run, and the message if a day is missing.
#include "master/sim/studies/dolly_swim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "master/sim/studies/reproduce.h"
#include "master/sim/traces/trace.h"

namespace mr::sim {
namespace {

using testing::HasSubstr;

constexpr SwimDay kSecondHour{"day.tsv", 1, 2, 2, "the others are not asked for"};

// Four jobs: one before the hour, one in its first and one in its last second, one after it. A block is 134217728
// bytes.
std::string DayIn(const char* folder) {
  const std::filesystem::path data = std::filesystem::path(testing::TempDir()) / folder;
  std::filesystem::create_directories(data / "swim");
  std::ofstream(data / "swim" / "day.tsv") << "a\t0\t0\t134217728\t0\t1\nb\t3600\t3600\t134217728\t1073741824\t1\n"
                                              "c\t7199\t3599\t1\t0\t1\nd\t7200\t1\t134217728\t0\t1\n";
  return data.string();
}

TEST(DollySwimTest, JobsOfTheHoursComeAsRecordedWithScaledBytes) {
  const auto run = SwimRun(kSecondHour, DayIn("dolly_swim_hours"), "fair", 1);
  ASSERT_TRUE(run.ok()) << run.status().message();
  ASSERT_EQ(run->jobs.size(), 2u);
  EXPECT_EQ(run->jobs[0].name, "b");
  EXPECT_EQ(run->jobs[0].submit, 0);
  EXPECT_EQ(run->jobs[1].submit, 3599);
  ASSERT_EQ(run->jobs[0].stages.size(), 2u);
  EXPECT_EQ(run->jobs[0].stages[0].tasks, 2u);  // two blocks each
  EXPECT_EQ(run->jobs[0].stages[1].tasks, 2u);
  EXPECT_EQ(run->jobs[1].stages[0].bytes, 2u);
  EXPECT_EQ(run->cluster.slots(), 1800u);
  const std::string used = Describe(kSecondHour, *run);
  for (const char* part : {"hours 1 to 2", "2 jobs", "bytes x 2", "128 MiB a map"}) EXPECT_THAT(used, HasSubstr(part));
}

TEST(DollySwimTest, AMissingDayIsNotFound) {
  constexpr SwimDay kNone{"no_such_day.tsv", 0, 1, 1, ""};
  EXPECT_EQ(SwimRun(kNone, DayIn("dolly_swim_none"), "fair", 1).status().code(), Code::kNotFound);
}

TEST(DollySwimTest, AFigureWithoutItsDataSaysSoAndJudgesNothing) {
  const auto r = Reproduce({"dolly:swim-2009", "", 2, nullptr});
  ASSERT_TRUE(r.ok()) << r.status().message();
  EXPECT_EQ(r->missed(), 0u);
  EXPECT_TRUE(r->figures[0].lines.empty());
  EXPECT_THAT(Table(*r), HasSubstr("not run: MR_DATA"));
  EXPECT_THAT(Json(*r), HasSubstr("\"not_run\":\"MR_DATA"));
}

// The expected numbers were counted in the files by another program.
TEST(DollySwimTest, TheHoursOfTheRecordsHaveTheirJobs) {
  const char* data = std::getenv("MR_DATA");
  if (data == nullptr) GTEST_SKIP() << "MR_DATA is not set: it says where the traces are";
  const auto first = SwimRun(kSwim2009, data, "fair", 1), second = SwimRun(kSwim2010, data, "fair", 1);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(first->jobs.size(), 1736u);
  EXPECT_EQ(second->jobs.size(), 6878u);
}

}  // namespace
}  // namespace mr::sim
