// The users that owners of jobs get on a worker's machine.
#include "worker/host/task_users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "tests/support/temp_directory.h"

namespace mr::worker {
namespace {

using ::testing::HasSubstr;

class TaskUsersTest : public testing::Test {
 protected:
  TaskUsers Open(UserRange range) { return *TaskUsers::Open(path_, range); }

  test::TempDirectory directory_;
  const std::string path_ = directory_ / "task_users";
};

TEST_F(TaskUsersTest, ARangeHasNoUsersOfTheSystem) {
  const auto range = UserRange::Parse("200000-200009");
  ASSERT_TRUE(range.ok());
  EXPECT_EQ(range->first, 200000u);
  EXPECT_EQ(range->last, 200009u);
  EXPECT_FALSE(UserRange{}.given());
  for (const char* wrong : {"", "5", "-", "2000-", "-2000", "2001-2000", "2000-3000x", "0-2000", "999-2000",
                            "60000-70000", "65534-65534", "200000-4294967295", "200000-99999999999"}) {
    EXPECT_EQ(UserRange::Parse(wrong).status().code(), Code::kInvalidArgument) << wrong;
  }
}

TEST_F(TaskUsersTest, EachOwnerHasAUserAndKeepsIt) {
  TaskUsers users = Open({200000, 200009});
  EXPECT_EQ(*users.UserOf("ann"), 200000u);
  EXPECT_EQ(*users.UserOf("bob"), 200001u);
  EXPECT_EQ(*users.UserOf("ann"), 200000u);
  TaskUsers later = Open({200000, 200009});
  EXPECT_EQ(*later.UserOf("bob"), 200001u);
  EXPECT_EQ(*later.UserOf("worker:a b"), 200002u);
  EXPECT_EQ(*Open({200000, 200009}).UserOf("worker:a b"), 200002u);
}

TEST_F(TaskUsersTest, AUserNeverPassesToAnotherOwner) {
  TaskUsers users = Open({200000, 200001});
  ASSERT_TRUE(users.UserOf("ann").ok() && users.UserOf("bob").ok());
  const auto none = users.UserOf("carl");
  EXPECT_EQ(none.status().code(), Code::kUnavailable);
  EXPECT_THAT(none.status().message(), HasSubstr("--task_uids 200000-200001"));
  EXPECT_EQ(*users.UserOf("ann"), 200000u);
  EXPECT_EQ(*Open({200000, 200002}).UserOf("carl"), 200002u);
}

TEST_F(TaskUsersTest, UsersOutsideOfANewRangeAreDropped) {
  ASSERT_TRUE(Open({200000, 200001}).UserOf("ann").ok());
  EXPECT_EQ(*Open({300000, 300001}).UserOf("ann"), 300000u);
}

TEST_F(TaskUsersTest, AUserThatCannotBeKeptIsNotGiven) {
  TaskUsers users = *TaskUsers::Open(directory_ / "nowhere/task_users", {200000, 200001});
  EXPECT_FALSE(users.UserOf("ann").ok());
  EXPECT_FALSE(users.UserOf("").ok());
  EXPECT_FALSE(users.UserOf("a\n200001 b").ok());
}

TEST_F(TaskUsersTest, ADamagedListStopsTheWorker) {
  for (const char* wrong : {"ann\n", "200000\n", "x ann\n", "200000 ann\n200000 bob\n"}) {
    ASSERT_TRUE(WriteFileDurably(path_, wrong).ok());
    EXPECT_EQ(TaskUsers::Open(path_, {200000, 200009}).status().code(), Code::kCorrupted) << wrong;
  }
}

}  // namespace
}  // namespace mr::worker
