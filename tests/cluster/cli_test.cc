// The published manners of mrctl against a real cluster: exit codes, JSON, files of the store.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// One cluster for all tests of the file: they only add to it.
class CliTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 2, .slots = 4});
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

  // Detached; its id.
  static std::string Submit(std::vector<std::string> args) {
    args.insert(args.begin(), {"-q", "submit", "--detach"});
    const RunResult run = Mrctl(args);
    EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
    return run.out.substr(0, run.out.find('\n'));
  }
  static std::string Sleeper(const std::string& out) {
    return Submit({"sleep", "--ms", "60000", "--tasks", "1", "--output", Uri(out)});
  }

  static Cluster* cluster_;
};
Cluster* CliTest::cluster_ = nullptr;

TEST_F(CliTest, ExitsWithZeroWhenTheJobSucceeded) {
  const RunResult run = Mrctl({"submit", "wordcount", "--input", Uri("in"), "--output", Uri("ok")});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(SortedLines(ReadParts(Path("ok"))), ExpectedWordCount(Path("in")));
}

TEST_F(CliTest, ExitsWithOneAndAtMostTenLinesWhenTheJobFailed) {
  const RunResult run = Mrctl({"--no-progress", "submit", "stream", "--map", "echo why >&2; exit 3", "--input",
                               Uri("in"), "--output", Uri("failed"), "--max-attempts", "1"});
  EXPECT_EQ(run.exit, 1) << run.err << cluster_->Logs();
  EXPECT_LE(std::count(run.err.begin(), run.err.end(), '\n'), 10) << run.err;
  EXPECT_THAT(run.err, HasSubstr("code 3"));
  EXPECT_THAT(run.err, HasSubstr("task 0 of stage 'map' failed 1 time"));
  EXPECT_THAT(run.err, HasSubstr("job attempts"));
  // The command for the log is one that works.
  const std::string said = "(its log: mrctl --master " + cluster_->master_address() + " logs ";
  const size_t at = run.err.find(said);
  ASSERT_NE(at, std::string::npos) << run.err;
  const std::string attempt = run.err.substr(at + said.size(), run.err.find(')', at) - at - said.size());
  EXPECT_THAT(Mrctl({"logs", attempt}).out, HasSubstr("why"));
  EXPECT_FALSE(PathExists(Path("failed")));
}

TEST_F(CliTest, RefusesAnOutputWhereNoneCanBeMade) {
  const RunResult run = Mrctl({"submit", "wordcount", "--input", Uri("in"), "--output", "file:///proc/out"});
  EXPECT_EQ(run.exit, geteuid() == 0 ? 3 : 6) << run.err;
  EXPECT_THAT(run.err, HasSubstr("output /proc/out cannot be made: the master cannot make a directory in /proc"));
  ASSERT_TRUE(WriteFileDurably(Path("a-file"), "x").ok());
  for (const std::vector<std::string>& where :
       std::vector<std::vector<std::string>>{{"submit"}, {"submit", "--local"}}) {
    std::vector<std::string> args = where;
    args.insert(args.end(), {"wordcount", "--input", Uri("in"), "--output", Uri("a-file")});
    const RunResult file = Mrctl(args);
    EXPECT_EQ(file.exit, 3) << file.err;
    EXPECT_THAT(file.err, testing::Not(HasSubstr("--overwrite"))) << "that would not help";
  }
  ASSERT_EQ(Mrctl({"fs", "put", Path("in"), "/a-stored-file"}).exit, 0);
  for (const char* overwrite : {"--priority=0", "--overwrite"}) {
    const RunResult stored =
        Mrctl({"submit", overwrite, "wordcount", "--input", Uri("in"), "--output", "/a-stored-file"});
    EXPECT_EQ(stored.exit, 3) << stored.err;
    EXPECT_THAT(stored.err, HasSubstr("is a file; give another --output, or remove it"));
  }
}

TEST(OutputTest, WhatGoesAfterTheSubmitFailsTheJobInSecondsAndIsShownBefore) {
  Cluster cluster({.workers = 2, .slots = 2});
  ASSERT_TRUE(cluster.StartMaster().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 20'000);
  ASSERT_TRUE(MakeDirectories(dir + "/gone").ok());
  const RunResult submitted =
      cluster.Mrctl({"-q", "submit", "--detach", "wordcount", "--input", "file://" + dir + "/in", "--output",
                     "file://" + dir + "/gone/out", "--reduces", "1"});
  ASSERT_EQ(submitted.exit, 0) << submitted.err;
  ASSERT_TRUE(RemoveTree(dir + "/gone").ok());
  ASSERT_TRUE(WriteFileDurably(dir + "/gone", "in the way").ok());
  for (int w = 0; w < 2; ++w) ASSERT_TRUE(cluster.StartWorker(w).ok()) << cluster.Logs();
  const Instant begin = Now();
  const RunResult run = cluster.Mrctl({"attach", submitted.out.substr(0, submitted.out.find('\n'))});
  EXPECT_LT(Now() - begin, Seconds(20));
  EXPECT_EQ(run.exit, 1) << run.err;
  EXPECT_THAT(
      run.err,
      ContainsRegex("last failure: attempt_[0-9_]*_r_000000_[1-8] failed on w[12]: .*cannot make directory " + dir));
  EXPECT_THAT(run.err, HasSubstr("task 0 of stage 'sum' failed 8 times"));
}

TEST_F(CliTest, DaemonsExitWithTwoForFlagsThatAreWrong) {
  const std::string data = Path("unused");
  const std::vector<std::string> master = {BinaryDirectory() + "/mrmaster", "--data", data};
  const std::vector<std::string> worker = {BinaryDirectory() + "/mrworker", "--master", "127.0.0.1:1", "--data", data};
  const auto wrong = [&](std::vector<std::string> argv, const std::vector<std::string>& more, const std::string& said) {
    argv.insert(argv.end(), more.begin(), more.end());
    const RunResult run = RunProgram(argv, Seconds(20));
    EXPECT_EQ(run.exit, 2) << more[0] << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr(said));
  };
  for (const auto& daemon : {master, worker}) {
    wrong(daemon, {"--bogus"}, "bogus");
    wrong(daemon, {"--port=abc"}, "abc");
    wrong(daemon, {"--port=99999"}, "65535");
    wrong(daemon, {"--http_port=-1"}, "65535");
    wrong(daemon, {"extra"}, "extra");
    const RunResult help = RunProgram({daemon[0], "--help"});
    EXPECT_EQ(help.exit, 0);
    EXPECT_THAT(
        help.out,
        ContainsRegex("^mr(master|worker) .*--data DIR.*\n\n(  --accept_loss=.*\n)?  --advertise=TEXT +host at which"));
    EXPECT_THAT(help.out, ContainsRegex("\n  --http_port=N +HTTP port.* \\(default: 708[01]\\)\n"));
    EXPECT_THAT(help.out, testing::Not(ContainsRegex("without this flag[^\n]*\\(default")));
    EXPECT_THAT(help.out, testing::Not(HasSubstr("logtostderr"))) << "libraries' flags stand in --helpfull";
    EXPECT_THAT(RunProgram({daemon[0], "--helpfull"}).out, HasSubstr("logtostderr"));
    EXPECT_EQ(RunProgram({daemon[0], "--version"}).exit, 0);
  }
  wrong(master, {"--scheduler=nonsense"}, "nonsense");
  wrong(master, {"--block_size=64"}, "no unit");
  wrong(master, {"--replication=0"}, "--replication");
  wrong(worker, {"--slots=0"}, "--slots");
  wrong(worker, {"--slots=-1"}, "--slots");
  wrong(worker, {"--slots=2", "--map_slots=3"}, "--map_slots");
  wrong(worker, {"--label=foo"}, "'foo' is not a k=v pair");
  wrong(worker, {"--label=a=b,foo"}, "'foo' is not a k=v pair");
  EXPECT_FALSE(PathExists(data));
}

// A mix-up of two directories or ports must not cost data, and must say what to do.
TEST_F(CliTest, DaemonsRefuseTheDataOfOthersAndPortsInUse) {
  const auto refused = [](std::vector<std::string> argv, const std::string& said) {
    argv[0] = BinaryDirectory() + "/" + argv[0];
    const RunResult run = RunProgram(argv, Seconds(20));
    EXPECT_EQ(run.exit, 3) << run.err;
    EXPECT_THAT(run.err, HasSubstr(said));
  };
  const std::string of_worker = Path("of_worker"), of_master = Path("of_master");
  ASSERT_TRUE(MakeDirectories(of_worker).ok());
  ASSERT_TRUE(WriteFileDurably(of_worker + "/worker_id", "1").ok());
  ASSERT_TRUE(MakeDirectories(of_master + "/journal").ok());
  refused({"mrmaster", "--data", of_worker, "--port=0", "--http_port=0"}, "is the data of a worker");
  refused({"mrworker", "--data", of_master, "--master=127.0.0.1:1", "--port=0", "--http_port=0"},
          "is the data of a master");
  const std::string port = std::to_string(cluster_->master_port());
  const std::string http = std::to_string(cluster_->master_http_port());
  refused({"mrmaster", "--data", Path("second"), "--port", port, "--http_port=0"},
          ":" + port + ": Address already in use (another program has it): --port sets another port");
  refused({"mrmaster", "--data", Path("third"), "--port=0", "--http_port", http}, "--http_port sets another port");
}

TEST_F(CliTest, ExitsWithTwoForWhatCannotBeUnderstood) {
  EXPECT_EQ(Mrctl({"submit", "wordcuont", "--input", Uri("in"), "--output", Uri("x")}).exit, 2);
  EXPECT_EQ(Mrctl({"submit", "wordcount", "--bogus", "--input", Uri("in"), "--output", Uri("x")}).exit, 2);
  EXPECT_EQ(Mrctl({"submit", "wordcount", "--input", Uri("in")}).exit, 2);
  EXPECT_EQ(Mrctl({"job", "show", "job_x"}).exit, 2);
  EXPECT_EQ(Mrctl({"nonsense"}).exit, 2);
}

TEST_F(CliTest, ExitsWithThreeWhereTheOutputExists) {
  ASSERT_TRUE(MakeDirectories(Path("full/x")).ok());
  const RunResult run = Mrctl({"submit", "wordcount", "--input", Uri("in"), "--output", Uri("full")});
  EXPECT_EQ(run.exit, 3) << run.err;
}

TEST_F(CliTest, ExitsWithThreeWhenASubmissionIdComesWithAnotherJob) {
  const auto submit = [&](const std::string& out) {
    return Mrctl({"-q", "submit", "--detach", "--submission-id", "one", "wordcount", "--input", Uri("in"), "--output",
                  Uri(out)});
  };
  const RunResult first = submit("same"), again = submit("same"), other = submit("other");
  EXPECT_EQ(first.exit, 0) << first.err;
  EXPECT_EQ(again.out, first.out);
  EXPECT_EQ(other.exit, 3) << other.err;
}

TEST_F(CliTest, ExitsWithFourWhenTheJobIsKilledWithinTwoSeconds) {
  const std::string id = Sleeper("killed");
  EXPECT_EQ(Mrctl({"kill", id}).exit, 0);
  const Instant asked = Now();
  EXPECT_EQ(Mrctl({"wait", id}).exit, 4);
  EXPECT_LT(Now() - asked, Seconds(2));
}

TEST_F(CliTest, ChecksAnOperatorLibraryBeforeTheJobIsAccepted) {
  const auto submit = [](const std::string& library, const std::string& job, const std::string& how) {
    return Mrctl({"submit", "--lib", BinaryDirectory() + "/../lib/lib" + library + ".so", job, "--how", how, "--input",
                  Uri("in"), "--output", Uri("lib-" + library + job + how)});
  };
  const RunResult other_abi = submit("wrong_abi", "any", "any");
  EXPECT_EQ(other_abi.exit, 2);
  EXPECT_THAT(other_abi.err, HasSubstr("ABI"));
  EXPECT_EQ(submit("no_symbol", "any", "any").exit, 2);
  EXPECT_EQ(submit("throws_at_load", "any", "any").exit, 2);
  EXPECT_EQ(submit("bad_operators", "absent", "any").exit, 2);
  EXPECT_EQ(submit("bad_operators", "bad_plan", "segfaults").exit, 2);
  EXPECT_EQ(submit("bad_operators", "bad", "prepare").exit, 2);
  EXPECT_EQ(Mrctl({"submit", "--lib", Path("in"), "any", "--output", Uri("x")}).exit, 2);
}

TEST_F(CliTest, EndsAtTheTimeoutAlsoWhileALibraryLoops) {
  const RunResult run = Mrctl({"--timeout", "1s", "submit", "--lib", BinaryDirectory() + "/../lib/libbad_operators.so",
                               "bad_plan", "--how", "loops", "--input", Uri("in"), "--output", Uri("loops")});
  EXPECT_EQ(run.exit, 124) << run.err;
  EXPECT_FALSE(PathExists(Path("loops")));
}

TEST_F(CliTest, RunsAUsersLibraryAndOutlivesABadOne) {
  const auto submit = [](const std::string& how) {
    return Mrctl({"--no-progress", "submit", "--lib", BinaryDirectory() + "/../lib/libbad_operators.so", "bad", "--how",
                  how, "--input", Uri("in"), "--output", Uri("own-" + how)});
  };
  const RunResult segfaults = submit("segfaults");
  EXPECT_EQ(segfaults.exit, 1);
  EXPECT_THAT(segfaults.err, HasSubstr("SIGSEGV"));
  const RunResult throws = submit("throws");
  EXPECT_EQ(throws.exit, 1);
  EXPECT_LE(std::count(throws.err.begin(), throws.err.end(), '\n'), 10) << throws.err;
  EXPECT_THAT(throws.err, HasSubstr("operator bad.throws failed: std::runtime_error: thrown on purpose"));
  EXPECT_THAT(throws.err, ContainsRegex("\n  at .*/in.*\n  4 attempts failed alike, of 1 task\nnext: mrctl "));
  EXPECT_FALSE(PathExists(Path("own-throws")));
  // Fails twice, and is right the third time.
  const RunResult twice = submit("twice");
  EXPECT_EQ(twice.exit, 0) << twice.err << cluster_->Logs();
}

TEST_F(CliTest, ExitsWithFiveWithoutAMaster) {
  const RunResult run = RunMrctl({"--master", "127.0.0.1:1", "jobs"});
  EXPECT_EQ(run.exit, 5);
  EXPECT_THAT(run.err, HasSubstr("--master"));
  // Another program's port: a worker's HTTP server.
  EXPECT_EQ(
      RunMrctl({"--master", "127.0.0.1:" + std::to_string(cluster_->master_http_port()), "--timeout", "10s", "jobs"})
          .exit,
      5);
}

TEST_F(CliTest, ExitsWithSevenForWhatIsNotThere) {
  EXPECT_EQ(Mrctl({"job", "show", "job_99_0099"}).exit, 7);
  EXPECT_EQ(Mrctl({"wait", "job_99_0099"}).exit, 7);
  EXPECT_EQ(Mrctl({"fs", "stat", "/absent"}).exit, 7);
  const RunResult pattern = Mrctl({"fs", "cat", "/absent/part-*"});
  EXPECT_EQ(pattern.exit, 7);
  EXPECT_NE(pattern.err.find("nothing matches /absent/part-*"), std::string::npos) << pattern.err;
  EXPECT_EQ(Mrctl({"submit", "wordcount", "--input", Uri("absent"), "--output", Uri("x")}).exit, 7);
}

TEST_F(CliTest, ExitsWithEightWhenAStrictDeadlineIsMissed) {
  const RunResult run = Mrctl({"submit", "wordcount", "--input", Uri("in"), "--output", Uri("late"), "--deadline",
                               "1ms", "--best-effort", "--strict-deadline"});
  EXPECT_EQ(run.exit, 8) << run.err;
}

TEST_F(CliTest, LeavesTheJobRunningWhenTheTimeoutRunsOut) {
  const RunResult run =
      Mrctl({"--timeout", "1s", "submit", "sleep", "--ms", "60000", "--tasks", "1", "--output", Uri("slow")});
  EXPECT_EQ(run.exit, 124) << run.err;
  const std::string id =
      run.err.substr(run.err.find("job_"), run.err.find(' ', run.err.find("job_")) - run.err.find("job_"));
  EXPECT_THAT(run.err, HasSubstr("attach " + id));
  EXPECT_THAT(Mrctl({"job", "show", id}).out, HasSubstr("RUNNING"));
  EXPECT_EQ(Mrctl({"kill", id}).exit, 0);
}

TEST_F(CliTest, DetachesOnCtrlC) {
  auto process =
      cluster_->MrctlInBackground({"submit", "sleep", "--ms", "60000", "--tasks", "1", "--output", Uri("c")}, "c-run");
  ASSERT_TRUE(process.ok());
  const Instant end = Now() + Seconds(15);
  for (bool running = false; !running && Now() < end;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto said = ReadFile(Path("c-run.err"));
    running = said.ok() && said->find("RUNNING") != std::string::npos;
  }
  process->Signal(SIGINT);
  EXPECT_EQ(process->Wait(Seconds(10)), 130);
  const std::string err = *ReadFile(Path("c-run.err"));
  EXPECT_THAT(err, HasSubstr("goes on"));
  const size_t at = err.find("job_");
  const std::string id = err.substr(at, err.find(' ', at) - at);
  EXPECT_THAT(err, HasSubstr("kill " + id));
  EXPECT_EQ(Mrctl({"kill", id}).exit, 0);
}

TEST_F(CliTest, PrintsOneJsonDocumentAlsoOnFailure) {
  for (const auto& args :
       std::vector<std::vector<std::string>>{{"-o", "json", "jobs"},
                                             {"-o", "json", "workers"},
                                             {"-o", "json", "job", "show", "job_99_0099"},
                                             {"-o", "json", "fs", "ls", "/"},
                                             {"-o", "json", "nonsense"},
                                             {"-o", "json", "submit", "nonsense", "--output", "/x"}}) {
    const RunResult run = Mrctl(args);
    EXPECT_THAT(run.out, StartsWith("{\"version\":1,")) << run.err;
    EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 1);
    EXPECT_EQ(run.exit != 0, run.out.find("\"error\":{\"code\"") != std::string::npos) << run.out;
  }
}

TEST_F(CliTest, ShowsAJobFromAllSides) {
  const RunResult run = Mrctl({"-o", "json", "submit", "wordcount", "--input", Uri("in"), "--output", Uri("shown")});
  ASSERT_EQ(run.exit, 0) << run.err;
  const size_t at = run.out.find("job_");
  const std::string id = run.out.substr(at, run.out.find('"', at) - at);
  EXPECT_THAT(Mrctl({"job", "show", id}).out, HasSubstr("SUCCEEDED"));
  EXPECT_THAT(Mrctl({"job", "stages", id}).out, HasSubstr("count"));
  EXPECT_THAT(Mrctl({"job", "tasks", id}).out, HasSubstr("task_"));
  const RunResult attempts = Mrctl({"job", "attempts", id});
  ASSERT_THAT(attempts.out, HasSubstr("attempt_"));
  const size_t name = attempts.out.find("attempt_");
  EXPECT_EQ(Mrctl({"logs", attempts.out.substr(name, attempts.out.find(' ', name) - name)}).exit, 0);
  EXPECT_EQ(Mrctl({"job", "counters", id}).exit, 0);
  EXPECT_THAT(Mrctl({"why", id}).out, testing::Not(testing::IsEmpty()));
  EXPECT_EQ(Mrctl({"wait", id}).exit, 0);
  EXPECT_THAT(Mrctl({"jobs"}).out, HasSubstr(id));
}

std::string IdIn(const std::string& text, const std::string& prefix) {
  const size_t at = text.find(prefix);
  return at == std::string::npos ? "" : text.substr(at, text.find_first_of(" \"\n", at) - at);
}

TEST_F(CliTest, ShowsTheLogsOfAJobOfATaskAndOfAnAttempt) {
  // Fails in its first attempt alone; each attempt says thirty lines.
  const std::string flag = Path("first-attempt-was");
  const RunResult run = Mrctl({"-o", "json", "submit", "stream", "--map",
                               "for i in $(seq 30); do echo said $i >&2; done; mkdir " + flag + " || exec cat; exit 3",
                               "--input", Uri("in"), "--output", Uri("logged")});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  const std::string job = IdIn(run.out, "job_");
  const RunResult of_job = Mrctl({"logs", job});
  ASSERT_EQ(of_job.exit, 0) << of_job.err;
  const size_t failed = of_job.out.find(", failed <==\n"), committed = of_job.out.find(", committed <==\n");
  ASSERT_NE(committed, std::string::npos) << of_job.out;
  EXPECT_LT(failed, committed);
  EXPECT_THAT(of_job.out, StartsWith("==> attempt_"));
  EXPECT_THAT(of_job.out, HasSubstr(" on w"));
  EXPECT_THAT(of_job.out, HasSubstr("said 30\n"));
  EXPECT_THAT(of_job.out, testing::Not(HasSubstr("said 5\n"))) << "more than the last lines of each";
  const std::string attempt = IdIn(of_job.out, "attempt_");
  const std::string task = "task" + attempt.substr(7, attempt.rfind('_') - 7);
  EXPECT_THAT(Mrctl({"logs", task, "--tail", "4"}).out,
              HasSubstr(" <==\nsaid 29\nsaid 30\noperator stream.map failed: "));
  EXPECT_THAT(Mrctl({"logs", attempt}).out, StartsWith("said 1\nsaid 2\n"));
  const RunResult json = Mrctl({"-o", "json", "logs", job, attempt});
  EXPECT_THAT(json.out, StartsWith("{\"version\":1,\"logs\":[{\"id\":\"attempt_"));
  EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 1);
  EXPECT_EQ(Mrctl({"logs", "w1"}).exit, 2);
  EXPECT_EQ(Mrctl({"logs", "job_9_0009"}).exit, 7);
  EXPECT_EQ(Mrctl({"logs", task.substr(0, task.size() - 1) + "9"}).exit, 7);
}

TEST_F(CliTest, SaysThatTheWorkerWithTheLogIsGoneAndShowsWhatIsKept) {
  Cluster cluster({.workers = 1});
  ASSERT_TRUE(cluster.Start().ok()) << cluster.Logs();
  const RunResult run = cluster.Mrctl({"-o", "json", "submit", "stream", "--map", "echo reason >&2; exit 3",
                                       "--max-attempts", "1", "--input", Uri("in"), "--output", Uri("gone")});
  ASSERT_EQ(run.exit, 1) << run.err << cluster.Logs();
  const std::string job = IdIn(run.out, "job_");
  cluster.KillWorker(0);
  ASSERT_TRUE(cluster.WaitForWorkers(0).ok());
  const RunResult logs = cluster.Mrctl({"logs", job});
  EXPECT_EQ(logs.exit, 0) << logs.err;
  EXPECT_THAT(logs.out, HasSubstr("(its log is on w1, which is gone; this is what the master kept)\n"));
  EXPECT_THAT(logs.out, HasSubstr("reason\n"));
  // With the process back its files are, too.
  ASSERT_TRUE(cluster.StartWorker(0).ok());
  ASSERT_TRUE(cluster.WaitForWorkers(1).ok());
  EXPECT_THAT(cluster.Mrctl({"logs", job}).out, testing::Not(HasSubstr("gone")));
}

TEST_F(CliTest, MovesFilesThroughTheBlockStoreUnchanged) {
  ASSERT_EQ(Mrctl({"fs", "mkdir", "/d"}).exit, 0) << cluster_->Logs();
  const RunResult put = Mrctl({"fs", "put", Path("in"), "/d/a"});
  ASSERT_EQ(put.exit, 0) << put.err << cluster_->Logs();
  const RunResult again = Mrctl({"fs", "put", Path("in"), "/d/a"});
  EXPECT_EQ(again.exit, 3);
  EXPECT_THAT(again.err, HasSubstr("/d/a exists\n  give --overwrite to replace it\n")) << "one way, named once";
  EXPECT_EQ(Mrctl({"fs", "put", "--overwrite", Path("in"), "/d/a"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "cat", "/d/a"}).out, *ReadFile(Path("in")));
  EXPECT_EQ(Mrctl({"fs", "get", "/d/a", Path("back")}).exit, 0);
  EXPECT_EQ(*ReadFile(Path("back")), *ReadFile(Path("in")));
  EXPECT_EQ(Mrctl({"fs", "head", "-n", "3", "/d/a"}).out, Shell("head -n 3 '" + Path("in") + "'"));
  EXPECT_EQ(Mrctl({"fs", "tail", "-n", "3", "/d/a"}).out, Shell("tail -n 3 '" + Path("in") + "'"));
  // Three line ends lie within the last 64 KiB, which is how much is looked at first, and the third line begins before.
  std::string lines;
  for (const char c : {'a', 'b', 'c', 'd'}) lines += std::string(30'000, c) + "\n";
  ASSERT_TRUE(WriteFileDurably(Path("long"), lines).ok());
  ASSERT_EQ(Mrctl({"fs", "put", Path("long"), "/d/long"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "tail", "-n", "3", "/d/long"}).out, Shell("tail -n 3 '" + Path("long") + "'"));
  EXPECT_EQ(Mrctl({"fs", "rm", "/d/long"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "mv", "/d/a", "/d/b"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "cat", "/d/*"}).out, *ReadFile(Path("in")));
  EXPECT_THAT(Mrctl({"fs", "ls", "/d"}).out, ContainsRegex(" 2/3 .*/d/b")) << "three replicas wanted, two workers";
  EXPECT_EQ(Mrctl({"fs", "getmerge", "/d", "-"}).out, *ReadFile(Path("in")));
  EXPECT_EQ(Mrctl({"fs", "rm", "/d"}).exit, 3);
  EXPECT_EQ(Mrctl({"fs", "rm", "-r", "/d"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "ls", "/d"}).exit, 7);
}

TEST_F(CliTest, StagingBelongsToJobs) {
  ASSERT_EQ(Mrctl({"fs", "put", Path("in"), "/mine"}).exit, 0) << cluster_->Logs();
  ASSERT_TRUE(MakeDirectories(Path("tree/.staging")).ok());
  for (const std::vector<std::string>& argv :
       std::vector<std::vector<std::string>>{{"fs", "put", Path("in"), "/.staging/x"},
                                             {"fs", "put", Path("in"), "/.staging"},
                                             {"fs", "put", Path("in"), "dfs:///a/../.staging/x"},
                                             {"fs", "put", Path("tree/.staging"), "/"},
                                             {"fs", "mkdir", "-p", "/.staging/d"},
                                             {"fs", "mv", "/mine", "/.staging"},
                                             {"fs", "mv", "/.staging", "/theirs"}}) {
    const RunResult run = Mrctl(argv);
    EXPECT_EQ(run.exit, 3) << argv[1] << " " << argv.back() << "\n" << run.err;
    EXPECT_THAT(run.err, HasSubstr("/.staging is reserved for running jobs")) << argv[1] << " " << argv.back();
  }
  EXPECT_EQ(Mrctl({"fs", "stat", "/.staging"}).exit, 7) << "something was made";
  const RunResult job = Mrctl({"submit", "wordcount", "--input", "/mine", "--output", "/.staging/out"});
  EXPECT_EQ(job.exit, 3) << job.err;
  EXPECT_THAT(job.err, HasSubstr("/.staging belongs to running jobs"));
  // Others may have such a name.
  EXPECT_EQ(Mrctl({"fs", "put", Path("in"), "/.stagings"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "mkdir", "-p", "/d/.staging"}).exit, 0);
  EXPECT_EQ(Mrctl({"fs", "rm", "-r", "/d"}).exit, 0);
}

TEST_F(CliTest, RunsAJobFromStoreToStoreAndToStandardOutput) {
  ASSERT_EQ(Mrctl({"fs", "put", Path("in"), "/in"}).exit, 0) << cluster_->Logs();
  const RunResult stored = Mrctl({"submit", "wordcount", "--input", "/in", "--output", "/out"});
  ASSERT_EQ(stored.exit, 0) << stored.err << cluster_->Logs();
  EXPECT_EQ(SortedLines(Mrctl({"fs", "getmerge", "/out", "-"}).out), ExpectedWordCount(Path("in")));
  const RunResult printed = Mrctl({"submit", "wordcount", "--input", "/in", "--output", "-"});
  ASSERT_EQ(printed.exit, 0) << printed.err;
  EXPECT_EQ(SortedLines(printed.out), ExpectedWordCount(Path("in")));
}

TEST_F(CliTest, EachPartOfATableHasAHeaderAndMergingKeepsTheFirst) {
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += "u" + std::to_string(i % 20) + "," + std::to_string(i) + "\n";
  ASSERT_TRUE(WriteFileDurably(Path("visits.csv"), "user,n\n" + rows).ok());
  ASSERT_EQ(Mrctl({"fs", "put", Path("visits.csv"), "/visits.csv"}).exit, 0) << cluster_->Logs();
  const std::string header = "user,sum(n)\n";
  const std::vector<std::string> job = {"submit",    "aggregate", "--by",    "user",        "--agg",   "sum(n)",
                                        "--reduces", "3",         "--input", "/visits.csv", "--output"};
  const auto submit = [&](const std::string& output, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = job;
    args.push_back(output);
    args.insert(args.end(), more.begin(), more.end());
    const RunResult run = Mrctl(args);
    EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
    return run.out;
  };
  EXPECT_THAT(submit("/sums"), HasSubstr("20 records")) << "a header is none";
  std::string expected = header;
  for (int part = 0; part < 3; ++part) {
    const std::string text = Mrctl({"fs", "cat", "/sums/part-r-0000" + std::to_string(part)}).out;
    EXPECT_EQ(text.substr(0, header.size()), header);
    expected += text.substr(header.size());
  }
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 21);
  EXPECT_THAT(Mrctl({"fs", "cat", "/sums/_SUCCESS"}).out, HasSubstr("\"header\": \"csv\""));
  EXPECT_EQ(Mrctl({"fs", "getmerge", "/sums", "-"}).out, expected);
  EXPECT_EQ(Mrctl({"fs", "cat", "/sums"}).out, expected);
  ASSERT_EQ(Mrctl({"fs", "getmerge", "/sums", Path("merged")}).exit, 0);
  EXPECT_EQ(*ReadFile(Path("merged")), expected);
  EXPECT_EQ(submit("-"), expected);
  EXPECT_THAT(Mrctl({"-o", "json", "fs", "cat", "/sums"}).out, Not(ContainsRegex("sum\\(n\\).*sum\\(n\\)")));
  for (const std::string suffix : {"gz", "zst"}) {
    submit("/packed", {"--overwrite", "--output-format", "text." + suffix});
    ASSERT_EQ(Mrctl({"fs", "getmerge", "--overwrite", "/packed", Path("merged." + suffix)}).exit, 0);
    const std::string unpack = suffix == "gz" ? "gzip -dc '" : "zstd -dc '";
    EXPECT_EQ(Shell(unpack + Path("merged." + suffix) + "'"), expected) << suffix;
  }
  submit("/bare", {"--no-output-header"});
  EXPECT_EQ(Mrctl({"fs", "cat", "/bare"}).out, expected.substr(header.size()));
  EXPECT_EQ(Mrctl({"fs", "cat", "/"}).exit, 0) << "the files of a directory, without those below it";
  ASSERT_EQ(Mrctl({"fs", "mkdir", "/empty"}).exit, 0);
  EXPECT_THAT(Mrctl({"fs", "cat", "/empty"}).err, HasSubstr("/empty is a directory without files"));

  // Another job reads each header as one.
  const RunResult top = Mrctl({"submit", "topk", "--by", "sum(n)", "-n", "1", "--input", "/sums", "--output", "-"});
  EXPECT_EQ(top.out, header + "u19,117\n") << top.err;
  const RunResult numbers =
      Mrctl({"submit", "topk", "--no-header", "--by", "2", "--input", "/sums", "--output", "/never"});
  EXPECT_EQ(numbers.exit, 2);
  EXPECT_THAT(numbers.err, HasSubstr("each part of dfs:///sums begins with a header"));
  const RunResult lines = Mrctl({"submit", "wordcount", "--input", "/sums", "--output", "-"});
  EXPECT_EQ(lines.exit, 0);
  EXPECT_THAT(lines.err, HasSubstr("which this job reads as a line like the others"));
  EXPECT_THAT(lines.out, HasSubstr("user,sum(n)\t3\n"));
}

TEST_F(CliTest, SchedulersNamesTheListsWithoutAMaster) {
  const RunResult table = RunMrctl({"--master", "127.0.0.1:1", "schedulers"});
  ASSERT_EQ(table.exit, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("\ncautious  "));
  EXPECT_THAT(table.out, HasSubstr("\ndolly  "));
}

TEST_F(CliTest, WhatifSimulatesAJobThatRan) {
  // Eight naps on eight slots: one wave; on two slots four.
  const std::string id = Submit({"sleep", "--ms", "400", "--tasks", "8", "--output", Uri("whatif")});
  EXPECT_EQ(Mrctl({"whatif", id, "--workers", "4"}).exit, 3) << "it has not ended";
  ASSERT_EQ(Mrctl({"wait", id}).exit, 0);
  const RunResult table = Mrctl({"whatif", id, "--workers", "1", "--slots", "2"});
  ASSERT_EQ(table.exit, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("what if  "));
  EXPECT_THAT(table.out, HasSubstr(id));
  EXPECT_THAT(table.out, HasSubstr("model's error"));
  const RunResult json = Mrctl({"whatif", id, "--workers", "1", "--slots", "2", "-o", "json"});
  ASSERT_EQ(json.exit, 0) << json.err;
  EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 1);
  const auto number = [&json](const std::string& name) {
    const size_t at = json.out.find("\"" + name + "\":");
    return at == std::string::npos ? -1.0 : std::stod(json.out.substr(at + name.size() + 3));
  };
  EXPECT_GT(number("happened_s"), .4);
  EXPECT_LT(std::abs(number("error")), .25) << json.out;
  EXPECT_GT(number("whatif_s"), 3 * number("model_s")) << json.out;

  EXPECT_EQ(Mrctl({"whatif", "job_1_9999", "--workers", "4"}).exit, 7);
  const RunResult bad = Mrctl({"whatif", id, "--scheduler", "nosuch", "-o", "json"});
  EXPECT_EQ(bad.exit, 2);
  EXPECT_THAT(bad.out, StartsWith("{\"version\":1,\"error\":{\"code\":\"invalid_argument\""));
  EXPECT_EQ(Mrctl({"whatif", id}).exit, 2) << "nothing is to be otherwise";
  EXPECT_EQ(Mrctl({"whatif", id, "--scheduler", "plain"}).exit, 0) << "the name of a list";
  EXPECT_EQ(RunMrctl({"--master", "127.0.0.1:1", "whatif", id, "--workers", "4"}).exit, 5);
}

}  // namespace
}  // namespace mr::test
