#include "tests/support/answers.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "common/io/files.h"

namespace mr::test {

std::string Shell(const std::string& script, Duration limit) {
  const RunResult run = RunProgram({"/bin/bash", "-c", "set -eo pipefail; export LC_ALL=C; " + script}, limit);
  EXPECT_EQ(run.exit, 0) << script << "\n" << run.err;
  return run.out;
}

void WriteBible(const std::string& path, uint64_t max_bytes) {
  std::string cut = max_bytes == 0 ? "" : " | head -c " + std::to_string(max_bytes) + " | sed '$d'";
  // head closes the pipe early, which is no failure here.
  Shell("set +o pipefail; bible -f gen1:1-rev22:21" + cut + " > '" + path + "'");
}

std::string ReadParts(const std::string& directory) {
  const auto names = ListDirectory(directory);
  EXPECT_TRUE(names.ok()) << names.status().ToString();
  if (!names.ok()) return "";
  EXPECT_TRUE(PathExists(directory + "/_SUCCESS"));
  std::string all;
  for (const std::string& name : *names) {
    if (name[0] == '_' || name[0] == '.') continue;
    EXPECT_EQ(name.rfind("part-", 0), 0u) << name;
    all += *ReadFile(directory + "/" + name);
  }
  return all;
}

std::string SortedLines(const std::string& text) {
  std::vector<std::string_view> lines;
  for (size_t from = 0; from < text.size();) {
    size_t end = text.find('\n', from);
    if (end == std::string::npos) end = text.size() - 1;
    lines.push_back(std::string_view(text).substr(from, end + 1 - from));
    from = end + 1;
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  out.reserve(text.size());
  for (std::string_view line : lines) out += line;
  return out;
}

std::string ExpectedWordCount(const std::string& input) {
  return SortedLines(Shell("tr -s ' \\t\\n\\v\\f\\r' '\\n' < '" + input +
                           "' | grep -v '^$' | sort | uniq -c | awk '{print $2 \"\\t\" $1}'"));
}

std::string OutputDigest(const std::string& directory) {
  const auto text = ReadFile(directory + "/_SUCCESS");
  EXPECT_TRUE(text.ok()) << text.status().ToString();
  if (!text.ok()) return "";
  const size_t at = text->find("\"digest\"");
  EXPECT_NE(at, std::string::npos) << *text;
  return at == std::string::npos ? "" : text->substr(text->find(':', at) + 1, 36);
}

void WriteWords(const std::string& path, uint64_t lines, uint64_t seed) {
  Rng rng(seed);
  std::string text;
  for (uint64_t i = 0; i < lines; ++i) {
    const uint64_t words = 1 + rng.Below(12);
    for (uint64_t w = 0; w < words; ++w) {
      // The square of a uniform draw favours small ranks: many repeats and a long tail.
      const double u = rng.Uniform();
      const uint64_t rank = static_cast<uint64_t>(u * u * 50000);
      if (w > 0) text += ' ';
      text += "w" + std::to_string(Hash64(std::to_string(rank)) % 1000000007);
    }
    text += '\n';
  }
  const auto fd = OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC);
  ASSERT_TRUE(fd.ok()) << fd.status().ToString();
  ASSERT_TRUE(WriteAll(fd->get(), text).ok());
}

}  // namespace mr::test
