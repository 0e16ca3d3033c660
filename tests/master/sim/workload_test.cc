// Sources of jobs and clusters, and the meaning of a report's numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "master/sim/engine/model.h"
#include "master/sim/studies/report.h"
#include "master/sim/traces/trace.h"

namespace mr::sim {
namespace {

using testing::HasSubstr;

TEST(SwimTest, MapPer128MibReducePerGibOfShuffle) {
  const auto jobs = ParseSwim({"t", "job0\t5\t0\t134217729\t1073741824\t7\njob1\t3\t1\t0\t0\t0\n"});
  ASSERT_TRUE(jobs.ok()) << jobs.status().message();
  ASSERT_EQ(jobs->jobs.size(), 2u);
  EXPECT_EQ(jobs->jobs[0].name, "job1");  // by submit time
  EXPECT_EQ(jobs->jobs[0].tasks(), 1u);   // map-only, without bytes
  const JobModel& job = jobs->jobs[1];
  ASSERT_EQ(job.stages.size(), 2u);
  EXPECT_EQ(job.stages[0].tasks, 2u);
  EXPECT_EQ(job.stages[1].tasks, 1u);
  EXPECT_EQ(job.stages[1].bytes, 1073741824u);
}

TEST(SwimTest, BadLineIsNamed) {
  for (const char* bad : {"job0\t5\t0\t1\t1\n", "job0\t5\t0\tx\t1\t1\n", ""}) {
    const auto jobs = ParseSwim({"file", bad});
    ASSERT_FALSE(jobs.ok()) << bad;
    EXPECT_THAT(jobs.status().message(), HasSubstr("file:"));
  }
}

// Measured in the file: 5,894 jobs, 75 % map-only, 91.2/3.3/2.0/2.1/1.4 % by size, 228 k tasks in all.
TEST(SwimTest, FacebookOf2009IsWhatItIsSaidToBe) {
  const char* data = std::getenv("MR_DATA");
  if (data == nullptr) GTEST_SKIP() << "MR_DATA is not set: it says where the traces are";
  const auto jobs = LoadWorkload("FB-2009_samples_24_times_1hr_0.tsv", data, 1);
  ASSERT_TRUE(jobs.ok()) << jobs.status().message();
  EXPECT_EQ(jobs->size(), 5894u);
  uint64_t tasks = 0, small = 0, map_only = 0;
  for (const JobModel& job : *jobs) {
    tasks += job.tasks();
    small += job.tasks() <= 10;
    map_only += job.stages.size() == 1;
  }
  EXPECT_NEAR(static_cast<double>(tasks), 228e3, 1e3);
  EXPECT_NEAR(static_cast<double>(small) / 5894, .912, .001);
  EXPECT_NEAR(static_cast<double>(map_only) / 5894, .75, .01);
}

TEST(WorkloadTest, MissingFileSaysWhereItWasLookedFor) {
  const auto jobs = LoadWorkload("no-such.tsv", "/nowhere", 1);
  ASSERT_FALSE(jobs.ok());
  EXPECT_EQ(jobs.status().code(), Code::kNotFound);
  EXPECT_THAT(jobs.status().message(), HasSubstr("in the folders of /nowhere"));
}

TEST(GenerateTest, SharesAndGapsAreThoseAskedFor) {
  const auto jobs = Generate("generate:bing,jobs=20000,gap=2", 1);
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 20000u);
  double small = 0, large = 0;
  for (const JobModel& job : *jobs) {
    small += job.tasks() <= 10;
    large += job.tasks() > 500;
  }
  EXPECT_NEAR(small / 20000, .61, .02);
  EXPECT_NEAR(large / 20000, .02, .005);
  EXPECT_NEAR(jobs->back().submit / 20000, 2, .3);
}

TEST(GenerateTest, UnknownWordIsRefused) {
  const auto jobs = Generate("generate:facebok", 1);
  ASSERT_FALSE(jobs.ok());
  EXPECT_THAT(jobs.status().message(), HasSubstr("did you mean 'facebook'"));
  for (const char* jobs :
       {"jobs=0", "jobs=-3", "jobs=1.5", "jobs=nan", "jobs=inf", "jobs=1e12", "jobs=many", "jobs="}) {
    const Status status = Generate(std::string("generate:") + jobs, 1).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << jobs;
    EXPECT_NE(status.message().find("a whole number from 1 to 1000000"), std::string::npos) << status.message();
  }
  for (const char* gap : {"gap=0", "gap=-1", "gap=nan", "gap=1e300", "gap=2s"}) {
    const Status status = Generate(std::string("generate:jobs=2,") + gap, 1).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << gap;
    EXPECT_NE(status.message().find("the mean gap must be from"), std::string::npos) << status.message();
  }
  const Status centuries = Generate("generate:jobs=1000,gap=1e8", 1).status();
  EXPECT_EQ(centuries.code(), Code::kInvalidArgument);
  EXPECT_NE(centuries.message().find("ask for fewer jobs or smaller gaps"), std::string::npos) << centuries.message();
  EXPECT_FALSE(Generate("generated", 1).ok());
  for (const char* twice : {"generate:bing,jobs=5,jobs=6", "generate:gap=1,gap=1", "generate:bing,facebook"}) {
    EXPECT_THAT(Generate(twice, 1).status().message(), HasSubstr("comes after another of its kind")) << twice;
  }
}

double At(std::vector<double> sorted, double p) {
  std::sort(sorted.begin(), sorted.end());
  const double x = p * static_cast<double>(sorted.size() - 1);
  const auto i = static_cast<size_t>(x);
  return i + 1 < sorted.size() ? sorted[i] + (x - static_cast<double>(i)) * (sorted[i + 1] - sorted[i]) : sorted[i];
}
struct Phases {
  std::vector<double> factors, widths, medians;  // factors: max / median of phases of 20 tasks or more
};
Phases PhasesOf(const std::vector<JobModel>& jobs) {
  Phases p;
  for (const JobModel& job : jobs) {
    for (const StageModel& s : job.stages) {
      const std::vector<double> d(s.durations.begin(), s.durations.end());
      p.widths.push_back(s.tasks);
      p.medians.push_back(At(d, .5));
      if (s.tasks >= 20) p.factors.push_back(*std::max_element(d.begin(), d.end()) / At(d, .5));
    }
  }
  return p;
}

// A generator that stands in for a record has the record's straggler factors and widths.
TEST(GenerateTest, MeasuredMixesAreLikeTheRecords) {
  const Phases mumak = PhasesOf(*Generate("generate:mumak,jobs=18", 3)),
               google = PhasesOf(*Generate("generate:google,jobs=12000", 3));
  // The numbers beside the tables.
  EXPECT_NEAR(At(mumak.factors, .5), 2.0, .1);
  EXPECT_NEAR(At(mumak.factors, .75), 3.35, .2);
  EXPECT_NEAR(At(mumak.factors, .9), 4.6, .5);
  EXPECT_NEAR(At(google.factors, .5), 1.23, .1);
  EXPECT_NEAR(At(google.factors, .9), 5.35, 1.1);
  const char* data = std::getenv("MR_DATA");
  if (data == nullptr) GTEST_SKIP() << "MR_DATA is not set: not compared with the records themselves";
  const Phases mumak_record = PhasesOf(*LoadWorkload("mumak19_jobs.tsv", data, 1));
  const Phases google_record = PhasesOf(*LoadWorkload("GOOG_subtrace.first6000jobs.tr", data, 1));
  for (const auto& [made, record] : {std::pair(mumak, mumak_record), std::pair(google, google_record)}) {
    for (const double p : {.5, .75, .9}) {
      EXPECT_NEAR(At(made.factors, p) / At(record.factors, p), 1, .2) << "max / median, p" << p;
      EXPECT_NEAR(At(made.medians, p) / At(record.medians, p), 1, .15) << "median duration, p" << p;
    }
    for (const double p : {.5, .8, .9, .95}) {
      EXPECT_NEAR(At(made.widths, p) / At(record.widths, p), 1, .15) << "width, p" << p;
    }
  }
}

TEST(ClusterTest, ShortForms) {
  const auto plain = ParseCluster("150x12");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->slots(), 1800u);
  const auto kinds = ParseCluster("62x4m2r");
  ASSERT_TRUE(kinds.ok());
  EXPECT_EQ(kinds->workers[61].slots, (sched::Slots{6, 4, 2}));
  for (const char* bad : {"", "150", "x12", "0x3", "3x0", "3x4m", "3x4m2", "3x4mr", "3x4r2m", "3x4 ", "9999999x1"}) {
    EXPECT_FALSE(ParseCluster(bad).ok()) << bad;
  }
  EXPECT_EQ(ParseCluster("/nowhere/c.toml").status().code(), Code::kNotFound);
}

TEST(ClusterTest, TomlFile) {
  const auto c = ParseClusterToml(
      "[[rack]]\nname = \"a\"\nup = 1e9\ndown = 2000000000\n"
      "[[worker]]\ncount = 3\nslots = 6\nmap_slots = 4\nreduce_slots = 2\nrack = \"a\"\n"
      "[[worker]]\nrack = \"b\"\nspeed = 0.5\ndisk = 1e8\n",
      "c.toml");
  ASSERT_TRUE(c.ok()) << c.status().message();
  ASSERT_EQ(c->workers.size(), 4u);
  EXPECT_EQ(c->racks.size(), 2u);
  EXPECT_EQ(c->racks[0].down, 2e9);
  EXPECT_EQ(c->workers[2].slots, (sched::Slots{6, 4, 2}));
  EXPECT_EQ(c->workers[3].rack, 1u);
  EXPECT_EQ(c->workers[3].speed, 0.5);
  EXPECT_THAT(ParseClusterToml("[[worker]]\nsloots = 3\n", "c").status().message(), HasSubstr("did you mean 'slots'"));
  for (const auto& [line, wrong] : std::vector<std::pair<std::string, std::string>>{
           {"speed = 0", "speed is 0; it must be from 0.001 to 1000000"},
           {"speed = inf", "speed is inf; it must be from 0.001"},
           {"speed = nan", "speed is nan; it must be from 0.001"},
           {"map_slots = 1e300", "map_slots is 1e+300; it must be a whole number from 0 to 10000"},
           {"slots = 2.7", "slots is 2.7; it must be a whole number from 1 to 10000"},
           {"count = 1e9", "count is 1000000000; it must be a whole number from 1 to 100000"},
           {"loss = 1.0", "loss is 1; it must be from 0 to 0.9"}}) {
    const auto refused = ParseClusterToml("[[worker]]\n" + line + "\n", "c");
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument) << line;
    EXPECT_THAT(refused.status().message(), HasSubstr(wrong));
  }
  EXPECT_FALSE(ParseClusterToml("[[worker]\n", "c").ok());
  EXPECT_FALSE(ParseClusterToml("", "c").ok());
}

TEST(ReportTest, BinsAndPercentilesByNearestRank) {
  std::vector<JobResult> jobs;
  for (int i = 1; i <= 100; ++i) jobs.push_back({true, 10, 0, static_cast<double>(i), ""});
  jobs.push_back({true, 11, 5, 12, ""});
  jobs.push_back({false, 11, 0, 1000, "failed"});
  const auto bins = BinsOf(jobs);
  EXPECT_EQ(bins[0].jobs, 100u);
  EXPECT_DOUBLE_EQ(bins[0].mean, 50.5);
  EXPECT_DOUBLE_EQ(bins[0].p50, 50);
  EXPECT_DOUBLE_EQ(bins[0].p95, 95);
  EXPECT_DOUBLE_EQ(bins[0].p99, 99);
  EXPECT_EQ(bins[1].jobs, 1u);
  EXPECT_DOUBLE_EQ(bins[1].p99, 7);
  EXPECT_EQ(bins[5].jobs, 101u);
}

}  // namespace
}  // namespace mr::sim
