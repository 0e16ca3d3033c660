// The journal notices lost records. Whatever is missing from its files, Open refuses with the numbers and changes
// nothing. It goes on only if it gets the number of exactly this loss.
#include "master/journal/witness.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "common/io/files.h"
#include "master/journal/journal.h"
#include "tests/support/disk_shim.h"

namespace mr::journal {
namespace {

namespace fs = std::filesystem;

class WitnessTest : public testing::Test {
 protected:
  WitnessTest() {
    char path[] = "/tmp/witness_test.XXXXXX";
    root_ = mkdtemp(path);
    options_ = {.directory = root_ + "/journal",
                .cluster_id = 7,
                .preallocate_bytes = 64 << 10,
                .witness = root_ + "/journal_witness",
                .expected = true};
  }
  ~WitnessTest() override { (void)RemoveTree(root_); }

  Result<std::unique_ptr<Journal>> Open() {
    seen_.clear();
    return Journal::Open(options_, [this](const Record& r, uint64_t) {
      seen_.emplace_back(r.payload);
      return Status::Ok();
    });
  }
  // Each text is a group of its own. The first call makes the journal.
  void Write(const std::vector<std::string>& texts) {
    options_.expected = PathExists(options_.witness);
    auto journal = Open();
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    (*journal)->Start((*journal)->last_epoch() + 1, nullptr);
    for (const auto& text : texts) {
      last_ = (*journal)->Append(RecordClass::kHard, 1, text);
      (*journal)->WaitDurable(last_);
    }
    options_.expected = true;
  }
  std::string Path() const { return options_.directory + "/journal"; }

  // Refused, with the number; nothing is changed; another number does not help; the right one does, once.
  void ExpectRefusedAndAccepted(uint64_t known, const std::vector<std::string>& kept) {
    const auto files = [&] {
      std::map<std::string, std::string> all;
      for (const auto& name : ListDirectory(options_.directory).value()) {
        all[name] = ReadFile(options_.directory + "/" + name).value();
      }
      return all;
    };
    const auto before = files();
    for (const std::optional<uint64_t> accepted : {std::optional<uint64_t>(), std::optional<uint64_t>(known + 1)}) {
      options_.accept_loss = accepted;
      const auto refused = Open();
      ASSERT_FALSE(refused.ok()) << "the loss was not noticed";
      EXPECT_EQ(std::string(CodeName(refused.status().code())), "corrupted") << refused.status().message();
      EXPECT_THAT(refused.status().message(), testing::HasSubstr("--accept_loss=" + std::to_string(known) + ":"));
      EXPECT_THAT(refused.status().message(), testing::Not(testing::HasSubstr("truncate")));
      auto after = files();
      after["lock"] = before.contains("lock") ? before.at("lock") : "";
      auto expected = before;
      expected["lock"] = after["lock"];
      EXPECT_EQ(after, expected) << "a refused start changed something";
    }
    options_.accept_loss = known;
    {
      auto opened = Open();
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      EXPECT_EQ(seen_, kept);
      ASSERT_TRUE((*opened)->accepted_loss());
      EXPECT_EQ((*opened)->accepted_loss()->known, known);
      EXPECT_GE((*opened)->last_epoch(), epoch_) << "an epoch would be used again";
      (*opened)->Start((*opened)->last_epoch() + 1, nullptr);
      (*opened)->WaitDurable((*opened)->Append(RecordClass::kHard, 1, "new"));
    }
    // A crash before the owner has settled it changes nothing: it is refused again, and must be accepted again.
    options_.accept_loss = {};
    EXPECT_THAT(Open().status().message(), testing::HasSubstr("--accept_loss=" + std::to_string(known) + ":"));
    options_.accept_loss = known;
    {
      auto opened = Open();
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      (*opened)->Start((*opened)->last_epoch() + 1, nullptr);
      (*opened)->LossSettled();
    }
    // The flag is forgotten, and nothing is lost: no loss is accepted.
    auto again = Open();
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_FALSE((*again)->accepted_loss());
    EXPECT_EQ(seen_.back(), "new");
    EXPECT_EQ(seen_.size(), kept.size() + 1);
  }

  std::string root_;
  Journal::Options options_;
  std::vector<std::string> seen_;
  uint64_t last_ = 0;
  uint32_t epoch_ = 1;
};

TEST_F(WitnessTest, ALostLastPageIsNoticed) {
  Write({"a", "b"});
  std::string bytes = ReadFile(Path()).value();
  std::fill(bytes.begin() + static_cast<long>(kHeaderBytes), bytes.end(), '\0');
  ASSERT_TRUE(WriteFileDurably(Path(), bytes).ok());
  ExpectRefusedAndAccepted(last_, {});
}

TEST_F(WitnessTest, ATruncatedJournalIsNoticed) {
  Write({"a", "b"});
  Write({"c"});
  uint64_t end_of_b = 0;
  const auto fd = OpenFile(Path(), O_RDONLY);
  (void)ReadJournal(fd->get(), Path(), [&](const Record& r, uint64_t offset) {
    if (r.payload == "c") end_of_b = offset;
    return Status::Ok();
  });
  ASSERT_GT(end_of_b, 0u);
  ASSERT_EQ(truncate(Path().c_str(), static_cast<off_t>(end_of_b)), 0);
  epoch_ = 2;
  ExpectRefusedAndAccepted(last_, {"a", "b"});
}

TEST_F(WitnessTest, AnEmptiedJournalIsNoticed) {
  Write({"a"});
  ASSERT_EQ(truncate(Path().c_str(), 0), 0);
  ExpectRefusedAndAccepted(last_, {});
}

TEST_F(WitnessTest, AJournalOfNothingButItsHeaderIsNoticed) {
  Write({"a"});
  ASSERT_EQ(truncate(Path().c_str(), kHeaderBytes), 0);
  ExpectRefusedAndAccepted(last_, {});
}

TEST_F(WitnessTest, AMissingJournalIsNoticed) {
  Write({"a"});
  ASSERT_EQ(unlink(Path().c_str()), 0);
  ExpectRefusedAndAccepted(last_, {});
}

TEST_F(WitnessTest, AMissingDirectoryIsNoticed) {
  Write({"a"});
  ASSERT_TRUE(RemoveTree(options_.directory).ok());
  ASSERT_TRUE(MakeDirectories(options_.directory).ok());
  ExpectRefusedAndAccepted(last_, {});
}

TEST_F(WitnessTest, AMissingJournalOfAKnownClusterIsNoticedWithoutAWitness) {
  options_.expected = true;
  ASSERT_TRUE(MakeDirectories(options_.directory).ok());
  epoch_ = 0;
  ExpectRefusedAndAccepted(0, {});
}

TEST_F(WitnessTest, AnOlderCopyIsNoticed) {
  Write({"a"});
  fs::copy(options_.directory, root_ + "/old", fs::copy_options::recursive);
  Write({"b"});
  ASSERT_TRUE(RemoveTree(options_.directory).ok());
  fs::rename(root_ + "/old", options_.directory);
  epoch_ = 2;
  ExpectRefusedAndAccepted(last_, {"a"});
}

TEST_F(WitnessTest, AnotherCopyThatWentItsOwnWayIsNoticed) {
  Write({"a"});
  fs::copy(root_, root_ + ".other", fs::copy_options::recursive);
  Write({"b"});
  auto other = options_;
  other.directory = root_ + ".other/journal";
  other.witness = root_ + ".other/journal_witness";
  std::swap(options_, other);
  Write({"c", "d", "e"});
  std::swap(options_, other);
  ASSERT_TRUE(RemoveTree(options_.directory).ok());
  fs::rename(root_ + ".other/journal", options_.directory);
  EXPECT_THAT(Open().status().message(), testing::HasSubstr("went its own way"));
  (void)RemoveTree(root_ + ".other");
}

TEST_F(WitnessTest, DamageInTheMiddleIsAcceptedByItsNumberToo) {
  Write({"a", std::string(20'000, 'x'), "b"});
  std::string bytes = ReadFile(Path()).value();
  std::fill_n(bytes.begin() + 8192, 4096, '\0');
  ASSERT_TRUE(WriteFileDurably(Path(), bytes).ok());
  ExpectRefusedAndAccepted(last_, {"a"});
  bool kept = false;
  for (const auto& name : ListDirectory(options_.directory).value()) {
    kept = kept || (name.starts_with("lost.") && ReadFile(options_.directory + "/" + name).value() == bytes);
  }
  EXPECT_TRUE(kept) << "the damaged file is kept as it was";
}

TEST_F(WitnessTest, SegmentsBehindALossAreKeptAside) {
  options_.segment_bytes = kHeaderBytes + 1;
  Write({"a", "b", "c"});
  const auto segments = ListFiles(options_.directory)->segments;
  ASSERT_GE(segments.size(), 3u);
  ASSERT_EQ(unlink(segments[1].path.c_str()), 0);
  ExpectRefusedAndAccepted(last_, {"a"});
}

TEST_F(WitnessTest, WhatAWorkerReportedIsNoticedUntilItIsAccepted) {
  Write({"a"});
  {
    auto journal = Open();
    ASSERT_TRUE(journal.ok());
    (*journal)->Start((*journal)->last_epoch() + 1, nullptr);
    (*journal)->ReportLoss(9, 1234);
  }
  epoch_ = 9;
  ExpectRefusedAndAccepted(1234, {"a"});
}

// The reported epoch is one that this journal never had, whatever the number of the record.
TEST_F(WitnessTest, AnEpochThatAWorkerReportedIsNoticedByItself) {
  Write({"a"});
  {
    auto journal = Open();
    ASSERT_TRUE(journal.ok());
    (*journal)->Start((*journal)->last_epoch() + 1, nullptr);
    (*journal)->ReportLoss(9, 1);
  }
  epoch_ = 9;
  ExpectRefusedAndAccepted(1, {"a"});
}

class SnapshotLossTest : public WitnessTest {
 protected:
  // Files of "a", "b" and "c", and a snapshot of so many of them.
  void SetUp() override {
    options_.segment_bytes = kHeaderBytes + 1;
    Write({"a", "b", "c"});
    segments_ = ListFiles(options_.directory)->segments;
    ASSERT_GE(segments_.size(), 3u);
  }
  void Summarize(size_t files) {
    const auto read = ReadDirectory(options_.directory, 7, segments_[files].after,
                                    [](const Record&, uint64_t) { return Status::Ok(); });
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    auto writer = SnapshotWriter::Create(options_.directory, 7, read->last.end);
    ASSERT_TRUE(writer.ok() && writer->Add(40, "=").ok() && writer->Finish().ok());
  }
  void Remove(size_t file) { ASSERT_EQ(unlink(segments_[file].path.c_str()), 0); }
  std::vector<File> segments_;
};

TEST_F(SnapshotLossTest, ASnapshotBeforeTheLossStaysInUse) {
  Summarize(1);
  Remove(0);
  Remove(2);
  ExpectRefusedAndAccepted(last_, {"=", "b"});
}

// The records that will have its number are others than those that it stands for.
TEST_F(SnapshotLossTest, ADamagedSnapshotBehindTheLossIsKeptAside) {
  Summarize(2);
  const std::string path = ListFiles(options_.directory)->snapshots.back().path;
  ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(kHeaderBytes)), 0);
  Remove(1);
  ExpectRefusedAndAccepted(last_, {"a"});
  EXPECT_TRUE(ListFiles(options_.directory)->snapshots.empty());
}

TEST_F(WitnessTest, ATornTailIsCutWithoutAWord) {
  Write({"a", "b"});
  auto journal = Open();
  ASSERT_TRUE(journal.ok());
  ChainEnd end = (*journal)->recovery().end;
  journal.value().reset();
  std::string bytes = ReadFile(Path()).value(), record;
  EncodeRecord({end.sequence + 1, end.epoch, RecordClass::kHard, 1, end.sequence, "never synced"}, &end, &record);
  record.resize(record.size() / 2);
  std::copy(record.begin(), record.end(), bytes.begin() + static_cast<long>((end.offset - record.size() * 2) & ~7ull));
  ASSERT_TRUE(WriteFileDurably(Path(), bytes).ok());
  const auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_THAT(seen_, testing::ElementsAre("a", "b"));
  EXPECT_FALSE((*opened)->accepted_loss());
}

TEST_F(WitnessTest, ADamagedWitnessIsSaidAndMadeAnew) {
  Write({"a"});
  ASSERT_TRUE(WriteFileDurably(options_.witness, std::string(8192, 'x')).ok());
  {
    const auto opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    ASSERT_EQ((*opened)->read().warnings.size(), 1u);
    EXPECT_THAT((*opened)->read().warnings[0], testing::HasSubstr(options_.witness));
  }
  EXPECT_TRUE(WitnessFile::Read(options_.witness).ok());
}

TEST_F(WitnessTest, ATornStatementLeavesTheOneBeforeIt) {
  Write({"a", "b", "c"});
  const Witnessed newest = WitnessFile::Read(options_.witness).value();
  const std::string good = ReadFile(options_.witness).value();
  int older = 0;
  for (const size_t at : {size_t{10}, size_t{4096 + 10}}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    ASSERT_TRUE(WriteFileDurably(options_.witness, bad).ok());
    const auto read = WitnessFile::Read(options_.witness);
    ASSERT_TRUE(read.ok());
    older += read->sequence < newest.sequence ? 1 : 0;
  }
  EXPECT_EQ(older, 1);
}

// A crash between a file's beginning and its first record, or a power cut that took its seal, and then a start that
// ends before its first record: the last record is in the file before, or only in a snapshot.
TEST_F(WitnessTest, AStartBehindAnEmptyLastFileLosesNothing) {
  options_.segment_bytes = kHeaderBytes + 1;
  Write({"a", "b"});
  const auto empty_last_file = [&] {
    const std::string last = ListFiles(options_.directory)->segments.back().path;
    std::string bytes = ReadFile(last).value();
    std::fill(bytes.begin() + static_cast<long>(kHeaderBytes), bytes.end(), '\0');
    ASSERT_TRUE(WriteFileDurably(last, bytes).ok());
  };
  empty_last_file();
  for (int start = 0; start < 3; ++start) {
    const auto opened = Open();
    ASSERT_TRUE(opened.ok()) << "start " << start << ": " << opened.status().ToString();
    EXPECT_EQ((*opened)->read().end.sequence, last_);
    EXPECT_THAT(seen_, testing::ElementsAre("a", "b"));
  }
  const auto read = ReadDirectory(options_.directory, 7, last_, [](const Record&, uint64_t) { return Status::Ok(); });
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  auto snapshot = SnapshotWriter::Create(options_.directory, 7, read->last.end);
  ASSERT_TRUE(snapshot.ok() && snapshot->Add(40, "a, b").ok() && snapshot->Finish().ok());
  for (int start = 0; start < 3; ++start) {
    const auto opened = Open();
    ASSERT_TRUE(opened.ok()) << "start " << start << " with a snapshot: " << opened.status().ToString();
    EXPECT_THAT(seen_, testing::ElementsAre("a, b"));
  }
  // The witness of then still distinguishes another copy of the journal from this one.
  const std::string page = EncodeHeader({7, 1, last_, 1234, 1});
  ChainEnd end{kHeaderBytes, last_, 0, 1};
  ASSERT_TRUE(DecodeHeader(page, &end.hash).ok());
  std::string bytes = page;
  EncodeRecord({last_ + 1, 1, RecordClass::kHard, 40, 0, std::string(1, '\0') + "c"}, &end, &bytes);
  EncodeRecord({last_ + 2, 1, RecordClass::kSoft, kSealKind, last_ + 1, ""}, &end, &bytes);
  ASSERT_TRUE(WriteFileDurably(SnapshotPath(options_.directory, last_), bytes).ok());
  ASSERT_TRUE(WriteFileDurably(ListFiles(options_.directory)->segments.back().path, page).ok());
  EXPECT_THAT(Open().status().message(), testing::HasSubstr("went its own way"));
}

TEST_F(WitnessTest, AFailureToWriteOrSyncTheWitnessIsSaidUntilItSucceeds) {
  options_.expected = false;
  auto journal = Open();
  ASSERT_TRUE(journal.ok()) << journal.status().ToString();
  (*journal)->Start(1, nullptr);
  for (const auto kind : {test::DiskCall::kWrite, test::DiskCall::kSync}) {
    {
      const test::OnDiskCall hook(
          [&](const test::DiskCall& call) { return call.kind == kind && call.path == options_.witness ? EIO : 0; });
      (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "x"));
      while ((*journal)->witness_failure().empty()) std::this_thread::yield();
      EXPECT_THAT((*journal)->witness_failure(), testing::HasSubstr(options_.witness));
    }
    (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "y"));
    while (!(*journal)->witness_failure().empty()) std::this_thread::yield();
  }
}

TEST_F(WitnessTest, NoGroupWaitsForTheWitnesssSync) {
  options_.expected = false;
  auto journal = Open();
  ASSERT_TRUE(journal.ok()) << journal.status().ToString();
  std::atomic<bool> go{false};
  {
    const test::OnDiskCall hook([&](const test::DiskCall& call) {
      if (call.kind == test::DiskCall::kSync && call.path == options_.witness) go.wait(false);
      return 0;
    });
    (*journal)->Start(1, nullptr);
    for (int i = 0; i < 50; ++i) (*journal)->WaitDurable((*journal)->Append(RecordClass::kHard, 1, "x"));
    go = true;
    go.notify_all();
    journal.value().reset();
  }
  EXPECT_GT(WitnessFile::Read(options_.witness)->sequence, 49u);
}

}  // namespace
}  // namespace mr::journal
