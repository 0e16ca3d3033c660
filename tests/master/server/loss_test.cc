// What a worker's evidence of lost records changes at once, in a brain without sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "master/server/brain.h"

namespace mr::master {
namespace {

using testing::HasSubstr;

class LossTest : public testing::Test {
 protected:
  LossTest() {
    std::string pattern = testing::TempDir() + "/loss_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    EXPECT_TRUE(MakeDirectories(root_ + "/journal").ok());
    Start();
  }
  ~LossTest() override {
    brain_ = nullptr;
    (void)RemoveTree(root_);
  }
  void Start() {
    brain_ = nullptr;
    Brain::Options options;
    options.directory = root_;
    options.replication = 1;
    brain_ = std::make_unique<Brain>(options, loop_, outlets_);
    const Status recovered = brain_->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.ToString();
  }
  // The next master begins with a snapshot of all that this one wrote.
  void StartBehindASnapshot() {
    brain_ = nullptr;
    const std::string directory = root_ + "/journal";
    {
      auto journal = journal::Journal::Open({.directory = directory, .segment_bytes = 1},
                                            [](const journal::Record&, uint64_t) { return Status::Ok(); });
      ASSERT_TRUE(journal.ok()) << journal.status().ToString();
      (*journal)->Start((*journal)->recovery().end.epoch, nullptr);
      (*journal)->WaitDurable((*journal)->Append(journal::RecordClass::kHard, static_cast<uint8_t>(RecordKind::kWorker),
                                                 EncodeFields(WorkerNamed{"more", WorkerId{9}})));
    }
    const Status taken = TakeSnapshot({.directory = root_}, journal::ListFiles(directory)->segments.back().after);
    ASSERT_TRUE(taken.ok()) << taken.ToString();
    Start();
  }
  // Gives why it is refused, if it is.
  std::string Register(char name, const Durable& seen = {}, std::vector<dfs::BlockRef> blocks = {}, uint64_t life = 0) {
    RegisterIn in;
    in.extra.name = std::string(1, name);
    in.info.incarnation = Incarnation{static_cast<uint64_t>(name) + life};
    in.info.address = "127.0.0.1:1";
    in.info.slots.total = 2;
    in.seen = seen;
    in.blocks = std::move(blocks);
    std::string refused;  // others are answered when the journal says so, for which no loop runs here
    brain_->Register(static_cast<uint64_t>(name) + life, in,
                     [&](const RegisterOut& out) { refused = out.status.message(); });
    return refused;
  }
  // What a worker was sent by another chain's master, which began this epoch too.
  Durable Lost(uint32_t epoch) {
    Durable seen = brain_->DurableNow();
    seen.epoch = epoch;
    ++seen.life;
    seen.sequence += 1000;
    return seen;
  }
  Status Change(const dfs::FsHost::PrepareFn& prepare) {
    Status refused;
    brain_->FsMutate(prepare, nullptr, [&](Status status) { refused = std::move(status); });
    return refused;
  }
  struct Open {
    uint64_t lease = 0;
    dfs::StagedBlock block;
  };
  // A file of one block that a has, before it is complete.
  Open Begin(const std::string& path) {
    EXPECT_TRUE(Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
                  return ns.PrepareCreate(now, path, true, 1, 0, path);
                }).ok());
    Open open{brain_->files().LeaseOf(path), {}};
    dfs::BlockAdded added;
    EXPECT_TRUE(Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
                  auto prepared = ns.PrepareAddBlock(now, open.lease, 0, "");
                  if (prepared.ok()) added = std::get<dfs::BlockAdded>(**prepared);
                  return prepared;
                }).ok());
    open.block = {{added.block, 1, 100, 7}, added.targets};
    brain_->BlocksReceived(added.targets.at(0), Incarnation{uint64_t{'a'}}, {open.block.block});
    return open;
  }
  Status Complete(const Open& open) {
    return Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
      return ns.PrepareComplete(now, open.lease, {open.block});
    });
  }
  BlockId Put(const std::string& path) {
    const Open open = Begin(path);
    EXPECT_TRUE(Complete(open).ok());
    return open.block.block.id;
  }

  std::string root_;
  Loop loop_{[] {}};
  NoOutlets outlets_;
  std::unique_ptr<Brain> brain_;
};

TEST_F(LossTest, AWriteThatIsUnderWayIsNotAcknowledgedBeforeTheLossIsAccepted) {
  Register('a');
  Put("/over");
  const Open fresh = Begin("/new"), over = Begin("/over"), staged = Begin("/.staging/job_1_0001/part");
  Register('b', Lost(1));
  ASSERT_TRUE(brain_->InLossMode());
  const uint64_t before = brain_->files().Stat("/over")->id;
  for (const Open& open : {fresh, over}) {
    const Status refused = Complete(open);
    EXPECT_EQ(refused.code(), Code::kRejected);
    EXPECT_THAT(refused.message(), HasSubstr("safe mode"));
  }
  EXPECT_FALSE(brain_->files().Stat("/new").ok());
  EXPECT_EQ(brain_->files().Stat("/over")->id, before);
  EXPECT_TRUE(Complete(staged).ok()) << "what jobs write goes on";
  brain_->AcceptLoss([](const Status&) {});
  for (const Open& open : {fresh, over}) EXPECT_TRUE(Complete(open).ok());
  EXPECT_TRUE(brain_->files().Stat("/new").ok());
  EXPECT_NE(brain_->files().Stat("/over")->id, before);
}

}  // namespace
}  // namespace mr::master
