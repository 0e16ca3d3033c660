// A worker whose disk has no room gets neither attempts nor blocks, and where all are full the job that holds most of
// their room fails. Under a clock of the test's; the test calls what the master's ticks call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "master/host/host.h"
#include "tests/master/host/no_outlets.h"

namespace mr::master {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kGiB = 1ull << 30;

class DiskRoomTest : public testing::Test {
 protected:
  DiskRoomTest() {
    std::string pattern = testing::TempDir() + "/disk_room_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    EXPECT_TRUE(MakeDirectories(root_ + "/journal").ok());
    HostOptions options;
    options.directory = root_;
    options.clock = [this] { return now_; };
    host_ = std::make_unique<Host>(options, loop_, outlets_);
    const Status recovered = host_->Recover();
    EXPECT_TRUE(recovered.ok()) << recovered.ToString();
    for (const char* name : {"a", "b"}) Register(name);
  }
  ~DiskRoomTest() override {
    host_ = nullptr;
    (void)RemoveTree(root_);
  }

  void Register(const std::string& name) {
    RegisterIn in;
    in.extra.name = name;
    in.info.incarnation = Incarnation{static_cast<uint64_t>(name[0])};
    in.info.address = "127.0.0.1:1";
    in.info.slots.total = 2;
    host_->sessions().Register(static_cast<uint64_t>(name[0]), in, [](RegisterOut) {});
    host_->sessions().HeartbeatConnected(in.info.incarnation, true);
  }
  WorkerView& Of(char name) { return *host_->core().workers().FindIncarnation(static_cast<uint64_t>(name)); }
  void Beat(char name, bool full, Duration silent = {}) {
    DiskRoom room{50 * kGiB, 100 * kGiB};
    if (full) room = {kGiB, 100 * kGiB, true, false, std::string("/data/") + name};
    EXPECT_TRUE(host_->sessions().Beat(Of(name).id, Of(name).info.incarnation, silent, room));
  }
  // Does the work of the master's loop: a tick every 250 ms, at which both workers beat.
  void Run(Duration time, bool a_full, bool b_full) {
    for (Duration done; done < time; done = done + kTick) {
      now_ = now_ + kTick;
      Beat('a', a_full);
      Beat('b', b_full);
      host_->room().FailWithoutRoom();
    }
  }
  bool MayStart(char name) { return !host_->core().scheduler().state().FindWorker(Of(name).id)->draining; }
  std::string States() { return std::string(Of('a').Word()) + " " + Of('b').Word(); }

  Instant now_ = Instant{} + Seconds(1000);
  std::string root_;
  Loop loop_{[] {}};
  test::NoOutlets outlets_;
  std::unique_ptr<Host> host_;
};

TEST_F(DiskRoomTest, AFullWorkerGetsNoAttemptsUntilItHasRoomAgain) {
  Run(Seconds(1), false, false);
  EXPECT_EQ(States(), "live live");
  Run(Seconds(1), false, true);
  EXPECT_EQ(States(), "live full");
  EXPECT_TRUE(MayStart('a'));
  EXPECT_FALSE(MayStart('b'));
  const auto why = host_->why().Why(Name(Of('b').id), Everything());
  ASSERT_TRUE(why.ok());
  EXPECT_THAT(*why, testing::Contains(HasSubstr("has 1 GiB of 100 GiB free in /data/b")));
  Run(Seconds(1), false, false);
  EXPECT_EQ(States(), "live live");
  EXPECT_TRUE(MayStart('b'));
}

TEST_F(DiskRoomTest, RoomIsNotAllThatAnOperatorMayWantOfAWorker) {
  Run(Seconds(1), false, true);
  host_->sessions().Drain(Of('b').id, true, [](Status) {});
  Run(Seconds(1), false, false);
  EXPECT_EQ(States(), "live draining");
  EXPECT_FALSE(MayStart('b'));
  Run(Seconds(1), false, true);
  host_->sessions().Drain(Of('b').id, false, [](Status) {});
  EXPECT_EQ(States(), "live full");
  EXPECT_FALSE(MayStart('b')) << "wanted again, but without room";
  Run(Seconds(1), false, false);
  EXPECT_TRUE(MayStart('b'));
}

TEST_F(DiskRoomTest, AWorkerThatLeavesGetsNothingThoughItHasRoomAgain) {
  Run(Seconds(1), false, true);
  host_->sessions().Leaving(Of('b').id, Of('b').info.incarnation);
  Run(Seconds(1), false, false);
  EXPECT_EQ(States(), "live draining");
  EXPECT_FALSE(MayStart('b'));
}

TEST_F(DiskRoomTest, AWorkerWhoseLoopStandsStillGetsNothingThoughItHasRoomAgain) {
  Run(Seconds(1), false, true);
  Beat('b', true, Seconds(30));
  Beat('b', false, Seconds(30));
  EXPECT_EQ(States(), "live stalled");
  EXPECT_FALSE(MayStart('b'));
  Run(Seconds(1), false, false);
  EXPECT_EQ(States(), "live live");
  EXPECT_TRUE(MayStart('b'));
}

TEST_F(DiskRoomTest, AWorkerThatRegistersAgainIsFullByItsNextBeat) {
  Run(Seconds(1), false, true);
  Register("b");
  Beat('b', true);
  EXPECT_EQ(States(), "live full");
  EXPECT_FALSE(MayStart('b'));
}

TEST_F(DiskRoomTest, AWorkerOnWhichAttemptsCannotWriteGetsNoneUntilTheyCan) {
  const auto beat = [this](const std::string& failure) {
    DiskRoom room{50 * kGiB, 100 * kGiB};
    room.failure = failure;
    EXPECT_TRUE(host_->sessions().Beat(Of('b').id, Of('b').info.incarnation, {}, room));
  };
  beat("cannot write in /data/b/scratch: Read-only file system");
  EXPECT_EQ(States(), "live unfit");
  EXPECT_TRUE(MayStart('a'));
  EXPECT_FALSE(MayStart('b'));
  const auto why = host_->why().Why(Name(Of('b').id), Everything());
  ASSERT_TRUE(why.ok());
  EXPECT_THAT(*why, testing::Contains(HasSubstr("cannot write in /data/b/scratch: Read-only file system: it gets no")));
  // A drain that ends meanwhile gives it no attempts either.
  host_->sessions().Drain(Of('b').id, true, [](Status) {});
  EXPECT_EQ(States(), "live draining");
  host_->sessions().Drain(Of('b').id, false, [](Status) {});
  EXPECT_EQ(States(), "live unfit");
  EXPECT_FALSE(MayStart('b'));
  beat("");
  EXPECT_EQ(States(), "live live");
  EXPECT_TRUE(MayStart('b'));
}

TEST_F(DiskRoomTest, AWorkerThatIsFullByAFailedWriteSaysSo) {
  DiskRoom room{50 * kGiB, 100 * kGiB, true, false, "/data/b"};
  room.no_space_unix_ms = 1'000'000'000'000;
  EXPECT_TRUE(host_->sessions().Beat(Of('b').id, Of('b').info.incarnation, {}, room));
  const auto why = host_->why().Why(Name(Of('b').id), Everything());
  ASSERT_TRUE(why.ok());
  EXPECT_THAT(*why, testing::Contains(HasSubstr("50 GiB of 100 GiB free in /data/b, and a write found no space at ")));
  EXPECT_THAT(*why, testing::Not(testing::Contains(HasSubstr("less than it keeps free"))));
}

TEST_F(DiskRoomTest, BlocksGoWhereThereIsRoom) {
  Run(Seconds(1), false, true);
  uint64_t lease = 0;
  const auto create = [&lease](const dfs::Namespace& ns, const dfs::Stamp& now) {
    auto prepared = ns.PrepareCreate(now, "/f", false, 1, 0, "r");
    lease = std::get<dfs::FileCreated>(**prepared).lease;
    return prepared;
  };
  host_->block_store().FsMutate(create, nullptr, [](Status) {});
  for (uint32_t i = 0; i < 8; ++i) {
    const auto prepared = host_->core().files().PrepareAddBlock(dfs::Stamp{host_->clock().Stamp(), 1}, lease, 0, "");
    ASSERT_TRUE(prepared.ok()) << prepared.status().ToString();
    EXPECT_EQ(std::get<dfs::BlockAdded>(**prepared).targets, std::vector<WorkerId>{Of('a').id});
  }
  Run(Seconds(1), true, true);
  const auto refused = host_->core().files().PrepareAddBlock(dfs::Stamp{host_->clock().Stamp(), 1}, lease, 0, "");
  EXPECT_EQ(refused.status().code(), Code::kOverloaded);
  EXPECT_THAT(refused.status().message(), HasSubstr("w1, w2 have less free than is kept free"));
}

}  // namespace
}  // namespace mr::master
