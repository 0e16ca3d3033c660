// RocksDB really holds the shuffle, and RPC really serves it: while a job is paused between its map
// and its reduce, the store's files on disk show the map's output, and a peer gets the same bytes.

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <map>
#include <nlohmann/json.hpp>

#include "common/abi/batch.h"
#include "common/io/clock.h"
#include "common/io/codec.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "schema/data.capnp.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "worker/shuffle/format.h"

namespace mr::test {
namespace {

struct Key {
  uint32_t epoch, seq, stage, task, attempt, partition, chunk;
};

Key DecodeKey(std::string_view bytes) {
  uint32_t words[7];
  for (int i = 0; i < 7; ++i) {
    const auto* at = reinterpret_cast<const uint8_t*>(bytes.data()) + 4 * i;
    words[i] = uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
  }
  return {words[0], words[1], words[2], words[3], words[4], words[5], words[6]};
}

// Returns the contents of the databases under a worker's shuffle directory, read from their files.
std::map<std::string, std::string> ReadStore(const std::string& directory) {
  std::map<std::string, std::string> all;
  const auto names = ListDirectory(directory);
  EXPECT_TRUE(names.ok()) << names.status().ToString();
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>{}) {
    if (name.rfind("cohort-", 0) != 0) continue;
    rocksdb::DB* db = nullptr;
    const auto opened = rocksdb::DB::OpenForReadOnly({}, directory + "/" + name, &db);
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    if (!opened.ok()) continue;
    const std::unique_ptr<rocksdb::DB> owner(db);
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
    for (it->SeekToFirst(); it->Valid(); it->Next()) all[it->key().ToString()] = it->value().ToString();
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
  }
  return all;
}

// One stored chunk by the data server's fetch.
std::string FetchChunk(const std::string& address, uint64_t incarnation, const Key& key) {
  auto io = kj::setupAsyncIo();
  auto connection = rpc::RpcConnection::Connect(io, address, {.role = rpc::Role::kData}).wait(io.waitScope);
  EXPECT_TRUE(connection.ok()) << connection.status().ToString();
  if (!connection.ok()) return "";
  auto server = (*connection)->Bootstrap<rpc::DataServer>();
  std::string bytes;
  while (true) {
    auto request = server.fetchRequest();
    auto wanted = request.initRequests(1)[0];
    auto replica = wanted.initReplica();
    auto task = replica.initTask();
    task.initJob().setEpoch(key.epoch);
    task.getJob().setSeq(key.seq);
    task.setStage(key.stage);
    task.setTask(key.task);
    replica.setGeneration(1);
    replica.setAttempt(key.attempt);
    replica.initWorker().setIncarnation(incarnation);
    wanted.setPartition(key.partition);
    wanted.setChunk(key.chunk);
    wanted.setOffset(bytes.size());
    auto reply = request.send().wait(io.waitScope);
    auto chunk = reply.getChunks()[0];
    const Status outcome = rpc::FromOutcome(chunk.getOutcome());
    EXPECT_TRUE(outcome.ok()) << outcome.ToString();
    if (!outcome.ok()) return "";
    const auto data = chunk.getData();
    bytes.append(reinterpret_cast<const char*>(data.begin()), data.size());
    if (bytes.size() >= chunk.getStoredBytes() || data.size() == 0) return bytes;
  }
}

TEST(StoreTest, APausedJobsStoreShowsItsKeysAndAPeerGetsTheSameBytes) {
  // One split whose output is above the size from which it becomes a file of the store.
  Cluster cluster({.workers = 1, .slots = 1, .master_flags = {}});
  ASSERT_TRUE(cluster.Start().ok());
  const std::string in = cluster.directory() + "/in";
  Shell("seq 1 400000 | awk '{printf \"%d%09d%09d\\n\", $1, ($1*7919)%999999937, ($1*104729)%999999893}' > '" + in +
        "'");
  auto run =
      cluster.Mrctl({"submit", "stream", "--map", "cat", "--reduce", "sleep 600; cat", "--conf", "max_split_bytes=64m",
                     "--input", "file://" + in, "--output", "file://" + cluster.directory() + "/out", "--detach"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const size_t at = (run.out + run.err).find("job_");
  ASSERT_NE(at, std::string::npos);
  const std::string job = (run.out + run.err).substr(at, std::string("job_1_0001").size());

  const std::string directory = cluster.worker_data(0) + "/shuffle";
  const Instant limit = Now() + Seconds(60);
  while (cluster.Mrctl({"job", "tasks", job}).out.find("committed") == std::string::npos && Now() < limit) {
  }
  const auto stored = ReadStore(directory);
  const auto workers = nlohmann::json::parse(cluster.Mrctl({"workers", "-o", "json"}).out);
  const uint64_t incarnation = std::stoull(workers["workers"][0].value("incarnation", std::string("0")));
  const std::string address = "127.0.0.1:" + std::to_string(cluster.worker_port(0));

  std::string lines;
  uint32_t chunks = 0;
  for (const auto& [bytes, value] : stored) {
    ASSERT_EQ(bytes.size(), worker::kStoreKeyBytes);
    const Key key = DecodeKey(bytes);
    if (key.partition == 0xffffffff) continue;  // the table
    EXPECT_EQ(Name(JobId{key.epoch, key.seq}), job);
    EXPECT_EQ(key.chunk, chunks++);
    const auto chunk = worker::DecodeChunk(value);
    ASSERT_TRUE(chunk.ok()) << chunk.status().ToString();
    ASSERT_EQ(FetchChunk(address, incarnation, key), chunk->bytes.view());
    std::string raw;
    ASSERT_TRUE(Decompress(static_cast<Codec>(chunk->codec), chunk->bytes, chunk->raw_bytes, 32u << 20, &raw).ok());
    BatchView view;
    ASSERT_EQ(BatchView::Parse(raw.data(), raw.size(), &view), nullptr);
    for (uint32_t i = 0; i < view.size(); ++i) lines += std::string(view.key(i)) + "\n";
  }
  EXPECT_GE(chunks, 4u);
  EXPECT_TRUE(lines == Shell("sort '" + in + "'")) << lines.size() << " bytes are others than sort prints";
  run = cluster.Mrctl({"kill", job});
  EXPECT_EQ(run.exit, 0) << run.err;
}

}  // namespace
}  // namespace mr::test
