// `mrctl submit --local`: the right answer with no set-up, and nothing left behind.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool Until(Duration limit, const std::function<bool()>& condition) {
  for (const Instant end = Now() + limit; Now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

// Processes whose command line holds `text`, by program name.
std::vector<pid_t> Processes(const std::string& text, const std::string& program) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const auto read = ReadFile(entry.path() / "cmdline");
    if (!read.ok()) continue;  // it ended meanwhile
    const std::string& line = *read;
    const std::string name = line.substr(0, line.find('\0'));
    if (line.find(text) != std::string::npos && name.substr(name.rfind('/') + 1) == program) found.push_back(pid);
  }
  return found;
}

class LocalTest : public testing::Test {
 protected:
  LocalTest() { EXPECT_TRUE(MakeDirectories(tmp()).ok()); }

  std::string tmp() const { return directory_ / "tmp"; }
  std::string Path(const std::string& name) const { return directory_ / name; }
  SpawnOptions Spawn() const {
    SpawnOptions options;
    options.env = {"TMPDIR=" + tmp(), "MR_MASTER=127.0.0.1:1"};
    options.directory = directory_.path();
    return options;
  }
  RunResult Run(std::vector<std::string> args) {
    args.insert(args.begin(), {"submit", "--local=2"});
    return RunMrctl(args, Seconds(120), Spawn());
  }
  // Runs are remembered below `state`.
  SpawnOptions Remembering() const {
    SpawnOptions options = Spawn();
    options.env.insert(options.env.end(), {"MR_KEEP_RUNS=200", "XDG_STATE_HOME=" + Path("state")});
    return options;
  }
  RunResult Remembered(const std::vector<std::string>& args) const {
    return RunMrctl(args, Seconds(60), Remembering());
  }
  Process Begin(std::vector<std::string> args) {
    args.insert(args.begin(), {BinaryDirectory() + "/mrctl", "submit", "--local=2"});
    SpawnOptions options = Remembering();
    options.stdout_path = Path("begin.out");
    options.stderr_path = Path("begin.err");
    auto process = Process::Spawn(args, options);
    EXPECT_TRUE(process.ok());
    return *std::move(process);
  }
  std::string BeginErr() const {
    auto text = ReadFile(directory_ / "begin.err");
    return text.ok() ? *text : "";  // not there before the child has opened it
  }
  std::vector<std::string> Left() const { return *ListDirectory(tmp()); }
  bool AllGone() const {
    return Left().empty() && Processes(tmp(), "mrmaster").empty() && Processes(tmp(), "mrworker").empty();
  }
  // Until both workers run and the job is going on.
  bool Running() {
    return Until(Seconds(20), [&] {
      return Processes(tmp(), "mrworker").size() == 2 && BeginErr().find("RUNNING") != std::string::npos;
    });
  }

  TempDirectory directory_;
};

TEST_F(LocalTest, EqualsCoreutilsAndLeavesNothing) {
  WriteBible(Path("in"));
  const RunResult run = Run({"wordcount", "--input", "in", "--output", "out"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(SortedLines(ReadParts(Path("out"))), ExpectedWordCount(Path("in")));
  EXPECT_THAT(run.out, HasSubstr("succeeded"));
  EXPECT_TRUE(AllGone());
}

TEST_F(LocalTest, AFailureNamesNoCommandForAClusterThatIsGone) {
  WriteBible(Path("in"), 20'000);
  const RunResult run = Run({"stream", "--map", "echo why >&2; exit 3", "--input", "in", "--output", "out"});
  EXPECT_EQ(run.exit, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("failed 4 times, the last time as attempt_"));
  EXPECT_THAT(run.err, testing::ContainsRegex("why\n"));
  EXPECT_THAT(run.err, testing::Not(HasSubstr("mrctl logs")));
  EXPECT_TRUE(AllGone());
}

TEST_F(LocalTest, AnOperatorThatKillsTheWorkersIsNamed) {
  WriteBible(Path("in"), 2'000);
  // The parent of the command is the task's process, and the parent of that is the worker.
  const RunResult run =
      Run({"stream", "--map", "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)", "--input", "in", "--output", "out"});
  EXPECT_EQ(run.exit, 70) << run.err;
  EXPECT_THAT(run.err, testing::ContainsRegex("while it ran attempt_local_0000_0_m_00000[01]_[0-9]+ of operator "
                                              "stream.map[^\n]*: the local worker-[12] was killed by SIGKILL, and no"));
  EXPECT_TRUE(AllGone());
}

TEST_F(LocalTest, AFailureSaysHowToKeepTheLogsAndTheJsonNamesNoneThatAreGone) {
  WriteBible(Path("in"), 2'000);
  const std::vector<std::string> job = {
      "stream", "--map", "echo reason >&2; exit 3", "--max-attempts", "1", "--input", "in", "--output", "out"};
  const RunResult run = Run(job);
  EXPECT_EQ(run.exit, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("next: run it again with --keep-logs DIRECTORY"));
  std::vector<std::string> kept = {"-o", "json", "--keep-logs", "kept/logs"};
  kept.insert(kept.end(), job.begin(), job.end());
  const RunResult json = Run(kept);
  EXPECT_EQ(json.exit, 1) << json.err;
  EXPECT_THAT(json.out, testing::Not(HasSubstr("mrctl logs")));
  EXPECT_THAT(json.out, HasSubstr("\"hint\":\"read the logs of its attempts in kept/logs\""));
  EXPECT_THAT(*ListDirectory(Path("kept/logs")),
              testing::IsSupersetOf({"attempt_local_0000_0_m_000000_1", "master.log", "worker-1.log", "worker-2.log"}));
  EXPECT_THAT(*ReadFile(Path("kept/logs/attempt_local_0000_0_m_000000_1")),
              testing::MatchesRegex("reason\noperator stream.map failed: the map command exited with code 3: [^\n]*\n"
                                    "(at [^\n]*\n)?"))
      << "what the command wrote, and why it failed";
  EXPECT_TRUE(AllGone());
  const RunResult elsewhere =
      RunMrctl({"submit", "--keep-logs", "x", "wordcount", "--input", "/a", "--output", "/b"}, Seconds(20), Spawn());
  EXPECT_EQ(elsewhere.exit, 2);
  EXPECT_THAT(elsewhere.err, HasSubstr("--keep-logs needs --local"));
}

TEST_F(LocalTest, CountersAndSkippedRecordsAreShownAtTheEnd) {
  WriteBible(Path("in"), 2'000);
  const std::vector<std::string> job = {
      "stream", "--map", "echo reporter:counter:my,seen,3 >&2; cat", "--input", "in", "--output", "out", "--overwrite"};
  const RunResult run = Run(job);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.err, testing::ContainsRegex("GROUP +NAME +VALUE\nmy +seen +3\n"));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("seen"))) << "results alone";
  std::vector<std::string> as_json = {"-o", "json"};
  as_json.insert(as_json.end(), job.begin(), job.end());
  EXPECT_THAT(Run(as_json).out,
              HasSubstr("\"counters\":[{\"id\":\"my/seen\",\"group\":\"my\",\"name\":\"seen\",\"value\":3}]"));
  ASSERT_TRUE(WriteFileDurably(Path("table.csv"), "city,amount\na,1\nb\na,2\n").ok());
  const RunResult skipped = Run({"--max-bad-records", "3", "aggregate", "--by", "city", "--agg", "count", "--input",
                                 "table.csv", "--output", "table.out"});
  EXPECT_EQ(skipped.exit, 0) << skipped.err;
  EXPECT_THAT(skipped.err,
              testing::ContainsRegex(
                  "1 bad record was skipped, 2 B of the input\n  .*table.csv, byte 16: the row has 1 fields"));
}

TEST_F(LocalTest, TheSecondOfTwoRunsWithOneOutputIsRefused) {
  Process first = Begin({"sleep", "--ms", "60000", "--tasks", "1", "--output", "shared"});
  ASSERT_TRUE(Running()) << BeginErr();
  const RunResult second = Run({"sleep", "--ms", "1", "--tasks", "1", "--output", "./shared/"});
  EXPECT_EQ(second.exit, 3) << second.err;
  EXPECT_THAT(second.err, HasSubstr("/shared is being written by another `mrctl submit --local`"));
  const RunResult other = Run({"sleep", "--ms", "1", "--tasks", "1", "--output", "another"});
  EXPECT_EQ(other.exit, 0) << other.err;
  first.Kill();
  // Nothing of the claim outlives the process that had it.
  ASSERT_TRUE(Until(Seconds(15), [&] { return AllGone(); }));
  const RunResult third = Run({"sleep", "--ms", "1", "--tasks", "1", "--output", "shared"});
  EXPECT_EQ(third.exit, 0) << third.err;
}

TEST_F(LocalTest, GivesEqualDigestsInTwoRuns) {
  WriteBible(Path("in"), 1'000'000);
  for (const char* out : {"a", "b"}) {
    const RunResult run = Run({"wordcount", "--input", "in", "--output", out, "--conf", "max_split_bytes=64k"});
    ASSERT_EQ(run.exit, 0) << run.err;
  }
  EXPECT_THAT(OutputDigest(Path("a")), testing::Not(IsEmpty()));
  EXPECT_EQ(OutputDigest(Path("a")), OutputDigest(Path("b")));
}

TEST_F(LocalTest, PrintsTheResultWhereNoOutputIsNamed) {
  WriteBible(Path("in"), 50'000);
  const RunResult run = Run({"wordcount", "--input", "in"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(SortedLines(run.out), ExpectedWordCount(Path("in")));
}

TEST_F(LocalTest, ReadsStandardInputAndGlobs) {
  WriteBible(Path("in.1"), 50'000);
  SpawnOptions options = Spawn();
  options.stdin_path = Path("in.1");
  const RunResult from_stdin = RunMrctl({"submit", "--local", "wordcount", "--input", "-"}, Seconds(60), options);
  ASSERT_EQ(from_stdin.exit, 0) << from_stdin.err;
  EXPECT_EQ(SortedLines(from_stdin.out), ExpectedWordCount(Path("in.1")));
  const RunResult from_glob = Run({"wordcount", "--input", "in.*"});
  ASSERT_EQ(from_glob.exit, 0) << from_glob.err;
  EXPECT_EQ(SortedLines(from_glob.out), SortedLines(from_stdin.out));
}

TEST_F(LocalTest, IsRightWhenAWorkerIsKilledInMidJob) {
  WriteWords(Path("in"), 400'000, 7);
  Process process = Begin({"wordcount", "--input", "in", "--output", "out", "--conf", "max_split_bytes=64k"});
  ASSERT_TRUE(Running()) << BeginErr();
  const auto workers = Processes(tmp(), "mrworker");
  ASSERT_THAT(workers, SizeIs(2));
  kill(workers[0], SIGKILL);
  const auto exit = process.Wait(Seconds(90));
  ASSERT_EQ(exit, 0) << BeginErr();
  EXPECT_EQ(SortedLines(ReadParts(Path("out"))), ExpectedWordCount(Path("in")));
  EXPECT_TRUE(AllGone());
}

TEST_F(LocalTest, IsGoneAfterKillNineOfMrctl) {
  Process process = Begin({"sleep", "--ms", "60000", "--tasks", "2"});
  ASSERT_TRUE(Running()) << BeginErr();
  process.Kill();
  EXPECT_TRUE(Until(Seconds(15), [&] { return AllGone(); }));
}

TEST_F(LocalTest, StopsOnCtrlCWith130) {
  Process process = Begin({"sleep", "--ms", "60000", "--tasks", "2"});
  ASSERT_TRUE(Running()) << BeginErr();
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(Seconds(15)), 130);
  EXPECT_THAT(BeginErr(), HasSubstr("stopped"));
  EXPECT_TRUE(AllGone());
}

// The run is on a terminal of its own. The shell of a terminal that closes sends a second SIGHUP, as the kernel does.
TEST_F(LocalTest, AClosedTerminalStopsItAndItIsRemembered) {
  UniqueFd terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal.valid() && grantpt(terminal.get()) == 0 && unlockpt(terminal.get()) == 0);
  SpawnOptions options = Remembering();
  options.stdin_path = options.stdout_path = options.stderr_path = ptsname(terminal.get());
  auto session = Process::Spawn({"/usr/bin/setsid", "-c", "-w", BinaryDirectory() + "/mrctl", "submit", "--local=2",
                                 "--keep-logs", Path("logs"), "sleep", "--ms", "60000", "--tasks", "2"},
                                options);
  ASSERT_TRUE(session.ok());
  std::string seen;
  ASSERT_TRUE(Until(Seconds(20), [&] {
    char piece[4096];
    pollfd readable{terminal.get(), POLLIN, 0};
    const ssize_t n = poll(&readable, 1, 0) == 1 ? read(terminal.get(), piece, sizeof piece) : 0;
    if (n > 0) seen.append(piece, static_cast<size_t>(n));
    return seen.find(" 2 running") != std::string::npos;
  })) << seen;
  const auto named = Processes(Path("logs"), "mrctl");  // the guardian, too, which stays
  terminal.reset();
  for (const pid_t pid : named) kill(pid, SIGHUP);
  EXPECT_EQ(session->Wait(Seconds(15)), 130);
  EXPECT_TRUE(AllGone());
  EXPECT_THAT(Remembered({"why", "local_0001"}).out, HasSubstr("local_0001 (sleep) KILLED after "));
}

TEST_F(LocalTest, NohupLetsItGoOnWhenTheTerminalCloses) {
  ASSERT_TRUE(WriteFileDurably(Path("in"), "a\n").ok());
  SpawnOptions options = Remembering();
  options.stdout_path = Path("begin.out");
  options.stderr_path = Path("begin.err");
  auto process =
      Process::Spawn({"/bin/sh", "-c",
                      "trap '' HUP; exec " + BinaryDirectory() + "/mrctl submit --local=2 stream --map 'until [ -e " +
                          Path("go") + " ]; do sleep .05; done; cat' --input in --output out"},
                     options);
  ASSERT_TRUE(process.ok());
  ASSERT_TRUE(Running()) << BeginErr();
  process->Signal(SIGHUP);
  ASSERT_TRUE(WriteFileDurably(Path("go"), "").ok());
  EXPECT_EQ(process->Wait(Seconds(60)), 0) << BeginErr();
}

TEST_F(LocalTest, LeavesNothingBesideTheOutputOfAJobThatWasStopped) {
  WriteBible(Path("in"), 8'000'000);  // enough for a task to have written some of it
  for (const int signal : {SIGINT, SIGKILL}) {
    Process process = Begin({"stream", "--map", "cat; sleep 60", "--input", "in", "--output", "made/out"});
    const auto staged = [&] {
      const auto names = ListDirectory(Path("made"));
      return names.ok() && !names->empty();
    };
    ASSERT_TRUE(Until(Seconds(20), staged)) << BeginErr();
    process.Signal(signal);
    process.Wait(Seconds(15));
    EXPECT_TRUE(Until(Seconds(15), [&] { return AllGone(); }));
    EXPECT_THAT(*ListDirectory(Path("made")), IsEmpty()) << "after signal " << signal;
  }
}

// An attempt that still wrote made the staging again after the master had removed it.
TEST_F(LocalTest, TheMasterOfAStoppedJobEndsAfterItsWorkers) {
  WriteBible(Path("in"), 8'000'000);
  Process process = Begin({"stream", "--map", "cat; sleep 60", "--input", "in", "--output", "made/out"});
  const auto staged = [&] { return PathExists(Path("made")) && !ListDirectory(Path("made"))->empty(); };
  ASSERT_TRUE(Until(Seconds(20), staged)) << BeginErr();
  const auto workers = Processes(tmp(), "mrworker");
  ASSERT_THAT(workers, SizeIs(2));
  for (const pid_t worker : workers) kill(worker, SIGSTOP);
  process.Signal(SIGINT);  // SIGKILL of their parent would wake them
  EXPECT_FALSE(Until(Seconds(1), [&] { return Processes(tmp(), "mrmaster").empty(); }));
  for (const pid_t worker : workers) kill(worker, SIGCONT);
  EXPECT_EQ(process.Wait(Seconds(15)), 130);
  EXPECT_TRUE(Until(Seconds(15), [&] { return AllGone(); }));
  EXPECT_THAT(*ListDirectory(Path("made")), IsEmpty());
}

TEST_F(LocalTest, AResultThatWasPrintedNamesNoDirectoryThatIsGone) {
  ASSERT_TRUE(WriteFileDurably(Path("in"), "b\na\n").ok());
  const RunResult run = Run({"grep", "-e", "a", "--input", "in", "--output", "-"});
  EXPECT_EQ(run.out, "a\n");
  EXPECT_THAT(run.err, testing::ContainsRegex("succeeded in .*: 1 record, 2 B to standard output\n"));
}

TEST_F(LocalTest, StopsWhenTheTimeoutRunsOutWith124) {
  const RunResult run = Run({"--timeout", "2s", "sleep", "--ms", "60000", "--tasks", "2"});
  EXPECT_EQ(run.exit, 124) << run.err;
  EXPECT_TRUE(AllGone());
}

TEST_F(LocalTest, ABadListOfPoliciesIsAWrongFlagAndNoneIsAList) {
  WriteBible(Path("in"), 10'000);
  const RunResult bad = Run({"wordcount", "--input", "in", "--output", "out", "--scheduler", "fair,lat"});
  EXPECT_EQ(bad.exit, 2) << bad.err;
  EXPECT_THAT(bad.err, HasSubstr("mrctl: --scheduler: there is no policy 'lat' (did you mean 'late'?)"));
  const RunResult none = Run({"wordcount", "--input", "in", "--output", "out", "--scheduler", "none"});
  EXPECT_EQ(none.exit, 0) << none.err;
  EXPECT_TRUE(AllGone());
}

TEST_F(LocalTest, ARunIsRememberedAndLookedAtWithoutAMaster) {
  WriteBible(Path("in"), 200'000);
  const RunResult run = Remembered({"submit", "--local", "wordcount", "--input", "in", "--output", "out"});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.out, testing::StartsWith("local_0001 succeeded in "));
  EXPECT_THAT(run.err, HasSubstr("mrctl why local_0001, or mrctl report local_0001 > local_0001.html"));
  EXPECT_TRUE(AllGone());
  EXPECT_THAT(Remembered({"why", "local_0001"}).out, HasSubstr("local_0001 (wordcount) SUCCEEDED after "));
  EXPECT_THAT(Remembered({"-v", "why", "local_1"}).out, HasSubstr("local_0001 is SUCCEEDED"));
  const RunResult shown = Remembered({"job", "show", "local_0001"});
  EXPECT_THAT(shown.out, testing::ContainsRegex("id +local_0001\nname +wordcount\nstate +SUCCEEDED"));
  // All that is printed has names of the run, which `why` takes and no cluster has.
  const std::string attempt = "attempt_local_0001_0_m_000000_1";
  EXPECT_THAT(Remembered({"job", "attempts", "local_0001"}).out, HasSubstr(attempt));
  EXPECT_THAT(Remembered({"why", attempt}).out, HasSubstr("launched " + attempt));
  EXPECT_THAT(Remembered({"why", "task_local_0001_0_m_000000"}).out, HasSubstr("launched " + attempt));
  EXPECT_EQ(Remembered({"why", "attempt_local_0001_0_m_000099_1"}).exit, 7);
  EXPECT_EQ(Remembered({"logs", attempt}).exit, 2);
  EXPECT_THAT(run.out + run.err + Remembered({"report", "local_0001"}).out + Remembered({"trace", "local_0001"}).out,
              testing::Not(HasSubstr("1_0001")));
  EXPECT_THAT(Remembered({"fs", "cat", "file://" + Path("out")}).out, testing::StrEq(ReadParts(Path("out"))));
  EXPECT_THAT(Remembered({"report", "local_0001"}).out, HasSubstr("\"id\":\"local_0001\""));
  EXPECT_THAT(Remembered({"trace", "local_0001"}).out, HasSubstr("\"name\":\"local_0001 wordcount\""));
  const RunResult whatif = Remembered({"whatif", "local_0001", "--workers", "5"});
  EXPECT_EQ(whatif.exit, 0) << whatif.err;
  EXPECT_THAT(whatif.out, testing::ContainsRegex("\nlocal_0001 +wordcount"));
  EXPECT_THAT(Remembered({"history", "--local"}).out, testing::ContainsRegex("local_0001 +wordcount .*SUCCEEDED"));
  EXPECT_THAT(Remembered({"jobs", "--local", "--state", "succeeded"}).out, HasSubstr("local_0001"));
  EXPECT_THAT(Remembered({"jobs", "--local", "--state", "failed"}).out, testing::Not(HasSubstr("local_0001")));
  EXPECT_EQ(Remembered({"jobs", "--local", "--state", "bogus"}).exit, 2);
  EXPECT_THAT(Remembered({"why", "last"}).out, HasSubstr("local_0001 (wordcount) SUCCEEDED after "));
  EXPECT_EQ(Remembered({"why", "local_0002"}).exit, 7);
  EXPECT_EQ(Remembered({"wait", "local_0001"}).exit, 2);
}

TEST_F(LocalTest, RunsThatFailOrAreStoppedAreRememberedToo) {
  WriteBible(Path("in"), 2'000);
  const RunResult failed =
      Remembered({"submit", "--local", "stream", "--map", "exit 3", "--max-attempts", "1", "--input", "in"});
  EXPECT_EQ(failed.exit, 1) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("mrctl why local_0001 explains this run"));
  EXPECT_THAT(Remembered({"why", "local_0001"}).out, HasSubstr("local_0001 (stream) FAILED"));
  Process process = Begin({"sleep", "--ms", "60000", "--tasks", "2"});
  ASSERT_TRUE(Running()) << BeginErr();
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(Seconds(15)), 130);
  EXPECT_THAT(BeginErr(), HasSubstr("local_0002 RUNNING"));
  EXPECT_THAT(BeginErr(), HasSubstr("interrupted by Ctrl-C or a signal: local_0002 was killed"));
  EXPECT_THAT(BeginErr(), HasSubstr("mrctl why local_0002 shows how far it came"));
  EXPECT_THAT(BeginErr(), testing::Not(HasSubstr("1_0001")));
  EXPECT_THAT(Remembered({"why", "local_0002"}).out, HasSubstr("local_0002 (sleep) KILLED after "));
  const RunResult late = Remembered({"--timeout", "5s", "submit", "--local", "sleep", "--ms", "60000"});
  EXPECT_EQ(late.exit, 124) << late.err;
  EXPECT_THAT(Remembered({"job", "show", "local_0003"}).out, HasSubstr("--timeout expired"));
  const RunResult whatif = Remembered({"whatif", "local_0001", "--workers", "5"});
  EXPECT_EQ(whatif.exit, 3) << "how long its tasks would have taken is not known";
}

TEST_F(LocalTest, ARunWhoseWorkersWereKilledIsRemembered) {
  WriteBible(Path("in"), 2'000);
  Process process = Begin({"stream", "--map", "sleep 60; cat", "--input", "in", "--output", "out"});
  ASSERT_TRUE(Running()) << BeginErr();
  for (const pid_t worker : Processes(tmp(), "mrworker")) kill(worker, SIGKILL);
  EXPECT_EQ(process.Wait(Seconds(30)), 70);
  EXPECT_THAT(BeginErr(), testing::ContainsRegex("while it ran attempt_local_0001_0_m_000000_[12] of operator "
                                                 "stream.map[^\n]*: the local worker-2 was killed by SIGKILL, and no"));
  EXPECT_THAT(BeginErr(), HasSubstr("mrctl why local_0001 shows how far it came"));
  EXPECT_TRUE(AllGone());
  EXPECT_FALSE(PathExists(Path("out")));
  EXPECT_THAT(Remembered({"why", "local_0001"}).out, HasSubstr("local_0001 (stream) KILLED after "));
  EXPECT_THAT(Remembered({"job", "show", "local_0001"}).out, HasSubstr("the local worker-2 was killed by SIGKILL"));
  EXPECT_THAT(Remembered({"jobs", "--local"}).out, HasSubstr("local_0001"));
}

TEST_F(LocalTest, ARunThatCannotBeRememberedIsAWarning) {
  ASSERT_TRUE(WriteFileDurably(Path("state"), "a file").ok());
  const RunResult run = Remembered({"submit", "--local", "sleep", "--ms", "1", "--tasks", "1"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("mrctl: warning: the run will not be remembered: cannot make"));
  SpawnOptions none = Spawn();
  none.env.insert(none.env.end(), {"MR_KEEP_RUNS=0", "XDG_STATE_HOME=" + Path("other")});
  EXPECT_EQ(RunMrctl({"submit", "--local", "sleep", "--ms", "1", "--tasks", "1"}, Seconds(60), none).exit, 0);
  EXPECT_FALSE(PathExists(Path("other")));
}

TEST_F(LocalTest, RefusesBadInputBeforeAnythingStarts) {
  WriteBible(Path("in"), 1'000);
  EXPECT_EQ(Run({"wordcount", "--input", "absent"}).exit, 7);
  ASSERT_TRUE(MakeDirectories(Path("full/x")).ok());
  EXPECT_EQ(Run({"wordcount", "--input", "in", "--output", "full"}).exit, 3);
  const RunResult unknown = Run({"wordcuont", "--input", "in"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no job 'wordcuont' (did you mean 'wordcount'?); there are aggregate, "));
  const RunResult mistyped = Run({"grep", "--inputt", "in", "-e", "a"});
  EXPECT_EQ(mistyped.exit, 2);
  EXPECT_THAT(mistyped.err, HasSubstr("did you mean submit's own --input?")) << "also behind JOB";
  EXPECT_THAT(Run({"wordcount", "in.txt"}).err,
              HasSubstr("give inputs as --input FILE; mrctl submit wordcount --help"));
  EXPECT_EQ(Run({"grep", "-e", "(", "--input", "in"}).exit, 2);
  EXPECT_EQ(Run({"wordcount", "--format", "texd", "--input", "in"}).exit, 2);
  EXPECT_EQ(Run({"--lib", "in", "wordcount", "--input", "in"}).exit, 2);
  EXPECT_EQ(Run({"wordcount", "--input", "dfs:///in"}).exit, 2);
  EXPECT_EQ(Run({"wordcount", "--input", "s3://b/in"}).exit, 2);
  EXPECT_THAT(Left(), IsEmpty());
}

}  // namespace
}  // namespace mr::test
