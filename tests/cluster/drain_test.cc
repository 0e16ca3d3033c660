// `mrctl worker drain` with real processes: what it calls safe to stop can be killed, and costs nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/within.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class DrainTest : public testing::Test {
 protected:
  void Start(int workers) {
    cluster_ = std::make_unique<Cluster>(
        ClusterOptions{.workers = workers, .slots = 2, .master_flags = {"--block_size=64k", "--replication=2"}});
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    ASSERT_TRUE(cluster_->WaitForWorkers(workers).ok());
    WriteWords(Path("in"), 60'000, 3);
    content_ = *ReadFile(Path("in"));
  }
  std::string Path(const std::string& name) const { return cluster_->directory() + "/" + name; }
  RunResult Mrctl(const std::vector<std::string>& args) const { return cluster_->Mrctl(args, Seconds(90)); }
  void Put(const std::string& path, const std::string& replication) {
    const RunResult run = Mrctl({"fs", "put", "--replication", replication, Path("in"), path});
    ASSERT_EQ(run.exit, 0) << run.err << cluster_->Logs();
  }
  // The id under which the master knows a worker of the cluster.
  std::string IdOf(int index) const {
    const Json workers = Json::parse(Mrctl({"workers", "-o", "json"}).out);
    const std::string port = ":" + std::to_string(cluster_->worker_port(index));
    for (const Json& w : workers["workers"]) {
      if (std::string(w["address"]).ends_with(port)) return w["id"];
    }
    return "";
  }
  Json Shown(const std::string& worker) const {
    return Json::parse(Mrctl({"worker", "show", worker, "-o", "json"}).out)["workers"][0];
  }
  // A job of `maps` maps that take some seconds, followed in the background. Some maps have begun.
  Process Job(const std::string& output, const std::string& map) {
    auto job =
        cluster_->MrctlInBackground({"submit", "stream", "--map", map, "--reduce", "cat", "--reduces", "2", "--clone",
                                     "off", "--speculation", "off", "--input", "/two0", "--output", output},
                                    "job");
    EXPECT_TRUE(job.ok());
    EXPECT_TRUE(Within(Seconds(30), [&] {
      const RunResult run = Mrctl({"jobs"});
      return run.out.find("RUNNING") != std::string::npos;
    })) << cluster_->Logs();
    return *std::move(job);
  }
  size_t Blocks(int index) const {
    size_t n = 0;
    std::error_code gone;
    const std::string directory = cluster_->worker_data(index) + "/blocks";
    for (std::filesystem::recursive_directory_iterator it(directory, gone), end; !gone && it != end;
         it.increment(gone)) {
      n += it->path().extension() == ".blk" ? 1 : 0;
    }
    return n;
  }

  std::unique_ptr<Cluster> cluster_;
  std::string content_;
};

TEST_F(DrainTest, AWorkerThatIsSafeToStopCanBeKilledUnderARunningJob) {
  Start(3);
  ASSERT_FALSE(HasFatalFailure());
  for (int i = 0; i < 3; ++i) {
    Put("/one" + std::to_string(i), "1");
    Put("/two" + std::to_string(i), "2");
  }
  ASSERT_FALSE(HasFatalFailure());
  Process job = Job("/out", "sleep 0.3; cat");
  const std::string drained = IdOf(0);
  ASSERT_GT(Blocks(0), 0u);
  const RunResult drain = Mrctl({"worker", "drain", drained, "--wait", "--timeout", "80s"});
  ASSERT_EQ(drain.exit, 0) << drain.err << cluster_->Logs(200);
  EXPECT_THAT(drain.err, HasSubstr(drained + " is draining"));
  const Json shown = Shown(drained);
  EXPECT_TRUE(shown["safe_to_stop"]) << shown;
  EXPECT_EQ(shown["drain"]["left_blocks"], 0) << shown;
  EXPECT_EQ(shown["drain"]["thin_blocks"], 0) << "two workers are left for two replicas";
  EXPECT_THAT(Mrctl({"workers"}).out, HasSubstr("draining, safe to stop"));
  EXPECT_THAT(Mrctl({"doctor"}).out, HasSubstr(drained + " (safe to stop)"));
  cluster_->KillWorker(0);
  for (int i = 0; i < 3; ++i) {
    for (const std::string& path : {"/one" + std::to_string(i), "/two" + std::to_string(i)}) {
      EXPECT_TRUE(Mrctl({"fs", "cat", path}).out == content_) << path << cluster_->Logs(200);
    }
  }
  EXPECT_EQ(job.Wait(Seconds(90)), 0) << *ReadFile(Path("job.err")) << cluster_->Logs(200);
  const Json attempts = Json::parse(Mrctl({"job", "attempts", "job_1_0001", "-o", "json"}).out);
  for (const Json& a : attempts["attempts"]) EXPECT_EQ(a["state"], "committed") << a << cluster_->Logs(200);
  EXPECT_THAT(Mrctl({"doctor"}).out, HasSubstr("all blocks with enough replicas"));
}

// One worker runs all maps, since the slots of the others are taken, and the others run the reduces. These wait for a
// file, so that the job reads all outputs when the worker is drained and killed.
TEST_F(DrainTest, MovesShuffleOutputsSoThatNoMapRunsAgain) {
  constexpr size_t kMaps = 5;
  cluster_ = std::make_unique<Cluster>(
      ClusterOptions{.workers = 3, .slots = 1, .master_flags = {"--block_size=64k", "--scheduler=fifo"}});
  ASSERT_TRUE(cluster_->Start().ok());
  ASSERT_TRUE(cluster_->WaitForWorkers(3).ok());
  WriteBible(Path("in"), (kMaps - 1) * (64 << 10) + 1000);
  const RunResult slept =
      Mrctl({"submit", "sleep", "--detach", "--ms", "600000", "--tasks", "2", "--output", "file://" + Path("slept")});
  ASSERT_EQ(slept.exit, 0) << slept.err;
  const auto until = [&](const std::string& file) { return "until test -e " + Path(file) + "; do sleep .1; done"; };
  auto job = cluster_->MrctlInBackground(
      {"submit", "stream", "--map", "case $MR_TASK_ID in *_m_000004*) " + until("last") + ";; esac; cat", "--reduce",
       until("killed") + "; cat", "--reduces", "2", "--input", "file://" + Path("in"), "--output",
       "file://" + Path("out")},
      "job");
  ASSERT_TRUE(job.ok());
  std::set<std::string> makers;  // of map outputs
  size_t maps = 0, committed = 0, reduces = 0;
  const auto look = [&] {
    const RunResult run = Mrctl({"job", "attempts", "job_1_0002", "-o", "json"});
    makers.clear();
    maps = committed = reduces = 0;
    if (run.exit != 0) return;
    const Json document = Json::parse(run.out);
    for (const Json& a : document["attempts"]) {
      const bool map = std::string(a["id"]).find("_m_") != std::string::npos;
      ++(map ? maps : reduces);
      if (!map) continue;
      makers.insert(std::string(a["worker"]));
      committed += a["state"] == "committed" ? 1 : 0;
    }
  };
  ASSERT_TRUE(Within(Seconds(60), [&] {
    look();
    return maps == kMaps && committed == kMaps - 1;
  })) << cluster_->Logs();
  ASSERT_EQ(Mrctl({"kill", "job_1_0001"}).exit, 0);
  ASSERT_TRUE(Within(Seconds(60), [&] {
    look();
    return reduces == 2;
  })) << cluster_->Logs();
  ASSERT_TRUE(std::ofstream(Path("last")).good());
  ASSERT_TRUE(Within(Seconds(60), [&] {
    look();
    return committed == kMaps;
  })) << cluster_->Logs();
  ASSERT_EQ(makers.size(), 1u);
  const std::string drained = *makers.begin();
  int victim = -1;
  for (int i = 0; i < 3; ++i) victim = IdOf(i) == drained ? i : victim;
  ASSERT_GE(victim, 0);

  const RunResult drain = Mrctl({"worker", "drain", drained, "--wait", "--timeout", "60s"});
  ASSERT_EQ(drain.exit, 0) << drain.err << cluster_->Logs(200);
  EXPECT_EQ(Shown(drained)["drain"]["outputs"], 0);
  EXPECT_THAT(Mrctl({"why", "task_1_0002_0_m_000000"}).out,
              HasSubstr("an operator drains worker " + drained + ", and no worker that stays has the output"));
  cluster_->KillWorker(victim);
  ASSERT_TRUE(cluster_->WaitForWorkers(2).ok());
  ASSERT_TRUE(std::ofstream(Path("killed")).good());
  EXPECT_EQ(job->Wait(Seconds(90)), 0) << *ReadFile(Path("job.err")) << cluster_->Logs(200);
  EXPECT_EQ(SortedLines(ReadParts(Path("out"))), SortedLines(*ReadFile(Path("in"))));
  look();
  EXPECT_EQ(maps, kMaps) << "a map ran again";
}

TEST_F(DrainTest, GoesOnOverARestartOfTheMaster) {
  Start(3);
  ASSERT_FALSE(HasFatalFailure());
  for (const char* path : {"/two0", "/one"}) Put(path, path[1] == 't' ? "2" : "1");
  Process job = Job("/out", "sleep 1; cat");
  const std::string drained = IdOf(0);
  auto drain = cluster_->MrctlInBackground({"worker", "drain", drained, "--wait", "--timeout", "80s"}, "drain");
  ASSERT_TRUE(drain.ok());
  // The command has its answer: it need not outlive a master that took its wish and did not say so.
  ASSERT_TRUE(Within(Seconds(20), [&] {
    const auto said = ReadFile(Path("drain.err"));
    return said.ok() && said->find("is draining") != std::string::npos;
  })) << cluster_->Logs();
  cluster_->KillMaster();
  ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
  EXPECT_EQ(drain->Wait(Seconds(90)), 0) << *ReadFile(Path("drain.err")) << cluster_->Logs(200);
  cluster_->KillWorker(0);
  for (const char* path : {"/two0", "/one"}) EXPECT_TRUE(Mrctl({"fs", "cat", path}).out == content_) << path;
  EXPECT_EQ(job.Wait(Seconds(90)), 0) << *ReadFile(Path("job.err")) << cluster_->Logs(200);
}

TEST_F(DrainTest, SaysWhatItWaitsForWhereNobodyElseTakesTheBlocks) {
  Start(1);
  ASSERT_FALSE(HasFatalFailure());
  Put("/one", "1");
  RunResult drain = Mrctl({"worker", "drain", "w1"});
  EXPECT_EQ(drain.exit, 0);
  EXPECT_THAT(drain.err, HasSubstr("it cannot be stopped yet: no other worker takes blocks"));
  EXPECT_THAT(drain.err, HasSubstr("worker drain w1 --wait"));
  drain = Mrctl({"worker", "drain", "w1", "--wait", "--timeout", "1s"});
  EXPECT_EQ(drain.exit, 124) << drain.err;
  EXPECT_THAT(drain.err, HasSubstr("no other worker takes blocks"));
  EXPECT_THAT(Mrctl({"worker", "show", "w1"}).out, HasSubstr("it cannot be stopped yet: "));
  EXPECT_FALSE(Shown("w1")["safe_to_stop"]);
  EXPECT_THAT(Shown("w1")["drain"]["left_files"].dump(), HasSubstr("/one"));
  EXPECT_EQ(Mrctl({"worker", "undrain", "w1"}).exit, 0);
  EXPECT_FALSE(Shown("w1").contains("drain"));
  EXPECT_THAT(Mrctl({"workers"}).out, Not(HasSubstr("draining")));
}

TEST_F(DrainTest, AStoppedWorkerCopiesNothingAndKeepsItsBlocks) {
  Start(2);
  ASSERT_FALSE(HasFatalFailure());
  for (int i = 0; i < 4; ++i) Put("/one" + std::to_string(i), "1");
  const size_t here = Blocks(0), there = Blocks(1);
  ASSERT_GT(here, 0u);
  ASSERT_TRUE(cluster_->StopWorker(0).ok()) << cluster_->Logs();
  EXPECT_EQ(Blocks(0), here);
  EXPECT_EQ(Blocks(1), there);
  ASSERT_TRUE(cluster_->StartWorker(0).ok());
  ASSERT_TRUE(cluster_->WaitForWorkers(2).ok());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Mrctl({"fs", "cat", "/one" + std::to_string(i)}).out == content_);
}

}  // namespace
}  // namespace mr::test
