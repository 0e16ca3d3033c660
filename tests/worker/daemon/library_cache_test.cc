#include "worker/daemon/library_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "common/io/files.h"
#include "common/io/sha256.h"

namespace mr::worker {
namespace {

// A pool that runs what it was given when the test says so, the newest first where that is asked: two threads of a real
// pool end in any order.
class LibraryCacheTest : public testing::Test {
 protected:
  LibraryCacheTest() : loop_("library_cache") {
    char path[] = "/tmp/library_cache_test.XXXXXX";
    root_ = mkdtemp(path);
    EXPECT_TRUE(WriteFileDurably(root_ + "/new", kBytes).ok());
    sha256_ = Sha256File(root_ + "/new").value();
    file_ = root_ + "/" + sha256_ + ".so";
    EXPECT_EQ(::rename((root_ + "/new").c_str(), file_.c_str()), 0);
    loop_.Run([&] {
      cache_.emplace(
          loop_, [this](std::function<void()> task) { posted_.push_back(std::move(task)); }, "builtin", root_,
          [this](std::string, uint64_t) -> kj::Promise<Result<LibraryCache::Piece>> {
            ++asked_;
            if (asked_ <= failures_) return Result<LibraryCache::Piece>(Unavailable("no session with the master"));
            return Result<LibraryCache::Piece>(LibraryCache::Piece{kBytes, sizeof kBytes - 1});
          });
    });
  }
  ~LibraryCacheTest() noexcept override {
    loop_.Run([&] {
      posted_.clear();
      cache_.reset();
    });
    (void)RemoveTree(root_);
  }
  void RunPool(bool newest_first, const std::function<bool()>& until) {
    for (bool done = false; !done;) {
      const std::function<void()> task = loop_.Run([&]() -> std::function<void()> {
        done = until();
        if (posted_.empty()) return nullptr;
        std::function<void()> next = std::move(newest_first ? posted_.back() : posted_.front());
        newest_first ? posted_.pop_back() : posted_.pop_front();
        return next;
      });
      if (task) task();
    }
  }

  static constexpr char kBytes[] = "an operator library";
  rpc::KjThread loop_;
  std::string root_, sha256_, file_;
  std::deque<std::function<void()>> posted_;  // of the loop
  int asked_ = 0, failures_ = 0;              // of the first calls
  std::optional<LibraryCache> cache_;
};

TEST_F(LibraryCacheTest, AFileThatIsBeingRemovedIsNotHandedOut) {
  std::optional<Result<std::string>> path;
  kj::Promise<void> waits = nullptr, removed = nullptr;
  loop_.Run([&] {
    removed = cache_->Remove(sha256_, [this] { ::unlink(file_.c_str()); }).eagerlyEvaluate(nullptr);
    waits =
        cache_->Path(sha256_).then([&](Result<std::string> got) { path = std::move(got); }).eagerlyEvaluate(nullptr);
  });
  RunPool(/*newest_first=*/true, [&] { return path.has_value() && posted_.empty(); });
  ASSERT_TRUE(path.has_value());
  ASSERT_TRUE(path->ok()) << path->status().ToString();
  EXPECT_TRUE(PathExists(**path)) << "the file was handed out and then removed";
  EXPECT_EQ(asked_, 1) << "the master was not asked again";
  loop_.Run([&] { waits = nullptr, removed = nullptr; });
}

TEST_F(LibraryCacheTest, AFileOfAnEarlierLifeThatIsDamagedIsFetchedAgain) {
  ASSERT_TRUE(WriteFileDurably(file_, "an operator").ok());
  std::optional<Result<std::string>> path;
  kj::Promise<void> waits = nullptr;
  loop_.Run([&] {
    waits =
        cache_->Path(sha256_).then([&](Result<std::string> got) { path = std::move(got); }).eagerlyEvaluate(nullptr);
  });
  RunPool(/*newest_first=*/false, [&] { return path.has_value() && posted_.empty(); });
  ASSERT_TRUE(path.has_value() && path->ok());
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(ReadFile(**path).value(), kBytes);
  loop_.Run([&] { waits = nullptr; });
}

TEST_F(LibraryCacheTest, AFileThatWasUsedAndRemovedIsFetchedAgain) {
  std::optional<Result<std::string>> path;
  kj::Promise<void> waits = nullptr;
  const auto ask = [&] {
    path.reset();
    loop_.Run([&] {
      waits =
          cache_->Path(sha256_).then([&](Result<std::string> got) { path = std::move(got); }).eagerlyEvaluate(nullptr);
    });
    RunPool(/*newest_first=*/false, [&] { return path.has_value() && posted_.empty(); });
  };
  ask();
  ASSERT_TRUE(path->ok());
  ASSERT_EQ(asked_, 0) << "it was there";
  bool removed = false;
  loop_.Run([&] {
    waits = cache_->Remove(sha256_, [this] { ::unlink(file_.c_str()); })
                .then([&] { removed = true; })
                .eagerlyEvaluate(nullptr);
  });
  RunPool(/*newest_first=*/false, [&] { return removed && posted_.empty(); });
  ask();
  ASSERT_TRUE(path->ok()) << path->status().ToString();
  EXPECT_EQ(asked_, 1);
  EXPECT_TRUE(PathExists(**path));
  loop_.Run([&] { waits = nullptr; });
}

TEST_F(LibraryCacheTest, AFileThatCouldNotBeFetchedIsAskedForAgain) {
  ASSERT_EQ(::unlink(file_.c_str()), 0);
  failures_ = 1;
  for (const bool fails : {true, false}) {
    std::optional<Result<std::string>> path;
    kj::Promise<void> waits = nullptr;
    loop_.Run([&] {
      waits =
          cache_->Path(sha256_).then([&](Result<std::string> got) { path = std::move(got); }).eagerlyEvaluate(nullptr);
    });
    RunPool(/*newest_first=*/false, [&] { return path.has_value() && posted_.empty(); });
    EXPECT_EQ(path->ok(), !fails);
    loop_.Run([&] { waits = nullptr; });
  }
  EXPECT_EQ(asked_, 2);
  EXPECT_TRUE(PathExists(file_));
}

TEST_F(LibraryCacheTest, AFileThatIsBeingFetchedIsNotRemoved) {
  bool removes = false, done = false;
  kj::Promise<void> waits = nullptr, removed = nullptr;
  loop_.Run([&] {
    waits = cache_->Path(sha256_).then([&](const Result<std::string>&) { done = true; }).eagerlyEvaluate(nullptr);
    removed = cache_->Remove(sha256_, [&] { removes = true; });
  });
  RunPool(/*newest_first=*/false, [&] { return done && posted_.empty(); });
  EXPECT_FALSE(removes);
  loop_.Run([&] { waits = nullptr, removed = nullptr; });
}

}  // namespace
}  // namespace mr::worker
