// Files through real data servers on loopback: what was put is what is got, with servers lost and
// replicas damaged in between.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <thread>

#include "common/base/rng.h"
#include "common/io/crc32c.h"
#include "common/rpc/connection.h"
#include "common/rpc/wait_for_loop.h"
#include "dfs/block/pipeline.h"
#include "tests/dfs/dfs_cluster.h"

namespace mr::dfs::test {
namespace {

std::string RandomBytes(size_t size, uint64_t seed) {
  Rng rng(seed);
  std::string bytes(size, '\0');
  for (auto& c : bytes) c = static_cast<char>(rng.Next());
  return bytes;
}

TEST(DfsEndToEndTest, WhatWasPutIsWhatIsGot) {
  DfsCluster cluster(3, SmallBlocks());
  const std::string bytes = RandomBytes((10 << 20) + 12345, 1);
  const auto written = cluster.client().PutBytes("/a/b/data", {}, bytes);
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  EXPECT_EQ(written->bytes, bytes.size());
  ASSERT_EQ(written->blocks.size(), 11u);
  for (const auto& block : written->blocks) EXPECT_EQ(block.workers.size(), 3u);
  const auto got = cluster.client().GetBytes("/a/b/data");
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_TRUE(*got == bytes);
  const auto range = cluster.client().GetBytes("/a/b/data", (1 << 20) - 10, 20);
  ASSERT_TRUE(range.ok());
  EXPECT_TRUE(*range == bytes.substr((1 << 20) - 10, 20));
  const auto info = cluster.client().Stat("/a/b/data");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->bytes, bytes.size());
  EXPECT_EQ(info->blocks, 11u);
}

TEST(DfsEndToEndTest, AnEmptyFileIsAFile) {
  DfsCluster cluster(1, SmallBlocks());
  ASSERT_TRUE(cluster.client().PutBytes("/empty", {}, "").ok());
  EXPECT_EQ(cluster.client().GetBytes("/empty").value(), "");
  EXPECT_EQ(cluster.client().Stat("/empty")->blocks, 0u);
}

TEST(DfsEndToEndTest, OneWorkerIsEnough) {
  DfsCluster cluster(1, SmallBlocks());
  const std::string bytes = RandomBytes(3 << 20, 2);
  ASSERT_TRUE(cluster.client().PutBytes("/x", {}, bytes).ok());
  EXPECT_TRUE(cluster.client().GetBytes("/x").value() == bytes);
}

TEST(DfsEndToEndTest, NobodySeesAFileThatExistsAlreadyChange) {
  DfsCluster cluster(1, SmallBlocks());
  ASSERT_TRUE(cluster.client().PutBytes("/x", {}, "one").ok());
  EXPECT_EQ(cluster.client().PutBytes("/x", {}, "two").status().code(), Code::kRejected);
  EXPECT_EQ(cluster.client().GetBytes("/x").value(), "one");
  PutOptions overwrite;
  overwrite.overwrite = true;
  ASSERT_TRUE(cluster.client().PutBytes("/x", overwrite, "two").ok());
  EXPECT_EQ(cluster.client().GetBytes("/x").value(), "two");
  // The old block is deleted from the disk as well.
  EXPECT_TRUE(Eventually([&] { return cluster.node(0).store().List().size() == 1; }));
}

TEST(DfsEndToEndTest, APutOfFewerOrMoreBytesThanItShouldHaveLeavesWhatIsThere) {
  DfsCluster cluster(1, SmallBlocks());
  ASSERT_TRUE(cluster.client().PutBytes("/x", {}, "one").ok());
  for (const uint64_t exact : {4, 6, 5}) {
    int fds[2];
    ASSERT_EQ(::pipe(fds), 0);
    ASSERT_TRUE(WriteAll(fds[1], "three").ok());
    ::close(fds[1]);
    PutOptions options;
    options.overwrite = true;
    options.exact_bytes = exact;
    EXPECT_EQ(cluster.client().PutFd("/x", options, fds[0]).ok(), exact == 5) << exact;
    ::close(fds[0]);
    EXPECT_EQ(cluster.client().GetBytes("/x").value(), exact == 5 ? "three" : "one");
  }
}

TEST(DfsEndToEndTest, AMemberWhoseDiskDoesNotTakeTheBlockIsNotAmongThoseThatHaveIt) {
  for (int failing = 0; failing < 3; ++failing) {  // wherever in the pipeline it stands
    DfsCluster cluster(3, SmallBlocks());
    // A file in the place of the folder of the first block.
    ASSERT_TRUE(WriteFileDurably(cluster.node(failing).directory() + "/blocks/01", "in the way").ok());
    const auto written = cluster.client().PutBytes("/x", {}, RandomBytes(1000, 9));
    ASSERT_TRUE(written.ok()) << written.status().ToString();
    ASSERT_EQ(written->blocks.size(), 1u);
    ASSERT_EQ(written->blocks[0].block.id.value, 1u);
    EXPECT_TRUE(cluster.node(failing).store().List().empty());
    const auto& workers = written->blocks[0].workers;
    EXPECT_EQ(workers.size(), 2u);
    EXPECT_EQ(std::count(workers.begin(), workers.end(), cluster.node(failing).id()), 0) << "node " << failing;
  }
}

TEST(DfsEndToEndTest, AFileIsReadAfterAServerIsLost) {
  DfsCluster cluster(3, SmallBlocks());
  const std::string bytes = RandomBytes(10 << 20, 3);
  ASSERT_TRUE(cluster.client().PutBytes("/x", {}, bytes).ok());
  cluster.Crash(1);
  const auto got = cluster.client().GetBytes("/x");
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_TRUE(*got == bytes);
}

TEST(DfsEndToEndTest, LostReplicasAreMadeAgain) {
  DfsCluster cluster(4, SmallBlocks());
  const std::string bytes = RandomBytes(6 << 20, 4);
  ASSERT_TRUE(cluster.client().PutBytes("/x", {}, bytes).ok());
  cluster.Crash(2);
  cluster.NoticeLoss(2);
  EXPECT_TRUE(Eventually([&] {
    cluster.Tick(Seconds(20));
    const auto counts = cluster.Ask([](const Namespace& ns) { return ns.Counts(); });
    return counts.under_replicated == 0 && counts.copying == 0;
  }));
  // Any single survivor of the three that are left may go as well.
  cluster.Crash(0);
  EXPECT_TRUE(cluster.client().GetBytes("/x").value() == bytes);
}

// Three servers, and pipelines that begin at each of them: on every connection travel calls that wait for the next
// server, more of them than a server reads without an answer, and the calls that these wait for.
TEST(DfsEndToEndTest, PipelinesInARingNeverWaitForEachOther) {
  constexpr int kClients = 4,
                kWritersPerHead = 25;  // 100 pipelines per head, each client below the limit of one connection
  DfsCluster cluster(3, SmallBlocks());
  rpc::KjThread loop("test-writers");
  std::vector<kj::Own<Peers>> clients;
  std::vector<kj::Own<BlockPipe>> pipes;
  std::atomic<size_t> opened = 0, taken = 0, failed = 0;
  loop.Run([&] {
    rpc::Hello hello;
    hello.cluster_id = kCluster;
    for (int i = 0; i < kClients; ++i) clients.push_back(kj::heap<Peers>(loop.io(), hello));
  });
  const auto address = [&](int i) { return cluster.node(i % 3).address(); };
  uint64_t id = 1000;
  // One client after the other, so that opening alone never meets the limit.
  for (int client = 0; client < kClients; ++client) {
    const size_t before = opened;
    loop.Run([&] {
      for (int head = 0; head < 3; ++head) {
        for (int i = 0; i < kWritersPerHead; ++i) {
          loop.Spawn(BlockPipe::Open(*clients[static_cast<size_t>(client)], {{++id}, 1, 0, 0},
                                     {address(head), address(head + 1), address(head + 2)}, {})
                         .then([&](Result<kj::Own<BlockPipe>> pipe) {
                           if (pipe.ok()) pipes.push_back(*std::move(pipe));
                           ++opened;
                         }));
        }
      }
    });
    ASSERT_TRUE(Eventually([&] { return opened == before + 3 * kWritersPerHead; }));
  }
  ASSERT_EQ(loop.Run([&] { return pipes.size(); }), 3u * kClients * kWritersPerHead);
  for (int i = 0; i < 3; ++i) cluster.node(i).pool().Hold();
  loop.Run([&] {
    for (auto& pipe : pipes) {
      loop.Spawn(pipe->Write(std::make_shared<const std::string>("piece")).then([&](Status status) {
        ++(status.ok() ? taken : failed);
      }));
    }
  });
  // Each server has all first calls and as many of the second as it reads.
  ASSERT_TRUE(Eventually([&] {
    for (int i = 0; i < 3; ++i) {
      if (cluster.node(i).pool().waiting() < kClients * kWritersPerHead + rpc::ServerLimits{}.data_calls) return false;
    }
    return true;
  }));
  for (int i = 0; i < 3; ++i) cluster.node(i).pool().Release();
  EXPECT_TRUE(Eventually([&] { return taken + failed == 3 * kClients * kWritersPerHead; }));
  EXPECT_EQ(failed, 0u);
  loop.Run([&] {
    pipes.clear();
    clients.clear();
  });
}

// Calls that wait for the disk when their server goes: they end, and what they have open goes before the loop does.
TEST(DfsEndToEndTest, AServerGoesWhileCallsAreUnderWay) {
  constexpr size_t kCalls = 8;
  DfsCluster cluster(2, SmallBlocks());
  for (const int i : {0, 1}) cluster.node(i).pool().Hold();
  rpc::KjThread loop("test-caller");
  rpc::Hello hello;
  hello.role = rpc::Role::kData;
  hello.cluster_id = kCluster;
  kj::Own<rpc::RpcConnection> connection;
  const Status connected = rpc::WaitForLoop<Status>(loop, [&] {
    return rpc::RpcConnection::Connect(loop.io(), cluster.node(0).address(), hello)
        .then([&](Result<kj::Own<rpc::RpcConnection>> made) {
          Status status = made.status();
          if (made.ok()) connection = *std::move(made);
          return status;
        });
  });
  ASSERT_TRUE(connected.ok()) << connected.ToString();
  loop.Run([&] {
    auto server = connection->Bootstrap<rpc::DataServer>();
    for (size_t i = 0; i < kCalls; ++i) {
      auto request = server.writeBlockRequest();
      ToWire(BlockRef{{1000 + i}, 1, 0, 0}, request.initBlock());
      request.initDownstream(1).set(0, cluster.node(1).address().c_str());
      loop.Spawn(request.send().ignoreResult().catch_([](kj::Exception&&) {}));
    }
  });
  EXPECT_TRUE(Eventually(
      [&] { return cluster.node(0).pool().waiting() >= kCalls && cluster.node(1).pool().waiting() >= kCalls; }));
  cluster.Crash(0);
  cluster.Crash(1);
  loop.Run([&] { connection = nullptr; });
}

TEST(DfsEndToEndTest, ADamagedReplicaIsNotRead) {
  DfsCluster cluster(2, SmallBlocks());
  const std::string bytes = RandomBytes(1 << 20, 5);
  const auto written = cluster.client().PutBytes("/x", {}, bytes);
  ASSERT_TRUE(written.ok());
  const auto located = cluster.client().Locate("/x");
  ASSERT_TRUE(located.ok());
  // Damage the replica that would be read first.
  Node* first = &cluster.node(0);
  if (cluster.node(1).address() == located->blocks.at(0).addresses.at(0)) first = &cluster.node(1);
  const BlockRef block = written->blocks.at(0).block;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(first->directory())) {
    if (entry.path().extension() != ".blk") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(500'000);
    file.put(static_cast<char>(~bytes[500'000]));
  }
  EXPECT_TRUE(cluster.client().GetBytes("/x").value() == bytes);
  // The master is notified, and a new replica takes its place. The bad bytes are kept aside.
  EXPECT_TRUE(Eventually([&] {
    cluster.Tick(Seconds(1));
    const auto counts = cluster.Ask([](const Namespace& ns) { return ns.Counts(); });
    return counts.suspect == 0 && counts.under_replicated == 0 &&
           !ListDirectory(first->directory() + "/blocks/quarantine")->empty();
  }));
  EXPECT_TRUE(first->store().Verify(block.id, block.generation).ok());
}

// A target that takes no copies is passed over at once, and not only after the time that a copy may take.
TEST(DfsEndToEndTest, ACopyThatATargetDoesNotTakeIsMadeElsewhere) {
  DfsCluster cluster(5, SmallBlocks());
  const std::string bytes = RandomBytes(12 << 20, 10);
  PutOptions two;
  two.replication = 2;
  ASSERT_TRUE(cluster.client().PutBytes("/x", two, bytes).ok());
  ASSERT_TRUE(RemoveTree(cluster.node(4).directory() + "/blocks/tmp").ok());
  cluster.Crash(0);
  cluster.NoticeLoss(0);
  cluster.Tick(Seconds(16));
  EXPECT_TRUE(Eventually([&] {
    cluster.Tick(Millis(1));
    return cluster.Ask([](const Namespace& ns) { return ns.Counts(); }).under_replicated == 0;
  }));
  EXPECT_TRUE(cluster.client().GetBytes("/x").value() == bytes);
}

TEST(DfsEndToEndTest, WhereAllReplicasAreDamagedTheReaderHearsWhere) {
  NamespaceConfig config = SmallBlocks();
  config.repairs_per_worker = 0;  // or the second one repairs the first before it is damaged, too
  DfsCluster cluster(2, config);
  ASSERT_TRUE(cluster.client().PutBytes("/x", {}, RandomBytes(1000, 11)).ok());
  const BlockRef block = cluster.node(0).store().List().at(0);
  for (int i = 0; i < 2; ++i) cluster.node(i).store().MarkSuspect(block.id, block.generation, "a test");
  const auto got = cluster.client().GetBytes("/x");
  ASSERT_FALSE(got.ok());
  for (const std::string& part : {std::string("its replicas on w1 ("), cluster.node(1).address() + ") are damaged"}) {
    EXPECT_NE(got.status().message().find(part), std::string::npos) << got.status().message();
  }
  const auto health = cluster.client().Health(10);
  ASSERT_TRUE(health.ok());
  EXPECT_EQ(health->corrupt_files, 1u);
  ASSERT_EQ(health->troubles.size(), 1u);
  EXPECT_EQ(health->troubles[0].path, "/x");
  EXPECT_EQ(health->troubles[0].damaged.size(), 2u);
}

TEST(DfsEndToEndTest, APutGoesOnWhenAPipelineMemberDies) {
  DfsCluster cluster(4, SmallBlocks());
  const std::string bytes = RandomBytes(20 << 20, 6);
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  std::thread feeder([&] {
    ASSERT_TRUE(WriteAll(fds[1], std::string_view(bytes).substr(0, 8 << 20)).ok());
    cluster.Crash(1);
    ASSERT_TRUE(WriteAll(fds[1], std::string_view(bytes).substr(8 << 20)).ok());
    ::close(fds[1]);
  });
  const auto written = cluster.client().PutFd("/x", {}, fds[0]);
  feeder.join();
  ::close(fds[0]);
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  EXPECT_TRUE(cluster.client().GetBytes("/x").value() == bytes);
}

TEST(DfsEndToEndTest, AWorkerThatComesBackBringsItsBlocks) {
  DfsCluster cluster(2, SmallBlocks());
  const std::string bytes = RandomBytes(3 << 20, 7);
  ASSERT_TRUE(cluster.client().PutBytes("/x", {}, bytes).ok());
  for (int i = 0; i < 2; ++i) {
    cluster.Crash(i);
    cluster.NoticeLoss(i);
  }
  EXPECT_EQ(cluster.client().Stat("/x")->missing_blocks, 3u);
  cluster.StartNode(0);
  const auto got = cluster.client().GetBytes("/x");
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_TRUE(*got == bytes);
}

TEST(DfsEndToEndTest, ARemovedFileLeavesNoBlocks) {
  DfsCluster cluster(3, SmallBlocks());
  ASSERT_TRUE(cluster.client().PutBytes("/d/x", {}, RandomBytes(2 << 20, 8)).ok());
  ASSERT_TRUE(cluster.client().Remove("/d", true).ok());
  EXPECT_EQ(cluster.client().Stat("/d/x").status().code(), Code::kNotFound);
  EXPECT_TRUE(Eventually([&] {
    for (int i = 0; i < 3; ++i) {
      if (!cluster.node(i).store().List().empty()) return false;
    }
    return true;
  }));
}

TEST(DfsEndToEndTest, AReplicaHereIsGivenAsADescriptorAndOthersAsAnUnnamedFile) {
  DfsCluster cluster(2, SmallBlocks());
  const std::string bytes = RandomBytes(1 << 20, 9);
  PutOptions once;
  once.replication = 1;
  const auto written = cluster.client().PutBytes("/x", once, bytes);
  ASSERT_TRUE(written.ok());
  const auto located = cluster.Ask([](const Namespace& ns) { return ns.Locate("/x", 0, 0, "").value(); });
  const LocatedBlock block = located.blocks.at(0);
  for (int i = 0; i < 2; ++i) {
    Node& node = cluster.node(i);
    rpc::KjThread loop("test-reader");
    auto client = loop.Run([&] {
      DfsClient::Options options;
      options.pool = node.pool().AsPool();
      options.own_address = node.address();
      options.own_store = &node.store();
      return kj::heap<DfsClient>(loop.io(), rpc::FileSystem::Client(nullptr), std::move(options));
    });
    for (const auto check : {DfsClient::Check::kHere, DfsClient::Check::kReader}) {
      std::promise<Result<DfsClient::BlockBytes>> done;
      loop.Post([&] {
        auto reading = client->ReadBlock(block, 1000, 90'000, check, cluster.root());
        loop.Spawn(reading.then([&](Result<DfsClient::BlockBytes> got) { done.set_value(std::move(got)); }));
      });
      auto got = done.get_future().get();
      ASSERT_TRUE(got.ok()) << got.status().ToString();
      EXPECT_EQ(got->local, node.address() == block.addresses.at(0));
      const bool by_reader = check == DfsClient::Check::kReader && got->local;
      EXPECT_EQ(got->verified_end, by_reader ? 3 * kChecksumChunk : got->local ? 90'000u + kChecksumChunk : 90'000u);
      ASSERT_EQ(got->crcs.size(), by_reader ? 3u : 0u);
      for (size_t i = 0; i < got->crcs.size(); ++i) {
        EXPECT_EQ(got->crcs[i], Crc32c(std::string_view(bytes).substr(i * kChecksumChunk, kChecksumChunk)));
      }
      std::string read(89'000, '\0');
      ASSERT_EQ(PreadUpTo(got->fd.get(), read.data(), read.size(), 1000 - got->base).value(), read.size());
      EXPECT_TRUE(read == bytes.substr(1000, 89'000));
    }
    loop.Run([&] { client = nullptr; });
  }
}

// A client with options of its own, as a worker has one.
class OwnClient {
 public:
  OwnClient(DfsCluster& cluster, DfsClient::Options options) {
    rpc::Hello hello;
    hello.role = rpc::Role::kClient;
    options.hello.cluster_id = kCluster;
    const Status made = rpc::WaitForLoop<Status>(loop_, [&] {
      return rpc::RpcConnection::Connect(loop_.io(), cluster.master_address(), hello)
          .then([&](Result<kj::Own<rpc::RpcConnection>> connected) {
            connection_ = *std::move(connected);
            return connection_->Bootstrap<rpc::MasterForClient>().filesRequest().send();
          })
          .then([&](auto response) {
            client_ = kj::heap<DfsClient>(loop_.io(), response.getFiles(), std::move(options));
            return Status::Ok();
          });
    });
    EXPECT_TRUE(made.ok());
  }
  ~OwnClient() noexcept(false) {
    loop_.Run([&] {
      client_ = nullptr;
      connection_ = nullptr;
    });
  }
  // fn: of the client, gives a promise of a T.
  template <class T, class F>
  T Wait(F fn) {
    return rpc::WaitForLoop<T>(loop_, [&] { return fn(*client_); });
  }

 private:
  rpc::KjThread loop_{"test-own-client"};
  kj::Own<rpc::RpcConnection> connection_;
  kj::Own<DfsClient> client_;
};

// Each chunk of it is right by its own sidecar; only the digest of what was written knows better.
TEST(DfsEndToEndTest, AReplicaOfOtherBytesIsNotReadByItsOwnWorkerEither) {
  DfsCluster cluster(2, SmallBlocks());
  const std::string bytes = RandomBytes(1 << 20, 9), others = RandomBytes(1 << 20, 10);
  const auto written = cluster.client().PutBytes("/x", {}, bytes);
  ASSERT_TRUE(written.ok());
  const BlockRef block = written->blocks.at(0).block;
  Node& node = cluster.node(0);
  ASSERT_TRUE(node.store().Delete(block.id, block.generation).ok());
  auto writer = node.store().Create(block.id, block.generation);
  ASSERT_TRUE(writer.ok() && (*writer)->Append(others).ok());
  ASSERT_TRUE((*writer)->Finish(others.size(), Hash64(others)).ok());

  DfsClient::Options options;
  options.pool = node.pool().AsPool();
  options.own_address = node.address();
  options.own_store = &node.store();
  OwnClient client(cluster, std::move(options));
  std::string got;
  const Status read = client.Wait<Status>([&](DfsClient& c) { return c.Get("/x", StringSink(&got)); });
  EXPECT_TRUE(read.ok()) << read.ToString();
  EXPECT_TRUE(got == bytes) << "it was taken for the block";
  // Marked, or replaced by a good one already.
  EXPECT_TRUE(Eventually([&] {
    const auto now = node.store().Read(block.id, block.generation, 0, block.length);
    return !now.ok() || *now == bytes;
  })) << "nobody marked it";
}

TEST(DfsEndToEndTest, ABlockThatNoDiskTakesIsGivenUpAfterItsTries) {
  DfsCluster cluster(2, SmallBlocks());
  // Files in the places of all folders.
  const auto each = [&](const auto& fn) {
    for (const int i : {0, 1}) {
      for (int folder = 0; folder < 256; ++folder) {
        char name[3];
        std::snprintf(name, sizeof name, "%02x", static_cast<unsigned>(folder));
        fn(cluster.node(i).directory() + "/blocks/" + name);
      }
    }
  };
  each([](const std::string& path) { std::ofstream(path) << "in the way"; });
  std::promise<void> over;
  std::thread rescue([&, done = over.get_future()] {
    // Where it would be tried for ever, it succeeds in the end, and that is wrong.
    if (done.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
      each([](const std::string& path) { std::filesystem::remove(path); });
    }
  });
  TestPool pool;
  DfsClient::Options options;
  options.pool = pool.AsPool();
  options.write_tries = 3;
  {
    OwnClient client(cluster, std::move(options));
    const auto written = client.Wait<Result<WrittenFile>>(
        [&](DfsClient& c) { return c.Put("/x", {}, StringSource(RandomBytes(1000, 9))); });
    over.set_value();
    EXPECT_NE(written.status().message().find("could not be made durable in 3 tries"), std::string::npos)
        << written.status().ToString();
  }
  rescue.join();
  EXPECT_EQ(cluster.client().Stat("/x").status().code(), Code::kNotFound);
}

// The master knows one worker while the blocks are written, and two at the end: each block must then be on both.
TEST(DfsEndToEndTest, ABlockThatOneWorkerTookIsWrittenAgainOnceThereAreMore) {
  DfsCluster cluster(2, SmallBlocks());
  cluster.Crash(1);
  cluster.NoticeLoss(1);
  TestPool pool;
  DfsClient::Options options;
  options.pool = pool.AsPool();
  const std::string bytes = RandomBytes((2 << 20) + 12345, 11);
  {
    OwnClient client(cluster, std::move(options));
    kj::Own<FileWriter> writer;
    ASSERT_TRUE(client
                    .Wait<Status>([&](DfsClient& c) {
                      return c.Create("/x", {}).then([&](Result<kj::Own<FileWriter>> opened) -> kj::Promise<Status> {
                        if (!opened.ok()) return opened.status();
                        writer = *std::move(opened);
                        return writer->Write(bytes);
                      });
                    })
                    .ok());
    cluster.StartNode(1);
    const auto written = client.Wait<Result<WrittenFile>>([&](DfsClient&) {
      return writer->Close().then([&](Result<WrittenFile> closed) {
        writer = nullptr;
        return closed;
      });
    });
    ASSERT_TRUE(written.ok()) << written.status().ToString();
    EXPECT_EQ(written->bytes, bytes.size());
    ASSERT_EQ(written->blocks.size(), 3u);
    for (const auto& block : written->blocks) EXPECT_EQ(block.workers.size(), 2u);
  }
  cluster.Crash(0);
  EXPECT_TRUE(cluster.client().GetBytes("/x").value() == bytes);
}

}  // namespace
}  // namespace mr::dfs::test
