// The last report of a job waits for replicas of its output, and the wait costs next to nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/host/host_fixture.h"

namespace mr::master {
namespace {

constexpr uint32_t kBlocks = 300;

// A job whose output is one file of many blocks in the block store: all on a but the last, which b has.
class HeldCommitTest : public test::HostFixture {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(MapsOnA("dfs:///out"));
    On([this] { WriteOutput(); });
    Run(kLease + Seconds(1), [this] { Beat('a'); });
    ASSERT_EQ(Of('b').Word(), std::string("lost"));
  }
  void Change(const dfs::FsHost::PrepareFn& prepare) {
    host_->block_store().FsMutate(prepare, nullptr,
                                  [](const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); });
  }
  void WriteOutput() {
    const std::string path = "/.staging/" + Name(job_) + "/part";
    Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
      return ns.PrepareCreate(now, path, false, 1, 0, path);
    });
    const uint64_t lease = host_->core().files().LeaseOf(path);
    std::vector<StagedBlock> blocks;
    for (uint32_t i = 0; i < kBlocks; ++i) {
      const char on = i + 1 < kBlocks ? 'a' : 'b';
      Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
        auto prepared = ns.PrepareAddBlock(now, lease, i, Of(on).info.address);
        if (prepared.ok()) blocks.push_back({{std::get<dfs::BlockAdded>(**prepared).block, 1, 100, 7}, {Of(on).id}});
        return prepared;
      });
      host_->block_store().BlocksReceived(Of(on).id, Of(on).info.incarnation, {blocks.back().block});
    }
    output_ = blocks;
    Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) { return ns.PrepareComplete(now, lease, blocks); });
  }
  void FinishReduce() {
    On([this] {
      mr::Report report = Finished({{job_, 1, 0}, 1});
      auto& finished = std::get<report::Finished>(report.what);
      for (uint32_t t = 0; t < 3; ++t) finished.consumed.push_back({0, t, 1, {t, 1}});
      finished.output.files = {{"part", "", 100 * kBlocks, 1, {}, output_}};
      Report('a', report);
    });
  }
  std::vector<StagedBlock> output_;
};

TEST_F(HeldCommitTest, AllBlocksAreWalkedAgainOnlyWhenTheOneThatKeepsItIsBack) {
  FinishReduce();
  const uint64_t looks = host_->core().commit_looks();
  EXPECT_EQ(looks, kBlocks);
  const auto tick = [this] { Beat('a'), host_->reports().FeedHeld(); };
  Run(Seconds(5), tick);
  EXPECT_EQ(StateOf(job_), "RUNNING");
  EXPECT_EQ(host_->core().commit_looks(), looks) << "in 20 ticks";
  Register('b');
  On([&] { host_->block_store().BlocksReceived(Of('b').id, Of('b').info.incarnation, {output_.back().block}); });
  Run(kTick, tick);
  EXPECT_EQ(EndOf(job_), "SUCCEEDED");
}

TEST_F(HeldCommitTest, AJobWhoseBlockDoesNotComeBackFailsWithItsName) {
  FinishReduce();
  Run(Seconds(16), [this] { Beat('a'), host_->reports().FeedHeld(); });
  EXPECT_THAT(EndOf(job_), testing::StartsWith("FAILED"));
  EXPECT_THAT(EndOf(job_), testing::HasSubstr("block " + std::to_string(output_.back().block.id.value) + " of part"));
}

}  // namespace
}  // namespace mr::master
