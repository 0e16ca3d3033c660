// The program mrsim: two processes print the same, and its exit codes are the published ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace mr::sim {
namespace {

using testing::HasSubstr;

struct Answer {
  int exit = -1;
  std::string text;  // standard output and standard error
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
  for (const char* bin : {"\n1-10 ", "\n11-50 ", "\n501- ", "\nall ", "utilisation"})
    EXPECT_THAT(a.text, HasSubstr(bin));
}

TEST(MrsimTest, HelpOfAVerbIsTheSameEitherWay) {
  EXPECT_EQ(Mrsim("help").text, Mrsim("--help").text);
  EXPECT_EQ(Mrsim("help replay").text, Mrsim("replay --help").text);
  EXPECT_THAT(Mrsim("help run").text, HasSubstr("--workload"));
  EXPECT_EQ(Mrsim("help").exit, 0);
}

TEST(MrsimTest, ExitCodes) {
  EXPECT_EQ(Mrsim("").exit, 2);
  EXPECT_EQ(Mrsim("run").exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:facebook --cluster 3y4").exit, 2);
  // Reported before the journal is read, which does not exist either.
  for (const char* option : {"--write-model", "--write-history"}) {
    for (const char* path : {"/nowhere/there.toml", "/tmp"}) {
      const Answer a = Mrsim(std::string("replay /no/journal ") + option + " " + path);
      EXPECT_EQ(a.exit, 2) << option << path;
      EXPECT_NE(a.text.find(std::string(option) + ": "), std::string::npos) << a.text;
      EXPECT_NE(a.text.find("name a file that can be written"), std::string::npos) << a.text;
    }
  }
  EXPECT_EQ(Mrsim("run --workload generate:facebook --scheduler nosuch").exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:facebook --report-period 3").exit, 2);
  EXPECT_EQ(Mrsim("run --workload /nowhere/x.tsv").exit, 7);
  EXPECT_EQ(Mrsim("run --workload " MR_SIM).exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:bing --format bong").exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:facebook --cluster /nowhere/x.toml").exit, 7);
  EXPECT_EQ(Mrsim("run --grid --workload generate:facebook").exit, 2);
  EXPECT_EQ(Mrsim("run --grid /nowhere/x.toml").exit, 7);
  EXPECT_EQ(Mrsim("run --grid --cell nosuch").exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:facebook --cell x").exit, 2);
  EXPECT_EQ(Mrsim("--help").exit, 0);
  EXPECT_EQ(Mrsim("swarm --count 3 --seed 9").exit, 0);
}

TEST(MrsimTest, TheTrialWhetherAFileCanBeWrittenLeavesNothingAndRemovesNothing) {
  const std::string path = testing::TempDir() + "mrsim_trial";
  const auto replay = [&] { return Mrsim("replay /no/journal --write-history " + path).exit; };
  std::filesystem::remove(path + ".tmp");
  EXPECT_EQ(replay(), 7);
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  std::ofstream(path + ".tmp") << "the user's";
  EXPECT_EQ(replay(), 7);
  std::string left;
  std::getline(std::ifstream(path + ".tmp"), left);
  EXPECT_EQ(left, "the user's");
  std::filesystem::remove(path + ".tmp");
}

TEST(MrsimTest, ComparesListsOnTheSameLuck) {
  const std::string run = "run --workload generate:facebook,jobs=30 --cluster 10x4 --seed 5 -o json";
  const Answer alone = Mrsim(run), both = Mrsim(run + " --compare fifo 'fair,late(cap=0.2,gain=1.5)'"),
               again = Mrsim(run + " --compare fifo --compare 'fair,late(cap=0.2,gain=1.5)'");
  ASSERT_EQ(both.exit, 0) << both.text;
  EXPECT_EQ(both.text, again.text);
  EXPECT_THAT(both.text, HasSubstr("\"scheduler\":\"fair,late(cap=0.2,gain=1.5)\""));
  // The first list's numbers are those of its own run.
  EXPECT_THAT(both.text, HasSubstr(alone.text.substr(alone.text.find("\"digest\":"), 27)));
  EXPECT_THAT(both.text, HasSubstr(alone.text.substr(alone.text.find("\"failed_jobs\":"), 200)));
  for (const char* key : {"\"mean_s\":", "\"p50_ratio\":", "\"useful_slot_s\":", "\"wasted_slot_s\":",
                          "\"utilisation\":", "\"copies\":", "\"copies_won\":", "\"cross_rack_bytes\":"}) {
    EXPECT_THAT(both.text, HasSubstr(key));
  }
  const Answer table = Mrsim("run --workload generate:facebook,jobs=30 --cluster 10x4 --ablate fair,late --seeds 2");
  EXPECT_EQ(table.exit, 0);
  for (const char* part :
       {"(1)  fair,late\n(2)  without fair\n(3)  without late\n", "medians of 2 seeds", "LAUNCHED     WON"}) {
    EXPECT_THAT(table.text, HasSubstr(part));
  }
}

// A grid of one cell of 60 jobs: `lists`, and `workers` of two slots at `load` percent.
std::string SmallGrid(const std::string& lists, int load, int workers) {
  std::string path = testing::TempDir() + "mrsim_grid.toml";
  std::ofstream(path) << lists << "cells = [{ workload = \"g\", load = " << load << ", workers = " << workers
                      << ", task_seconds = 3, network = 125e6, disk = 1e9, reduces = 0, stragglers = \"s\", slots = 2, "
                         "jobs = 60 }]\n[workload.g]\nsource = \"generate:facebook\"\n[stragglers.s]\n";
  return path;
}

// Under fifo, small jobs wait for the large ones before them.
TEST(MrsimTest, AGridExitsWith1OnlyUnderCheckWhenACellFails) {
  const std::string path = SmallGrid("judged = \"fifo\"\nreferences = [\"fair\"]\n", 90, 2),
                    run = "run --grid " + path + " --seeds 4";
  const Answer plain = Mrsim(run), checked = Mrsim(run + " --check --no-progress -o json");
  std::remove(path.c_str());
  EXPECT_EQ(plain.exit, 0) << plain.text;
  EXPECT_THAT(plain.text, HasSubstr("1/1 cells, "));
  EXPECT_THAT(plain.text, HasSubstr("FAIL  g-load90-net1Gb-disk1000MB-reduces0-s-3s-2x2: load 90 %"));
  EXPECT_THAT(plain.text, HasSubstr("1 cells, 1 failed, 0 skipped"));
  EXPECT_EQ(checked.exit, 1);
  EXPECT_THAT(checked.text, testing::StartsWith("{\"version\":1,"));
}

// The judged list is the reference with a budget of .2.
TEST(MrsimTest, AGridComparesListsAtEqualSlotTime) {
  const std::string path = SmallGrid("judged = \"fair,dolly(beta=0.2,tau=1)\"\nreferences = [\"fair\"]\n", 30, 20),
                    run = "run --grid " + path + " --seeds 4 --no-progress -o json --against ";
  const Answer free = Mrsim(run + "fair"), fitted = Mrsim(run + "'fair,dolly(beta={budget},tau=1)'");
  EXPECT_EQ(Mrsim(run + "'fair,dolly(beta={budge})'").exit, 2);
  EXPECT_EQ(Mrsim("run --workload generate:facebook --against fair").exit, 2);
  std::remove(path.c_str());
  ASSERT_EQ(free.exit, 0) << free.text;
  ASSERT_EQ(fitted.exit, 0) << fitted.text;
  EXPECT_THAT(free.text, testing::Not(HasSubstr("slot_times")));
  EXPECT_THAT(free.text, testing::Not(HasSubstr("\"slot_time\":{\"ratio\":1,"))) << "else this shows nothing";
  const std::string key = "\"slot_times\":[{\"ratio\":";
  const size_t at = fitted.text.find(key);
  ASSERT_NE(at, std::string::npos) << fitted.text;
  EXPECT_NEAR(std::stod(fitted.text.substr(at + key.size())), 1, .005) << fitted.text;
}

TEST(MrsimTest, DrawsWhatItRan) {
  const std::string path = testing::TempDir() + "mrsim_plot.svg",
                    run = "run --workload generate:facebook,jobs=20 --cluster 10x4 --compare fifo fair";
  EXPECT_EQ(Mrsim(run + " --plot " + path + " --plot-job 3").exit, 0);
  std::FILE* file = std::fopen(path.c_str(), "r");
  ASSERT_NE(file, nullptr);
  std::string svg(1 << 20, 0);
  svg.resize(std::fread(svg.data(), 1, svg.size(), file));
  std::fclose(file);
  std::remove(path.c_str());
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("Slots of job 3: fair"));
}

TEST(MrsimTest, ComparingRefusesWhatItCannotDo) {
  const std::string run = "run --workload generate:facebook,jobs=20 --cluster 10x4 ";
  for (const char* bad :
       {"--compare fifo", "--compare fifo ' fifo'", "--compare fifo nosuch", "--compare fifo fair --scheduler late",
        "--compare fifo fair --ablate late", "--ablate fifo", "--ablate nosuch", "--ablate late --scheduler fifo",
        "--plot /nowhere/x.svg", "--plot /", "--plot-job 1", "--plot /tmp/x.svg --plot-job 21",
        "--plot /tmp/x.svg --plot-job 0", "--seeds 0", "--seed -1", "--seed 18446744073709551616"}) {
    const Answer a = Mrsim(run + bad);
    EXPECT_EQ(a.exit, 2) << bad;
    EXPECT_THAT(a.text, testing::StartsWith("mrsim: ")) << bad;
  }
  EXPECT_THAT(Mrsim(run + "--plot /nowhere/x.svg").text, HasSubstr("nothing has been run"));
  EXPECT_EQ(Mrsim("run --workload /nowhere/x.tsv --compare fifo fair").exit, 7);
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
  EXPECT_EQ(Mrsim("reproduce /no/such/study.toml").exit, 7);
  const std::string wrong = (std::filesystem::path(testing::TempDir()) / "wrong.toml").string();
  std::ofstream(wrong) << "name = \"wrong\"\ntitle = \"x\"\nfigure = []\nfigures = 1\n";
  const Answer refused = Mrsim("reproduce " + wrong);
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.text, HasSubstr(wrong + ":4: the study: unknown key 'figures'"));
}

TEST(MrsimTest, JsonOnFailureIsOneDocument) {
  const Answer a = Mrsim("run --workload /nowhere/x.tsv -o json");
  EXPECT_EQ(a.exit, 7);
  EXPECT_THAT(a.text, testing::StartsWith("{\"version\":1,\"error\":{\"code\":\"not_found\""));
  EXPECT_EQ(a.text.find('\n'), a.text.size() - 1);
}

}  // namespace
}  // namespace mr::sim
