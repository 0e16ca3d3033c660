#include "jobs/mrctl/worker_ref.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mr::ctl {
namespace {

using ::testing::HasSubstr;

std::vector<WorkerStatus> Two() {
  std::vector<WorkerStatus> workers(2);
  workers[0].id = "w1";
  workers[0].name = "node7";
  workers[1].id = "w2";
  workers[1].name = "0123456789abcdef";
  return workers;
}

TEST(WorkerRefTest, AWorkerIsNamedByItsIdOrItsName) {
  EXPECT_EQ(*FindWorker("w2", Two()), WorkerId{2});
  EXPECT_EQ(*FindWorker("node7", Two()), WorkerId{1});
  EXPECT_EQ(*FindWorker("0123456789abcdef", Two()), WorkerId{2});
}

TEST(WorkerRefTest, AnUnknownNameIsNotFoundAndOneThatCannotBeIsAUsageError) {
  const Status unknown = FindWorker("node8", Two()).status();
  EXPECT_EQ(unknown.code(), Code::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("did you mean"));
  EXPECT_EQ(FindWorker("a/b", Two()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(FindWorker("", Two()).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace mr::ctl
