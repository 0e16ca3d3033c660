// Services for operators while they run, with real binaries: bad records, failures that ask for another try, side
// files, cancellation, memory of a stage.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class RuntimeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.workers = 2, .slots = 2});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    // 2,000 lines, each 200th of them bad.
    std::string text;
    for (int i = 1; i <= 2000; ++i) text += (i % 200 == 100 ? "bad " : "") + std::to_string(i) + "\n";
    Write("numbers", text);
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  static std::string Path(const std::string& name) { return cluster_->directory() + "/" + name; }
  static std::string Uri(const std::string& name) { return "file://" + Path(name); }
  static void Write(const std::string& name, const std::string& text) { std::ofstream(Path(name)) << text; }
  static std::string Read(const std::string& path) {
    const Result<std::string> text = ReadFile(path);
    return text.ok() ? *text : "";
  }
  static RunResult Mrctl(std::vector<std::string> args) { return cluster_->Mrctl(std::move(args), Seconds(60)); }
  // A job of the library over an input in small splits.
  static RunResult Submit(const std::string& job, const std::string& input, const std::string& output,
                          std::vector<std::string> more) {
    std::vector<std::string> args = {"--no-progress",
                                     "submit",
                                     "--lib",
                                     BinaryDirectory() + "/../lib/libruntime_operators.so",
                                     job,
                                     "--input",
                                     Uri(input),
                                     "--output",
                                     Uri(output),
                                     "--conf",
                                     "max_split_bytes=1k"};
    args.insert(args.end(), more.begin(), more.end());
    return Mrctl(args);
  }
  static std::string JobOf(const RunResult& run) {
    const std::string text = run.out + run.err;
    const size_t at = text.find("job_");
    return text.substr(at, text.find_first_not_of("job_0123456789", at) - at);
  }
  static bool Soon(const std::function<bool()>& is) {
    for (const Instant end = Now() + Seconds(20); Now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
      if (is()) return true;
    }
    return is();
  }

  static Cluster* cluster_;
};
Cluster* RuntimeTest::cluster_ = nullptr;

TEST_F(RuntimeTest, BadRecordsAreLeftOutAndCounted) {
  const RunResult run = Submit("numbers", "numbers", "skipped", {"--max-bad-records", "10", "--reduces", "1"});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_THAT(run.err, HasSubstr("10 bad records were skipped"));
  // 1 to 2000 without 100, 300, ..., 1900.
  EXPECT_EQ(SortedLines(ReadParts(Path("skipped"))),
            "lines\t1990\nsum\t" + std::to_string(2000 * 2001 / 2 - 10000) + "\n");
  EXPECT_THAT(Mrctl({"job", "counters", JobOf(run)}).out, ContainsRegex("mr +bad_records +10\n"));
  EXPECT_THAT(Mrctl({"logs", JobOf(run)}).out, HasSubstr("bad record, skipped: " + Uri("numbers") + ", byte "));
}

// The job ends, and the workers go on: the slots are free for the next one.
TEST_F(RuntimeTest, TooManyOrTooLongCountersFailTheJobAtOnce) {
  const auto submit = [](const std::string& output, const std::string& awk) {
    const std::string command = "cat > /dev/null; awk 'BEGIN { " + awk + " }' > /dev/stderr";
    return Mrctl({"--no-progress", "submit", "stream", "--map", command, "--reduce", "cat", "--input", Uri("numbers"),
                  "--output", Uri(output)});
  };
  for (const char* count : {"90000", "1000000"}) {
    const RunResult many = submit(
        "many", std::string("for (i = 0; i < ") + count + R"(; ++i) print "reporter:counter:group,name " i ",1")");
    EXPECT_EQ(many.exit, 1) << many.err << cluster_->Logs();
    EXPECT_THAT(many.err, HasSubstr("failed 1 time,")) << "each attempt would count the same";
    EXPECT_THAT(many.err, HasSubstr("more than 256 counters: 'name 256' is one more"));
  }
  const RunResult lengthy = submit("long", R"(s = sprintf("%4000s", "x"); for (i = 0; i < 1400; ++i) )"
                                           R"(print "reporter:counter:group," i s ",1")");
  EXPECT_EQ(lengthy.exit, 1) << lengthy.err << cluster_->Logs();
  EXPECT_THAT(lengthy.err, HasSubstr("bytes; at most 256 are possible"));
  const RunResult after = Submit("numbers", "numbers", "after", {"--max-bad-records", "10", "--reduces", "1"});
  EXPECT_EQ(after.exit, 0) << after.err << cluster_->Logs();
}

TEST_F(RuntimeTest, TheFirstBadRecordFailsTheJobByDefault) {
  const RunResult run = Submit("numbers", "numbers", "none", {});
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.err, HasSubstr("failed 1 time,")) << "each attempt would meet it";
  EXPECT_THAT(run.err,
              ContainsRegex("numbers, byte [0-9]+: 'bad [0-9]+' is no number \\(--max-bad-records N would skip"));
  EXPECT_FALSE(PathExists(Path("none")));
}

TEST_F(RuntimeTest, LimitOfBadRecordsIsThatOfTheWholeJob) {
  // No task has more than two of them.
  const RunResult run = Submit("numbers", "numbers", "limit", {"--max-bad-records", "9"});
  EXPECT_EQ(run.exit, 1) << run.err << cluster_->Logs();
  EXPECT_THAT(run.err, HasSubstr("met 10 bad records together, and --max-bad-records is 9"));
  EXPECT_THAT(run.err, ContainsRegex("among them: file:///.*numbers, byte [0-9]+: 'bad [0-9]+' is no number"));
  // At once, not after as many attempts as a task may have.
  EXPECT_THAT(run.err, HasSubstr("failed 1 time,"));
  EXPECT_FALSE(PathExists(Path("limit")));
}

TEST_F(RuntimeTest, OneTaskAboveTheLimitFailsByItself) {
  Write("rotten", "1\nx\ny\nz\n2\n");
  const RunResult run = Submit("numbers", "rotten", "rotten.out", {"--max-bad-records", "2"});
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.err, HasSubstr("failed 1 time,"));
  EXPECT_THAT(run.err, HasSubstr("it met 3 bad records, and --max-bad-records is 2; the last one: " + Uri("rotten") +
                                 ", byte 6: 'z' is no number"));
}

TEST_F(RuntimeTest, BadRowsOfTablesAreLeftOut) {
  Write("table.csv", "city,amount\na,1\nb\na,x\na,2\n");
  const std::vector<std::string> job = {"--no-progress",  "submit",   "aggregate",         "--by",
                                        "city",           "--agg",    "count,sum(amount)", "--input",
                                        Uri("table.csv"), "--output", Uri("table.out")};
  RunResult run = Mrctl(job);
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.err, HasSubstr("table.csv, byte 16: the row has 1 fields, the header has 2"));
  std::vector<std::string> lenient = job;
  lenient.insert(lenient.end(), {"--max-bad-records", "2"});
  run = Mrctl(lenient);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(ReadParts(Path("table.out")), "city,count,sum(amount)\na,2,3\n");
}

TEST_F(RuntimeTest, ARetryableFailureCostsNoAttempt) {
  Write("line", "hello\n");
  RunResult run = Submit("unlucky", "line", "lucky", {"--times", "3", "--max-attempts", "1"});
  EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(ReadParts(Path("lucky")), "hello\n");
  run = Mrctl({"--no-progress", "submit", "stream", "--map", "[ $MR_ATTEMPT -gt 2 ] || exit 75; cat", "--max-attempts",
               "1", "--input", Uri("line"), "--output", Uri("tempfail")});
  EXPECT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(ReadParts(Path("tempfail")), "hello\n");
  // It is bounded all the same.
  run = Submit("unlucky", "line", "unlucky", {"--times", "1000"});
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.err, HasSubstr("failed 8 times"));
  EXPECT_THAT(run.err, HasSubstr("operator rt.unlucky failed and asks to be tried again: the licence server is busy"));
}

TEST_F(RuntimeTest, AFinalFailureEndsTheJobAtOnce) {
  Write("text", "no picture\n");
  const RunResult run = Submit("refuses", "text", "pictures", {"--max-attempts", "9"});
  EXPECT_EQ(run.exit, 1);
  EXPECT_THAT(run.err, HasSubstr("task 0 of stage 'map' failed 1 time,"));
  EXPECT_THAT(run.err, HasSubstr("operator rt.refuses failed: this is no picture"));
  const std::string attempts = Mrctl({"job", "attempts", JobOf(run)}).out;
  EXPECT_EQ(attempts.find("retry"), std::string::npos) << attempts;
}

TEST_F(RuntimeTest, SideFilesReachEveryAttempt) {
  Write("dictionary.txt", "a Ada\nb Bob\n");
  Write("nothing", "");
  std::string text;
  for (int i = 0; i < 2000; ++i) text += i % 2 == 0 ? "a\n" : "b\n";
  Write("letters", text);
  const std::vector<std::string> files = {"--files", Path("dictionary.txt") + "#names", "--files",
                                          Path("nothing") + "#empty"};
  for (const std::string out : {"looked", "again"}) {
    const RunResult run = Submit("lookup", "letters", out, files);
    ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
    EXPECT_EQ(Shell("sort '" + Path(out) + "'/part-* | uniq -c | awk '{print $1, $2, $3}'"),
              "1000 a Ada\n1000 b Bob\n");
  }
  // The library and two files, once on each daemon; their names go with the job.
  for (const std::string& data : {cluster_->master_data(), cluster_->worker_data(0), cluster_->worker_data(1)}) {
    EXPECT_EQ(Shell("ls '" + data + "'/lib/*.so | wc -l"), Shell("ls '" + data + "'/lib | wc -l")) << data;
    EXPECT_LE(std::stoi(Shell("ls '" + data + "'/lib | wc -l")), 3) << data;
  }
  for (int w = 0; w < 2; ++w) {
    EXPECT_TRUE(
        Soon([&] { return Shell("ls '" + cluster_->worker_data(w) + "/files' 2>/dev/null | wc -l") == "0\n"; }));
  }
  const RunResult without = Submit("lookup", "letters", "without", {});
  EXPECT_EQ(without.exit, 1);
  EXPECT_THAT(without.err, HasSubstr("failed 1 time,")) << "no other attempt would have one";
  EXPECT_THAT(without.err, HasSubstr("the job has no side file 'names'; submit it with --files PATH#names"));
}

TEST_F(RuntimeTest, CommandsFindSideFilesInTheirDirectory) {
  Write("words.sed", "s/hello/goodbye/\n");
  Write("greeting", "hello\n");
  const RunResult run = Mrctl({"--no-progress", "submit", "stream", "--map", "sed -f \"$MR_FILES_DIR/words.sed\"",
                               "--files", Path("words.sed"), "--input", Uri("greeting"), "--output", Uri("greeted")});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(ReadParts(Path("greeted")), "goodbye\n");
}

TEST_F(RuntimeTest, SideFilesThatCannotBeSentAreRefused) {
  Write("some", "x\n");
  std::filesystem::create_directories(Path("dir"));
  std::filesystem::create_directories(Path("other"));
  Write("other/some", "y\n");
  Write("huge", "");
  std::filesystem::resize_file(Path("huge"), (1ull << 30) + 1);
  const auto refused = [&](const std::vector<std::string>& files, int exit, const std::string& said) {
    std::vector<std::string> args;
    for (const std::string& file : files) args.insert(args.end(), {"--files", file});
    const RunResult run = Submit("lookup", "numbers", "refused", args);
    EXPECT_EQ(run.exit, exit) << said << ": " << run.err;
    EXPECT_THAT(run.err, HasSubstr(said));
  };
  refused({Path("missing")}, 7, "missing does not exist");
  refused({Path("some"), Path("other/some")}, 2, "have the same name 'some'");
  refused({Path("some") + "#a/b"}, 2, "'a/b' is no name of a file");
  refused({Path("dir")}, 2, "is no regular file");
  refused({Path("huge")}, 2, "the limit is 1073741824 (1 GiB)");
  refused({"dfs:///some"}, 2, "a side file must be on this machine");
  EXPECT_FALSE(PathExists(Path("refused")));
  std::filesystem::remove(Path("huge"));
}

TEST_F(RuntimeTest, NamedOutputsStandBesideTheMainOne) {
  const std::string bad = Shell("grep -c bad '" + Path("numbers") + "'");
  RunResult run = Submit("sieve", "numbers", "sieved", {});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  const std::string in = "cd '" + Path("sieved") + "' && ";
  EXPECT_EQ(Shell(in + "cat part-m-*"), Shell("grep -v bad '" + Path("numbers") + "'"));
  EXPECT_EQ(Shell(in + "cat errors-m-*"), Shell("grep bad '" + Path("numbers") + "'"));
  EXPECT_EQ(Shell(in + "zcat lengths-m-*.gz | wc -l"), bad);
  const std::string tasks = Shell(in + "ls part-m-* | wc -l");
  EXPECT_GT(std::stoi(tasks), 1);
  EXPECT_EQ(Shell(in + "ls errors-m-* | wc -l"), tasks);
  EXPECT_EQ(Shell(in + "grep -o 'errors-m-[0-9]*' _SUCCESS | sort -u | wc -l"), tasks);
  // In the block store likewise: one record makes all of them visible.
  run = Mrctl({"--no-progress", "submit", "--lib", BinaryDirectory() + "/../lib/libruntime_operators.so", "sieve",
               "--input", Uri("numbers"), "--output", "/sieved"});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  EXPECT_EQ(Mrctl({"fs", "cat", "/sieved/errors-m-00000"}).out.substr(0, 4), "bad ");
  EXPECT_THAT(Mrctl({"fs", "ls", "/sieved"}).out, HasSubstr("lengths-m-00000.gz"));
  EXPECT_THAT(Mrctl({"explain", "--lib", BinaryDirectory() + "/../lib/libruntime_operators.so", "sieve", "--input",
                     Uri("numbers")})
                  .out,
              HasSubstr("files 'errors' (text)"));
}

TEST_F(RuntimeTest, AKilledJobsOperatorHearsOfIt) {
  Write("one", "x\n");
  const RunResult run = Submit("patient", "one", "patience", {"--file", Path("patience.told"), "--detach"});
  ASSERT_EQ(run.exit, 0) << run.err;
  ASSERT_TRUE(Soon([&] { return Read(Path("patience.told")) == "asked"; })) << cluster_->Logs();
  EXPECT_EQ(Mrctl({"kill", JobOf(run)}).exit, 0);
  EXPECT_TRUE(Soon([&] { return Read(Path("patience.told")) == "cancelled"; }));
}

TEST_F(RuntimeTest, MemoryOfAStageIsExplainedAndHolds) {
  const std::string lib = BinaryDirectory() + "/../lib/libruntime_operators.so";
  const RunResult plan = Mrctl({"explain", "--lib", lib, "numbers", "--input", Uri("numbers")});
  EXPECT_EQ(plan.exit, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("memory  map 600 MiB per attempt"));
  EXPECT_THAT(Mrctl({"explain", "-o", "json", "--lib", lib, "numbers", "--input", Uri("numbers")}).out,
              ContainsRegex("\"memory_bytes\": ?629145600"));
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "with the address sanitizer tasks have no limit of memory";
#endif
  // The limits that the operators themselves see. The reduce has the job's.
  const RunResult run = Submit("numbers", "numbers", "limited", {"--memory", "300m", "--max-bad-records", "10"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const std::string counters = Mrctl({"job", "counters", JobOf(run)}).out;
  EXPECT_THAT(counters, ContainsRegex("map +memory MiB +600\n"));
  EXPECT_THAT(counters, ContainsRegex("reduce +memory MiB +300\n"));
  // Without one the reduce has the worker's memory over its slots.
  const RunResult other = Submit("numbers", "numbers", "default", {"--max-bad-records", "10"});
  ASSERT_EQ(other.exit, 0) << other.err;
  EXPECT_THAT(Mrctl({"job", "counters", JobOf(other)}).out, ContainsRegex("reduce +memory MiB +32768\n"));
  EXPECT_THAT(Mrctl({"worker", "show", "w1"}).out, HasSubstr("memory      64 GiB for attempts, 32 GiB per slot\n"));
}

}  // namespace
}  // namespace mr::test
