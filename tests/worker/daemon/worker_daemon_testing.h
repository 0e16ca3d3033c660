// The real mrworker binary against a master of the test's own: what the tests of both share.
#pragma once

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

constexpr JobId kJob{1, 1};
constexpr uint32_t kPartitions = 3;

inline std::string BuiltinPath() { return test::BinaryDirectory() + "/../lib/libpaceline_jobs.so"; }

// The flags that the library's own table has for an operator.
inline uint32_t FlagsOf(const std::string& name) {
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

  void StartWorker() { StartWorkerOf(master_, "data", &worker_, &lifeline_); }
  void StartWorkerOf(const FakeMaster& master, const std::string& data, test::Process* worker, UniqueFd* lifeline) {
    int ready[2], life[2];
    ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(life, O_CLOEXEC), 0);
    UniqueFd ready_read(ready[0]), ready_write(ready[1]), life_read(life[0]);
    lifeline->reset(life[1]);
    test::SpawnOptions options;
    options.stderr_path = directory_ / "worker.log";
    options.append = true;
    options.env = env_;
    options.inherit = {{ready_write.get(), 10}, {life_read.get(), 11}};
    auto process = test::Process::Spawn(
        {test::BinaryDirectory() + "/mrworker", "--master", master.address(), "--data", directory_ / data, "--port",
         "0", "--http_port", "0", "--slots", "2", "--ready_fd", "10", "--lifeline_fd", "11"},
        options);
    ASSERT_TRUE(process.ok()) << process.status().ToString();
    *worker = *std::move(process);
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

  static AttemptId Attempt(uint32_t stage, uint32_t task, uint32_t number = 1) { return {{kJob, stage, task}, number}; }

  // Stage 0 counts words of files into kPartitions; stage 1 sums them up into files.
  void SendStages(const std::string& library = "") {
    to_->Send(2, [&](capnp::List<rpc::Command>::Builder commands) {
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
      map_spec.initPorts(1)[0].initShuffle().setSorted(false);
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
      reduce_spec.initPorts(1)[0].initFiles().setFormat("text");
    });
  }

  void SendSleepStage(uint32_t stage) {
    to_->Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
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
    to_->Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
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
    to_->Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      rpc::ToWire(attempt, commands[0].initLaunch().initAttempt());
    });
  }

  void LaunchReduce(AttemptId attempt, bool by_bind = false) {
    to_->Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto launch = commands[0].initLaunch();
      launch.setByBind(by_bind);
      rpc::ToWire(attempt, launch.initAttempt());
      launch.setGeneration(1);
      auto slice = launch.initSlices(1)[0];
      slice.setPartitionEnd(kPartitions);
      slice.setTaskEnd(1);
    });
  }

  static void FillEntry(const FakeMaster::Heard& made, const FakeMaster::Registration& holder,
                        rpc::DirectoryEntry::Builder entry) {
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
  }

  void SendDirectory(uint64_t version, const FakeMaster::Heard& made, const FakeMaster::Registration& holder) {
    to_->Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto delta = commands[0].initDirectory();
      rpc::ToWire(kJob, delta.initJob());
      delta.setVersion(version);
      FillEntry(made, holder, delta.initAdded(1)[0]);
    });
  }

  // version: the directory's, from which the replica is removed.
  void SendRemoved(uint64_t version, const FakeMaster::Heard& made, const FakeMaster::Registration& holder) {
    to_->Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto delta = commands[0].initDirectory();
      rpc::ToWire(kJob, delta.initJob());
      delta.setVersion(version);
      FillReplica(made, holder, delta.initRemoved(1)[0]);
    });
  }

  static void FillReplica(const FakeMaster::Heard& made, const FakeMaster::Registration& holder,
                          rpc::Replica::Builder replica) {
    rpc::ToWire(made.attempt.task, replica.initTask());
    replica.setGeneration(1);
    replica.setAttempt(made.attempt.number);
    replica.initWorker().setId(FakeMaster::kWorkerId);
    replica.getWorker().setIncarnation(holder.incarnation);
  }

  void SendBind(AttemptId reader, const FakeMaster::Heard& made, const FakeMaster::Registration& holder) {
    to_->Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto bind = commands[0].initBind();
      rpc::ToWire(reader, bind.initReader());
      FillEntry(made, holder, bind.initEntry());
    });
  }

  // To the worker of this master, which need not know the stage.
  static void AskForReplica(FakeMaster& master, const FakeMaster::Heard& made, const FakeMaster::Registration& holder) {
    master.Send(1, [&](capnp::List<rpc::Command>::Builder commands) {
      auto replicate = commands[0].initReplicateOutput();
      rpc::ToWire(kJob, replicate.initJob());
      FillEntry(made, holder, replicate.initSource());
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
          .then([connection, worker, attempt,
                 partition](Result<kj::Own<rpc::RpcConnection>> made) -> kj::Promise<Result<std::string>> {
            if (!made.ok()) return Result<std::string>(made.status());
            *connection = kj::mv(*made);
            auto request = (*connection)->Bootstrap<rpc::DataServer>().fetchRequest();
            auto wanted = request.initRequests(1)[0];
            rpc::ToWire(Replica{{attempt.task, 1}, attempt.number, {FakeMaster::kWorkerId}, worker.incarnation},
                        wanted.initReplica());
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
    auto heard = to_->WaitForReport(attempt, {"finished", "failed", "refused"});
    EXPECT_EQ(heard.what, "finished") << heard.message << "\n" << WorkerLog();
    return heard;
  }

  FakeMaster master_;
  FakeMaster* to_ = &master_;     // to which commands go
  std::vector<std::string> env_;  // of workers that are started
  test::TempDirectory directory_;
  UniqueFd lifeline_;
  test::Process worker_;
  uint16_t http_port_ = 0;
};

inline constexpr char kText[] = "to be or not to be\nthat is the question\n";

}  // namespace mr::worker
