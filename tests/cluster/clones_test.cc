// Clones in real processes: dolly runs each task twice, and delay_assignment chooses a replica for each reader. One
// worker naps long, or dies, or an operator is random. The answer is right in each case.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/small_disk.h"

namespace mr::test {
namespace {

constexpr char kJob[] = "job_1_0001";

// The number behind "key": in the part of the text that begins with `after`; -1 where there is none.
double Number(const std::string& text, const std::string& after, const std::string& key) {
  const size_t from = text.find(after);
  const size_t at = from == std::string::npos ? from : text.find("\"" + key + "\":", from);
  return at == std::string::npos ? -1 : std::atof(text.c_str() + at + key.size() + 3);
}

size_t Count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

struct Setup {
  std::string omega;
  int slow = 0;        // seconds that a map naps on the first worker; a second elsewhere
  int reduce_nap = 0;  // before a reduce reads its first line
  std::vector<std::string> env;
};

// Two maps and two reduces, each as two clones, on eight workers of a slot: no two attempts of maps are on one worker,
// and the slow one has room for a single one of them.
class Clones {
 public:
  explicit Clones(const Setup& setup)
      : reduce_nap_(setup.reduce_nap),
        cluster_({.workers = 8,
                  .slots = 1,
                  .master_flags = {"--scheduler=fair(slowstart=1),dolly(floor=40,tau=1,beta=1,p=0.1),"
                                   "delay_assignment(omega=" +
                                   setup.omega + ")"},
                  .labels = Labels(setup.slow),
                  .env = setup.env}) {}

  // meanwhile: when the job is submitted.
  void Run(const std::function<void(Cluster&)>& meanwhile = nullptr) {
    const Status started = cluster_.Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    const std::string dir = cluster_.directory();
    ASSERT_TRUE(MakeDirectories(dir + "/in").ok());
    WriteBible(dir + "/in/0", 60'000);
    WriteWords(dir + "/in/1", 5'000, 7);
    auto run = cluster_.MrctlInBackground(
        {"submit", "stream", "--map", "sleep $MR_LABEL_SLOWDOWN; tr -s ' ' '\\n' | sed 's/$/\\t1/'", "--reduce",
         "sleep " + std::to_string(reduce_nap_) + "; awk -F'\\t' '{c[$1]+=$2} END {for (k in c) print k \"\\t\" c[k]}'",
         "--reduces", "2", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
        "submit");
    ASSERT_TRUE(run.ok());
    if (meanwhile) meanwhile(cluster_);
    ASSERT_EQ(run->Wait(Seconds(90)), 0) << cluster_.Logs();
    EXPECT_EQ(SortedLines(ReadParts(dir + "/out")),
              SortedLines(Shell("cat '" + dir + "/in/0' '" + dir +
                                "/in/1' | tr -s ' ' '\\n' | sort | uniq -c | awk '{c=$1; $1=\"\"; print substr($0,2) "
                                "\"\\t\" c}'")));
    json = cluster_.Mrctl({"-o", "json", "job", "show", kJob}).out;
    attempts = cluster_.Mrctl({"job", "attempts", kJob}).out;
    why = Why("task_1_0001_1_r_000000") + Why("task_1_0001_1_r_000001");
  }

  double Reads(const std::string& how) const { return Number(json, "\"reads\"", how); }
  std::string Why(const std::string& what) const { return cluster_.Mrctl({"why", what}).out; }
  std::string All() const { return json + "\n" + attempts + "\n" + why; }
  const Cluster& cluster() const { return cluster_; }

  std::string json, attempts, why;

 private:
  static std::vector<std::string> Labels(int slow) {
    std::vector<std::string> labels(8, "slowdown=1");
    labels[0] = "slowdown=" + std::to_string(slow);
    return labels;
  }

  const int reduce_nap_;
  Cluster cluster_;
};

TEST(ClonesTest, EachCloneReadsAReplicaOfItsOwnWhereAllAreMadeWithinOmega) {
  Clones clones({.omega = "20s", .slow = 3, .reduce_nap = 5, .env = {}});
  ASSERT_NO_FATAL_FAILURE(clones.Run());
  EXPECT_EQ(clones.Reads("exclusive"), 8) << clones.All();
  EXPECT_EQ(clones.Reads("contended"), 0) << clones.All();
  EXPECT_EQ(clones.Reads("rebound"), 0) << clones.All();
  EXPECT_EQ(Number(clones.json, "\"clones\"", "launched"), 4) << clones.All();
  EXPECT_EQ(Number(clones.json, "\"clones\"", "omega_s"), 20) << clones.All();
  EXPECT_EQ(Count(clones.attempts, " clone "), 4u) << clones.attempts;
  EXPECT_EQ(Count(clones.why, "a replica that no other clone of its task reads"), 8u) << clones.why;
  EXPECT_NE(clones.why.find("it reads the output of attempt_1_0001_0_m_000001_"), std::string::npos) << clones.why;
  const std::string show = clones.cluster().Mrctl({"job", "show", kJob}).out;
  EXPECT_NE(show.find("8 from an exclusive replica, 0 from a shared one"), std::string::npos) << show;
  EXPECT_NE(show.find("up to 20.0 s for an exclusive replica"), std::string::npos) << show;
}

TEST(ClonesTest, ClonesShareAReplicaWhereTheOtherIsNotMadeWithinOmega) {
  Clones clones({.omega = "2s", .slow = 60, .reduce_nap = 5, .env = {}});
  ASSERT_NO_FATAL_FAILURE(clones.Run());
  // The slow worker runs a clone of one map. One reader of each reduce has that map's replica for itself. The other one
  // joins it when omega is over, and the slow clone is ended.
  EXPECT_EQ(clones.Reads("exclusive"), 6) << clones.All();
  EXPECT_EQ(clones.Reads("contended"), 2) << clones.All();
  EXPECT_EQ(Count(clones.why, "a replica that it shares"), 2u) << clones.why;
  const std::string maps = clones.Why("task_1_0001_0_m_000000") + clones.Why("task_1_0001_0_m_000001");
  EXPECT_EQ(Count(maps, "and readers have waited"), 1u) << maps;
}

TEST(ClonesTest, ReadersGetAnotherReplicaWhenTheWorkerOfTheirsIsKilled) {
  const TempDirectory tokens;
  const std::string token = tokens / "token";
  std::ofstream(token) << "x";
  // The worker dies when the first byte of a replica is requested, before any byte of it was read.
  Clones clones({.omega = "20s", .slow = 1, .reduce_nap = 8, .env = {"MR_FAULT=serve:1:" + token}});
  ASSERT_NO_FATAL_FAILURE(clones.Run());
  EXPECT_FALSE(PathExists(token));
  EXPECT_GE(clones.Reads("rebound"), 1) << clones.All();
  EXPECT_NE(clones.why.find("since the replica that it was bound to is gone"), std::string::npos) << clones.why;
}

// Half of the readers wait for a replica of their own when the master dies, and get it from the next one.
TEST(ClonesTest, ReadersGetTheirReplicasFromTheNextMasterToo) {
  Clones clones({.omega = "30s", .slow = 9, .reduce_nap = 12, .env = {}});
  ASSERT_NO_FATAL_FAILURE(clones.Run([](Cluster& cluster) {
    std::string attempts;
    for (const Instant limit = Now() + Seconds(20); Count(attempts, "_1_r_") < 4 && Now() < limit;) {
      attempts = cluster.Mrctl({"job", "attempts", kJob}).out;
    }
    EXPECT_EQ(Count(attempts, "_1_r_"), 4u) << attempts;
    cluster.KillMaster();
    ASSERT_TRUE(cluster.StartMaster().ok());
  }));
  EXPECT_EQ(clones.Reads("exclusive"), 8) << clones.All();
  EXPECT_EQ(clones.Reads("contended"), 0) << clones.All();
  EXPECT_EQ(clones.Reads("rebound"), 0) << clones.All();
  EXPECT_EQ(Count(clones.attempts, "_1_r_"), 4u) << clones.attempts;
}

// The first attempt of a map naps long. Its clone has the only idle slot until another job's map comes, and has it
// again when that is done: it wins, long before the first attempt would end.
TEST(ClonesTest, AnIdleSlotRunsACloneAndIsGivenBackToAnotherJob) {
  Cluster cluster({.workers = 2, .slots = 1, .master_flags = {"--scheduler=fair,opportunistic"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  WriteBible(dir + "/in", 50'000);
  auto napping = cluster.MrctlInBackground(
      {"submit", "stream", "--map", "case $MR_ATTEMPT_ID in *_1) sleep 60;; *) sleep 6;; esac; cat", "--reduces", "0",
       "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
      "napping");
  ASSERT_TRUE(napping.ok());
  std::string attempts;
  for (const Instant limit = Now() + Seconds(20); Count(attempts, " opportunistic ") == 0 && Now() < limit;) {
    attempts = cluster.Mrctl({"job", "attempts", kJob}).out;
  }
  EXPECT_EQ(Count(attempts, " opportunistic "), 1u) << attempts;
  const auto other = cluster.Mrctl(
      {"submit", "wordcount", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/other"});
  EXPECT_EQ(other.exit, 0) << other.err;
  const Instant then = Now();
  ASSERT_EQ(napping->Wait(Seconds(50)), 0) << cluster.Logs();
  EXPECT_LT((Now() - then).seconds(), 40) << "the first attempt was waited for";
  EXPECT_EQ(SortedLines(ReadParts(dir + "/out")), SortedLines(Shell("cat '" + dir + "/in'")));
  const std::string json = cluster.Mrctl({"-o", "json", "job", "show", kJob}).out;
  EXPECT_GE(Number(json, "\"opportunistic\"", "launched"), 2) << json;
  EXPECT_EQ(Number(json, "\"opportunistic\"", "won"), 1) << json;
  const std::string why = cluster.Mrctl({"why", "task_1_0001_0_m_000000"}).out;
  EXPECT_NE(why.find("a clone on an idle slot ("), std::string::npos) << why;
  EXPECT_NE(why.find("its slot was lent while it was idle, and is needed: 1 task waits"), std::string::npos) << why;
  const std::string show = cluster.Mrctl({"job", "show", kJob}).out;
  EXPECT_NE(show.find("clones on idle slots launched, 1 won"), std::string::npos) << show;
}

// 38 MB of digits, the same each time: packed as they are sent still more than that disk holds.
constexpr char kMuch[] =
    "awk 'BEGIN {srand(7); for (i = 0; i < 2000000; ++i) print int(rand() * 1e9) \"\\t\" int(rand() * 1e9)}'";

// Two workers, so that each has a clone of each task; the one with room is the slower one.
TEST(ClonesTest, AFullDiskUnderOneCloneCostsNothingButThatClone) {
  Cluster cluster({.workers = 2,
                   .slots = 2,
                   .master_flags = {"--scheduler=fair(slowstart=1),dolly(floor=40,tau=1,beta=1,p=0.1),"
                                    "delay_assignment(omega=1s)"},
                   .labels = {"slowdown=0", "slowdown=9"}});
  const SmallDisk small(cluster.worker_data(0));
  if (!small.mounted()) GTEST_SKIP() << "no right to mount a small file system";
  ASSERT_TRUE(cluster.Start().ok()) << cluster.Logs();
  const std::string dir = cluster.directory();
  ASSERT_TRUE(WriteFileDurably(dir + "/in", "a line\n").ok());
  const RunResult run = cluster.Mrctl(
      {"submit", "stream", "--map", std::string("cat >/dev/null; sleep $MR_LABEL_SLOWDOWN; ") + kMuch, "--reduce",
       "cksum", "--reduces", "1", "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
      Seconds(120));
  const std::string attempts = cluster.Mrctl({"job", "attempts", kJob}).out;
  ASSERT_EQ(run.exit, 0) << run.err << attempts << cluster.Logs();
  EXPECT_EQ(ReadParts(dir + "/out"), Shell(std::string(kMuch) + " | LC_ALL=C sort -s -k1,1 | cksum")) << attempts;
  EXPECT_GE(Count(attempts, " clone "), 2u) << attempts;
  EXPECT_GE(Count(attempts, "No space left on device"), 1u) << "the disk was large enough: " << attempts;
}

constexpr char kRandom[] = "grep -q nap && sleep 4; echo key; head -c 16 /dev/urandom | od -An -tx1 | tr -d ' '";

// The clones of two maps end while the third one naps, and their outputs differ: the reduces, which begin after that,
// are not cloned.
TEST(ClonesTest, ARandomOperatorIsFoundOutAndItsReadersAreNotCloned) {
  Cluster cluster({.workers = 6,
                   .slots = 1,
                   .master_flags = {"--scheduler=fair(slowstart=1),dolly(floor=40,tau=1,beta=1,p=0.1),"
                                    "delay_assignment(omega=20s)",
                                    "--snapshot_bytes=16k"}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string dir = cluster.directory();
  ASSERT_TRUE(MakeDirectories(dir + "/in").ok());
  for (const std::string name : {"0", "1", "2"}) {
    ASSERT_TRUE(WriteFileDurably(dir + "/in/" + name, name == "2" ? "nap\n" : "line\n").ok());
  }
  const RunResult run = cluster.Mrctl({"submit", "stream", "--map", kRandom, "--reduce", "cat", "--reduces", "2",
                                       "--input", "file://" + dir + "/in", "--output", "file://" + dir + "/out"},
                                      Seconds(60));
  ASSERT_EQ(run.exit, 0) << run.err << cluster.Logs();
  EXPECT_NE((run.out + run.err).find("is not deterministic"), std::string::npos) << run.out << run.err;
  // One output of each map, whole: three lines that are the same and three that are not.
  EXPECT_EQ(Count(SortedLines(ReadParts(dir + "/out")), "\n"), 6u) << ReadParts(dir + "/out");
  const std::string show = cluster.Mrctl({"job", "show", kJob}).out;
  EXPECT_NE(show.find("warning     stage 'map' is not deterministic: two runs of task_1_0001_0_m_00000"),
            std::string::npos)
      << show;
  EXPECT_NE(show.find(", in partition "), std::string::npos) << show;
  EXPECT_GE(Count(cluster.Mrctl({"-o", "json", "job", "show", kJob}).out, "is not deterministic"), 1u);
  EXPECT_GE(Count(cluster.Mrctl({"-v", "why", kJob}).out, "warning: stage 'map' is not deterministic"), 1u);
  EXPECT_GE(Count(cluster.Mrctl({"why", "task_1_0001_0_m_000000"}).out, "is not deterministic"), 1u);
  const std::string attempts = cluster.Mrctl({"job", "attempts", kJob}).out;
  EXPECT_EQ(Count(attempts, "_1_r_"), 2u) << attempts;

  // Remembered for the next run, over snapshots and the master's death; another command is another operator.
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(cluster.Mrctl({"fs", "mkdir", "/made/" + std::to_string(i)}).exit, 0) << i;
  }
  cluster.KillMaster();
  ASSERT_TRUE(cluster.StartMaster().ok()) << cluster.Logs();
  const auto again = [&](const std::string& map, const std::string& out) {
    return cluster.Mrctl({"submit", "stream", "--map", map, "--reduce", "cat", "--reduces", "2", "--input",
                          "file://" + dir + "/in", "--output", "file://" + dir + out},
                         Seconds(60));
  };
  const RunResult second = again(kRandom, "/again");
  ASSERT_EQ(second.exit, 0) << second.err << cluster.Logs();
  EXPECT_NE((second.out + second.err).find("in an earlier job its operator did not give the same records"),
            std::string::npos)
      << second.out << second.err;
  const std::string once = cluster.Mrctl({"job", "attempts", "job_2_0001"}).out;
  EXPECT_EQ(Count(once, "_0_m_"), 3u) << once;
  EXPECT_EQ(Count(once, "_1_r_"), 2u) << once;
  EXPECT_GE(Count(cluster.Mrctl({"job", "show", "job_2_0001"}).out, "in an earlier job"), 1u);
  EXPECT_GE(Count(cluster.Mrctl({"why", "task_2_0001_0_m_000001"}).out, "in an earlier job"), 1u);
  ASSERT_EQ(again("cat", "/sound").exit, 0) << cluster.Logs();
  const std::string cloned = cluster.Mrctl({"job", "attempts", "job_2_0002"}).out;
  EXPECT_GT(Count(cloned, "_0_m_"), 3u) << cloned;
}

}  // namespace
}  // namespace mr::test
