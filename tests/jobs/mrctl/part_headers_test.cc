// Where the rows of the parts of an output begin.
#include "jobs/mrctl/part_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/compressed.h"

namespace mr::ctl {
namespace {

using test::Gzip;
using test::Zstd;
using testing::HasSubstr;

constexpr char kSuccess[] = R"({"version": 1, "header": "csv", "parts": []})";

PartHeaders::Head HeadOf(const std::string& file) {
  return [file](uint64_t bytes) -> Result<std::string> { return file.substr(0, bytes); };
}

// The bytes to skip in the second of two such parts.
Result<uint64_t> SkipInSecond(const std::string& file, const std::string& suffix = "",
                              const std::string& success = kSuccess) {
  PartHeaders headers(success);
  EXPECT_EQ(headers.BytesToSkip("part-r-00000" + suffix, HeadOf(file)).value(), 0u);
  return headers.BytesToSkip("part-r-00001" + suffix, HeadOf(file));
}

TEST(PartHeadersTest, TheFirstIsKeptAndOthersAreLeftOut) {
  EXPECT_EQ(SkipInSecond("a,b\n1,2\n").value(), 4u);
  EXPECT_EQ(SkipInSecond("a,b\n").value(), 4u) << "a part without rows";
  EXPECT_EQ(SkipInSecond("\"a\nb\",c\n1,2\n").value(), 8u) << "a name with a newline";
  EXPECT_EQ(SkipInSecond("'a\nb';c\n1;2\n", "", R"x({"header": "csv(;,')"})x").value(), 8u);
  const std::string wide = std::string(100'000, 'x') + "\n";
  EXPECT_EQ(SkipInSecond(wide + "1\n").value(), wide.size()) << "longer than the first bytes that are read";
}

TEST(PartHeadersTest, CompressedPartsHaveTheHeaderInAFrameOfItsOwn) {
  const std::string wide = std::string(100'000, 'x') + "\n";
  for (const std::string& header : {std::string("a,b\n"), wide}) {
    EXPECT_EQ(SkipInSecond(Zstd(header) + Zstd("1,2\n"), ".zst").value(), Zstd(header).size());
    EXPECT_EQ(SkipInSecond(Gzip(header) + Gzip("1,2\n"), ".gz").value(), Gzip(header).size());
  }
  const std::string halves = Zstd("\"a\nb") + Zstd("c\"\n");
  EXPECT_EQ(SkipInSecond(halves + Zstd("1\n"), ".zst").value(), halves.size());
}

TEST(PartHeadersTest, FilesThatDoNotBeginWithOneAreNamed) {
  for (const auto& [file, suffix] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"a,b", ""},
                                                        {"\"a,b\n", ""},
                                                        {Zstd("a,b\n1,2\n"), ".zst"},
                                                        {"a,b\n", ".zst"},
                                                        {"a,b\n", ".gz"},
                                                        {Gzip("a,b\n").substr(0, 12), ".gz"}}) {
    const auto skip = SkipInSecond(file, suffix);
    EXPECT_EQ(skip.status().code(), Code::kCorrupted) << file;
    EXPECT_THAT(skip.status().message(), HasSubstr("part-r-00001" + suffix + " does not begin with a header"));
  }
}

TEST(PartHeadersTest, NothingIsLeftOutOfOtherFilesAndWithoutTheWordOfSuccess) {
  for (const std::string success : {"", "{}", R"({"header": ""})", R"({"header": 7})", R"({"header": "text"})",
                                    R"(["header"])", "\"header\"", "{\"header\": \"csv\"", "header"}) {
    EXPECT_EQ(SkipInSecond("a,b\n1,2\n", "", success).value(), 0u) << success;
  }
  PartHeaders headers(kSuccess);
  for (const std::string name : {"part-r-00000", "errors-r-00000", "errors-r-00001", "README"}) {
    EXPECT_EQ(headers.BytesToSkip(name, HeadOf("a,b\n")).value(), 0u) << name;
  }
}

TEST(PartHeadersTest, AnErrorOfTheReaderIsHandedOn) {
  PartHeaders headers(kSuccess);
  const auto broken = [](uint64_t) -> Result<std::string> { return Unavailable("no worker"); };
  EXPECT_TRUE(headers.BytesToSkip("part-r-00000", broken).ok());
  EXPECT_EQ(headers.BytesToSkip("part-r-00001", broken).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace mr::ctl
