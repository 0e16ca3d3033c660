// A namespace for tests, with a host that carries out its effects at once.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dfs/meta/namespace.h"

namespace mr::dfs {

// A host in miniature: applies what is prepared, keeps the effects and the hard records.
class NamespaceTest : public ::testing::Test {
 protected:
  NamespaceTest() : NamespaceTest(NamespaceConfig{}) {}
  explicit NamespaceTest(NamespaceConfig config) : config_(config), ns_(config) { Apply(MasterStarted{now_, {}}); }

  void Apply(const Record& record) {
    for (const Record& placed : ns_.PlacedBy(record)) Note(placed);
    if (IsHard(record)) hard_.push_back(record);
    std::vector<Effect> effects = ns_.Apply(record);
    for (const Record& unplaced : ns_.UnplacedBy(effects)) Note(unplaced);
    for (auto& effect : effects) effects_.push_back(std::move(effect));
  }
  // Applies a record of placed replicas, which has no effects.
  void Note(const Record& record) {
    hard_.push_back(record);
    EXPECT_TRUE(ns_.Apply(record).empty());
  }
  Status Do(const Namespace::Prepared& prepared) {
    if (!prepared.ok()) return prepared.status();
    if (prepared->has_value()) Apply(**prepared);
    return Status::Ok();
  }
  Stamp At() const { return {now_, 1'700'000'000'000}; }
  void Pass(Duration time) {
    now_ = now_ + time;
    for (const auto& record : ns_.Due(now_)) Apply(record);
  }

  static WorkerId W(uint32_t i) { return {i}; }
  void Join(uint32_t i, const std::string& rack = "", std::vector<BlockRef> blocks = {}) {
    Apply(WorkerJoined{now_, W(i), 100 + i, "host" + std::to_string(i) + ":1", rack, 0, 0, std::move(blocks)});
  }
  void Lose(uint32_t i) { Apply(WorkerGone{now_, W(i), 100 + i}); }
  void Have(uint32_t i, const BlockRef& block) { Apply(ReplicaDurable{now_, W(i), 100 + i, block}); }

  // Creates an open file; 0 where it is refused.
  uint64_t Open(const std::string& path, bool overwrite = false) {
    const std::string request = "r" + std::to_string(++requests_);
    if (!Do(ns_.PrepareCreate(At(), path, overwrite, 0, 0, request)).ok()) return 0;
    return ns_.LeaseOf(request);
  }
  // Adds one block, "written" by all of its targets.
  StagedBlock Write(uint64_t lease, uint32_t index, uint64_t length = 100) {
    const auto prepared = ns_.PrepareAddBlock(At(), lease, index, "");
    EXPECT_TRUE(prepared.ok()) << prepared.status().ToString();
    const auto added = std::get<BlockAdded>(**prepared);
    Apply(added);
    StagedBlock staged{{added.block, 1, length, added.block.value * 7}, added.targets};
    for (const WorkerId w : added.targets) Have(w.value, staged.block);
    return staged;
  }
  // A complete file with this many blocks.
  std::vector<StagedBlock> Put(const std::string& path, uint32_t blocks = 1) {
    const uint64_t lease = Open(path);
    EXPECT_NE(lease, 0u);
    std::vector<StagedBlock> staged;
    for (uint32_t i = 0; i < blocks; ++i) staged.push_back(Write(lease, i));
    EXPECT_TRUE(Do(ns_.PrepareComplete(At(), lease, staged)).ok());
    return staged;
  }
  std::vector<DeleteReplica> Deletes() const {
    std::vector<DeleteReplica> out;
    for (const auto& e : effects_) {
      if (const auto* d = std::get_if<DeleteReplica>(&e)) out.push_back(*d);
    }
    return out;
  }
  std::vector<ReplicateBlock> Copies() const {
    std::vector<ReplicateBlock> out;
    for (const auto& e : effects_) {
      if (const auto* c = std::get_if<ReplicateBlock>(&e)) out.push_back(*c);
    }
    return out;
  }

  // Calls `check` with the namespaces of a snapshot, and of a replay of the hard records' bytes: neither has soft
  // state.
  void EachRestarted(const std::function<void(const Namespace&)>& check) const {
    Namespace restored(config_), replayed(config_);
    ASSERT_TRUE(restored.Restore(ns_.Snapshot()).ok());
    for (const Record& record : hard_) {
      Record decoded;
      ASSERT_TRUE(Decode(Encode(record), &decoded));
      (void)replayed.Apply(decoded);
    }
    for (const Namespace* other : {&restored, &replayed}) {
      EXPECT_EQ(other->HardDigest(), ns_.HardDigest());
      check(*other);
    }
  }

  NamespaceConfig config_;
  Namespace ns_;
  Instant now_{1'000'000'000};
  uint64_t requests_ = 0;
  std::vector<Effect> effects_;
  std::vector<Record> hard_;
};

}  // namespace mr::dfs
