// The head of a snapshot holds what is neither job nor file, for records that a restart does not read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "master/host/host.h"
#include "tests/master/host/no_outlets.h"

namespace mr::master {
namespace {

using testing::HasSubstr;

class SnapshotHeadTest : public testing::Test {
 protected:
  SnapshotHeadTest() {
    std::string pattern = testing::TempDir() + "/snapshot_head_XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    EXPECT_TRUE(MakeDirectories(root_ + "/journal").ok());
    Start();
    Register({});
  }
  ~SnapshotHeadTest() override {
    host_ = nullptr;
    (void)RemoveTree(root_);
  }

  void Start() {
    host_ = nullptr;
    HostOptions options;
    options.directory = root_;
    host_ = std::make_unique<Host>(options, loop_, outlets_);
    const Status recovered = host_->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.ToString();
  }
  // The worker, which was sent this as durable.
  void Register(const Durable& seen) {
    RegisterIn in;
    in.extra.name = "a";
    in.info.incarnation = Incarnation{7};
    in.info.address = "127.0.0.1:1";
    in.info.slots.total = 2;
    in.seen = seen;
    host_->sessions().Register(1, in, [](RegisterOut out) { EXPECT_TRUE(out.status.ok()) << out.status.ToString(); });
  }
  WorkerView& Worker() { return *host_->core().workers().FindIncarnation(Incarnation{7}); }
  // The master stops, its journal ends with one more record, and the next one begins with a snapshot of all that.
  void StartBehindASnapshot(RecordKind kind, const std::string& payload, uint32_t epochs_on = 0) {
    host_ = nullptr;
    const std::string directory = root_ + "/journal";
    {
      auto journal = journal::Journal::Open({.directory = directory, .segment_bytes = 1},
                                            [](const journal::Record&, uint64_t) { return Status::Ok(); });
      ASSERT_TRUE(journal.ok()) << journal.status().ToString();
      (*journal)->Start((*journal)->recovery().end.epoch + epochs_on, nullptr);
      (*journal)->WaitDurable((*journal)->Append(journal::RecordClass::kHard, static_cast<uint8_t>(kind), payload));
    }
    const Status taken = TakeSnapshot({.directory = root_}, journal::ListFiles(directory)->segments.back().after);
    ASSERT_TRUE(taken.ok()) << taken.ToString();
    Start();
  }

  std::string root_;
  Loop loop_{[] {}};
  test::NoOutlets outlets_;
  std::unique_ptr<Host> host_;
};

TEST_F(SnapshotHeadTest, AWorkerWhoseMemoryDamagedOutputsGetsNothingNewBehindASnapshotEither) {
  const WorkerId id = Worker().id;
  ASSERT_NO_FATAL_FAILURE(
      StartBehindASnapshot(RecordKind::kWrongOutputs, EncodeFields(WorkerWrongOutputs{id, kDistrustedFrom})));
  Register({});
  EXPECT_STREQ(Worker().Word(), "distrusted");
  EXPECT_TRUE(host_->core().scheduler().state().FindWorker(id)->draining);
}

TEST_F(SnapshotHeadTest, AnOperatorsTrustEndsTheDistrustAlsoOverRestarts) {
  const WorkerId id = Worker().id;
  ASSERT_NO_FATAL_FAILURE(
      StartBehindASnapshot(RecordKind::kWrongOutputs, EncodeFields(WorkerWrongOutputs{id, kDistrustedFrom})));
  Register({});
  ASSERT_STREQ(Worker().Word(), "distrusted");
  host_->sessions().Drain(id, false, [](const Status&) {});
  const auto trusted = [&](const char* when) {
    EXPECT_STREQ(Worker().Word(), "live") << when;
    EXPECT_FALSE(host_->core().scheduler().state().FindWorker(id)->draining) << when;
  };
  trusted("at once");
  ASSERT_NO_FATAL_FAILURE(Start());
  Register({});
  trusted("after a restart");
  ASSERT_NO_FATAL_FAILURE(StartBehindASnapshot(RecordKind::kWorker, EncodeFields(WorkerNamed{"more", WorkerId{9}})));
  Register({});
  trusted("behind a snapshot");
}

TEST_F(SnapshotHeadTest, ALossThatNobodyHasAcceptedIsOneBehindASnapshotToo) {
  ASSERT_FALSE(host_->driver().InLossMode());
  const JournalLoss loss{3, 500, 100, 4, 1, "a", true};
  ASSERT_NO_FATAL_FAILURE(StartBehindASnapshot(RecordKind::kLoss, EncodeFields(loss), 3));
  EXPECT_TRUE(host_->driver().InLossMode());
  EXPECT_THAT(host_->safe_mode().Words(), HasSubstr("which had been sent record 500 of epoch 3"));
}

TEST_F(SnapshotHeadTest, AnEpochOfAnotherChainIsNoticedBehindASnapshotToo) {
  Durable seen = host_->safe_mode().DurableNow();
  ASSERT_NE(seen.epoch, 0u);
  ASSERT_NO_FATAL_FAILURE(StartBehindASnapshot(RecordKind::kWorker, EncodeFields(WorkerNamed{"more", WorkerId{9}})));
  ASSERT_GT(host_->safe_mode().DurableNow().epoch, seen.epoch);
  Register(seen);
  EXPECT_FALSE(host_->driver().InLossMode()) << "of this chain";
  ++seen.life;
  Register(seen);
  EXPECT_TRUE(host_->driver().InLossMode());
}

TEST_F(SnapshotHeadTest, AForgottenWorkerStaysSoAndItsIdIsNotGivenAgain) {
  const WorkerId id = Worker().id;
  host_->sessions().Exclude(id, true, [](const Changed&) {});
  host_->sessions().Forget(id, true, [](const Changed&) {});
  EXPECT_EQ(host_->core().workers().Find(id), nullptr);
  ASSERT_NO_FATAL_FAILURE(StartBehindASnapshot(RecordKind::kWorker, EncodeFields(WorkerNamed{"b", {id.value + 1}})));
  EXPECT_EQ(host_->core().workers().Find(id), nullptr);
  host_->sessions().Forget({id.value + 1}, true, [](const Changed&) {});
  Register({});
  EXPECT_EQ(Worker().id.value, id.value + 2) << "also where the newest one was forgotten";
}

}  // namespace
}  // namespace mr::master
