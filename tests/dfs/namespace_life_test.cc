// Random lives of a cluster against a model that knows what exists, checked after every step.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <set>

#include "common/base/rng.h"
#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

class RandomLife : public NamespaceTest {
 protected:
  static NamespaceConfig Quick() {
    NamespaceConfig config;
    config.repair_delay = Seconds(2);
    config.repair_timeout = Seconds(5);
    return config;
  }
  explicit RandomLife(NamespaceConfig config = Quick()) : NamespaceTest(config) {}

  // Carries out an effect on the model of the disks, as a worker would; some commands get lost.
  void CarryOut(Rng* rng) {
    std::vector<Effect> todo;
    todo.swap(effects_);
    for (const auto& effect : todo) {
      if (rng->Below(5) == 0) continue;
      if (const auto* d = std::get_if<DeleteReplica>(&effect)) {
        auto& disk = disks_[d->worker.value];
        disk.erase(d->block.id);
      } else {
        const auto& c = std::get<ReplicateBlock>(effect);
        if (!up_.contains(c.from.value) || !up_.contains(c.to.value)) continue;
        if (!disks_[c.from.value].contains(c.block.id)) continue;
        disks_[c.to.value][c.block.id] = c.block;
        Have(c.to.value, c.block);
      }
    }
  }
  void JoinWithDisk(uint32_t i) {
    std::vector<BlockRef> blocks;
    for (const auto& [id, ref] : disks_[i]) blocks.push_back(ref);
    up_.insert(i);
    Join(i, "rack" + std::to_string(i % 3), std::move(blocks));
  }
  void Check() {
    // Each block of a visible file is on some disk: what was acknowledged is never deleted away.
    for (const auto& [path, blocks] : files_) {
      for (const BlockId b : blocks) {
        bool somewhere = false;
        for (const auto& [worker, disk] : disks_) somewhere = somewhere || disk.contains(b);
        ASSERT_TRUE(somewhere) << path << " block " << b.value;
      }
    }
  }

  // One life of 3000 steps and a quiet end; gives the digest after it.
  void Live() {
    Rng rng(42);
    for (uint32_t i = 1; i <= 8; ++i) JoinWithDisk(i);
    for (int step = 0; step < 3000; ++step) {
      if (thief_) Claim(&rng);
      Step(&rng);
      CarryOut(&rng);
      Check();
      if (HasFatalFailure()) return;
    }
    for (uint32_t i = 1; i <= 8; ++i) {
      if (!up_.contains(i)) JoinWithDisk(i);
    }
    for (int i = 0; i < 200; ++i) {
      Pass(Seconds(3));
      CarryOut(&rng);
    }
  }

  // A worker without a disk claims a block, or some when it registers. It is full, so that the master orders none
  // there.
  void Claim(Rng* rng) {
    std::vector<BlockRef> claimed;
    for (const auto& [worker, disk] : disks_) {
      for (const auto& [id, ref] : disk) {
        if (rng->Below(20) == 0) claimed.push_back(ref);
      }
    }
    if (!registered_ || rng->Below(10) == 0) {
      registered_ = true;
      Join(kThief, "rack9", claimed);
      Apply(WorkerRoom{now_, W(kThief), 100 + kThief, 0, true});
    } else if (!claimed.empty()) {
      Have(kThief, claimed[rng->Below(claimed.size())]);
    }
  }

  void Step(Rng* rng) {
    const uint64_t what = rng->Below(100);
    const std::string path = "/d" + std::to_string(rng->Below(3)) + "/f" + std::to_string(rng->Below(15));
    if (what < 40 && !files_.contains(path)) {
      for (const auto& b : Put(path, static_cast<uint32_t>(1 + rng->Below(3)))) {
        files_[path].push_back(b.block.id);
        for (const WorkerId w : b.workers) disks_[w.value][b.block.id] = b.block;
      }
    } else if (what < 55 && files_.contains(path)) {
      ASSERT_TRUE(Do(ns_.PrepareRemove(path, false)).ok());
      files_.erase(path);
    } else if (what < 60 && up_.size() > 6) {
      const uint32_t i = *std::next(up_.begin(), static_cast<long>(rng->Below(up_.size())));
      up_.erase(i);
      Lose(i);
    } else if (what < 70) {
      const auto i = static_cast<uint32_t>(1 + rng->Below(8));
      if (!up_.contains(i)) JoinWithDisk(i);
    } else {
      Pass(Millis(static_cast<int64_t>(rng->Below(3000))));
    }
  }

  std::map<uint32_t, std::map<BlockId, BlockRef>> disks_;
  std::set<uint32_t> up_;
  std::map<std::string, std::vector<BlockId>> files_;
  static constexpr uint32_t kThief = 9;
  bool thief_ = false, registered_ = false;
};

TEST_F(RandomLife, NothingAcknowledgedIsEverDeletedAndAllIsRepairedInTheEnd) {
  Live();
  const auto counts = ns_.Counts();
  EXPECT_EQ(counts.missing, 0u);
  EXPECT_EQ(counts.under_replicated, 0u);
  EXPECT_EQ(counts.copying, 0u);
  for (const auto& [path, blocks] : files_) {
    for (const BlockId b : blocks) EXPECT_EQ(ns_.Find(b)->workers.size(), 3u) << path;
  }
}

class RandomLifeWithAThief : public RandomLife {
 protected:
  static NamespaceConfig One() {
    NamespaceConfig config = Quick();
    config.replication = 1;
    return config;
  }
  RandomLifeWithAThief() : RandomLife(One()) { thief_ = true; }
};

TEST_F(RandomLifeWithAThief, WhatItClaimsCostsNothing) {
  Live();
  const auto counts = ns_.Counts();
  EXPECT_GT(counts.blocks, 10u);
  EXPECT_EQ(counts.missing, 0u);
  EXPECT_EQ(counts.under_replicated, 0u);
  EXPECT_EQ(counts.copying, 0u);
  for (const auto& [path, blocks] : files_) {
    for (const BlockId b : blocks) {
      const auto holders = ns_.Find(b)->workers;
      EXPECT_EQ(holders.size(), 1u) << path;
      EXPECT_NE(holders[0], W(kThief)) << path;
    }
  }
}

TEST_F(RandomLife, CountsInSlicesAreTheCountsOfAll) {
  Live();
  const auto whole = ns_.Counts();
  RepairCounts sum;
  BlockId from;
  size_t slices = 0;
  do {
    ns_.AddCounts(&from, 3, &sum);
    ++slices;
  } while (from.valid());
  EXPECT_EQ(sum.blocks, whole.blocks);
  EXPECT_EQ(sum.suspect, whole.suspect);
  EXPECT_EQ(sum.copying, whole.copying);
  EXPECT_GE(slices, whole.blocks / 3);
}

TEST_F(RandomLife, TheSameRecordsGiveTheSameDigest) {
  struct Life : RandomLife {
    void TestBody() override {}
    uint64_t Digest() {
      Live();
      return ns_.Digest();
    }
  };
  EXPECT_EQ(Life().Digest(), Life().Digest());
}

}  // namespace
}  // namespace mr::dfs
