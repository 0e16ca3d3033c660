#include "jobs/mrctl/fs_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/compressed.h"

namespace mr::ctl {
namespace {

using test::Gzip;
using test::Zstd;
using ::testing::HasSubstr;

// The text of a file that is read in pieces of this size.
Result<std::string> TextOf(const std::string& bytes, Compression compression, size_t piece) {
  std::string text;
  Status done = WriteDecompressed(
      "/x", compression,
      [&](uint64_t at) -> Result<std::string> { return bytes.substr(std::min<size_t>(at, bytes.size()), piece); },
      [&](std::string_view raw) {
        text += raw;
        return Status::Ok();
      });
  if (!done.ok()) return done;
  return text;
}

const std::string& Long() {
  static const std::string text = [] {
    std::string t;
    for (int i = 0; i < 400'000; ++i) t += "line " + std::to_string(i * 7919 % 100'000) + "\n";
    return t;
  }();
  return text;
}

TEST(FsTextTest, DecompressesFramesAndMembersInPiecesOfAnySize) {
  for (const size_t piece : {size_t{1000}, size_t{4} << 20}) {
    EXPECT_EQ(TextOf(Zstd(Long()), Compression::kZstd, piece).value(), Long());
    EXPECT_EQ(TextOf(Gzip(Long()), Compression::kGzip, piece).value(), Long());
  }
  for (const size_t piece : {1, 7, 100}) {
    EXPECT_EQ(TextOf(Zstd("one\n") + Zstd("two\n"), Compression::kZstd, piece).value(), "one\ntwo\n");
    EXPECT_EQ(
        TextOf(Gzip("one\n") + Gzip("") + Gzip("two\n") + std::string(9, '\0'), Compression::kGzip, piece).value(),
        "one\ntwo\n");
    EXPECT_EQ(TextOf("as it is", Compression::kNone, piece).value(), "as it is");
  }
  // Much output from few bytes.
  const std::string zeros(9u << 20, '0');
  EXPECT_EQ(TextOf(Zstd(zeros), Compression::kZstd, 4u << 20).value(), zeros);
  EXPECT_EQ(TextOf(Gzip(zeros), Compression::kGzip, 4u << 20).value(), zeros);
}

TEST(FsTextTest, DamagedAndCutDataAreErrorsWithTheirPlace) {
  for (const auto& [bytes, compression] :
       {std::pair{Zstd(Long()), Compression::kZstd}, {Gzip(Long()), Compression::kGzip}}) {
    EXPECT_THAT(TextOf(bytes.substr(0, bytes.size() / 2), compression, 1000).status().message(),
                HasSubstr("it ends too early"));
    EXPECT_THAT(TextOf("nothing of the kind", compression, 1000).status().message(), HasSubstr("/x, byte "));
  }
}

TEST(FsTextTest, AWriterThatFailsEndsIt) {
  Status done = WriteDecompressed(
      "/x", Compression::kNone, [](uint64_t) -> Result<std::string> { return std::string("endless"); },
      [](std::string_view) { return Unavailable("the reader left"); });
  EXPECT_EQ(done.code(), Code::kUnavailable);
}

}  // namespace
}  // namespace mr::ctl
