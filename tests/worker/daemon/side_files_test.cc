#include "worker/daemon/side_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "common/io/files.h"

namespace mr::worker {
namespace {

// A pool that runs what it was given when the test says so.
class SideFilesTest : public testing::Test {
 protected:
  SideFilesTest() : loop_("side_files") {
    char path[] = "/tmp/side_files_test.XXXXXX";
    root_ = mkdtemp(path);
    const PostToPool post = [this](std::function<void()> task) { posted_.push_back(std::move(task)); };
    loop_.Run([&] {
      cache_.emplace(loop_, post, root_ + "/builtin", root_ + "/lib", [](std::string, uint64_t) {
        return kj::Promise<Result<LibraryCache::Piece>>(kj::NEVER_DONE);
      });
      files_.emplace(post, *cache_, root_ + "/files");
    });
  }
  ~SideFilesTest() noexcept override {
    loop_.Run([&] {
      posted_.clear();
      files_.reset();
      cache_.reset();
    });
    (void)RemoveTree(root_);
  }
  void RunPosted() {
    for (; !posted_.empty(); posted_.pop_front()) posted_.front()();
  }

  rpc::KjThread loop_;
  std::string root_;
  std::deque<std::function<void()>> posted_;
  std::optional<LibraryCache> cache_;
  std::optional<SideFiles> files_;
};

TEST_F(SideFilesTest, GoWithTheirJobAlsoWhereTheAttemptsThatWaitedWereGivenUp) {
  const JobId job{1, 1};
  std::string left;
  loop_.Run([&] {
    {
      const auto waits = files_->Directory(job, {{"names.txt", std::string(64, 'a')}});
      RunPosted();
      left = root_ + "/files/" + Name(job);
      EXPECT_TRUE(PathExists(left));
    }
    files_->EndJob(job);
    RunPosted();
  });
  EXPECT_FALSE(PathExists(left));
}

TEST_F(SideFilesTest, StayWhileAnotherAttemptOfTheJobWaits) {
  const JobId job{1, 1};
  loop_.Run([&] {
    std::optional<kj::Promise<Result<std::string>>> one = files_->Directory(job, {{"names.txt", std::string(64, 'a')}});
    const auto two = files_->Directory(job, {{"names.txt", std::string(64, 'a')}});
    RunPosted();
    one.reset();
    files_->EndJob(job);
    RunPosted();
    EXPECT_TRUE(PathExists(root_ + "/files/" + Name(job)));
  });
}

}  // namespace
}  // namespace mr::worker
