// A cluster of three machines by the commands of the README, with a network namespace in place of each machine: daemons
// on their default ports, certificates, two workers on one host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/narrow_network.h"
#include "tests/support/within.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class MachinesTest : public testing::Test {
 protected:
  static constexpr int kMaster = 0, kNode1 = 1, kNode2 = 2;

  static void SetUpTestSuite() {
    auto made = NarrowNetwork::Make(3);
    if (made.ok())
      network_ = made->release();
    else
      why_none_ = made.status().ToString();
  }
  static void TearDownTestSuite() {
    delete network_;
    network_ = nullptr;
  }
  void SetUp() override {
    if (network_ == nullptr) GTEST_SKIP() << "no network namespaces here: " << why_none_;
  }

  std::string Path(const std::string& name) const { return directory_ / name; }
  static std::string Host(int machine) { return network_->address(machine); }
  SpawnOptions At(int machine) const {
    SpawnOptions options;
    options.network = network_->network(machine);
    options.env = {"XDG_STATE_HOME=" + Path("state"), "MR_MASTER=" + Host(kMaster) + ":7070"};
    return options;
  }
  RunResult Mrctl(int machine, const std::vector<std::string>& args) const {
    return RunMrctl(args, Seconds(60), At(machine));
  }
  // Starts a daemon that runs until the test ends.
  void Daemon(int machine, const std::string& log, std::vector<std::string> argv) {
    argv[0] = BinaryDirectory() + "/" + argv[0];
    if (argv[0].ends_with("mrworker")) argv.push_back("--allow_tier0");  // in containers without Landlock
    SpawnOptions options = At(machine);
    options.stdout_path = options.stderr_path = Path(log);
    auto started = Process::Spawn(argv, options);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    daemons_.push_back(*std::move(started));
  }
  std::string Logs() const {
    std::string text;
    for (const char* log : {"master.log", "node1.log", "node2.log", "node2b.log"}) {
      if (const auto lines = ReadFile(Path(log)); lines.ok()) text += "\n== " + std::string(log) + "\n" + *lines;
    }
    return text;
  }
  size_t Live() const {
    const RunResult run = Mrctl(kMaster, {"workers", "-o", "json"});
    if (run.exit != 0) return 0;
    size_t live = 0;
    const Json shown = Json::parse(run.out);
    for (const Json& w : shown["workers"]) live += w["state"] == "live" ? 1 : 0;
    return live;
  }

  static NarrowNetwork* network_;
  static std::string why_none_;
  TempDirectory directory_;
  std::vector<Process> daemons_;
};
NarrowNetwork* MachinesTest::network_ = nullptr;
std::string MachinesTest::why_none_;

TEST_F(MachinesTest, TheCommandsOfTheReadmeMakeAClusterOfThreeMachines) {
  const std::string master = Path("master");
  RunResult run = Mrctl(kMaster, {"cluster", "init", "--data", master, "--address", Host(kMaster) + ":7070"});
  ASSERT_EQ(run.exit, 0) << run.err;
  Daemon(kMaster, "master.log", {"mrmaster", "--data", master, "--bind", "0.0.0.0", "--advertise", Host(kMaster)});
  for (const char* file : {"node1.join", "node2.join", "node2b.join"}) {
    run = Mrctl(kMaster, {"token", "create", "--data", master, "--join", Path(file)});
    ASSERT_EQ(run.exit, 0) << run.err;
  }
  ASSERT_TRUE(Within(Seconds(20), [&] { return Mrctl(kMaster, {"version"}).out.find("master") != std::string::npos; }));
  Daemon(kNode1, "node1.log",
         {"mrworker", "--data", Path("node1"), "--join", Path("node1.join"), "--name", "node1", "--bind", "0.0.0.0",
          "--advertise", Host(kNode1)});
  Daemon(kNode2, "node2.log",
         {"mrworker", "--data", Path("node2"), "--join", Path("node2.join"), "--name", "node2", "--bind", "0.0.0.0",
          "--advertise", Host(kNode2)});
  Daemon(kNode2, "node2b.log",
         {"mrworker", "--data", Path("node2b"), "--join", Path("node2b.join"), "--name", "node2b", "--bind", "0.0.0.0",
          "--advertise", Host(kNode2), "--port", "0", "--http_port", "0"});
  ASSERT_TRUE(Within(Seconds(40), [&] { return Live() == 3; })) << Mrctl(kMaster, {"workers"}).err << Logs();
  const RunResult workers = Mrctl(kMaster, {"workers"});
  for (const char* name : {"node1", "node2", "node2b"}) EXPECT_THAT(workers.out, HasSubstr(name));
  EXPECT_THAT(workers.out, HasSubstr(Host(kNode1) + ":7071"));
  const RunResult doctor = Mrctl(kMaster, {"doctor"});
  EXPECT_THAT(doctor.out, HasSubstr("9 connections from 3 workers to the master and to other workers work"))
      << doctor.out << Logs();
  // From another machine than the master's, as a user with a token would.
  WriteBible(Path("book"), 200'000);
  run = Mrctl(kNode1, {"fs", "put", Path("book"), "/book"});
  ASSERT_EQ(run.exit, 0) << run.err << Logs();
  run = Mrctl(kNode1, {"submit", "wordcount", "--input", "/book", "--output", "/counts"});
  ASSERT_EQ(run.exit, 0) << run.err << Logs();
  run = Mrctl(kNode1, {"fs", "cat", "/counts"});
  EXPECT_EQ(SortedLines(run.out), ExpectedWordCount(Path("book")));
}

TEST_F(MachinesTest, AMasterThatListensOnLoopbackOnlyIsAskedAbout) {
  Daemon(kMaster, "master.log", {"mrmaster", "--data", Path("master"), "--secret_dir", Path("secrets")});
  // Refused as soon as the machine answers, whether the master is ready or not.
  const RunResult run = Mrctl(kNode1, {"jobs"});
  EXPECT_EQ(run.exit, 5);
  EXPECT_THAT(run.err, HasSubstr("does it listen on loopback only"));
  EXPECT_THAT(run.err, HasSubstr("--bind 0.0.0.0 --advertise HOST"));
}

}  // namespace
}  // namespace mr::test
