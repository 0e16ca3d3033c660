// Calls of BlockingDfs that their caller gives up, as mrctl does after an interrupt.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "tests/dfs/dfs_cluster.h"

namespace mr::dfs::test {
namespace {

class GivenUpTest : public testing::Test {
 protected:
  GivenUpTest() {
    cluster_.OnMutation([this](const Record& record, bool*) {
      if (const auto* created = std::get_if<FileCreated>(&record)) newest_lease_ = created->lease;
      if (std::holds_alternative<FileCompleted>(record)) ++completed_;
      return Status::Ok();
    });
    Connect();
    int ends[2];
    MR_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    out_.reset(ends[0]);
    in_.reset(ends[1]);
  }

  ~GivenUpTest() noexcept override {}

  void Connect() {
    store_ = BlockingDfs::Connect(loop_, cluster_.master_address(), [this](int fd) { return Wait(fd); }).value();
  }

  // Waits for the answer, or until given_up_when_ holds.
  Status Wait(int fd) const {
    pollfd at{fd, POLLIN, 0};
    while (::poll(&at, 1, 5) == 0) {
      if (given_up_when_ && given_up_when_()) return reason_;
    }
    return Status::Ok();
  }
  bool IsOpen(uint64_t lease) {
    return lease != 0 && cluster_.Ask([&](const Namespace& ns) { return ns.PrepareRenew({}, lease).ok(); });
  }

  DfsCluster cluster_{2, SmallBlocks()};
  std::atomic<uint64_t> newest_lease_{0};
  std::atomic<int> completed_{0};
  std::function<bool()> given_up_when_;
  Status reason_{Code::kCancelled, "interrupted"};
  rpc::KjThread loop_{"test-given-up"};
  UniqueFd out_, in_;
  std::unique_ptr<BlockingDfs> store_;  // ends before the loop
};

TEST_F(GivenUpTest, APutLeavesTheOldFileAndNoLeaseAndNoBlocks) {
  ASSERT_TRUE(store_->PutBytes("/x", {}, "one").ok());
  const size_t before = cluster_.node(0).store().List().size();
  const uint64_t first = newest_lease_;
  PutOptions overwrite;
  overwrite.overwrite = true;
  // The pipe has a block, half of another one, and no end.
  std::atomic<bool> all_written{false};
  std::thread writes([&] {
    EXPECT_TRUE(WriteAll(in_.get(), std::string(3 << 19, 'x')).ok());
    all_written = true;
  });
  given_up_when_ = [&] { return newest_lease_ != first && cluster_.node(0).store().List().size() > before; };
  EXPECT_EQ(store_->PutFd("/x", overwrite, out_.get()).status().code(), Code::kCancelled);
  // The put may have ended before it read all.
  std::string rest(1 << 16, '\0');
  for (pollfd at{out_.get(), POLLIN, 0}; !all_written;) {
    if (::poll(&at, 1, 5) <= 0) continue;
    ASSERT_GT(::read(out_.get(), rest.data(), rest.size()), 0);
  }
  writes.join();
  EXPECT_TRUE(Eventually([&] { return !IsOpen(newest_lease_); })) << "the master was not asked to forget it";
  given_up_when_ = nullptr;
  EXPECT_EQ(store_->GetBytes("/x").value(), "one");
  EXPECT_TRUE(Eventually([&] { return cluster_.node(0).store().List().size() == before; }));
  EXPECT_EQ(completed_, 1);
}

// A put whose time was over said that it had been interrupted, where its read ended before it was cancelled.
TEST_F(GivenUpTest, TheCallersReasonIsReturnedAndNotThatOfTheReadThatItEnds) {
  reason_ = {Code::kDeadline, "--timeout expired"};
  const auto all_read = [&] {
    int unread = 1;
    return ::ioctl(out_.get(), FIONREAD, &unread) == 0 && unread == 0;
  };
  for (int i = 0; i < 100; ++i) {
    given_up_when_ = nullptr;
    Connect();  // one that has given up reads no more
    given_up_when_ = all_read;
    ASSERT_TRUE(WriteAll(in_.get(), "some bytes").ok());
    ASSERT_EQ(store_->PutFd("/x", {}, out_.get()).status().code(), Code::kDeadline) << i;
  }
}

TEST_F(GivenUpTest, OfSeveralFilesThoseThatWereWrittenAreThereAndTheOthersAreNot) {
  const std::string fifo = cluster_.root() + "/fifo", file = cluster_.root() + "/file";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);  // nobody ever writes to it
  ASSERT_TRUE(WriteFileDurably(file, "bytes").ok());
  given_up_when_ = [&] { return completed_ == 1; };
  std::vector<bool> written;
  EXPECT_EQ(store_->PutFiles({{file, "/there", 0}, {fifo, "/not", 0}}, {}, &written).code(), Code::kCancelled);
  EXPECT_FALSE(written[1]);
  given_up_when_ = nullptr;
  EXPECT_EQ(store_->GetBytes("/there").value(), "bytes");
  EXPECT_EQ(store_->Stat("/not").status().code(), Code::kNotFound);
}

TEST_F(GivenUpTest, ABatchOfSmallFilesLeavesNoLeases) {
  const std::string one = cluster_.root() + "/one", two = cluster_.root() + "/two";
  std::vector<LocalFile> files;
  for (const std::string& path : {one, two}) {
    ASSERT_TRUE(WriteFileDurably(path, "bytes").ok());
    files.push_back({path, path.substr(path.rfind('/')), 5});
  }
  // The workers take no more bytes.
  for (const int i : {0, 1}) cluster_.node(i).pool().Hold();
  std::set<uint64_t> leases;
  given_up_when_ = [&] {
    leases.insert(newest_lease_);
    return cluster_.write_calls().grouped > 0;
  };
  std::vector<bool> written;
  EXPECT_EQ(store_->PutFiles(files, {}, &written).code(), Code::kCancelled);
  leases.insert(newest_lease_);
  for (const uint64_t lease : leases) EXPECT_TRUE(Eventually([&] { return !IsOpen(lease); })) << lease;
  for (const int i : {0, 1}) cluster_.node(i).pool().Release();
  given_up_when_ = nullptr;
  EXPECT_EQ(store_->Stat("/one").status().code(), Code::kNotFound);
  EXPECT_EQ(completed_, 0);
}

TEST_F(GivenUpTest, AReadEndsThoughNobodyTakesItsBytes) {
  ASSERT_TRUE(store_->PutBytes("/x", {}, std::string(1 << 20, 'x')).ok());
  given_up_when_ = [&] {
    pollfd full{in_.get(), POLLOUT, 0};
    return ::poll(&full, 1, 0) == 0;
  };
  EXPECT_EQ(store_->GetToFd("/x", in_.get()).code(), Code::kCancelled);
}

TEST_F(GivenUpTest, WhatThisProcessMadeCanStillBeRemoved) {
  ASSERT_TRUE(store_->PutBytes("/x", {}, "one").ok());
  given_up_when_ = [] { return true; };
  ASSERT_TRUE(store_->RemoveWithin("/x", false, Seconds(20)).ok());
  given_up_when_ = nullptr;
  EXPECT_EQ(store_->Stat("/x").status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace mr::dfs::test
