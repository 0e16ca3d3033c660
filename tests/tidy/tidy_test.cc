// Rules about the text of the project: who may include whom, lengths, links, and that every file is
// built. A rule that nothing checks is broken within a month.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy/source_tree.h"

namespace mr::tidy {
namespace {

namespace fs = std::filesystem;

// A file past this asks to be split by topic.
constexpr size_t kMaxLines = 600;

const std::vector<SourceFile>& Tree() {
  static const std::vector<SourceFile> tree = SourceTree();
  return tree;
}

TEST(IncludeRuleTest, CatchesWhatItIsThereFor) {
  const auto wrong = [](const char* path, const char* name, bool system) {
    return !CheckIncludes(path, {{name, system}}).empty();
  };
  EXPECT_TRUE(wrong("master/sched/state/state.cc", "common/io/clock.h", false));
  EXPECT_TRUE(wrong("master/sched/state/state.cc", "master/host/loop.h", false));
  EXPECT_TRUE(wrong("master/sched/state/state.h", "unordered_map", true));
  EXPECT_TRUE(wrong("master/host/loop.cc", "worker/daemon/session.h", false));
  EXPECT_TRUE(wrong("master/host/loop.cc", "master/sim/simulator.h", false));
  EXPECT_TRUE(wrong("worker/daemon/session.cc", "master/sched/model.h", false));
  EXPECT_TRUE(wrong("common/io/files.cc", "dfs/client/client.h", false));
  EXPECT_TRUE(wrong("worker/daemon/session.cc", "gflags/gflags.h", true));
  EXPECT_TRUE(wrong("worker/host/pool.h", "asio.hpp", true));
  EXPECT_TRUE(wrong("worker/task/child.cc", "kj/async.h", true));
  EXPECT_TRUE(wrong("master/host/planner.cc", "curl/curl.h", true));
  EXPECT_TRUE(wrong("dfs/namespace.cc", "namespace.h", false));
  EXPECT_FALSE(wrong("worker/daemon/worker_main.cc", "gflags/gflags.h", true));
  EXPECT_FALSE(wrong("master/host/predictor.cc", "master/sim/simulator.h", false));
  EXPECT_FALSE(wrong("master/sched/state/state.cc", "common/base/ids.h", false));
  EXPECT_FALSE(wrong("tests/worker/x_test.cc", "worker/daemon/session.h", false));
}

TEST(IncludeRuleTest, ReadsBothForms) {
  const auto includes = IncludesOf("#pragma once\n#include <map>\n#include \"a/b.h\"  // why\nint x;\n");
  ASSERT_EQ(includes.size(), 2u);
  EXPECT_TRUE(includes[0].system);
  EXPECT_EQ(includes[1].name, "a/b.h");
}

TEST(TidyTest, EachFolderIncludesOnlyWhatItMay) {
  size_t seen = 0;
  for (const SourceFile& file : Tree()) {
    if (!IsCode(file)) continue;
    ++seen;
    EXPECT_EQ(CheckIncludes(file.path, IncludesOf(file.text)), "");
  }
  EXPECT_GT(seen, 50u) << "the source tree was not found at " << MR_SOURCE_DIR;
}

// Callbacks are implemented by clients and workers, and reached by the daemon they connected to alone.
TEST(TidyTest, EveryServiceChecksWhoCalls) {
  const std::regex server(R"(public\s+rpc::(\w+)::Server\b)");
  const std::set<std::string> callbacks = {"JobWatcher", "Worker", "Handle"};
  size_t guarded = 0;
  for (const SourceFile& file : Tree()) {
    if (!IsCode(file) || StartsWith(file.path, "tests/")) continue;
    for (const std::string& line : file.lines()) {
      std::smatch found;
      guarded += line.find("public rpc::Guarded<") != std::string::npos ? 1 : 0;
      if (!std::regex_search(line, found, server) || callbacks.contains(found[1])) continue;
      ADD_FAILURE() << file.path << ": a service of " << found[1] << " derives from rpc::Guarded<rpc::" << found[1]
                    << ">, which checks the roles of its callers";
    }
  }
  EXPECT_GE(guarded, 7u) << "the services were not found";
}

// By its links, too: of the master's targets the predictor alone has the simulator, and of that the
// predictor alone.
TEST(TidyTest, OnlyThePredictorLinksTheSimulator) {
  std::vector<std::string> found;
  for (const SourceFile& file : Tree()) {
    if (file.path != "master/host/CMakeLists.txt") continue;
    for (const std::string& line : file.lines()) {
      if (StartsWith(line, "#") || !std::regex_search(line, std::regex(R"(\bmr_(sim|predict)\b)"))) continue;
      found.push_back(line);
    }
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(
      std::regex_search(found[0], std::regex(R"(^target_link_libraries\(mr_predictor .*PRIVATE mr_predict\)$)")))
      << found[0];
}

TEST(TidyTest, NoFileIsTooLong) {
  for (const SourceFile& file : Tree()) {
    if (!IsCode(file)) continue;
    EXPECT_LE(file.lines().size(), kMaxLines) << file.path << ": split it by topic";
  }
}

// What clang-format cannot break (a long string, a name) is broken by hand.
TEST(TidyTest, NoLineIsTooLong) {
  constexpr size_t kMaxColumns = 120;
  for (const SourceFile& file : Tree()) {
    if (!IsCode(file)) continue;
    size_t number = 0;
    for (const std::string& line : file.lines()) {
      ++number;
      EXPECT_LE(line.size(), kMaxColumns) << file.path << ":" << number;
    }
  }
}

TEST(TidyTest, HeadersAreGuardedAndSayWhatTheyAre) {
  for (const SourceFile& file : Tree()) {
    if (!EndsWith(file.path, ".h")) continue;
    // The operator table is C for everybody's compiler, hence the other form of guard.
    const bool guarded = file.text.find("#pragma once") != std::string::npos ||
                         (StartsWith(file.path, "common/abi/") && file.text.find("#ifndef ") != std::string::npos);
    EXPECT_TRUE(guarded) << file.path << ": has no #pragma once";
    EXPECT_TRUE(StartsWith(file.text, "//") || StartsWith(file.text, "/*"))
        << file.path << ": begins without a comment that says what it is and for whom";
    EXPECT_EQ(file.text.find("\nusing namespace"), std::string::npos) << file.path;
  }
}

TEST(TidyTest, NothingIsLeftForLater) {
  const std::regex left(R"(\b(TODO|FIXME|XXX|HACK)\b)");
  for (const SourceFile& file : Tree()) {
    if (!IsCode(file) || StartsWith(file.path, "tests/tidy/")) continue;
    EXPECT_FALSE(std::regex_search(file.text, left)) << file.path;
  }
}

// Without this a file can rot for years beside those that are built.
TEST(TidyTest, EverySourceFileIsBuilt) {
  std::ifstream in(fs::path(MR_BUILD_DIR) / "compile_commands.json");
  if (!in) GTEST_SKIP() << "no compile_commands.json in " << MR_BUILD_DIR;
  std::stringstream text;
  text << in.rdbuf();
  // Grouped files (CMAKE_UNITY_BUILD) are named by the file that includes them.
  for (fs::recursive_directory_iterator it(MR_BUILD_DIR), end; it != end; ++it) {
    if (it->path().extension() != ".cxx") continue;
    text << std::ifstream(it->path()).rdbuf();
  }
  const std::string commands = text.str();
  for (const SourceFile& file : Tree()) {
    if (!EndsWith(file.path, ".cc")) continue;
    // A user's project, built outside by its own CMakeLists.txt.
    if (StartsWith(file.path, "jobs/sdk/templates/")) continue;
    EXPECT_NE(commands.find("/" + file.path + "\""), std::string::npos) << file.path << " is in no CMake target";
  }
}

bool Exists(const std::string& from, const std::string& target) {
  const fs::path root(MR_SOURCE_DIR);
  return fs::exists(root / fs::path(from).parent_path() / target) || fs::exists(root / target);
}

// Documents drift: what they link to and name must be in the tree.
TEST(TidyTest, WhatDocumentsNameExists) {
  const std::regex link(R"(\]\(([^)#\s]+)(#[^)]*)?\))");
  const std::regex name(R"(`((master|worker|common|dfs|jobs|tests|docker)/[A-Za-z0-9_./-]+)`)");
  for (const SourceFile& file : Tree()) {
    if (!EndsWith(file.path, ".md")) continue;
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), link), end; it != end; ++it) {
      const std::string target = (*it)[1];
      if (target.find("://") != std::string::npos || StartsWith(target, "mailto:")) continue;
      EXPECT_TRUE(Exists(file.path, target)) << file.path << " links to " << target;
    }
    for (std::sregex_iterator it(file.text.begin(), file.text.end(), name), end; it != end; ++it) {
      EXPECT_TRUE(Exists(file.path, (*it)[1])) << file.path << " names " << (*it)[1];
    }
  }
}

}  // namespace
}  // namespace mr::tidy
