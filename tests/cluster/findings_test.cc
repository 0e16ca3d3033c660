// Seeded problems on real processes: the report of each job names its problem, and that of a job without problems none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

// Three workers; operators see the label of the last one as MR_LABEL_NAP, and some of them nap longer there.
class FindingsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 3, .slots = 2, .labels = {"", "", "nap=2"}});
    ASSERT_TRUE(cluster_->Start().ok());
    // Text of six splits.
    Shell("seq 1 100000 > '" + Path("lines") + "'");
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  static std::string Uri(const std::string& name) { return "file://" + Path(name); }

  // Submits a job and returns its id, when it has ended or at once with `--detach`.
  static std::string Submit(std::vector<std::string> args, const std::string& output) {
    args.insert(args.begin(), {"--no-progress", "submit"});
    args.insert(args.end(), {"--output", Uri(output)});
    const RunResult run = cluster_->Mrctl(args, Seconds(90));
    EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
    return run.out.substr(0, run.out.find_first_of(" \n"));
  }
  static std::vector<std::string> Stream(const std::string& input, const std::string& map,
                                         const std::vector<std::string>& more) {
    std::vector<std::string> args = {"stream", "--input", Uri(input), "--map", map};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static Json Report(const std::string& job) {
    const RunResult run = cluster_->Mrctl({"-o", "json", "report", job});
    EXPECT_EQ(run.exit, 0) << run.err;
    return run.exit == 0 ? Json::parse(run.out)["report"] : Json();
  }
  static std::vector<std::string> Kinds(const Json& report) {
    std::vector<std::string> kinds;
    for (const Json& finding : report["findings"]) kinds.push_back(finding["id"]);
    return kinds;
  }
  static void WaitForAttempts(const std::string& job, size_t running) {
    for (const Instant limit = Now() + Seconds(30); Now() < limit;) {
      const Json listed = Json::parse(cluster_->Mrctl({"-o", "json", "job", "attempts", job}).out)["attempts"];
      if (static_cast<size_t>(std::count_if(listed.begin(), listed.end(), [](const Json& attempt) {
            return attempt["state"] == "running";
          })) >= running) {
        return;
      }
    }
    FAIL() << "no " << running << " attempts of " << job << " run";
  }

  static Cluster* cluster_;
};
Cluster* FindingsTest::cluster_ = nullptr;

TEST_F(FindingsTest, AJobWithoutProblemsHasNone) {
  const std::string job = Submit(
      Stream("lines", "cat; sleep 0.4", {"--reduce", "wc -l", "--reduces", "2", "--conf", "max_split_bytes=100k"}),
      "even");
  const Json report = Report(job);
  EXPECT_THAT(Kinds(report), IsEmpty()) << report["findings"].dump(1);
}

TEST_F(FindingsTest, AHotKeyIsNamed) {
  Shell("cd '" + cluster_->directory() +
        "' && awk 'BEGIN {for (i = 0; i < 420000; i++) print (i % 10 < 7 ? \"GB\" : \"c\" i % 997) "
        "\"\\tthe quick brown fox jumps over the lazy dog in the rain\"}' > hot");
  const std::string job =
      Submit(Stream("hot", "cat",
                    {"--reduce", "while [ $(head -c 1048576 | wc -c) -gt 0 ]; do sleep 0.15; done", "--reduces", "4"}),
             "hot_out");
  const Json report = Report(job);
  ASSERT_THAT(Kinds(report), testing::Contains("hot_key")) << report["findings"].dump(1);
  EXPECT_EQ(Kinds(report)[0], "hot_key");
  EXPECT_THAT(report["findings"][0]["text"].get<std::string>(), HasSubstr("'GB'"));
}

TEST_F(FindingsTest, ASlowWorkerIsNamed) {
  const std::string job =
      Submit(Stream("lines", "for step in 1 2 3 4 5; do head -c 20000; sleep ${MR_LABEL_NAP:-0.1}; done; cat",
                    {"--reduce", "wc -l", "--reduces", "1", "--conf", "max_split_bytes=50k"}),
             "slow_out");
  const Json report = Report(job);
  ASSERT_THAT(Kinds(report), testing::Contains("slow_worker")) << report["findings"].dump(1);
  const Json slow = report["findings"][0];
  EXPECT_EQ(slow["id"], "slow_worker");
  const Json workers = Json::parse(cluster_->Mrctl({"-o", "json", "workers"}).out)["workers"];
  const auto napping = std::find_if(workers.begin(), workers.end(), [](const Json& worker) {
    return worker["labels"].dump().find("nap") != std::string::npos;
  });
  ASSERT_NE(napping, workers.end());
  EXPECT_EQ(slow["worker"], (*napping)["id"]);
}

TEST_F(FindingsTest, TooFewReducesAreNamed) {
  Shell("cd '" + cluster_->directory() + "' && head -c 20000000 /dev/zero | tr '\\0' x | fold -w 99 > wide");
  const std::string job =
      Submit(Stream("wide", "cat", {"--reduce", "cat > /dev/null; sleep 2", "--reduces", "1"}), "few_out");
  const Json report = Report(job);
  ASSERT_THAT(Kinds(report), testing::Contains("too_few_tasks")) << report["findings"].dump(1);
  EXPECT_THAT(report["findings"].dump(), HasSubstr("Raise --reduces, for example to 4."));
}

TEST_F(FindingsTest, AFullQueueIsNamed) {
  const std::string first = Submit({"--detach", "sleep", "--ms", "3000", "--tasks", "6"}, "first_out");
  WaitForAttempts(first, 6);
  const std::string job = Submit({"sleep", "--ms", "10", "--tasks", "2"}, "second_out");
  const Json report = Report(job);
  EXPECT_THAT(Kinds(report), ElementsAre("full_queue")) << report["findings"].dump(1);
  EXPECT_EQ(cluster_->Mrctl({"wait", first}).exit, 0);
}

TEST_F(FindingsTest, ALostWorkerIsNamed) {
  const std::string job =
      Submit(Stream("lines", "cat; sleep 2", {"--detach", "--conf", "max_split_bytes=100k"}), "lost_out");
  WaitForAttempts(job, 6);
  cluster_->KillWorker(0);
  EXPECT_EQ(cluster_->Mrctl({"wait", job}).exit, 0);
  const Json report = Report(job);
  ASSERT_THAT(Kinds(report), testing::Contains("lost_worker")) << report["findings"].dump(1);
  EXPECT_THAT(report["findings"].dump(), HasSubstr("2 attempts had to be made again"));
  ASSERT_TRUE(cluster_->StartWorker(0).ok());
}

}  // namespace
}  // namespace mr::test
