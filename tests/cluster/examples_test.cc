// The help of each verb has an example, and each example works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cluster/prepared.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The lines below "Example:", without their indentation.
std::vector<std::string> ExamplesIn(const std::string& help) {
  static const std::string kHeading = "Example:\n";
  std::vector<std::string> lines;
  size_t at = help.find(kHeading);
  if (at == std::string::npos) return lines;
  for (at += kHeading.size(); help.compare(at, 2, "  ") == 0;) {
    const size_t end = std::min(help.find('\n', at), help.size());
    lines.push_back(help.substr(at + 2, end - at - 2));
    at = std::min(end + 1, help.size());
  }
  return lines;
}

TEST(ExamplesTest, EachVerbHasOneAndEachWorks) {
  Prepared prepared;
  const Status started = prepared.Start();
  ASSERT_TRUE(started.ok()) << started.ToString();
  std::vector<std::pair<std::string, std::string>> examples;  // verb, line
  for (const std::string& verb : LeafVerbs()) {
    const auto lines = ExamplesIn(HelpOf(verb));
    EXPECT_FALSE(lines.empty()) << "the help of " << verb << " has no example";
    for (const std::string& line : lines) {
      EXPECT_THAT(line, StartsWith("mrctl " + verb));
      examples.emplace_back(verb, line);
    }
  }
  EXPECT_GT(examples.size(), 40u);
  // Kills come last, because other examples show those jobs.
  std::stable_partition(examples.begin(), examples.end(), [](const auto& e) { return e.first != "kill"; });
  for (const auto& [verb, line] : examples) {
    const RunResult run = prepared.Shell(line);
    EXPECT_EQ(run.exit, 0) << line << "\n" << run.out << run.err;
  }
}

TEST(ExamplesTest, HelpOfSubmitNamesEachBuiltInJob) {
  const std::string help = HelpOf("submit");
  const RunResult library = RunMrctl({"-o", "json", "sdk", "check", BinaryDirectory() + "/../lib/libpaceline_jobs.so"});
  const auto json = nlohmann::json::parse(library.out);
  size_t named = 0;
  for (const auto& job : json["library"]["jobs"]) {
    const std::string name = job.contains("name") ? job["name"] : job["id"];
    if (name == "empty" || name == "sleep") continue;  // for measuring and tests
    EXPECT_THAT(help, testing::ContainsRegex("\n  " + name + " +[A-Z]"));
    const RunResult of_job = RunMrctl({"help", name});
    EXPECT_EQ(of_job.exit, 0) << of_job.err;
    EXPECT_THAT(of_job.out, HasSubstr("\nUsage: mrctl submit [OPTIONS] " + name + " [JOB OPTIONS]\n"));
    EXPECT_EQ(of_job.out, RunMrctl({"submit", name, "--help"}).out);
    EXPECT_EQ(ExamplesIn(of_job.out).size(), 1u) << name;
    ++named;
  }
  EXPECT_GT(named, 10u) << library.out;
}

TEST(ExamplesTest, HelpGroupsTheVerbs) {
  const std::string help = RunMrctl({"help"}).out;
  size_t before = 0;
  for (const char* heading :
       {"\nRun jobs:\n  submit ", "\nLook at jobs:\n", "\nCluster:\n", "\nFiles:\n  fs ", "\nmrctl itself:\n"}) {
    const size_t at = help.find(heading);
    ASSERT_NE(at, std::string::npos) << heading << help;
    EXPECT_GT(at, before);
    before = at;
  }
  EXPECT_THAT(help, testing::Not(HasSubstr("Subcommands:"))) << "a verb without a group";
}

}  // namespace
}  // namespace mr::test
