// mrctl task replay: an attempt of a real cluster again, on this machine, with the same inputs and library.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ReplayTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 1, .slots = 2});
    ASSERT_TRUE(cluster_->Start().ok());
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  static std::string Uri(const std::string& name) { return "file://" + Path(name); }
  static std::string Lib() { return BinaryDirectory() + "/../lib/libreplayed.so"; }
  static RunResult Mrctl(const std::vector<std::string>& args) { return cluster_->Mrctl(args, Seconds(60)); }
  static void Write(const std::string& name, const std::string& text) { std::ofstream(Path(name)) << text; }

  // Runs the job over these inputs; the id of its last attempt of a map ("_m_") or a reduce ("_r_").
  static std::string Attempt(const std::vector<std::string>& args, const std::string& letter = "_m_") {
    std::vector<std::string> all = {"-q", "-o", "json", "submit"};
    all.insert(all.end(), args.begin(), args.end());
    const RunResult run = Mrctl(all);
    const std::string job = json::parse(run.out)["job"]["id"];
    const json attempts = json::parse(Mrctl({"-o", "json", "job", "attempts", job}).out)["attempts"];
    std::string last;
    for (const auto& a : attempts) {
      if (a["id"].get<std::string>().find(letter) != std::string::npos) last = a["id"];
    }
    EXPECT_NE(last, "") << attempts;
    return last;
  }

  static Cluster* cluster_;
};
Cluster* ReplayTest::cluster_ = nullptr;

TEST_F(ReplayTest, AnAttemptOfALibraryRunsAgainWithItsCounters) {
  Write("good", "a\nb\nsay\na\n");
  const std::string attempt = Attempt({"--lib", Lib(), "replayed", "--input", Uri("good"), "--output", Uri("out1")});
  const RunResult run = Mrctl({"-o", "json", "task", "replay", attempt, "--lib", Lib()});
  ASSERT_EQ(run.exit, 0) << run.out << run.err;
  const json replay = json::parse(run.out)["replay"];
  EXPECT_EQ(replay["done"], true);
  EXPECT_EQ(replay["records_in"], 4);
  EXPECT_EQ(replay["records_out"], 4);
  EXPECT_EQ(replay["counters"][0]["name"], "lines");
  EXPECT_EQ(replay["counters"][0]["value"], 4);
  EXPECT_THAT(run.err, HasSubstr("said by task 0"));
  EXPECT_THAT(Mrctl({"task", "replay", attempt, "--lib", Lib()}).out,
              AllOf(HasSubstr("replayed.map of stage map"), HasSubstr("done")));
}

TEST_F(ReplayTest, AFailureHappensAgain) {
  Write("bad", "a\nfail\n");
  const std::string failed =
      Attempt({"--lib", Lib(), "replayed", "--max-attempts", "1", "--input", Uri("bad"), "--output", Uri("out2")});
  const RunResult run = Mrctl({"-o", "json", "task", "replay", failed, "--lib", Lib()});
  EXPECT_EQ(run.exit, 1) << run.out << run.err;
  EXPECT_THAT(json::parse(run.out)["replay"]["message"].get<std::string>(), HasSubstr("this line is not to be here"));
  EXPECT_THAT(json::parse(run.out)["error"]["message"].get<std::string>(), HasSubstr("this line is not to be here"));
  Write("crash", "a\ncrash\n");
  const std::string crashed =
      Attempt({"--lib", Lib(), "replayed", "--max-attempts", "1", "--input", Uri("crash"), "--output", Uri("out3")});
  const RunResult died = Mrctl({"task", "replay", crashed, "--lib", Lib()});
  EXPECT_EQ(died.exit, 1);
  EXPECT_THAT(died.out, AllOf(HasSubstr("died of signal 11"), HasSubstr("at        record 2 of its input, 'crash', in"),
                              HasSubstr("records   2 in")));
  EXPECT_THAT(died.out, HasSubstr(Path("crash") + ", byte 2"));
  EXPECT_THAT(died.err,
              AllOf(HasSubstr("died of SIGSEGV in record 2 of its input"),
                    testing::ContainsRegex("Map[^\n]* at lib/replayed\\.cc:"), testing::Not(HasSubstr("adapter.h"))));
}

TEST_F(ReplayTest, AnotherBuildOfTheLibraryIsReplayedAndReported) {
  Write("mended", "a\n");
  const std::string attempt = Attempt({"--lib", Lib(), "replayed", "--input", Uri("mended"), "--output", Uri("out9")});
  Shell("cp '" + Lib() + "' '" + Path("other.so") + "' && printf x >> '" + Path("other.so") + "'");
  const RunResult run = Mrctl({"task", "replay", attempt, "--lib", Path("other.so")});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("is another build than the attempt ran (SHA-256 "), HasSubstr("the job's is ")));
  EXPECT_THAT(Mrctl({"task", "replay", attempt, "--lib", Lib()}).err, testing::Not(HasSubstr("another build")));
}

TEST_F(ReplayTest, SplitsOfTheBlockStoreAreFetched) {
  WriteBible(Path("bible"), 300'000);
  ASSERT_EQ(Mrctl({"fs", "put", "--block-size", "64k", Path("bible"), "/bible"}).exit, 0);
  const std::string attempt =
      Attempt({"wordcount", "--input", "/bible", "--conf", "max_split_bytes=50k", "--output", Uri("out4")});
  const RunResult run = Mrctl({"-o", "json", "task", "replay", attempt});
  ASSERT_EQ(run.exit, 0) << run.out << run.err;
  const json replay = json::parse(run.out)["replay"];
  EXPECT_GT(replay["records_out"], 100);
  EXPECT_GT(replay["inputs"][0]["offset"], 0) << "a split that does not begin where its file does";
  EXPECT_EQ(replay["inputs"][0]["uri"], "dfs:///bible");
}

TEST_F(ReplayTest, AnAttemptFindsTheSideFilesThatItHad) {
  Write("looks", "look\n");
  Write("beside.1", "12345");
  Write("beside.2", "123");
  const std::string attempt = Attempt({"--lib", Lib(), "replayed", "--input", Uri("looks"), "--output", Uri("out8"),
                                       "--files", Path("beside.1") + "#beside"});
  const auto replay = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args = {"-o", "json", "task", "replay", attempt, "--lib", Lib()};
    args.insert(args.end(), more.begin(), more.end());
    return Mrctl(args);
  };
  const RunResult run = replay({"--files", Path("beside.1") + "#beside"});
  ASSERT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_EQ(json::parse(run.out)["replay"]["counters"][0]["value"], 5);
  const RunResult without = replay({});
  EXPECT_EQ(without.exit, 2);
  EXPECT_THAT(without.out, HasSubstr("give its path: --files PATH#beside"));
  const RunResult other = replay({"--files", Path("beside.2") + "#beside"});
  EXPECT_EQ(other.exit, 2);
  EXPECT_THAT(other.out, HasSubstr("differs from the attempt's side file 'beside'"));
  EXPECT_EQ(replay({"--files", Path("absent") + "#beside"}).exit, 7);
}

TEST_F(ReplayTest, ADebuggerGetsTheProcessAndItsArguments) {
  Write("debugged", "a\nsay\n");
  const std::string attempt =
      Attempt({"--lib", Lib(), "replayed", "--input", Uri("debugged"), "--output", Uri("out7")});
  // In place of gdb, what is to be debugged itself.
  Shell("mkdir -p '" + Path("bin") +
        "' && printf '#!/bin/sh\\ncase \"$*\" in *\"-ex run --args\"*) ;; *) exit 9;; esac\\n"
        "while [ \"$1\" != --args ]; do shift; done; shift; exec \"$@\"\\n' > '" +
        Path("bin/gdb") + "' && chmod +x '" + Path("bin/gdb") + "'");
  SpawnOptions options;
  options.env = {"PATH=" + Path("bin") + ":/usr/bin:/bin"};
  const RunResult run = cluster_->Mrctl({"task", "replay", attempt, "--lib", Lib(), "--gdb"}, Seconds(60), options);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["records_in"], 2);
  EXPECT_THAT(run.err, HasSubstr("said by task 0"));
  options.env = {"PATH=/nonexistent"};
  const RunResult none = cluster_->Mrctl({"task", "replay", attempt, "--lib", Lib(), "--gdb"}, Seconds(60), options);
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.err, HasSubstr("there is no gdb"));
}

TEST_F(ReplayTest, AProfilerSeesTheProcessAndItsSamplesBecomeAnImage) {
  Write("profiled", "a\nsay\n");
  const std::string attempt =
      Attempt({"--lib", Lib(), "replayed", "--input", Uri("profiled"), "--output", Uri("out_profiled")});
  // In place of perf, which not every kernel allows: it runs the program, and has one sample.
  Shell("mkdir -p '" + Path("bin") +
        "' && printf '#!/bin/sh\\nif [ \"$1\" = record ]; then while [ \"$1\" != -- ]; do shift; done; shift; exec "
        "\"$@\"; fi\\nprintf \"\\\\t 7f0 Map<int>::Add\\\\n\\\\t 7f1 main\\\\n\"\\n' > '" +
        Path("bin/perf") + "' && chmod +x '" + Path("bin/perf") + "'");
  SpawnOptions options;
  options.env = {"PATH=" + Path("bin") + ":/usr/bin:/bin"};
  const std::vector<std::string> args = {"task", "replay", attempt, "--lib", Lib(), "--perf", Path("replay.svg")};
  const RunResult run = cluster_->Mrctl(args, Seconds(60), options);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("records   2 in"));
  EXPECT_THAT(run.err, HasSubstr("replay.svg is the flame graph of 1 sample"));
  const auto svg = ReadFile(Path("replay.svg"));
  ASSERT_TRUE(svg.ok());
  EXPECT_THAT(*svg, HasSubstr("<title>Map&lt;int&gt;::Add (100.0 %, 1 sample)</title>"));
  EXPECT_THAT(*svg, HasSubstr(attempt));
  options.env = {"PATH=/nonexistent"};
  const RunResult none = cluster_->Mrctl(args, Seconds(60), options);
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.err, HasSubstr("there is no perf"));
}

TEST_F(ReplayTest, AReduceRunsAgainOnWhatItsMapsMakeAgain) {
  Write("r1", "a\nb\na\n");
  Write("r2", "b\nc\n");
  const std::string reduce = Attempt({"--lib", Lib(), "replayed", "--reduces", "1", "--input", Uri("r1"), "--input",
                                      Uri("r2"), "--output", Uri("outr1")},
                                     "_r_");
  const RunResult run = Mrctl({"-o", "json", "task", "replay", reduce, "--lib", Lib()});
  ASSERT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_EQ(json::parse(run.out)["replay"]["records_in"], 5);
  EXPECT_EQ(json::parse(run.out)["replay"]["records_out"], 3);
  EXPECT_THAT(run.err, HasSubstr(" on this machine to make it again"));

  Write("r3", "a\ncrash in reduce\n");
  const RunResult failed = Mrctl({"submit", "--lib", Lib(), "replayed", "--max-attempts", "1", "--reduces", "1",
                                  "--input", Uri("r3"), "--output", Uri("outr2")});
  EXPECT_EQ(failed.exit, 1);
  EXPECT_THAT(failed.err, HasSubstr("at record 2 of its input, key 'crash in reduce'"));
  // The command that the failure names, but for the debugger.
  const size_t at = failed.err.find("task replay attempt_");
  ASSERT_NE(at, std::string::npos) << failed.err;
  EXPECT_THAT(failed.err.substr(at), HasSubstr(" --lib " + Lib() + " --gdb\n"));
  const std::string attempt = failed.err.substr(at + 12, failed.err.find(' ', at + 12) - at - 12);
  const RunResult died = Mrctl({"task", "replay", attempt, "--lib", Lib()});
  EXPECT_EQ(died.exit, 1) << died.err;
  EXPECT_THAT(died.out, AllOf(HasSubstr("died of signal 11"), HasSubstr("key 'crash in reduce'")));
  EXPECT_THAT(Mrctl({"why", attempt}).out, HasSubstr(" at lib/replayed.cc:")) << "the stack, whole";
}

TEST_F(ReplayTest, AFailedAttemptOfALocalRunIsReplayedAfterItsClusterIsGone) {
  Write("local", "a\nvariable\ncrash in reduce\n");
  SpawnOptions options;
  options.env = {"XDG_STATE_HOME=" + Path("state"), "MR_KEEP_RUNS=200"};
  const auto mrctl = [&](const std::vector<std::string>& args) { return cluster_->Mrctl(args, Seconds(60), options); };
  const RunResult failed = mrctl({"submit", "--local=1", "--lib", Lib(), "replayed", "--max-attempts", "1", "--reduces",
                                  "1", "--env", "REPLAYED=1", "--input", Path("local"), "--output", Path("outlocal")});
  EXPECT_EQ(failed.exit, 1);
  const size_t at = failed.err.find("next: mrctl task replay attempt_local_");
  ASSERT_NE(at, std::string::npos) << failed.err;
  const std::string attempt = failed.err.substr(at + 24, failed.err.find(' ', at + 24) - at - 24);
  // The record has no values of variables. The tasks that make its input need them as well.
  const RunResult unset = mrctl({"task", "replay", attempt, "--lib", Lib()});
  EXPECT_EQ(unset.exit, 3) << unset.out << unset.err;
  EXPECT_THAT(unset.err, AllOf(HasSubstr("$REPLAYED is not set: its tasks see an empty value"),
                               HasSubstr("mrctl task replay attempt_local_0001_0_m_000000_1")));
  options.env.push_back("REPLAYED=1");
  const RunResult died = mrctl({"task", "replay", attempt, "--lib", Lib()});
  EXPECT_EQ(died.exit, 1) << died.err;
  EXPECT_THAT(died.out, AllOf(HasSubstr("died of signal 11"), HasSubstr("key 'crash in reduce'")));
  const RunResult good =
      mrctl({"submit", "--local=1", "--lib", Lib(), "replayed", "--input", Path("good"), "--output", Path("outgood")});
  EXPECT_EQ(good.exit, 0) << good.err;
  const RunResult none = mrctl({"task", "replay", "attempt_local_0002_0_m_000000_1", "--lib", Lib()});
  EXPECT_EQ(none.exit, 7);
  EXPECT_THAT(none.err, HasSubstr("only attempts that failed a local job are recorded"));
}

TEST_F(ReplayTest, ALaterStageRunsAgainFromTheFilesOn) {
  WriteBible(Path("words"), 200'000);
  const std::string top = Attempt({"topwords", "--input", Uri("words"), "--output", Uri("outtop")}, "_r_");
  const RunResult run = Mrctl({"-o", "json", "task", "replay", top});
  ASSERT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_EQ(json::parse(run.out)["replay"]["records_out"], 20);
}

TEST_F(ReplayTest, AJobThatMixesTheBuiltInLibraryAndItsOwnIsReplayed) {
  Write("mixed", "a\nb\nsay\n");
  Write("mixed.toml", "lib = '" + Lib() + "'\noutput = '" + Uri("outmixed") + "'\n[[step]]\njob = 'sort'\ninput = '" +
                          Uri("mixed") + "'\n[[step]]\njob = 'replayed'\n");
  const std::string reduce = Attempt({Path("mixed.toml")}, "_r_");
  const RunResult own = Mrctl({"-o", "json", "task", "replay", reduce, "--lib", Lib()});
  ASSERT_EQ(own.exit, 0) << own.out << own.err;
  EXPECT_EQ(json::parse(own.out)["replay"]["records_out"], 3);
  EXPECT_THAT(own.err, HasSubstr(" on this machine to make it again"));
  // The first stage is built-in; a failure names the job's library for each of its attempts.
  const std::string job = reduce.substr(reduce.find('_'), reduce.find("_r_") - reduce.find('_'));
  const std::string first = "attempt" + job.substr(0, job.rfind('_')) + "_0_m_000000_1";
  const RunResult builtin = Mrctl({"-o", "json", "task", "replay", first, "--lib", Lib()});
  EXPECT_EQ(builtin.exit, 0) << builtin.out << builtin.err;
  EXPECT_THAT(builtin.err, HasSubstr("an operator of the built-in library: --lib is not used for it"));
}

TEST_F(ReplayTest, AMapWhoseInputHasChangedMakesNoInput) {
  Write("r4", "a\n");
  const std::string reduce =
      Attempt({"--lib", Lib(), "replayed", "--input", Uri("r4"), "--output", Uri("outr4")}, "_r_");
  Write("r4", "changed\n");
  const RunResult changed = Mrctl({"task", "replay", reduce, "--lib", Lib()});
  EXPECT_EQ(changed.exit, 3);
  EXPECT_THAT(changed.err, HasSubstr("had 2 when the job ran"));
}

TEST_F(ReplayTest, WhatCannotBeReplayedSaysWhy) {
  Write("some", "a\n");
  const std::string map = Attempt({"--lib", Lib(), "replayed", "--input", Uri("some"), "--output", Uri("out5")});
  const RunResult none = Mrctl({"task", "replay", map});
  EXPECT_EQ(none.exit, 2);
  EXPECT_THAT(none.err, HasSubstr("--lib FILE.so"));
  const RunResult other = Mrctl({"task", "replay", map, "--lib", BinaryDirectory() + "/../lib/libpaceline_jobs.so"});
  EXPECT_EQ(other.exit, 1);
  EXPECT_THAT(other.out, HasSubstr("there is no operator 'replayed.map'"));
  EXPECT_EQ(Mrctl({"task", "replay", "attempt_1_9999_0_m_000000_1"}).exit, 7);
  EXPECT_EQ(Mrctl({"task", "replay", "job_1_0001"}).exit, 2);
  Write("some", "changed\n");
  const RunResult changed = Mrctl({"task", "replay", map, "--lib", Lib()});
  EXPECT_EQ(changed.exit, 3);
  EXPECT_THAT(changed.err, HasSubstr("had 2 when the job ran"));
  EXPECT_THAT(changed.err, HasSubstr("restore that version of the file, or submit the job again"));
}

}  // namespace
}  // namespace mr::test
