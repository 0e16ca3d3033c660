// Segments make one journal, snapshots stand for the segments before them, and whatever is damaged or
// missing is either made up for by what is still there or told.
#include "master/journal/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "common/io/files.h"
#include "master/journal/journal.h"

namespace mr::journal {
namespace {

constexpr uint8_t kKind = 1, kSummary = 40;

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() {
    char path[] = "/tmp/directory_test.XXXXXX";
    directory_ = mkdtemp(path);
    options_ = {
        .directory = directory_, .cluster_id = 7, .preallocate_bytes = 64 << 10, .segment_bytes = kHeaderBytes + 1};
  }
  ~DirectoryTest() override { (void)RemoveTree(directory_); }

  // Each text is a group of its own, and with this segment_bytes a file.
  void Write(const std::vector<std::string>& texts) {
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    (*journal)->Start((*journal)->recovery().end.epoch + 1, nullptr);
    for (const auto& text : texts) (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, kKind, text));
  }
  Result<std::unique_ptr<Journal>> Open() {
    seen_.clear();
    auto opened = Journal::Open(options_, Collect());
    if (opened.ok()) warnings_ = (*opened)->read().warnings;
    return opened;
  }
  OnRecord Collect() {
    return [this](const Record& r, uint64_t) {
      seen_.push_back((r.kind == kSummary ? "=" : "") + std::string(r.payload));
      return Status::Ok();
    };
  }
  // All segments but the last as a snapshot of one record per text; gives its number.
  uint64_t Snapshot() {
    seen_.clear();
    const uint64_t until = ListFiles(directory_)->segments.back().after;
    const auto read = ReadDirectory(directory_, 7, until, Collect());
    EXPECT_TRUE(read.ok()) << read.status().ToString();
    auto writer = SnapshotWriter::Create(directory_, 7, read->last.end);
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    for (auto& text : seen_) EXPECT_TRUE(writer->Add(kSummary, text[0] == '=' ? text.substr(1) : text).ok());
    EXPECT_TRUE(writer->Finish().ok());
    EXPECT_TRUE(RemoveCovered(directory_, until, read->snapshot).ok());
    return until;
  }
  size_t Segments() { return ListFiles(directory_)->segments.size(); }
  size_t Snapshots() { return ListFiles(directory_)->snapshots.size(); }

  std::string directory_;
  Journal::Options options_;
  std::vector<std::string> seen_, warnings_;
};

TEST_F(DirectoryTest, SegmentsGiveAllRecordsInOrder) {
  Write({"a", "b", "c"});
  Write({"d"});
  EXPECT_GE(Segments(), 4u);
  auto journal = Open();
  ASSERT_TRUE(journal.ok()) << journal.status().ToString();
  EXPECT_THAT(seen_, testing::ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ((*journal)->recovery().end.epoch, 2u);
}

TEST_F(DirectoryTest, ACutOrSwappedClosedSegmentIsTold) {
  Write({"a", "b", "c"});
  const auto files = ListFiles(directory_)->segments;
  const std::string whole = ReadFile(files[1].path).value();
  ASSERT_EQ(truncate(files[1].path.c_str(), static_cast<off_t>(kHeaderBytes)), 0);
  EXPECT_EQ(Open().status().code(), Code::kCorrupted);
  ASSERT_EQ(unlink(files[1].path.c_str()), 0);
  const auto missing = Open();
  EXPECT_EQ(missing.status().code(), Code::kCorrupted);
  EXPECT_THAT(missing.status().message(), testing::HasSubstr(files[2].path));
  ASSERT_TRUE(WriteFileDurably(files[1].path, whole).ok());
  EXPECT_TRUE(Open().ok());
  EXPECT_THAT(seen_, testing::ElementsAre("a", "b", "c"));
}

TEST_F(DirectoryTest, ASnapshotStandsForTheSegmentsBeforeIt) {
  Write({"a", "b"});
  Snapshot();
  EXPECT_GE(Segments(), 3u) << "what the only snapshot stands for stays until there is another";
  Write({"c"});
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(seen_, testing::ElementsAre("=a", "=b", "c"));
  Snapshot();
  Write({"d"});
  Snapshot();
  EXPECT_EQ(Snapshots(), 2u);
  EXPECT_FALSE(PathExists(SegmentPath(directory_, 0)));
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(seen_, testing::ElementsAre("=a", "=b", "=c", "=d"));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(DirectoryTest, TheFilesStayBoundedHoweverMuchIsWritten) {
  size_t most = 0;
  for (int i = 0; i < 8; ++i) {
    Write({"x", "y"});
    Snapshot();
    most = std::max(most, Segments() + Snapshots());
  }
  EXPECT_LE(most, 9u);
}

TEST_F(DirectoryTest, ADamagedSnapshotIsToldAndTheOneBeforeItIsUsed) {
  Write({"a"});
  Snapshot();
  Write({"b"});
  const std::string newest = SnapshotPath(directory_, Snapshot());
  Write({"c"});
  const std::string good = ReadFile(newest).value();
  int noticed = 0;
  for (size_t at = 0; at <= good.size(); at = at < kHeaderBytes ? std::min<size_t>(at + 397, kHeaderBytes) : at + 1) {
    std::string bad = good.substr(0, at);  // cut here
    if (at % 2 == 0 && at < good.size()) {
      bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
    }
    ASSERT_TRUE(WriteFileDurably(newest, bad).ok());
    auto opened = Open();
    ASSERT_TRUE(opened.ok()) << at << " " << opened.status().ToString();
    if (warnings_.empty()) {
      EXPECT_THAT(seen_, testing::ElementsAre("=a", "=b", "c")) << at;  // padding, or all of it
      continue;
    }
    ++noticed;
    ASSERT_THAT(warnings_[0], testing::HasSubstr(newest)) << at;
    ASSERT_THAT(seen_, testing::ElementsAre("=a", "b", "c")) << at;
  }
  EXPECT_GT(noticed, 100);
}

// A file system may lose the end of a file at the border of two records: what is left is whole, and not all.
TEST_F(DirectoryTest, ASnapshotThatEndsWithOneOfItsRecordsIsPassedOver) {
  Write({"a", "b"});
  Snapshot();
  const std::string path = ListFiles(directory_)->snapshots.back().path;
  const std::string all = ReadFile(path).value();
  const uint64_t piece = RecordBytes(2);  // a byte of text behind the one that says that it is all
  for (uint64_t records = 0; records <= 2; ++records) {
    ASSERT_TRUE(WriteFileDurably(path, all.substr(0, kHeaderBytes + records * piece)).ok());
    ASSERT_TRUE(Open().ok());
    EXPECT_THAT(seen_, testing::ElementsAre("a", "b")) << records << " records are left";
    EXPECT_EQ(warnings_.size(), 1u);
  }
}

TEST_F(DirectoryTest, ASpareOfAnEarlierLifeIsUsedOnlyIfItHoldsNothing) {
  Write({"a"});
  const std::string spare = directory_ + "/spare";
  for (const uint64_t at : {kHeaderBytes, options_.preallocate_bytes - 1}) {
    std::string bytes(options_.preallocate_bytes, '\0');
    bytes[at] = 'x';
    ASSERT_TRUE(WriteFileDurably(spare, bytes).ok());
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(ReadFile(spare).value().substr(kHeaderBytes).find_first_not_of('\0'), std::string::npos);
  }
}

TEST_F(DirectoryTest, WithoutAnyWholeSnapshotNothingIsMadeUp) {
  for (int i = 0; i < 3; ++i) {
    Write({"a"});
    Snapshot();
  }
  const auto snapshots = ListFiles(directory_)->snapshots;
  for (const File& file : snapshots) {
    ASSERT_EQ(truncate(file.path.c_str(), 100), 0);
  }
  const auto opened = Open();
  EXPECT_EQ(opened.status().code(), Code::kCorrupted);
  EXPECT_THAT(opened.status().message(), testing::HasSubstr("is damaged"));
  EXPECT_THAT(opened.status().message(), testing::HasSubstr("Restore"));
}

TEST_F(DirectoryTest, WhatIsHalfMadeGoes) {
  Write({"a"});
  { auto given_up = SnapshotWriter::Create(directory_, 7, {kHeaderBytes, 1, 1, 1}); }
  EXPECT_FALSE(PathExists(SnapshotPath(directory_, 1) + ".tmp"));
  for (const std::string& path : {SnapshotPath(directory_, 1), SegmentPath(directory_, 99)}) {
    ASSERT_TRUE(WriteFileDurably(path + ".tmp.x", "").ok());
    ASSERT_EQ(rename((path + ".tmp.x").c_str(), (path + ".tmp").c_str()), 0);
  }
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(seen_, testing::ElementsAre("a"));
  const auto names = ListDirectory(directory_).value();
  for (const auto& name : names) EXPECT_FALSE(name.ends_with(".tmp")) << name;
}

TEST_F(DirectoryTest, TheOldestStartGivesAllThatIsStillThere) {
  const auto oldest = [this] {
    seen_.clear();
    EXPECT_TRUE(ReadDirectory(directory_, 7, UINT64_MAX, Collect(), From::kOldest).ok());
    return seen_;
  };
  Write({"a", "b"});
  Snapshot();
  EXPECT_THAT(oldest(), testing::ElementsAre("a", "b"));
  Write({"c", "d"});
  Snapshot();
  Write({"e"});
  ASSERT_EQ(Snapshots(), 2u);
  EXPECT_THAT(oldest(), testing::ElementsAre("=a", "=b", "c", "d", "e"));
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(seen_, testing::ElementsAre("=a", "=b", "=c", "=d", "e"));
}

TEST_F(DirectoryTest, ASnapshotsRecordMayBeLongerThanAJournals) {
  Write({"a"});
  const uint64_t at = ListFiles(directory_)->segments.back().after;
  const auto read = ReadDirectory(directory_, 7, at, Collect());
  auto writer = SnapshotWriter::Create(directory_, 7, read->last.end);
  std::string large(40u << 20, 'l');
  large.back() = 'e';
  ASSERT_TRUE(writer->Add(kSummary, large).ok());
  ASSERT_TRUE(writer->Add(kSummary, "").ok());
  ASSERT_TRUE(writer->Finish().ok());
  ASSERT_TRUE(Open().ok());
  ASSERT_EQ(seen_.size(), 2u);
  EXPECT_TRUE(seen_[0] == "=" + large);
  EXPECT_EQ(seen_[1], "=");
}

}  // namespace
}  // namespace mr::journal
