// A join in which one key has most rows: tasks share its partition, and the answer is coreutils'.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/io/clock.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::test {
namespace {

class FatPartitionsClusterTest : public testing::Test {
 protected:
  FatPartitionsClusterTest() : cluster_({.workers = 2, .slots = 2, .master_flags = {"--fat_partition_bytes=32k"}}) {}

  void SetUp() override {
    ASSERT_TRUE(cluster_.Start().ok());
    // Three quarters of the left rows have the key 7, which has three rows on the right side. Other keys have one or
    // two.
    Shell("cd '" + cluster_.directory() +
          "' && seq 1 20000 | awk 'BEGIN {print \"id,name\"} "
          "{print ($1 % 4 ? 7 : $1 % 997) \",name\" $1}' > l.csv && "
          "seq 1 1500 | awk 'BEGIN {print \"id,city\"} {print $1 % 1301 \",city\" $1}' > r.csv && "
          "echo 7,more >> r.csv && for f in l r; do tail -n +2 $f.csv | sort -t, -k1,1 > $f.sorted; done");
  }

  std::vector<std::string> Join(const std::string& type, const std::string& reduces) const {
    return {"submit",
            "join",
            "--no-output-header",
            "--type",
            type,
            "--left",
            Uri("l.csv"),
            "--right",
            Uri("r.csv"),
            "--on",
            "id",
            "--broadcast-bytes",
            "0",
            "--output",
            Uri(type + reduces),
            "--conf",
            "max_split_bytes=20k",
            "--reduces",
            reduces};
  }
  // Sorted.
  std::string Answer(const std::string& type) const {
    const std::string flags = type == "left"    ? "-a1 -e '' -o 0,1.2,2.2"
                              : type == "right" ? "-a2 -e '' -o 0,1.2,2.2"
                              : type == "full"  ? "-a1 -a2 -e '' -o 0,1.2,2.2"
                              : type == "anti"  ? "-v1"
                                                : "";
    const std::string right = type == "semi" ? "<(cut -d, -f1 r.sorted | uniq)" : "r.sorted";
    return SortedLines(
        Shell("cd '" + cluster_.directory() + "' && bash -c \"join -t, " + flags + " l.sorted " + right + "\""));
  }
  std::string Parts(const std::string& directory) const {
    return SortedLines(ReadParts(cluster_.directory() + "/" + directory));
  }
  // Whether a task of the stage is.
  bool Done(const std::string& id, const std::string& stage) const {
    const std::string text = cluster_.Mrctl({"job", "stages", id, "-o", "json"}).out;
    const auto stages = nlohmann::json::parse(text, nullptr, false);
    if (stages.is_discarded() || !stages.contains("stages")) return false;
    for (const auto& s : stages["stages"]) {
      if (s.value("id", "") == stage && s.value("done", 0) > 0) return true;
    }
    return false;
  }
  std::string Uri(const std::string& name) const { return "file://" + cluster_.directory() + "/" + name; }

  Cluster cluster_;
};

// With few partitions the sizes stand in the master's records, with many they come with the reports.
TEST_F(FatPartitionsClusterTest, TasksShareThePartitionOfAHotKeyWhereTheJoinAllowsIt) {
  for (const std::string reduces : {"6", "80"}) {
    for (const std::string type : {"inner", "left", "semi", "anti", "right", "full"}) {
      const RunResult run = cluster_.Mrctl(Join(type, reduces), Seconds(60));
      ASSERT_EQ(run.exit, 0) << run.err << cluster_.Logs();
      EXPECT_TRUE(Parts(type + reduces) == Answer(type)) << type << " " << reduces;
      const RunResult jobs = cluster_.Mrctl({"jobs", "-o", "json"});
      const size_t at = jobs.out.rfind("job_");
      const std::string id = jobs.out.substr(at, jobs.out.find('"', at) - at);
      const RunResult show = cluster_.Mrctl({"job", "show", id});
      const bool shared = show.out.find("stage 'join': 1 of " + reduces + " partitions is fat") != std::string::npos;
      EXPECT_EQ(shared, type != "right" && type != "full") << type << "\n" << show.out << show.err;
    }
  }
}

TEST_F(FatPartitionsClusterTest, AStepThatReadsWhatSharingTasksWroteReadsAllOfIt) {
  std::ofstream(cluster_.directory() + "/job.toml")
      << "[[step]]\njob = 'join'\nreduces = 6\nargs = ['--left', '" + Uri("l.csv") + "', '--right', '" + Uri("r.csv") +
             "', '--on', 'id', '--broadcast-bytes', '0']\n[[step]]\njob = 'grep'\nargs = ['-e', 'name[0-9]*7,']\n"
             "[[step]]\njob = 'aggregate'\nargs = ['--no-header', '--by', '3', '--agg', 'count']\n";
  const RunResult run = cluster_.Mrctl(
      {"submit", cluster_.directory() + "/job.toml", "--output", Uri("steps"), "--conf", "max_split_bytes=20k"});
  ASSERT_EQ(run.exit, 0) << run.err << cluster_.Logs();
  EXPECT_EQ(Parts("steps"), SortedLines(Shell("cd '" + cluster_.directory() +
                                              "' && join -t, l.sorted r.sorted | grep 'name[0-9]*7,' | "
                                              "awk -F, '{n[$3]++} END {for (c in n) print c \",\" n[c]}'")));
  EXPECT_NE(cluster_.Mrctl({"job", "show", "job_1_0001"}).out.find(" fat ("), std::string::npos);
}

TEST_F(FatPartitionsClusterTest, AreSharedAfterTheMasterWasKilledAtAnyTime) {
  for (int round = 0; round < 3; ++round) {
    const std::string directory = "inner" + std::string(round == 0 ? "6" : round == 1 ? "7" : "80");
    auto submit = Join("inner", directory.substr(5));
    submit.insert(submit.end(), {"--detach"});
    const RunResult run = cluster_.Mrctl(submit);
    ASSERT_EQ(run.exit, 0) << run.err;
    const std::string id = run.out.substr(0, run.out.find_first_of(" \n"));
    // Right away, when rows have been read, and when the join has begun.
    const char* const stage[] = {"", "left", "join"};
    const Instant limit = Now() + Seconds(20);
    while (round > 0 && !Done(id, stage[round]) && Now() < limit) continue;
    cluster_.KillMaster();
    ASSERT_TRUE(cluster_.StartMaster().ok()) << cluster_.Logs();
    ASSERT_TRUE(cluster_.WaitForWorkers(2).ok()) << cluster_.Logs();
    EXPECT_EQ(cluster_.Mrctl({"wait", id}).exit, 0) << cluster_.Logs();
    EXPECT_TRUE(Parts(directory) == Answer("inner")) << round;
  }
}

}  // namespace
}  // namespace mr::test
