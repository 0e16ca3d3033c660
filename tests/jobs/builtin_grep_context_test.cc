// grep -A -B -C: equal to GNU grep, wherever splits, tasks and blocks end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "common/base/rng.h"
#include "jobs/builtin/grep_context.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::HasSubstr;
using File = std::pair<std::string, std::string>;

std::string GrepFiles(const std::vector<std::string>& args, const std::vector<File>& files, const LocalOptions& shape) {
  LocalJob job(Builtins(), shape);
  for (const auto& [name, text] : files) job.Input(name, text);
  const LocalResult result = job.Run("grep", args);
  EXPECT_TRUE(result.ok) << result.error;
  return result.Output();
}

// A directory with the files, for GNU grep.
class GnuGrep {
 public:
  explicit GnuGrep(std::vector<File> files) : files_(std::move(files)) {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    for (const auto& [name, text] : files_) std::ofstream(directory_ + "/" + name, std::ios::binary) << text;
  }
  ~GnuGrep() {
    for (const auto& [name, text] : files_) unlink((directory_ + "/" + name).c_str());
    rmdir(directory_.c_str());
  }

  // -a: lines with zeros are text; -h unless -H is given: several files alone print no names.
  std::string Run(const std::vector<std::string>& args) const {
    std::string command = "cd " + directory_ + " && LC_ALL=C grep -a -h -E";
    for (const std::string& arg : args) command += " '" + arg + "'";
    for (const auto& [name, text] : files_) command += " " + name;
    std::FILE* const out = popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> piece;
    for (size_t n; (n = std::fread(piece.data(), 1, piece.size(), out)) > 0;) text.append(piece.data(), n);
    pclose(out);
    return text;
  }

 private:
  std::string directory_ = testing::TempDir() + "grep_context.XXXXXX";
  std::vector<File> files_;
};

// Lines of a, b and x, in which 'x' is as rare as the test wishes.
std::string RandomText(Rng& rng, uint64_t lines, uint64_t rarity) {
  std::string text;
  for (uint64_t i = 0; i < lines; ++i) {
    for (uint64_t n = rng.Below(5); n > 0; --n) text += "ab-:"[rng.Below(4)];
    if (rng.Below(rarity) == 0) text += 'x';
    text += '\n';
  }
  if (!text.empty() && rng.Below(3) == 0) text.pop_back();
  return text;
}

TEST(GrepContextTest, EqualsGnuGrepOnRandomFilesInAnySplits) {
  if (access("/bin/grep", X_OK) != 0) GTEST_SKIP() << "there is no GNU grep";
  Rng rng(28);
  for (int round = 0; round < 25; ++round) {
    std::vector<File> files;
    for (const char* name : {"one", "two", "three"}) {
      if (!files.empty() && rng.Below(2) == 0) continue;
      files.emplace_back(name, RandomText(rng, rng.Below(60), 1 + rng.Below(25)));
    }
    const GnuGrep gnu(files);
    for (int way = 0; way < 4; ++way) {
      std::vector<std::string> args;
      for (const char* option : {"-A", "-B", "-C"}) {
        if (rng.Below(2) == 0) args.insert(args.end(), {option, std::to_string(rng.Below(rng.Below(2) == 0 ? 3 : 30))});
      }
      if (args.empty()) args = {"-C1"};
      for (const char* option : {"-n", "-H", "-v", "-i"}) {
        if (rng.Below(3) == 0) args.emplace_back(option);
      }
      args.insert(args.end(), {"-e", rng.Below(8) == 0 ? "^$" : "x"});
      const std::string expected = gnu.Run(args);
      for (const LocalOptions& shape : Shapes()) {
        ASSERT_EQ(GrepFiles(args, files, shape), expected)
            << "round " << round << ", " << testing::PrintToString(args) << ", splits of " << shape.split_bytes
            << ", files " << testing::PrintToString(files);
      }
    }
  }
}

TEST(GrepContextTest, GroupsAreSeparatedAsAsked) {
  const std::vector<File> files = {{"in", "x\na\nb\nx\nc\nd\ne\nx\n"}};
  EXPECT_EQ(GrepFiles({"-C", "1", "x"}, files, {}), "x\na\nb\nx\nc\n--\ne\nx\n");
  EXPECT_EQ(GrepFiles({"-A0", "x"}, files, {}), "x\n--\nx\n--\nx\n");
  EXPECT_EQ(GrepFiles({"-A0", "--no-group-separator", "x"}, files, {}), "x\nx\nx\n");
  EXPECT_EQ(GrepFiles({"-A0", "--group-separator", "", "x"}, files, {}), "x\n\nx\n\nx\n");
  EXPECT_EQ(GrepFiles({"-nB1", "x"}, files, {}), "1:x\n--\n3-b\n4:x\n--\n7-e\n8:x\n");
  EXPECT_EQ(GrepFiles({"-c", "-C2", "x"}, files, {}), "3\n") << "a count has no context";
  EXPECT_THAT(PlanRefusal("grep", {"-A", "-1", "x"}), HasSubstr("-A -1 is out of range"));
}

TEST(GrepContextTest, AFileThatIsReadTwiceBeginsAgain) {
  const std::string text = "x\na\nb\n";
  for (const uint32_t splits_per_task : {1u, 4u}) {
    const LocalOptions shape = {.split_bytes = 3, .splits_per_task = splits_per_task};
    EXPECT_EQ(GrepFiles({"-nA1", "x"}, {{"in", text}, {"in", text}}, shape), "1:x\n2-a\n--\n1:x\n2-a\n");
  }
}

// Without a bound, -B of a huge number would hold the whole file.
TEST(GrepContextTest, LinesBeforeAMatchAreRefusedAbove64MiB) {
  LocalJob job(Builtins(), {.split_bytes = 1u << 30, .block_bytes = 1u << 20});
  std::string text;
  while (text.size() < (66u << 20)) text.append(1u << 16, 'a').push_back('\n');
  job.Input("in", text + "x\n");
  const LocalResult result = job.Run("grep", {"-B", "1000000", "x"});
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.error, HasSubstr("above 64 MiB; give a smaller -B or -C"));
  EXPECT_EQ(job.Run("grep", {"-B1", "-n", "b|x"}).Output().size(), (1u << 16) + 13);
}

TEST(GrepRunTest, DistancesCrossRunsButNotFiles) {
  // offset, lines, any, before its first selected line, after its last one
  const std::vector<std::pair<GrepPlace, GrepBorder>> borders = {
      {{2, 0}, {0, 4, 0, 0, 4}}, {{0, 0}, {0, 10, 1, 3, 2}}, {{1, 1}, {90, 6, 1, 1, 4}}, {{1, 0}, {50, 5, 0, 0, 5}}};
  const std::vector<GrepRun> runs = RunsOfTask(borders, 1);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].lines_before, 10u);
  EXPECT_EQ(runs[0].since, 2u);
  EXPECT_EQ(runs[0].until, 1u);
  EXPECT_EQ(runs[0].until_inside, 6u);
  EXPECT_TRUE(runs[0].output_before);
  EXPECT_EQ(runs[1].since, 7u);
  EXPECT_EQ(runs[1].until, GrepRun::kNever) << "the next run is of another file";
  EXPECT_EQ(RunsOfTask(borders, 2)[0].since, GrepRun::kNever);
  EXPECT_FALSE(RunsOfTask(borders, 0)[0].output_before);
}

}  // namespace
}  // namespace mr::builtin
