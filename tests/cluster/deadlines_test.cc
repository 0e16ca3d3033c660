// What a cluster learns of recurring jobs and what it says of their deadlines, by the real binaries.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class DeadlinesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 2, .slots = 2});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    WriteBible(Path("in"), 20'000);
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  static std::string Uri(const std::string& name) { return "file://" + Path(name); }
  static RunResult Mrctl(const std::vector<std::string>& args) { return cluster_->Mrctl(args, Seconds(60)); }

  // Once a job has ended its profile is on its way to the disk.
  static std::string UntilProfileHas(const std::string& name, const std::string& text) {
    const Instant end = Now() + Seconds(20);
    while (true) {
      const RunResult run = Mrctl({"profile", "show", name});
      if (run.out.find(text) != std::string::npos || Now() > end) return run.out + run.err;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  static Cluster* cluster_;
};
Cluster* DeadlinesTest::cluster_ = nullptr;

TEST_F(DeadlinesTest, AJobThatSucceededLeavesAProfileThatOutlivesTheMaster) {
  EXPECT_EQ(Mrctl({"profile", "show", "nightly"}).exit, 7);
  for (const char* out : {"n1", "n2"}) {
    const RunResult run =
        Mrctl({"submit", "wordcount", "--name", "nightly", "--input", Uri("in"), "--output", Uri(out)});
    ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  }
  const std::string text = UntilProfileHas("nightly", ": 2 runs, ");
  EXPECT_THAT(text, StartsWith("nightly, plan "));
  EXPECT_THAT(text, HasSubstr("count "));
  EXPECT_THAT(text, HasSubstr("sum "));
  cluster_->KillMaster();
  ASSERT_TRUE(cluster_->StartMaster().ok());
  EXPECT_EQ(Mrctl({"profile", "show", "nightly"}).out, text);
  const RunResult json = Mrctl({"-o", "json", "profile", "show", "nightly"});
  EXPECT_THAT(json.out, StartsWith("{\"version\":1,\"profiles\":[{\"id\":\""));
  EXPECT_THAT(json.out, HasSubstr("\"run_s\":["));
  EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 1);
}

TEST_F(DeadlinesTest, AJobThatFailedLeavesNone) {
  const RunResult run = Mrctl({"submit", "stream", "--name", "broken", "--map", "exit 3", "--max-attempts", "1",
                               "--input", Uri("in"), "--output", Uri("broken")});
  EXPECT_EQ(run.exit, 1);
  const RunResult show = Mrctl({"profile", "show", "broken"});
  EXPECT_EQ(show.exit, 7);
  EXPECT_THAT(show.err, HasSubstr("no run of a job named 'broken' is known"));
  EXPECT_EQ(Mrctl({"profile", "show"}).exit, 2);
}

}  // namespace
}  // namespace mr::test
