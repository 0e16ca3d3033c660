// Hot keys are named, by a real cluster: where the job succeeds, where a task has no memory for one, and nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SkewTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 2, .slots = 2});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    // 700,000 rows of some 45 bytes: 6 of 10 have the key GB, or all have one of 4,999.
    const std::string rows =
        " 'BEGIN {print \"country,n,text\"; for (i = 0; i < 700000; i++) "
        "printf \"%s,%d,the quick brown fox jumps over\\n\", (i % 10 < hot ? \"GB\" : \"c\" i % 4999), i}' ";
    Shell("cd '" + cluster_->directory() + "' && awk -v hot=6" + rows + "> hot.csv && awk -v hot=0" + rows +
          "> even.csv && " + "(echo country,name; echo GB,Britain; seq 0 4998 | sed 's/.*/c&,name &/') > right.csv");
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  static RunResult Submit(std::vector<std::string> args, const std::string& output) {
    args.insert(args.begin(), {"--no-progress", "submit", "--reduces", "8"});
    args.insert(args.end(), {"--output", "file://" + Path(output)});
    return cluster_->Mrctl(args, Seconds(90));
  }
  static RunResult Join(const std::string& left, const std::string& output) {
    return Submit({"join", "--left", "file://" + Path(left), "--right", "file://" + Path("right.csv"), "--on",
                   "country", "--broadcast-bytes", "0"},
                  output);
  }
  static std::string Id(const RunResult& run) { return run.out.substr(0, run.out.find(' ')); }

  static Cluster* cluster_;
};
Cluster* SkewTest::cluster_ = nullptr;

TEST_F(SkewTest, AJoinWithAHotKeyNamesIt) {
  const RunResult run = Join("hot.csv", "hot_out");
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_THAT(run.err, HasSubstr("mrctl: skew: key 'GB' has about "));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("skew"))) << "the result is alone on stdout";

  const RunResult show = cluster_->Mrctl({"job", "show", Id(run)});
  EXPECT_THAT(show.out, HasSubstr("\nskew        key 'GB' has about "));
  EXPECT_THAT(show.out, HasSubstr(" of the 700,000 records from stage 'left' (partition "));
  EXPECT_THAT(show.out, HasSubstr(" times the median)\n"));
  const RunResult json = cluster_->Mrctl({"job", "show", Id(run), "-o", "json"});
  EXPECT_THAT(json.out, HasSubstr(R"("skew":[{"stage":"left","key":"GB","key_cut":false,"records":)"));
  EXPECT_THAT(cluster_->Mrctl({"-v", "why", Id(run)}).out, HasSubstr("skew: key 'GB' has about "));
  // About 60 %: the estimate is of some thousand samples of the same records each time.
  const size_t at = show.out.find("has about ") + 10;
  EXPECT_NEAR(std::stod(show.out.substr(at)), 60, 6) << show.out;
}

TEST_F(SkewTest, AJoinOfEvenKeysNamesNone) {
  const RunResult run = Join("even.csv", "even_out");
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(cluster_->Mrctl({"job", "show", Id(run)}).out, Not(HasSubstr("skew")));
  EXPECT_THAT(cluster_->Mrctl({"job", "show", Id(run), "-o", "json"}).out, HasSubstr(R"("skew":[])"));
}

// Its combiner leaves a record of each key, however hot.
TEST_F(SkewTest, WhatIsCombinedIsNotSkewed) {
  Shell("sed 's/,/ /' '" + Path("hot.csv") + "' > '" + Path("hot.txt") + "'");
  const RunResult run = Submit({"wordcount", "--input", "file://" + Path("hot.txt")}, "counted");
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(run.err, "");
}

TEST_F(SkewTest, ATaskWithoutMemoryForAHotKeyNamesIt) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "with the address sanitizer tasks have no limit of memory";
#endif
  // The key's last byte is a control character.
  Shell("sed '1d; s/,/\\t/; s/^GB/GB\\x01/' '" + Path("hot.csv") + "' > '" + Path("hot.kv") + "'");
  const RunResult run =
      Submit({"--max-attempts", "1", "--memory", "64m", "--lib", BinaryDirectory() + "/../lib/libhoards.so", "hoard",
              "--input", "file://" + Path("hot.kv")},
             "hoarded");
  EXPECT_EQ(run.exit, 1) << run.err << cluster_->Logs();
  EXPECT_THAT(run.err, HasSubstr("out of memory"));
  EXPECT_THAT(run.err, HasSubstr("  skew: key 'GB\\x01' has about "));
  EXPECT_THAT(run.err, HasSubstr(", and this task reads it\n"));
  EXPECT_LE(std::count(run.err.begin(), run.err.end(), '\n'), 10) << run.err;
}

}  // namespace
}  // namespace mr::test
