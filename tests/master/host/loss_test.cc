// A worker's evidence of lost records takes effect at once, in a host without sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "master/host/host.h"
#include "tests/master/host/no_outlets.h"

namespace mr::master {
namespace {

using testing::HasSubstr;

TEST(EpochsTest, DoubtBeginsWithTheFirstEpochThatCannotHaveBeenThereBeforeTheLostOne) {
  Epochs epochs;
  EXPECT_EQ(epochs.DoubtFrom({3, 300, 9}), 0u);
  epochs.Began({3, 300, 31, 30});
  epochs.Began({4, 400, 41, 40});
  epochs.Began({6, 600, 61, 60});
  EXPECT_EQ(epochs.DoubtFrom({4, 400, 99}), 60u) << "epoch 4 was there, and went on elsewhere";
  EXPECT_EQ(epochs.DoubtFrom({4, 401, 45}), 40u) << "another epoch 4";
  EXPECT_EQ(epochs.DoubtFrom({5, 500, 51}), 60u);
  EXPECT_EQ(epochs.DoubtFrom({7, 350, 71}), 40u) << "epochs 4 and 6 began behind it";
  EXPECT_EQ(epochs.DoubtFrom({7, 700, 71}), 60u) << "the newest is this master's own";
}

TEST(EpochsTest, ARecordIsLackingFromTheOneOnWithWhichTheNextEpochBegan) {
  Epochs epochs;
  epochs.Began({3, 300, 31, 30});
  epochs.Began({4, 400, 41, 40});
  EXPECT_FALSE(epochs.Lacks({3, 300, 40}, 99));
  EXPECT_TRUE(epochs.Lacks({3, 300, 41}, 99)) << "of epoch 4 here";
  EXPECT_FALSE(epochs.Lacks({4, 400, 99}, 99));
  EXPECT_TRUE(epochs.Lacks({4, 400, 100}, 99));
}

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
    host_ = nullptr;
    (void)RemoveTree(root_);
  }
  void Start() {
    host_ = nullptr;
    HostOptions options;
    options.directory = root_;
    options.replication = 1;
    host_ = std::make_unique<Host>(options, loop_, outlets_);
    const Status recovered = host_->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.ToString();
  }
  // The next master begins with a snapshot of all that this one wrote.
  void StartBehindASnapshot() {
    host_ = nullptr;
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
  std::string Register(char name, const Durable& seen = {}, std::vector<BlockRef> blocks = {}, uint64_t life = 0) {
    RegisterIn in;
    in.extra.name = std::string(1, name);
    in.info.incarnation = Incarnation{static_cast<uint64_t>(name) + life};
    in.info.address = "127.0.0.1:1";
    in.info.slots.total = 2;
    in.seen = seen;
    in.blocks = std::move(blocks);
    std::string refused;  // others are answered when the journal says so, for which no loop runs here
    host_->sessions().Register(static_cast<uint64_t>(name) + life, in,
                               [&](const RegisterOut& out) { refused = out.status.message(); });
    return refused;
  }
  // The durable record of a worker that heard from a master of another chain, which began this epoch too.
  Durable Lost(uint32_t epoch) {
    Durable seen = host_->safe_mode().DurableNow();
    seen.epoch = epoch;
    ++seen.life;
    seen.sequence += 1000;
    return seen;
  }
  Status Change(const dfs::FsHost::PrepareFn& prepare) {
    Status refused;
    host_->block_store().FsMutate(prepare, nullptr, [&](Status status) { refused = std::move(status); });
    return refused;
  }
  struct Open {
    uint64_t lease = 0;
    StagedBlock block;
  };
  // A file of one block that a has, before it is complete.
  Open Begin(const std::string& path) {
    EXPECT_TRUE(Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
                  return ns.PrepareCreate(now, path, true, 1, 0, path);
                }).ok());
    Open open{host_->core().files().LeaseOf(path), {}};
    dfs::BlockAdded added;
    EXPECT_TRUE(Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
                  auto prepared = ns.PrepareAddBlock(now, open.lease, 0, "");
                  if (prepared.ok()) added = std::get<dfs::BlockAdded>(**prepared);
                  return prepared;
                }).ok());
    open.block = {{added.block, 1, 100, 7}, added.targets};
    host_->block_store().BlocksReceived(added.targets.at(0), Incarnation{uint64_t{'a'}}, {open.block.block});
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
  test::NoOutlets outlets_;
  std::unique_ptr<Host> host_;
};

TEST_F(LossTest, AWriteThatIsUnderWayIsNotAcknowledgedBeforeTheLossIsAccepted) {
  Register('a');
  Put("/over");
  const Open fresh = Begin("/new"), over = Begin("/over"), staged = Begin("/.staging/job_1_0001/part");
  Register('b', Lost(1));
  ASSERT_TRUE(host_->driver().InLossMode());
  const uint64_t before = host_->core().files().Stat("/over")->id;
  for (const Open& open : {fresh, over}) {
    const Status refused = Complete(open);
    EXPECT_EQ(refused.code(), Code::kRejected);
    EXPECT_THAT(refused.message(), HasSubstr("safe mode"));
  }
  EXPECT_FALSE(host_->core().files().Stat("/new").ok());
  EXPECT_EQ(host_->core().files().Stat("/over")->id, before);
  EXPECT_TRUE(Complete(staged).ok()) << "what jobs write goes on";
  host_->safe_mode().Accept([](const Status&) {});
  for (const Open& open : {fresh, over}) EXPECT_TRUE(Complete(open).ok());
  EXPECT_TRUE(host_->core().files().Stat("/new").ok());
  EXPECT_NE(host_->core().files().Stat("/over")->id, before);
}

TEST_F(LossTest, TheLossIsKnownBeforeItsWorkerIsGivenAnId) {
  Register('a', Lost(1));
  ASSERT_TRUE(host_->driver().InLossMode());
  host_ = nullptr;
  std::vector<RecordKind> kinds;
  const auto read = journal::ReadDirectory(root_ + "/journal", 0, UINT64_MAX, [&](const journal::Record& r, uint64_t) {
    const auto kind = static_cast<RecordKind>(r.kind);
    if (kind == RecordKind::kLoss || kind == RecordKind::kWorker) kinds.push_back(kind);
    return Status::Ok();
  });
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(kinds, (std::vector<RecordKind>{RecordKind::kLoss, RecordKind::kWorker}));
}

TEST_F(LossTest, AWorkerThatMayNotRegisterShowsTheLossToo) {
  Register('a');
  host_->sessions().Exclude(host_->core().workers().FindIncarnation(Incarnation{uint64_t{'a'}})->id, true,
                            [](const Status&) {});
  EXPECT_THAT(Register('a', Lost(1)), HasSubstr("excluded"));
  EXPECT_TRUE(host_->driver().InLossMode());
}

TEST_F(LossTest, AWorkerWhoseNameIsInUseShowsTheLossToo) {
  Register('a');
  EXPECT_THAT(Register('a', Lost(1), {}, 1000), HasSubstr("already uses the name"));
  EXPECT_TRUE(host_->driver().InLossMode());
}

TEST_F(LossTest, AFurtherLossLeavesStandingUpToWhereTheJournalIsWhole) {
  Register('a', Lost(1));
  const std::string words = host_->safe_mode().Words();
  const size_t from = words.find("it ended with record ");
  ASSERT_NE(from, std::string::npos) << words;
  const std::string whole = words.substr(from, words.find(" when worker") + 1 - from);
  ASSERT_NO_FATAL_FAILURE(Start());
  Register('b', Lost(1000));
  EXPECT_THAT(host_->safe_mode().Words(), HasSubstr("of epoch 1000"));
  EXPECT_THAT(host_->safe_mode().Words(), HasSubstr(whole))
      << "what came behind it was written without the lost records";
}

// A copied journal directory, taken in its first epoch and started twice before a worker came that had seen another
// epoch 2.
class IdsInDoubtTest : public LossTest {
 protected:
  void Check(const std::function<void()>& start) {
    Register('a');
    const BlockId common = Put("/common");
    ASSERT_NO_FATAL_FAILURE(start());
    Register('a', {}, {{common, 1, 100, 7}});
    const BlockId own = Put("/own");
    ASSERT_NO_FATAL_FAILURE(start());
    // It has other bytes under both ids: damage where the id was given once, another block where lost records gave it.
    Durable seen = host_->safe_mode().DurableNow();
    seen.epoch = 2;
    ++seen.life;
    Register('b', seen, {{common, 1, 99, 1}, {own, 1, 99, 1}});
    ASSERT_TRUE(host_->driver().InLossMode());
    EXPECT_EQ(host_->core().files().Find(common)->damaged.size(), 1u);
    EXPECT_THAT(host_->core().files().Find(own)->damaged, testing::IsEmpty());
  }
};

TEST_F(IdsInDoubtTest, BlocksOfAllEpochsSinceTheCopyWasTakenAreInDoubt) {
  Check([this] { Start(); });
}

TEST_F(IdsInDoubtTest, BlocksOfAllEpochsSinceTheCopyWasTakenAreInDoubtBehindSnapshotsToo) {
  Check([this] { StartBehindASnapshot(); });
}

}  // namespace
}  // namespace mr::master
