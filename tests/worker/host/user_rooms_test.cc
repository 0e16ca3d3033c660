// Rooms of tier 2 and above with a host and real children: users of owners, and idle children.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/worker/host/task_harness.h"
#include "worker/host/task_host.h"

namespace mr::worker {
namespace {

using ::testing::HasSubstr;

class UserRoomsTest : public TaskTest {
 protected:
  static constexpr uid_t kFirst = 3000100;
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not root";
    ASSERT_EQ(chmod(directory_->c_str(), 0711), 0);
    scratch_ = *directory_ + "/scratch";
    ASSERT_TRUE(MakeDirectories(scratch_).ok());
    ASSERT_EQ(chmod(scratch_.c_str(), 0711), 0);
    TaskHostOptions options;
    options.mrtask_path = MRTASK_PATH;
    options.scratch_directory = scratch_;
    options.data_directory = *directory_;
    options.task_users = {kFirst, kFirst + 1};
    options.rooms.tier = task::kBestTier;
    options.rooms.paths = {{std::string(TEST_LIBRARY).substr(0, std::string(TEST_LIBRARY).rfind('/')), false}};
    auto host = TaskHost::Start(options);
    ASSERT_TRUE(host.ok()) << host.status().ToString();
    own_ = *std::move(host);
    if (own_->room().tier < 2) GTEST_SKIP() << own_->room().why;
  }
  TaskSpec Of(const std::string& owner, uint32_t job, const std::string& op = "environment", uint32_t flags = 0) {
    TaskSpec s = Spec(op, flags);
    s.attempt.task.job.seq = job;
    s.owner = owner;
    s.scratch_directory = scratch_ + "/job" + std::to_string(job);
    return s;
  }
  TaskResult RunOwn(TaskSpec s, std::shared_ptr<Collector> c = std::make_shared<Collector>()) {
    AddSplit(&s, Write("in" + std::to_string(s.attempt.task.task), "a line\n"));
    if (s.ports.empty()) s.ports = {Shuffle(2)};
    own_->Run(std::move(s), c);
    return c->Wait();
  }
  uid_t OwnerOf(uint32_t job) {
    struct stat info;
    return stat((scratch_ + "/job" + std::to_string(job) + "/tmp").c_str(), &info) == 0 ? info.st_uid : 0;
  }
  std::string scratch_;
  std::unique_ptr<TaskHost> own_;
};

TEST_F(UserRoomsTest, EachOwnerHasAUserUntilTheRangeIsUsedUp) {
  const std::pair<const char*, uid_t> owners[] = {{"ann", kFirst}, {"bob", kFirst + 1}, {"ann", kFirst}};
  for (uint32_t job = 1; job <= 3; ++job) {
    const TaskResult result = RunOwn(Of(owners[job - 1].first, job, "nothing"));
    EXPECT_EQ(result.end, TaskEnd::kDone) << result.message;
    EXPECT_EQ(OwnerOf(job), owners[job - 1].second);
  }
  const TaskResult none = RunOwn(Of("carl", 4, "nothing"));
  EXPECT_EQ(none.end, TaskEnd::kEnvironment);
  EXPECT_THAT(none.message, HasSubstr("--task_uids 3000100-3000101"));
  EXPECT_EQ(OwnerOf(4), 0u);
}

TEST_F(UserRoomsTest, AReusedChildServesOneJobAndKeepsItsPlace) {
  for (int i = 0; i < 2; ++i) {
    for (const auto& [owner, job] : {std::pair("ann", 5u), std::pair("bob", 6u)}) {
      const TaskResult result = RunOwn(Of(owner, job, "nothing.reusable", MR_REUSABLE));
      EXPECT_EQ(result.end, TaskEnd::kDone) << result.message;
    }
  }
  EXPECT_NE(OwnerOf(5), OwnerOf(6));
  own_->EndJob({1, 5});
  own_->EndJob({1, 6});
}

}  // namespace
}  // namespace mr::worker
