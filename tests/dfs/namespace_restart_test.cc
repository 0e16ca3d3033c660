// After a snapshot or a replay of its journal a master knows the same as before.
#include <gtest/gtest.h>

#include <set>

#include "tests/dfs/namespace_testing.h"

namespace mr::dfs {
namespace {

class NamespaceRestartTest : public NamespaceTest {
 protected:
  // check(namespace) on the one that never stopped, one from a snapshot and one from the journal.
  template <class F>
  void Each(F check) {
    Namespace restored(config_), replayed(config_);
    ASSERT_TRUE(restored.Restore(ns_.Snapshot()).ok());
    for (const Record& record : hard_) (void)replayed.Apply(record);
    EXPECT_EQ(restored.HardDigest(), ns_.HardDigest());
    EXPECT_EQ(replayed.HardDigest(), ns_.HardDigest());
    const std::pair<const char*, Namespace*> all[] = {
        {"at once", &ns_}, {"snapshot", &restored}, {"replay", &replayed}};
    for (const auto& [how, ns] : all) {
      SCOPED_TRACE(how);
      check(*ns);
    }
  }
  uint64_t Pin(const std::vector<uint64_t>& files) {
    const auto prepared = ns_.PreparePin(At(), files);
    Apply(**prepared);
    return std::get<InputsPinned>(**prepared).pin;
  }
  static size_t DeletesIn(const std::vector<Effect>& effects) {
    return static_cast<size_t>(std::count_if(effects.begin(), effects.end(),
                                             [](const Effect& e) { return std::holds_alternative<DeleteReplica>(e); }));
  }
};

// A job that ended may release its pin again.
TEST_F(NamespaceRestartTest, APinThatWasReleasedIsNeverGivenAgain) {
  Join(1);
  Put("/f");
  const uint64_t file = ns_.Stat("/f")->id;
  const uint64_t first = Pin({file}), second = Pin({file});
  for (const uint64_t pin : {second, first}) {
    ASSERT_TRUE(Do(ns_.PrepareRelease(pin)).ok());
    Each(
        [&](const Namespace& ns) { EXPECT_EQ(std::get<InputsPinned>(**ns.PreparePin(At(), {file})).pin, second + 1); });
  }
}

TEST_F(NamespaceRestartTest, OfTwoPinsOfAFileEachHoldsIt) {
  Join(1);
  const BlockRef block = Put("/f")[0].block;
  const uint64_t file = ns_.Stat("/f")->id;
  const uint64_t first = Pin({file}), second = Pin({file});
  ASSERT_TRUE(Do(ns_.PrepareRemove("/f", false)).ok());
  Each([&](Namespace& ns) {
    (void)ns.Apply(MasterStarted{now_, {}, {}});
    (void)ns.Apply(WorkerJoined{now_, W(1), 101, "host1:1", "", 0, 0, {block}});
    (void)ns.Apply(Ticked{now_ + config_.safe_mode_wait});
    EXPECT_EQ(DeletesIn(ns.Apply(InputsReleased{first})), 0u);
    EXPECT_TRUE(ns.LocateFile(file, 0, 0, "").ok());
    EXPECT_EQ(DeletesIn(ns.Apply(InputsReleased{second})), 1u);
    EXPECT_FALSE(ns.LocateFile(file, 0, 0, "").ok());
  });
}

// Its writer may ask again whether it is complete.
TEST_F(NamespaceRestartTest, ARemovedFileIsNotCompleteThoughAPinKeepsIt) {
  Join(1);
  const uint64_t lease = Open("/f");
  const StagedBlock block = Write(lease, 0);
  ASSERT_TRUE(Do(ns_.PrepareComplete(At(), lease, {block})).ok());
  const uint64_t file = ns_.Stat("/f")->id;
  Each([&](const Namespace& ns) { EXPECT_TRUE(ns.PrepareComplete(At(), lease, {block}).ok()); });
  Pin({file});
  ASSERT_TRUE(Do(ns_.PrepareRemove("/f", false)).ok());
  Each([&](const Namespace& ns) {
    EXPECT_EQ(ns.PrepareComplete(At(), lease, {block}).status().code(), Code::kNotFound);
    EXPECT_TRUE(ns.LocateFile(file, 0, 0, "").ok());
  });
}

// Blocks that lost records may have given are kept; those of this journal that are no more are garbage.
TEST_F(NamespaceRestartTest, IdsOfEachLossAreInDoubtAndNoOthers) {
  Join(1);
  std::set<uint64_t> given;
  const auto put = [&] {
    given.insert(Put("/f")[0].block.id.value);
    ASSERT_TRUE(Do(ns_.PrepareRemove("/f", false)).ok());
  };
  put();
  for (const uint64_t lost : {5, 1, 3}) {
    Apply(IdsRaised{ns_.NextBlock() + lost, 0});
    put();
  }
  EXPECT_EQ(*given.rbegin(), 1u + 5 + 1 + 1 + 1 + 3 + 1);
  std::vector<BlockRef> here;
  for (uint64_t id = 1; id <= *given.rbegin() + 2; ++id) here.push_back({{id}, 1, 100, id});
  Each([&](Namespace& ns) {
    (void)ns.Apply(MasterStarted{now_, {}, {}});
    (void)ns.Apply(Ticked{now_ + config_.safe_mode_wait});
    const auto effects = ns.Apply(WorkerJoined{now_, W(2), 102, "host2:1", "", 0, 0, here});
    std::set<uint64_t> garbage;
    for (const Effect& e : effects) garbage.insert(std::get<DeleteReplica>(e).block.id.value);
    EXPECT_EQ(garbage, given);
  });
}

}  // namespace
}  // namespace mr::dfs
