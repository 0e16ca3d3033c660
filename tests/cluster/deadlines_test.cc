// A cluster learns from the runs of a recurring job, and answers whether its deadline can be met. With the real
// binaries.

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
    cluster_ = new Cluster({.workers = 2, .slots = 2, .master_flags = {"--scheduler=fair,jockey"}});
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

// Eight tasks of so many milliseconds, on four slots.
std::vector<std::string> Naps(const std::string& name, const std::string& out, int ms,
                              const std::vector<std::string>& more = {}) {
  std::vector<std::string> args = {"submit",           "sleep",   "--name", name,       "--ms",
                                   std::to_string(ms), "--tasks", "8",      "--output", out};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

// The deadline that a refusal names as the earliest, written as a flag takes it.
std::string Earliest(const std::string& refusal) {
  const std::string before = "the earliest deadline that can be promised is ";
  const size_t at = refusal.find(before) + before.size();
  std::string earliest = refusal.substr(at, refusal.find(" (", at) - at);
  earliest.erase(std::remove(earliest.begin(), earliest.end(), ' '), earliest.end());
  return earliest;
}

TEST_F(DeadlinesTest, ADeadlineThatCannotBeMetIsRefusedWithTheOneThatCan) {
  // The job never ran and has no input, so that nothing speaks against its deadline.
  const RunResult first = Mrctl(Naps("naps", Uri("naps1"), 200, {"--deadline", "1h"}));
  ASSERT_EQ(first.exit, 0) << first.err << cluster_->Logs();
  ASSERT_THAT(UntilProfileHas("naps", ": 1 run, "), HasSubstr("naps, plan "));

  const RunResult late = Mrctl(Naps("naps", Uri("naps2"), 200, {"--deadline", "100ms"}));
  EXPECT_EQ(late.exit, 3) << late.err;
  EXPECT_THAT(late.err,
              HasSubstr("the deadline of 100 ms cannot be met: its longest chain of tasks alone takes about "));
  EXPECT_THAT(late.err, HasSubstr("; the earliest deadline that can be promised is "));
  EXPECT_FALSE(PathExists(Path("naps2")));
  const RunResult few = Mrctl(Naps("naps", Uri("naps2"), 200, {"--deadline", "350ms"}));
  EXPECT_EQ(few.exit, 3) << "two rounds of tasks on four slots: " << few.err;

  // The deadline that was reported as the earliest is admitted, and its slots are guaranteed.
  const std::string earliest = Earliest(few.err);
  const RunResult in_time = Mrctl(Naps("naps", Uri("naps4"), 200, {"-q", "--detach", "--deadline", earliest}));
  ASSERT_EQ(in_time.exit, 0) << earliest << ": " << in_time.err;
  const std::string id = in_time.out.substr(0, in_time.out.find('\n'));
  EXPECT_EQ(Mrctl({"wait", id}).exit, 0);
  EXPECT_THAT(Mrctl({"-v", "why", id}).out, HasSubstr(": steered: "));
  EXPECT_THAT(Mrctl({"-v", "why", id}).out, HasSubstr(" slots guaranteed: "));
  EXPECT_THAT(Mrctl({"job", "show", id}).out, HasSubstr("predicted   of "));

  const RunResult anyhow =
      Mrctl(Naps("naps", Uri("naps3"), 200, {"--deadline", "100ms", "--best-effort", "--strict-deadline"}));
  EXPECT_EQ(anyhow.exit, 8) << "it ran, and was late: " << anyhow.err;
}

TEST_F(DeadlinesTest, SlotsThatAreGuaranteedToAJobAreNotPromisedTwice) {
  ASSERT_EQ(Mrctl(Naps("holder", Uri("holder0"), 1000)).exit, 0);
  ASSERT_THAT(UntilProfileHas("holder", ": 1 run, "), HasSubstr("holder, plan "));
  // The earliest deadline needs all four slots, whatever a task costs on this machine.
  const std::string earliest = Earliest(Mrctl(Naps("holder", Uri("holder1"), 1000, {"--deadline", "1s"})).err);
  const RunResult holder = Mrctl(Naps("holder", Uri("holder1"), 1000, {"-q", "--detach", "--deadline", earliest}));
  ASSERT_EQ(holder.exit, 0) << earliest << ": " << holder.err;
  const RunResult second = Mrctl(Naps("holder", Uri("holder2"), 1000, {"-q", "--detach", "--deadline", earliest}));
  EXPECT_EQ(second.exit, 3) << second.err;
  EXPECT_THAT(second.err, testing::ContainsRegex("it needs 4 slots, and of the cluster's 4 .* to jobs with deadlines"));
  EXPECT_THAT(second.err, HasSubstr("; the earliest deadline that can be promised is "));
  // Its end is predicted while it runs.
  const std::string held = holder.out.substr(0, holder.out.find('\n'));
  EXPECT_THAT(Mrctl({"top"}).out, testing::ContainsRegex("\n" + held +
                                                         ": ends [0-9:]+ .*deadline [0-9:]+, 4 slots "
                                                         "guaranteed"));
  EXPECT_THAT(Mrctl({"job", "show", held}).out, testing::ContainsRegex("expected    ends [0-9:]+"));
  EXPECT_THAT(Mrctl({"-o", "json", "job", "show", held}).out, testing::ContainsRegex("\"ends_s\":[0-9]"));
  EXPECT_THAT(Mrctl({"attach", held}).err, testing::ContainsRegex(held + " ends [0-9:]+ .*deadline [0-9:]+, "));
  // One without a deadline is welcome all the same.
  const RunResult other = Mrctl(Naps("holder", Uri("holder3"), 1, {"-q", "--detach"}));
  EXPECT_EQ(other.exit, 0) << other.err;
  const std::string id = holder.out.substr(0, holder.out.find('\n'));
  EXPECT_EQ(Mrctl({"wait", id}).exit, 0);
}

TEST_F(DeadlinesTest, ExplainSaysWhetherADeadlineWouldBeAdmitted) {
  ASSERT_EQ(Mrctl(Naps("rivals", Uri("rivals0"), 300)).exit, 0);
  ASSERT_THAT(UntilProfileHas("rivals", ": 1 run, "), HasSubstr("rivals, plan "));
  const RunResult alone = Mrctl({"-o", "json", "explain", "sleep", "--name", "rivals", "--ms", "300", "--tasks", "8",
                                 "--deadline", "1h", "--output", Uri("rivals1")});
  EXPECT_EQ(alone.exit, 0) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("\"admitted\":true"));
  EXPECT_THAT(alone.out, HasSubstr("\"earlier_runs\":1"));
  EXPECT_THAT(alone.out, HasSubstr("\"needs_slots\":1,"));
  const RunResult refused = Mrctl({"-o", "json", "explain", "sleep", "--name", "rivals", "--ms", "300", "--tasks", "8",
                                   "--deadline", "10ms", "--output", Uri("rivals1")});
  EXPECT_EQ(refused.exit, 3) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("\"refusals\":[{\"code\":\"rejected\""));
  EXPECT_FALSE(PathExists(Path("rivals1")));
}

TEST_F(DeadlinesTest, ExplainShowsSplitsPlacesAndTimesBySlots) {
  const std::vector<std::string> args = {"explain", "wordcount", "--name",   "explained",
                                         "--input", Uri("in"),   "--output", Uri("explained")};
  const RunResult before = Mrctl(args);
  EXPECT_EQ(before.exit, 0) << before.err;
  EXPECT_THAT(before.out,
              HasSubstr("no earlier run with this name and stages: a guess, perhaps off by several times, from the "
                        "size of its input"));
  std::vector<std::string> run = args;
  run[0] = "submit";
  ASSERT_EQ(Mrctl(run).exit, 0);
  ASSERT_THAT(UntilProfileHas("explained", ": 1 run, "), HasSubstr("explained, plan "));
  const RunResult there = Mrctl(args);
  EXPECT_EQ(there.exit, 3) << "its output exists now";
  EXPECT_THAT(there.err, HasSubstr("would be refused: output "));
  EXPECT_THAT(there.out, HasSubstr("time by slots, of 4 in the cluster; 1 earlier run; confidence low"));
  EXPECT_THAT(there.out, HasSubstr("SPLITS"));
  // Places are of the block store's files.
  ASSERT_EQ(Mrctl({"fs", "put", Path("in"), "/explained-in"}).exit, 0);
  const RunResult stored = Mrctl({"-o", "json", "explain", "wordcount", "--input", "/explained-in"});
  EXPECT_EQ(stored.exit, 0) << stored.err;
  EXPECT_THAT(stored.out, HasSubstr("\"splits\":1,\"splits_with_replica\":1,\"workers_with_replica\":2"));
  // A job that cannot be planned gives the error of a submit.
  EXPECT_EQ(Mrctl({"explain", "wordcount", "--input", Uri("absent")}).exit, 7);
  EXPECT_EQ(RunMrctl({"--master", "127.0.0.1:1", "explain", "wordcount", "--input", Uri("in")}).exit, 5);
  const RunResult local = RunMrctl({"explain", "wordcount", "--local", "--input", Path("in")});
  EXPECT_EQ(local.exit, 0) << local.err;
  EXPECT_THAT(local.out, HasSubstr("count"));
  // A local run's output that is there, and an input that would be written over, stand in the way of a submit alone.
  const RunResult in_the_way =
      RunMrctl({"explain", "wordcount", "--local", "--input", Path("in"), "--output", Path("explained")});
  EXPECT_EQ(in_the_way.exit, 3);
  EXPECT_EQ(in_the_way.out.substr(in_the_way.out.find('\n', in_the_way.out.find('\n') + 1)),
            local.out.substr(local.out.find('\n', local.out.find('\n') + 1)));
  EXPECT_THAT(in_the_way.err,
              HasSubstr("would be refused: output " + Path("explained") + " exists and is not empty; name another"));
  const RunResult itself =
      Mrctl({"explain", "wordcount", "--overwrite", "--input", Uri("explained"), "--output", Uri("explained")});
  EXPECT_EQ(itself.exit, 3) << itself.out << itself.err;
  EXPECT_THAT(itself.err, HasSubstr("lies in the output"));
  EXPECT_THAT(itself.out, HasSubstr("SPLITS"));
}

TEST_F(DeadlinesTest, ARunningJobsDeadlineAndPriorityCanBeSet) {
  const RunResult submitted =
      Mrctl({"-q", "submit", "--detach", "sleep", "--ms", "60000", "--tasks", "2", "--output", Uri("set")});
  ASSERT_EQ(submitted.exit, 0) << submitted.err;
  const std::string id = submitted.out.substr(0, submitted.out.find('\n'));
  EXPECT_EQ(Mrctl({"job", "set", id}).exit, 2);
  EXPECT_EQ(Mrctl({"job", "set", id, "--deadline", "5"}).exit, 2);
  EXPECT_EQ(Mrctl({"job", "set", "job_99_0099", "--priority", "1"}).exit, 7);
  const RunResult late = Mrctl({"job", "set", id, "--deadline", "1ms"});
  EXPECT_EQ(late.exit, 0) << "it runs on: " << late.err;
  EXPECT_THAT(late.err, HasSubstr("warning: the deadline of 1 ms after its submission cannot be met: "));
  EXPECT_EQ(late.out, "");
  const RunResult in_time = Mrctl({"job", "set", id, "--deadline", "10m", "--priority", "7"});
  ASSERT_EQ(in_time.exit, 0);
  EXPECT_THAT(in_time.err, testing::Not(HasSubstr("warning")));
  const auto show = [&] { return Mrctl({"job", "show", id}).out; };
  const auto until_predicted = [&] {
    const Instant end = Now() + Seconds(20);
    while (show().find("not known, best effort") == std::string::npos && Now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  until_predicted();
  EXPECT_THAT(show(), HasSubstr("deadline    10m00s after its submission"));
  EXPECT_THAT(show(), HasSubstr("priority    7\n"));
  EXPECT_THAT(show(), HasSubstr("not known, best effort: no earlier run"));
  EXPECT_THAT(Mrctl({"-o", "json", "job", "show", id}).out, HasSubstr("\"deadline_s\":600.0"));
  // It outlives the master.
  cluster_->KillMaster();
  ASSERT_TRUE(cluster_->StartMaster().ok());
  EXPECT_THAT(show(), HasSubstr("deadline    10m00s after its submission"));
  until_predicted();
  EXPECT_THAT(show(), HasSubstr("not known, best effort: no earlier run"));
  ASSERT_EQ(Mrctl({"job", "set", id, "--deadline", "none"}).exit, 0);
  EXPECT_THAT(show(), testing::Not(HasSubstr("deadline  ")));
  EXPECT_THAT(show(), HasSubstr("priority    7\n"));
  EXPECT_EQ(Mrctl({"kill", id}).exit, 0);
  EXPECT_EQ(Mrctl({"wait", id}).exit, 4);
  EXPECT_EQ(Mrctl({"job", "set", id, "--priority", "1"}).exit, 3) << "it has ended";
}

TEST_F(DeadlinesTest, AUtilityIsReadWithClearErrors) {
  const auto submit = [](const std::string& points) {
    return Mrctl(Naps("worth", Uri("worth"), 1, {"--conf", "jockey.utility=" + points}));
  };
  EXPECT_THAT(submit("0:1,30m").err, HasSubstr("'30m' is no point"));
  EXPECT_THAT(submit("0:1,30m:x").err, HasSubstr("the part after the colon is no number"));
  EXPECT_THAT(submit("0:1,30:1").err, HasSubstr("--conf jockey.utility: '30:1'"));
  EXPECT_THAT(submit("30m:1,20m:-1").err, HasSubstr("times must increase"));
  EXPECT_THAT(submit("0:1").err, HasSubstr("at least two points"));
  EXPECT_EQ(submit("0:1").exit, 2);
  const RunResult good = submit("0:1,30m:1,40m:-1");
  EXPECT_EQ(good.exit, 0) << good.err << cluster_->Logs();
  const std::string shown = Mrctl({"job", "show", good.out.substr(0, good.out.find(' '))}).out;
  EXPECT_THAT(shown, HasSubstr("deadline    by its utility\n"));
  EXPECT_THAT(shown, HasSubstr("predicted   not known, best effort: no earlier run"));
  EXPECT_EQ(Mrctl(Naps("worth", Uri("worth2"), 1, {"--best-effort"})).exit, 2) << "without a deadline";
}

}  // namespace
}  // namespace mr::test
