// Jobs by number, by name and as `last`, with the real binaries: each verb that takes a job takes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/prepared.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

class JobRefClusterTest : public PreparedTest {};

TEST_F(JobRefClusterTest, EachVerbTakesANumberANameAndLast) {
  const std::string done = kDoneJob, running = kRunningJob;
  for (const char* word : {"1", "wordcount", kDoneJob}) {
    for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
             {"job", "show"}, {"job", "tasks"}, {"job", "attempts"}, {"why"}, {"wait"}, {"attach"}}) {
      auto args = verb;
      args.emplace_back(word);
      const RunResult run = Mrctl(args);
      EXPECT_EQ(run.exit, 0) << verb.back() << " " << word << ": " << run.err;
      EXPECT_THAT(run.out, HasSubstr("1_0001")) << verb.back() << " " << word;
    }
    EXPECT_THAT(Mrctl({"job", "stages", word}).out, HasSubstr("count "));
    EXPECT_EQ(Mrctl({"job", "counters", word}).exit, 0);
    EXPECT_EQ(Mrctl({"logs", word}).exit, 0);
    EXPECT_THAT(Mrctl({"report", word}).out, HasSubstr(done));
    EXPECT_THAT(Mrctl({"trace", word}).out, HasSubstr("traceEvents"));
    EXPECT_EQ(Mrctl({"whatif", word, "--workers", "3"}).exit, 0);
  }
  EXPECT_THAT(Mrctl({"job", "show", "last"}).out, HasSubstr(running));
  EXPECT_EQ(Mrctl({"job", "set", "last", "--priority", "1"}).exit, 0);
  EXPECT_THAT(Mrctl({"-o", "json", "why", "last"}).out, HasSubstr("\"id\":\"" + running + "\""));
}

TEST_F(JobRefClusterTest, AmbiguousAndUnknownOnesSayWhatThereIs) {
  const RunResult unknown = Mrctl({"kill", "worcount"});
  EXPECT_EQ(unknown.exit, 7);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'wordcount'"));
  ASSERT_EQ(Sh("mrctl submit --name twice grep -e zzz --input /data/books.txt --output /data/z1 && "
               "mrctl submit --name twice grep -e zzz --input /data/books.txt --output /data/z2")
                .exit,
            0);
  const RunResult ambiguous = Mrctl({"-o", "json", "job", "show", "twice"});
  EXPECT_EQ(ambiguous.exit, 2);
  EXPECT_THAT(ambiguous.out, HasSubstr("2 jobs have the name 'twice'"));
  EXPECT_THAT(ambiguous.out, HasSubstr("job_1_0004 (SUCCEEDED), job_1_0003 (SUCCEEDED)"));
  EXPECT_THAT(Mrctl({"job", "show", "last"}).out, HasSubstr("job_1_0004"));
}

TEST_F(JobRefClusterTest, ListsJobsByStateNameAndTime) {
  EXPECT_THAT(Mrctl({"jobs", "--state", "running"}).out, testing::Not(HasSubstr(kDoneJob)));
  EXPECT_THAT(Mrctl({"jobs", "--name", "word*", "--since", "1h"}).out, HasSubstr(kDoneJob));
  EXPECT_THAT(Mrctl({"jobs", "--since", "0s"}).out, testing::Not(HasSubstr(kDoneJob)));
  const std::string all = Mrctl({"jobs"}).out;
  EXPECT_LT(all.find(kDoneJob), all.find(kRunningJob)) << "the newest is the last";
  EXPECT_EQ(Mrctl({"jobs", "--state", "done"}).exit, 2);
}

TEST_F(JobRefClusterTest, LastOfAnotherMasterIsRefused) {
  ASSERT_EQ(Mrctl({"job", "show", "last"}).exit, 0);
  const RunResult other = Sh("mrctl --master 127.0.0.1:1 kill last");
  EXPECT_EQ(other.exit, 2);
  EXPECT_THAT(other.err, HasSubstr("was submitted to the master at " + prepared_->cluster().master_address()));
}

}  // namespace
}  // namespace mr::test
