// Projects that take long to build: the other templates of `mrctl sdk new`, and the installed package.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/sdk_project.h"
#include "tests/support/answers.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

using SdkProjectsTest = SdkTest;

TEST_F(SdkProjectsTest, TheTemplateOfAJoinBuildsPassesItsTestAndRuns) {
  ASSERT_EQ(Mrctl({"sdk", "new", "--template", "join", "owned"}).exit, 0);
  ASSERT_EQ(BuildProject(directory_ / "owned"), "");
  Write("owners", "a.org ann\nb.org bob\n");
  Write("log", "b.org /x 5\na.org / 100\nnobody.net / 1\n");
  const RunResult run = Mrctl(
      {"-q", "submit", "--local", "--lib", "owned/build/libowned.so", "owned", "--input", "owners", "--input", "log"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(SortedLines(run.out), "a.org\tann\t/\t100\nb.org\tbob\t/x\t5\nnobody.net\tunknown\t/\t1\n");
}

TEST_F(SdkProjectsTest, TheTemplateOfADagBuildsPassesItsTestAndRunsWithABroadcastSideInput) {
  ASSERT_EQ(Mrctl({"sdk", "new", "--template", "dag", "by_owner"}).exit, 0);
  ASSERT_EQ(BuildProject(directory_ / "by_owner"), "");
  const std::string library = "by_owner/build/libby_owner.so";
  const RunResult check = Mrctl({"sdk", "check", library});
  EXPECT_EQ(check.exit, 0) << check.err;
  EXPECT_EQ(check.err, "") << "no function of an operator is unused";
  Write("owners", "a.org ann\nb.org bob\n");
  Write("log", "b.org /x 5\na.org / 100\na.org /y 11\nnobody.net / 1\n");
  const std::vector<std::string> job = {"--lib", library, "by_owner", "--input", "owners", "--input", "log"};
  std::vector<std::string> submit = {"-q", "submit", "--local"}, explain = {"explain", "--local"};
  submit.insert(submit.end(), job.begin(), job.end());
  explain.insert(explain.end(), job.begin(), job.end());
  const RunResult run = Mrctl(submit);
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(SortedLines(run.out), "ann\t2\t111\nbob\t1\t5\nunknown\t1\t1\n");
  EXPECT_THAT(Mrctl(explain).out, HasSubstr("broadcast"));
}

// `cmake --install` puts all of Paceline under a prefix. The example is built against it, checked, and run by it.
TEST_F(SdkProjectsTest, TheInstalledPackageBuildsAndRunsAProject) {
  const std::string prefix = directory_ / "prefix", build = BinaryDirectory() + "/..";
  ASSERT_EQ(
      RunProgram({"/bin/sh", "-c", "cmake --install '" + build + "' --prefix '" + prefix + "'"}, Seconds(120)).exit, 0);
  EXPECT_THAT(*ReadFile(prefix + "/share/bash-completion/completions/mrctl"), HasSubstr("complete -o bashdefault"));
  EXPECT_THAT(*ReadFile(prefix + "/share/zsh/site-functions/_mrctl"), testing::StartsWith("#compdef mrctl\n"));
  EXPECT_THAT(*ReadFile(prefix + "/share/fish/vendor_completions.d/mrctl.fish"), HasSubstr("complete -c mrctl -f\n"));
  if (PathExists(build + "/man")) {  // there is help2man
    EXPECT_THAT(*ReadFile(prefix + "/share/man/man1/mrctl-submit.1"), HasSubstr("JOB OPTIONS"));
    for (const char* page : {"mrctl", "mrctl-fs-put", "mrmaster", "mrworker", "mrsim"}) {
      EXPECT_TRUE(PathExists(prefix + "/share/man/man1/" + page + ".1")) << page;
    }
  }
  const RunResult made = RunProgram({prefix + "/bin/mrctl", "sdk", "new", "hosts", directory_ / "hosts"});
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(*ReadFile(directory_ / "hosts/CMakeLists.txt"), HasSubstr("HINTS \"" + prefix + "/lib/cmake/Paceline\""));
  ASSERT_EQ(BuildProject(directory_ / "hosts"), "");
  EXPECT_THAT(*ReadFile(directory_ / "hosts/build/CMakeCache.txt"), HasSubstr("Paceline_DIR:PATH=" + prefix));
  Write("log", "a.org / 100\na.org /y 11\n");
  const RunResult run = RunProgram({prefix + "/bin/mrctl", "-q", "submit", "--local", "--lib",
                                    directory_ / "hosts/build/libhosts.so", "hosts", "--input", directory_ / "log"});
  EXPECT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.out, "a.org\t2\t111\n");
  // A version that is not there is refused by the package.
  Shell("sed -i 's/Paceline 0.2/Paceline 7.1/' '" + (directory_ / "hosts/CMakeLists.txt") + "'");
  EXPECT_THAT(BuildProject(directory_ / "hosts"), HasSubstr("7.1"));
}

}  // namespace
}  // namespace mr::test
