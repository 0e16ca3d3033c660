#include "worker/daemon/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::worker {
namespace {

using testing::ElementsAre;

constexpr StageId kStage{{1, 1}, 0};

ReplicaPtr ReplicaOf(uint32_t task, uint32_t worker, Incarnation incarnation = 5) {
  ReplicaLocation replica;
  replica.output = {{kStage.job, kStage.stage, task}, 1};
  replica.attempt = 1;
  replica.worker = {worker};
  replica.incarnation = incarnation;
  return std::make_shared<const ReplicaLocation>(replica);
}

struct Reader {
  std::vector<std::string> seen;
  Directory::Listener listener() {
    return [this](const ReplicaPtr& replica, bool added) {
      seen.push_back((added ? "+" : "-") + std::to_string(replica->output.task.task) + "@" +
                     std::to_string(replica->worker.value));
    };
  }
};

TEST(DirectoryTest, ASubscriberHearsWhatIsThereAndThenEachChange) {
  Directory directory;
  ASSERT_TRUE(directory.Apply({kStage, 1, {ReplicaOf(0, 2)}, {}}));
  Reader reader;
  const uint64_t id = directory.Subscribe(kStage, reader.listener());
  ASSERT_TRUE(directory.Apply({kStage, 2, {ReplicaOf(1, 3)}, {NameOf(*ReplicaOf(0, 2))}}));
  EXPECT_THAT(reader.seen, ElementsAre("+0@2", "-0@2", "+1@3"));
  directory.Unsubscribe(kStage, id);
  ASSERT_TRUE(directory.Apply({kStage, 3, {ReplicaOf(2, 3)}, {}}));
  EXPECT_EQ(reader.seen.size(), 3u);
}

TEST(DirectoryTest, ARepeatedDeltaHasNoEffect) {
  Directory directory;
  Reader reader;
  directory.Subscribe(kStage, reader.listener());
  ASSERT_TRUE(directory.Apply({kStage, 4, {ReplicaOf(0, 2)}, {}}));
  EXPECT_FALSE(directory.Apply({kStage, 4, {ReplicaOf(1, 2)}, {}}));
  EXPECT_FALSE(directory.Apply({kStage, 3, {}, {NameOf(*ReplicaOf(0, 2))}}));
  EXPECT_EQ(directory.replicas(), 1u);
  EXPECT_THAT(reader.seen, ElementsAre("+0@2"));
}

TEST(DirectoryTest, ACompleteDeltaTakesAwayWhatItDoesNotName) {
  Directory directory;
  Reader reader;
  directory.Subscribe(kStage, reader.listener());
  directory.Apply({kStage, 9, {ReplicaOf(0, 2), ReplicaOf(1, 3)}, {}});
  reader.seen.clear();
  directory.ExpectComplete();
  // Another master's versions begin anew.
  EXPECT_TRUE(directory.Apply({kStage, 1, {ReplicaOf(1, 3), ReplicaOf(0, 4)}, {}}));
  EXPECT_THAT(reader.seen, ElementsAre("-0@2", "+1@3", "+0@4"));
  EXPECT_TRUE(directory.Apply({kStage, 2, {ReplicaOf(2, 4)}, {}}));
  EXPECT_EQ(directory.replicas(), 3u) << "the one after is a difference again";
}

TEST(DirectoryTest, AnotherLifeOfAWorkerIsAnotherReplica) {
  Directory directory;
  directory.Apply({kStage, 1, {ReplicaOf(0, 2, 5)}, {}});
  directory.Apply({kStage, 2, {ReplicaOf(0, 2, 6)}, {NameOf(*ReplicaOf(0, 2, 5))}});
  Reader reader;
  directory.Subscribe(kStage, reader.listener());
  EXPECT_THAT(reader.seen, ElementsAre("+0@2"));
}

// Whichever the master names first; and an equal attempt of another worker is a third one.
TEST(DirectoryTest, TheEndOfAnEarlierLifeTakesNothingOfTheLaterOne) {
  Directory directory;
  directory.Apply({kStage, 1, {ReplicaOf(0, 2, 5), ReplicaOf(0, 3, 5)}, {}});
  directory.Apply({kStage, 2, {ReplicaOf(0, 2, 6)}, {}});
  EXPECT_EQ(directory.replicas(), 3u);
  directory.Apply({kStage, 3, {}, {NameOf(*ReplicaOf(0, 2, 5))}});
  EXPECT_EQ(directory.replicas(), 2u);
  directory.ExpectComplete();
  directory.Apply({kStage, 1, {ReplicaOf(0, 2, 7)}, {}});
  EXPECT_EQ(directory.replicas(), 1u);
  std::vector<Incarnation> lives;
  directory.Subscribe(kStage, [&](const ReplicaPtr& replica, bool) { lives.push_back(replica->incarnation); });
  EXPECT_THAT(lives, ElementsAre(7u));
}

TEST(DirectoryTest, JobsAndStagesDoNotMix) {
  Directory directory;
  directory.Apply({kStage, 1, {ReplicaOf(0, 2)}, {}});
  Reader other;
  directory.Subscribe({{1, 1}, 1}, other.listener());
  EXPECT_TRUE(other.seen.empty());
  directory.EndJob({1, 2});
  EXPECT_EQ(directory.replicas(), 1u);
  directory.EndJob({1, 1});
  EXPECT_EQ(directory.replicas(), 0u);
}

}  // namespace
}  // namespace mr::worker
