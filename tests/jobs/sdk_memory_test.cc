// The limits of memory that an operator sees: that of its job, and that of its process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "paceline/context.h"
#include "paceline/error.h"
#include "paceline/hash_reduce.h"
#include "tests/jobs/less_memory.h"

namespace mr {
namespace {

using testing::HasSubstr;
using testing::Not;

// Sets the variable with the job's limit, as the host does.
class JobLimit {
 public:
  explicit JobLimit(const char* bytes) {
    const char* const now = std::getenv("MR_MEMORY_LIMIT");
    if (now != nullptr) before_ = now;
    ::setenv("MR_MEMORY_LIMIT", bytes, 1);
  }
  ~JobLimit() { before_ ? ::setenv("MR_MEMORY_LIMIT", before_->c_str(), 1) : ::unsetenv("MR_MEMORY_LIMIT"); }
  JobLimit(const JobLimit&) = delete;

 private:
  std::optional<std::string> before_;
};

std::string TextOfBadAlloc() {
  try {
    throw std::bad_alloc();
  } catch (...) {
    return sdk::DescribeException();
  }
}

TEST(MemoryLimitTest, TheDefaultOfAWorkerIsNotTheJobs) {
  const builtin::LessMemory less(1u << 30);
  EXPECT_EQ(Context::memory_limit(), 1u << 30) << "without a host the process has the only limit";
  const JobLimit none("0");
  EXPECT_EQ(Context::memory_limit(), 0u) << "attempts of the task on other workers have other defaults";
  EXPECT_EQ(Context::process_memory_limit(), 1u << 30);
}

TEST(MemoryLimitTest, TablesWhoseSizeShowsInTheOutputFollowTheJobsLimitAlone) {
  const builtin::LessMemory less(256u << 20);
  const JobLimit none("0");
  EXPECT_EQ(sdk::HashCombineBytes(), 24u << 20);
  EXPECT_LE(sdk::HashReduceBytes(), 64u << 20) << "its output is the same, and it must fit";
  const JobLimit given("167772160");
  EXPECT_EQ(sdk::HashCombineBytes(), 10u << 20);
  EXPECT_EQ(sdk::HashReduceBytes(), 40u << 20);
}

TEST(MemoryLimitTest, AnOperatorWithoutMemoryNamesTheLimitAndItsSource) {
  const builtin::LessMemory less(512u << 20);
  {
    const JobLimit none("0");
    EXPECT_THAT(TextOfBadAlloc(), HasSubstr("the attempt may have 512 MiB (the default: the worker's memory over its "
                                            "slots, or its --task_memory_bytes); raise --memory"));
  }
  const JobLimit given("536870912");
  EXPECT_THAT(TextOfBadAlloc(), HasSubstr("the attempt may have 512 MiB; raise --memory"));
  EXPECT_THAT(TextOfBadAlloc(), Not(HasSubstr("default")));
}

}  // namespace
}  // namespace mr
