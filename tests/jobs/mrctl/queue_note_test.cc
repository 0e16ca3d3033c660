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
            "default; it ends with its last job, unless `mrctl queue set adhco --weight 1` keeps it");
  EXPECT_EQ(NewQueueNote("adhoc", known, "mrctl "), "");
  EXPECT_EQ(NewQueueNote("", known, "mrctl "), "") << "the default queue";
  EXPECT_EQ(NewQueueNote("default", {}, "mrctl "), "");
}

}  // namespace
}  // namespace mr::ctl
