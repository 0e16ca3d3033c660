// The SDK as a developer meets it: a new project, its check, its jobs; libraries that are bad.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cluster/sdk_project.h"
#include "tests/support/answers.h"

namespace mr::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Library(const std::string& name) { return BinaryDirectory() + "/../lib/lib" + name + ".so"; }

TEST_F(SdkTest, ANewProjectBuildsPassesItsTestAndRunsBesideBuiltInJobs) {
  const RunResult made = Mrctl({"sdk", "new", "word_stats"});
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("word_stats/word_stats_test.cc\n"));
  ASSERT_EQ(BuildProject(directory_ / "word_stats"), "");
  const std::string library = "word_stats/build/libword_stats.so";

  const RunResult check = Mrctl({"-o", "json", "sdk", "check", library});
  ASSERT_EQ(check.exit, 0) << check.out << check.err;
  const json report = json::parse(check.out);
  EXPECT_EQ(report["library"]["problems"], json::array());
  EXPECT_EQ(report["library"]["abi"], 1);
  EXPECT_EQ(report["library"]["jobs"][0]["id"], "word_stats");
  EXPECT_EQ(report["library"]["operators"][0]["flags"], "deterministic reusable associative");
  EXPECT_FALSE(report["library"]["needs"].empty());
  EXPECT_THAT(Mrctl({"sdk", "check", library}).out, AllOf(HasSubstr("word_stats.read"), HasSubstr("GLIBC_")));

  Write("log", "www.b.org /x 5\na.org / 100\nnonsense\na.org /y 11\nb.org / 7\n");
  const RunResult run = Mrctl({"-q", "submit", "--local", "--lib", library, "word_stats", "--input", "log"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(SortedLines(run.out), "a.org\t2\t111\nb.org\t1\t7\nwww.b.org\t1\t5\n");

  // Its job between two built-in ones; and its operators as steps, which read each other by keys.
  Write("chain.toml", "lib = '" + library +
                          "'\ninput = 'log'\n[[step]]\njob = 'grep'\nargs = ['-e', 'org']\n"
                          "[[step]]\njob = 'word_stats'\n[[step]]\njob = 'sort'\nargs = ['-r']\n");
  const RunResult chain = Mrctl({"-q", "submit", "--local", "chain.toml"});
  EXPECT_EQ(chain.exit, 0) << chain.err;
  EXPECT_EQ(chain.out, "www.b.org\t1\t5\nb.org\t1\t7\na.org\t2\t111\n");
  Write("operators.toml",
        "lib = '" + library +
            "'\n[[step]]\nname = 'read'\noperator = 'word_stats.read'\ninput = 'log'\ncombine = true\n"
            "custom_partition = true\n[[step]]\noperator = 'word_stats.write'\nedge = 'group'\ntasks = 3\n"
            "[[step]]\njob = 'sort'\n");
  const RunResult operators = Mrctl({"-q", "submit", "--local", "operators.toml"});
  EXPECT_EQ(operators.exit, 0) << operators.err;
  EXPECT_EQ(operators.out, "a.org\t2\t111\nb.org\t1\t7\nwww.b.org\t1\t5\n");
}

TEST_F(SdkTest, ANewProjectOverwritesNothing) {
  EXPECT_EQ(Mrctl({"sdk", "new", "twice"}).exit, 0);
  const RunResult again = Mrctl({"sdk", "new", "twice"});
  EXPECT_EQ(again.exit, 3);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
  const RunResult named = Mrctl({"-o", "json", "sdk", "new", "twice", "elsewhere"});
  EXPECT_EQ(named.exit, 0);
  EXPECT_EQ(json::parse(named.out)["project"]["files"].size(), 4u);
  EXPECT_EQ(Mrctl({"sdk", "new", "Bad-Name"}).exit, 2);
  const RunResult unknown = Mrctl({"sdk", "new", "--template", "tree", "other"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no project template 'tree'"), HasSubstr("map, join, dag")));
}

TEST_F(SdkTest, EachBadLibraryIsToldWhy) {
  const auto why = [&](const std::string& path) {
    const RunResult run = Mrctl({"sdk", "check", path});
    EXPECT_EQ(run.exit, 2) << path << run.out << run.err;
    const RunResult as_json = Mrctl({"-o", "json", "sdk", "check", path});
    EXPECT_EQ(as_json.exit, 2);
    EXPECT_TRUE(json::parse(as_json.out).contains("error")) << as_json.out;
    return run.err;
  };
  EXPECT_THAT(why(Library("throws_at_load")), HasSubstr("no licence"));
  EXPECT_THAT(why(Library("wrong_abi")), HasSubstr("ABI"));
  EXPECT_THAT(why(Library("no_symbol")), HasSubstr("does not export mr_library_table()"));
  EXPECT_THAT(why(Library("undefined")), HasSubstr("a_symbol_that_nobody_has"));
  EXPECT_THAT(why(Library("clashes")),
              HasSubstr("exports crc32, which libz.so.1 in the process of mrtask exports, too"));
  EXPECT_THAT(why(BinaryDirectory() + "/mrtask"), HasSubstr("is a program"));
  Write("text.so", "not a library\n");
  EXPECT_THAT(why("text.so"), HasSubstr("is no ELF file"));
  // A changed copy of the library needs a glibc that does not exist yet, and another one is for another machine.
  std::string bytes = *ReadFile(Library("paceline_jobs"));
  std::string newer = bytes;
  // The first one with two digits, whichever the library needs.
  size_t at = newer.find("GLIBC_2.");
  while (at != std::string::npos && newer[at + 10] != '\0') at = newer.find("GLIBC_2.", at + 1);
  ASSERT_NE(at, std::string::npos);
  newer.replace(at, 10, "GLIBC_9.99");
  Write("newer.so", newer);
  EXPECT_THAT(why("newer.so"),
              AllOf(HasSubstr("needs GLIBC_9.99 (lib"), HasSubstr(".so.6), this machine has GLIBC_2.")));
  bytes[18] = static_cast<char>(0xf3);
  Write("riscv.so", bytes);
  EXPECT_THAT(why("riscv.so"), HasSubstr("is for riscv"));
  Write("cut.so", newer.substr(0, newer.size() / 2));
  EXPECT_THAT(why("cut.so"), HasSubstr("truncated"));
  EXPECT_EQ(Mrctl({"sdk", "check", "absent.so"}).exit, 7);
}

TEST_F(SdkTest, AConstructorThatExitsOrNeverEndsEndsInItsChild) {
  const RunResult gone = Mrctl({"sdk", "check", Library("exits_at_load")});
  EXPECT_EQ(gone.exit, 2);
  EXPECT_THAT(gone.err, HasSubstr("ended the process (exit 0)"));
  const RunResult submit = Mrctl({"submit", "--local", "--lib", Library("exits_at_load"), "x"});
  EXPECT_EQ(submit.exit, 2);
  EXPECT_THAT(submit.err, HasSubstr("ended the process (exit 0)"));
  const RunResult spins = Mrctl({"submit", "--local", "--lib", Library("spins_at_load"), "x"});
  EXPECT_EQ(spins.exit, 2);
  EXPECT_THAT(spins.err, HasSubstr("did not end within"));
}

TEST_F(SdkTest, StagesThatDisagreeAboutTypesAreRefusedByCheckAndAtSubmitBeforeAnythingStarts) {
  const std::string fault =
      "stage 'map' writes (key str, value i64) to port 0, but stage 'reduce' takes (key str, value i32)";
  const RunResult check = Mrctl({"sdk", "check", Library("typed")});
  EXPECT_EQ(check.exit, 2) << check.err;
  EXPECT_THAT(check.err, AllOf(HasSubstr("job 'typed'"), HasSubstr(fault)));
  EXPECT_THAT(check.out, AllOf(HasSubstr("str, i64"), HasSubstr("plans not checked"), HasSubstr("asks")));
  const json report = json::parse(Mrctl({"-o", "json", "sdk", "check", Library("typed")}).out);
  EXPECT_EQ(report["library"]["operators"][1]["takes"], json::parse(R"([{"key": "str", "value": "i32"}])"));
  EXPECT_EQ(report["library"]["unchecked"], json::parse(R"(["asks"])"));

  // Nobody listens at that address: 2 and not 5 says that no master was asked.
  Write("in", "a\nbb\n");
  for (const std::vector<std::string>& job : {std::vector<std::string>{"typed"}, {"asks", "x"}}) {
    std::vector<std::string> args = {"--master", "127.0.0.1:1", "submit", "--lib", Library("typed")};
    args.insert(args.end(), job.begin(), job.end());
    args.insert(args.end(), {"--input", "/in", "--output", "/out"});
    const RunResult submit = Mrctl(args);
    EXPECT_EQ(submit.exit, 2) << submit.err;
    EXPECT_THAT(submit.err, HasSubstr(fault));
  }
  // Its operators as steps of a job file.
  Write("steps.toml", "lib = '" + Library("typed") +
                          "'\ninput = 'in'\n[[step]]\nname = 'map'\noperator = 'typed.map'\n"
                          "[[step]]\nname = 'reduce'\noperator = 'typed.reduce'\nedge = 'group'\n");
  const RunResult steps = Mrctl({"submit", "--local", "steps.toml"});
  EXPECT_EQ(steps.exit, 2) << steps.out;
  EXPECT_THAT(steps.err, HasSubstr(fault));
}

TEST_F(SdkTest, OnlyAPlanThatRefusesItsArgumentsIsLeftUncheckedAndOthersThatFailAreProblems) {
  const RunResult check = Mrctl({"sdk", "check", Library("plans")});
  EXPECT_EQ(check.exit, 2) << check.err;
  EXPECT_THAT(check.out, HasSubstr("since they need arguments: asks ("));
  EXPECT_THAT(check.err, AllOf(HasSubstr("job 'unknown' whose plan fails without arguments: job unknown: stage map"),
                               HasSubstr("two stages are named 'map'"), HasSubstr("the plan has no stage"),
                               HasSubstr("int thrown"), HasSubstr("ended the process (exit 0)")));
  const json report = json::parse(Mrctl({"-o", "json", "sdk", "check", Library("plans")}).out);
  EXPECT_EQ(report["library"]["problems"].size(), 5u) << report.dump();
}

TEST_F(SdkTest, APlanFunctionMayPrint) {
  Write("in", "a\n");
  const RunResult run = Mrctl({"-q", "submit", "--local", "--lib", Library("plans"), "prints", "--input", "in"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.out, "a\n");
  EXPECT_THAT(run.err, HasSubstr("a plan that prints\n"));
}

TEST_F(SdkTest, ASubmitNamesWhatIsWrongWithALibraryAsTheCheckDoes) {
  const auto why = [&](const std::string& path) {
    const RunResult run = Mrctl({"--master", "127.0.0.1:1", "submit", "--lib", path, "one", "--output", "/out"});
    EXPECT_EQ(run.exit, 2) << path << run.err;
    return run.err;
  };
  std::string bytes = *ReadFile(Library("plans"));
  Write("cut.so", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(why("cut.so"), HasSubstr("is truncated or damaged"));
  bytes[18] = static_cast<char>(0xf3);
  Write("riscv.so", bytes);
  EXPECT_THAT(why("riscv.so"), HasSubstr("is for riscv, this machine is"));
  EXPECT_THAT(why(Library("same_names")), HasSubstr("two jobs are named one"));
  EXPECT_THAT(Mrctl({"sdk", "check", Library("same_names")}).err, HasSubstr("two jobs are named one"));
}

TEST_F(SdkTest, ASharedLibraryThatWorkersMayLackIsAWarning) {
  const RunResult check = Mrctl({"sdk", "check", Library("needs_part")});
  EXPECT_EQ(check.exit, 0) << check.err;
  EXPECT_THAT(check.err, AllOf(HasSubstr("needs libown_part.so"), HasSubstr("install it on each worker")));
}

TEST_F(SdkTest, ALibraryThatDeclaresNoTypesIsTakenAndItsLeftoverBytesFailTheJob) {
  const RunResult check = Mrctl({"sdk", "check", Library("typed_old")});
  EXPECT_EQ(check.exit, 0) << check.err;
  Write("in", "a\nbb\n");
  const RunResult run = Mrctl(
      {"-q", "submit", "--local", "--lib", Library("typed_old"), "--max-attempts", "1", "typed", "--input", "in"});
  EXPECT_EQ(run.exit, 1) << run.out;
  EXPECT_THAT(run.err, HasSubstr("cannot decode i32: it takes 4 bytes, and there are 8"));
}

}  // namespace
}  // namespace mr::test
