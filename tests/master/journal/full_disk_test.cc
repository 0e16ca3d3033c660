// A full disk, or no descriptor left, under the journal: nothing ends, nothing is acknowledged that is not on disk, a
// reserve pays for what still must be written, and it goes on by itself when there is room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "common/io/files.h"
#include "master/journal/journal.h"
#include "tests/support/disk_shim.h"

namespace mr::journal {
namespace {

using test::DiskCall;
using test::OnDiskCall;

class FullDiskTest : public testing::Test {
 protected:
  FullDiskTest() {
    char path[] = "/tmp/full_disk_test.XXXXXX";
    directory_ = mkdtemp(path);
    options_ = {.directory = directory_, .cluster_id = 7, .preallocate_bytes = 64 << 10};
  }
  ~FullDiskTest() override { (void)RemoveTree(directory_); }

  Result<std::unique_ptr<Journal>> Open() {
    records_ = 0;
    return Journal::Open(options_, [this](const Record&, uint64_t) {
      ++records_;
      return Status::Ok();
    });
  }
  void Start(Journal& journal) {
    journal.Start(journal.last_epoch() + 1, nullptr, nullptr, [this](bool room) {
      room_ = room ? 1 : 0;
      room_.notify_all();
    });
  }
  // Fails what needs new space while error_ is not 0.
  int Refuse(const DiskCall& call) {
    const bool grows = call.kind == DiskCall::kAllocate || (call.kind == DiskCall::kOpen && !PathExists(call.path));
    return grows && call.path.starts_with(directory_) ? error_.load() : 0;
  }

  std::string directory_;
  Journal::Options options_;
  uint64_t records_ = 0;
  std::atomic<int> error_{0}, room_{-1};
};

TEST_F(FullDiskTest, TheReservePaysThenRecordsWaitAndGoOnWhenThereIsRoom) {
  for (const int error : {ENOSPC, EDQUOT}) {
    ASSERT_TRUE(RemoveTree(directory_).ok());
    const OnDiskCall hook([this](const DiskCall& call) { return Refuse(call); });
    uint64_t last = 0;
    {
      auto journal = Open();
      ASSERT_TRUE(journal.ok()) << journal.status().ToString();
      Start(**journal);
      room_ = -1;
      (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "first"));
      error_ = error;
      // More than half of a step: the next one is asked for, and refused.
      (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, std::string(40 << 10, 'x')));
      room_.wait(-1);
      EXPECT_EQ(room_.load(), 0) << "the callback did not report the full disk";
      (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, std::string(30 << 10, 'y')));
      const uint64_t paid = (*journal)->durable();
      // More than all of the reserve.
      for (int i = 0; i < 100; ++i) last = (*journal)->Append(RecordClass::kHard, 1, std::string(2000, 'z'));
      EXPECT_GE((*journal)->durable(), paid);
      EXPECT_LT((*journal)->durable(), last) << "said to be durable, with no room for it";
      error_ = 0;
      (*journal)->WaitDurable(last);
      room_.wait(0);
      EXPECT_EQ(room_.load(), 1);
    }
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    EXPECT_EQ(records_, 103u);
  }
}

TEST_F(FullDiskTest, ARecordLongerThanTheReserveIsSaidAndHoldsUpOnlyWhatIsBehindIt) {
  uint64_t last = 0;
  {
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    Start(**journal);
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "first"));
    const OnDiskCall hook([this](const DiskCall& call) { return Refuse(call); });
    error_ = ENOSPC;
    // One group: the soft ones wait for company.
    const uint64_t small = (*journal)->Append(RecordClass::kHard, 1, "small", Seconds(60));
    (*journal)->Append(RecordClass::kHard, 1, std::string(100 << 10, 'x'), Seconds(60));
    last = (*journal)->Append(RecordClass::kHard, 1, "behind");
    room_.wait(-1);
    EXPECT_EQ(room_.load(), 0) << "the callback did not report the full disk";
    (*journal)->WaitDurable(small);
    EXPECT_EQ((*journal)->durable(), small);
    error_ = 0;
    (*journal)->WaitDurable(last);
    room_.wait(0);
    EXPECT_EQ(room_.load(), 1);
  }
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(records_, 4u);
}

// Records without room in the rest of the file go to the spare, as many as it takes.
TEST_F(FullDiskTest, OfAGroupThatIsLongerThanTheReserveAsMuchIsWrittenAsThatTakes) {
  auto journal = Open();
  ASSERT_TRUE(journal.ok()) << journal.status().ToString();
  Start(**journal);
  (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "first"));
  const OnDiskCall hook([this](const DiskCall& call) { return Refuse(call); });
  error_ = ENOSPC;
  std::vector<uint64_t> group;
  for (int i = 0; i < 20; ++i) {
    const Duration wait = i < 19 ? Seconds(60) : Duration{};
    group.push_back((*journal)->Append(RecordClass::kHard, 1, std::string(10 << 10, 'x'), wait));
  }
  room_.wait(-1);
  EXPECT_EQ(room_.load(), 0);
  // Five in the rest of the file, five in the spare.
  (*journal)->WaitDurable(group[9]);
  EXPECT_EQ((*journal)->durable(), group[9]);
  error_ = 0;
  (*journal)->WaitDurable(group.back());
  room_.wait(0);
  journal.value().reset();
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(records_, 21u);
}

// NFS and others: nothing can be allocated ahead, so that only a write shows that the disk is full.
TEST_F(FullDiskTest, WithoutFallocateAWriteThatFindsNoRoomIsSaidAndItsBeginningIsWritten) {
  uint64_t last = 0;
  {
    const OnDiskCall hook([this](const DiskCall& call) {
      if (call.kind == DiskCall::kAllocate) return EOPNOTSUPP;
      const bool grows = call.kind == DiskCall::kWrite && call.path.starts_with(directory_ + "/journal");
      return grows && call.bytes.size() > 1000 ? error_.load() : 0;
    });
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    Start(**journal);
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "first"));
    error_ = ENOSPC;
    const uint64_t small = (*journal)->Append(RecordClass::kHard, 1, "small", Seconds(60));
    last = (*journal)->Append(RecordClass::kHard, 1, std::string(2000, 'x'));
    room_.wait(-1);
    EXPECT_EQ(room_.load(), 0) << "the callback did not report the full disk";
    (*journal)->WaitDurable(small);
    EXPECT_EQ((*journal)->durable(), small);
    error_ = 0;
    (*journal)->WaitDurable(last);
    room_.wait(0);
    EXPECT_EQ(room_.load(), 1);
  }
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(records_, 3u);
}

TEST_F(FullDiskTest, ASealThatFindsNoRoomIsSaidToo) {
  {
    const OnDiskCall hook([this](const DiskCall& call) {
      if (call.kind == DiskCall::kAllocate) return EOPNOTSUPP;
      const bool record = call.kind == DiskCall::kWrite && call.path == directory_ + "/journal";
      return record && call.bytes.size() == kRecordHeaderBytes ? error_.load() : 0;
    });
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    error_ = ENOSPC;
    Start(**journal);
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "first"));
    room_.wait(-1);
    EXPECT_EQ(room_.load(), 0) << "the callback did not report the full disk";
    error_ = 0;
    room_.wait(0);
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "second"));
  }
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(records_, 2u);
}

// A file system may refuse the space that it has allocated, after a part of the bytes. Whole records among them must
// not stand in a closed file: the next one has them again.
TEST_F(FullDiskTest, WhatAWriteWithoutRoomLeftStandsInNoClosedFile) {
  std::atomic<int> parts{0};
  {
    const OnDiskCall hook([&](const DiskCall& call) {
      // A crash behind the new name of the spare.
      if (call.kind == DiskCall::kTruncate && !PathExists(directory_ + "/spare")) return EIO;
      const bool record = call.kind == DiskCall::kWrite && call.path == directory_ + "/journal";
      if (!record || call.bytes.size() <= 6000 || error_ == 0) return Refuse(call);
      ++parts;
      const std::string_view part = call.bytes.substr(0, call.bytes.size() - 8);
      EXPECT_TRUE(PwriteAll(call.fd, part, call.offset).ok());
      return error_.load();
    });
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    Start(**journal);
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "first"));
    error_ = ENOSPC;
    (*journal)->Append(RecordClass::kHard, 1, std::string(3000, 'a'), Seconds(60));
    (*journal)->Append(RecordClass::kHard, 1, std::string(3000, 'b'), Seconds(60));
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, std::string(3000, 'c')));
    EXPECT_EQ(parts, 1);
    EXPECT_EQ(room_.load(), 0);
    EXPECT_EQ(ListFiles(directory_)->segments.size(), 2u);
    error_ = 0;
  }
  const auto again = Open();
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(records_, 4u);
}

TEST_F(FullDiskTest, AStartOnAFullDiskWritesIntoWhatIsAllocated) {
  {
    auto journal = Open();
    Start(**journal);
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "a"));
  }
  error_ = ENOSPC;
  const OnDiskCall hook([this](const DiskCall& call) { return call.kind == DiskCall::kAllocate ? Refuse(call) : 0; });
  for (int i = 0; i < 10; ++i) {
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    EXPECT_EQ(records_, 1u + static_cast<uint64_t>(i));
    Start(**journal);
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "b"));
  }
}

TEST_F(FullDiskTest, AStartWithoutAnyReserveIsRefusedInWords) {
  {
    auto journal = Open();
    Start(**journal);
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "a"));
  }
  uint64_t end = 0;
  {
    auto journal = Open();
    end = (*journal)->recovery().end.offset;
  }
  ASSERT_EQ(truncate((directory_ + "/journal").c_str(), static_cast<off_t>(end)), 0);
  ASSERT_EQ(unlink((directory_ + "/spare").c_str()), 0);
  error_ = ENOSPC;
  {
    const OnDiskCall hook([this](const DiskCall& call) { return Refuse(call); });
    const auto refused = Open();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(std::string(CodeName(refused.status().code())), "overloaded");
    EXPECT_THAT(refused.status().message(), testing::HasSubstr("Make room"));
  }
  EXPECT_TRUE(Open().ok());
  EXPECT_EQ(records_, 1u);
}

TEST_F(FullDiskTest, WithoutDescriptorsTheJournalGoesOnAndRollsLater) {
  options_.segment_bytes = 32 << 10;
  auto journal = Open();
  ASSERT_TRUE(journal.ok());
  Start(**journal);
  error_ = EMFILE;
  uint64_t last = 0;
  {
    const OnDiskCall hook([this, test = std::this_thread::get_id()](const DiskCall& call) {
      const bool opens = call.kind == DiskCall::kOpen || call.kind == DiskCall::kOpenAny;
      return opens && std::this_thread::get_id() != test && call.path.starts_with(directory_) ? error_.load() : 0;
    });
    for (int i = 0; i < 200; ++i) {
      last = (*journal)->Append(RecordClass::kHard, 1, std::string(1000, 'x'));
      if (i % 10 == 0) (*journal)->WaitDurable(last);
    }
    (*journal)->WaitDurable(last);
    EXPECT_EQ(ListFiles(directory_)->segments.size(), 2u) << "one was open already, another cannot be";
    EXPECT_EQ(room_.load(), 0);
    error_ = 0;
    room_.wait(0);
  }
  for (int i = 0; i < 10; ++i) (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "more"));
  EXPECT_GT(ListFiles(directory_)->segments.size(), 2u);
  journal.value().reset();
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(records_, 210u);
}

}  // namespace
}  // namespace mr::journal
