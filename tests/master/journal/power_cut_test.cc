// The journal and its snapshots under simulated power cuts: whatever the disk kept of what was not synced, each record
// that was said to be durable is read again, in order, and the journal opens without help.
#include "tests/support/power_cut.h"
#include "tests/support/rounds.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <mutex>

#include "common/io/files.h"
#include "master/journal/journal.h"

namespace mr::journal {
namespace {

using test::PowerCut;

constexpr uint8_t kNumber = 1, kSummary = 40;

class PowerCutTest : public testing::Test {
 protected:
  PowerCutTest() {
    char path[] = "/dev/shm/power_cut_test.XXXXXX";  // thousands of images: no real disk
    base_ = mkdtemp(path);
    root_ = base_ + "/root";
    EXPECT_TRUE(MakeDirectories(root_).ok());
  }
  ~PowerCutTest() override { (void)RemoveTree(base_); }

  Journal::Options OptionsOf(const std::string& root) const {
    return {.directory = root + "/journal",
            .cluster_id = 7,
            .preallocate_bytes = 16 << 10,
            .segment_bytes = 12 << 10,
            .witness = root + "/journal_witness"};
  }
  // Records are the numbers 1, 2, 3, ...; a snapshot says how many of them it stands for.
  static OnRecord Count(uint64_t* count, bool* in_order) {
    return [count, in_order](const Record& r, uint64_t) {
      const uint64_t n = std::strtoull(std::string(r.payload).c_str(), nullptr, 10);
      *in_order = *in_order && (r.kind == kSummary ? *count == 0 : n == *count + 1);
      *count = n;
      return Status::Ok();
    };
  }
  // One life of a journal: `records` more numbers of different sizes, in groups as they come.
  void Live(PowerCut* cut, int records) {
    uint64_t count = 0;
    bool in_order = true;
    // By sequence; seals have sequences, too. Before the journal, whose thread reads it until the end.
    std::map<uint64_t, uint64_t> number_of;
    std::mutex mutex;
    auto journal = Journal::Open(OptionsOf(root_), Count(&count, &in_order));
    ASSERT_TRUE(journal.ok()) << journal.status().ToString();
    ASSERT_TRUE(in_order);
    (*journal)->Start((*journal)->recovery().end.epoch + 1, [&](uint64_t sequence) {
      std::lock_guard lock(mutex);
      const auto it = number_of.find(sequence);
      if (it != number_of.end()) cut->Acknowledge(it->second);
    });
    uint64_t last = 0;
    for (int i = 0; i < records; ++i) {
      ++count;
      {
        std::lock_guard lock(mutex);
        const std::string text = std::to_string(count) + std::string(17 * (count % 29), ' ');
        last = (*journal)->Append(RecordClass::kHard, kNumber, text);
        number_of[last] = count;
      }
      if (i % 3 != 0) (*journal)->WaitDurable(last);
    }
    (*journal)->WaitDurable(last);
  }
  // Replaces the closed segments by a snapshot of them.
  void Snapshot() {
    const auto files = ListFiles(root_ + "/journal");
    const uint64_t until = files->segments.back().after;
    if (until == 0) return;
    uint64_t count = 0;
    bool in_order = true;
    const auto read = ReadDirectory(root_ + "/journal", 7, until, Count(&count, &in_order));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    auto writer = SnapshotWriter::Create(root_ + "/journal", 7, read->last.end);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Add(kSummary, std::to_string(count)).ok());
    ASSERT_TRUE(writer->Finish().ok());
    ASSERT_TRUE(RemoveCovered(root_ + "/journal", until, read->snapshot).ok());
  }

  // Cuts the power after every call, `variants` times each with other luck, and so often that there are 1,000 cuts
  // (MR_LONG=1: 4,000) at least.
  void CheckAllCuts(PowerCut* cut, int variants) {
    cut->Stop();
    const size_t least = test::Long() ? 4'000 : 1'000;
    while ((cut->steps() + 1) * static_cast<size_t>(variants) < least) ++variants;
    const uint64_t base = test::Seed(0) * 1'000'003;
    size_t cuts = 0;
    for (size_t step = 0; step <= cut->steps(); ++step) {
      for (int v = 0; v < variants; ++v) {
        const uint64_t seed = base + step * 1000 + static_cast<uint64_t>(v);
        const auto image = cut->Make(step, seed, base_ + "/image");
        uint64_t count = 0;
        bool in_order = true;
        const auto journal = Journal::Open(OptionsOf(base_ + "/image"), Count(&count, &in_order));
        const uint64_t acknowledged = image.acknowledged.empty() ? 0 : *image.acknowledged.rbegin();
        ASSERT_TRUE(journal.ok()) << "seed " << seed << ", after " << image.step << ": " << journal.status().ToString();
        ASSERT_TRUE(in_order) << "seed " << seed << ", after " << image.step;
        ASSERT_GE(count, acknowledged) << "seed " << seed << ", after " << image.step;
        ++cuts;
      }
    }
    EXPECT_GE(cuts, least);
  }

  std::string base_, root_;
};

TEST_F(PowerCutTest, AJournalKeepsWhatItAcknowledgedWhateverTheDiskKept) {
  PowerCut cut(root_);
  for (int life = 0; life < 4; ++life) Live(&cut, 40);
  CheckAllCuts(&cut, 2);
}

TEST_F(PowerCutTest, SnapshotsTakeOverOnlyFromWhatTheyHaveOnDisk) {
  PowerCut cut(root_);
  for (int life = 0; life < 4; ++life) {
    Live(&cut, 50);
    Snapshot();
  }
  CheckAllCuts(&cut, 2);
}

}  // namespace
}  // namespace mr::journal
