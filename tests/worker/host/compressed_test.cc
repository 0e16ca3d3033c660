// Compressed inputs and outputs: every way of cutting a file gives each line once. Outputs can be read here and by
// common tools. Damage is reported with its place and never passed over.
#include <gmock/gmock.h>

#include <set>

#include "common/base/rng.h"
#include "tests/worker/host/core_harness.h"
#include "worker/task/compress.h"

namespace mr::task {
namespace {

std::string Compressed(std::string_view text, Compression how, size_t piece = 1000) {
  auto compressor = MakeCompressor(how);
  std::string out;
  for (size_t at = 0; at < text.size(); at += piece) EXPECT_TRUE(compressor->Add(text.substr(at, piece), &out).ok());
  EXPECT_TRUE(compressor->Finish(&out).ok());
  return out;
}

// Words that no compressor folds away.
std::string SomeText(uint64_t seed, size_t bytes) {
  Rng rng(seed);
  std::string text;
  while (text.size() < bytes) {
    for (uint64_t n = rng.Below(60); n > 0; --n) text.push_back(static_cast<char>('!' + rng.Below(90)));
    text.push_back('\n');
  }
  return text;
}

// The file's lines, read in these splits.
std::string ReadInSplits(const std::string& file, const std::string& name, const std::set<uint64_t>& cuts, bool raw) {
  std::string got;
  for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) {
    for (const Record& r : ReadSplit(file, "text", *it, *std::next(it) - *it, raw, 0, 0, nullptr, 0, 0, name)) {
      got += r.value + (raw ? "" : "\n");
    }
  }
  return got;
}

std::string Failure(const std::string& file, const std::string& name, const std::string& format = "text") {
  Status status;
  ReadSplit(file, format, 0, file.size(), true, 0, 0, &status, 0, 0, name);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
  return status.message();
}

TEST(CompressedInputTest, AnySplitsOfACompressedFileGiveEachLineOnce) {
  const std::string text = SomeText(1, 2 * kZstdFrameBytes + 12345);
  Rng rng(2);
  for (const auto& [how, name] : {std::pair{Compression::kGzip, "x.gz"}, std::pair{Compression::kZstd, "x.zst"},
                                  std::pair{Compression::kZstd, "named.otherwise"}}) {
    const std::string file = Compressed(text, how, 777'777);
    ASSERT_LT(file.size(), text.size());
    for (int round = 0; round < 3; ++round) {
      std::set<uint64_t> cuts = {0, file.size()};
      for (uint64_t n = rng.Below(6); n > 0; --n) cuts.insert(rng.Below(file.size()));
      ASSERT_TRUE(ReadInSplits(file, name, cuts, round % 2 == 0) == text) << name << ", round " << round;
    }
  }
}

TEST(CompressedInputTest, SplitsOfAFramedZstdFileShareItsFrames) {
  const std::string text = SomeText(3, 4 * kZstdFrameBytes);
  const std::string file = Compressed(text, Compression::kZstd);
  const uint64_t half = file.size() / 2;
  const auto bytes = [&](uint64_t from, uint64_t to) {
    uint64_t sum = 0;
    for (const Record& r : ReadSplit(file, "text", from, to - from, true, 0, 0, nullptr, 0, 0, "x.zst"))
      sum += r.value.size();
    return sum;
  };
  EXPECT_GT(bytes(0, half), text.size() / 5);
  EXPECT_GT(bytes(half, file.size()), text.size() / 5);
}

TEST(CompressedInputTest, AFileOfFramesWithoutATableIsReadByItsFirstSplit) {
  const std::string a = SomeText(4, 50'000), b = SomeText(5, 50'000);
  const auto frames = [](std::string file) {  // without what Finish put behind them: 8 + 8 + 9 bytes
    file.resize(file.size() - 25);
    return file;
  };
  const std::string file = frames(Compressed(a, Compression::kZstd)) + frames(Compressed(b, Compression::kZstd));
  EXPECT_TRUE(ReadInSplits(file, "x.zst", {0, 100, 70'000, file.size()}, true) == a + b);
  // Two files with a table each, one behind the other: the last table does not account for all.
  const std::string two = Compressed(a, Compression::kZstd) + Compressed(b, Compression::kZstd);
  EXPECT_TRUE(ReadInSplits(two, "x.zst", {0, 100, 70'000, two.size()}, true) == a + b);
}

TEST(CompressedInputTest, GzipMembersAndTheirPaddingAreReadAsOneFile) {
  const std::string a = SomeText(6, 400'000), b = SomeText(7, 300'000);
  const std::string none = Compressed("", Compression::kGzip);
  const std::string file =
      Compressed(a, Compression::kGzip) + none + Compressed(b, Compression::kGzip) + std::string(5000, '\0');
  EXPECT_TRUE(ReadInSplits(file, "x.gz", {0, file.size()}, true) == a + b);
}

TEST(CompressedInputTest, AnEmptyCompressedFileHasNoLines) {
  for (const Compression how : {Compression::kGzip, Compression::kZstd}) {
    const std::string file = Compressed("", how);
    EXPECT_FALSE(file.empty());
    EXPECT_EQ(ReadInSplits(file, "x" + std::string(Suffix(how)), {0, file.size()}, true), "");
  }
}

TEST(CompressedInputTest, TruncatedDataIsToldAndNotTakenForTheEnd) {
  const std::string text = SomeText(8, 600'000);
  for (const auto& [how, name] : {std::pair{Compression::kGzip, "x.gz"}, std::pair{Compression::kZstd, "x.zst"}}) {
    const std::string file = Compressed(text, how);
    for (const size_t keep : {file.size() / 2, size_t{300'000}, size_t{10}}) {
      const std::string message = Failure(file.substr(0, keep), name);
      EXPECT_THAT(message, testing::StartsWith("COMPRESSED_INPUT_DAMAGED: " + std::string(name) + ", byte "));
      EXPECT_THAT(message, testing::HasSubstr("too early"));
    }
  }
}

TEST(CompressedInputTest, APlaceSaysThatItCountsUncompressedBytes) {
  const std::string text = std::string(kMaxLineBytes, 'x') + "xxxx\n";
  const std::string place = "byte 0 (uncompressed): a line above 16 MiB";
  EXPECT_THAT(Failure(Compressed(text, Compression::kGzip), "x.gz"), testing::HasSubstr(place));
  EXPECT_THAT(Failure(text, "x"), testing::HasSubstr("byte 0: a line above 16 MiB"));
}

TEST(CompressedInputTest, AFlippedBitIsTold) {
  const std::string text = SomeText(9, 600'000);
  Rng rng(10);
  for (const auto& [how, name] : {std::pair{Compression::kGzip, "x.gz"}, std::pair{Compression::kZstd, "x.zst"}}) {
    const std::string file = Compressed(text, how);
    for (int round = 0; round < 20; ++round) {
      std::string bad = file;
      bad[20 + rng.Below(bad.size() - 100)] ^= static_cast<char>(1 << rng.Below(8));
      EXPECT_THAT(Failure(bad, name), testing::StartsWith("COMPRESSED_INPUT_DAMAGED: " + std::string(name)));
    }
  }
}

TEST(CompressedInputTest, ASeekTableThatLiesIsTold) {
  const std::string text = SomeText(11, kZstdFrameBytes + 1000);
  std::string file = Compressed(text, Compression::kZstd);
  file[file.size() - 9 - 4] ^= 1;  // the raw length of the second frame
  EXPECT_THAT(Failure(file, "x.zst"), testing::HasSubstr("the seek table says"));
}

TEST(CompressedInputTest, GarbageBehindGzipDataIsTold) {
  EXPECT_THAT(Failure(Compressed("a\nb\n", Compression::kGzip) + "rest", "x.gz"),
              testing::HasSubstr("cannot decompress"));
}

TEST(CompressedInputTest, ANameThatPromisesWhatTheBytesAreNotIsRefused) {
  EXPECT_THAT(Failure("plain text\n", "x.gz"), testing::HasSubstr("is named as gzip data"));
  EXPECT_THAT(Failure("plain text\n", "x.zst"), testing::HasSubstr("is named as zstd data"));
  EXPECT_THAT(Failure(Compressed("a\n", Compression::kGzip), "x.zst"), testing::HasSubstr("is named as zstd data"));
}

TEST(CompressedInputTest, ContainersThatNothingReadsAreRefusedByTheirFirstBytes) {
  const std::pair<std::string, std::string> containers[] = {
      {std::string("BZh91AY&SY\x4e\xec\xe8\x36", 14), "is a bzip2 file"},
      {std::string("\xfd"
                   "7zXZ\0\0\x04",
                   8),
       "is an xz file"},
      {std::string("\x04\x22\x4d\x18\x64\x40", 6), "is an lz4 file"},
      {std::string("PK\x03\x04\x14\0", 6), "is a zip archive"},
      {std::string("PAR1\x15\x04\x15\x10", 8), "is a Parquet file"},
  };
  for (const auto& [bytes, says] : containers) {
    for (const char* format : {"text", "kv", "csv", "jsonl"}) {
      EXPECT_THAT(Failure(bytes + "and more\n", "x", format),
                  testing::AllOf(testing::HasSubstr("INPUT_CONTAINER: x " + says), testing::HasSubstr("; ")));
    }
    // Records of fixed length and bytes are what they are.
    EXPECT_EQ(ReadSplit(bytes, "fixed:1", 0, bytes.size()).size(), bytes.size());
    EXPECT_EQ(ReadSplit(bytes, "raw", 0, bytes.size()).size(), 1u);
  }
  EXPECT_THAT(Failure(containers[0].first, "x.bz2", "fixed:2"), testing::HasSubstr("is a bzip2 file"));
  for (const char* text : {"BZh9 is a word\n", "PAR1 is one\n", "PK\n", "BZh"}) {
    EXPECT_EQ(ReadSplit(text, "text", 0, strlen(text)).size(), 1u) << text;
  }
}

TEST(CompressedInputTest, RecordsOfFixedLengthMayBeginWithAnyBytes) {
  EXPECT_EQ(ReadSplit("\x1f\x8b\x08", "fixed:3", 0, 3).size(), 1u);
  const std::string file = Compressed("aaabbbccc", Compression::kGzip);
  const auto records = ReadSplit(file, "fixed:3", 0, file.size(), false, 0, 0, nullptr, 0, 0, "x.gz");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[2].value, "ccc");
  EXPECT_THAT(Failure(Compressed("aaabb", Compression::kGzip), "x.gz", "fixed:3"),
              testing::HasSubstr("no multiple of 3"));
}

TEST(CompressedInputTest, FixedRecordsOfAFramedZstdFileAreReadOnce) {
  Rng rng(12);
  std::string text;
  while (text.size() < 2 * kZstdFrameBytes) text += std::to_string(rng.Below(1'000'000'000));
  text.resize(text.size() / 100 * 100);
  const std::string file = Compressed(text, Compression::kZstd);
  for (const uint64_t cut : {uint64_t{1}, file.size() / 3, file.size() - 1}) {
    std::string got;
    for (const auto& [from, to] : {std::pair{uint64_t{0}, cut}, std::pair{cut, uint64_t{file.size()}}}) {
      for (const Record& r : ReadSplit(file, "fixed:100", from, to - from, false, 0, 0, nullptr, 0, 0, "x.zst"))
        got += r.value;
    }
    EXPECT_TRUE(got == text) << cut;
  }
}

TEST(CompressorTest, AFrameMayEndEarly) {
  const std::string text = SomeText(14, kZstdFrameBytes);
  for (const auto& [how, name] : {std::pair{Compression::kGzip, "x.gz"}, std::pair{Compression::kZstd, "x.zst"}}) {
    const auto compressor = MakeCompressor(how);
    std::string file;
    ASSERT_TRUE(compressor->Add("a,b\n", &file).ok() && compressor->EndFrame(&file).ok());
    const uint64_t header = file.size();
    ASSERT_TRUE(compressor->Add(text, &file).ok() && compressor->Finish(&file).ok());
    EXPECT_TRUE(ReadInSplits(file, name, {0, file.size() / 2, file.size()}, true) == "a,b\n" + text) << name;
    const std::string alone = file.substr(0, header);
    EXPECT_EQ(ReadSplit(alone, "text", 0, header, false, 0, 0, nullptr, 0, 0, name).size(), 1u) << name;
  }
}

TEST(CompressorTest, WhatComesOutDependsOnTheBytesAlone) {
  const std::string text = SomeText(13, kZstdFrameBytes + 99);
  for (const Compression how : {Compression::kGzip, Compression::kZstd}) {
    EXPECT_TRUE(Compressed(text, how, 1001) == Compressed(text, how, 1'000'000)) << Suffix(how);
  }
}

}  // namespace
}  // namespace mr::task
