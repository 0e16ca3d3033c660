// The real mrworker binary against a master of the test's own, over real connections.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/support/within.h"
#include "tests/worker/daemon/worker_daemon_testing.h"
#include "worker/shuffle/store.h"

namespace mr::worker {
namespace {

TEST_F(WorkerDaemonTest, AMapReportsItsManifestAndServesExactlyTheseBytes) {
  const auto registered = master_.WaitForRegistration(1);
  EXPECT_EQ(registered.slots, 2u);
  EXPECT_TRUE(registered.inventory.empty());
  SendStages();
  const AttemptId attempt = Attempt(0, 0);
  const auto finished = RunMap(kText, attempt);
  EXPECT_LE(master_.ReportsOf(attempt, "started"), 1u) << "none where it ended at once";
  ASSERT_EQ(finished.table.size(), kPartitions);
  EXPECT_EQ(finished.records, 8u) << "distinct words, since the map counts them";
  EXPECT_EQ(finished.content, TableDigest(finished.table));
  std::vector<std::string> words;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    if (finished.table[p].records == 0) continue;
    auto raw = FetchChunk(registered, attempt, p);
    ASSERT_TRUE(raw.ok()) << raw.status().ToString();
    EXPECT_EQ(Hash128(*raw), finished.table[p].content) << "one batch: its digest is the partition's";
    BatchView batch;
    ASSERT_EQ(BatchView::Parse(raw->data(), raw->size(), &batch), nullptr);
    EXPECT_EQ(batch.size(), finished.table[p].records);
    for (uint32_t i = 0; i < batch.size(); ++i) words.emplace_back(batch.key(i));
  }
  EXPECT_THAT(words, testing::UnorderedElementsAre("to", "be", "or", "not", "that", "is", "the", "question"));
}

TEST_F(WorkerDaemonTest, AReduceWaitsForItsInputAndStagesADurablePart) {
  const auto registered = master_.WaitForRegistration(1);
  SendStages();
  const AttemptId reduce = Attempt(1, 0);
  LaunchReduce(reduce);
  master_.WaitForReport(reduce, {"started"});
  const auto map = RunMap(kText, Attempt(0, 0));
  SendDirectory(1, map, registered);
  const auto finished = master_.WaitForReport(reduce, {"finished", "failed"});
  ASSERT_EQ(finished.what, "finished") << finished.message << "\n" << WorkerLog();
  EXPECT_EQ(finished.output_name, "part-r-00000");
  EXPECT_EQ(finished.output_path, directory_ / ".out.job_1_0001.staging/attempt_1_0001_1_r_000000_1/part-r-00000");
  EXPECT_THAT(finished.consumed, testing::ElementsAre(Consumed{0, 0, 1, map.content}));
  std::map<std::string, int> counts;
  std::ifstream part(finished.output_path);
  for (std::string line; std::getline(part, line);) {
    const size_t tab = line.find('\t');
    counts[line.substr(0, tab)] = std::stoi(line.substr(tab + 1));
  }
  EXPECT_EQ(counts,
            (std::map<std::string, int>{
                {"be", 2}, {"is", 1}, {"not", 1}, {"or", 1}, {"question", 1}, {"that", 1}, {"the", 1}, {"to", 2}}));
  EXPECT_EQ(master_.WaitForReport(reduce, {"fetch_done"}).readers, 0u) << "a sum, of a reader that nobody counts";
}

TEST_F(WorkerDaemonTest, AKilledAttemptIsGoneAndItsSlotFree) {
  master_.WaitForRegistration(1);
  SendSleepStage(2);
  LaunchPlain(Attempt(2, 0));
  LaunchPlain(Attempt(2, 1));
  master_.WaitForReport(Attempt(2, 0), {"started"});
  master_.WaitForReport(Attempt(2, 1), {"started"});
  LaunchPlain(Attempt(2, 2));
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 2), {"refused", "started"}).message, "no free slot");
  master_.Send(1, [&](capnp::List<rpc::Command>::Builder c) { rpc::ToWire(Attempt(2, 0), c[0].initKill()); });
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 0), {"killed", "finished", "failed"}).what, "killed");
  LaunchPlain(Attempt(2, 3));
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 3), {"refused", "started"}).what, "started");
  // The answer is the same for an attempt that was never here.
  master_.Send(1, [&](capnp::List<rpc::Command>::Builder c) { rpc::ToWire(Attempt(2, 7), c[0].initKill()); });
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 7), {"killed"}).what, "killed");
}

// A damaged command, or one that is not our master's: nothing is set aside for what it says.
TEST_F(WorkerDaemonTest, ALaunchWhoseSlicesMakeNoSenseIsRefused) {
  master_.WaitForRegistration(1);
  SendStages();
  struct Range {
    uint32_t input, partition_begin, partition_end, task_begin, task_end;
  };
  const Range wrong[] = {{0, 0, 1, 0, UINT32_MAX}, {0, 0, 1, 2, 1}, {0, 1, 1, 0, 1},
                         {0, 2, 1, 0, 1},          {1, 0, 1, 0, 1}, {UINT32_MAX, 0, 1, 0, 1}};
  for (uint32_t i = 0; i < std::size(wrong); ++i) {
    master_.Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto launch = commands[0].initLaunch();
      rpc::ToWire(Attempt(1, i), launch.initAttempt());
      auto slice = launch.initSlices(1)[0];
      slice.setInput(wrong[i].input);
      slice.setPartitionBegin(wrong[i].partition_begin);
      slice.setPartitionEnd(wrong[i].partition_end);
      slice.setTaskBegin(wrong[i].task_begin);
      slice.setTaskEnd(wrong[i].task_end);
    });
    EXPECT_EQ(master_.WaitForReport(Attempt(1, i), {"refused", "started", "failed"}).message,
              "a slice of it makes no sense")
        << i;
  }
  EXPECT_EQ(RunMap(kText, Attempt(0, 0)).what, "finished");
}

TEST_F(WorkerDaemonTest, AWaitingReduceIsTakenBackWithoutAFailure) {
  master_.WaitForRegistration(1);
  SendStages();
  LaunchReduce(Attempt(1, 0));
  master_.WaitForReport(Attempt(1, 0), {"started"});
  master_.Send(1, [&](capnp::List<rpc::Command>::Builder c) { rpc::ToWire(Attempt(1, 0), c[0].initTakeBack()); });
  EXPECT_EQ(master_.WaitForReport(Attempt(1, 0), {"killed", "failed"}).what, "killed");
}

TEST_F(WorkerDaemonTest, AfterABreakItComesBackWithWhatItKeptAndWhatStillRuns) {
  const auto first = master_.WaitForRegistration(1);
  SendStages();
  SendSleepStage(2);
  RunMap(kText, Attempt(0, 0));
  LaunchPlain(Attempt(2, 0));
  master_.WaitForReport(Attempt(2, 0), {"started"});
  master_.Restart();
  const auto second = master_.WaitForRegistration(2);
  EXPECT_EQ(second.incarnation, first.incarnation);
  EXPECT_EQ(second.name, first.name);
  EXPECT_EQ(second.epoch_seen, 1u);
  ASSERT_EQ(second.inventory.size(), 1u);
  EXPECT_EQ(second.inventory[0].output.task, Attempt(0, 0).task);
  EXPECT_EQ(second.inventory[0].attempt, 1u);
  EXPECT_THAT(second.running, testing::ElementsAre(Attempt(2, 0)));
  // A command that an earlier master still had in flight has no effect; one of the present has.
  master_.Send(
      1, [&](capnp::List<rpc::Command>::Builder c) { rpc::ToWire(Attempt(2, 7), c[0].initKill()); }, 1);
  master_.Send(1, [&](capnp::List<rpc::Command>::Builder c) { rpc::ToWire(Attempt(2, 0), c[0].initKill()); });
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 0), {"killed"}).what, "killed");
  EXPECT_EQ(master_.ReportsOf(Attempt(2, 7), "killed"), 0u);
}

TEST_F(WorkerDaemonTest, WithoutWordFromItsMasterItEndsItsAttemptsAndKeepsItsOutputs) {
  const auto first = master_.WaitForRegistration(1);
  SendStages();
  SendSleepStage(2);
  RunMap(kText, Attempt(0, 0));
  master_.SetReattachWindow(500);
  master_.SetKnown(false);
  master_.WaitForRegistration(2);
  LaunchPlain(Attempt(2, 0));
  master_.WaitForReport(Attempt(2, 0), {"started"});
  master_.SetAnswersBeats(false);
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 0), {"killed", "failed", "finished"}).what, "killed");
  master_.SetAnswersBeats(true);
  master_.Restart();
  const auto third = master_.WaitForRegistration(3);
  EXPECT_EQ(third.incarnation, first.incarnation);
  EXPECT_THAT(third.running, testing::IsEmpty());
  ASSERT_EQ(third.inventory.size(), 1u);
  EXPECT_EQ(third.inventory[0].output.task, Attempt(0, 0).task);
  LaunchPlain(Attempt(2, 1));
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 1), {"refused", "started"}).what, "started");
}

// A signal stops the threads of a process one by one, after kill() has returned.
bool AllThreadsStopped(pid_t pid) {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream in(thread.path() / "stat");
    std::string stat;
    std::getline(in, stat);
    const size_t name_end = stat.rfind(')');  // the name may hold blanks and brackets
    if (name_end == std::string::npos || stat.compare(name_end, 3, ") T") != 0) return false;
  }
  return true;
}

// After it stood still, like a stopped machine, earlier commands may not hold any more.
TEST_F(WorkerDaemonTest, AfterItStoodStillForLongerThanItsLeaseItRegistersAgainBeforeItDoesWhatItIsTold) {
  master_.WaitForRegistration(1);
  master_.SetLease(1000);
  master_.SetKnown(false);
  const auto second = master_.WaitForRegistration(2);
  SendStages();
  SendSleepStage(2);
  LaunchPlain(Attempt(2, 0));
  master_.WaitForReport(Attempt(2, 0), {"started"});
  master_.SetAnswersBeats(false);
  const pid_t pid = static_cast<pid_t>(second.pid);
  ASSERT_EQ(kill(pid, SIGSTOP), 0);
  ASSERT_TRUE(test::Within(Seconds(10), [pid] { return AllThreadsStopped(pid); }));
  master_.SendUnanswered(1, [](capnp::List<rpc::Command>::Builder commands) {
    rpc::ToWire(Attempt(2, 1), commands[0].initLaunch().initAttempt());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(3500));  // the stop is what is tested
  ASSERT_EQ(kill(pid, SIGCONT), 0);
  const auto third = master_.WaitForRegistration(3);
  master_.SetAnswersBeats(true);
  EXPECT_EQ(third.incarnation, second.incarnation);
  EXPECT_THAT(third.running, testing::ElementsAre(Attempt(2, 0))) << "the launch from before was not heeded";
  LaunchPlain(Attempt(2, 2));
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 2), {"refused", "started"}).what, "started");
  EXPECT_EQ(master_.ReportsOf(Attempt(2, 1), "started"), 0u);
  EXPECT_THAT(WorkerLog(), testing::HasSubstr("longer than its lease"));
}

TEST_F(WorkerDaemonTest, GivenUpByItsMasterItStartsOverInTheSameProcess) {
  master_.WaitForRegistration(1);
  SendStages();
  SendSleepStage(2);
  RunMap(kText, Attempt(0, 0));
  LaunchPlain(Attempt(2, 0));
  master_.WaitForReport(Attempt(2, 0), {"started"});
  master_.SetStartOver(true);
  master_.SetKnown(false);
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 0), {"killed", "failed", "finished"}).what, "killed");
  master_.SetStartOver(false);
  master_.Restart();
  const auto third = master_.WaitForRegistration(3);
  EXPECT_THAT(third.running, testing::IsEmpty());
  EXPECT_THAT(third.inventory, testing::IsEmpty());
  LaunchPlain(Attempt(2, 1));
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 1), {"refused", "started"}).what, "started");
}

TEST_F(WorkerDaemonTest, OutputThatTheMasterDoesNotWantIsNotServed) {
  const auto registered = master_.WaitForRegistration(1);
  master_.SetVerdict(Verdict::kReplicaDropped);
  SendStages();
  const auto finished = RunMap(kText, Attempt(0, 0));
  uint32_t p = 0;
  while (finished.table[p].records == 0) ++p;
  // The drop follows the answer; until then the bytes may still be there.
  Result<std::string> raw = Internal("not asked yet");
  for (int i = 0; i < 200; ++i) {
    raw = FetchChunk(registered, Attempt(0, 0), p);
    if (!raw.ok()) break;
  }
  EXPECT_EQ(raw.status().code(), Code::kNotFound) << raw.status().ToString();
}

TEST_F(WorkerDaemonTest, BatchesOfCommandsThatPassEachOtherAreHeardInTheirOrder) {
  master_.WaitForRegistration(1);
  master_.SendSwapped(
      1, [](capnp::List<rpc::Command>::Builder c) { c[0].setDrain(true); }, 1,
      [](capnp::List<rpc::Command>::Builder c) { c[0].setDrain(false); });
  SendStages();
  EXPECT_EQ(RunMap(kText, Attempt(0, 0)).what, "finished") << "the last word was that it takes work";
}

TEST_F(WorkerDaemonTest, AnEndIsReportedAgainUntilItsVerdictComes) {
  master_.WaitForRegistration(1);
  master_.KeepVerdicts();
  SendStages();
  RunMap(kText, Attempt(0, 0));
  EXPECT_EQ(master_.ReportsOf(Attempt(0, 0), "finished"), 1u);
  // Its output is in the inventory: the master may have committed it, and takes for lost what is not listed.
  master_.Restart();
  const auto again = master_.WaitForRegistration(2);
  ASSERT_EQ(again.inventory.size(), 1u);
  EXPECT_EQ(again.inventory[0].output.task, Attempt(0, 0).task);
  EXPECT_THAT(again.running, testing::IsEmpty());
  master_.WaitForReports(Attempt(0, 0), "finished", 2);
  master_.GiveVerdicts();
  master_.Restart();
  const auto third = master_.WaitForRegistration(3);
  EXPECT_EQ(third.inventory.size(), 1u);
  EXPECT_TRUE(third.running.empty());
  EXPECT_EQ(master_.ReportsOf(Attempt(0, 0), "finished"), 2u);
}

TEST_F(WorkerDaemonTest, AMasterThatDoesNotKnowItGetsAnotherRegistration) {
  const auto first = master_.WaitForRegistration(1);
  master_.SetKnown(false);
  EXPECT_EQ(master_.WaitForRegistration(2).incarnation, first.incarnation);
  EXPECT_GT(master_.beats(), 0u);
}

TEST_F(WorkerDaemonTest, AUsersLibraryIsFetchedByItsDigestAndOtherBytesAreRefused) {
  master_.WaitForRegistration(1);
  const auto bytes = ReadFile(BuiltinPath());
  ASSERT_TRUE(bytes.ok());
  Sha256 digest;
  digest.Update(*bytes);
  SendStages(digest.HexDigest());
  master_.SetLibrary(*bytes + "x");
  const std::string path = WriteInput(kText);
  LaunchMap(path, Attempt(0, 0, 1), sizeof kText - 1);
  const auto failed = master_.WaitForReport(Attempt(0, 0, 1), {"finished", "failed"});
  EXPECT_EQ(failed.what, "failed");
  EXPECT_EQ(failed.failure_kind, FailureKind::kEnvironment);
  master_.SetLibrary(*bytes);
  LaunchMap(path, Attempt(0, 0, 2), sizeof kText - 1);
  EXPECT_EQ(master_.WaitForReport(Attempt(0, 0, 2), {"finished", "failed"}).what, "finished") << WorkerLog();
}

TEST_F(WorkerDaemonTest, OfALogTheEndIsServed) {
  master_.WaitForRegistration(1);
  std::ofstream(directory_ / "data/log/attempt_1_0001_0_r_000003_1") << std::string(300 << 10, 'x') << "the end\n";
  const auto text = master_.Log(Attempt(0, 3));
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_EQ(text->size(), 256u << 10);
  EXPECT_TRUE(text->ends_with("xthe end\n"));
  EXPECT_EQ(master_.Log(Attempt(0, 5)).status().code(), Code::kNotFound);
}

TEST_F(WorkerDaemonTest, SigtermEndsItWithZeroAndTheEndOfItsLifelineToo) {
  master_.WaitForRegistration(1);
  worker_.Signal(SIGTERM);
  EXPECT_EQ(worker_.Wait(Seconds(20)), 0) << WorkerLog();
  StartWorker();
  const auto second = master_.WaitForRegistration(2);
  EXPECT_EQ(second.name, master_.WaitForRegistration(1).name) << "the data directory is the worker";
  EXPECT_NE(second.incarnation, master_.WaitForRegistration(1).incarnation);
  lifeline_.reset();
  EXPECT_EQ(worker_.Wait(Seconds(20)), 0) << WorkerLog();
}

TEST_F(WorkerDaemonTest, OneThatLeavesTellsTheNextMasterToo) {
  const auto first = master_.WaitForRegistration(1);
  EXPECT_FALSE(first.leaving);
  EXPECT_EQ(first.pid, static_cast<uint32_t>(worker_.pid()));
  SendSleepStage(2);
  LaunchPlain(Attempt(2, 0));
  master_.WaitForReport(Attempt(2, 0), {"started"});
  worker_.Signal(SIGTERM);
  master_.WaitForLeaving();
  master_.Restart();
  EXPECT_TRUE(master_.WaitForRegistration(2).leaving);
  // No word of a master changes that.
  master_.Send(1, [](capnp::List<rpc::Command>::Builder c) { c[0].setDrain(false); });
  SendSleepStage(2);
  LaunchPlain(Attempt(2, 1));
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 1), {"refused", "started"}).message, "this worker is draining");
  master_.Send(1, [](capnp::List<rpc::Command>::Builder c) { rpc::ToWire(Attempt(2, 0), c[0].initKill()); });
  EXPECT_EQ(worker_.Wait(Seconds(20)), 0) << WorkerLog();
}

TEST_F(WorkerDaemonTest, OneDataDirectoryIsForOneWorker) {
  master_.WaitForRegistration(1);
  const auto run = test::RunProgram({test::BinaryDirectory() + "/mrworker", "--master", master_.address(), "--data",
                                     directory_ / "data", "--port", "0", "--http_port", "0"});
  EXPECT_EQ(run.exit, 3);
  EXPECT_THAT(run.err, testing::HasSubstr("another mrworker uses"));
}

}  // namespace
}  // namespace mr::worker
