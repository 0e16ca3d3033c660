// --input -, --output - and --status-fd: mrctl in a pipe.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/cluster.h"
#include "tests/support/small_disk.h"

namespace mr::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

bool Until(Duration limit, const std::function<bool()>& condition) {
  for (const Instant end = Now() + limit; Now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

// Lines of any bytes but newlines.
std::string BinaryLines(size_t lines) {
  Rng rng(3);
  std::string text;
  for (size_t i = 0; i < lines; ++i) {
    for (uint64_t n = rng.Below(60); n > 0; --n) {
      const char c = static_cast<char>(rng.Below(256));
      text += c == '\n' ? '\0' : c;
    }
    text += '\n';
  }
  return text;
}

// The text, again and again until it has so many bytes.
std::string Repeated(const std::string& text, size_t bytes) {
  std::string all;
  all.reserve(bytes + text.size());
  while (all.size() < bytes) all += text;
  return all;
}

// The largest resident memory of a mrctl so far, in bytes; 0 if it cannot be read. A child that has not yet executed
// mrctl has the memory of the test.
uint64_t PeakMemory(pid_t pid) {
  const auto status = ReadFile("/proc/" + std::to_string(pid) + "/status");
  if (status.ok() && !status->starts_with("Name:\tmrctl\n")) return 0;
  const size_t at = status.ok() ? status->find("VmHWM:") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtoull(status->c_str() + at + 6, nullptr, 10) << 10;
}

// A FIFO that stays silent while this object has its write end.
class SilentFifo {
 public:
  explicit SilentFifo(const std::string& path) {
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    end_ = UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  }
  int fd() const { return end_.get(); }

 private:
  UniqueFd end_;
};

class PipesTest : public testing::Test {
 protected:
  PipesTest() { EXPECT_TRUE(MakeDirectories(Path("tmp")).ok()); }
  std::string Path(const std::string& name) const { return directory_ / name; }
  SpawnOptions Spawn(const std::string& in) const {
    SpawnOptions options;
    options.env = {"TMPDIR=" + Path("tmp"), "MR_MASTER=127.0.0.1:1", "MR_KEEP_RUNS=0"};
    options.directory = directory_.path();
    options.stdin_path = in;
    options.stdout_path = Path("out");
    options.stderr_path = Path("err");
    return options;
  }
  Process Begin(std::vector<std::string> args, const SpawnOptions& options) const {
    args.insert(args.begin(), BinaryDirectory() + "/mrctl");
    auto process = Process::Spawn(args, options);
    EXPECT_TRUE(process.ok());
    return *std::move(process);
  }
  int Run(const std::vector<std::string>& args, const std::string& in) const {
    return Begin(args, Spawn(in)).Wait(Seconds(60)).value_or(-1);
  }
  std::string Out() const { return *ReadFile(Path("out")); }
  std::string Err() const { return *ReadFile(Path("err")); }
  bool NothingLeft() const { return ListDirectory(Path("tmp"))->empty(); }
  bool Spooling() const {
    const auto names = ListDirectory(Path("tmp"));
    return names.ok() && !names->empty() && PathExists(Path("tmp") + "/" + names->front() + "/stdin");
  }

  TempDirectory directory_;
};

TEST_F(PipesTest, BinaryLinesPassThroughUnchangedAndInOrder) {
  const std::string text = BinaryLines(20'000);
  ASSERT_TRUE(WriteFileDurably(Path("in"), text).ok());
  ASSERT_EQ(Run({"submit", "--local", "stream", "--map", "cat", "--conf", "max_split_bytes=64k", "--input", "-",
                 "--output", "-"},
                Path("in")),
            0)
      << Err();
  EXPECT_TRUE(Out() == text);
  EXPECT_TRUE(NothingLeft());
}

TEST_F(PipesTest, NothingGivesNothing) {
  EXPECT_EQ(Run({"submit", "--local", "wordcount", "--input", "-", "--output", "-"}, "/dev/null"), 0) << Err();
  EXPECT_EQ(Out(), "");
  EXPECT_TRUE(NothingLeft());
}

TEST_F(PipesTest, AnInputAboveTheMemoryOfItsReadersIsStreamed) {
  constexpr uint64_t kMemory = 48u << 20;
  const std::string text = Repeated(BinaryLines(20'000), 2 * kMemory);
  ASSERT_TRUE(WriteFileDurably(Path("in"), text).ok());
  Process process =
      Begin({"submit", "--local", "--memory", "48m", "grep", "-vc", "^$", "--input", "-", "--output", "-"},
            Spawn(Path("in")));
  uint64_t peak = 0;
  std::optional<int> exit;
  while (!(exit = process.Wait(Millis(2))).has_value()) peak = std::max(peak, PeakMemory(process.pid()));
  EXPECT_EQ(exit, 0) << Err();
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  size_t empty = text[0] == '\n' ? 1 : 0;
  for (size_t at = 0; (at = text.find("\n\n", at)) != text.npos; ++at) ++empty;
  EXPECT_EQ(Out(), std::to_string(lines - empty) + "\n");
  EXPECT_LT(peak, kMemory) << "of mrctl";
}

TEST_F(PipesTest, AResultAboveTheMemoryOfMrctlIsStreamed) {
  constexpr uint64_t kMost = 48u << 20;
  const std::string text = Repeated(BinaryLines(20'000), 2 * kMost);
  ASSERT_TRUE(WriteFileDurably(Path("in"), text).ok());
  Process process =
      Begin({"submit", "--local", "stream", "--map", "cat", "--input", "in", "--output", "-"}, Spawn("/dev/null"));
  uint64_t peak = 0;
  std::optional<int> exit;
  while (!(exit = process.Wait(Millis(2))).has_value()) peak = std::max(peak, PeakMemory(process.pid()));
  EXPECT_EQ(exit, 0) << Err();
  EXPECT_TRUE(Out() == text);
  EXPECT_LT(peak, kMost) << "of mrctl";
}

TEST_F(PipesTest, NothingIsLeftOfAMrctlThatEndsWhileItWaitsForItsInput) {
  const SilentFifo fifo(Path("fifo"));
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    Process process = Begin({"submit", "--local", "wordcount", "--input", "-"}, Spawn(Path("fifo")));
    ASSERT_EQ(write(fifo.fd(), "some words\n", 11), 11);
    ASSERT_TRUE(Until(Seconds(20), [&] { return Spooling(); })) << Err();
    process.Signal(signal);
    EXPECT_EQ(process.Wait(Seconds(15)), signal == SIGKILL ? 128 + SIGKILL : 130);
    EXPECT_TRUE(Until(Seconds(15), [&] { return NothingLeft(); })) << "after signal " << signal;
  }
}

TEST_F(PipesTest, CtrlCEndsMrctlAlsoWhileNobodyReadsItsResult) {
  std::string text = BinaryLines(20'000);
  ASSERT_TRUE(WriteFileDurably(Path("in"), text).ok());
  const SilentFifo fifo(Path("fifo"));
  SpawnOptions options = Spawn("/dev/null");
  options.stdout_path = Path("fifo");
  Process process = Begin({"submit", "--local", "stream", "--map", "cat", "--input", "in", "--output", "-"}, options);
  std::string first(16, '\0');
  ASSERT_EQ(read(fifo.fd(), first.data(), first.size()), 16) << Err();
  EXPECT_EQ(first, text.substr(0, 16));
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(Seconds(15)), 130) << Err();
  EXPECT_TRUE(Until(Seconds(15), [&] { return NothingLeft(); }));
}

TEST_F(PipesTest, AnInputLargerThanTheDiskIsRefusedBeforeAnythingRuns) {
  const SmallDisk disk(Path("disk"), "16m");
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk";
  ASSERT_TRUE(WriteFileDurably(Path("in"), std::string(32u << 20, 'x') + "\n").ok());
  SpawnOptions options = Spawn(Path("in"));
  options.env[0] = "TMPDIR=" + disk.path();
  Process process = Begin({"submit", "--local", "wordcount", "--input", "-"}, options);
  EXPECT_EQ(process.Wait(Seconds(30)), 3) << Err();
  EXPECT_THAT(Err(), HasSubstr("cannot store standard input for the job: "));
  EXPECT_THAT(Err(), HasSubstr("nothing was run\n  set TMPDIR to a directory with more room"));
  EXPECT_TRUE(Until(Seconds(15), [&] { return ListDirectory(disk.path())->empty(); }));
}

// A descriptor that is closed at the start would get the number of the first pipe or connection that mrctl opens.
TEST_F(PipesTest, ClosedStandardDescriptorsAreRefusedAndNeverAPipeOfMrctlsOwn) {
  ASSERT_TRUE(WriteFileDurably(Path("rows"), "a,b\n1,2\n").ok());
  const auto run = [&](const std::string& arguments) {
    return RunProgram({"/bin/sh", "-c", "'" + BinaryDirectory() + "/mrctl' " + arguments}, Seconds(60));
  };
  const std::string select = "submit --local select --output - --input ";
  const RunResult out = run(select + Path("rows") + " >&-");
  EXPECT_EQ(out.exit, 2);
  EXPECT_THAT(out.err, HasSubstr("the result goes to standard output, which is closed; nothing was run"));
  const RunResult in = run(select + "- <&-");
  EXPECT_EQ(in.exit, 2);
  EXPECT_THAT(in.err, HasSubstr("cannot read --input -: standard input is closed; nothing was run"));
  const RunResult err = run(select + Path("rows") + " 2>&-");
  EXPECT_EQ(err.exit, 0);
  EXPECT_EQ(err.out, "a,b\n1,2\n");
  EXPECT_EQ(run("version >&-").exit, 2);
  const RunResult full = run("version >/dev/full");
  EXPECT_EQ(full.exit, 3);
  EXPECT_THAT(full.err, HasSubstr("cannot print the answer"));
}

TEST_F(PipesTest, StandardInputIsOneInputOnce) {
  EXPECT_EQ(Run({"submit", "--local", "join", "--input", "-", "--input", "-"}, "/dev/null"), 2);
  EXPECT_THAT(Err(), HasSubstr("--input - can be given once"));
  EXPECT_EQ(Run({"submit", "--local", "-", "--input", "-"}, "/dev/null"), 2);
}

TEST_F(PipesTest, EachChangeOfTheJobIsALineOnTheStatusDescriptor) {
  ASSERT_TRUE(WriteFileDurably(Path("in"), "a b\n").ok());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  SpawnOptions options = Spawn("/dev/null");
  options.inherit = {{write_end.get(), 3}};
  Process process = Begin({"submit", "--local", "--status-fd", "3", "wordcount", "--input", "in"}, options);
  write_end.reset();
  std::string text(1u << 16, '\0');
  size_t n = 0;
  for (ssize_t more; (more = read(read_end.get(), text.data() + n, text.size() - n)) > 0;)
    n += static_cast<size_t>(more);
  text.resize(n);
  EXPECT_EQ(process.Wait(Seconds(30)), 0) << Err();
  const size_t last = text.rfind('\n', text.size() - 2) + 1;
  EXPECT_THAT(text, testing::StartsWith("{\"id\":\"local_"));
  EXPECT_THAT(text.substr(last), HasSubstr("\"state\":\"SUCCEEDED\""));
  EXPECT_EQ(Out(), "a\t1\nb\t1\n");
}

TEST_F(PipesTest, ALocalJobEndsWithTheReaderOfItsStatus) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  SpawnOptions options = Spawn("/dev/null");
  options.inherit = {{write_end.get(), 3}};
  Process process = Begin({"submit", "--local", "--status-fd", "3", "sleep", "--ms", "60000"}, options);
  write_end.reset();
  char byte;
  ASSERT_EQ(read(read_end.get(), &byte, 1), 1) << Err();
  read_end.reset();
  EXPECT_EQ(process.Wait(Seconds(15)), 130) << Err();
  EXPECT_TRUE(Until(Seconds(15), [&] { return NothingLeft(); }));
}

class ClusterPipesTest : public PipesTest {
 protected:
  ClusterPipesTest() { EXPECT_TRUE(cluster_.Start().ok()) << cluster_.Logs(); }
  RunResult Mrctl(const std::vector<std::string>& args, const std::string& in) const {
    SpawnOptions options;
    options.stdin_path = in;
    return cluster_.Mrctl(args, Seconds(60), options);
  }
  // The names in the directory of temporary files, without those of the job's result.
  std::string Stored() const { return cluster_.Mrctl({"fs", "ls", "-R", "/"}).out; }

  Cluster cluster_;
};

TEST_F(ClusterPipesTest, RetriesReadStandardInputAgainAndNothingOfItIsLeft) {
  const std::string text = BinaryLines(2'000);
  ASSERT_TRUE(WriteFileDurably(Path("in"), text).ok());
  const RunResult run =
      Mrctl({"submit", "stream", "--map", "[ $MR_ATTEMPT != 1 ] || exit 3; cat", "--input", "-", "--output", "-"},
            Path("in"));
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_TRUE(run.out == text);
  EXPECT_THAT(Stored(), Not(HasSubstr("mrctl-")));
  const RunResult nothing = Mrctl({"submit", "wordcount", "--input", "-", "--output", "-"}, "/dev/null");
  EXPECT_EQ(nothing.exit, 0) << nothing.err;
  EXPECT_EQ(nothing.out, "");
}

TEST_F(ClusterPipesTest, ADetachedJobKeepsItsStandardInput) {
  ASSERT_TRUE(WriteFileDurably(Path("in"), "a b\na\n").ok());
  const RunResult run =
      Mrctl({"submit", "--detach", "stream", "--map", "sleep .5; cat", "--input", "-", "--output", "/out"}, Path("in"));
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_THAT(Stored(), Not(HasSubstr("mrctl-"))) << "the job has pinned it";
  ASSERT_EQ(cluster_.Mrctl({"wait", "last"}).exit, 0);
  EXPECT_EQ(cluster_.Mrctl({"fs", "cat", "/out"}).out, "a b\na\n");
}

TEST_F(ClusterPipesTest, NothingIsStoredOfAnInputThatWasInterrupted) {
  const SilentFifo fifo(Path("fifo"));
  SpawnOptions options = Spawn(Path("fifo"));
  options.env = {"MR_MASTER=" + cluster_.master_address()};
  Process process = Begin({"submit", "wordcount", "--input", "-", "--output", "/out"}, options);
  const std::string words(64u << 10, 'x');
  for (int i = 0; i < 40; ++i) ASSERT_EQ(write(fifo.fd(), words.data(), words.size()), 64 << 10);
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(Seconds(15)), 130) << Err();
  EXPECT_THAT(Stored(), Not(HasSubstr("mrctl-")));
  const RunResult explained = Mrctl({"explain", "wordcount", "--input", "-", "--output", "/out"}, "/dev/null");
  EXPECT_EQ(explained.exit, 2);
  EXPECT_THAT(explained.err, HasSubstr("explain does not read standard input"));
}

}  // namespace
}  // namespace mr::test
