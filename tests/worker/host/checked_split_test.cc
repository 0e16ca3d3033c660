// A split whose descriptor comes with checksums: the reader delivers what was written, wherever it has to get it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/base/rng.h"
#include "common/io/crc32c.h"
#include "tests/support/temp_directory.h"
#include "tests/worker/host/core_harness.h"
#include "worker/task/byte_stream.h"

namespace mr::task {
namespace {

constexpr uint32_t kChunk = 4096;

struct Asked {
  uint64_t at, bytes;
  auto operator<=>(const Asked&) const = default;
};

// The block [kBefore, kBefore + kBytes) of a file.
class CheckedSplitTest : public testing::Test {
 protected:
  static constexpr uint64_t kBefore = 10'000, kBytes = 300'000;

  CheckedSplitTest() {
    Rng rng(7);
    for (uint64_t i = 0; i < kBefore + kBytes + 5'000; ++i) file_ += static_cast<char>('a' + rng.Below(20));
    for (uint64_t i = 50; i < file_.size(); i += 20 + rng.Below(200)) file_[i] = '\n';
    on_disk_ = file_.substr(kBefore, kBytes);
  }

  WireSplit Split(uint64_t offset, uint64_t length) {
    WireSplit split;
    split.name = "file";
    split.format = "text";
    split.offset = offset;
    split.length = length;
    split.file_bytes = file_.size();
    split.fd_offset = kBefore;
    split.fd_length = kBytes;
    split.chunk_bytes = kChunk;
    const std::string_view written = std::string_view(file_).substr(kBefore, kBytes);
    for (uint64_t at = 0; at < kBytes; at += kChunk) {
      split.crcs.push_back(Crc32c(written.substr(at, kChunk)));
    }
    return split;
  }

  FileBytes Open(const WireSplit& split) {
    fd_ = UniqueFd(memfd_create("block", 0));
    EXPECT_TRUE(WriteAll(fd_.get(), on_disk_).ok());
    return {split, fd_.get(), [this](uint64_t at, uint32_t n) -> Result<std::string> {
              asked_.push_back({at, n});
              return file_.substr(at, n);
            }};
  }

  std::string file_, on_disk_;
  UniqueFd fd_;
  std::vector<Asked> asked_;
};

TEST_F(CheckedSplitTest, AnyRangeIsWhatWasWritten) {
  WireSplit split = Split(kBefore, kBytes);
  Rng rng(3);
  for (int i = 0; i < 200; ++i) {
    split.cached = i % 4 < 2;
    const FileBytes file = Open(split);
    const uint64_t at = kBefore + rng.Below(kBytes);
    const uint64_t size = std::min(kBefore + kBytes - at, 1 + rng.Below(i % 2 == 0 ? 100 : 100'000));
    ByteBuffer out;
    out.Append("before");
    ASSERT_TRUE(file.Read(at, size, &out).ok());
    ASSERT_EQ(out.unread(), "before" + file_.substr(at, size)) << at << ' ' << size;
  }
  EXPECT_TRUE(asked_.empty());
}

TEST_F(CheckedSplitTest, PagesLeaveTheCacheUnlessTheyWereThere) {
  test::TempDirectory directory;
  const std::string path = directory / "block";
  ASSERT_TRUE(WriteFileDurably(path, on_disk_).ok());
  const UniqueFd fd = *OpenFile(path, O_RDONLY);
  char byte;
  iovec one{&byte, 1};
  // Linux 6.14, and not every file system.
  if (preadv2(fd.get(), &one, 1, 0, 0x80) < 0) GTEST_SKIP() << "no reads past the page cache: " << std::strerror(errno);
  const auto cached_pages = [&] {
    void* const at = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
    std::vector<unsigned char> pages((kBytes + 4095) / 4096);
    EXPECT_EQ(mincore(at, kBytes, pages.data()), 0);
    munmap(at, kBytes);
    return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
  };
  WireSplit split = Split(kBefore, kBytes);
  const auto read = [&](bool cached) {
    split.cached = cached;
    const FileBytes file(split, fd.get(), nullptr);
    ByteBuffer out;
    EXPECT_TRUE(file.Read(kBefore, kBytes, &out).ok());
    EXPECT_EQ(out.unread(), on_disk_);
    return cached_pages();
  };
  constexpr int64_t kPages = (kBytes + 4095) / 4096;
  ASSERT_EQ(posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  EXPECT_LT(read(false), kPages / 2);
  EXPECT_EQ(read(true), kPages);
  EXPECT_EQ(read(false), kPages);
}

TEST_F(CheckedSplitTest, DamagedBytesAreRequested) {
  on_disk_[100'000] ^= 1;
  const WireSplit split = Split(kBefore, kBytes);
  const FileBytes file = Open(split);
  ByteBuffer out;
  ASSERT_TRUE(file.Read(kBefore, kBytes, &out).ok());
  EXPECT_EQ(out.unread(), file_.substr(kBefore, kBytes));
  const uint64_t good = 100'000 / kChunk * kChunk;
  EXPECT_EQ(asked_, (std::vector<Asked>{{kBefore + good, kBytes - good}}));
}

TEST_F(CheckedSplitTest, DamageInAChunkOfOneRecordIsSeen) {
  on_disk_[5'000] ^= 0x40;
  const WireSplit split = Split(kBefore, kBytes);
  const FileBytes file = Open(split);
  ByteBuffer out;
  ASSERT_TRUE(file.Read(kBefore + 4'097, 10, &out).ok()) << "its chunk is damaged elsewhere";
  EXPECT_EQ(out.unread(), file_.substr(kBefore + 4'097, 10));
  EXPECT_EQ(asked_.size(), 1u);
}

TEST_F(CheckedSplitTest, ADescriptorThatTheOperatorHasClosedIsAFailureOfTheUser) {
  for (const bool checked : {true, false}) {
    WireSplit split = Split(kBefore, kBytes);
    if (!checked) split.crcs.clear();
    const FileBytes file = Open(split);
    fd_.reset();
    ByteBuffer out;
    const Status read = file.Read(kBefore, kBytes, &out);
    EXPECT_EQ(read.code(), Code::kInvalidArgument) << read.ToString();
    EXPECT_NE(read.message().find("the operator closed the descriptor of file, which is not its own"),
              std::string::npos)
        << read.message();
  }
  EXPECT_TRUE(asked_.empty()) << "the replica is good";
}

TEST_F(CheckedSplitTest, AShorterFileIsNoEnd) {
  on_disk_.resize(150'000);
  const WireSplit split = Split(kBefore, kBytes);
  const FileBytes file = Open(split);
  ByteBuffer out;
  ASSERT_TRUE(file.Read(kBefore + 140'000, 20'000, &out).ok());
  EXPECT_EQ(out.unread(), file_.substr(kBefore + 140'000, 20'000));
  EXPECT_FALSE(asked_.empty());
}

TEST_F(CheckedSplitTest, AFailingFileIsNotReadAgain) {
  on_disk_.resize(150'000);
  const WireSplit split = Split(kBefore, kBytes);
  const FileBytes file = Open(split);
  ByteBuffer out;
  ASSERT_TRUE(file.Read(kBefore + 140'000, 20'000, &out).ok());
  ASSERT_EQ(ftruncate(fd_.get(), 0), 0);
  ASSERT_TRUE(file.Read(kBefore, 4 * kChunk, &out).ok());
  EXPECT_EQ(asked_.back(), (Asked{kBefore, 4 * kChunk}));
}

TEST_F(CheckedSplitTest, BytesThatNobodyHasAreNamedWithTheirPlace) {
  on_disk_[100'000] ^= 1;
  const WireSplit split = Split(kBefore, kBytes);
  (void)Open(split);
  const FileBytes file(split, fd_.get(),
                       [](uint64_t, uint32_t) -> Result<std::string> { return Unavailable("block 5 cannot be read"); });
  ByteBuffer out;
  const Status status = file.Read(kBefore, kBytes, &out);
  const uint64_t place = kBefore + 100'000 / kChunk * kChunk;
  EXPECT_EQ(status.message(), "reading file, byte " + std::to_string(place) + ": block 5 cannot be read");
}

TEST_F(CheckedSplitTest, MissingChecksumsAreNotTrusted) {
  WireSplit split = Split(kBefore, kBytes);
  split.crcs.resize(3);
  const FileBytes file = Open(split);
  ByteBuffer out;
  ASSERT_TRUE(file.Read(kBefore, 8 * kChunk, &out).ok());
  EXPECT_EQ(out.unread(), file_.substr(kBefore, 8 * kChunk));
  EXPECT_EQ(asked_, (std::vector<Asked>{{kBefore + 3 * kChunk, 5 * kChunk}}));
}

// Another attempt may read another replica, without a descriptor.
TEST_F(CheckedSplitTest, BatchesAreTheSameWhereverTheBytesComeFrom) {
  const uint64_t from = kBefore + 1'234, length = 200'001;
  std::vector<std::string> batches[3];
  for (int way = 0; way < 3; ++way) {
    if (way == 1) on_disk_[70'000] ^= 1;
    WireSplit split = Split(from, length);
    if (way == 2) split.fd_length = 0, split.crcs.clear();
    (void)Open(split);
    SplitReader reader(split, ParseInputFormat("text").value(), false, fd_.get(),
                       [this](uint64_t at, uint32_t n) -> Result<std::string> { return file_.substr(at, n); });
    std::string_view batch;
    uint64_t at = 0;
    for (;;) {
      const auto got = reader.Next(&batch, &at);
      ASSERT_TRUE(got.ok()) << got.status().ToString();
      if (!*got) break;
      batches[way].emplace_back(batch);
    }
  }
  EXPECT_GT(batches[0].size(), 0u);
  EXPECT_EQ(batches[0], batches[1]);
  EXPECT_EQ(batches[0], batches[2]);
}

}  // namespace
}  // namespace mr::task
