// Which calls to the disk the journal makes before it says that a record is durable, and what it takes for a record of
// its own. Each inner check gets damage that is valid to all others.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "common/base/digest.h"
#include "common/io/crc32c.h"
#include "common/io/files.h"
#include "master/journal/journal.h"
#include "tests/support/disk_shim.h"

namespace mr::journal {
namespace {

using test::DiskCall;
using test::OnDiskCall;

class JournalSyncsTest : public testing::Test {
 protected:
  JournalSyncsTest() {
    char path[] = "/tmp/journal_syncs_test.XXXXXX";
    directory_ = mkdtemp(path);
    options_ = {.directory = directory_, .cluster_id = 7, .preallocate_bytes = 64 << 10};
  }
  ~JournalSyncsTest() override { (void)RemoveTree(directory_); }

  Result<std::unique_ptr<Journal>> Open() {
    seen_.clear();
    return Journal::Open(options_, [this](const Record& r, uint64_t) {
      seen_.emplace_back(r.payload);
      return Status::Ok();
    });
  }
  void WriteGroups(const std::vector<std::string>& texts) {
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    (*journal)->Start((*journal)->recovery().end.epoch + 1, nullptr);
    for (const auto& text : texts) (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, text));
  }

  std::string directory_;
  Journal::Options options_;
  std::vector<std::string> seen_;
};

// DIR in a directory of mode 0711. Root may read it all the same, so that the refusal is made up here.
TEST_F(JournalSyncsTest, AParentDirectoryThatMayNotBeReadStopsNoStart) {
  const std::string root = directory_;
  options_.directory = root + "/data/journal";
  std::atomic<int> refused{0}, error{EACCES};
  const OnDiskCall hook([&](const DiskCall& call) {
    if (call.kind != DiskCall::kOpenAny || call.path != root) return 0;
    ++refused;
    return error.load();
  });
  for (int start = 0; start < 2; ++start) {
    WriteGroups({"a"});
    EXPECT_EQ(refused, start + 1) << "its name is synced, each time";
  }
  error = EIO;
  EXPECT_FALSE(Open().ok());
}

TEST_F(JournalSyncsTest, EachDurableGroupHasAnFdatasync) {
  auto journal = Open();
  ASSERT_TRUE(journal.ok());
  std::atomic<uint64_t> syncs{0};
  const OnDiskCall hook([&](const DiskCall& call) {
    if (call.kind == DiskCall::kSync && call.data_only && call.path.ends_with("/journal")) ++syncs;
    return 0;
  });
  (*journal)->Start(1, nullptr);
  for (uint64_t n = 1; n <= 20; ++n) {
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "x"));
    EXPECT_GE(syncs.load(), n) << "a group is said to be durable and was not synced";
  }
}

TEST_F(JournalSyncsTest, NothingIsDurableWhileItsSyncIsUnderWay) {
  auto journal = Open();
  ASSERT_TRUE(journal.ok());
  std::atomic<bool> blocked{false}, go{false};
  std::atomic<uint64_t> said{0};
  const OnDiskCall hook([&](const DiskCall& call) {
    if (call.kind != DiskCall::kSync || !call.path.ends_with("/journal")) return 0;
    blocked = true;
    blocked.notify_all();
    go.wait(false);
    return 0;
  });
  (*journal)->Start(1, [&](uint64_t sequence) {
    said = sequence;
    blocked = true;  // where there was no sync at all
    blocked.notify_all();
  });
  const uint64_t sequence = (*journal)->Append(RecordClass::kHard, 1, "x");
  blocked.wait(false);
  EXPECT_EQ((*journal)->durable(), sequence - 1);
  EXPECT_EQ(said.load(), 0u);
  go = true;
  go.notify_all();
  (*journal)->WaitDurable(sequence);
  EXPECT_EQ((*journal)->durable(), sequence);
}

TEST_F(JournalSyncsTest, ANewJournalsNameIsSynced) {
  std::vector<std::string> steps;
  const OnDiskCall hook([&](const DiskCall& call) {
    if (call.kind == DiskCall::kRename && call.to.ends_with("/journal")) steps.push_back("named");
    if (call.kind == DiskCall::kSync && call.directory && call.path == directory_) steps.push_back("directory synced");
    return 0;
  });
  ASSERT_TRUE(Open().ok());
  const auto named = std::find(steps.begin(), steps.end(), "named");
  ASSERT_NE(named, steps.end());
  EXPECT_NE(std::find(named, steps.end(), "directory synced"), steps.end());
}

TEST_F(JournalSyncsTest, NoRecordVouchesForItself) {
  WriteGroups({"a", "b"});
  {
    auto journal = Open();
    (*journal)->Start(2, nullptr);
    uint64_t last = 0;
    for (int i = 0; i < 300; ++i) last = (*journal)->Append(RecordClass::kHard, 1, "x");
    (*journal)->WaitDurable(last);
  }
  const auto fd = OpenFile(directory_ + "/journal", O_RDONLY);
  uint64_t records = 0;
  const auto read = ReadJournal(fd->get(), "journal", [&](const Record& r, uint64_t) {
    ++records;
    EXPECT_LT(r.durable, r.sequence);
    return Status::Ok();
  });
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(records, 302u);
}

TEST_F(JournalSyncsTest, ARecordBehindAnotherChainIsNotTaken) {
  WriteGroups({"mine"});
  auto journal = Open();
  ASSERT_TRUE(journal.ok());
  ChainEnd end = (*journal)->recovery().end;
  journal.value().reset();
  const std::string whole = ReadFile(directory_ + "/journal").value().substr(0, end.offset);
  ChainEnd other = end;
  other.hash ^= 1;  // all else is right: sequence, epoch, checksum
  std::string record;
  EncodeRecord({end.sequence + 1, end.epoch, RecordClass::kHard, 1, end.sequence, "not mine"}, &other, &record);
  ASSERT_TRUE(WriteFileDurably(directory_ + "/journal", whole + record).ok());
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(seen_, testing::ElementsAre("mine"));
}

TEST_F(JournalSyncsTest, ASegmentOfAnotherChainIsRefused) {
  options_.segment_bytes = kHeaderBytes + 1;
  WriteGroups({"a", "b", "c"});
  const auto files = ListFiles(directory_)->segments;
  ASSERT_GE(files.size(), 3u);
  const File& last = files.back();
  const std::string bytes = ReadFile(last.path).value();
  uint64_t seed = 0;
  Header header = DecodeHeader(bytes, &seed).value();
  ASSERT_EQ(header.after, last.after);
  header.after_hash ^= 1;  // the header's own checksum is right
  ASSERT_TRUE(WriteFileDurably(last.path, EncodeHeader(header)).ok());
  const auto opened = Open();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(CodeName(opened.status().code()), std::string("corrupted")) << opened.status().message();
  EXPECT_THAT(opened.status().message(), testing::HasSubstr("does not follow record"));
}

}  // namespace
}  // namespace mr::journal
