#include "worker/daemon/side_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/io/files.h"
#include "common/io/sha256.h"

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
      cache_.emplace(loop_, post, root_ + "/builtin", root_ + "/lib", [this](std::string, uint64_t) {
        return ask_ ? ask_() : kj::Promise<Result<LibraryCache::Piece>>(kj::NEVER_DONE);
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
  // The directory that an attempt is given, with what the pool and the loop have to do for it.
  Result<std::string> Await(JobId job, const std::vector<SideFile>& files) {
    std::optional<Result<std::string>> got;
    kj::Promise<void> waits = nullptr;
    loop_.Run([&] {
      waits = files_->Directory(job, files)
                  .then([&](Result<std::string> r) { got = std::move(r); })
                  .eagerlyEvaluate(nullptr);
    });
    while (!loop_.Run([&] {
      RunPosted();
      return got.has_value();
    })) {
    }
    loop_.Run([&] { waits = nullptr; });
    return *got;
  }
  void RunPosted() {
    for (; !posted_.empty(); posted_.pop_front()) posted_.front()();
  }

  rpc::KjThread loop_;
  std::string root_;
  std::deque<std::function<void()>> posted_;
  std::function<kj::Promise<Result<LibraryCache::Piece>>()> ask_;  // of the master; none: it does not answer
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

// An operator would look for it in an empty directory.
TEST_F(SideFilesTest, ADirectoryWithoutAFileThatCouldNotBeFetchedIsNotTheNextAttemptsEither) {
  const JobId job{1, 1};
  const std::string bytes = "a,b,c";
  ASSERT_TRUE(MakeDirectories(root_ + "/lib").ok());
  ASSERT_TRUE(WriteFileDurably(root_ + "/names", bytes).ok());
  const std::vector<SideFile> files = {{"names.txt", Sha256File(root_ + "/names").value()}};
  ask_ = [] { return kj::Promise<Result<LibraryCache::Piece>>(Unavailable("no session with the master")); };
  EXPECT_FALSE(Await(job, files).ok());
  ask_ = [&] { return kj::Promise<Result<LibraryCache::Piece>>(LibraryCache::Piece{bytes, bytes.size()}); };
  const auto directory = Await(job, files);
  ASSERT_TRUE(directory.ok()) << directory.status().ToString();
  ASSERT_TRUE(PathExists(*directory + "/names.txt"));
  EXPECT_EQ(ReadFile(*directory + "/names.txt").value(), bytes);
}

// The job ended while an attempt waited, and is there again.
TEST_F(SideFilesTest, StayForAnAttemptThatCameBehindTheJobsEnd) {
  const JobId job{1, 1};
  loop_.Run([&] {
    std::optional<kj::Promise<Result<std::string>>> one = files_->Directory(job, {{"names.txt", std::string(64, 'a')}});
    files_->EndJob(job);
    std::optional<kj::Promise<Result<std::string>>> two = files_->Directory(job, {{"names.txt", std::string(64, 'a')}});
    RunPosted();
    one.reset();
    two.reset();
    RunPosted();
    EXPECT_TRUE(PathExists(root_ + "/files/" + Name(job))) << "the job has not ended again";
    files_->EndJob(job);
    RunPosted();
    EXPECT_FALSE(PathExists(root_ + "/files/" + Name(job)));
  });
}

}  // namespace
}  // namespace mr::worker
