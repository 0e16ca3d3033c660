// Deletions of replicas wait for the journal. Meanwhile their workers may come back.
#include <capnp/message.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/io/files.h"
#include "master/host/host.h"

namespace mr::master {
namespace {

// Counts the deletions that each session is sent.
class Deletions final : public Outlets {
 public:
  void Apply(uint64_t session, Message batch) override {
    for (const auto command : batch->getRoot<rpc::CommandBatch>().asReader().getCommands()) {
      if (command.isDeleteBlock()) ++of_session[session];
    }
  }
  void CloseSession(uint64_t) override {}
  void PushStatus(uint64_t, Message) override {}
  void Probe(const Look&, std::function<void(Looked)>) override {}
  void InPool(std::function<void()>) override {}
  std::map<uint64_t, int> of_session;
};

class StaleEffectsTest : public testing::Test {
 protected:
  StaleEffectsTest() {
    std::string pattern = testing::TempDir() + "/effects_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    EXPECT_TRUE(MakeDirectories(root_ + "/journal").ok());
    HostOptions options;
    options.directory = root_;
    options.replication = 1;
    host_ = std::make_unique<Host>(options, loop_, deletions_);
    EXPECT_TRUE(host_->Recover().ok());
  }
  ~StaleEffectsTest() override {
    loop_.Stop();
    host_ = nullptr;
    (void)RemoveTree(root_);
  }
  void Register(uint64_t session, char name, uint64_t used_bytes, std::vector<BlockRef> blocks) {
    RegisterIn in;
    in.extra.name = std::string(1, name);
    in.extra.used_bytes = used_bytes;
    in.info.incarnation = Incarnation{static_cast<uint64_t>(name)};
    in.info.address = std::string("127.0.0.1:") + std::to_string(static_cast<int>(name));
    in.info.slots.total = 2;
    in.blocks = std::move(blocks);
    host_->sessions().Register(session, in, [this](const RegisterOut& out) {
      EXPECT_TRUE(out.status.ok());
      ++answers_;
    });
  }
  // A file of one block, on the given worker.
  BlockRef Put(const std::string& path, char on) {
    const auto feed = [&](const dfs::FsHost::PrepareFn& prepare) {
      host_->block_store().FsMutate(prepare, nullptr,
                                    [](const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); });
    };
    feed([&](const dfs::Namespace& ns, const dfs::Stamp& at) { return ns.PrepareCreate(at, path, false, 1, 0, path); });
    const uint64_t lease = host_->core().files().LeaseOf(path);
    dfs::BlockAdded added;
    feed([&](const dfs::Namespace& ns, const dfs::Stamp& at) {
      auto prepared = ns.PrepareAddBlock(at, lease, 0, "");
      if (prepared.ok()) added = std::get<dfs::BlockAdded>(**prepared);
      return prepared;
    });
    const BlockRef block{added.block, 1, 100, 7};
    host_->block_store().BlocksReceived(host_->core().workers().Named(std::string(1, on)),
                                        Incarnation{static_cast<uint64_t>(on)}, {block});
    feed([&](const dfs::Namespace& ns, const dfs::Stamp& at) {
      return ns.PrepareComplete(at, lease, {{block, added.targets}});
    });
    return block;
  }

  std::string root_;
  Loop loop_{[] {}};  // not started: nothing is durable
  Deletions deletions_;
  int answers_ = 0;
  std::unique_ptr<Host> host_;
};

TEST_F(StaleEffectsTest, OfTwoReplicasOneStaysAlsoWhereAWorkerComesBackBeforeTheDeletionIsDurable) {
  Register(1, 'a', 0, {});
  const BlockRef first = Put("/f", 'a');
  (void)Put("/g", 'a');
  // It has much, and the master did not order its replica: that is the surplus one.
  Register(2, 'b', 1 << 20, {first});
  // It comes back with little. Its replica is surplus again, by another decision.
  Register(3, 'b', 0, {first});
  loop_.Start();
  // Answers leave when all before them is durable.
  for (bool all = false; !all;) {
    loop_.Run([&] {
      all = answers_ == 3;
      for (const uint64_t session : {1, 3}) host_->sessions().RegisterAnswered(session);
      host_->Flush();
    });
  }
  int deleted = 0;
  for (const auto& [session, count] : deletions_.of_session) deleted += count;
  EXPECT_EQ(deleted, 1) << "one is kept, and one is surplus";
  EXPECT_EQ(deletions_.of_session[1], 0) << "the replica that the master ordered stays";
  EXPECT_EQ(deletions_.of_session[3], 1) << "the deletion that was decided before it came back is dropped";
}

}  // namespace
}  // namespace mr::master
