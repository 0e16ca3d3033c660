#include "master/web/topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::web {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(TopicTest, EachPathNamesADocumentAndIsItsName) {
  for (const char* path :
       {"cluster", "workers", "workers/w3", "store", "scheduler", "queues", "jobs", "jobs/job_1_0002",
        "jobs/job_1_0002/report", "jobs/job_1_0002/tasks", "jobs/job_1_0002/attempts", "jobs/job_1_0002/counters",
        "attempts/attempt_1_0002_0_m_000017_1/log", "attempts/attempt_1_0002_3_r_000000_1001/log"}) {
    const auto topic = ParseTopic(path, "");
    ASSERT_TRUE(topic.ok()) << path;
    EXPECT_EQ(PathOf(*topic), path);
  }
}

TEST(TopicTest, OtherPathsAreNotFound) {
  for (const char* path : {"",
                           "Cluster",
                           "cluster/",
                           "jobs/",
                           "jobs/job_1_0002/",
                           "jobs/job_1_0002/report/x",
                           "jobs/x",
                           "jobs/job_0_0001",
                           "workers/",
                           "workers/1",
                           "workers/w0",
                           "jobs/../cluster",
                           "jobs/job_1_0002%2freport",
                           "jobs/job_99999999999_1",
                           "jobs/job_1_2",
                           "workers/w03",
                           "attempts/log",
                           "attempts/attempt_1_0002_0_m_000017_1",
                           "attempts/task_1_0002_0_m_000017/log",
                           "attempts/attempt_1_2_0_m_17_1/log",
                           "attempts/../attempt_1_0002_0_m_000017_1/log"}) {
    EXPECT_EQ(ParseTopic(path, "").status().code(), Code::kNotFound) << path;
  }
}

TEST(TopicTest, AQueryChoosesJobs) {
  const auto topic = ParseTopic("jobs", "before=job_1_0009&state=failed,KILLED&name=Word%20Count");
  ASSERT_TRUE(topic.ok()) << topic.status().message();
  EXPECT_EQ(topic->job, (JobId{1, 9}));
  EXPECT_THAT(topic->states, ElementsAre(JobState::kFailed, JobState::kKilled));
  EXPECT_EQ(topic->text, "word count");
  const std::string path = PathOf(*topic);
  const auto again = ParseTopic("jobs", path.substr(path.find('?') + 1));
  ASSERT_TRUE(again.ok()) << path;
  EXPECT_EQ(*again, *topic);
}

TEST(TopicTest, ABadQueryIsRefused) {
  for (const char* query : {"state=odd", "before=1", "x=1", "name=%zz", "name=%4", "q=x"}) {
    EXPECT_EQ(ParseTopic("jobs", query).status().code(), Code::kInvalidArgument) << query;
  }
  EXPECT_EQ(ParseTopic("cluster", "a=b").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseTopic("search", "").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseTopic("search", "q=" + std::string(201, 'x')).status().code(), Code::kInvalidArgument);
}

TEST(TopicTest, AQueryIsDecoded) {
  const auto query = ParseQuery("of=jobs%2Fjob_1_0001&a+b=c+%C3%A4&&flag");
  ASSERT_TRUE(query.ok());
  EXPECT_THAT(*query, ElementsAre(Pair("of", "jobs/job_1_0001"), Pair("a b", "c \xc3\xa4"), Pair("flag", "")));
}

}  // namespace
}  // namespace mr::web
