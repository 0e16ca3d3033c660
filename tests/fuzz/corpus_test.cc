// Runs each target of the fuzzer over its seeds and its corpus. A crash that was found is a file of the corpus.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace mr::fuzz {
namespace {

class CorpusTest : public ::testing::TestWithParam<const Target*> {};

std::vector<std::filesystem::path> FilesOf(const Target& target) {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path directory = std::filesystem::path(MR_CORPUS) / target.name;
  if (!std::filesystem::exists(directory)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

TEST_P(CorpusTest, EveryInputIsTakenOrRefused) {
  for (const auto& path : FilesOf(*GetParam())) {
    SCOPED_TRACE(path.string());
    std::ifstream file(path, std::ios::binary);
    GetParam()->run(std::string(std::istreambuf_iterator<char>(file), {}));
  }
}

TEST_P(CorpusTest, SeedsAreTakenWholeCutAndWithAnyByteChanged) {
  const auto seeds = GetParam()->seeds();
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) {
    GetParam()->run(seed);
    // At most 32 places: together all places of short seeds, and a sample of those of long ones.
    const size_t step = seed.size() / 32 + 1;
    for (size_t at = 0; at < seed.size(); at += step) {
      GetParam()->run(std::string_view(seed).substr(0, at));
      std::string changed = seed;
      changed[at] = static_cast<char>(~changed[at]);
      GetParam()->run(changed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, CorpusTest,
                         ::testing::Values(&kEntry, &kMessages, &kPackets, &kCredentials, &kJobFiles, &kTimes,
                                           &kExpressions),
                         [](const auto& target) { return std::string(target.param->name); });

}  // namespace
}  // namespace mr::fuzz
