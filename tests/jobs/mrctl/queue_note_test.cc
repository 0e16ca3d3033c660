// The note about a queue that a submit makes.
#include "jobs/mrctl/queue_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

TEST(QueueNoteTest, AMistypedQueueIsNamedWithTheOnesThatThereAre) {
  const std::vector<QueueStatus> known = {{.name = "adhoc"}, {.name = "default"}};
  EXPECT_EQ(NewQueueNote("adhco", known, "mrctl "),
            "queue 'adhco' is new: weight 1, no min share, no max share (did you mean 'adhoc'?); known queues: adhoc, "
            "default; it ends with its last job, unless `mrctl queue set adhco --weight N` gives it another weight");
  EXPECT_EQ(NewQueueNote("adhoc", known, "mrctl "), "");
  EXPECT_EQ(NewQueueNote("", known, "mrctl "), "") << "the default queue";
  EXPECT_EQ(NewQueueNote("default", {}, "mrctl "), "");
}

TEST(QueueNoteTest, AQueueThatIsSetForTheFirstTimeIsNamedAsNewWithTheWayBack) {
  const std::vector<QueueStatus> known = {{.name = "default"}, {.name = "prod", .min_share = 4}};
  using testing::ElementsAre;
  EXPECT_THAT(QueueSetNotes({.name = "prdo", .min_share = 3}, known, 8, "mrctl "),
              ElementsAre("queue 'prdo' is new (did you mean 'prod'?); known queues: default, prod; `mrctl queue set "
                          "prdo --weight 1 --min-share 0 --max-share 0` removes it"));
  EXPECT_THAT(QueueSetNotes({.name = "prod", .min_share = 5}, known, 8, "mrctl "), ElementsAre());
  EXPECT_THAT(QueueSetNotes({.name = "prod"}, known, 8, "mrctl "),
              ElementsAre("queue 'prod' has default settings: without jobs it is no longer listed"));
  EXPECT_THAT(QueueSetNotes({.name = "prdo"}, known, 8, "mrctl "),
              ElementsAre("queue 'prdo' is not known (did you mean 'prod'?); known queues: default, prod; default "
                          "settings make no queue"));
  EXPECT_THAT(QueueSetNotes({.name = "default"}, known, 8, "mrctl "), ElementsAre());
}

TEST(QueueNoteTest, ASetQueueIsShownWithItsOldAndNewValues) {
  const QueueStatus before{.name = "night", .weight = 1, .min_share = 0, .max_share = 8};
  const QueueStatus now{.name = "night", .weight = 0.5, .min_share = 1, .max_share = 0};
  EXPECT_EQ(QueueChange(before, now, {true, true, true}),
            "queue 'night': weight 0.5 (was 1), min share 1 slot (was none), max share none (was 8 slots)");
  EXPECT_EQ(QueueChange(before, now, {.max_share = true}), "queue 'night': max share none (was 8 slots)");
  EXPECT_EQ(QueueChange(now, now, {true, true, false}),
            "queue 'night': weight 0.5 (as before), min share 1 slot (as before)");
}

TEST(QueueNoteTest, AMinShareBeyondTheClustersSlotsIsNoted) {
  const std::vector<QueueStatus> known = {{.name = "etl", .min_share = 6}, {.name = "prod", .min_share = 4}};
  using testing::ElementsAre;
  EXPECT_THAT(QueueSetNotes({.name = "prod", .min_share = 100}, known, 8, "mrctl "),
              ElementsAre("the min share of 100 is more than the cluster's 8 slots: while the queue has jobs, nothing "
                          "is guaranteed to others"));
  EXPECT_THAT(QueueSetNotes({.name = "prod", .min_share = 5}, known, 8, "mrctl "),
              ElementsAre("the min shares of all queues are 11 slots, and the cluster has 8: they cannot all be served "
                          "at once"));
  EXPECT_THAT(QueueSetNotes({.name = "prod", .min_share = 5}, known, 0, "mrctl "), ElementsAre()) << "no workers now";
}

}  // namespace
}  // namespace mr::ctl
