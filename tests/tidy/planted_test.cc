// The patches of tests/planted are applied in `./dev test --all` only. Nobody sees there in time that one does not fit
// the code any more.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "common/io/files.h"

namespace mr::tidy {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = MR_SOURCE_DIR;

// Returns what is wrong with a patch: a hunk whose old lines are not in the file. Empty: nothing.
std::string OutOfDate(const std::string& patch) {
  std::istringstream lines(patch);
  std::string file, before, wrong;
  size_t hunks = 0;
  const auto check = [&] {
    if (before.empty()) return;
    ++hunks;
    const auto text = ReadFile(kSource / file);
    if (!text.ok() || text->find(before) == std::string::npos) wrong += file + " has no lines\n" + before;
    before.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("--- a/")) {
      check();
      file = line.substr(6);
    } else if (line.starts_with("@@") || line.starts_with("diff ")) {
      check();
    } else if (!file.empty() && (line.starts_with(" ") || (line.starts_with("-") && !line.starts_with("--- ")))) {
      before += line.substr(1) + "\n";
    }
  }
  check();
  return hunks == 0 ? "it has no hunk" : wrong;
}

TEST(PlantedTest, APatchOfLinesThatAreGoneIsFound) {
  const std::string head = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n";
  EXPECT_NE(OutOfDate(head + "-no such line\n+another\n"), "");
  EXPECT_NE(OutOfDate(head), "");
  EXPECT_EQ(OutOfDate(head + "-# Paceline\n+another\n"), "");
}

TEST(PlantedTest, EachPatchFitsTheCode) {
  size_t patches = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "tests/planted")) {
    if (entry.path().extension() != ".patch") continue;
    ++patches;
    const auto patch = ReadFile(entry.path());
    ASSERT_TRUE(patch.ok());
    EXPECT_EQ(OutOfDate(*patch), "") << entry.path().filename();
  }
  EXPECT_GT(patches, 0u);
}

}  // namespace
}  // namespace mr::tidy
