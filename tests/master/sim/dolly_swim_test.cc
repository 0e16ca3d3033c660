// Recorded days on Dolly's cluster: the hours that run, and the message if a day is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "master/sim/studies/reproduce.h"

namespace mr::sim {
namespace {

using testing::HasSubstr;

// Four jobs: one before the hour, one in its first and one in its last second, one after it. A block is 134217728
// bytes. Beside them a study of the second hour, whose bytes count twice.
std::string DayIn(const char* folder) {
  const std::filesystem::path data = std::filesystem::path(testing::TempDir()) / folder;
  std::filesystem::create_directories(data / "swim");
  std::ofstream(data / "swim" / "day.tsv") << "a\t0\t0\t134217728\t0\t1\nb\t3600\t3600\t134217728\t1073741824\t1\n"
                                              "c\t7199\t3599\t1\t0\t1\nd\t7200\t1\t134217728\t0\t1\n";
  std::ofstream(data / "day.toml") << R"toml(
name = "day"
title = "A day"
[tasks.exact]
exact = true
[jobs.day]
workload = "day.tsv"
format = "swim"
hours = [1, 2]
scale = 2
why = "the others are not asked for"
[[figure]]
id = "hour"
what = "one hour"
cluster = "10x2"
tasks = "exact"
jobs = "day"
runs = [{ name = "fair", list = "fair" }]
lines = [
  { what = "jobs", value = "sum(fair.tasks > 0)" },
  { what = "tasks of the first", value = "fair.tasks[1]" },
  { what = "tasks of the last", value = "fair.tasks[2]" },
]
)toml";
  return data.string();
}

TEST(DollySwimTest, JobsOfTheHoursComeAsRecordedWithScaledBytes) {
  const std::string data = DayIn("dolly_swim_hours");
  const auto r = Reproduce({data + "/day.toml", data, 1, nullptr});
  ASSERT_TRUE(r.ok()) << r.status().message();
  const std::vector<LineResult>& lines = r->figures[0].lines;
  EXPECT_EQ(lines[0].ours, 2);
  EXPECT_EQ(lines[1].ours, 4) << "two blocks, two GiB of shuffle";
  EXPECT_EQ(lines[2].ours, 1);
  for (const char* part : {"hours 1 to 2", "2 jobs", "bytes x 2", "128 MiB a map"}) {
    EXPECT_THAT(r->figures[0].used, HasSubstr(part));
  }
}

TEST(DollySwimTest, AMissingDayIsNotFound) {
  const std::string data = DayIn("dolly_swim_none");
  std::filesystem::remove_all(std::filesystem::path(data) / "swim");
  EXPECT_EQ(Reproduce({data + "/day.toml", data, 1, nullptr}).status().code(), Code::kNotFound);
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
  std::string used, skipped;
  const RunContext context{1, data, &used, &skipped, nullptr};
  const auto first = ExperimentOf("dolly", "150x12", "hadoop", "swim_2009", "fair", context),
             second = ExperimentOf("dolly", "150x12", "hadoop", "swim_2010", "fair", context);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(first->jobs.size(), 1736u);
  EXPECT_EQ(second->jobs.size(), 6878u);
}

}  // namespace
}  // namespace mr::sim
