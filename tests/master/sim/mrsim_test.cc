// The program itself: two processes say the same, and its exit codes are those published.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace mr::sim {
namespace {

using testing::HasSubstr;

struct Answer {
  int exit = -1;
  std::string text;  // of standard output and standard error
};

Answer Mrsim(const std::string& args) {
  std::FILE* pipe = popen((std::string(MR_SIM) + " " + args + " 2>&1").c_str(), "r");
  Answer answer;
  std::array<char, 4096> buffer;
  for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) answer.text.append(buffer.data(), n);
  const int status = pclose(pipe);
  answer.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

TEST(MrsimTest, TwoProcessesComeToTheSameDigest) {
  const std::string run = "run --workload generate:facebook,jobs=60 --cluster 20x4 -o json --seed ";
  const Answer a = Mrsim(run + "5"), b = Mrsim(run + "5"), other = Mrsim(run + "6");
  EXPECT_EQ(a.exit, 0) << a.text;
  EXPECT_THAT(a.text, HasSubstr("\"digest\":\""));
  EXPECT_EQ(a.text, b.text);
  EXPECT_NE(a.text, other.text);
}

TEST(MrsimTest, TableHasABinPerLine) {
  const Answer a = Mrsim("run --workload generate:bing,jobs=20 --cluster 10x4");
  EXPECT_EQ(a.exit, 0);
  for (const char* bin : {"\n1-10 ", "\n11-50 ", "\n501- ", "\nall ", "utilisation"}) EXPECT_THAT(a.text, HasSubstr(bin));
}

TEST(MrsimTest, ExitCodes) {
  EXPECT_EQ(Mrsim("").exit, 2);
  EXPECT_EQ(Mrsim("run").exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:facebook --cluster 3y4").exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:facebook --scheduler nosuch").exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:facebook --report-period 3").exit, 2);
  EXPECT_EQ(Mrsim("run --workload /nowhere/x.tsv").exit, 7);
  EXPECT_EQ(Mrsim("run --workload " MR_SIM).exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:bing --format bong").exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:facebook --cluster /nowhere/x.toml").exit, 7);
  EXPECT_EQ(Mrsim("--help").exit, 0);
  EXPECT_EQ(Mrsim("swarm --count 3 --seed 9").exit, 0);
}

TEST(MrsimTest, ReproducesAFigure) {
  const Answer table = Mrsim("reproduce late:fig11 --seeds 1"), json = Mrsim("reproduce late:fig11 --seeds 1 -o json");
  EXPECT_EQ(table.exit, 0);
  for (const char* part : {"PARAMETERS", "slow_task=0.25", "OURS", " met"}) EXPECT_THAT(table.text, HasSubstr(part));
  EXPECT_THAT(json.text, testing::StartsWith("{\"version\":1,\"study\":\"late\""));
  EXPECT_EQ(json.text.find('\n'), json.text.size() - 1);
  EXPECT_EQ(Mrsim("reproduce late:fig11 --seeds 1 --check").exit, 0);
  EXPECT_EQ(Mrsim("reproduce late:fig99").exit, 2);
  EXPECT_EQ(Mrsim("reproduce nosuch").exit, 2);
  EXPECT_EQ(Mrsim("reproduce").exit, 2);
}

TEST(MrsimTest, JsonOnFailureIsOneDocument) {
  const Answer a = Mrsim("run --workload /nowhere/x.tsv -o json");
  EXPECT_EQ(a.exit, 7);
  EXPECT_THAT(a.text, testing::StartsWith("{\"version\":1,\"error\":{\"code\":\"not_found\""));
  EXPECT_EQ(a.text.find('\n'), a.text.size() - 1);
}

}  // namespace
}  // namespace mr::sim
