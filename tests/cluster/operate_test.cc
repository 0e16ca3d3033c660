// The tools of a cluster's operators, with the real binary: doctor, top, history, trace, config, completion, files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "common/base/digest.h"
#include "common/base/version.h"
#include "common/io/clock.h"
#include "tests/cluster/prepared.h"
#include "tests/support/within.h"

namespace mr::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class OperateTest : public PreparedTest {
 protected:
  // line: without single quotes.
  static RunResult Bash(const std::string& line) { return Sh("bash -c '" + line + "'"); }
};

TEST_F(OperateTest, DoctorFindsNothingWhereNothingIsWrong) {
  const RunResult run = Mrctl({"doctor"});
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_THAT(run.out, ContainsRegex(std::string("ok    master      ") + kVersion + " at .*\n"));
  EXPECT_THAT(run.out, ContainsRegex("ok    workers     2 live\n"));
  EXPECT_THAT(run.out, ContainsRegex("ok    clock       the master's clock is .* ours\n"));
  EXPECT_THAT(run.out, ContainsRegex("ok    slots       [12] of 8 busy"));
}

TEST_F(OperateTest, DoctorSaysWhatIsWrongAndWhatToDo) {
  ASSERT_EQ(Mrctl({"worker", "drain", "w2"}).exit, 0);
  RunResult run = Mrctl({"doctor"});
  EXPECT_EQ(run.exit, 0) << "a warning is no failure";
  EXPECT_THAT(run.out,
              ContainsRegex("warn  workers     1 live, draining: w2( .safe to stop.)?\n *next: .*worker undrain w2"));
  ASSERT_EQ(Mrctl({"worker", "drain", "w1"}).exit, 0);
  run = Mrctl({"doctor"});
  EXPECT_EQ(run.exit, 1) << run.out;
  EXPECT_THAT(run.out, HasSubstr("fail  workers     none of 2 is live"));
  EXPECT_EQ(Mrctl({"worker", "undrain", "w1", "w2"}).exit, 0);
  run = RunMrctl({"--master", "127.0.0.1:1", "doctor"});
  EXPECT_EQ(run.exit, 5);
  EXPECT_THAT(run.out, ContainsRegex("fail  master .*\n *next: "));
  EXPECT_THAT(run.out, HasSubstr("  binaries  ")) << "what can be looked at here is";
  run = Sh("mkdir -p broken && cd broken && echo \"mastre = 'x:1'\" > mr.toml && mrctl doctor");
  EXPECT_EQ(run.exit, 1) << run.out;
  EXPECT_THAT(run.out, HasSubstr("fail  config      mr.toml: unknown key 'mastre' (did you mean 'master'?)\n"));
  run = Sh("TMPDIR=/nowhere mrctl doctor");
  EXPECT_EQ(run.exit, 1) << run.out;
  EXPECT_THAT(run.out, HasSubstr("fail  tmp         /nowhere cannot be written"));
}

TEST_F(OperateTest, ConfigViewSaysWhereEachSettingIsFrom) {
  const std::string prepare =
      "mkdir -p conf && cd conf && printf 'context = \"lab\"\\n[contexts.lab]\\nmaster = \"lab:1\"\\n"
      "[contexts.prod]\\nmaster = \"prod:1\"\\n' > mr.toml && unset MR_MASTER && ";
  RunResult run = Sh(prepare + "mrctl config view --show-origin");
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("\ncontext  *lab  *mr.toml\n"));
  EXPECT_THAT(run.out, ContainsRegex("\nmaster  *lab:1  *mr.toml, context lab\n"));
  run = Sh(prepare + "MR_CONTEXT=prod MR_QUEUE=night mrctl -q config view --show-origin");
  EXPECT_THAT(run.out, ContainsRegex("\nmaster  *prod:1  *mr.toml, context prod\n"));
  EXPECT_THAT(run.out, ContainsRegex("\nqueue  *night  *MR_QUEUE\n"));
  run = Sh(prepare + "MR_CONTEXT=prd mrctl jobs");
  EXPECT_EQ(run.exit, 2);
  EXPECT_THAT(run.err, HasSubstr("no file has a context 'prd' (did you mean 'prod'?)"));
}

// Returns the words that bash offers for the last word of a command line. print: the command that prints them.
// directory: where files are completed; empty: anywhere.
std::string Completed(const std::string& words, const std::string& print = "echo \"${COMPREPLY[*]}\"",
                      const std::string& directory = "") {
  const std::string script = "source <(mrctl completion bash) && COMP_WORDS=(" + words +
                             ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _mrctl; " + print;
  SpawnOptions options;
  options.env = {"PATH=" + BinaryDirectory() + ":/usr/bin:/bin"};
  options.directory = directory;
  const RunResult run = RunProgram({"/bin/bash", "-c", script}, Seconds(20), options);
  EXPECT_EQ(run.exit, 0) << words << run.err;
  return run.out;
}

TEST(CompletionTest, BashOffersVerbsOptionsWordsAndJobs) {
  EXPECT_EQ(Completed("mrctl sub"), "submit\n");
  EXPECT_EQ(Completed("mrctl --master h:1 wor"), "worker workers\n") << "a value is no verb";
  EXPECT_EQ(Completed("mrctl worker ''"), "drain exclude forget include show undrain\n");
  EXPECT_EQ(Completed("mrctl job set job_1_0001 --pri"), "--priority\n");
  EXPECT_EQ(Completed("mrctl store ''"), "safemode\n");
  EXPECT_EQ(Completed("mrctl -o ''"), "json ndjson table\n");
  EXPECT_EQ(Completed("mrctl submit --clone = o"), "off on\n") << "as bash splits --clone=o";
  EXPECT_EQ(Completed("mrctl submit wordc"), "wordcount\n") << "of the built-in library";
  EXPECT_EQ(Completed("mrctl submit wordcount --inp"), "--input\n");
  EXPECT_EQ(Completed("mrctl submit grep --reg"), "--regexp\n") << "an option of the job";
  EXPECT_EQ(Completed("mrctl submit --input x grep -e y --no-p"), "--no-progress\n");
  EXPECT_EQ(Completed("mrctl submit grep ''"), "\n") << "there is a job already; the shell offers files";
  EXPECT_EQ(Completed("mrctl completion ''"), "bash fish zsh\n");
  EXPECT_EQ(Completed("mrctl jobs --tim"), "--timeout\n") << "options that stand everywhere";
}

TEST(CompletionTest, FishOffersTheSame) {
  if (!PathExists("/usr/bin/fish")) GTEST_SKIP() << "no fish here";
  const auto offered = [](const std::string& line) {
    SpawnOptions options;
    options.env = {"PATH=" + BinaryDirectory() + ":/usr/bin:/bin", "HOME=/nonexistent"};
    const RunResult run =
        RunProgram({"/usr/bin/fish", "--no-config", "-c", "mrctl completion fish | source; complete -C '" + line + "'"},
                   Seconds(20), options);
    return run.out + run.err;
  };
  EXPECT_EQ(offered("mrctl sub"), "submit\tRun a job and follow it\n");
  EXPECT_THAT(offered("mrctl --master h:1 worker "), HasSubstr("undrain\t"));
  EXPECT_THAT(offered("mrctl submit wordc"), testing::StartsWith("wordcount\t"));
  EXPECT_EQ(offered("mrctl submit grep --rege"), "--regexp\toption of grep\n");
  EXPECT_EQ(offered("mrctl submit sort --rege"), "");
  EXPECT_THAT(offered("mrctl submit --clone o"), ContainsRegex("off\t.*\non\t"));
}

TEST(CompletionTest, NamesOfFilesStayWholeWhateverIsInThem) {
  TempDirectory directory;
  for (const char* name : {"a b", "a*", "ab", "c"}) ASSERT_TRUE(WriteFileDurably(directory / name, "").ok());
  const auto files = [&](const std::string& words) {
    return Completed(words, "printf '<%s>' \"${COMPREPLY[@]}\"", directory.path());
  };
  EXPECT_EQ(files("mrctl submit --input 'c'"), "<c>");
  EXPECT_THAT(files("mrctl submit --input 'a'"),
              testing::AllOf(HasSubstr("<a b>"), HasSubstr("<a*>"), HasSubstr("<ab>"), Not(HasSubstr("<c>"))));
  EXPECT_EQ(files("mrctl submit --input 'a\\ '"), "<a b>") << "as bash has it while it is typed";
  EXPECT_EQ(files("mrctl submit --input '\"a '"), "<a b>");
  EXPECT_EQ(files("mrctl submit --files 'c'"), "<c>") << "PATH[#NAME]";
  // The next command expands globs again.
  EXPECT_EQ(Completed("mrctl submit --input 'c'", "case $- in *f*) echo off ;; *) echo on ;; esac", directory.path()),
            "on\n");
}

TEST(CompletionTest, ZshRunsTheSameByItsBashcompinit) {
  if (!PathExists("/usr/bin/zsh")) GTEST_SKIP() << "no zsh here";
  // The emulation in which bashcompinit calls such functions (zsh's _bash_complete).
  const std::string script =
      "autoload -Uz compinit && compinit -D -u && source <(mrctl completion zsh) && emulate -L sh && "
      "setopt kshglob noshglob braceexpand && COMP_WORDS=(mrctl -o json worker '') && COMP_CWORD=4 && _mrctl && "
      "echo \"${COMPREPLY[*]}\"";
  SpawnOptions options;
  options.env = {"PATH=" + BinaryDirectory() + ":/usr/bin:/bin"};
  const RunResult run = RunProgram({"/usr/bin/zsh", "-f", "-c", script}, Seconds(20), options);
  EXPECT_EQ(run.out, "drain exclude forget include show undrain\n") << run.err;
}

TEST_F(OperateTest, HistoryHasTheJobsThatEnded) {
  const RunResult run = Mrctl({"history"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(kDoneJob));
  EXPECT_THAT(run.out, Not(HasSubstr(kRunningJob)));
  EXPECT_EQ(Mrctl({"history", "--limit", "0"}).exit, 2);
  ASSERT_EQ(Sh("mrctl -q submit wordcount --input /data/books.txt --output -").exit, 0);
  const RunResult first = Mrctl({"history", "--limit", "1"});
  EXPECT_THAT(first.err, ContainsRegex("1 of [0-9]+ jobs is shown: --limit [0-9]+ shows all")) << first.out;
  EXPECT_THAT(Mrctl({"history", "--state", "killed"}).out, Not(HasSubstr(kDoneJob)));
  EXPECT_THAT(Mrctl({"history", "--name", "no-such-*"}).out, Not(HasSubstr(kDoneJob)));
  EXPECT_THAT(Mrctl({"history", "--since", "1h"}).out, HasSubstr(kDoneJob));
  EXPECT_EQ(Mrctl({"history", "--keep", "3"}).exit, 2) << "of a master";
}

// A slice for each attempt, as `mrctl job attempts` has them.
void ExpectTraced(const RunResult& run, const RunResult& listed) {
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json trace = Json::parse(run.out), attempts = Json::parse(listed.out)["attempts"];
  std::map<std::string, Json> slices;
  std::map<std::pair<int, int>, double> busy_until;  // of a track
  double job_end = 0;
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] == "X" && e["cat"] == "job") job_end = e["dur"];
    if (e["ph"] != "X" || e["cat"] != "attempt") continue;
    slices[e["name"]] = e;
    double& until = busy_until[{e["pid"], e["tid"]}];
    EXPECT_GE(e["ts"].get<double>(), until) << "two attempts at a time on one slot";
    until = e["ts"].get<double>() + e["dur"].get<double>();
    // Attempts that were ended with their job say so a moment after it.
    if (e["args"]["winner"]) {
      EXPECT_LE(until, job_end + 1);
    }
  }
  ASSERT_EQ(slices.size(), attempts.size());
  for (const Json& a : attempts) {
    const std::string name = a["id"];
    ASSERT_TRUE(slices.contains(name)) << name;
    EXPECT_EQ("w" + std::to_string(slices[name]["pid"].get<int>()), a["worker"]);
    EXPECT_EQ(slices[name]["args"]["state"], a["state"]);
    EXPECT_NEAR(slices[name]["dur"].get<double>(), a["ran_us"].get<double>(), 2) << "microseconds";
  }
}

TEST_F(OperateTest, TraceHasEachAttemptWithinItsJob) {
  ExpectTraced(Mrctl({"trace", kDoneJob}), Mrctl({"-o", "json", "job", "attempts", kDoneJob}));
  // A job with a stage that reads nothing.
  const RunResult slept = Mrctl({"submit", "sleep", "--ms", "1", "--tasks", "3", "--output", "/data/slept-well"});
  ASSERT_EQ(slept.exit, 0) << slept.err;
  const std::string id = slept.out.substr(0, slept.out.find(' '));
  ExpectTraced(Mrctl({"trace", id}), Mrctl({"-o", "json", "job", "attempts", id}));
  const RunResult running = Mrctl({"trace", kRunningJob});
  ASSERT_EQ(running.exit, 0) << running.err;
  EXPECT_THAT(running.out, HasSubstr("\"state\":\"running\"")) << "up to now";
}

// More than one answer of the master holds.
TEST_F(OperateTest, TraceHasEachDecisionOnceInTheOrderOfTime) {
  const RunResult slept = Mrctl({"submit", "sleep", "--ms", "0", "--tasks", "1200", "--output", "/data/slept-much"});
  ASSERT_EQ(slept.exit, 0) << slept.err;
  const RunResult run = Mrctl({"trace", slept.out.substr(0, slept.out.find(' '))});
  ASSERT_EQ(run.exit, 0) << run.err;
  std::map<std::string, int> launched, committed;
  double last = 0;
  std::string last_name;
  const Json trace = Json::parse(run.out);
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] != "i" || e["cat"] != "decision") continue;
    EXPECT_GE(e["ts"].get<double>(), last);
    last = e["ts"];
    last_name = e["name"];
    if (last_name == "launched") ++launched[e["args"]["attempt"]];
    if (last_name == "committed") ++committed[e["args"]["attempt"]];
  }
  EXPECT_GE(launched.size(), 1200u);
  EXPECT_EQ(committed.size(), 1200u);
  for (const auto& counts : {launched, committed}) {
    for (const auto& [attempt, n] : counts) EXPECT_EQ(n, 1) << attempt;
  }
  EXPECT_EQ(last_name, "job committed");
}

TEST_F(OperateTest, WorkerShowSaysWhatRunsThere) {
  const RunResult run = Mrctl({"worker", "show", "w1", "w2"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("id          w1\nname "));
  EXPECT_THAT(run.out, HasSubstr("attempt_1_0002_0_m_000000_"));
  EXPECT_EQ(Mrctl({"worker", "show", "nine"}).exit, 7);
  EXPECT_EQ(Mrctl({"worker", "show", "a/b"}).exit, 2);
}

TEST(ExcludeTest, WhatAnExcludedWorkerRanRunsElsewhereAndItMayComeBackWhenIncluded) {
  Cluster cluster({.workers = 2, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok()) << cluster.Logs();
  const std::string out = "file://" + cluster.directory() + "/out";
  const RunResult submitted =
      cluster.Mrctl({"-q", "submit", "--detach", "sleep", "--ms", "3000", "--tasks", "2", "--output", out});
  ASSERT_EQ(submitted.exit, 0) << submitted.err;
  const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
  const Instant limit = Now() + Seconds(20);
  while (Now() < limit && cluster.Mrctl({"worker", "show", "w2"}).out.find("attempt_") == std::string::npos) {
  }
  ASSERT_EQ(cluster.Mrctl({"worker", "exclude", "w2"}).exit, 0);
  EXPECT_THAT(cluster.Mrctl({"workers"}).out, ContainsRegex("w2 .*excluded"));
  EXPECT_THAT(cluster.Mrctl({"doctor"}).out,
              ContainsRegex("warn  workers     1 live, excluded: w2\n *next: .*worker include w2"));
  EXPECT_EQ(cluster.Mrctl({"wait", id}).exit, 0) << cluster.Logs();
  const std::string attempts = cluster.Mrctl({"job", "attempts", id}).out;
  EXPECT_THAT(attempts, ContainsRegex("killed +first +w2 .*lost")) << attempts;
  EXPECT_THAT(attempts, Not(ContainsRegex("committed +[a-z]+ +w2 "))) << attempts;
  ASSERT_EQ(cluster.Mrctl({"worker", "include", "w2"}).exit, 0);
  EXPECT_TRUE(cluster.WaitForWorkers(2).ok()) << cluster.Logs();
}

// `mrctl top` on a terminal of its own, which is both its input and its output.
class TopOnATerminal {
 public:
  explicit TopOnATerminal(const std::string& master)
      : terminal_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
    EXPECT_TRUE(terminal_.valid() && grantpt(terminal_.get()) == 0 && unlockpt(terminal_.get()) == 0);
    name_ = ptsname(terminal_.get());
    // Held open, so that its settings outlive top.
    line_.reset(open(name_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    SpawnOptions options;
    options.env = {"TERM=xterm"};
    options.stdin_path = options.stdout_path = options.stderr_path = name_;
    // The terminal becomes the controlling one of a session of its own, as at a login.
    auto top = Process::Spawn({"/usr/bin/setsid", "-c", "-w", BinaryDirectory() + "/mrctl", "--master", master, "top"},
                              options);
    EXPECT_TRUE(top.ok());
    if (top.ok()) top_ = *std::move(top);
  }
  // Reads until there are so many screens. Returns all that was read.
  const std::string& Screens(size_t n) {
    for (const Instant limit = Now() + Seconds(20); Count() < n && Now() < limit;) {
      char piece[4096];
      const ssize_t got = read(terminal_.get(), piece, sizeof piece);
      if (got > 0)
        seen_.append(piece, static_cast<size_t>(got));
      else
        usleep(5000);
    }
    EXPECT_GE(Count(), n) << seen_;
    return seen_;
  }
  void Type(const char* keys) { EXPECT_GT(write(terminal_.get(), keys, std::strlen(keys)), 0); }
  void Signal(int signal) { EXPECT_EQ(kill(-tcgetpgrp(terminal_.get()), signal), 0); }
  // Whether keys are echoed and read by lines, as a shell wants them.
  bool AsBefore() const {
    termios settings{};
    EXPECT_EQ(tcgetattr(line_.get(), &settings), 0);
    return (settings.c_lflag & ECHO) != 0 && (settings.c_lflag & ICANON) != 0;
  }
  Process& process() { return top_; }

 private:
  size_t Count() const {
    size_t n = 0;
    for (size_t at = seen_.find("\x1b[H"); at != std::string::npos; at = seen_.find("\x1b[H", at + 1)) ++n;
    return n;
  }

  UniqueFd terminal_, line_;
  std::string name_, seen_;
  Process top_;
};

TEST_F(OperateTest, TopPrintsOnceWithoutATerminalAndGoesOnAtOneUntilQ) {
  const RunResult once = Mrctl({"top"});
  EXPECT_EQ(once.exit, 0) << once.err;
  EXPECT_THAT(once.out, HasSubstr("2 of 2 workers live"));
  EXPECT_THAT(once.out, HasSubstr(kRunningJob));
  EXPECT_THAT(once.out, Not(HasSubstr("\x1b")));

  TopOnATerminal top(prepared_->cluster().master_address());
  EXPECT_THAT(top.Screens(2), testing::AllOf(HasSubstr("workers live"), HasSubstr("q: quit")));
  EXPECT_FALSE(top.AsBefore()) << "keys come at once";
  top.Type("xq");
  EXPECT_EQ(top.process().Wait(Seconds(10)), 0);
  EXPECT_TRUE(top.AsBefore());
}

TEST_F(OperateTest, TopRestoresTheTerminalHoweverItEnds) {
  const std::string master = prepared_->cluster().master_address();
  for (const char* keys : {"\x03", "\x1c"}) {  // Ctrl-C, Ctrl-backslash
    TopOnATerminal top(master);
    top.Screens(1);
    top.Type(keys);
    const auto exit = top.process().Wait(Seconds(10));
    ASSERT_TRUE(exit.has_value());
    if (*keys == '\x03') {
      EXPECT_EQ(*exit, 0) << "Ctrl-C is a way to leave it";
    } else {
      EXPECT_NE(*exit, 0);
    }
    EXPECT_TRUE(top.AsBefore()) << int{*keys};
  }
  TopOnATerminal ended(master);
  ended.Screens(1);
  ended.Signal(SIGHUP);
  EXPECT_TRUE(ended.process().Wait(Seconds(10)).has_value());
  EXPECT_TRUE(ended.AsBefore()) << "after SIGHUP";
}

TEST_F(OperateTest, ABundleHasWhatABugReportNeedsAndNoSecrets) {
  ASSERT_EQ(Sh("mrctl submit --name broken stream --map 'echo MY_TOKEN=hush7 >&2; exit 3' --max-attempts 1 "
               "--input /data/books.txt --output /data/broken")
                .exit,
            1);
  RunResult run = Sh("MR_SECRET=hush8 OTHER=hush9 mrctl doctor --bundle bug.tgz");
  EXPECT_EQ(run.exit, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nbug.tgz: "));
  EXPECT_EQ(Sh("stat -c %a bug.tgz").out, "600\n");
  run = Sh(
      "rm -rf bug && mkdir bug && tar xzf bug.tgz -C bug && cd bug && find . -type f | sort && cat logs/* metrics/*");
  ASSERT_EQ(run.exit, 0) << run.err;
  for (const char* file : {"README.txt", "checks.json", "environment.txt", "jobs.json", "journal.json",
                           "logs/master.log", "logs/w1.log", "machine.txt", "metrics/master.txt", "metrics/w2.txt",
                           "queues.json", "settings.json", "versions.json", "workers.json"}) {
    EXPECT_THAT(run.out, HasSubstr(std::string("./") + file + "\n"));
  }
  EXPECT_THAT(run.out, ContainsRegex("\n./jobs/job_1_[0-9]+/why.txt\n"));
  EXPECT_THAT(run.out, ContainsRegex("\n./jobs/job_1_[0-9]+/attempt_1_[0-9]+_0_m_000000_1.log\n"));
  EXPECT_THAT(run.out, HasSubstr("mr_connections")) << "metrics";
  EXPECT_NE(Sh("grep -rF hush bug").exit, 0) << Sh("grep -rF hush bug").out;
  EXPECT_THAT(Sh("cat bug/environment.txt").out, HasSubstr("MR_SECRET=[redacted]\n"));
  EXPECT_THAT(Sh("cat bug/jobs/*/attempt_*.log").out, HasSubstr("MY_TOKEN=[redacted]"));
  run = Mrctl({"doctor", "--bundle", "bug.tgz"});
  EXPECT_EQ(run.exit, 3);
  EXPECT_THAT(run.err, HasSubstr("give --force to replace it"));
  EXPECT_EQ(Mrctl({"doctor", "--bundle", "bug.tgz", "--force"}).exit, 0);
  EXPECT_EQ(Mrctl({"doctor", "--bundle", "none/bug.tgz"}).exit, 2);
}

TEST(BundleTest, WithoutAMasterItHasWhatIsHere) {
  TempDirectory directory;
  SpawnOptions options;
  options.directory = directory.path();
  const RunResult run = RunMrctl({"--master", "127.0.0.1:1", "doctor", "--bundle", "bug.tar"}, Seconds(30), options);
  EXPECT_EQ(run.exit, 5);
  EXPECT_THAT(run.out, HasSubstr("  settings.json ("));
  EXPECT_TRUE(PathExists(directory / "bug.tar"));
}

TEST_F(OperateTest, FsTakesPatternsInPaths) {
  ASSERT_EQ(
      Sh("mrctl fs mkdir -p /glob/a /glob/b && echo one | mrctl fs put - /glob/a/part-0 && echo two | mrctl fs put - "
         "/glob/b/part-1 && echo six | mrctl fs put - /glob/b/other")
          .exit,
      0);
  EXPECT_EQ(Mrctl({"fs", "cat", "/glob/*/part-?"}).out, "one\ntwo\n");
  EXPECT_THAT(Mrctl({"fs", "ls", "/glob/b/o*"}).out,
              testing::AllOf(HasSubstr("/glob/b/other"), Not(HasSubstr("part-1"))));
  EXPECT_THAT(Mrctl({"fs", "du", "/glob/[ab]"}).out, ContainsRegex("4  /glob/a\n.*8  /glob/b\n"));
  RunResult got = Sh(
      "rm -rf globbed && mkdir globbed && mrctl fs get '/glob/*/part-*' globbed && cat globbed/part-0 globbed/part-1");
  EXPECT_EQ(got.out, "one\ntwo\n") << got.err;
  got = Mrctl({"fs", "get", "/glob/*/part-*", "nowhere"});
  EXPECT_EQ(got.exit, 7);
  EXPECT_THAT(got.err, HasSubstr("2 paths are to be copied"));
  got = Mrctl({"fs", "rm", "/glob/x*"});
  EXPECT_EQ(got.exit, 7);
  EXPECT_THAT(got.err, HasSubstr("nothing matches /glob/x*"));
  EXPECT_EQ(Mrctl({"fs", "rm", "-f", "/glob/x*"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "rm", "/glob/?/part-*"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "stat", "/glob/a/part-0"}).exit, 7);
  EXPECT_EQ(Mrctl({"fs", "stat", "/glob/b/other"}).exit, 0);
}

TEST_F(OperateTest, SizesOfDirectoriesAreThoseOfAllBelowThem) {
  ASSERT_EQ(Sh("mrctl fs mkdir -p /sizes/a/deep && echo one | mrctl fs put - /sizes/a/deep/x && echo three | mrctl fs "
               "put - /sizes/a/y && echo seven! | mrctl fs put - /sizes/z")
                .exit,
            0);
  EXPECT_EQ(Mrctl({"fs", "du", "/sizes"}).out, "10  /sizes/a\n 7  /sizes/z\n17  /sizes\n");
  EXPECT_EQ(Mrctl({"fs", "du", "-s", "/sizes", "/sizes/z"}).out, "17  /sizes\n 7  /sizes/z\n");
  EXPECT_EQ(Mrctl({"fs", "du", "--human", "-s", "/sizes"}).out, "17 B  /sizes\n");
  EXPECT_THAT(Mrctl({"fs", "stat", "/sizes"}).out, ContainsRegex("dir +17 +3 +- .*/sizes\n"));
  const std::string listed = Mrctl({"fs", "ls", "-R", "/sizes"}).out;
  EXPECT_THAT(listed, ContainsRegex("/sizes/a\n.*/sizes/a/deep\n.*/sizes/a/deep/x\n.*/sizes/a/y\n.*/sizes/z\n"));
  EXPECT_THAT(Mrctl({"fs", "ls", "/sizes"}).out, Not(HasSubstr("/sizes/a/y")));
}

TEST(ThinFilesTest, DoctorAndSetrepSayThatTooFewWorkersTakeBlocks) {
  Cluster cluster({.workers = 3, .slots = 1, .flags_of = {{}, {}, {"--min_free=900t"}}});
  ASSERT_TRUE(cluster.Start().ok()) << cluster.Logs();
  const std::string dir = cluster.directory() + "/many";
  ASSERT_TRUE(MakeDirectories(dir).ok());
  for (int i = 10; i < 35; ++i) ASSERT_TRUE(WriteFileDurably(dir + "/f" + std::to_string(i), "x").ok());
  ASSERT_EQ(cluster.Mrctl({"fs", "put", dir, "/many"}).exit, 0);
  const RunResult doctor = cluster.Mrctl({"doctor"});
  EXPECT_THAT(doctor.out, HasSubstr("25 of 25 have too few replicas: /many/f"));
  EXPECT_THAT(doctor.out, HasSubstr("; and 5 more (mrctl --master " + cluster.master_address() +
                                    " fs ls -R / shows the replicas of each file); up to 3 replicas of a block are "
                                    "wanted, and 2 workers take blocks"));
  EXPECT_THAT(doctor.out, HasSubstr("fs setrep 2 PATH"));
  const RunResult set = cluster.Mrctl({"fs", "setrep", "9", "/many/f10"});
  EXPECT_EQ(set.exit, 0);
  EXPECT_THAT(set.err, HasSubstr("note: 2 workers take blocks now"));
  EXPECT_THAT(cluster.Mrctl({"fs", "setrep", "2", "/many"}).err, Not(HasSubstr("note:")));
  EXPECT_THAT(cluster.Mrctl({"doctor"}).out, HasSubstr("25 in the block store, all blocks with enough replicas"));
}

TEST(ThinFilesTest, DoctorSaysThatTheOnlyWorkerUnderANewNameNeedsAnother) {
  Cluster cluster({.workers = 1, .slots = 1});
  ASSERT_TRUE(cluster.Start().ok()) << cluster.Logs();
  ASSERT_EQ(cluster.Mrctl({"fs", "put", cluster.worker_data(0) + "/worker_id", "/f"}).exit, 0);
  cluster.KillWorker(0);
  ASSERT_EQ(::unlink((cluster.worker_data(0) + "/worker_id").c_str()), 0);
  ASSERT_TRUE(cluster.StartWorker(0).ok()) << cluster.Logs();
  const auto says = [&](const char* text) { return cluster.Mrctl({"doctor"}).out.find(text) != std::string::npos; };
  EXPECT_TRUE(Within(Seconds(30), [&] { return says("add a worker: the master copies the blocks to it"); }));
  EXPECT_EQ(cluster.Mrctl({"fs", "cat", "/f"}).exit, 0) << "it can be read";
}

TEST_F(OperateTest, FsTextDecompressesByName) {
  ASSERT_EQ(Sh("printf 'a\\nb\\n' | gzip >t.gz && mrctl fs put --overwrite t.gz /text.gz && mrctl fs put --overwrite "
               "t.gz /text.txt")
                .exit,
            0);
  EXPECT_EQ(Mrctl({"fs", "text", "/text.gz"}).out, "a\nb\n");
  EXPECT_THAT(Mrctl({"-o", "json", "fs", "text", "/text.gz"}).out, HasSubstr(R"("text":"a\nb\n")"));
  EXPECT_EQ(Mrctl({"fs", "text", "/text.txt"}).out, *ReadFile(prepared_->work() + "/t.gz")) << "as it is";
  ASSERT_EQ(Sh("head -c 20 t.gz | mrctl fs put --overwrite - /cut.gz").exit, 0);
  const RunResult cut = Mrctl({"fs", "text", "/cut.gz"});
  EXPECT_EQ(cut.exit, 2);
  EXPECT_THAT(cut.err, HasSubstr("/cut.gz, byte 20: cannot decompress the gzip data: it ends too early"));
}

TEST_F(OperateTest, FsTextAndGetmergeTakeDirectoriesOfCompressedParts) {
  ASSERT_EQ(Sh("seq 1 3 | gzip >z0 && seq 4 5 | gzip >z1 && mrctl fs mkdir -p /zs && mrctl fs put z0 /zs/part-0.gz && "
               "mrctl fs put z1 /zs/part-1.gz")
                .exit,
            0);
  EXPECT_EQ(Mrctl({"fs", "text", "/zs"}).out, "1\n2\n3\n4\n5\n");
  EXPECT_EQ(Sh("rm -f zs.gz; mrctl fs getmerge /zs zs.gz && zcat zs.gz").out, "1\n2\n3\n4\n5\n");
  const RunResult merged = Sh("rm -f zs.txt; mrctl fs getmerge /zs zs.txt");
  EXPECT_THAT(merged.err, HasSubstr("zs.txt is gzip, as its parts are; for text: mrctl fs text /zs > FILE"));
  ASSERT_EQ(Sh("echo 6 | mrctl fs put - /zs/part-2").exit, 0);
  EXPECT_EQ(Mrctl({"fs", "text", "/zs"}).out, "1\n2\n3\n4\n5\n6\n");
  for (const char* target : {"-", "never"}) {
    const RunResult mixed = Mrctl({"fs", "getmerge", "/zs", target});
    EXPECT_EQ(mixed.exit, 2);
    EXPECT_THAT(mixed.err, HasSubstr("/zs/part-0.gz is gzip, /zs/part-2 is not compressed"));
  }
}

TEST_F(OperateTest, FsHeadAndTailShowADirectoryAsOneText) {
  ASSERT_EQ(Sh("mrctl fs mkdir -p /ends/empty && seq 1 5 | mrctl fs put - /ends/part-0 && seq 6 8 | mrctl fs put - "
               "/ends/part-1")
                .exit,
            0);
  EXPECT_EQ(Mrctl({"fs", "head", "-n", "6", "/ends"}).out, "1\n2\n3\n4\n5\n6\n");
  EXPECT_EQ(Mrctl({"fs", "tail", "-n", "4", "/ends"}).out, "5\n6\n7\n8\n");
  EXPECT_EQ(Mrctl({"fs", "tail", "-n", "3", "/ends"}).out, "6\n7\n8\n");
  EXPECT_THAT(Mrctl({"-o", "json", "fs", "head", "-n", "1", "/ends"}).out, HasSubstr(R"("text":"1\n")"));
  EXPECT_EQ(Mrctl({"fs", "head", "/ends/empty"}).exit, 2);
  EXPECT_EQ(Mrctl({"fs", "tail", "/ends/empty"}).exit, 2);
  const RunResult count = Mrctl({"fs", "head", "-2", "/ends"});
  EXPECT_EQ(count.exit, 2);
  EXPECT_THAT(count.err, HasSubstr("the number of lines is -n 2"));
}

TEST_F(OperateTest, AReaderThatLeavesEndsThePrintingOfFilesQuietly) {
  ASSERT_EQ(
      Sh("seq 1 300000 | mrctl fs put --overwrite - /many && mrctl fs mkdir -p /manies && mrctl fs cp --overwrite "
         "/many /manies/a && mrctl fs cp --overwrite /many /manies/b")
          .exit,
      0);
  for (const char* command : {"cat /many", "cat /many /many", "text /many", "get /many -", "get /many /dev/stdout",
                              "getmerge /manies -", "head -n 300000 /many", "tail -n 300000 /many"}) {
    const RunResult run = Bash("mrctl fs " + std::string(command) + " | head -1; echo ${PIPESTATUS[0]}");
    EXPECT_THAT(run.out, testing::EndsWith("1\n0\n")) << command;
    EXPECT_EQ(run.err, "") << command;
  }
}

TEST_F(OperateTest, ThePrintedResultOfAJobLeavesTheStoreHoweverItsPrintingEnds) {
  ASSERT_EQ(Sh("seq 1 300000 | mrctl fs put --overwrite - /many").exit, 0);
  const std::string submit = "mrctl -q submit sort --input /many --output - ";
  EXPECT_EQ(Bash(submit + "| head -1; echo ${PIPESTATUS[0]}").out, "1\n0\n");
  EXPECT_THAT(Mrctl({"-o", "json", "fs", "ls", "/tmp"}).out, Not(HasSubstr("/tmp/mrctl-"))) << "head";
  const RunResult full = Sh(submit + ">/dev/full");
  EXPECT_EQ(full.exit, 3);
  EXPECT_THAT(full.err, HasSubstr("cannot write the result"));
  EXPECT_THAT(Mrctl({"-o", "json", "fs", "ls", "/tmp"}).out, Not(HasSubstr("/tmp/mrctl-"))) << "full";
  // The reader takes nothing more after the first line, until mrctl has ended.
  const RunResult stopped = Bash("mkfifo taken; (" + submit +
                                 " & echo $! >&3; wait $!; echo rc $? >&2) 3>pid >taken & exec 4<taken; read -r x "
                                 "<&4; kill -INT $(cat pid); wait");
  EXPECT_THAT(stopped.err, HasSubstr("rc 130"));
  EXPECT_THAT(Mrctl({"-o", "json", "fs", "ls", "/tmp"}).out, Not(HasSubstr("/tmp/mrctl-"))) << "interrupted";
  // A job that goes on keeps its result, and the way to it is printed.
  const RunResult left = Sh("mrctl --timeout 1s submit stream --map 'sleep 60' --input /many --output -");
  EXPECT_EQ(left.exit, 124) << left.err;
  EXPECT_THAT(left.err, ContainsRegex("its result will be in (/tmp/mrctl-[0-9a-f]+): `mrctl .*fs cat /tmp/mrctl-"));
  EXPECT_EQ(Sh("mrctl kill last").exit, 0);
}

TEST_F(OperateTest, SetrepSetsTheReplicasOfAFileAndBelowADirectory) {
  ASSERT_EQ(
      Sh("mrctl fs mkdir -p /rep/sub && echo a | mrctl fs put - /rep/a && echo b | mrctl fs put - /rep/sub/b").exit, 0);
  EXPECT_EQ(Mrctl({"fs", "setrep", "1", "/rep"}).exit, 0);
  EXPECT_THAT(Mrctl({"-o", "json", "fs", "stat", "/rep/a", "/rep/sub/b"}).out,
              testing::AllOf(HasSubstr("\"replication\":1"), Not(HasSubstr("\"replication\":3"))));
  EXPECT_EQ(Mrctl({"fs", "setrep", "0", "/rep/a"}).exit, 2);
  EXPECT_EQ(Mrctl({"fs", "setrep", "two", "/rep/a"}).exit, 2);
  EXPECT_EQ(Mrctl({"fs", "setrep", "2", "/rep/absent"}).exit, 7);
}

TEST_F(OperateTest, CopiesAFileWithinTheStore) {
  ASSERT_EQ(Mrctl({"fs", "cp", "/data/books.txt", "/data/copied"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "cat", "/data/copied"}).out, *ReadFile(prepared_->work() + "/books.txt"));
  const RunResult again = Mrctl({"fs", "cp", "/data/old.txt", "/data/copied"});
  EXPECT_EQ(again.exit, 3);
  EXPECT_THAT(again.err, HasSubstr("give --overwrite"));
  EXPECT_EQ(Mrctl({"fs", "cp", "--overwrite", "/data/old.txt", "/data/copied"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "cp", "/data/absent", "/data/x"}).exit, 7);
  EXPECT_EQ(Mrctl({"fs", "cp", "/data", "/data2"}).exit, 2);
  EXPECT_EQ(Mrctl({"fs", "cp", "/data/copied", "/data/copied"}).exit, 2);
  EXPECT_THAT(Mrctl({"fs", "ls", "/data"}).out, Not(HasSubstr(".mrctl-"))) << "nothing is left behind";
}

TEST_F(OperateTest, ChecksumsAreOfTheBytes) {
  const RunResult sums = Mrctl({"fs", "checksum", "/data/books.txt", "/data/old.txt"});
  EXPECT_EQ(sums.exit, 0) << sums.err;
  EXPECT_THAT(sums.out, ContainsRegex("^[0-9a-f]+  /data/books.txt\n[0-9a-f]+  /data/old.txt\n$"));
  EXPECT_EQ(sums.out.substr(0, 32), sums.out.substr(sums.out.find('\n') + 1, 32)) << "both have the same bytes";
  EXPECT_EQ(sums.out.substr(0, 32), Hash128(*ReadFile(prepared_->work() + "/books.txt")).Hex());
  EXPECT_EQ(Mrctl({"fs", "checksum", "/data"}).exit, 2);
}

TEST_F(OperateTest, DfCountsTheBlocksOfAllWorkers) {
  const RunResult run = Mrctl({"fs", "df"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, ContainsRegex("\nw1  *live .*\nw2  *live .*\ntotal "));
}

}  // namespace
}  // namespace mr::test
