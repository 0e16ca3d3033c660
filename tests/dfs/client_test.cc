// The client and the connections of data servers where an answer is lost, a peer hangs or a file changes meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "common/base/digest.h"
#include "common/io/crc32c.h"
#include "common/io/files.h"
#include "common/rpc/wait_for_loop.h"
#include "tests/dfs/dfs_cluster.h"
#include "tests/support/temp_directory.h"

namespace mr::dfs::test {
namespace {

PutOptions Once() {
  PutOptions options;
  options.replication = 1;
  return options;
}

TEST(DfsClientTest, AFileWhoseCompletionIsNotAnsweredIsAskedForAgain) {
  DfsCluster cluster(2, SmallBlocks());
  for (const bool reached : {false, true}) {
    std::atomic<int> lost{2};
    cluster.OnMutation([&lost, reached](const Record& record, bool* applied) {
      if (!std::holds_alternative<FileCompleted>(record) || lost.fetch_sub(1) <= 0) return Status::Ok();
      *applied = reached;
      return Unavailable("the answer is lost");
    });
    const std::string path = reached ? "/reached" : "/lost";
    const auto written = cluster.client().PutBytes(path, {}, "bytes");
    EXPECT_TRUE(written.ok()) << written.status().ToString();
    const auto got = cluster.client().GetBytes(path);
    EXPECT_TRUE(got.ok() && *got == "bytes") << path << got.status().ToString();
  }
}

TEST(DfsClientTest, AWriterThatMeetsABrokenConnectionGoesOnWithTheNextOne) {
  DfsCluster cluster(1, SmallBlocks());
  rpc::KjThread loop("test-writer");
  TestPool pool;
  kj::Own<rpc::RpcConnection> connection;
  kj::Own<DfsClient> client;
  loop.Run([&] {
    DfsClient::Options options;
    options.hello.cluster_id = kCluster;
    options.pool = pool.AsPool();
    options.reconnected = [&] {
      rpc::Hello hello;
      hello.role = rpc::Role::kClient;
      return rpc::RpcConnection::Connect(loop.io(), cluster.master_address(), hello)
          .then([&](Result<kj::Own<rpc::RpcConnection>> made) {
            connection = *std::move(made);
            client->SetFiles(connection->Bootstrap<rpc::MasterForClient>().filesRequest().send().getFiles());
          });
    };
    rpc::FileSystem::Client away(
        kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__, kj::str("the master is away")));
    client = kj::heap<DfsClient>(loop.io(), kj::mv(away), std::move(options));
  });
  const Status written = rpc::WaitForLoop<Status>(loop, [&] {
    return client->Create("/x", Once()).then([](Result<kj::Own<FileWriter>> made) -> kj::Promise<Status> {
      if (!made.ok()) return made.status();
      auto owned = *std::move(made);
      FileWriter& writer = *owned;
      return writer.Write("bytes")
          .then([&writer](Status status) -> kj::Promise<Status> {
            if (!status.ok()) return status;
            return writer.Close().then([](const Result<WrittenFile>& file) { return file.status(); });
          })
          .attach(kj::mv(owned));
    });
  });
  EXPECT_TRUE(written.ok()) << written.ToString();
  const auto got = cluster.client().GetBytes("/x");
  EXPECT_TRUE(got.ok() && *got == "bytes") << got.status().ToString();
  loop.Run([&] {
    client = nullptr;
    connection = nullptr;
  });
}

TEST(DfsClientTest, AFileThatIsRefusedWhenItIsCompleteLeavesNoLeaseAndNoBlocks) {
  DfsCluster cluster(2, SmallBlocks());
  std::atomic<uint64_t> lease{0};
  cluster.OnMutation([&](const Record& record, bool* applied) {
    const auto* completed = std::get_if<FileCompleted>(&record);
    if (completed == nullptr) return Status::Ok();
    lease = completed->lease;
    *applied = false;
    return Rejected("/x exists");
  });
  EXPECT_EQ(cluster.client().PutBytes("/x", {}, std::string(3 << 20, 'x')).status().code(), Code::kRejected);
  ASSERT_NE(lease, 0u);
  const auto open = [&] { return cluster.Ask([&](const Namespace& ns) { return ns.PrepareRenew({}, lease).ok(); }); };
  EXPECT_TRUE(Eventually([&] { return !open(); })) << "nobody gave it up";
  for (const int i : {0, 1}) EXPECT_TRUE(Eventually([&] { return cluster.node(i).store().List().empty(); })) << i;
}

// Makes files of less than 1 KB, which have targets below "/small".
std::vector<LocalFile> MakeSmallFiles(const std::string& directory, int count) {
  std::vector<LocalFile> files;
  for (int i = 0; i < count; ++i) {
    const std::string name = "/file" + std::to_string(i);
    const std::string bytes(static_cast<size_t>(i % 900) + 100, static_cast<char>('a' + i % 26));
    EXPECT_TRUE(WriteFileDurably(directory + name, bytes).ok());
    files.push_back({directory + name, "/small" + name, bytes.size()});
  }
  return files;
}

TEST(DfsClientTest, ManyFilesArePutAtOnceAndTheFirstRefusalEndsThem) {
  DfsCluster cluster(3, SmallBlocks());
  const mr::test::TempDirectory directory;
  std::vector<LocalFile> files;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "/file" + std::to_string(i);
    // Empty ones, small ones, and some that take several blocks.
    const std::string bytes(i % 50 == 7 ? (3u << 20) + 5 : static_cast<size_t>(i % 50) * 1000, static_cast<char>(i));
    ASSERT_TRUE(WriteFileDurably(directory.path() + name, bytes).ok());
    files.push_back({directory.path() + name, "/all" + name, bytes.size()});
  }
  std::vector<bool> written;
  const Status all = cluster.client().PutFiles(files, {}, &written);
  ASSERT_TRUE(all.ok()) << all.ToString();
  EXPECT_EQ(std::count(written.begin(), written.end(), true), 300);
  for (const LocalFile& file : files) {
    ASSERT_EQ(cluster.client().GetBytes(file.target).value(), ReadFile(file.source).value()) << file.target;
  }
  // One of them exists.
  for (LocalFile& file : files) file.target = "/again" + file.target;
  ASSERT_TRUE(cluster.client().PutBytes(files[120].target, {}, "before").ok());
  const Status refused = cluster.client().PutFiles(files, {}, &written);
  EXPECT_EQ(refused.code(), Code::kRejected) << refused.ToString();
  EXPECT_NE(refused.message().find(files[120].target), std::string::npos) << refused.ToString();
  EXPECT_EQ(cluster.client().GetBytes(files[120].target).value(), "before");
  EXPECT_FALSE(written[120]);
  EXPECT_FALSE(written[299]) << "none is begun after an error";
  for (size_t i = 0; i < files.size(); ++i) {
    if (i == 120) continue;
    EXPECT_EQ(cluster.client().Stat(files[i].target).ok(), written[i]) << i;
  }
  files[3].source = directory.path() + "/missing";
  files[3].target = "/missing";
  EXPECT_EQ(cluster.client().PutFiles({files[3]}, {}, &written).code(), Code::kNotFound);
}

// Files of one block, whose first worker is gone or refuses them: what the batch could not do is done by itself.
TEST(DfsClientTest, SmallFilesWhoseWorkerIsGoneGoToOthers) {
  DfsCluster cluster(3, SmallBlocks());
  const mr::test::TempDirectory directory;
  const std::vector<LocalFile> files = MakeSmallFiles(directory.path(), 12);
  cluster.Crash(0);
  std::vector<bool> written;
  const Status all = cluster.client().PutFiles(files, {}, &written);
  ASSERT_TRUE(all.ok()) << all.ToString();
  EXPECT_EQ(std::count(written.begin(), written.end(), true), 12);
  for (const LocalFile& file : files) {
    ASSERT_EQ(cluster.client().GetBytes(file.target).value(), ReadFile(file.source).value()) << file.target;
  }
  // Abandoned files have no lease any more.
  const size_t leases = cluster.Ask([](const Namespace& ns) {
    size_t open = 0;
    for (uint64_t lease = 1; lease < 200; ++lease) open += ns.PathOfLease(lease).empty() ? 0 : 1;
    return open;
  });
  EXPECT_EQ(leases, 0u);
}

TEST(DfsClientTest, SmallFilesShareCalls) {
  DfsCluster cluster(2, SmallBlocks());
  const mr::test::TempDirectory directory;
  const std::vector<LocalFile> files = MakeSmallFiles(directory.path(), 320);
  std::atomic<int> completed{0};
  cluster.OnMutation([&](const Record& record, bool*) {
    completed += std::holds_alternative<FileCompleted>(record) ? 1 : 0;
    return Status::Ok();
  });
  std::vector<bool> written;
  const Status all = cluster.client().PutFiles(files, {}, &written);
  ASSERT_TRUE(all.ok()) << all.ToString();
  EXPECT_EQ(completed, 320);
  EXPECT_EQ(cluster.write_calls().single, 0);
  // Five batches of 64 files, each with one pipeline of two workers.
  EXPECT_EQ(cluster.write_calls().grouped, 10);
}

TEST(DfsClientTest, SmallFilesThatThenExistAreRefusedAndTheOthersOfTheirBatchAreThere) {
  DfsCluster cluster(2, SmallBlocks());
  const mr::test::TempDirectory directory;
  const std::vector<LocalFile> files = MakeSmallFiles(directory.path(), 10);
  // Somebody else makes the file between the creation and the completion.
  std::atomic<uint64_t> lease{0};
  cluster.OnMutation([&](const Record& record, bool* applied) {
    if (const auto* created = std::get_if<FileCreated>(&record);
        created != nullptr && created->path == files[4].target) {
      lease = created->lease;
    }
    const auto* completed = std::get_if<FileCompleted>(&record);
    if (completed == nullptr || completed->lease != lease) return Status::Ok();
    *applied = false;
    return Rejected(files[4].target + " exists");
  });
  std::vector<bool> written;
  const Status status = cluster.client().PutFiles(files, {}, &written);
  EXPECT_EQ(status.code(), Code::kRejected) << status.ToString();
  EXPECT_NE(status.message().find(files[4].target), std::string::npos) << status.ToString();
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(written[i], i != 4) << i;
    EXPECT_EQ(cluster.client().Stat(files[i].target).ok(), i != 4) << i;
  }
}

TEST(DfsClientTest, SmallFilesHaveAsManyReplicasAsTheyAskFor) {
  DfsCluster cluster(3, SmallBlocks());
  const mr::test::TempDirectory directory;
  const std::vector<LocalFile> files = MakeSmallFiles(directory.path(), 40);
  for (const uint32_t replication : {1u, 2u, 3u}) {
    PutOptions options;
    options.replication = replication;
    options.overwrite = true;
    std::vector<bool> written;
    const Status all = cluster.client().PutFiles(files, options, &written);
    ASSERT_TRUE(all.ok()) << all.ToString();
    for (const LocalFile& file : files) {
      const auto located = cluster.Ask([&](const Namespace& ns) { return ns.Locate(file.target, 0, 0, ""); });
      ASSERT_TRUE(located.ok());
      EXPECT_EQ(located->blocks.at(0).addresses.size(), replication) << file.target;
    }
  }
}

TEST(BlockServerTest, BlocksOfOneCallAreStoredOrRefusedEachOnItsOwn) {
  DfsCluster cluster(2, SmallBlocks());
  Node& node = cluster.node(0);
  const auto send = [&](std::vector<SmallBlock> blocks, std::vector<std::string> addresses) {
    const auto shared = std::make_shared<const std::vector<SmallBlock>>(std::move(blocks));
    using Sent = Result<std::vector<StoredBlock>>;
    auto peers = node.loop().Run([&] { return kj::heap<Peers>(node.loop().io(), rpc::Hello{.cluster_id = kCluster}); });
    auto sent = rpc::WaitForLoop<Sent>(node.loop(), [&] { return SendBlocks(*peers, shared, addresses); });
    node.loop().Run([&] {
      peers->Close();
      peers = nullptr;
    });
    return sent;
  };
  const auto block = [](uint64_t id, const std::string& bytes) {
    return SmallBlock{{{id}, 1, bytes.size(), Hash64(bytes)}, bytes, Crc32c(bytes), {}};
  };
  std::vector<SmallBlock> blocks;
  for (uint64_t id = 1001; id <= 1006; ++id) blocks.push_back(block(id, "block " + std::to_string(id)));
  blocks[1].crc32c ^= 1;        // damaged on its way
  blocks[2].block.digest ^= 1;  // damaged before
  blocks[3].block.length += 1;  // cut short
  const auto stored = send(blocks, {node.address(), cluster.node(1).address()});
  ASSERT_TRUE(stored.ok()) << stored.status().ToString();
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool good = i == 0 || i > 3;
    const StoredBlock& answer = (*stored)[i];
    EXPECT_EQ(answer.status.code(), good ? Code::kOk : Code::kCorrupted) << i << ": " << answer.status.ToString();
    EXPECT_EQ(answer.durable.size(), good ? 2u : 0u) << i;
    for (const int n : {0, 1}) {
      const auto read = cluster.node(n).store().Read(blocks[i].block.id, 1, 0, 100);
      EXPECT_EQ(read.ok(), good) << i;
      EXPECT_EQ(read.ok() ? *read : "", good ? blocks[i].bytes : "");
    }
  }
  // A pipeline whose second server is gone: the first one has them.
  const auto half = send({block(2001, "half")}, {node.address(), "127.0.0.1:1"});
  ASSERT_TRUE(half.ok()) << half.status().ToString();
  EXPECT_EQ(half->at(0).durable, std::vector<WorkerId>{node.id()});
  EXPECT_EQ(send({block(2002, "none")}, {"127.0.0.1:1"}).status().code(), Code::kUnavailable);
  // More than a call may write.
  const std::vector<SmallBlock> many(kMostSmallBlocks + 1, block(3001, "many"));
  const auto refused = send(many, {node.address()});
  ASSERT_TRUE(refused.ok()) << refused.status().ToString();
  for (const StoredBlock& answer : *refused) EXPECT_EQ(answer.status.code(), Code::kInvalidArgument);
  EXPECT_FALSE(node.store().Verify({3001}, 1).ok());
}

// A job's input: the file that was planned, not what has its path.
TEST(DfsClientTest, AFileThatIsReadByItsIdIsLookedUpByItAgain) {
  DfsCluster cluster(1, SmallBlocks());
  ASSERT_TRUE(cluster.client().PutBytes("/x", {}, "planned").ok());
  const uint64_t file = cluster.Ask([](const Namespace& ns) { return ns.Stat("/x")->id; });
  cluster.Report(InputsPinned{{}, 1, {file}});
  PutOptions over;
  over.overwrite = true;
  ASSERT_TRUE(cluster.client().PutBytes("/x", over, "another").ok());
  EXPECT_EQ(cluster.client().GetBytes("/x", 0, 0, file).value(), "planned");
  ASSERT_TRUE(cluster.client().Remove("/x", false).ok());
  EXPECT_EQ(cluster.client().GetBytes("/x", 0, 0, file).value(), "planned");
  // Its only holder does not answer: it is looked for a few times, and is there all the same.
  cluster.Crash(0);
  EXPECT_EQ(cluster.client().GetBytes("/x", 0, 0, file).status().code(), Code::kUnavailable);
}

TEST(BlockServerTest, ACopyThatFailsSaysWhetherItsSourceWasAtFault) {
  DfsCluster cluster(3, SmallBlocks());
  const auto written = cluster.client().PutBytes("/x", Once(), std::string(100'000, 'x'));
  ASSERT_TRUE(written.ok());
  const BlockRef block = written->blocks.at(0).block;
  Node& holder = cluster.NodeOf(written->blocks[0].workers.at(0));
  Node& other = cluster.node(holder.id().value == 1 ? 1 : 0);
  const auto copy = [&](Node& from, BlockRef what, const std::string& to) {
    bool source = false;
    const Status status = rpc::WaitForLoop<Status>(from.loop(), [&] {
      return from.server().Replicate(what, to, "").then([&](BlockServer::Copied copied) {
        source = copied.source_failed;
        return copied.status;
      });
    });
    return std::pair(status.code(), source);
  };
  EXPECT_EQ(copy(other, block, holder.address()), std::pair(Code::kNotFound, true)) << "it has no replica";
  BlockRef longer = block;
  longer.length *= 2;
  EXPECT_EQ(copy(holder, longer, other.address()), std::pair(Code::kCorrupted, true)) << "its replica is too short";
  EXPECT_EQ(copy(holder, block, "127.0.0.1:1"), std::pair(Code::kUnavailable, false)) << "nobody takes it";
  EXPECT_EQ(copy(holder, block, other.address()), std::pair(Code::kOk, false));
  holder.store().MarkSuspect(block.id, block.generation, "damaged");
  Node& third = cluster.node(2);
  EXPECT_EQ(copy(holder, block, third.address()), std::pair(Code::kCorrupted, true));
}

// A data server that counts its connections.
struct Counted {
  rpc::KjThread loop{"test-counted"};
  kj::Own<rpc::RpcServer> server;
  std::atomic<int> connections{0};
  uint16_t port = 0;

  explicit Counted(uint16_t at = 0) {
    rpc::Hello hello;
    hello.role = rpc::Role::kDataServer;
    const auto bound = rpc::WaitForLoop<Result<uint16_t>>(loop, [&] {
      server = kj::heap<rpc::RpcServer>(
          loop.io(), hello,
          [this](const rpc::Hello&, const rpc::PeerInfo&) -> Result<capnp::Capability::Client> {
            ++connections;
            return capnp::Capability::Client(rpc::DataServer::Client(kj::heap<rpc::DataServer::Server>()));
          },
          rpc::MakeAuthenticator({}).value());
      return server->Listen("127.0.0.1", at);
    });
    port = bound.ok() ? *bound : 0;
  }
  ~Counted() {
    loop.Run([this] { server = nullptr; });
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port); }
};

TEST(PeersTest, AConnectionIsSharedUntilItIsGivenUpOrBreaksAndAFailureIsNotKept) {
  auto server = std::make_unique<Counted>();
  const std::string address = server->address();
  rpc::KjThread loop("test-peers");
  auto peers = loop.Run([&] { return kj::heap<Peers>(loop.io(), rpc::Hello{}); });
  const auto get = [&](size_t hops) {
    return rpc::WaitForLoop<Status>(loop, [&, hops] {
      return peers->Get(address, hops).then([](Result<rpc::DataServer::Client> c) { return c.status(); });
    });
  };
  EXPECT_TRUE(get(0).ok() && get(0).ok());
  EXPECT_EQ(server->connections, 1);
  EXPECT_TRUE(get(1).ok() && get(1).ok());
  EXPECT_EQ(server->connections, 2) << "calls that wait for others have their own";
  for (const size_t hops : {0, 1}) {
    const int before = server->connections;
    loop.Run([&] { peers->Forget(address, hops); });
    // It goes in a turn of its own.
    EXPECT_TRUE(Eventually([&] { return get(hops).ok() && server->connections > before; })) << "hops " << hops;
    EXPECT_TRUE(get(0).ok() && get(1).ok());
    EXPECT_EQ(server->connections, before + 1) << "only that one";
  }
  const uint16_t port = server->port;
  server.reset();
  EXPECT_TRUE(Eventually([&] { return !get(0).ok() && !get(1).ok(); })) << "it has broken";
  server = std::make_unique<Counted>(port);
  EXPECT_TRUE(Eventually([&] { return get(0).ok() && get(1).ok(); })) << "the failure is given for ever";
  loop.Run([&] { peers->Close(); });
  EXPECT_EQ(get(0).code(), Code::kUnavailable);
  loop.Run([&] { peers = nullptr; });
}

}  // namespace
}  // namespace mr::dfs::test
