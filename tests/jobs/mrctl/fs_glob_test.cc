#include "jobs/mrctl/fs_glob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

using ::testing::ElementsAre;

// Directories and their entries; a name that ends with '/' is a directory.
const std::map<std::string, std::vector<std::string>> kTree = {
    {"/", {"data/", "data2/", "logs/"}},
    {"/data", {"part-00001", "part-00000", "_SUCCESS", ".hidden", "a*b", "sub/"}},
    {"/data2", {"part-00000"}},
    {"/data/sub", {"x", "part-9"}},
    {"/logs", {}},
};

GlobStore TreeStore(int* lists = nullptr) {
  GlobStore store;
  store.list = [lists](const std::string& directory) -> Result<std::vector<GlobEntry>> {
    if (lists != nullptr) ++*lists;
    const auto at = kTree.find(directory);
    if (at == kTree.end()) return NotFound(directory);
    std::vector<GlobEntry> entries;
    for (std::string name : at->second) {
      const bool is_directory = name.ends_with('/');
      if (is_directory) name.pop_back();
      entries.push_back({(directory == "/" ? "" : directory) + "/" + name, is_directory});
    }
    return entries;
  };
  store.exists = [](const std::string& path) -> Result<bool> {
    const size_t slash = path.rfind('/');
    const auto at = kTree.find(slash == 0 ? "/" : path.substr(0, slash));
    if (at == kTree.end()) return false;
    const std::string name = path.substr(slash + 1);
    return std::any_of(at->second.begin(), at->second.end(),
                       [&](const auto& n) { return n == name || n == name + "/"; });
  };
  return store;
}

std::vector<std::string> Globbed(const std::string& path) {
  const auto found = ExpandGlob(path, TreeStore());
  EXPECT_TRUE(found.ok()) << found.status().ToString();
  return found.ok() ? *found : std::vector<std::string>{};
}

TEST(FsGlobTest, MatchesWithinOneNameAndSorts) {
  EXPECT_THAT(Globbed("/data/part-*"), ElementsAre("/data/part-00000", "/data/part-00001"));
  EXPECT_THAT(Globbed("/data*/part-0000[0-4]"),
              ElementsAre("/data/part-00000", "/data/part-00001", "/data2/part-00000"));
  EXPECT_THAT(Globbed("/*/sub/x"), ElementsAre("/data/sub/x"));
  EXPECT_THAT(Globbed("/data?"), ElementsAre("/data2"));
}

TEST(FsGlobTest, NamesWithADotAreMatchedByADotOnly) {
  EXPECT_THAT(Globbed("/data/*"),
              ElementsAre("/data/_SUCCESS", "/data/a*b", "/data/part-00000", "/data/part-00001", "/data/sub"));
  EXPECT_THAT(Globbed("/data/.h*"), ElementsAre("/data/.hidden"));
}

TEST(FsGlobTest, ANameThatExistsIsNoPattern) {
  EXPECT_THAT(Globbed("/data/a*b"), ElementsAre("/data/a*b"));
  EXPECT_THAT(Globbed("/data/a\\*b*"), ElementsAre("/data/a*b"));
}

TEST(FsGlobTest, AsksNothingForAPlainPath) {
  int lists = 0;
  EXPECT_THAT(ExpandGlob("/no/such", TreeStore(&lists)).value(), ElementsAre("/no/such"));
  EXPECT_EQ(lists, 0);
}

TEST(FsGlobTest, NothingThatMatchesIsNotFound) {
  for (const char* path : {"/data/x*", "/none/*", "/logs/*", "/data/part-*/x"}) {
    const Failure failure = ToFailure(ExpandGlob(path, TreeStore()).status());
    EXPECT_EQ(failure.exit, kExitNotFound) << path;
    EXPECT_NE(failure.hint, "") << path;
  }
}

}  // namespace
}  // namespace mr::ctl
