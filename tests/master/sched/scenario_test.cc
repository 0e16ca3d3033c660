// Runs every file of tests/scenarios: with the policies that it names, or with each list below.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/scenario.h"

namespace mr::sched {
namespace {

// Lists that a scenario without a `policies` line must hold under.
constexpr const char* kLists[] = {"fifo",
                                  "fair",
                                  "fair(reduces=greedy)",
                                  "fair,delay",
                                  "fair,blacklist",
                                  "fair,coupling",
                                  "fair(reduces=greedy),coupling(clock=paper)",
                                  "fifo,hadoop_speculation(min_age=1s)",
                                  "fifo,dryad_speculation(done=0.5)",
                                  "fifo,spark_speculation",
                                  "fifo,late(min_age=1s)",
                                  "fifo,mantri_placement",
                                  "fifo,mantri_replication",
                                  "fifo,mantri_recompute",
                                  "fair,mantri_restart",
                                  "fair,delay,mantri",
                                  "fair,opportunistic,late(min_age=1s)"};

std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(MR_SCENARIOS)) {
    if (entry.path().extension() == ".scn") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class ScenarioTest : public testing::TestWithParam<std::string> {};

TEST_P(ScenarioTest, Holds) {
  std::ifstream in(GetParam());
  std::stringstream text;
  text << in.rdbuf();
  const std::string name = std::filesystem::path(GetParam()).filename().string();
  for (const char* list : kLists) {
    EXPECT_EQ(Scenario(name, list).Run(text.str()), "") << "with " << list;
    if (Scenario::NamesPolicies(text.str())) break;
  }
}

// A file that is named for a policy does not hold without that policy.
TEST(PolicyScenarioTest, FailsUnderFifoAlone) {
  int files = 0;
  for (const std::string& path : Files()) {
    const std::string name = std::filesystem::path(path).filename().string();
    const auto is_of = [&](const std::string& policy) { return name.rfind(policy + "_", 0) == 0; };
    if (!is_of("fair") && !is_of("delay") && !is_of("coupling") && !is_of("blacklist")) continue;
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    std::string swapped = text.str();
    const size_t line = swapped.find("\npolicies ");
    ASSERT_NE(line, std::string::npos) << name;
    swapped.replace(line, swapped.find('\n', line + 1) - line, "\npolicies fifo");
    EXPECT_NE(Scenario(name, "fifo").Run(swapped), "") << name;
    ++files;
  }
  EXPECT_GE(files, 10);
}

INSTANTIATE_TEST_SUITE_P(Files, ScenarioTest, testing::ValuesIn(Files()), [](const auto& info) {
  std::string name = std::filesystem::path(info.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

// The text with another policy than fifo in its list, and without the reasons that would tell it.
std::string Swapped(std::string text, const std::string& policy) {
  const size_t begin = text.find("fifo,") + 5;
  text.replace(begin, text.find('\n', begin) - begin, policy);
  for (size_t at; (at = text.find(" because=")) != std::string::npos;) {
    text.erase(at, text.find_first_of(" \n", at + 1) - at);
  }
  return text;
}

TEST(SwapTest, NoSpeculationPolicyPassesForAnother) {
  const std::map<std::string, std::string> policies = {
      {"hadoop_speculation", "hadoop_speculation(min_age=1s)"},
      {"dryad_speculation", "dryad_speculation(done=0.5)"},
      {"spark_speculation", "spark_speculation(quantile=0.5,multiplier=1.5)"},
      {"late", "late(min_age=1s,slow_task=0.5,cap=1)"},
      {"mantri_restart", "mantri_restart"}};
  std::map<std::pair<std::string, std::string>, int> told;
  for (const std::string& file : Files()) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    for (const auto& [right, list] : policies) {
      if (text.str().find("\npolicies fifo," + right) == std::string::npos) continue;
      for (const auto& [wrong, other] : policies) {
        if (wrong != right) told[{right, wrong}] += !Scenario(file, "fifo").Run(Swapped(text.str(), other)).empty();
      }
    }
  }
  EXPECT_EQ(told.size(), policies.size() * (policies.size() - 1));
  for (const auto& [pair, files] : told) EXPECT_GT(files, 0) << pair.second << " in place of " << pair.first;
}

// Nor does nothing: blacklist has no part in these files.
TEST(SwapTest, NoPolicyOfMantriPassesForAnother) {
  const std::vector<std::string> policies = {"mantri_placement", "mantri_replication", "mantri_recompute"};
  int files = 0;
  for (const std::string& file : Files()) {
    const std::string name = std::filesystem::path(file).filename().string();
    for (const std::string& right : policies) {
      if (name.rfind(right + "_", 0) != 0) continue;
      std::ifstream in(file);
      std::stringstream text;
      text << in.rdbuf();
      for (const std::string& wrong : {policies[0], policies[1], policies[2], std::string("blacklist")}) {
        if (wrong == right) continue;
        EXPECT_NE(Scenario(file, "fifo").Run(Swapped(text.str(), wrong)), "") << wrong << " in " << name;
      }
      ++files;
    }
  }
  EXPECT_GE(files, 5);
}

// A clone that may be gone in a moment replaces no speculative attempt. Each policy launches the one that it would
// launch if the slow task had no clone on an idle slot.
TEST(ClonesOnIdleSlotsTest, CostNoTaskItsSpeculativeAttempt) {
  const std::string story = R"(
workers w1..w6 slots=1
at 0s submit j1 maps=4
at 0s started j1/map/0
at 0s started j1/map/1
at 0s started j1/map/2
at 0s started j1/map/3
at 1s tick
ensure launches j1/map/0 = CLONED
at 9s progress j1/map/0#1 taken=5
at 9s progress j1/map/1#1 taken=90
at 9s progress j1/map/2#1 taken=90
at 9s progress j1/map/3#1 taken=90
at 10s progress j1/map/0#1 taken=10
at 10s progress j1/map/1#1 taken=100
at 10s progress j1/map/2#1 taken=100
at 10s progress j1/map/3#1 taken=100
at 10s finished j1/map/1#1
at 10s finished j1/map/2#1
at 10s finished j1/map/3#1
at 20s tick
ensure launches j1/map/0 = LAUNCHES
)";
  const auto run = [&](const std::string& list, int clones) {
    std::string text = story;
    text.replace(text.find("CLONED"), 6, std::to_string(1 + clones));
    text.replace(text.find("LAUNCHES"), 8, std::to_string(2 + clones));
    EXPECT_EQ(Scenario("x.scn", list).Run(text), "") << list;
  };
  for (const std::string policy :
       {"hadoop_speculation(min_age=1s)", "dryad_speculation(done=0.5)", "mantri_restart",
        "spark_speculation(quantile=0.5,multiplier=1.5)", "late(min_age=1s,slow_task=0.5,cap=1)"}) {
    run("fifo," + policy, 0);
    run("fifo,opportunistic," + policy, 1);
    run("fifo," + policy + ",opportunistic", 1);
  }
}

TEST(ScenarioRunnerTest, SaysWhichLineDidNotHold) {
  const std::string text = "\npolicies fifo\nworkers w1 slots=1\nat 0s submit j1 maps=1\nexpect launch j1/map/0 w2\n";
  EXPECT_THAT(Scenario("x.scn", "fifo").Run(text), testing::HasSubstr("x.scn:5: expected"));
}

TEST(ScenarioRunnerTest, AnUnexpectedLaunchIsAnError) {
  const std::string text = "\npolicies fifo\nworkers w1 slots=1\nat 0s submit j1 maps=1\n";
  EXPECT_THAT(Scenario("x.scn", "fifo").Run(text), testing::HasSubstr("not expected: launch"));
}

TEST(ScenarioRunnerTest, AnEnsureThatDoesNotHoldIsAnError) {
  const std::string text = "\nworkers w1\nat 0s submit j1 maps=1\nensure task j1/map/0 = pending\n";
  EXPECT_THAT(Scenario("x.scn", "fifo").Run(text), testing::HasSubstr("is running, not pending"));
}

}  // namespace
}  // namespace mr::sched
