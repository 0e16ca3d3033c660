// The journal's promises: every acknowledged record is read again in order, a torn tail is cut, and damage to
// acknowledged records is never passed over. Nothing leaves before its record is on disk.
#include "master/journal/journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>
#include <thread>

#include <algorithm>

#include "common/io/files.h"
#include "master/journal/outbox.h"

namespace mr::journal {
namespace {

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    char path[] = "/tmp/journal_test.XXXXXX";
    directory_ = mkdtemp(path);
    options_ = {.directory = directory_, .cluster_id = 7, .preallocate_bytes = 64 << 10};
  }
  ~JournalTest() override { (void)RemoveTree(directory_); }

  Result<std::unique_ptr<Journal>> Open() {
    seen_.clear();
    return Journal::Open(options_, [this](const Record& r, uint64_t) {
      seen_.emplace_back(r.payload);
      return Status::Ok();
    });
  }
  std::string Bytes() { return ReadFile(directory_ + "/journal").value(); }
  void SetBytes(const std::string& bytes) { ASSERT_TRUE(WriteFileDurably(directory_ + "/journal", bytes).ok()); }
  // Appends each text as a group of its own.
  void WriteGroups(const std::vector<std::string>& texts) {
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    (*journal)->Start((*journal)->recovery().end.epoch + 1, nullptr);
    for (const auto& text : texts) {
      (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, text));
    }
  }

  std::string directory_;
  Journal::Options options_;
  std::vector<std::string> seen_;
};

TEST_F(JournalTest, GivesBackAllRecordsInOrder) {
  WriteGroups({"a", "", std::string(100'000, 'x')});
  WriteGroups({"d"});
  auto journal = Open();
  ASSERT_TRUE(journal.ok()) << journal.status().ToString();
  EXPECT_THAT(seen_, testing::ElementsAre("a", "", std::string(100'000, 'x'), "d"));
  EXPECT_EQ((*journal)->recovery().end.epoch, 2u);
  EXPECT_EQ((*journal)->recovery().header.cluster_id, 7u);
  EXPECT_EQ((*journal)->recovery().cut_bytes, 0u);
}

TEST_F(JournalTest, RefusesASecondOpenOfItsDirectory) {
  auto first = Open();
  ASSERT_TRUE(first.ok());
  auto second = Open();
  EXPECT_EQ(second.status().code(), Code::kRejected) << second.status().ToString();
}

TEST_F(JournalTest, RefusesTheDirectoryOfAnotherCluster) {
  WriteGroups({"a"});
  options_.cluster_id = 8;
  EXPECT_EQ(Open().status().code(), Code::kRejected);
}

TEST_F(JournalTest, CutsATornTailAtEveryByte) {
  WriteGroups({"first", "second"});
  // A last record, written but never synced: nothing behind it vouches for it.
  auto journal = Open();
  ASSERT_TRUE(journal.ok());
  ChainEnd end = (*journal)->recovery().end;
  journal.value().reset();
  const std::string whole = Bytes().substr(0, end.offset);
  std::string last;
  EncodeRecord({end.sequence + 1, 2, RecordClass::kHard, 1, end.sequence, "never acknowledged"}, &end, &last);
  for (size_t n = 0; n < last.size(); ++n) {
    if (last.substr(n).find_first_not_of('\0') == std::string::npos) break;  // only padding is cut
    for (const bool zeros : {false, true}) {
      SetBytes(whole + last.substr(0, n) + (zeros ? std::string(4096, '\0') : ""));
      auto again = Open();
      ASSERT_TRUE(again.ok()) << n << " " << again.status().ToString();
      ASSERT_THAT(seen_, testing::ElementsAre("first", "second")) << n;
    }
  }
  SetBytes(whole + last);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(seen_.size(), 3u);
}

TEST_F(JournalTest, AllOfALongTornTailBecomesZeros) {
  WriteGroups({"a"});
  uint64_t end = 0;
  {
    auto journal = Open();
    ASSERT_TRUE(journal.ok());
    end = (*journal)->recovery().end.offset;
  }
  SetBytes(Bytes().substr(0, end) + std::string((5u << 20) + 3, 'x'));
  ASSERT_TRUE(Open().ok());
  const std::string bytes = Bytes();
  EXPECT_GE(bytes.size(), end + (5u << 20)) << "its space stays allocated";
  EXPECT_EQ(std::string_view(bytes).substr(end).find_first_not_of('\0'), std::string_view::npos);
  WriteGroups({"b"});
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(seen_, testing::ElementsAre("a", "b"));
}

TEST_F(JournalTest, CutsAnUnsyncedGroupWhosePagesWereWrittenOutOfOrder) {
  WriteGroups({"first"});
  auto journal = Open();
  ChainEnd end = (*journal)->recovery().end;
  journal.value().reset();
  const std::string whole = Bytes().substr(0, end.offset);
  std::string group;
  const uint64_t durable = end.sequence;
  EncodeRecord({end.sequence + 1, 2, RecordClass::kHard, 1, durable, "lost page"}, &end, &group);
  const size_t second = group.size();
  EncodeRecord({end.sequence + 1, 2, RecordClass::kHard, 1, durable, "intact page"}, &end, &group);
  std::fill(group.begin(), group.begin() + static_cast<long>(second), '\0');
  SetBytes(whole + group);
  auto again = Open();
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_THAT(seen_, testing::ElementsAre("first"));
  EXPECT_EQ((*again)->recovery().cut_records, 1u);
}

TEST_F(JournalTest, RefusesToStartOnAnyFlippedBitOfAnAcknowledgedRecord) {
  WriteGroups({"one", "two", "three", "four"});
  auto journal = Open();
  const uint64_t end = (*journal)->recovery().end.offset;
  journal.value().reset();
  const std::string good = Bytes();
  // The last seal promises nothing; all before it was acknowledged. Padding carries nothing.
  const uint64_t last = end - kRecordHeaderBytes;
  int refused = 0;
  for (uint64_t at = 0; at < last; at += at < kHeaderBytes ? 97 : 1) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    SetBytes(bad);
    auto opened = Open();
    if (opened.ok()) {
      EXPECT_THAT(seen_, testing::ElementsAre("one", "two", "three", "four")) << at;
      EXPECT_EQ(good[at], '\0') << at;
      continue;
    }
    ++refused;
    EXPECT_THAT(opened.status().code(), testing::AnyOf(Code::kCorrupted, Code::kRejected)) << at;
    EXPECT_THAT(opened.status().message(), testing::HasSubstr("offset")) << at;
    EXPECT_EQ(Bytes(), bad) << "a refused journal is left as it is";
  }
  EXPECT_GT(refused, 100);  // how many bytes there are depends on how the records were grouped
}

TEST_F(JournalTest, RefusesAZeroedPageBetweenAcknowledgedRecords) {
  WriteGroups({std::string(20'000, 'a'), "b"});
  std::string bytes = Bytes();
  std::fill_n(bytes.begin() + 8192, 4096, '\0');
  SetBytes(bytes);
  EXPECT_EQ(Open().status().code(), Code::kCorrupted);
}

TEST_F(JournalTest, SaysDurableInOrderAndNeverBeforeTheBytesAreInTheFile) {
  std::vector<uint64_t> said, in_file;
  {
    UniqueFd fd;
    auto journal = Open();
    fd = OpenFile(directory_ + "/journal", O_RDONLY).value();
    (*journal)->Start(1, [&](uint64_t sequence) {
      const auto read = ReadJournal(fd.get(), "journal", [](const Record&, uint64_t) { return Status::Ok(); });
      said.push_back(sequence);
      EXPECT_TRUE(read.ok()) << read.status().ToString();
      in_file.push_back(read.ok() ? read->end.sequence : 0);
    });
    for (int i = 0; i < 500; ++i) {
      (*journal)->Append(i % 3 == 0 ? RecordClass::kHard : RecordClass::kSoft, 1, "x");
    }
  }
  ASSERT_FALSE(said.empty());
  EXPECT_TRUE(std::is_sorted(said.begin(), said.end()));
  EXPECT_EQ(in_file, said);
}

TEST_F(JournalTest, GroupsRecordsThatArriveTogether) {
  auto journal = Open();
  (*journal)->Start(1, nullptr);
  uint64_t last = 0;
  for (int i = 0; i < 2000; ++i) last = (*journal)->Append(RecordClass::kHard, 1, "x");
  (*journal)->WaitDurable(last);
  EXPECT_LT((*journal)->syncs(), 2000u);
}

TEST_F(JournalTest, CountsTheBytesThatItWrites) {
  auto journal = Open();
  EXPECT_EQ((*journal)->written_bytes(), 0u);
  (*journal)->Start(1, nullptr);
  uint64_t least = 0, last = 0;
  for (const size_t size : {1, 100, 10'000}) {
    last = (*journal)->Append(RecordClass::kHard, 1, std::string(size, 'x'));
    least += RecordBytes(size);
  }
  (*journal)->WaitDurable(last);
  EXPECT_GE((*journal)->written_bytes(), least);
  EXPECT_LE((*journal)->written_bytes(), least + 3 * RecordBytes(0)) << "at most a seal per group";
}

// The journal's thread writes a seal as soon as all is durable, and a seal has a number, too.
TEST_F(JournalTest, AReservedNumberIsThatOfTheNextRecordWhateverTheThreadWritesMeanwhile) {
  auto journal = Open();
  (*journal)->Start(1, nullptr);
  for (int i = 0; i < 300; ++i) {
    const uint64_t number = (*journal)->Reserve();
    std::this_thread::yield();
    ASSERT_EQ((*journal)->Append(RecordClass::kHard, 1, "x"), number);
    (*journal)->WaitDurable(number);
  }
}

TEST(OutboxTest, ReleasesOnlyWhatIsDurableInOrder) {
  Outbox outbox;
  std::string out;
  outbox.Hold(2, [&] { out += 'b'; });
  outbox.Hold(1, [&] { out += 'a'; });
  outbox.Hold(2, [&] { out += 'c'; });
  outbox.Hold(5, [&] { out += 'e'; });
  EXPECT_EQ(out, "");
  outbox.Release(1);
  EXPECT_EQ(out, "a");
  outbox.Release(4);
  EXPECT_EQ(out, "abc");
  outbox.Hold(3, [&] { out += 'd'; });
  EXPECT_EQ(out, "abcd");
  EXPECT_EQ(outbox.size(), 1u);
}

}  // namespace
}  // namespace mr::journal
