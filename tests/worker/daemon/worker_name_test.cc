#include "worker/daemon/worker_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "tests/support/temp_directory.h"

namespace mr::worker {
namespace {

using ::testing::HasSubstr;

// Returns the name, or the error.
std::string Named(const std::string& path, const std::string& wish) {
  const auto name = WorkerName(path, wish);
  return name.ok() ? *name : name.status().ToString();
}

TEST(WorkerNameTest, AChosenNameIsKept) {
  const test::TempDirectory directory;
  const std::string path = directory / "worker_id";
  EXPECT_EQ(Named(path, "node7"), "node7");
  EXPECT_EQ(Named(path, ""), "node7");
  EXPECT_EQ(Named(path, "node7"), "node7");
}

TEST(WorkerNameTest, WithoutAWishItIsRandomAndKept) {
  const test::TempDirectory one, other;
  const std::string name = Named(one / "worker_id", "");
  EXPECT_EQ(name.size(), 16u);
  EXPECT_EQ(Named(one / "worker_id", ""), name);
  EXPECT_NE(Named(other / "worker_id", ""), name);
}

TEST(WorkerNameTest, AnotherNameForTheSameDataIsRefused) {
  const test::TempDirectory directory;
  ASSERT_TRUE(WorkerName(directory / "worker_id", "node7").ok());
  const auto renamed = WorkerName(directory / "worker_id", "node8");
  EXPECT_EQ(renamed.status().code(), Code::kRejected);
  EXPECT_THAT(renamed.status().message(), HasSubstr("belongs to the worker node7"));
  EXPECT_EQ(Named(directory / "worker_id", ""), "node7");
}

TEST(WorkerNameTest, ANameThatLooksLikeAnIdIsRefusedAndNothingIsWritten) {
  const test::TempDirectory directory;
  for (const char* name : {"w1", "7", "a b", "job_1_0001", "last", "-x", "a/b"}) {
    EXPECT_EQ(WorkerName(directory / "worker_id", name).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_FALSE(PathExists(directory / "worker_id"));
}

}  // namespace
}  // namespace mr::worker
