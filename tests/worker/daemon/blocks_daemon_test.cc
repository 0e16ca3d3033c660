// The worker reports its replicas to the next master, and in its next life.
#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/digest.h"
#include "dfs/block/pipeline.h"
#include "tests/worker/daemon/worker_daemon_testing.h"

namespace mr::worker {
namespace {

class BlocksDaemonTest : public WorkerDaemonTest {
 protected:
  // Writes a block of a few bytes to the worker, as a member of a pipeline would.
  Status Write(const std::string& address, uint64_t id) {
    const BlockRef block{{id}, 1, 0, 0};
    return rpc::WaitForLoop<Status>(loop_, [&, block]() -> kj::Promise<Status> {
      return dfs::BlockPipe::Open(*peers_, block, {address}, {})
          .then([](Result<kj::Own<dfs::BlockPipe>> opened) -> kj::Promise<Status> {
            if (!opened.ok()) return opened.status();
            auto pipe = *std::move(opened);
            auto& p = *pipe;
            return p.Write(std::make_shared<const std::string>("bytes"))
                .then([&p](Status) { return p.Finish(5, Hash64("bytes")); })
                .then([](Result<std::vector<WorkerId>> durable) { return durable.status(); })
                .attach(kj::mv(pipe));
          });
    });
  }
  Status Read(const std::string& address, uint64_t id) {
    return rpc::WaitForLoop<Status>(loop_, [&, id]() -> kj::Promise<Status> {
      return peers_->Get(address).then([id](Result<rpc::DataServer::Client> server) -> kj::Promise<Status> {
        if (!server.ok()) return server.status();
        auto request = server->readBlockRequest();
        request.setId(id);
        request.setGeneration(1);
        request.setLength(5);
        return request.send().then([](auto response) -> Status { return rpc::FromOutcome(response.getOutcome()); });
      });
    });
  }
  void SetUp() override {
    WorkerDaemonTest::SetUp();
    loop_.Run([this] { peers_ = kj::heap<dfs::Peers>(loop_.io(), rpc::Hello{}); });
  }
  void TearDown() override {
    loop_.Run([this] { peers_ = nullptr; });
  }
  void Damage(uint64_t id) {
    char name[64];
    std::snprintf(name, sizeof name, "/blocks/%02x/%016llx_1.blk", static_cast<unsigned>(id),
                  static_cast<unsigned long long>(id));
    const auto fd = OpenFile(directory_ / "data" + name, O_WRONLY);
    ASSERT_TRUE(fd.ok() && PwriteAll(fd->get(), "X", 2).ok());
  }

  ~BlocksDaemonTest() noexcept override = default;  // KJ members would make it throwing

  rpc::KjThread loop_{"test"};
  kj::Own<dfs::Peers> peers_;
};

TEST_F(BlocksDaemonTest, DamageIsReportedAfterEachRegistrationAlsoByAnotherProcess) {
  const std::string address = master_.WaitForRegistration(1).address;
  for (const uint64_t id : {7, 8}) ASSERT_TRUE(Write(address, id).ok());
  ASSERT_EQ(master_.WaitForBlockNews(2).size(), 2u);
  Damage(7);
  EXPECT_EQ(Read(address, 7).code(), Code::kCorrupted);
  const auto news = master_.WaitForBlockNews(3);
  ASSERT_EQ(news.size(), 3u);
  EXPECT_EQ(news.back(), (std::pair<uint64_t, bool>(7, false)));
  worker_.Kill();
  FakeMaster second;
  test::Process again;
  UniqueFd lifeline;
  StartWorkerOf(second, "data", &again, &lifeline);
  const auto listed = second.WaitForRegistration(1).blocks;
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].id.value, 8u);
  const auto heard = second.WaitForBlockNews(1);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0], (std::pair<uint64_t, bool>(7, false)));
  again.Kill();
}

}  // namespace
}  // namespace mr::worker
