// The real mrworker binary against a master of the test's own, over real connections.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "common/abi/batch.h"
#include "common/abi/operator_table.h"
#include "common/io/codec.h"
#include "common/io/sha256.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wait_for_loop.h"
#include "common/rpc/wire.h"
#include "schema/data.capnp.h"
#include "tests/support/cluster.h"
#include "tests/worker/daemon/fake_master.h"
#include "worker/daemon/wire.h"

namespace mr::worker {
namespace {

constexpr JobId kJob{1, 1};
constexpr uint32_t kPartitions = 3;

std::string BuiltinPath() { return test::BinaryDirectory() + "/../lib/libpaceline_jobs.so"; }

// The flags that the library's own table has for an operator.
uint32_t FlagsOf(const std::string& name) {
  void* library = dlopen(BuiltinPath().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    return 0;
  }
  const auto table = reinterpret_cast<mr_library_table_fn>(dlsym(library, MR_LIBRARY_SYMBOL))();
  for (uint32_t i = 0; i < table->operator_count; ++i) {
    if (table->operators[i]->name == name) return table->operators[i]->flags;
  }
  ADD_FAILURE() << "no operator " << name;
  return 0;
}

class WorkerDaemonTest : public testing::Test {
 protected:
  void SetUp() override { StartWorker(); }

  void StartWorker() {
    int ready[2], life[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(life, O_CLOEXEC), 0);
    UniqueFd ready_read(ready[0]), ready_write(ready[1]), life_read(life[0]);
    lifeline_.reset(life[1]);
    test::SpawnOptions options;
    options.stderr_path = directory_ / "worker.log";
    options.append = true;
    options.inherit = {{ready_write.get(), 10}, {life_read.get(), 11}};
    auto process = test::Process::Spawn(
        {test::BinaryDirectory() + "/mrworker", "--master", master_.address(), "--data", directory_ / "data", "--port",
         "0", "--http_port", "0", "--slots", "2", "--ready_fd", "10", "--lifeline_fd", "11"},
        options);
    ASSERT_TRUE(process.ok()) << process.status().ToString();
    worker_ = *std::move(process);
    ready_write.reset();
    char line[64] = "";
    ASSERT_GT(read(ready_read.get(), line, sizeof line - 1), 0) << WorkerLog();
    unsigned port = 0, http = 0;
    ASSERT_EQ(sscanf(line, "ready %u %u", &port, &http), 2) << line;
    http_port_ = static_cast<uint16_t>(http);
  }

  std::string WorkerLog() {
    auto text = ReadFile(directory_ / "worker.log");
    return text.ok() ? *text : "";
  }

  static AttemptId Attempt(uint32_t stage, uint32_t task, uint32_t number = 1) {
    return {{kJob, stage, task}, number};
  }

  // Stage 0 counts words of files into kPartitions; stage 1 sums them up into files.
  void SendStages(const std::string& library = "") {
    master_.Send(2, [&](capnp::List<rpc::Command>::Builder commands) {
      auto map = commands[0].initStage();
      rpc::ToWire(kJob, map.initJob());
      map.setStage(0);
      map.setLibrary(library);
      map.setTasks(1);
      map.setPartitionSeed(7);
      map.initPortPartitions(1).set(0, kPartitions);
      auto map_spec = map.initSpec();
      map_spec.setName("count");
      map_spec.setOperator("wordcount.map");
      map_spec.setFlags(FlagsOf("wordcount.map"));
      map_spec.initInputs(1)[0].initFiles().setFormat("text");
      auto port = map_spec.initPorts(1)[0].initShuffle();
      port.setSorted(true);
      port.setCombine(true);
      auto reduce = commands[1].initStage();
      rpc::ToWire(kJob, reduce.initJob());
      reduce.setStage(1);
      reduce.setLibrary(library);
      reduce.setTasks(1);
      reduce.setStagingUri("file://" + (directory_ / ".out.job_1_0001.staging"));
      reduce.initPortPartitions(1).set(0, 1);
      auto reduce_spec = reduce.initSpec();
      reduce_spec.setName("sum");
      reduce_spec.setOperator("wordcount.reduce");
      reduce_spec.setFlags(FlagsOf("wordcount.reduce"));
      auto edge = reduce_spec.initInputs(1)[0].initEdge();
      edge.setKind(rpc::EdgeKind::ALL_TO_ALL);
      edge.setStage(0);
      edge.setGrouped(true);
      reduce_spec.initPorts(1)[0].initFiles().setFormat("text");
    });
  }

  void SendSleepStage(uint32_t stage) {
    master_.Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto info = commands[0].initStage();
      rpc::ToWire(kJob, info.initJob());
      info.setStage(stage);
      info.setTasks(8);
      info.initPortPartitions(1).set(0, 1);
      auto spec = info.initSpec();
      spec.setName("sleep");
      spec.setOperator("sleep.map");
      spec.setFlags(FlagsOf("sleep.map"));
      const std::string config = "ms=600000\n";
      spec.setConfig(kj::arrayPtr(reinterpret_cast<const kj::byte*>(config.data()), config.size()));
      spec.initPorts(1)[0].initShuffle();
    });
  }

  void LaunchMap(const std::string& path, AttemptId attempt, uint64_t length) {
    master_.Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto launch = commands[0].initLaunch();
      rpc::ToWire(attempt, launch.initAttempt());
      launch.setGeneration(1);
      auto split = launch.initSplits(1)[0];
      split.setUri("file://" + path);
      split.setLength(length);
      split.setFileBytes(length);
    });
  }

  void LaunchPlain(AttemptId attempt) {
    master_.Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      rpc::ToWire(attempt, commands[0].initLaunch().initAttempt());
    });
  }

  void LaunchReduce(AttemptId attempt) {
    master_.Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto launch = commands[0].initLaunch();
      rpc::ToWire(attempt, launch.initAttempt());
      launch.setGeneration(1);
      auto slice = launch.initSlices(1)[0];
      slice.setPartitionEnd(kPartitions);
      slice.setTaskEnd(1);
    });
  }

  void SendDirectory(uint64_t version, const FakeMaster::Heard& made, const FakeMaster::Registration& holder) {
    master_.Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto delta = commands[0].initDirectory();
      rpc::ToWire(kJob, delta.initJob());
      delta.setVersion(version);
      auto entry = delta.initAdded(1)[0];
      entry.setGeneration(1);
      entry.setAttempt(made.attempt.number);
      entry.initWorker().setId(FakeMaster::kWorkerId);
      entry.getWorker().setIncarnation(holder.incarnation);
      entry.setAddress(holder.address);
      auto manifest = entry.initManifest();
      rpc::ToWire(made.content, manifest.initContent());
      manifest.setPartitions(kPartitions);
      auto rows = manifest.initTable(kPartitions);
      for (uint32_t i = 0; i < kPartitions; ++i) {
        rows[i].setRecords(made.table[i].records);
        rows[i].setBytes(made.table[i].bytes);
        rpc::ToWire(made.table[i].content, rows[i].initContent());
        rows[i].setChunks(made.table[i].chunks);
      }
    });
  }

  // Chunk 0 of one partition, by DataServer.fetch on a connection of its own.
  Result<std::string> FetchChunk(const FakeMaster::Registration& worker, AttemptId attempt, uint32_t partition) {
    rpc::KjThread loop("reader");
    auto connection = std::make_shared<kj::Own<rpc::RpcConnection>>();
    auto chunk = rpc::WaitForLoop<Result<std::string>>(loop, [&loop, connection, worker, attempt, partition] {
      rpc::Hello hello;
      hello.role = rpc::Role::kData;
      return rpc::RpcConnection::Connect(loop.io(), worker.address, hello)
          .then([connection, worker, attempt, partition](
                    Result<kj::Own<rpc::RpcConnection>> made) -> kj::Promise<Result<std::string>> {
            if (!made.ok()) return Result<std::string>(made.status());
            *connection = kj::mv(*made);
            auto request = (*connection)->Bootstrap<rpc::DataServer>().fetchRequest();
            auto wanted = request.initRequests(1)[0];
            ToWire(CopyName{{attempt.task, 1}, attempt.number, {{FakeMaster::kWorkerId}, worker.incarnation}},
                   wanted.initCopy());
            wanted.setPartition(partition);
            return request.send().then(
                [](capnp::Response<rpc::DataServer::FetchResults> response) -> Result<std::string> {
                  if (response.getChunks().size() != 1) return Internal("one chunk was asked for");
                  const auto c = response.getChunks()[0];
                  const Status outcome = rpc::FromOutcome(c.getOutcome());
                  if (!outcome.ok()) return outcome;
                  const auto data = c.getData();
                  const std::string_view stored(reinterpret_cast<const char*>(data.begin()), data.size());
                  if (Hash64(stored) != c.getWireDigest()) return Corrupted("wire digest");
                  std::string raw;
                  MR_RETURN_IF_ERROR(
                      Decompress(static_cast<Codec>(c.getCodec()), stored, c.getRawBytes(), 1 << 20, &raw));
                  return raw;
                });
          });
    });
    loop.Run([&] { *connection = nullptr; });
    return chunk;
  }

  std::string WriteInput(const std::string& text) {
    const std::string path = directory_ / "input.txt";
    std::ofstream(path) << text;
    return path;
  }

  // Runs the map over this text and returns its finished report.
  FakeMaster::Heard RunMap(const std::string& text, AttemptId attempt) {
    LaunchMap(WriteInput(text), attempt, text.size());
    auto heard = master_.WaitForReport(attempt, {"finished", "failed", "refused"});
    EXPECT_EQ(heard.what, "finished") << heard.message << "\n" << WorkerLog();
    return heard;
  }

  FakeMaster master_;
  test::TempDirectory directory_;
  UniqueFd lifeline_;
  test::Process worker_;
  uint16_t http_port_ = 0;
};

constexpr char kText[] = "to be or not to be\nthat is the question\n";

TEST_F(WorkerDaemonTest, AMapReportsItsManifestAndServesExactlyTheseBytes) {
  const auto registered = master_.WaitForRegistration(1);
  EXPECT_EQ(registered.slots, 2u);
  EXPECT_TRUE(registered.inventory.empty());
  SendStages();
  const AttemptId attempt = Attempt(0, 0);
  const auto finished = RunMap(kText, attempt);
  EXPECT_LE(master_.ReportsOf(attempt, "started"), 1u) << "none where it ended at once";
  ASSERT_EQ(finished.table.size(), kPartitions);
  EXPECT_EQ(finished.records, 8u) << "distinct words, since the port combines";
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
  EXPECT_EQ(counts, (std::map<std::string, int>{{"be", 2}, {"is", 1}, {"not", 1}, {"or", 1}, {"question", 1},
                                                {"that", 1}, {"the", 1}, {"to", 2}}));
  master_.WaitForReport(reduce, {"fetch_done"});
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
  // Of an attempt that was never here the answer is the same.
  master_.Send(1, [&](capnp::List<rpc::Command>::Builder c) { rpc::ToWire(Attempt(2, 7), c[0].initKill()); });
  EXPECT_EQ(master_.WaitForReport(Attempt(2, 7), {"killed"}).what, "killed");
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
  master_.Send(1, [&](capnp::List<rpc::Command>::Builder c) { rpc::ToWire(Attempt(2, 7), c[0].initKill()); }, 1);
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
  master_.SetVerdict(Verdict::kCopyDropped);
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
      1, [](capnp::List<rpc::Command>::Builder c) { c[0].setDrain(true); },
      1, [](capnp::List<rpc::Command>::Builder c) { c[0].setDrain(false); });
  SendStages();
  EXPECT_EQ(RunMap(kText, Attempt(0, 0)).what, "finished") << "the last word was that it takes work";
}

TEST_F(WorkerDaemonTest, AnEndIsReportedAgainUntilItsVerdictComes) {
  master_.WaitForRegistration(1);
  master_.KeepVerdicts();
  SendStages();
  RunMap(kText, Attempt(0, 0));
  EXPECT_EQ(master_.ReportsOf(Attempt(0, 0), "finished"), 1u);
  // Nothing is kept that the master has not accepted, but it is not given up either.
  master_.Restart();
  const auto again = master_.WaitForRegistration(2);
  EXPECT_TRUE(again.inventory.empty());
  EXPECT_THAT(again.running, testing::ElementsAre(Attempt(0, 0)));
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
  EXPECT_EQ(failed.failure_kind, static_cast<uint8_t>(FailureKind::kEnvironment));
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
